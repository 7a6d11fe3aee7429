"""Trees on binned columns, grown from histograms, level by level.

Growing asks for sums only: the histograms of the root, then those of nodes below it. The class weights of a child are
known from its parent's histogram, so a node that ends up a leaf costs no pass. Of two children only the lighter one is
asked for: the histogram of its parent, less its own, is that of the other. This needs sums that are exact, that is of
whole numbers; where they are of floats, as on a GPU, both are asked for.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import sqrt
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np

from fuselearn.learners.binning import Binned, Binning
from fuselearn.learners.protocol import Hypothesis, Sums
from fuselearn.numeric.exact_sums import in_units
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.numeric.tree_cuts import Cut, best_cut
from fuselearn.numeric.tree_rows import BinTree, class_histograms, leaves_of_bins, leaves_of_values, node_histograms
from fuselearn.numeric.votes import TIE
from fuselearn.persistence.validation import check_array, check_children
from fuselearn.typing import AnyArray, BoolArray, FloatArray, IntArray

ASKED_BYTES = 64 * 2**20
"""Memory for the histograms of one request; those of a wide level are asked for in several."""
KEPT_BYTES = 256 * 2**20
"""Memory for the histograms of nodes whose children are to come. Of nodes beyond it both children are asked for."""
PRUNING_SLACK = 0.1
"""Errors that C4.5 lets a subtree save without keeping it."""
NODE_KINDS: dict[str, Any] = {
    "feature": np.integer,
    "cut_bin": np.integer,
    "threshold": np.float64,
    "missing_left": np.bool_,
    "left": np.integer,
    "right": np.integer,
    "code": np.integer,
}
"""Arrays of a tree, and the kind of their numbers."""


@dataclass(frozen=True, eq=False)
class TreeHypothesis(Hypothesis):
    """A binary tree; each leaf names a class.

    Attributes
    ----------
    plan : Binning
        Edges of the bins.
    feature : int32 ndarray of shape (n_nodes,)
        Column of the view that a node looks at, -1 in a leaf.
    cut_bin, threshold : ndarray of shape (n_nodes,)
        Bins up to `cut_bin`, that is values up to `threshold`, go left.
    missing_left : bool ndarray of shape (n_nodes,)
        Whether missing values go left.
    left, right : int32 ndarray of shape (n_nodes,)
        Numbers of the children, -1 in a leaf.
    code : int32 ndarray of shape (n_nodes,)
        Class of the largest weight in the node.
    weight : ndarray of shape (n_nodes,) or None
        Weight of the training rows in each node; None in files of earlier versions.
    """

    plan: Binning
    feature: IntArray
    cut_bin: IntArray
    threshold: FloatArray
    missing_left: BoolArray
    left: IntArray
    right: IntArray
    code: IntArray
    weight: FloatArray | None = None

    def validate(self) -> None:
        """Refuse a tree, read from a file, whose nodes lead out of it or read columns that its view lacks."""
        n_nodes = len(self.feature)
        for name, kind in NODE_KINDS.items():
            check_array(self, name, kind, (n_nodes,), finite=False)
        if self.weight is not None:
            check_array(self, "weight", np.float64, (n_nodes,), at_least=0.0)
        check_children(self.feature >= 0, self.left, self.right, self.feature, len(self.plan.n_edges))

    def validate_votes(self, n_classes: int) -> None:
        """Refuse leaves of other classes; see `Hypothesis.validate_votes`."""
        check_array(self, "code", np.integer, (None,), at_least=0, below=n_classes)

    @property
    def bin_tree(self) -> BinTree:
        """The tree as rows of bins follow it."""
        children = self.left, self.right
        return BinTree(self.feature, self.cut_bin, self.missing_left, *children, self.plan.missing_bin)

    def predict_prepared(self, prepared: Binned, threads: Threads = SERIAL) -> IntArray:
        """Return the class of the leaf of each binned row."""
        rows, tree = prepared.rows_by_node, self.bin_tree
        if not rows.begins(tree):
            return self.code[leaves_of_bins(prepared.bins, tree, threads=threads)]
        # It was grown on these rows, and only the last splits are to come. Whoever wants to know has grown it.
        rows.follow(tree, threads)
        codes = rows.leaf_values(self.code, threads)
        rows.forget()
        return codes

    def predict_read(self, rows: FloatArray) -> IntArray:
        """Return the class of the leaf of each row of values."""
        leaves = leaves_of_values(rows, self.feature, self.threshold, self.missing_left, self.left, self.right)
        return self.code[leaves]


@dataclass(frozen=True)
class ClassHistograms:
    """Statistic: weight per column, class and bin."""

    adds_weights: ClassVar[bool] = True

    n_classes: int
    n_bins: int

    def __call__(self, prepared: Binned, codes: IntArray, weights: AnyArray, threads: Threads = SERIAL) -> AnyArray:
        return class_histograms(prepared.bins, codes, weights, self.n_classes, self.n_bins, threads=threads)


@dataclass(frozen=True)
class RowCount:
    """Statistic: number of rows."""

    def __call__(self, prepared: Binned, codes: IntArray, weights: AnyArray, threads: Threads = SERIAL) -> AnyArray:
        return np.array([len(codes)], dtype=np.int64)


@dataclass(frozen=True)
class NodeHistograms:
    """Statistic: the same for the rows in each of some leaves of a half-grown tree."""

    adds_weights: ClassVar[bool] = True

    tree: TreeHypothesis
    nodes: tuple[int, ...]
    n_classes: int

    def __call__(self, prepared: Binned, codes: IntArray, weights: AnyArray, threads: Threads = SERIAL) -> AnyArray:
        rows = prepared.rows_by_node
        rows.follow(self.tree.bin_tree, threads)
        groups = [rows.rows_of(node) for node in self.nodes]
        n_bins = self.tree.plan.n_bins
        return node_histograms(prepared.bins, groups, codes, weights, self.n_classes, n_bins, threads=threads)


@dataclass(frozen=True)
class Growth:
    """Measure by which a tree grows, and how far.

    Parameters
    ----------
    max_depth : int or None
        Most splits between the root and a leaf.
    criterion : {"error", "gini", "entropy", "gain_ratio"}
        What the best cut minimises.
    impurity_tolerance : float
        A node whose minority weighs at most this part of all rows is a leaf (S3 §4).
    idle_splits : bool, default=False
        Whether a split that lowers no impurity is made all the same.
    pruning_confidence : float or None, default=None
        Confidence CF of C4.5's pruning; None for no pruning.
    threads : Threads, default=SERIAL
        Threads that look for the best cut of a node.
    """

    max_depth: int | None
    criterion: str
    impurity_tolerance: float
    idle_splits: bool = False
    pruning_confidence: float | None = None
    threads: Threads = SERIAL

    def sums(self, plan: Binning, n_classes: int) -> Sums:
        """Grow a tree: the generator of `Learner.sums`."""
        answer = yield ClassHistograms(n_classes, plan.n_bins)
        exact, histogram = answer.dtype.kind == "i", _whole_numbers(answer)
        total = int(histogram[0].sum())
        class_weights = (histogram[0].sum(axis=1) / total).tolist()
        tree = _GrowingTree(plan)
        root = tree.add_leaf(class_weights)
        level: list[_Siblings] = []
        if self._may_split(class_weights, depth=0):
            children = self._split(tree, root, histogram, total, depth=1)
            if children is not None:
                children.parent = histogram if exact else None
                level.append(children)
        depth = 1
        while level:
            depth += 1
            half_grown, next_level = tree.hypothesis(), []
            n_kept = KEPT_BYTES // histogram.nbytes if exact else 0
            for batch in _batches(level, ASKED_BYTES // histogram.nbytes):
                nodes = tuple(node for siblings in batch for node in siblings.asked)
                histograms = iter(_whole_numbers((yield NodeHistograms(half_grown, nodes, n_classes))))
                for siblings in batch:
                    for node, node_histogram in siblings.histograms(histograms):
                        children = self._split(tree, node, node_histogram, total, depth)
                        if children is not None:
                            if n_kept > 0:
                                # The memory of a whole request would stay as long as one of its nodes does.
                                own_memory = node_histogram.base is None
                                children.parent = node_histogram if own_memory else node_histogram.copy()
                                n_kept -= 1
                            next_level.append(children)
            level = next_level
        if self.pruning_confidence is not None and len(tree.feature) > 1:
            [n_rows] = (yield RowCount()).tolist()
            tree.prune(n_rows, self.pruning_confidence)
        return tree.hypothesis()

    def _split(
        self, tree: "_GrowingTree", node: int, histogram: IntArray, total: int, depth: int
    ) -> "_Siblings | None":
        """Split a node where that helps; return its children, of that depth, if one of them may be split in turn."""
        n_edges, idle_splits = tree.plan.n_edges, self.idle_splits
        cut = best_cut(histogram, total, n_edges, self.criterion, idle_splits=idle_splits, threads=self.threads)
        if cut is None:
            return None
        left, right = tree.split(node, cut)
        may_split = [child for child, w in ((left, cut.left), (right, cut.right)) if self._may_split(w, depth)]
        lighter, heavier = (left, right) if sum(cut.left) <= sum(cut.right) else (right, left)
        return _Siblings(lighter, heavier, tuple(may_split)) if may_split else None

    def _may_split(self, class_weights: list[float], depth: int) -> bool:
        """Return whether a node of these class weights is not to be a leaf."""
        if self.max_depth is not None and depth >= self.max_depth:
            return False
        minority = sum(class_weights) - max(class_weights)
        return minority > self.impurity_tolerance + TIE


def extra_errors(n_rows: float, errors: float, confidence: float) -> float:
    """Return how many more errors than those seen C4.5 expects of a leaf: the upper limit of a confidence interval.

    Exact for no error, the normal approximation with a correction for continuity from one error on, and in between on
    the line between the two, as in Quinlan's program.

    Examples
    --------
    >>> round(extra_errors(6, 0, 0.25), 3), round(extra_errors(9, 0, 0.25), 3), round(extra_errors(16, 1, 0.25), 3)
    (1.238, 1.285, 1.476)
    """
    if n_rows <= 0:
        return 0.0
    without_error = n_rows * (1 - confidence ** (1 / n_rows))
    if errors < 1e-6:
        return without_error
    if errors < 0.9999:
        return without_error + errors * (extra_errors(n_rows, 1.0, confidence) - without_error)
    if errors + 0.5 >= n_rows:
        return 0.67 * (n_rows - errors)
    squared = NormalDist().inv_cdf(1 - confidence) ** 2
    above = errors + 0.5
    spread = sqrt(squared * (above * (1 - above / n_rows) + squared / 4))
    return n_rows * (above + squared / 2 + spread) / (n_rows + squared) - errors


def _whole_numbers(histograms: AnyArray) -> IntArray:
    """Return histograms as whole numbers; floats, whose sum is 1 at most, are rounded to units."""
    return histograms if histograms.dtype.kind == "i" else in_units(histograms)


@dataclass
class _Siblings:
    """The two children of a node, of which at least one may be split; `parent` is the node's histogram, where kept."""

    lighter: int
    heavier: int
    may_split: tuple[int, ...]
    parent: IntArray | None = None

    @property
    def asked(self) -> tuple[int, ...]:
        """Nodes whose histograms are asked for."""
        return self.may_split if self.parent is None else (self.lighter,)

    def histograms(self, answers: Iterator[IntArray]) -> list[tuple[int, IntArray]]:
        """Return the nodes that may be split, with their histograms, from those that were asked for.

        The one of the heavier node takes the memory of its parent's.
        """
        by_node = {node: next(answers) for node in self.asked}
        if self.parent is not None and self.heavier in self.may_split:
            by_node[self.heavier] = np.subtract(self.parent, by_node[self.lighter], out=self.parent)
        self.parent = None
        return [(node, by_node[node]) for node in self.may_split]


def _batches(level: list[_Siblings], most: int) -> Iterator[list[_Siblings]]:
    """Yield siblings that ask for no more nodes together, but at least one pair at a time."""
    batch: list[_Siblings] = []
    n_asked = 0
    for siblings in level:
        n_asked += len(siblings.asked)
        if batch and n_asked > most:
            yield batch
            batch, n_asked = [], len(siblings.asked)
        batch.append(siblings)
    yield batch


@dataclass
class _GrowingTree:
    """A tree while it grows, one list entry a node."""

    plan: Binning
    feature: list[int] = field(default_factory=list)
    cut_bin: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    missing_left: list[bool] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    code: list[int] = field(default_factory=list)
    class_weights: list[list[float]] = field(default_factory=list)

    def add_leaf(self, class_weights: list[float]) -> int:
        """Add a leaf of the class of largest weight, and return its number."""
        self.feature.append(-1)
        self.cut_bin.append(0)
        self.threshold.append(np.nan)
        self.missing_left.append(False)
        self.left.append(-1)
        self.right.append(-1)
        near = max(class_weights) - TIE
        self.code.append(next(code for code, weight in enumerate(class_weights) if weight >= near))
        self.class_weights.append(class_weights)
        return len(self.feature) - 1

    def split(self, node: int, cut: Cut) -> tuple[int, int]:
        """Turn a leaf into a split, and return the numbers of its children."""
        self.feature[node], self.cut_bin[node], self.missing_left[node] = cut.feature, cut.cut_bin, cut.missing_left
        only_missing = cut.cut_bin == self.plan.n_edges[cut.feature]
        self.threshold[node] = np.inf if only_missing else float(self.plan.edges[cut.feature, cut.cut_bin])
        self.left[node] = self.add_leaf(cut.left)
        self.right[node] = self.add_leaf(cut.right)
        return self.left[node], self.right[node]

    def prune(self, n_rows: int, confidence: float) -> None:
        """Make leaves of nodes that are not expected to err more as leaves (C4.5's error-based pruning).

        Weights count as rows: those of all rows together as `n_rows`. Children have higher numbers than their parents,
        so that, from the last node on, every node finds its children pruned.
        """
        expected = [0.0] * len(self.feature)
        for node in reversed(range(len(self.feature))):
            n_node = n_rows * sum(self.class_weights[node])
            errors = n_node - n_rows * max(self.class_weights[node])
            expected[node] = errors + extra_errors(n_node, errors, confidence)
            if self.feature[node] >= 0:
                of_children = expected[self.left[node]] + expected[self.right[node]]
                if expected[node] <= of_children + PRUNING_SLACK:
                    self.feature[node] = self.left[node] = self.right[node] = -1
                    self.cut_bin[node], self.threshold[node], self.missing_left[node] = 0, np.nan, False
                else:
                    expected[node] = of_children
        self._drop_unreachable()

    def _drop_unreachable(self) -> None:
        """Drop the nodes below leaves, and number the others anew, in their order."""
        kept = {0}
        for node in range(len(self.feature)):
            if node in kept and self.feature[node] >= 0:
                kept.update((self.left[node], self.right[node]))
        order = sorted(kept)
        number = {-1: -1, **{node: place for place, node in enumerate(order)}}
        for name in ("feature", "cut_bin", "threshold", "missing_left", "left", "right", "code", "class_weights"):
            setattr(self, name, [getattr(self, name)[node] for node in order])
        self.left = [number[node] for node in self.left]
        self.right = [number[node] for node in self.right]

    def hypothesis(self) -> TreeHypothesis:
        """Return the tree as it is now."""
        return TreeHypothesis(
            self.plan,
            np.array(self.feature, dtype=np.int32),
            np.array(self.cut_bin, dtype=np.int32),
            np.array(self.threshold, dtype=np.float64),
            np.array(self.missing_left, dtype=bool),
            np.array(self.left, dtype=np.int32),
            np.array(self.right, dtype=np.int32),
            np.array(self.code, dtype=np.int32),
            np.array([sum(weights) for weights in self.class_weights], dtype=np.float64),
        )
