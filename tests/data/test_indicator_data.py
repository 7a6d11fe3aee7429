"""Labels of which a row may have several."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from fuselearn import LabelConsensus
from fuselearn.data import read_indicator_data
from fuselearn.data.indicator_data import check_indicator, encode_indicator

X = np.random.default_rng(0).normal(size=(12, 4))
WITH_GAP = np.where(np.arange(48).reshape(12, 4) == 0, np.nan, X)
MODEL = LabelConsensus(views={"a": [0, 1], "b": [2, 3]})


def test_data_with_indicator_labels():
    frame = pd.DataFrame({"red": [1, 0] * 6, "round": [1, 1, 0] * 4})
    data = read_indicator_data(MODEL, X, frame, ensure_all_finite=True)
    assert_array_equal(data.table, X)
    assert data.labels.names == ["red", "round"]
    assert data.names == ["a", "b"]
    with pytest.raises(ValueError, match="Input X contains NaN"):
        read_indicator_data(MODEL, WITH_GAP, frame, ensure_all_finite=True)
    assert np.isnan(read_indicator_data(MODEL, WITH_GAP, frame, ensure_all_finite="allow-nan").table).any()


def test_a_gross_outlier_is_named():
    table = X.copy()
    table[5, 0] = -1e30
    indicator = np.column_stack([np.arange(12) % 2, 1 - np.arange(12) % 2])
    with pytest.warns(UserWarning, match=r"-1e\+30 in column 0, row 5"):
        read_indicator_data(MODEL, table, indicator, ensure_all_finite=True)


def test_indicator_labels():
    labels = encode_indicator(np.array([[1, 0], [0, 1], [1, 0]]), ["red", "round"])
    assert labels.signs.tolist() == [[1, -1, 1], [-1, 1, -1]]
    assert labels.names == ["red", "round"]
    assert not labels.one_column
    sparse = encode_indicator(csr_array(np.array([[1, 0], [0, 1], [1, 0]])))
    assert_array_equal(sparse.signs, labels.signs)
    assert sparse.names == ["label0", "label1"]
    column = encode_indicator(np.array(["no", "yes", "no"]))
    assert column.signs.tolist() == [[-1, 1, -1]]
    assert column.one_column
    assert column.classes.tolist() == ["no", "yes"]
    assert encode_indicator(np.array([[1], [1]]), complete=False).signs.tolist() == [[1, 1]]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([{1, 2}, {3}], "got a list of label sets"),
        ([[1, 2], [3]], "got a list of label sets"),
        (np.zeros((3, 0)), r"y must have at least one label; got shape \(3, 0\)"),
    ],
)
def test_what_is_no_indicator_matrix(y, message):
    with pytest.raises(ValueError, match=message):
        check_indicator(y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (
            np.array([[0, 2], [1, 0]]),
            r"y must be an indicator matrix .* 0 and 1 only; got .*2.* in row 0, column 1",
        ),
        (np.array([[0, 1], [1, 1]]), r"1 of 2 have no negative row: 'label1' \(column 1\)"),
        (np.array([[0, 1], [0, 0]]), r"1 of 2 have no positive row: 'label0' \(column 0\)"),
        (np.array([0, 1, 2]), "Only binary classification is supported"),
        (np.zeros(3), "y must hold at least two classes"),
    ],
)
def test_bad_indicators(y, message):
    with pytest.raises(ValueError, match=message):
        encode_indicator(y)
