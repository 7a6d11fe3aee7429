"""The growth of a tree from leaves whose gains are known beforehand: the order of its splits, and what it asks for."""

from math import inf

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn.boosting.gradient.growth import Growth, _best_first, _in_order, _next_splits, _tree, grow_tree
from fuselearn.boosting.gradient.open_leaves import Leaf
from fuselearn.boosting.gradient.splitting import GrowthSettings, Split


def settings(**changes):
    usual = {
        "max_leaf_nodes": 31,
        "min_samples_leaf": 1,
        "l2_regularization": 1.0,
        "learning_rate": 0.25,
        "units": (0.5, 0.25, 0.125),
        "leaf_quantile": None,
        "edges": np.zeros((3, 6)),
        "n_values": np.array([7, 7, 7]),
        "categorical": np.zeros(3, dtype=bool),
        "monotonic": np.zeros(3, dtype=np.int8),
    }
    return GrowthSettings(**{**usual, **changes})


class PlannedLeaves:
    """Leaves of an endless tree. The gain of a node follows from its path, and is often larger than its parent's."""

    def __init__(self, seed, expands_ahead, chain=False):
        self.seed, self.expands_ahead, self.chain = seed, expands_ahead, chain
        self.paths, self.calls, self.finished = {0: ""}, [], None

    def gain(self, path):
        """The gain of the split of a node; None where it has none."""
        if self.chain:
            return 1.0 if "1" not in path else None
        rng = np.random.default_rng([self.seed, len(path), int("1" + path, 2)])
        return None if path and rng.random() < 0.2 else float(rng.random() * 0.8 ** len(path))

    def leaf(self, path, is_known=True):
        node = next(node for node, of_node in self.paths.items() if of_node == path)
        rng = np.random.default_rng([self.seed, 1, int("1" + path, 2)])
        sums, gain = tuple(rng.integers(1, 90, 3).tolist()), self.gain(path) if is_known else None
        column = int(rng.integers(3))
        split = None if gain is None else Split(gain, column, 2, np.zeros(256, dtype=np.uint8), sums, sums)
        return Leaf(node, len(path), sums, (-inf, inf), split)

    def root(self):
        return self.leaf("")

    def expand(self, leaves, *, final):
        self.calls.append(([self.paths[leaf.node] for leaf in leaves], final))
        for leaf in leaves:
            assert leaf.children is None
            assert leaf.split is not None
            path = self.paths[leaf.node]
            for side in "01":
                self.paths[len(self.paths)] = path + side
            leaf.children = self.leaf(path + "0", not final), self.leaf(path + "1", not final)

    def finish(self, finished, numbers):
        self.finished = finished, numbers

    def quantiles(self, leaves, quantile):
        return [quantile * leaf.sums[0] + (leaf.node % 3) for leaf in leaves]

    def splits(self, n_leaves):
        """The paths that are split one after the other, found by a search through all leaves."""
        leaves, order = [""], []
        while len(leaves) < n_leaves:
            gains = [self.gain(path) or -1.0 for path in leaves]
            if max(gains) < 0:
                break
            best = leaves.pop(int(np.argmax(gains)))
            order.append(best)
            leaves += [best + "0", best + "1"]
        return order


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("n_leaves", [1, 2, 3, 12])
def test_the_leaf_of_the_largest_gain_is_split_first(seed, ahead, n_leaves):
    leaves = PlannedLeaves(seed, ahead)
    growth = _best_first(leaves, settings(max_leaf_nodes=n_leaves))
    order = leaves.splits(n_leaves)
    paths = ["", *(path + side for path in order for side in "01")]
    assert [leaves.paths[node.node] for node in growth.nodes] == paths
    assert growth.children == {paths.index(path): 1 + 2 * number for number, path in enumerate(order)}
    assert {paths[number] for number in growth.leaves} == set(paths) - set(order)
    assert len(order) == n_leaves - 1  # a tree may be full
    if not ahead:
        # One leaf at a time; what the children of the last split could gain is not asked.
        assert leaves.calls == [([path], number == n_leaves - 2) for number, path in enumerate(order)]


@pytest.mark.parametrize("seed", range(4))
def test_leaves_are_expanded_together_where_this_costs_no_more(seed):
    """A tree takes no more steps than it is deep, and no leaf is expanded that no tree of the size could split."""
    leaves = PlannedLeaves(seed, True)
    order = leaves.splits(12)
    _best_first(leaves, settings(max_leaf_nodes=12))
    assert len(leaves.calls) <= 1 + max(map(len, order)) < len(order)
    done = set()
    for expanded, final in leaves.calls:
        made = order[: order.index(expanded[0])]
        visible = {""} | {path + side for path in made for side in "01"}
        visible = {path for path in visible - set(made) if leaves.gain(path) is not None}
        reached = []
        while visible and len(made) + len(reached) < 11:
            reached.append(max(visible, key=leaves.gain))
            visible.discard(reached[-1])
            if reached[-1] in done:  # what its children gain is known
                children = {reached[-1] + side for side in "01"}
                visible |= {path for path in children if leaves.gain(path) is not None}
        assert expanded == [path for path in reached if path not in done]
        assert final == (len(made) == 10)
        done |= set(expanded)


def test_of_several_leaves_the_next_splits_are_those_of_the_largest_gains():
    def leaf(gain, children=None):
        sums = (0, 0, 0)
        split = None if gain is None else Split(gain, 0, 0, np.zeros(256, dtype=np.uint8), sums, sums)
        return Leaf(0, 0, sums, (-inf, inf), split, children)

    inner = leaf(5.0), leaf(None)
    candidates = [leaf(2.0), leaf(9.0, (leaf(4.0, inner), leaf(1.0))), leaf(3.0), leaf(None)]
    order = [inner[0], candidates[2], candidates[0], candidates[1].children[1]]
    # The splits of 9 and 4 are known already, but count.
    for n_splits, n_found in ((0, 0), (1, 0), (2, 0), (3, 1), (4, 2), (5, 3), (6, 4), (9, 4)):
        found = _next_splits(candidates, n_splits)
        assert [id(one) for one in found] == [id(one) for one in order[:n_found]]


def test_a_chain_is_expanded_link_by_link():
    leaves = PlannedLeaves(0, True, chain=True)
    growth = _best_first(leaves, settings(max_leaf_nodes=5))
    assert [paths for paths, _ in leaves.calls] == [[""], ["0"], ["00"], ["000"]]
    assert [final for _, final in leaves.calls] == [False, False, False, True]
    assert len(growth.leaves) == 5


def settled(quantiles, growth, monotonic, number=0, lower=-inf, upper=inf):
    """The values of the leaves below a node, each on its side of the middles above it."""
    if number not in growth.children:
        return {number: min(max(quantiles[number], lower), upper)}
    left = growth.children[number]
    low, high = (min(max(quantiles[child], lower), upper) for child in (left, left + 1))
    sign, middle = monotonic[growth.nodes[number].split.column], (low + high) / 2
    sides = {0: [(lower, upper)] * 2, 1: [(lower, middle), (middle, upper)], -1: [(middle, upper), (lower, middle)]}
    return {
        leaf: value
        for child, bounds in zip((left, left + 1), sides[int(sign)])
        for leaf, value in settled(quantiles, growth, monotonic, child, *bounds).items()
    }


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("monotonic", [(1, 0, -1), (-1, -1, 0), (0, 1, 0)])
def test_quantiles_stay_on_their_side_of_the_middle(seed, monotonic):
    given = settings(max_leaf_nodes=14, monotonic=np.array(monotonic, dtype=np.int8))
    growth = _best_first(PlannedLeaves(seed, False), given)
    quantiles = np.random.default_rng(seed).normal(size=len(growth.nodes)).tolist()
    assert _in_order(quantiles, growth, given) == settled(quantiles, growth, monotonic)


@pytest.mark.parametrize("quantile", [None, 0.5])
@pytest.mark.parametrize("monotonic", [(0, 0, 0), (0, -1, 0)])
def test_values_of_a_tree(quantile, monotonic):
    """They are Newton steps, or quantiles of the residuals; the score of a tree is the sum of its leaves'."""
    given = settings(max_leaf_nodes=9, leaf_quantile=quantile, monotonic=np.array(monotonic, dtype=np.int8))
    leaves, request = PlannedLeaves(1, False), object()
    finished, score = grow_tree(leaves, request, given)
    growth = _best_first(PlannedLeaves(1, False), given)
    assert finished.request is request
    sums = np.array([node.sums for node in growth.nodes]) * [0.5, 0.25, 0.125]
    steps = -sums[:, 0] / (sums[:, 1] + 1)
    assert score == pytest.approx(sum(sums[n, 0] ** 2 / (sums[n, 1] + 1) for n in growth.leaves))
    assert_allclose(finished.tree.weight, sums[:, 2])
    values = dict(enumerate(steps))
    if quantile is not None:
        values = settled(leaves.quantiles(growth.nodes, quantile), growth, monotonic)
    for number in growth.leaves:
        assert finished.tree.value[number] == pytest.approx(0.25 * values[number])
    assert leaves.finished == (finished, {growth.nodes[number].node: number for number in growth.leaves})


def test_the_arrays_of_a_tree():
    """Categories have their sets one after the other; a cut behind the last edge is at infinity."""
    nothing, to_left = np.zeros(256, dtype=np.uint8), np.arange(256, dtype=np.uint8) % 2
    missing_left = nothing.copy()
    missing_left[4] = 1
    edges = np.array([[0.5, 1.5, 2.5], [7.0, np.nan, np.nan], [np.nan] * 3])
    sums = (3, 4, 8)
    splits = [
        Split(9.0, 0, 2, missing_left, sums, sums),
        Split(8.0, 0, 3, nothing, sums, sums),
        Split(7.0, 1, 0, nothing, sums, sums),
        Split(6.0, 2, -1, to_left, sums, sums),
        Split(5.0, 1, 1, nothing, sums, sums),
        Split(4.0, 2, -1, 1 - to_left, sums, sums),
    ]
    children = {0: 1, 1: 3, 2: 5, 3: 7, 5: 9, 6: 11}
    nodes = [Leaf(number, 0, (3, 4, number), (-inf, inf)) for number in range(13)]
    for number, split in zip(children, splits):
        nodes[number].split = split
    given = settings(edges=edges, n_values=np.array([4, 2, 6]), categorical=np.array([False, False, True]))
    tree = _tree(nodes, children, np.arange(13.0), given)
    inner = list(children)
    assert Growth(nodes, children).leaves == [4, 7, 8, 9, 10, 11, 12]
    assert_array_equal(tree.column[inner], [0, 0, 1, 2, 1, 2])
    assert_array_equal(tree.cut_bin[inner], [2, 3, 0, -1, 1, -1])
    assert_array_equal(tree.threshold[inner], [2.5, inf, 7.0, 0.0, inf, 0.0])
    assert_array_equal(tree.gain[inner], [9, 8, 7, 6, 5, 4])
    assert_array_equal(tree.left[inner], [1, 3, 5, 7, 9, 11])
    assert_array_equal(tree.right[inner], [2, 4, 6, 8, 10, 12])
    assert_array_equal(tree.missing_left[inner], [True, False, False, False, False, True])
    assert_array_equal(tree.category_row[inner], [-1, -1, -1, 0, -1, 1])
    assert_array_equal(tree.categories_left, [to_left, 1 - to_left])
    leaves = [4, 7, 8, 9, 10, 11, 12]
    for array in (tree.column, tree.cut_bin, tree.left, tree.right, tree.category_row):
        assert_array_equal(array[leaves], -1)
    assert_array_equal(tree.value, 0.25 * np.arange(13))
    assert_array_equal(tree.weight, np.arange(13) / 8)
    alone = _tree([nodes[12]], {}, [2.0], given)
    assert alone.categories_left.shape == (0, 256)
