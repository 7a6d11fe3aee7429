"""Rows of a tree: their histograms, by bins and nodes, and the leaf of each, by values as by bins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn.numeric import tree_rows
from fuselearn.numeric.exact_sums import in_units
from fuselearn.numeric.threads import Threads
from fuselearn.numeric.tree_rows import BinTree, RowsByNode, class_histograms, leaves_of_bins, node_histograms


def naive_histograms(bins, rows, codes, weights, n_classes, n_bins):
    histograms = np.zeros((len(bins), n_classes, n_bins), dtype=weights.dtype)
    for j in range(len(bins)):
        for i in rows:
            histograms[j, codes[i], bins[j, i]] += weights[i]
    return histograms


@pytest.mark.parametrize("in_floats", [False, pytest.param(True, marks=pytest.mark.long)])
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(0, 40),
    n_columns=st.integers(1, 9),
    n_classes=st.integers(2, 4),
    n_threads=st.sampled_from([1, 2, 3]),
)
def test_histograms_are_the_naive_ones(in_floats, seed, n_rows, n_columns, n_classes, n_threads):
    rng = np.random.default_rng(seed)
    n_bins = int(rng.integers(2, 257))
    bins = rng.integers(n_bins, size=(n_columns, n_rows)).astype(np.uint8)
    codes = rng.integers(n_classes, size=n_rows).astype(np.int32)
    weights = rng.dirichlet(np.ones(n_rows)) if n_rows else np.empty(0)
    groups = np.array_split(rng.permutation(n_rows).astype(np.uint32), int(rng.integers(1, 4)))
    with Threads(n_threads) as threads, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree_rows, "CACHED_ROWS", int(rng.integers(1, 50)))
        values, check = (weights, assert_allclose) if in_floats else (in_units(weights), assert_array_equal)
        sizes = values, n_classes, n_bins
        fast = class_histograms(bins, codes, *sizes, threads=threads)
        check(fast, naive_histograms(bins, range(n_rows), codes, *sizes))
        fast = node_histograms(bins, groups, codes, *sizes, threads=threads)
        check(fast, [naive_histograms(bins, rows, codes, *sizes) for rows in groups])


def test_whole_numbers_do_not_care_about_the_order_of_rows():
    rng = np.random.default_rng(0)
    bins, codes = rng.integers(20, size=(3, 5000)).astype(np.uint8), rng.integers(3, size=5000).astype(np.int32)
    weights = in_units(rng.dirichlet(np.full(5000, 0.1)))
    order = rng.permutation(5000)
    whole = class_histograms(bins, codes, weights, 3, 21)
    assert_array_equal(class_histograms(bins[:, order].copy(), codes[order], weights[order], 3, 21), whole)
    one, other = node_histograms(bins, np.split(order.astype(np.uint32), [100]), codes, weights, 3, 21)
    assert_array_equal(whole - one, other)


MISSING_BIN = 9


class GrowingTree:
    """A tree that splits a leaf at random whenever it is asked to."""

    def __init__(self, rng, n_columns):
        self.rng, self.n_columns = rng, n_columns
        self.nodes = [[-1, 0, False, -1, -1]]

    def grow(self):
        leaves = [number for number, node in enumerate(self.nodes) if node[0] < 0]
        children = [len(self.nodes), len(self.nodes) + 1]
        cut, missing_left = int(self.rng.integers(8)), bool(self.rng.integers(2))
        self.nodes[self.rng.choice(leaves)] = [int(self.rng.integers(self.n_columns)), cut, missing_left, *children]
        self.nodes += [[-1, 0, False, -1, -1], [-1, 0, False, -1, -1]]

    def tree(self):
        feature, cut_bin, missing_left, left, right = zip(*self.nodes)
        kinds = np.int32, np.int32, np.bool_, np.int32, np.int32
        arrays = (feature, cut_bin, missing_left, left, right)
        return BinTree(*(np.array(values, dtype=kind) for values, kind in zip(arrays, kinds)), MISSING_BIN)


def naive_leaf(tree, row):
    node = 0
    while tree.feature[node] >= 0:
        value = row[tree.feature[node]]
        goes_left = tree.missing_left[node] if value == MISSING_BIN else value <= tree.cut_bin[node]
        node = tree.left[node] if goes_left else tree.right[node]
    return node


def random_bins(rng, n_rows):
    return rng.integers(0, MISSING_BIN + 1, size=(3, n_rows)).astype(np.uint8)


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.sampled_from([1, 3]))
def test_rows_follow_a_tree_as_it_grows(seed, n_rows, n_threads):
    rng = np.random.default_rng(seed)
    bins = random_bins(rng, n_rows)
    growing, rows = GrowingTree(rng, 3), RowsByNode(bins)
    with Threads(n_threads) as threads:
        for _ in range(4):
            for _ in range(rng.integers(0, 3)):
                growing.grow()
            tree = growing.tree()
            rows.follow(tree, threads)
            leaves = np.array([naive_leaf(tree, row) for row in bins.T])
            assert_array_equal(leaves_of_bins(bins, tree, threads=threads), leaves)
            assert_array_equal(rows.leaf_values(np.arange(len(tree.feature)), threads), leaves)
            for node in np.flatnonzero(tree.feature < 0):
                assert_array_equal(rows.rows_of(node), np.flatnonzero(leaves == node))


@given(st.integers(0, 2**32 - 1))
def test_rows_follow_another_tree_from_the_root(seed):
    rng = np.random.default_rng(seed)
    bins = random_bins(rng, 50)
    rows = RowsByNode(bins)
    trees = [GrowingTree(rng, 3) for _ in range(3)]
    for _ in range(12):
        growing = trees[rng.integers(3)]
        if len(growing.nodes) < 15:
            growing.grow()
        tree = growing.tree()
        if rng.random() < 0.1:
            rows.forget()
            assert not rows.begins(tree)
        rows.follow(tree)
        assert rows.begins(tree)
        assert_array_equal(rows.leaf_values(np.arange(len(tree.feature))), leaves_of_bins(bins, tree))


@pytest.mark.parametrize("change", ["feature", "cut_bin", "missing_left", "smaller"])
def test_a_tree_with_another_split_was_not_begun(change):
    rng = np.random.default_rng(0)
    growing, rows = GrowingTree(rng, 3), RowsByNode(random_bins(rng, 40))
    growing.grow()
    small = growing.tree()
    growing.grow()
    tree = growing.tree()
    rows.follow(tree)
    assert rows.begins(tree)
    if change == "smaller":
        assert not rows.begins(small)
    else:
        values = getattr(tree, change).copy()
        values[0] = not values[0] if change == "missing_left" else (values[0] + 1) % 3
        assert not rows.begins(tree._replace(**{change: values}))


def test_a_level_moves_only_the_rows_of_its_splits(monkeypatch):
    """A tree that is grown level by level moves each row once a level, and rows of finished leaves not at all."""
    moved = []
    divide = tree_rows._divide
    monkeypatch.setattr(tree_rows, "_divide", lambda *arrays: moved.append(len(arrays[2])) or divide(*arrays))
    rng = np.random.default_rng(1)
    bins = random_bins(rng, 200)
    growing, rows = GrowingTree(rng, 3), RowsByNode(bins)
    for _ in range(8):
        growing.grow()
        tree = growing.tree()
        [split] = np.flatnonzero(tree.left == len(tree.feature) - 2).tolist()
        before = rows.rows_of(split) if len(tree.feature) > 3 else np.arange(200)
        moved.clear()
        rows.follow(tree)
        assert moved == [len(before)]
