"""Selectors of columns mean what they mean to scikit-learn's ColumnTransformer."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.compose import ColumnTransformer, make_column_selector

from fuselearn.data import per_view, resolve_views

COLUMNS = ["a", "b", "c", "d"]


ARRAY = np.arange(20.0).reshape(5, 4)


FRAMES = [pd.DataFrame(ARRAY, columns=COLUMNS), pl.DataFrame(ARRAY, schema=COLUMNS)]


POSITIONAL = [
    (2, [2]),
    ([0, 3], [0, 3]),
    ((3, 1), [3, 1]),
    (slice(1, 3), [1, 2]),
    (slice(None, None, 2), [0, 2]),
    (-1, [3]),
    (np.array([0, 2]), [0, 2]),
    (range(2), [0, 1]),
    ([True, False, True, False], [0, 2]),
    (np.array([False, True, True, False]), [1, 2]),
]


NAMED = [
    ("c", [2]),
    (["d", "a"], [3, 0]),
    (slice("b", "d"), [1, 2, 3]),
    (slice(None, "b"), [0, 1]),
    (np.array(["a", "c"]), [0, 2]),
    (pd.Index(["b"]), [1]),
]


@pytest.mark.parametrize(("selector", "expected"), POSITIONAL)
@pytest.mark.parametrize("X", [ARRAY, *FRAMES], ids=["numpy", "pandas", "polars"])
def test_positions(selector, expected, X):
    names, [columns] = resolve_views({"view": selector}, X, 4)
    assert names == ["view"]
    assert columns.tolist() == expected


@pytest.mark.parametrize(("selector", "expected"), NAMED)
@pytest.mark.parametrize("X", FRAMES, ids=["pandas", "polars"])
def test_names(selector, expected, X):
    _, [columns] = resolve_views([selector], X, 4)
    assert columns.tolist() == expected


@pytest.mark.parametrize("selector", [[0, 3], slice(1, 3), ["d", "a"], slice("b", "d"), [True, False, True, False]])
@pytest.mark.parametrize("X", FRAMES, ids=["pandas", "polars"])
def test_selectors_mean_what_they_mean_to_column_transformer(selector, X):
    chosen = ColumnTransformer([("view", "passthrough", selector)]).fit_transform(X)
    _, [columns] = resolve_views([selector], X, 4)
    assert_array_equal(np.asarray(chosen), ARRAY[:, columns])


def test_callables_see_what_the_user_gave():
    _, [columns] = resolve_views({"view": make_column_selector("[bd]")}, FRAMES[0], 4)
    assert columns.tolist() == [1, 3]
    _, [columns] = resolve_views([lambda X: slice(0, X.shape[1] // 2)], ARRAY, 4)
    assert columns.tolist() == [0, 1]


def test_shapes_of_the_argument():
    assert resolve_views(None, ARRAY, 4)[0] == ["view0"]
    assert resolve_views([[0], [1, 2]], ARRAY, 4)[0] == ["view0", "view1"]
    assert resolve_views([("left", [0]), ("right", slice(1, 3))], ARRAY, 4)[0] == ["left", "right"]
    # two strings in a tuple are two columns
    assert resolve_views([("a", "c")], FRAMES[0], 4)[1][0].tolist() == [0, 2]


def test_overlapping_views_are_allowed():
    _, columns = resolve_views([[0, 1, 2], [1, 2, 3]], ARRAY, 4)
    assert [c.tolist() for c in columns] == [[0, 1, 2], [1, 2, 3]]


@pytest.mark.parametrize(
    ("views", "X", "error", "message"),
    [
        ({"v": [0, 9]}, ARRAY, ValueError, r"View 'v' asks for column 9, but X has n_features=4 \(columns 0 to 3\)"),
        ({"v": [-5]}, ARRAY, ValueError, "View 'v' asks for column -5"),
        ({"v": []}, ARRAY, ValueError, "View 'v' is empty: its selector .* picks no column of X"),
        ({"v": slice(7, 9)}, ARRAY, ValueError, "View 'v' is empty"),
        ({"v": [False] * 4}, ARRAY, ValueError, "View 'v' is empty"),
        ({"v": [True, False]}, ARRAY, ValueError, "boolean mask of length 2, but X has 4 columns"),
        ({"v": ["a"]}, ARRAY, ValueError, "View 'v' names the column 'a', but X is not a data frame"),
        ({"v": ["z"]}, FRAMES[0], ValueError, r"names the column 'z', which X does not have; its columns are \['a', "),
        ({"v": ["z"]}, FRAMES[1], ValueError, r"names the column 'z', which X does not have; its columns are \['a', "),
        ({"v": [0, 0]}, ARRAY, ValueError, "View 'v' lists column 0 more than once"),
        ({"v": [0.5]}, ARRAY, TypeError, "View 'v' holds 0.5"),
        ({"v": 0.5}, ARRAY, TypeError, "View 'v' is 0.5; columns are chosen by"),
        ({"v": slice(0.5, 2)}, ARRAY, TypeError, "a slice takes integers or column names"),
        ([("v", [0]), ("v", [1])], ARRAY, ValueError, "views has two views named 'v'"),
        ({1: [0]}, ARRAY, TypeError, "views has the name 1; names of views are strings"),
        ({}, ARRAY, ValueError, "views is empty"),
        (3, ARRAY, TypeError, "views must be None, a dict of name to columns, or a list"),
    ],
)
def test_bad_views(views, X, error, message):
    with pytest.raises(error, match=message):
        resolve_views(views, X, 4)


def test_a_repeated_column_name_is_ambiguous():
    frame = pd.DataFrame(ARRAY, columns=["a", "b", "b", "d"])
    with pytest.raises(ValueError, match="View 'view0' names the column 'b', which X has 2 times"):
        resolve_views([["b"]], frame, 4)
    assert resolve_views([["a"], [1, 2]], frame, 4)[1][1].tolist() == [1, 2]


def test_per_view():
    assert per_view("preprocess", "x", ["a", "b"]) == ["x", "x"]
    assert per_view("preprocess", {"b": 1}, ["a", "b"]) == [None, 1]
    with pytest.raises(ValueError, match="preprocess names the view 'c', but the views are"):
        per_view("preprocess", {"c": 1}, ["a", "b"])
    with pytest.raises(ValueError, match="estimator has nothing for the view 'a'"):
        per_view("estimator", {"b": 1}, ["a", "b"], complete=True)


@pytest.mark.parametrize(
    ("selector", "expected"), [("rna_*", [0, 2]), (["age", "rna_?"], [1, 0, 2]), ("[a]ge", [1]), ("x*y", [3])]
)
def test_globs_of_names(selector, expected):
    frame = pd.DataFrame(ARRAY, columns=["rna_1", "age", "rna_2", "x*y"])
    _, [columns] = resolve_views({"view": selector}, frame, 4)
    assert columns.tolist() == expected


def test_globs_that_match_nothing():
    frame = pd.DataFrame(ARRAY, columns=COLUMNS)
    with pytest.raises(
        ValueError, match=r"View 'rna' has the glob 'rna_\*', which no column of X matches; its columns are"
    ):
        resolve_views({"rna": "rna_*"}, frame, 4)
    with pytest.raises(ValueError, match="X is not a data frame"):
        resolve_views({"rna": "rna_*"}, ARRAY, 4)
    with pytest.raises(ValueError, match="more than once"):
        resolve_views({"rna": ["a", "[ab]"]}, frame, 4)
