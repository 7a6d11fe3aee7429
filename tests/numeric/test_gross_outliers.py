"""Gross outliers against a slow search that follows the definition, and on data that has none."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn.numeric import gross_outliers as fast
from fuselearn.numeric.gross_outliers import FACTOR, HIGHEST, LARGEST, LEAST, LOWEST


def places(table):
    found = fast.gross_outliers(table, fast.ordinary_ranges(table))
    return list(zip(found.rows.tolist(), found.columns.tolist()))


def slow_places(table):
    """Look at every cell of every column that has an interquartile range."""
    found = []
    for column, values in enumerate(table.T):
        ordered = sorted(value for value in values if value == value)
        if len(ordered) < 8:
            continue
        first, median, third = (ordered[(len(ordered) - 1) * quarter // 4] for quarter in (1, 2, 3))
        distances = sorted(abs(value - median) for value in ordered)
        limit = np.inf
        for before, distance in pairwise(distances):
            if distance > 1000 * (third - first) and distance >= 100 * before:
                limit = distance
                break
        found += [(row, column) for row, value in enumerate(values) if abs(value - median) >= limit]
    return found


@given(st.integers(0, 2**32 - 1), st.integers(8, 60), st.sampled_from([0.0, 0.02, 0.1]), st.booleans())
@settings(max_examples=80)
def test_the_search_follows_the_definition(seed, n_rows, share, gaps):
    rng = np.random.default_rng(seed)
    table = rng.lognormal(sigma=rng.choice([0.5, 2.0, 4.0]), size=(n_rows, 4)) * rng.choice([-1, 1], size=4)
    spoilt = rng.random(table.shape) < share
    table[spoilt] = rng.choice([1e4, -1e5, 1e9, 1e20, -1e30, 1e308], size=spoilt.sum())
    if gaps:
        table[2:][rng.random((n_rows - 2, 4)) < 0.2] = np.nan
    assert places(table) == slow_places(table)


def ordinary_tables():
    rng = np.random.default_rng(0)
    sparse = rng.lognormal(sigma=1.5, size=(400, 200)) * (rng.random((400, 200)) < 0.05)
    gaps = rng.normal(size=(50, 4))
    gaps[10:, 1] = np.nan
    return {
        "normal": rng.normal(size=(5000, 20)),
        "log-normal": rng.lognormal(sigma=1.5, size=(300, 2000)),
        "far from 0": 1e12 + rng.normal(size=(300, 20)),
        "different units": rng.normal(size=(300, 20)) * 10.0 ** np.arange(-10, 10),
        "counts": rng.poisson(0.05, size=(300, 200)).astype(float),
        "sparse": sparse,
        "indicators": (rng.random((3000, 100)) < 0.002).astype(float),
        "constant": np.full((20, 3), 7.0),
        "one row": rng.normal(size=(1, 3)),
        "two rows": np.array([[0.0, 1e9], [1e-9, 2.0]]),
        "gaps": gaps,
        "single precision": rng.normal(size=(300, 20)).astype(np.float32),
    }


@pytest.mark.parametrize("name", ordinary_tables())
def test_ordinary_data_stay_as_they_are(name):
    table = ordinary_tables()[name]
    ranges = fast.ordinary_ranges(table)
    assert len(fast.gross_outliers(table, ranges).rows) == 0
    assert fast.ordinary_values(table, ranges) is table
    assert_array_equal(ranges[LEAST], np.fmin.reduce(table, axis=0))
    assert_array_equal(ranges[LARGEST], np.fmax.reduce(table, axis=0))


@pytest.mark.parametrize("name", ["normal", "log-normal", "far from 0", "counts", "sparse", "indicators", "gaps"])
@pytest.mark.parametrize("wrong", [1e25, -1e30, 1e308])
def test_one_wrong_cell_is_found(name, wrong):
    table = ordinary_tables()[name]
    table[3, 2] = wrong
    assert places(table) == [(3, 2)]


def test_wrong_cells_of_a_column_of_equal_cells_are_found_by_the_other_columns():
    table = ordinary_tables()["normal"][:300]
    table[:, 5] = 0.0
    table[::20, 5] = 1e30
    assert places(table) == [(row, 5) for row in range(0, 300, 20)]


def test_a_column_that_is_seldom_anything_may_be_large():
    table = ordinary_tables()["normal"][:300]
    table[:, 5] = 0.0
    table[:3, 5] = 250_000.0
    assert places(table) == []


def test_a_twentieth_of_the_cells_is_found():
    rng = np.random.default_rng(1)
    table = rng.lognormal(size=(200, 30))
    spoilt = rng.random(table.shape) < 0.05
    expected = table.copy()
    table[spoilt] = np.where(rng.random(spoilt.sum()) < 0.5, 1e30, -1e308)
    ranges = fast.ordinary_ranges(table)
    expected[spoilt] = np.where(table > 0, ranges[LARGEST], ranges[LEAST])[spoilt]
    assert sorted(places(table)) == list(zip(*np.nonzero(spoilt)))
    assert_array_equal(fast.ordinary_values(table, ranges), expected)


def test_new_rows_are_judged_by_the_ranges_of_the_old_ones():
    rng = np.random.default_rng(2)
    ranges = fast.ordinary_ranges(rng.normal(size=(100, 3)))
    rows = np.array([[1e20, 5.0, np.nan], [-1e20, -40.0, 0.1]])
    expected = np.array([[ranges[LARGEST, 0], 5.0, np.nan], [ranges[LEAST, 0], -40.0, 0.1]])
    given_rows = rows.copy()
    assert_array_equal(fast.ordinary_values(rows, ranges), expected)
    assert_array_equal(rows, given_rows)
    assert (ranges[LOWEST] < -1e3).all()
    assert (ranges[HIGHEST] > 1e3).all()


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e50, 1e200, 1e300])
def test_sizes_that_squares_cannot_hold_get_a_factor(size):
    table = np.random.default_rng(3).uniform(0.5, 2.0, size=(30, 3)) * [size, 1.0, -size]
    ranges = fast.ordinary_ranges(table)
    mantissa, _ = np.frexp(ranges[FACTOR])
    assert_array_equal(mantissa, 0.5)  # a power of two: nothing is rounded
    assert ranges[FACTOR, 1] == 1.0
    scaled = fast.ordinary_values(table, ranges)
    assert (np.abs(scaled) < 3).all()
    assert (np.abs(scaled) > 0.1).all()
    assert_allclose(scaled / ranges[FACTOR], table, rtol=0)


def test_quartiles_look_at_a_sample_of_the_rows(monkeypatch):
    n_sorted = []
    sort = np.sort
    monkeypatch.setattr(
        fast.np, "sort", lambda values, *args, **kwargs: n_sorted.append(values.size) or sort(values, *args, **kwargs)
    )
    for n_rows in (50_000, 100_000):
        table = np.random.default_rng(4).normal(size=(n_rows, 3))
        table[7, 1] = 1e20
        n_sorted.clear()
        assert places(table) == [(7, 1)]
        # The rows drawn, those rows of all columns, the one column to look at, and one number for each column.
        assert sum(n_sorted) <= fast.SAMPLED_ROWS * 4 + n_rows + 3


def in_partitions(table, cuts):
    """Ranges of a table whose rows are in partitions."""
    planning = fast.range_planning(len(table))
    question = next(planning)
    parts = list(zip(np.split(table, cuts), [0, *cuts]))
    while True:
        try:
            question = planning.send(question.merged([question(part, first) for part, first in parts]))
        except StopIteration as end:
            return end.value


@pytest.mark.parametrize("n_rows", [9, 300, 6000])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_partitions_do_not_matter(n_rows, kind):
    """Columns with a spread, mostly zero, and of counts; with outliers, infinite distances and gaps."""
    rng = np.random.default_rng(n_rows)
    table = rng.lognormal(sigma=4.0, size=(n_rows, 5)) * rng.choice([-1, 1], size=5)
    table[:, 1] = np.where(rng.random(n_rows) < 0.8, 0, table[:, 1])
    table[:, 2] = rng.poisson(0.3, n_rows)
    spoilt = rng.random(table.shape) < 0.02
    largest = 1e308 if kind is np.float64 else 1e38
    table[spoilt] = rng.choice([1e4, -1e5, 1e20, largest, -largest], size=spoilt.sum())
    table[rng.random(table.shape) < 0.1] = np.nan
    table = table.astype(kind)
    with np.errstate(over="ignore"):
        whole = fast.ordinary_ranges(table)
        assert len(fast.gross_outliers(table, whole).rows) or n_rows == 9
        for cuts in ([4], [0, 0, 3, n_rows], [2, 3, n_rows // 2]):
            assert_array_equal(in_partitions(table, cuts), whole)
