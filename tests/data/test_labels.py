"""Labels as class codes."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from fuselearn import FusionClassifier, ShareBoostClassifier, ShareGradientBoostingClassifier
from fuselearn.data.labels import (
    encode_known,
    encode_labels,
    encode_view_labels,
    majority_codes,
)
from tests.naive import fusion as naive


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 4]))
def test_majority_labels(seed, n_classes):
    rng = np.random.default_rng(seed)
    codes, present = rng.integers(0, n_classes, (20, 4)), rng.random((20, 4)) < 0.7
    present[:, 1] |= ~present.any(axis=1)
    rows = [[label if here else None for label, here in zip(*row)] for row in zip(codes, present)]
    assert_array_equal(majority_codes(codes, present, n_classes), [naive.majority(row, n_classes) for row in rows])
    assert_array_equal(majority_codes(codes[:1], present[:1] & False, n_classes), [-1])


def test_class_codes():
    classes, codes = encode_labels(np.array(["b", "a", "b"]))
    assert classes.tolist() == ["a", "b"]
    assert codes.tolist() == [1, 0, 1]
    assert codes.dtype == np.int32
    assert encode_known(np.array(["b", "b", "a"]), classes, "view_labels").tolist() == [1, 1, 0]
    assert encode_known(np.array(["a", "b"], dtype=object), classes, "view_labels").tolist() == [0, 1]
    with pytest.raises(ValueError, match="view_labels holds labels that are not among the classes: 'c'; the classes"):
        encode_known(np.array(["c", "a", "c"]), classes, "view_labels")
    with pytest.raises(ValueError, match=r"y must hold at least two classes; it has one class only, \[1\]"):
        encode_labels(np.ones(3, dtype=int))


def test_labels_of_views_are_not_read_where_the_view_is_absent():
    labels, classes = np.array([[0, 9], [1, 0], [7, 1]]), np.array([0, 1])
    present = np.array([[True, False], [True, True], [False, True]])
    assert encode_view_labels(labels, classes, ["a", "b"], present).tolist() == [[0, -1], [1, 0], [-1, 1]]
    with pytest.raises(ValueError, match="view_labels of the view 'a' holds labels that are not among the classes: 7"):
        encode_view_labels(labels, classes, ["a", "b"], present | True)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_labels_that_a_view_has_not_given(missing):
    labels = np.array([["x", missing], ["y", "x"], ["x", "y"]], dtype=object)
    codes = encode_view_labels(labels, np.array(["x", "y"]), ["a", "b"], np.ones((3, 2), dtype=bool), optional=True)
    assert codes.tolist() == [[0, -1], [1, 0], [0, 1]]
    labels[:, 1] = missing
    with pytest.raises(ValueError, match="view_labels has no label for any row of the view 'b'"):
        encode_view_labels(labels, np.array(["x", "y"]), ["a", "b"], np.ones((3, 2), dtype=bool), optional=True)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
@pytest.mark.parametrize("labels", [["a", "b"], [0, 1]])
def test_labels_that_are_missing_are_named_by_row(labels, missing):
    y = np.array([*labels * 3, missing], dtype=object)
    with pytest.raises(
        ValueError, match=r"y has no class in 1 of 7 rows \((None|nan|<NA>) in row 6\); leave such rows"
    ):
        encode_labels(y)


def test_labels_of_several_kinds():
    with pytest.raises(
        TypeError, match="y must hold classes of one kind, such as text or whole numbers; got int and str"
    ):
        encode_labels(np.array(["a", 1, "a", 1], dtype=object))


def test_whole_numbers_beyond_int64_are_classes():
    classes, codes = encode_labels(np.array([2**63 + 1, 2**63, 2**63 + 1], dtype=np.uint64))
    assert classes.tolist() == [2**63, 2**63 + 1]
    assert codes.tolist() == [1, 0, 1]


def test_classes_that_differ_in_white_space_are_told_of():
    with pytest.warns(UserWarning, match="y has the class ' a' beside 'a'"):
        classes, _ = encode_labels(np.array(["a", " a", "b"]))
    assert classes.tolist() == [" a", "a", "b"]


def test_classes_that_differ_in_their_unicode_are_told_of():
    with pytest.warns(UserWarning, match=r"y has the class 'Mu\\u0308' beside 'M\\xfc', which looks the same"):
        classes, _ = encode_labels(np.array(["Mü", "Mu\u0308", "b"]))
    assert len(classes) == 3


@pytest.mark.parametrize(
    ("labels", "classes"),
    [([True, False], [False, True]), ([np.bool_(1), np.bool_(0)], [False, True]), ([2, 1], [1, 2])],
)
def test_objects_of_one_kind_are_classes(labels, classes):
    found, codes = encode_labels(np.array(labels * 2, dtype=object))
    assert found.tolist() == classes
    assert found.dtype.kind in "bi"
    assert codes.tolist() == [1, 0, 1, 0]


def test_other_objects_are_no_classes():
    with pytest.raises(ValueError, match=r"Unknown label type: unknown. y holds objects of the type float, such as"):
        encode_labels(np.array([1.5, 2.0], dtype=object))
    with pytest.raises(ValueError, match="Unknown label type"):
        encode_labels(np.array([True, 2] * 3, dtype=object))


@pytest.mark.parametrize(
    ("model", "regressor"),
    [
        (FusionClassifier(), "FusionRegressor"),
        (ShareBoostClassifier(), "FusionRegressor"),
        (ShareGradientBoostingClassifier(), "ShareGradientBoostingRegressor"),
    ],
)
def test_numbers_to_predict_name_a_regressor(model, regressor):
    X = np.random.default_rng(0).normal(size=(30, 2))
    words = (
        f"Unknown label type: continuous. y holds numbers with fractions, .* {type(model).__name__} predicts classes"
    )
    with pytest.raises(ValueError, match=f"{words}.* use {regressor}, or for a table with text TableRegressor"):
        model.fit(X, X[:, 0])
