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


def frames(*pairs):
    return {name: pd.DataFrame({"patient": ids, "g0": np.arange(len(ids)) + 1.0}) for name, ids in pairs}


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_frames_are_joined_by_their_ids(kind):
    rna = kind({"g0": [1.0, 2.0, 3.0], "patient": ["a", "b", "c"]})
    protein = kind({"patient": ["d", "b"], "g0": [4, 5], "g1": [6.0, None]})
    X, views, ids = stack_views({"rna": rna, "protein": protein}, on="patient")
    assert ids.tolist() == ["a", "b", "c", "d"]
    assert views == {"rna": slice(0, 1), "protein": slice(1, 3)}
    nan = np.nan
    assert_array_equal(X, [[1, nan, nan], [2, 5, nan], [3, nan, nan], [nan, 4, 6]])
    X, views, ids = stack_views([rna], on="patient")
    assert views == [slice(0, 1)]


def test_ids_of_frames_may_be_whole_numbers():
    X, _, ids = stack_views(frames(("a", [7, 9]), ("b", np.array([9.0, 8.0]))), on="patient")
    assert ids.tolist() == [7, 9, 8]
    assert_array_equal(X, [[1, np.nan], [2, 1], [np.nan, 2]])


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (["a", "b"], ["b", "b"], "the view 'second' has more than one row of 1 id in the column 'patient': 'b'"),
        (["a", "b"], ["b", None], "the view 'second' has no id in row 2"),
        (["1", "2"], [1, 2], "The ids are numbers in the view 'second', such as 1, 2, and text in the view 'first'"),
        (
            ["007", "b"],
            ["7", "b"],
            "1 id is spelled differently in the view 'second' and the view 'first': '7' and '007'",
        ),
        (["a", "b"], [" B", "a"], "' B' and 'b'"),
        (["Mü", "b"], ["Mu\u0308", "b"], r"spelled differently .*: 'Mu\\u0308' and 'M\\xfc'"),
        (["p-1", "b"], ["p\u20111", "b"], r"'p\\u20111' and 'p-1'"),
        (["p-1", "b"], ["p\u22121", "b"], r"'p\\u22121' and 'p-1'"),
        (["p1", "b"], ["p1\u200b", "b"], r"'p1\\u200b' and 'p1'"),
        (
            ["P3", "p3"],
            ["P3"],
            "spelled differently in all views together and the view 'second': 'p3' and 'P3'",
        ),
        (["P3"], ["P3", "p3"], "'p3' and 'P3'"),
        (
            ["P3", "P3 "],
            ["P3"],
            "'first' has two ids that look the same in the column 'patient': 'P3' and 'P3 '",
        ),
        (["a", "Mü", "Mu\u0308"], ["a"], r"two ids that look the same .*: 'M\\xfc' and 'Mu\\u0308'"),
        (["p\u20111", "p\u20121"], ["b"], r"two ids that look the same .*: 'p\\u20111' and 'p\\u20121'"),
        (
            [7.0, 8.5],
            [7],
            "'first' has the fraction 8.5 in row 2 of the column 'patient'; ids are text or whole",
        ),
        (["a"], ["b"], "No id of the other views is in the view 'first'"),
        (["a", 1], ["a"], "the view 'first' has both text, such as 'a', and numbers, such as 1"),
    ],
)
def test_ids_that_do_not_agree(first, second, words):
    with pytest.raises(ValueError, match=words):
        stack_views(frames(("first", first), ("second", second)), on="patient")


def test_codes_may_differ_in_case_where_all_frames_have_them():
    X, _, ids = stack_views(frames(("a", ["aB", "Ab"]), ("b", ["Ab", "aB"])), on="patient")
    assert ids.tolist() == ["aB", "Ab"]
    assert_array_equal(X, [[1, 2], [2, 1]])


def test_ids_in_the_index():
    tables = {name: frame.set_index("patient") for name, frame in frames(("a", ["x", "y"]), ("b", ["y", "x"])).items()}
    with pytest.raises(ValueError, match=r"has no column 'patient' to be joined on; 'patient' is its index: pass"):
        stack_views(tables, on="patient")
    with pytest.raises(ValueError, match=r"have the same index in another order .*reset_index\(drop=True\)"):
        stack_views(tables)
    X, _ = stack_views({name: frame.reset_index(drop=True) for name, frame in tables.items()})
    assert_array_equal(X, [[1, 1], [2, 2]])
    X, _ = stack_views({"a": tables["a"], "b": tables["b"].iloc[::-1], "c": np.ones(2)})
    assert_array_equal(X, [[1, 2, 1], [2, 1, 1]])


def test_what_cannot_be_joined():
    with pytest.raises(TypeError, match="must be a data frame to be joined on 'patient'; got ndarray"):
        stack_views({"a": np.ones((2, 2))}, on="patient")
    with pytest.raises(ValueError, match="has no column 'person' to be joined on; its columns are 'patient', 'g0'"):
        stack_views(frames(("a", ["x"])), on="person")


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


@pytest.mark.parametrize("texts", [["001", "002", "003"], ["a", "b", "c"], ["1", None, "3"]])
def test_text_is_no_number_and_may_name_the_objects(texts):
    """Rows would be put side by side by their places, and the ids be features."""
    frame = pd.DataFrame({"patient": texts, "g": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match=r"The view 'one' has text in the column 'patient'\. .*on='patient'"):
        stack_views({"one": frame, "two": np.eye(3)})
    assert stack_views({"one": frame[["g"]], "two": np.eye(3)})[0].shape == (3, 4)
