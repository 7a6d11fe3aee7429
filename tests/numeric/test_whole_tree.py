"""Whole trees on several threads: the same nodes as those that one thread makes."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from fuselearn.boosting.gradient.splitting import GrowthSettings
from fuselearn.numeric.execution import Scratch
from fuselearn.numeric.growth_arrays import CountedRows, GrowthMemory, Nodes
from fuselearn.numeric.threads import Threads
from fuselearn.numeric.whole_tree import grow_whole_tree

N_BINS, UNIT = 17, 2.0**-20


def problem(seed, n_rows=3000, n_columns=7, n_leaves=20, *, weighted=False, equal=False):
    """Return rows and settings of a tree: a column of categories, one that values follow, and gaps."""
    draws = np.random.default_rng(seed)
    bins = draws.integers(0, N_BINS, size=(n_columns, n_rows)).astype(np.uint8)
    bins[2] = bins[1]  # equal columns tie
    signal = (bins[0] > 8) * 1.0 + (bins[3] % 3) + (bins[1] > 4) * (bins[4] > 10)
    g = np.rint((signal + draws.normal(size=n_rows)) / UNIT).astype(np.int64) * (-1) ** draws.integers(2, size=n_rows)
    if equal:
        g = np.rint((bins[0] // 2 + (bins[1] > 4)) / UNIT).astype(np.int64)
    categorical = np.arange(n_columns) == 3
    growth = GrowthSettings(
        n_leaves,
        5.0,
        1.0,
        0.1,
        (UNIT, 2.0**-28, 2.0**-10 if weighted else 1.0),
        None,
        np.zeros((n_columns, N_BINS - 2)),
        np.full(n_columns, N_BINS - 1),
        categorical,
        np.where(np.arange(n_columns) == 4, 1, 0).astype(np.int8),
    )
    weights = draws.integers(1, 2**10, size=n_rows).astype(np.int32) if weighted else np.empty(0, np.int32)
    rows = np.flatnonzero(draws.random(n_rows) < 0.9).astype(np.int32)
    counted = CountedRows(
        bins,
        np.arange(n_columns),
        rows,
        np.empty_like(rows),
        g,
        draws.integers(1, 2**27, size=n_rows).astype(np.int32),
        weights,
        growth.n_values,
    )
    return counted, growth


def grown(counted, growth, n_threads=1, *, copy=True):
    """Return the nodes, and the rows of each leaf."""
    counted = counted._replace(rows=counted.rows.copy()) if copy else counted
    memory = GrowthMemory(len(counted.columns), N_BINS, growth.max_leaf_nodes, 1, Scratch())
    with Threads(n_threads) as threads:
        nodes = grow_whole_tree(counted, growth.rules(counted.columns), memory, threads)
    nodes = Nodes._make(array.copy() for array in nodes)
    leaves = [set(counted.rows[slice(*nodes.rows[node])].tolist()) for node in np.flatnonzero(nodes.left < 0)]
    return nodes, leaves


def assert_same(threaded, serial):
    (nodes, leaves), (expected, expected_leaves) = threaded, serial
    for name in ("sums", "bounds", "left", "rows"):
        assert_array_equal(getattr(nodes, name), getattr(expected, name))
    split = expected.left >= 0
    for name in ("gain", "place", "cut", "goes_left", "left_sums"):
        assert_array_equal(getattr(nodes, name)[split], getattr(expected, name)[split])
    assert leaves == expected_leaves


CASES = {
    "few rows": {},
    "weights": {"weighted": True, "n_rows": 30_000},
    "ties": {"equal": True},
    "many leaves": {"n_columns": 5, "n_leaves": 200, "n_rows": 20_000},
    "rows of a leaf for all threads": {"n_rows": 70_000, "n_columns": 5},
}


@pytest.mark.parametrize("n_threads", [2, 3, 9])
@pytest.mark.parametrize("case", CASES)
def test_threads_grow_the_same_tree(case, n_threads):
    for seed in range(2):
        counted, growth = problem(seed, **CASES[case])
        serial = grown(counted, growth)
        assert len(serial[0].left) > 10
        assert_same(grown(counted, growth, n_threads), serial)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_tree_without_a_split(n_threads):
    counted, growth = problem(0)
    counted = counted._replace(g=np.zeros_like(counted.g))
    nodes, leaves = grown(counted, growth, n_threads)
    assert len(nodes.left) == len(leaves) == 1


def test_rows_keep_their_order_in_each_leaf():
    """Also where all threads share out the rows of a leaf."""
    counted, growth = problem(3, n_rows=60_000, n_columns=5)
    for n_threads in (1, 3):
        rows = counted.rows.copy()
        nodes, _ = grown(counted._replace(rows=rows), growth, n_threads, copy=False)
        for node in np.flatnonzero(nodes.left < 0):
            assert np.all(np.diff(rows[slice(*nodes.rows[node])]) > 0)
