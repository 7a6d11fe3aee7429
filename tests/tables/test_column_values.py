"""What columns of a table are taken for, by their types and by the values of objects."""

import datetime
import decimal
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fuselearn import ShareBoostClassifier, TableClassifier
from fuselearn.tables import ViewColumns

N = 40
Y = np.arange(N) % 2


def fitted(column, frame=pd.DataFrame):
    """Return the kind of a column and the numbers that are made of it."""
    table = frame({"c": column})
    columns = ViewColumns()
    matrix = columns.fit_transform(table, Y)
    np.testing.assert_array_equal(columns.transform(table), matrix)
    return columns.kinds_["c"], matrix


@pytest.mark.parametrize(
    "column",
    [
        pd.array([1, None, 3, 4] * 10, dtype="Int64"),
        pd.array([1, None, 3, 4] * 10, dtype="Float64"),
        np.array([1, None, 3, 4] * 10, dtype=object),
        np.array([1, pd.NA, 3.0, np.int8(4)] * 10, dtype=object),
        np.array([decimal.Decimal(1), None, decimal.Decimal("3.0"), 4] * 10, dtype=object),
    ],
    ids=["Int64", "Float64", "objects", "NA", "decimals"],
)
def test_numbers_with_gaps(column):
    kind, matrix = fitted(column)
    assert kind == "number"
    np.testing.assert_array_equal(matrix[:4, 0], [1, np.nan, 3, 4])


def test_other_gaps():
    kind, matrix = fitted(pd.array(["a", None, "b", "a"] * 10, dtype="string"))
    assert kind == "text"
    np.testing.assert_array_equal(matrix[:4], [[1, 0], [np.nan, np.nan], [0, 1], [1, 0]])
    kind, matrix = fitted(np.array([True, None, False, True] * 10, dtype=object))
    assert kind == "boolean"
    np.testing.assert_array_equal(matrix[:4, 0], [1, np.nan, 0, 1])
    kind, matrix = fitted(np.array([datetime.date(2024, 2, 29), pd.NaT, pd.NA, None] * 10, dtype=object))
    assert kind == "date"
    assert np.isnan(matrix[1:4]).all()
    kind, matrix = fitted(pl.Series(range(N), dtype=pl.Int128), pl.DataFrame)
    np.testing.assert_array_equal(matrix[:, 0], np.arange(N))


def test_a_frame_with_converted_types_is_the_same_table():
    plain = pd.DataFrame({"n": [1.0, None, 3.0, 4.0] * 10, "t": ["a", None, "b", "a"] * 10, "w": [1, 2, 3, 4] * 10})
    model = TableClassifier(ShareBoostClassifier(n_estimators=3)).fit(plain.convert_dtypes(), Y)
    expected = TableClassifier(ShareBoostClassifier(n_estimators=3)).fit(plain, Y).predict_proba(plain)
    for table in (plain, plain.convert_dtypes()):
        np.testing.assert_array_equal(model.predict_proba(table), expected)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([[1, 2]] * N, r"'c' holds \[1, 2\] in row 0, of type list; each cell of a view holds one number"),
        ([None, (1, 2)] * 20, r"'c' holds \(1, 2\) in row 1, of type tuple"),
        ([b"a", b"b"] * 20, "in row 0, of type bytes"),
        ([datetime.time(8)] * N, "of type time"),
        (np.arange(N) * 1j, "'c' holds complex128; a view holds numbers, text and dates"),
        (pd.period_range("2020-01", periods=N, freq="M"), r"'c' holds period\[M\]; a view holds"),
        (np.where(np.arange(N) == 3, np.inf, 1.0), "'c' has an infinite value in row 3"),
    ],
)
def test_what_no_view_holds(column, message):
    with pytest.raises(ValueError, match=message):
        fitted(pd.Series(column))


def test_names_of_several_levels_are_refused():
    table = pd.DataFrame(np.zeros((N, 2)), columns=pd.MultiIndex.from_tuples([("a", "x"), ("b", "y")]))
    with pytest.raises(ValueError, match=r"several levels, such as \('a', 'x'\); each column needs one name"):
        TableClassifier(ShareBoostClassifier(n_estimators=3)).fit(table, Y)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([f"{n}.5" if n != 3 else "not recorded" for n in range(N)], r"'c' holds numbers, such as '0.5'.*to_numeric"),
        ([f"2020-01-{1 + n % 28:02d}" for n in range(N)], "'c' holds dates, such as '2020-01-01'.*to_datetime"),
        ([f"t{n}" for n in range(N)], "'c' holds another value in nearly every row, such as 't0'.*leave it out"),
    ],
    ids=["numbers", "dates", "names"],
)
def test_text_that_is_hardly_a_category_is_warned_of(texts, message):
    with pytest.warns(UserWarning, match=message) as caught:
        columns = ViewColumns().fit(pd.DataFrame({"c": texts}), Y)
    assert len(caught) == 1
    assert columns.kinds_["c"] == "text"


@pytest.mark.parametrize("texts", [["1", "2", "3", "4"] * 10, ["north", "south"] * 20, ["3 a", "may"] * 20])
def test_text_that_may_well_be_a_category_is_not(texts):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fitted(texts)[0] == "text"
