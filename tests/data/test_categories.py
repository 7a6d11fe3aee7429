"""Categorical columns of tables."""

from dataclasses import replace
from datetime import date
from itertools import chain

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.compose import make_column_selector
from sklearn.preprocessing import OrdinalEncoder

from fuselearn import LabelConsensus
from fuselearn.data import Categories, categorical_columns, distinct_values, read_regression_data, read_training_data
from fuselearn.persistence.object_tree import Reader, Writer

COLOURS = ["red", None, "blue", "red", "green", "blue"]
CODES = [2, np.nan, 0, 2, 1, 0]
SIZES = np.array([3.0, 1.0, np.nan, 7.0, 3.0, 1.0])
SIZE_CODES = [1, 0, np.nan, 2, 1, 0]
WEIGHT = np.linspace(0, 1, 6)


def pandas_table():
    return pd.DataFrame({"colour": pd.Categorical(COLOURS), "weight": WEIGHT, "size": SIZES})


def polars_table():
    return pl.DataFrame({"colour": pl.Series(COLOURS, dtype=pl.Categorical), "weight": WEIGHT, "size": SIZES})


def polars_enum():
    kind = pl.Enum(["red", "green", "unused", "blue"])
    return pl.DataFrame({"colour": pl.Series(COLOURS, dtype=kind), "weight": WEIGHT, "size": SIZES})


def arrow_table():
    return pa.table({"colour": pa.array(COLOURS).dictionary_encode(), "weight": WEIGHT, "size": SIZES})


FRAMES = [pandas_table, polars_table, polars_enum, arrow_table]


@pytest.mark.parametrize("make", FRAMES)
def test_columns_of_a_categorical_type(make):
    table = make()
    categories = Categories.of(table, "from_dtype", 255)
    assert categories.columns.tolist() == [0]
    assert categories.values == (("blue", "green", "red"),)
    assert categories.n_categories.tolist() == [3]
    assert categories.mask(3).tolist() == [True, False, False]
    encoded = categories.encode(table)
    assert type(encoded) is type(table)
    assert_array_equal(np.asarray(encoded["colour"]), CODES)
    assert_array_equal(np.asarray(encoded["weight"]), WEIGHT)
    assert_array_equal(np.asarray(encoded["size"]), SIZES)
    before, after = nw.from_native(make()), nw.from_native(table)
    assert after.schema == before.schema
    assert_array_equal(after["size"].to_numpy(), SIZES)
    assert after["colour"].is_null().to_list() == [colour is None for colour in COLOURS]
    assert after["colour"].drop_nulls().to_list() == [colour for colour in COLOURS if colour]


@pytest.mark.parametrize("make", FRAMES)
@pytest.mark.parametrize("selector", [["size", "colour"], [2, 0], [-1, 0], [True, False, True], np.array([0, 2, 0])])
def test_columns_by_name_number_or_mask(make, selector):
    categories = Categories.of(make(), selector, 255)
    assert categories.columns.tolist() == [0, 2]
    assert categories.values[0] == ("blue", "green", "red")
    assert_array_equal(categories.values[1], [1, 3, 7])
    encoded = categories.encode(make())
    assert_array_equal(np.asarray(encoded["colour"]), CODES)
    assert_array_equal(np.asarray(encoded["size"]), SIZE_CODES)


@pytest.mark.parametrize("make", FRAMES)
def test_encoded_frames_are_read_with_their_names(make):
    table, y = make(), np.array([0, 1] * 3)
    encoded = Categories.of(table, "from_dtype", 255).encode(table)
    model = LabelConsensus(views={"a": ["colour", "weight"], "b": ["size"]})
    expected = np.column_stack([CODES, WEIGHT, SIZES])
    weights = np.where(np.isnan(SIZES), 1.0, 2.0)
    for data in (read_training_data(model, encoded, y, weights), read_regression_data(model, encoded, y, weights)):
        assert data.features["feature_names_in_"].tolist() == ["colour", "weight", "size"]
        assert_array_equal(data.blocks.views[0].table, expected)
        assert [columns.tolist() for columns in data.columns] == [[0, 1], [2]]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arrays_of_numbers(dtype):
    table = np.column_stack([WEIGHT, SIZES]).astype(dtype)
    before = table.copy()
    categories = Categories.of(table, [1], 255)
    encoded = categories.encode(table)
    assert encoded.dtype == dtype
    assert_array_equal(encoded, np.column_stack([WEIGHT, SIZE_CODES]).astype(dtype))
    assert_array_equal(table, before)
    assert_array_equal(categories.encode(np.array([[0, 3], [0, 2], [0, 7]])), [[0, 1], [0, np.nan], [0, 2]])
    assert_array_equal(categories.encode(table.astype(object)).astype(float), encoded.astype(float))


@pytest.mark.parametrize("container", [list, lambda rows: np.array(rows, dtype=object), np.array])
def test_arrays_with_text(container):
    table = container([["b", 1.5], ["a", 2.5], ["b", 3.5]])
    categories = Categories.of(table, [0], 255)
    assert categories.values == (("a", "b"),)
    data = read_training_data(LabelConsensus(), categories.encode(table), [0, 1, 1])
    assert_array_equal(data.blocks.views[0].table, [[1, 1.5], [0, 2.5], [1, 3.5]])


@pytest.mark.parametrize(
    "X",
    [np.ones((4, 2)), np.ones((4, 2), dtype=int), [[1.0, 2.0]], pd.DataFrame({"a": ["x"]}), pl.DataFrame({"a": [1]})],
)
@pytest.mark.parametrize("categorical_features", ["from_dtype", None, [], np.zeros(0, dtype=bool)])
def test_a_table_without_categories_is_the_same_object(X, categorical_features):
    categories = Categories.of(X, categorical_features, 255)
    assert len(categories.columns) == 0
    assert categories.values == ()
    assert categories.encode(X) is X


@pytest.mark.parametrize("X", [np.ones(4), 3.0, [[1, 2], [3]], csr_array(np.eye(3)), None])
def test_what_is_no_table_is_left_to_the_reader(X):
    assert len(Categories.of(X, [0], 255).columns) == 0
    assert Categories(np.array([0]), (np.ones(1),)).encode(X) is X


def test_new_rows():
    categories = Categories.of(pandas_table(), ["colour", "size"], 255)
    rows = pd.DataFrame(
        {"colour": ["green", "violet", None, "red"], "weight": 0.0, "size": [7, 2, 1, 3]}, index=[9, 3, 9, 0]
    )
    encoded = categories.encode(rows)
    assert_array_equal(encoded["colour"], [1, np.nan, np.nan, 2])
    assert_array_equal(encoded["size"], [2, np.nan, 0, 1])
    assert encoded.index.tolist() == [9, 3, 9, 0]
    too_few = categories.encode(pl.DataFrame({"colour": ["red"]}))  # which the reader refuses
    assert too_few.columns == ["colour"]
    assert_array_equal(np.asarray(categories.encode(rows[:0])["colour"]), [])


def test_columns_numbered_by_a_data_frame():
    table = pd.DataFrame(np.arange(6.0).reshape(3, 2), index=[5, 5, 7])
    table[1] = pd.Categorical([10, 30, 10])
    categories = Categories.of(table, "from_dtype", 255)
    assert_array_equal(categories.values[0], [10, 30])
    encoded = categories.encode(table)
    assert encoded.columns.tolist() == [0, 1]
    assert_array_equal(encoded, [[0, 0], [2, 1], [4, 0]])


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.Categorical([True, False, None]), [0, 1]),
        (pd.Categorical([3, None, 1]), [1, 3]),
        (pd.Categorical([2.5, None, -1], ordered=True), [-1, 2.5]),
        (pd.Categorical(pd.array([3, None, 1], dtype="Int64")), [1, 3]),
        (pd.Categorical([None, None, None]), []),
        (pd.Categorical(pd.cut([1, 2, 3], 2)), ("(0.998, 2.0]", "(2.0, 3.0]")),
        (pd.Categorical(pd.to_datetime(["2026-01-02", None, "2026-01-01"])), ("2026-01-01 00:00:00",)),
        (pd.Categorical([("a", 1), ("a", 2), None]), ("('a', 1)", "('a', 2)")),
    ],
)
def test_kinds_of_categories(column, expected):
    table = pd.DataFrame({"a": column})
    categories = Categories.of(table, "from_dtype", 255)
    [values] = categories.values
    assert type(values) is (tuple if isinstance(expected, tuple) else np.ndarray)
    assert list(values)[: len(expected)] == list(expected)
    codes = categories.encode(table)["a"].to_numpy()
    assert_array_equal(np.isnan(codes), pd.isna(column))
    assert_array_equal(np.unique(codes[~np.isnan(codes)]), np.arange(len(values)))


def test_columns_of_polars_that_are_not_categorical_by_type():
    table = pl.DataFrame(
        {"flag": [True, None, False], "day": [date(2026, 1, 2), None, date(2026, 1, 1)], "price": ["1.10", "2", None]}
    ).with_columns(pl.col("price").cast(pl.Decimal(10, 2)).alias("decimal"))
    categories = Categories.of(table, table.columns, 255)
    assert_array_equal(categories.values[0], [0, 1])
    assert categories.values[1] == ("2026-01-01", "2026-01-02")
    assert categories.values[2] == ("1.10", "2")
    assert_array_equal(categories.values[3], [1.1, 2.0])
    assert_array_equal(
        categories.encode(table).to_numpy(), [[1, 1, 0, 0], [np.nan, np.nan, 1, 1], [0, 0, np.nan, np.nan]]
    )
    assert len(Categories.of(table, "from_dtype", 255).columns) == 0
    with_nulls = pa.table({"n": pa.array([4, None, 2])})
    encoded = Categories.of(with_nulls, ["n"], 255).encode(with_nulls)
    assert_array_equal(encoded["n"].to_numpy(), [1, np.nan, 0])


def test_infinity_is_left_for_the_reader_to_refuse():
    table = np.array([[1.0, 0.5], [np.inf, 0.5], [2.0, 0.5]])
    categories = Categories.of(table, [0], 255)
    assert_array_equal(categories.values[0], [1, 2])
    assert_array_equal(categories.encode(table)[:, 0], [0, np.inf, 1])
    with pytest.raises(ValueError, match="Input X contains infinity"):
        read_training_data(LabelConsensus(), categories.encode(table), [0, 1, 1])


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_codes_are_those_of_scikit_learn_whatever_the_partitions(seed, n_partitions):
    generator = np.random.default_rng(seed)
    numbers = np.where(generator.random((30, 1)) < 0.2, np.nan, generator.integers(-3, 4, (30, 1)) / 2)
    words = generator.choice(np.array(["x", "yy", "Zebra", "", None], dtype=object), (30, 1))
    table = pd.DataFrame({"n": numbers[:, 0], "w": words[:, 0]})
    columns = np.array([0, 1])
    parts = [table.iloc[rows] for rows in np.array_split(np.arange(30), n_partitions)]
    distinct = [chain(*values) for values in zip(*(distinct_values(part, columns) for part in parts))]
    categories = Categories.from_distinct(columns, distinct, 255)
    encoded = np.concatenate([categories.encode(part).to_numpy() for part in parts])
    assert_array_equal(encoded, Categories.of(table, columns, 255).encode(table))
    assert_array_equal(
        encoded, OrdinalEncoder(encoded_missing_value=np.nan).fit_transform(table.replace({None: np.nan}))
    )


def test_selection_of_columns():
    frame = pandas_table()
    assert categorical_columns(make_column_selector(dtype_include="category"), frame, 3).tolist() == [0]
    assert categorical_columns("from_dtype", frame.iloc[:0], 3).tolist() == [0]
    assert categorical_columns("from_dtype", pl.LazyFrame(polars_table()), 3).tolist() == [0]


@pytest.mark.parametrize(
    ("X", "categorical_features", "message"),
    [
        (
            pandas_table(),
            ["hue"],
            "categorical_features names the column 'hue', which X does not have; its columns are",
        ),
        (np.ones((4, 2)), ["a"], "categorical_features names the column 'a', but X is not a data frame"),
        (np.ones((4, 2)), [2], r"categorical_features asks for column 2, but X has n_features=2 \(columns 0 to 1\)"),
        (np.ones((4, 2)), [True], "categorical_features is a boolean mask of length 1, but X has 2 columns"),
        (np.ones((4, 2)), "colour", r"categorical_features must be 'from_dtype', None, a list .* write \['colour'\]"),
        (
            np.arange(30.0).reshape(15, 2),
            [1],
            "The categorical column 1 of X has 15 categories; max_bins allows 10. Merge rare ones",
        ),
        (
            pd.DataFrame({"city": pd.Categorical(list("abcdefghijkl"))}),
            "from_dtype",
            "The categorical column 'city' of X has 12 categories; max_bins allows 10",
        ),
        (
            pd.DataFrame({"mixed": pd.Categorical(["a", 1, "b"])}),
            "from_dtype",
            "The categorical column 'mixed' of X holds both numbers and text, such as 1 and 'a'; make all of them text",
        ),
        (np.array([[[1], 2]] * 3, dtype=object), [0], "column 0 of X must hold numbers or text: .*unhashable"),
        (
            pd.DataFrame(np.ones((3, 2)), columns=["a", "a"]),
            "from_dtype",
            "categorical_features needs columns with names of their own. .*'a' 2 times",
        ),
    ],
)
def test_messages(X, categorical_features, message):
    with pytest.raises(ValueError, match=message):
        Categories.of(X, categorical_features, 10)


@pytest.mark.parametrize("categorical_features", [[0.5], [None], 1.5, object()])
def test_what_selects_no_columns(categorical_features):
    with pytest.raises(TypeError, match=r"categorical_features (holds|is) .*columns are chosen by integers, names"):
        Categories.of(np.ones((4, 2)), categorical_features, 10)


def test_arrays_on_a_gpu():
    array_api_strict = pytest.importorskip("array_api_strict")
    on_gpu = array_api_strict.ones((4, 2))
    assert Categories.of(on_gpu, "from_dtype", 255).encode(on_gpu) is on_gpu
    with pytest.raises(TypeError, match="categorical_features reads X on the host; got one of array_api_strict"):
        Categories.of(on_gpu, [0], 255)


@pytest.mark.parametrize(
    ("fitted", "new", "message"),
    [
        ([1, 2], ["1", "2"], "column 'a' of X held numbers when the model was fitted, and holds text now, such as '1'"),
        (["1", "2"], [1, 2], "column 'a' of X held text when the model was fitted, and holds numbers now, such as 1"),
        (["1", "2"], pd.Categorical([1, 2]), "held text when the model was fitted, and holds numbers now, such as 1"),
    ],
)
def test_a_column_stays_of_its_kind(fitted, new, message):
    categories = Categories.of(pd.DataFrame({"a": fitted}), ["a"], 255)
    with pytest.raises(ValueError, match=message):
        categories.encode(pd.DataFrame({"a": new}))
    assert_array_equal(categories.encode(pd.DataFrame({"a": [np.nan, np.nan]}))["a"], [np.nan, np.nan])


@pytest.mark.parametrize("new", [["x", None], [1.0, np.nan], pd.Categorical(["x", None]), pd.Categorical([1, None])])
def test_a_column_that_was_missing_throughout_has_no_category(new):
    categories = Categories.of(pd.DataFrame({"a": pd.Categorical([None, None])}), "from_dtype", 255)
    assert categories.n_categories.tolist() == [0]
    assert_array_equal(categories.encode(pd.DataFrame({"a": new}))["a"], [np.nan, np.nan])


CATEGORIES = Categories(np.array([1, 4]), (np.array([1.0, 2.5]), ("", "bär", "z")))


def test_categories_are_saved():
    writer = Writer()
    written = writer.write(CATEGORIES)
    assert written["object"] == "data.Categories"
    loaded = Reader(writer.arrays, []).read(written)
    assert type(loaded) is Categories
    assert_array_equal(loaded.columns, CATEGORIES.columns)
    assert_array_equal(loaded.values[0], CATEGORIES.values[0])
    assert loaded.values[1] == CATEGORIES.values[1]


@pytest.mark.parametrize(
    ("forged", "message"),
    [
        ({"columns": np.array([4, 1])}, "categories of columns that are not in order"),
        ({"columns": np.array([1, 1])}, "categories of columns that are not in order"),
        ({"columns": np.array([1])}, "of another number of columns"),
        ({"columns": np.array([-1, 2])}, "numbers out of range"),
        ({"columns": np.array([1.0, 2.0])}, "whose columns is an array of float64"),
        ({"values": (np.array([2.0, 1.0]), ("a",))}, "a column whose categories are not in order"),
        ({"values": (np.array([1.0, 1.0]), ("a",))}, "a column whose categories are not in order"),
        ({"values": (np.array([1.0]), ("b", "a"))}, "a column whose categories are not in order"),
        ({"values": (np.array([1.0]), ("a", 2))}, "whose values is a tuple"),
        ({"values": (np.array([1.0]), ["a"])}, "whose values is a tuple"),
        ({"values": (np.array(["a"]), ("a",))}, "whose values is a tuple"),
        ({"values": (np.array([1.0, np.nan]), ("a",))}, "neither numbers nor text"),
        ({"values": (np.array([[1.0]]), ("a",))}, "neither numbers nor text"),
        ({"values": (np.array([1.0], dtype=np.float32), ("a",))}, "neither numbers nor text"),
        ({"values": (np.arange(256.0), ("a",))}, "a column of 256 categories; 255 are the most"),
    ],
)
def test_forged_categories_are_refused(forged, message):
    writer = Writer()
    written = writer.write(replace(CATEGORIES, **forged))
    with pytest.raises(ValueError, match=message):
        Reader(writer.arrays, []).read(written)
