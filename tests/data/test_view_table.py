"""Views are windows on a table, with a mask of the rows that have them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from fuselearn import FusionClassifier, ShareBoostClassifier, TableClassifier, compare, stack_views
from fuselearn.data import ViewBlocks

ARRAY = np.arange(20.0).reshape(5, 4)


@given(st.integers(0, 2**32 - 1), st.sampled_from([np.float32, np.float64]))
def test_blocks_hold_the_columns_and_the_presence(seed, dtype):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.integers(1, 30)), 6)).astype(dtype)
    X[rng.random(X.shape) < 0.5] = np.nan
    columns = [np.sort(rng.permutation(6)[: rng.integers(1, 6)]), np.arange(1, 4), np.array([5, 0])]
    blocks = ViewBlocks.of(X, ["x", "y", "z"], columns)
    for view, chosen, present in zip(blocks, columns, blocks.present.T):
        assert_array_equal(present, ~np.isnan(X[:, chosen]).all(axis=1))
        rows = np.flatnonzero(present)
        assert len(view) == len(rows)
        assert_array_equal(view.array(), X[np.ix_(rows, chosen)])
        assert_array_equal(view.some_columns(0, 2), X[np.ix_(rows, chosen[:2])])
        pieces = [block for _, _, block in view.blocks()]
        assert_array_equal(np.vstack(pieces) if pieces else np.empty((0, len(chosen))), view.array())
        assert all(block.dtype == np.float64 and block.flags.c_contiguous for block in pieces)


def test_a_run_of_columns_is_a_window_not_a_copy():
    [view] = ViewBlocks.of(ARRAY, ["v"], [np.arange(1, 3)])
    assert np.shares_memory(view.array(), ARRAY)


@pytest.mark.parametrize("tables", [[ARRAY, ARRAY[:, :1]], (ARRAY, ARRAY), {"a": ARRAY, "b": pd.DataFrame(ARRAY)}])
def test_a_table_for_each_view_is_refused_with_the_way(tables):
    with pytest.raises(TypeError, match=r"X must be one table; got a \w+ of 2 tables. stack_views puts"):
        FusionClassifier().fit(tables, [0, 1, 0, 1, 0])


def test_a_missing_class_is_refused_by_its_row():
    y = pd.Series(["ill", "well", np.nan, "ill", "well"])
    with pytest.raises(ValueError, match=r"y has no class in 1 of 5 rows \(nan in row 2\); leave such rows out of fit"):
        FusionClassifier().fit(ARRAY, y)


@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
@pytest.mark.parametrize("make", [pd.DataFrame, lambda y: y.to_numpy()[:, None], list])
def test_a_missing_class_is_refused_by_its_row_in_whatever_holds_it(make):
    y = make(pd.Series(["ill", "well", np.nan, "ill", "well"], dtype=object))
    with pytest.raises(ValueError, match=r"y has no class in 1 of 5 rows \(nan in row 2\)"):
        FusionClassifier().fit(ARRAY, y)


def test_a_missing_class_among_numbers_is_refused_by_its_row():
    with pytest.raises(ValueError, match=r"y has no class in 1 of 5 rows \(nan in row 4\)"):
        FusionClassifier().fit(ARRAY, [0.0, 1.0, 1.0, 0.0, np.nan])


def test_a_table_for_each_view_is_refused_wherever_tables_are_read():
    model = ShareBoostClassifier(n_estimators=2).fit(ARRAY, [0, 1, 0, 1, 0])
    frames = [pd.DataFrame(ARRAY), pd.DataFrame(ARRAY)]
    for read in (
        lambda: model.predict([ARRAY, ARRAY]),
        lambda: compare([ARRAY, ARRAY], [0, 1, 0, 1, 0], views=None),
        lambda: TableClassifier(FusionClassifier()).fit(frames, [0, 1, 0, 1, 0]),
    ):
        with pytest.raises(TypeError, match="X must be one table; got a list of 2 tables"):
            read()


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_an_index_that_pandas_wrote_is_no_feature(library):
    """Rows are often in the order of the classes, which the index would tell."""
    frame = pd.DataFrame(ARRAY, columns=list("abcd")).drop(index=1)
    table = pa.Table.from_pandas(frame)
    X = table if library == "pyarrow" else pytest.importorskip("polars").from_arrow(table)
    y = [0, 0, 1, 1]
    for take in (
        lambda: ShareBoostClassifier(n_estimators=1).fit(X, y),
        lambda: FusionClassifier().fit(X, y),
        lambda: TableClassifier(ShareBoostClassifier(n_estimators=1)).fit(X, y),
        lambda: compare(X, y),
    ):
        with pytest.raises(
            ValueError, match=r"X has the column '__index_level_0__', an index .*Leave it out, by \.drop"
        ):
            take()
    with pytest.raises(ValueError, match="The view 'one' has the column '__index_level_0__', an index"):
        stack_views({"one": X})
    pandas_itself = ShareBoostClassifier(n_estimators=1).fit(frame, y)
    assert pandas_itself.n_features_in_ == 4


def test_text_that_looks_like_numbers_is_text():
    """Such as ids: "007" is not 7."""
    frame = pd.DataFrame({"patient": ["001", "002", "003", "004"], "a": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(ValueError, match=r"X has text, categories or dates in 'patient'.*use TableClassifier\("):
        FusionClassifier().fit(frame, [0, 0, 1, 1])
    model = ShareBoostClassifier(n_estimators=1).fit(frame[["a"]].to_numpy(), [0, 0, 1, 1])
    with pytest.raises(ValueError, match="X has text"):
        model.predict(frame[["patient"]])


@pytest.mark.parametrize(
    "column",
    [
        [None] * 200,
        [None] * 150 + [1.0] * 50,
        pd.Categorical([1, 2] * 100),
        np.arange(200).astype(object),
    ],
    ids=["nothing", "nothing at first", "categories of numbers", "objects"],
)
def test_a_column_without_any_text_is_none_of_text(column):
    frame = pd.DataFrame({"a": np.arange(200.0), "b": column})
    if isinstance(column, list):
        frame["b"] = frame["b"].astype(object)
    y = np.arange(200) // 100
    model = ShareBoostClassifier(n_estimators=1).fit(frame, y)
    assert model.score(frame, y) == 1
    assert model.predict(pd.DataFrame([{"a": 3.0, "b": None}])).tolist() == [0]
    assert stack_views([frame])[0].shape == (200, 2)


@pytest.mark.parametrize(
    "column",
    [pd.Categorical(["007", "008"] * 100), [*range(199), "007"], pd.array(["1"] * 200, dtype="string")],
    ids=["categories", "objects", "text"],
)
def test_text_of_any_type_is_refused(column):
    frame = pd.DataFrame({"a": np.arange(200.0), "b": column})
    with pytest.raises(ValueError, match="X has text, categories or dates in 'b'"):
        FusionClassifier().fit(frame, np.arange(200) // 100)
    with pytest.raises(ValueError, match="has text in the column 'b'"):
        stack_views([frame["b"]])
