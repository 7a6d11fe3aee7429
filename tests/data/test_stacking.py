"""Separate arrays in one table."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from fuselearn import stack_unpaired, stack_views


def test_stack_views():
    arrays = {"a": np.ones((3, 2)), "b": pd.DataFrame({"x": [1, 2, np.nan]}), "c": pl.DataFrame({"y": [1, None, 3]})}
    X, views = stack_views(arrays)
    assert views == {"a": slice(0, 2), "b": slice(2, 3), "c": slice(3, 4)}
    assert_array_equal(X, [[1, 1, 1, 1], [1, 1, 2, np.nan], [1, 1, np.nan, 3]])
    X, views = stack_views([np.ones((3, 2)), [1, 2, 3]])
    assert X.shape == (3, 3)
    assert views == [slice(0, 2), slice(2, 3)]


def test_stack_unpaired():
    X, views, y = stack_unpaired([(np.ones((2, 2)), ["a", "b"]), (np.zeros((1, 1)), ["b"])])
    assert views == [slice(0, 2), slice(2, 3)]
    assert_array_equal(X, [[1, 1, np.nan], [1, 1, np.nan], [np.nan, np.nan, 0]])
    assert y.tolist() == ["a", "b", "b"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: stack_views({"a": np.ones((3, 1)), "b": np.ones((2, 1))}), ValueError, "numbers of rows differ"),
        (lambda: stack_views({}), ValueError, "arrays is empty"),
        (lambda: stack_views(3), TypeError, "arrays must be a dict or a list; got int"),
        (lambda: stack_views({"a": [[np.inf]]}), ValueError, "The view 'a' is not a table of numbers: .*infinity"),
        (
            lambda: stack_views({"a": [["x"]]}),
            ValueError,
            "The view 'a' is not a table of numbers: could not convert string",
        ),
        (lambda: stack_views({"a": sparse.eye(3).tocsr()}), TypeError, "[Ss]parse"),
        (lambda: stack_unpaired({"a": np.ones((3, 1))}), TypeError, r"Source 'a' must be a pair \(array, labels\)"),
        (lambda: stack_unpaired({"a": (np.ones((3, 1)), [1])}), ValueError, "'a' has 3 rows but 1 labels"),
        (
            lambda: stack_unpaired({"a": (np.ones((1, 1)), [1]), "b": (np.ones((1, 1)), ["x"])}),
            ValueError,
            "labels differ in kind",
        ),
    ],
)
def test_bad_stacks(call, error, message):
    with pytest.raises(error, match=message):
        call()
