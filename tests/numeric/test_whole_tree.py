"""Whole trees on several threads: the same nodes as those that one call grows, whatever is expanded ahead."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from fuselearn.boosting.gradient.splitting import GrowthSettings
from fuselearn.numeric import whole_tree
from fuselearn.numeric.execution import Scratch, Threads
from fuselearn.numeric.growth_arrays import CountedRows, GrowthMemory, Nodes
from fuselearn.numeric.whole_tree import grow_whole_tree, plan_loop

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


def grown(counted, growth, n_threads=1, n_ahead=None):
    """Return the nodes, and the rows of each leaf."""
    counted = counted._replace(rows=counted.rows.copy())
    n_leaves = growth.max_leaf_nodes
    n_ahead = 0 if n_threads == 1 else n_leaves if n_ahead is None else n_ahead
    memory = GrowthMemory(len(counted.columns), N_BINS, n_leaves, 1, Scratch(), n_ahead)
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


@pytest.fixture(params=[0, 1, 2**30], ids=["one at a time", "some", "all"])
def share(request, monkeypatch):
    """Expand few leaves at a time, or all that are wanted; call all threads for the least work."""
    monkeypatch.setattr(whole_tree, "SHARED_CELLS", request.param * 700 if request.param < 2 else request.param)
    monkeypatch.setattr(whole_tree, "LEAST_CELLS", 0)
    monkeypatch.setattr(whole_tree, "LEAST_ROWS", 50)


@pytest.mark.parametrize("n_threads", [2, 3, 9])
@pytest.mark.parametrize("case", [{}, {"weighted": True}, {"equal": True}, {"n_columns": 5, "n_leaves": 200}])
def test_threads_grow_the_same_tree(case, n_threads, share):
    for seed in range(3):
        counted, growth = problem(seed, **case)
        serial = grown(counted, growth)
        assert len(serial[0].left) > 10
        assert_same(grown(counted, growth, n_threads), serial)


@pytest.mark.parametrize("n_ahead", [0, 1, 5])
def test_little_memory_for_what_is_expanded_ahead(n_ahead, share):
    counted, growth = problem(5, n_leaves=60)
    assert_same(grown(counted, growth, 2, n_ahead), grown(counted, growth))


def test_a_tree_without_a_split(share):
    counted, growth = problem(0)
    counted = counted._replace(g=np.zeros_like(counted.g))
    nodes, leaves = grown(counted, growth, 2)
    assert len(nodes.left) == len(leaves) == 1
    assert_same((nodes, leaves), grown(counted, growth))


def test_leaves_ahead_are_expanded_together(monkeypatch):
    """Where there is little to share, a tree takes few steps; one leaf at a time it takes as many as it has splits."""
    monkeypatch.setattr(whole_tree, "LEAST_CELLS", 0)
    steps = []
    expand = whole_tree.expand_loop
    monkeypatch.setattr(whole_tree, "expand_loop", lambda *args: (steps.append(len(args[0])), expand(*args)))
    counted, growth = problem(1, n_columns=2 * 4, n_leaves=64)
    monkeypatch.setattr(whole_tree, "SHARED_CELLS", 0)
    nodes, _ = grown(counted, growth, 2)
    n_splits = int(np.count_nonzero(nodes.left >= 0))
    # Each step calls both threads; the children of the last split are not counted.
    assert set(steps) <= {0, 1}
    assert sum(steps) == 2 * (n_splits - 1)
    steps.clear()
    monkeypatch.setattr(whole_tree, "SHARED_CELLS", 2**30)
    grown(counted, growth, 2)
    assert len(steps) / 2 < n_splits / 2
    assert sum(steps) / 2 < 2 * n_splits


@given(st.integers(0, 10**6), st.integers(2, 40))
@settings(max_examples=60, deadline=None)
def test_a_plan_is_the_tree_that_is_known(seed, n_leaves):
    """Of a tree whose nodes are all known, parts are forgotten: what is certain, and what is wanted, are part of it."""
    draws = np.random.default_rng(seed)
    n_nodes = 4 * n_leaves + 1
    gain = np.where(draws.random(n_nodes) < 0.9, draws.integers(1, 6, size=n_nodes) / 4, -np.inf)
    left = np.where(2 * np.arange(n_nodes) + 2 < n_nodes, 2 * np.arange(n_nodes) + 1, -1)
    gain[left < 0] = -np.inf
    order, known_left, wanted = (np.empty(2 * n_leaves - 1, dtype=np.intp) for _ in range(3))

    def plan(left):
        nodes = Nodes.empty(n_nodes)
        nodes.gain[:], nodes.left[:] = gain, left
        return plan_loop(nodes, n_leaves, order, known_left, wanted)

    n_known, n_wanted, n_certain = plan(left)
    assert n_wanted == 0
    assert n_known == 2 * n_certain + 1
    whole = order[:n_known].tolist()
    split = {whole[number] for number in np.flatnonzero(known_left[:n_known] >= 0)}
    # Each split is of the largest gain among the leaves at that time.
    open_gains = [gain[0]]
    for number in sorted(split, key=lambda node: whole.index(int(left[node]))):
        assert gain[number] == max(open_gains)
        open_gains.remove(gain[number])
        open_gains += [gain[left[number]], gain[left[number] + 1]]
    forgotten = np.where(draws.random(n_nodes) < 0.5, -1, left)
    n_planned, n_wanted, n_certain = plan(forgotten)
    first = 2 * n_certain + 1
    assert order[:first].tolist() == whole[:first]
    if n_wanted:
        assert wanted[0] in split
        assert set(wanted[:n_wanted].tolist()) <= set(np.flatnonzero(forgotten < 0).tolist())
        # What the plan neither splits nor wants is not split in the whole tree either.
        planned = {int(order[n]) for n in range(n_planned) if known_left[n] >= 0}
        known = {int(order[n]) for n in range(n_planned) if order[n] >= 0}
        assert not (known - planned) & split
    else:
        assert n_planned == n_known
