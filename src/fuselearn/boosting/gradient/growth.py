"""The growth of one tree, best leaf first, from the best splits of its leaves.

Where the rows are, sums over them cost either work (in memory) or a round trip (a cluster). In memory leaves are
therefore expanded one at a time, as they are split. On a cluster all leaves that may still be split are expanded
together, so that a tree costs as many round trips as it is deep. The tree is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from fuselearn.boosting.gradient.gradient_rows import (
    DigitWeights,
    FinishedTree,
    GradientBlock,
    LeafHistograms,
    NodeSplit,
    NumberLeaves,
    Question,
    TreeRequest,
)
from fuselearn.boosting.gradient.losses import quantile_rank
from fuselearn.boosting.gradient.open_leaves import KeptHistograms, Leaf, SplitQueue
from fuselearn.boosting.gradient.splitting import GrowthSettings, Split, SplitFinder
from fuselearn.boosting.gradient.tree_format import CATEGORY_BINS, GradientTree
from fuselearn.numeric.gradient_histograms import subtract_histogram
from fuselearn.numeric.gradient_loops import WEIGHT
from fuselearn.numeric.gradients import n_digits, narrowed, value_of_digits
from fuselearn.numeric.growth_arrays import GrowthMemory
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.typing import IntArray

Ask: TypeAlias = Callable[[Sequence[Question]], list[tuple[IntArray, ...]]]
"""Returns the answers to questions, summed over all rows of the run."""


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

    def expand(self, leaves: Sequence[Leaf], *, final: bool = ...) -> None:
        """Make the splits of some leaves, and find the best splits of their children unless these are `final`."""

    def finish(self, finished: FinishedTree, numbers: dict[int, int]) -> None:
        """Note the rows of each leaf of the finished tree; `numbers` maps nodes to their numbers there."""

    def quantiles(self, leaves: Sequence[Leaf], quantile: float) -> list[float]:
        """Return a weighted quantile of the residuals in each of some leaves."""


class Growth(NamedTuple):
    """The nodes of a tree that has grown.

    Attributes
    ----------
    nodes : list of Leaf
        In the order in which they joined the tree, which is that of their numbers.
    children : dict of int to int
        The left child, which the right one follows, of each node that is split.
    """

    nodes: list[Leaf]
    children: dict[int, int]

    @property
    def leaves(self) -> list[int]:
        """Numbers of the leaves."""
        return [number for number in range(len(self.nodes)) if number not in self.children]


def grow_tree(leaves: Leaves, request: TreeRequest, settings: GrowthSettings) -> tuple[FinishedTree, float]:
    """Grow a tree; return it with the sum of the scores of its leaves, twice what it lowers the regularised loss by."""
    growth = leaves.grow() if isinstance(leaves, WholeTreeLeaves) else _best_first(leaves, settings)
    nodes, numbers = growth.nodes, growth.leaves
    ends = [nodes[number] for number in numbers]
    values = [settings.value(node.sums, node.bounds) for node in nodes]
    if settings.leaf_quantile is not None:
        if settings.monotonic.any():
            quantiles = _in_order(leaves.quantiles(nodes, settings.leaf_quantile), growth, settings)
        else:
            quantiles = dict(zip(numbers, leaves.quantiles(ends, settings.leaf_quantile)))
        for number, value in quantiles.items():
            values[number] = value
    finished = FinishedTree(request, _tree(nodes, growth.children, values, settings))
    leaves.finish(finished, {nodes[number].node: number for number in numbers})
    return finished, sum(settings.score(leaf.sums, leaf.bounds) for leaf in ends)


def _best_first(leaves: Leaves, settings: GrowthSettings) -> Growth:
    """Grow a tree leaf by leaf, the one of the largest gain first."""
    nodes = [leaves.root()]
    open_leaves = SplitQueue(nodes)
    children: dict[int, int] = {}
    while len(children) + 1 < settings.max_leaf_nodes and open_leaves:
        n_left = settings.max_leaf_nodes - len(children) - 1
        best = open_leaves.pop()
        leaf = nodes[best]
        if leaf.children is None:
            ahead = [leaf]
            if leaves.expands_ahead:
                ahead = _next_splits([leaf, *(nodes[number] for number in open_leaves.numbers())], n_left)
            leaves.expand(ahead, final=n_left == 1)
        assert leaf.children is not None
        children[best] = len(nodes)
        for child in leaf.children:
            open_leaves.push(len(nodes), child)
            nodes.append(child)
    return Growth(nodes, children)


def _in_order(quantiles: Sequence[float], growth: Growth, settings: GrowthSettings) -> dict[int, float]:
    """Return the values of the leaves, from the quantiles of all nodes.

    Below a split on a monotonic column they are kept on their side of the middle between its two children.
    """
    values, bounds = list(quantiles), {0: (-inf, inf)}
    for number, left in growth.children.items():  # parents come before their children
        split = growth.nodes[number].split
        assert split is not None
        lower, upper = bounds[number]
        for child in (left, left + 1):
            values[child] = min(max(values[child], lower), upper)
            bounds[child] = lower, upper
        if (sign := settings.monotonic[split.column]) != 0:
            middle = (values[left] + values[left + 1]) / 2
            low, high = (left, left + 1) if sign > 0 else (left + 1, left)
            bounds[low], bounds[high] = (lower, middle), (middle, upper)
    return {number: min(max(values[number], bounds[number][0]), bounds[number][1]) for number in growth.leaves}


def _next_splits(candidates: Sequence[Leaf], n_splits: int) -> list[Leaf]:
    """Return the leaves that are not expanded among those which the next splits would be of, as far as one can see.

    What is not among them now never will be, since leaves that are yet unknown only add to those that come first. So
    every leaf is expanded as soon as it is known or not at all, and a tree takes no more steps than it is deep.
    """
    found: list[Leaf] = []
    known = list(candidates)
    queue = SplitQueue(known)
    while queue and n_splits > 0:
        leaf = known[queue.pop()]
        n_splits -= 1
        if leaf.children is None:
            found.append(leaf)
            continue
        for child in leaf.children:
            queue.push(len(known), child)
            known.append(child)
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
        self._request, self._settings = request, settings
        self._ask, self._threads = ask, threads
        self._finder = SplitFinder(settings, columns, threads)
        self._splits: list[NodeSplit] = []
        self._histograms = KeptHistograms()
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
        kept = [self._histograms.pop(leaf.node) for leaf in parents]
        # The child of less weight is counted; the other one's histogram is what is left of the parent's.
        counted = [
            sorted(pair, key=lambda child: child.sums[WEIGHT])[: 2 if histogram is None else 1]
            for pair, histogram in zip(pairs, kept)
        ]
        nodes = tuple(child.node for children in counted for child in children)
        [answers] = self._ask([LeafHistograms(self._request, tuple(self._splits), nodes)])
        histograms = iter(answers)
        for pair, rest, children in zip(pairs, kept, counted):
            smaller = children[0]
            histogram = next(histograms)
            if rest is None:
                rest = next(histograms)
            else:
                subtract_histogram(rest, histogram, self._threads)
            self._look_at(smaller, histogram)
            self._look_at(pair[1] if smaller is pair[0] else pair[0], rest)

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
            for place, by_digit in enumerate(weights):
                ranks[place], prefixes[place] = narrowed(by_digit, ranks[place], prefixes[place], digit)
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
        leaf.split = self._finder.best_split(histogram, leaf.sums, leaf.bounds)
        if leaf.split is not None:
            self._histograms.keep(leaf, histogram)


class WholeTreeLeaves(HistogramLeaves):
    """Leaves of a tree that grows on rows in memory in compiled loops; the tree is the same.

    Parameters
    ----------
    request : TreeRequest
        The tree.
    block : GradientBlock
        All rows.
    settings : GrowthSettings
        Settings and units.
    ask : callable
        Asks the rows.
    memory : GrowthMemory
        Memory to grow in.
    threads : Threads, default=SERIAL
        Threads that grow it.
    """

    def __init__(
        self,
        request: TreeRequest,
        block: GradientBlock,
        settings: GrowthSettings,
        ask: Ask,
        memory: GrowthMemory,
        threads: Threads = SERIAL,
    ) -> None:
        self._columns = block.settings.columns(request.view)
        super().__init__(request, self._columns, settings, ask, expands_ahead=False, threads=threads)
        self._block, self._memory = block, memory

    def grow(self) -> Growth:
        """Return the nodes of the whole tree."""
        grown = self._block.grow(self._request, self._settings, self._memory, self._threads)
        nodes, children = [], {}
        sums, bounds, lefts = grown.sums.tolist(), grown.bounds.tolist(), grown.left.tolist()
        for number, left in enumerate(lefts):
            leaf = Leaf(number, 0, tuple(sums[number]), tuple(bounds[number]))
            nodes.append(leaf)
            if left >= 0:
                children[number] = left
                column = int(self._columns[grown.place[number]])
                is_set = bool(self._settings.categorical[column])
                goes_left = grown.goes_left[number].copy()
                leaf.split = Split(
                    float(grown.gain[number]),
                    column,
                    -1 if is_set else int(grown.cut[number]),
                    goes_left,
                    tuple(sums[left]),
                    tuple(sums[left + 1]),
                )
                self._splits.append(NodeSplit(number, left, left + 1, column, goes_left))
        # In the order in which the splits were made.
        self._splits.sort(key=lambda split: split.left)
        return Growth(nodes, dict(sorted(children.items(), key=lambda family: family[1])))
