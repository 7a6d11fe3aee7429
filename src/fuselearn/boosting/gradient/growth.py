"""The growth of one tree, best leaf first, from the best splits of its leaves.

Where the rows are, sums over them cost either work (in memory) or a round trip (a cluster). In memory leaves are
therefore expanded one at a time, as they are split. On a cluster all leaves that may still be split are expanded
together, so that a tree costs as many round trips as it is deep. The tree is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, inf, log2
from typing import Protocol, TypeAlias

import numpy as np

from fuselearn.boosting.gradient.gradient_rows import (
    DigitWeights,
    FinishedTree,
    LeafHistograms,
    NodeSplit,
    NumberLeaves,
    Question,
    TreeRequest,
)
from fuselearn.boosting.gradient.losses import quantile_rank
from fuselearn.boosting.gradient.tree import CATEGORY_BINS, GradientTree
from fuselearn.numeric.execution import SERIAL, Threads
from fuselearn.numeric.gradient_histograms import (
    CUT,
    DIRECTION,
    LEAST_GAIN,
    SCORE,
    WEIGHT,
    G,
    H,
    best_splits,
    first_of_largest,
    ordered_categories,
    subtract_histogram,
)
from fuselearn.numeric.gradients import DIGIT_BITS, KEY_BITS, n_digits, value_of_digits
from fuselearn.typing import BoolArray, FloatArray, IntArray

LEAST_DEPTH = 10
"""Depth that every tree may have. A deeper one would be a chain, and cost a round trip for each link on a cluster."""
Sums: TypeAlias = tuple[int, int, int]
"""Sums of g, h and weights, in units."""
Ask: TypeAlias = Callable[[Sequence[Question]], list[tuple[IntArray, ...]]]
"""Returns the answers to questions, summed over all rows of the run."""


@dataclass(frozen=True)
class GrowthSettings:
    """Settings and units by which trees grow.

    Attributes
    ----------
    max_leaf_nodes : int
        Most leaves.
    min_samples_leaf : float
        Least weight of a leaf.
    l2_regularization : float
        Added to the sum of h.
    learning_rate : float
        Factor on every value.
    units : tuple of float
        Units of g, h and weights.
    leaf_quantile : float or None
        Quantile of the residuals of a leaf that is its value; None for a Newton step.
    edges : ndarray of shape (n_features, most edges)
        Edges between the bins of all columns of X.
    n_values : intp ndarray of shape (n_features,)
        Bins that each column uses, without that of missing values.
    categorical : bool ndarray of shape (n_features,)
        Whether the bins of a column are categories.
    monotonic : int8 ndarray of shape (n_features,)
        Sign in which scores follow a column; 0 for any.
    """

    max_leaf_nodes: int
    min_samples_leaf: float
    l2_regularization: float
    learning_rate: float
    units: tuple[float, float, float]
    leaf_quantile: float | None
    edges: FloatArray
    n_values: IntArray
    categorical: BoolArray
    monotonic: IntArray

    @property
    def max_depth(self) -> int:
        """Most splits between the root and a leaf."""
        return max(LEAST_DEPTH, 2 * ceil(log2(self.max_leaf_nodes)))

    @property
    def missing_bin(self) -> int:
        """Bin of missing values."""
        return self.edges.shape[1] + 1

    def value(self, sums: Sums, bounds: tuple[float, float]) -> float:
        """Return the value of a leaf, without the learning rate."""
        g, h = sums[G] * self.units[G], sums[H] * self.units[H] + self.l2_regularization
        return min(max(-g / h, bounds[0]), bounds[1]) if h > 0 else 0.0

    def score(self, sums: Sums, bounds: tuple[float, float]) -> float:
        """Return twice what a leaf lowers the regularised loss by."""
        g, h = sums[G] * self.units[G], sums[H] * self.units[H] + self.l2_regularization
        value = self.value(sums, bounds)
        return -value * (2 * g + h * value)


@dataclass(frozen=True)
class Split:
    """The best split of a leaf.

    Attributes
    ----------
    gain : float
        What it adds to the scores of the leaves.
    column : int
        Column of X.
    cut_bin : int
        Last bin that goes left; -1 for a set of categories.
    goes_left : uint8 ndarray of shape (256,)
        1 for the bins that go left.
    left_sums, right_sums : tuple of int
        Sums of both sides.
    """

    gain: float
    column: int
    cut_bin: int
    goes_left: IntArray
    left_sums: Sums
    right_sums: Sums


@dataclass
class Leaf:
    """A node while a tree grows; `node` is its number among the splits that were made, `split` its best one."""

    node: int
    depth: int
    sums: Sums
    bounds: tuple[float, float]
    split: Split | None = None
    children: tuple[Leaf, Leaf] | None = None


class Leaves(Protocol):
    """The leaves of a tree that grows, with their histograms, wherever the rows are.

    Attributes
    ----------
    expands_ahead : bool
        Whether many leaves are expanded at once as quickly as one.
    """

    expands_ahead: bool

    def root(self) -> Leaf:
        """Return the root, with its best split."""

    def expand(self, leaves: Sequence[Leaf], *, final: bool = False) -> None:
        """Make the splits of some leaves, and find the best splits of their children unless these are `final`."""

    def finish(self, finished: FinishedTree, numbers: dict[int, int]) -> None:
        """Note the rows of each leaf of the finished tree; `numbers` maps nodes to their numbers there."""

    def quantiles(self, leaves: Sequence[Leaf], quantile: float) -> list[float]:
        """Return a weighted quantile of the residuals in each of some leaves."""


def grow_tree(leaves: Leaves, request: TreeRequest, settings: GrowthSettings) -> tuple[FinishedTree, float]:
    """Grow a tree; return it with the sum of the scores of its leaves, twice what it lowers the regularised loss by."""
    # In the order in which they join the tree, which is that of their numbers.
    nodes = [leaves.root()]
    open_leaves = [0]
    children: dict[int, int] = {}
    while len(open_leaves) < settings.max_leaf_nodes:
        candidates = [number for number in open_leaves if nodes[number].split is not None]
        if not candidates:
            break
        best = candidates[first_of_largest(np.array([_gain(nodes[number]) for number in candidates]))]
        leaf = nodes[best]
        n_left = settings.max_leaf_nodes - len(open_leaves)
        if leaf.children is None:
            ahead = _unexpanded([nodes[number] for number in candidates]) if leaves.expands_ahead else [leaf]
            leaves.expand(sorted(ahead, key=_gain, reverse=True)[:n_left], final=n_left == 1)
        assert leaf.children is not None
        children[best] = len(nodes)
        open_leaves.remove(best)
        open_leaves += [len(nodes), len(nodes) + 1]  # in increasing order
        nodes += leaf.children
    ends = [nodes[number] for number in open_leaves]
    values = [settings.value(node.sums, node.bounds) for node in nodes]
    if settings.leaf_quantile is not None:
        for number, value in zip(open_leaves, leaves.quantiles(ends, settings.leaf_quantile)):
            values[number] = value
    finished = FinishedTree(request, _tree(nodes, children, values, settings))
    leaves.finish(finished, {nodes[number].node: number for number in open_leaves})
    return finished, sum(settings.score(leaf.sums, leaf.bounds) for leaf in ends)


def _gain(leaf: Leaf) -> float:
    """Return the gain of the best split of a leaf that has one."""
    assert leaf.split is not None
    return leaf.split.gain


def _unexpanded(leaves: Sequence[Leaf]) -> list[Leaf]:
    """Return the leaves, or the leaves below them, that can be split but were not expanded."""
    found, stack = [], list(leaves)
    while stack:
        leaf = stack.pop()
        if leaf.children is not None:
            stack += [child for child in leaf.children if child.split is not None]
        else:
            found.append(leaf)
    return found


def _tree(
    nodes: Sequence[Leaf], children: dict[int, int], values: Sequence[float], settings: GrowthSettings
) -> GradientTree:
    """Return the arrays of a tree; `children` maps the nodes that are split to their left child."""
    n_nodes = len(nodes)
    column, cut_bin, left, right, category_row = (np.full(n_nodes, -1, dtype=np.int32) for _ in range(5))
    threshold, gain = np.zeros(n_nodes), np.zeros(n_nodes)
    missing_left = np.zeros(n_nodes, dtype=bool)
    sets: list[IntArray] = []
    for number, child in children.items():
        split = nodes[number].split
        assert split is not None
        column[number], cut_bin[number], gain[number] = split.column, split.cut_bin, split.gain
        left[number], right[number] = child, child + 1
        missing_left[number] = split.goes_left[settings.missing_bin]
        if split.cut_bin < 0:
            category_row[number] = len(sets)
            sets.append(split.goes_left)
        elif split.cut_bin < settings.n_values[split.column] - 1:
            threshold[number] = settings.edges[split.column, split.cut_bin]
        else:
            threshold[number] = inf
    return GradientTree(
        column=column,
        cut_bin=cut_bin,
        threshold=threshold,
        missing_left=missing_left,
        left=left,
        right=right,
        value=settings.learning_rate * np.array(values),
        gain=gain,
        weight=np.array([node.sums[WEIGHT] * settings.units[WEIGHT] for node in nodes]),
        category_row=category_row,
        categories_left=np.array(sets, dtype=np.uint8).reshape(-1, CATEGORY_BINS),
    )


class HistogramLeaves:
    """Leaves whose histograms are summed over rows in memory or in partitions; see `Leaves`.

    Parameters
    ----------
    request : TreeRequest
        The tree.
    columns : intp ndarray of shape (n_columns,)
        Columns of X that it may split on.
    settings : GrowthSettings
        Settings and units.
    ask : callable
        Asks the rows.
    expands_ahead : bool
        Whether to expand many leaves at once.
    threads : Threads, default=SERIAL
        Threads that look for splits.
    """

    def __init__(
        self,
        request: TreeRequest,
        columns: IntArray,
        settings: GrowthSettings,
        ask: Ask,
        expands_ahead: bool,
        threads: Threads = SERIAL,
    ) -> None:
        self.expands_ahead = expands_ahead
        self._request, self._columns, self._settings = request, columns, settings
        self._ask, self._threads = ask, threads
        self._n_values = settings.n_values[columns]
        self._categorical, self._monotonic = settings.categorical[columns], settings.monotonic[columns]
        self._splits: list[NodeSplit] = []
        self._histograms: dict[int, IntArray] = {}
        self._n_nodes = 1

    def root(self) -> Leaf:
        """Return the root, with its best split; see `Leaves.root`."""
        [(histogram,)] = self._ask([LeafHistograms(self._request, (), (0,))])
        # Every row is in some bin of the first column.
        g, h, weight = histogram[0].sum(axis=1).tolist()
        root = Leaf(0, 0, (g, h, weight), (-inf, inf))
        self._look_at(root, histogram)
        return root

    def expand(self, leaves: Sequence[Leaf], *, final: bool = False) -> None:
        """Make the splits of some leaves, and find the best splits of their children; see `Leaves.expand`."""
        for leaf in leaves:
            self._split(leaf)
        parents = [] if final else [leaf for leaf in leaves if leaf.depth + 1 < self._settings.max_depth]
        pairs = [leaf.children for leaf in parents if leaf.children is not None]
        if not pairs:
            return
        # The child of less weight is counted; the other one's histogram is what is left of the parent's.
        smaller = [min(pair, key=lambda child: child.sums[WEIGHT]) for pair in pairs]
        nodes = tuple(child.node for child in smaller)
        [histograms] = self._ask([LeafHistograms(self._request, tuple(self._splits), nodes)])
        for parent, (left, right), child, histogram in zip(parents, pairs, smaller, histograms):
            rest = self._histograms.pop(parent.node)
            subtract_histogram(rest, histogram, self._threads)
            self._look_at(child, histogram)
            self._look_at(right if child is left else left, rest)

    def finish(self, finished: FinishedTree, numbers: dict[int, int]) -> None:
        """Note the rows of each leaf of the finished tree; see `Leaves.finish`."""
        self._ask([NumberLeaves(finished, tuple(self._splits), numbers)])

    def quantiles(self, leaves: Sequence[Leaf], quantile: float) -> list[float]:
        """Return a weighted quantile of the residuals in each of some leaves; see `Leaves.quantiles`."""
        nodes = tuple(leaf.node for leaf in leaves)
        ranks = [quantile_rank(quantile, leaf.sums[WEIGHT]) for leaf in leaves]
        prefixes = [0] * len(leaves)
        for digit in range(n_digits()):
            question = DigitWeights(self._request, tuple(self._splits), nodes, tuple(prefixes), digit)
            [(weights,)] = self._ask([question])
            size = 2 ** min(DIGIT_BITS, KEY_BITS - DIGIT_BITS * digit)
            for place, by_digit in enumerate(weights):
                up_to = np.cumsum(by_digit)
                found = int(np.searchsorted(up_to, ranks[place]))
                ranks[place] -= int(up_to[found] - by_digit[found])
                prefixes[place] = prefixes[place] * size + found
        return [value_of_digits(digits) for digits in prefixes]

    def _split(self, leaf: Leaf) -> None:
        """Make the split of a leaf: its children, and what the rows need to know."""
        split, settings = leaf.split, self._settings
        assert split is not None
        left_bounds = right_bounds = leaf.bounds
        if (sign := settings.monotonic[split.column]) != 0:
            values = settings.value(split.left_sums, leaf.bounds), settings.value(split.right_sums, leaf.bounds)
            middle = sum(values) / 2
            lower, upper = (leaf.bounds[0], middle), (middle, leaf.bounds[1])
            left_bounds, right_bounds = (lower, upper) if sign > 0 else (upper, lower)
        left = Leaf(self._n_nodes, leaf.depth + 1, split.left_sums, left_bounds)
        right = Leaf(self._n_nodes + 1, leaf.depth + 1, split.right_sums, right_bounds)
        self._n_nodes += 2
        leaf.children = left, right
        self._splits.append(NodeSplit(leaf.node, left.node, right.node, split.column, split.goes_left))

    def _look_at(self, leaf: Leaf, histogram: IntArray) -> None:
        """Find the best split of a leaf, and keep its histogram where it has one."""
        leaf.split = self._best_split(leaf, histogram)
        if leaf.split is not None:
            self._histograms[leaf.node] = histogram

    def _best_split(self, leaf: Leaf, histogram: IntArray) -> Split | None:
        """Return the best split of a leaf; None where none is worth it."""
        settings = self._settings
        # Weights are rounded, so the two sides may be a trifle heavier than the whole.
        if leaf.sums[WEIGHT] * settings.units[WEIGHT] < 2 * settings.min_samples_leaf * (1 - 1e-9):
            return None
        splits, left_sums = best_splits(
            histogram,
            self._n_values,
            leaf.sums,
            settings.units,
            leaf.bounds,
            self._monotonic,
            self._categorical,
            settings.l2_regularization,
            settings.min_samples_leaf,
            self._threads,
        )
        place = first_of_largest(splits[:, SCORE])
        score = float(splits[place, SCORE])
        gain = score - settings.score(leaf.sums, leaf.bounds)
        if splits[place, CUT] < 0 or not gain > LEAST_GAIN * abs(score):
            return None
        left_g, left_h, left_weight = left_sums[place].tolist()
        g, h, weight = leaf.sums
        cut = int(splits[place, CUT])
        # Bins that the leaf has no rows of go with the heavier side.
        goes_left = np.full(CATEGORY_BINS, left_weight >= weight - left_weight, dtype=np.uint8)
        if self._categorical[place]:
            order = ordered_categories(histogram[place], settings.units)
            goes_left[order[: cut + 1]], goes_left[order[cut + 1 :]] = 1, 0
        else:
            goes_left[: cut + 1], goes_left[cut + 1 : settings.missing_bin] = 1, 0
            if histogram[place, WEIGHT, settings.missing_bin] > 0:
                goes_left[settings.missing_bin] = splits[place, DIRECTION] > 0
        return Split(
            gain,
            int(self._columns[place]),
            -1 if self._categorical[place] else cut,
            goes_left,
            (left_g, left_h, left_weight),
            (g - left_g, h - left_h, weight - left_weight),
        )
