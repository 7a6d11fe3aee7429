"""Grow a tree from histograms, level by level.

Growing asks for sums only: the histograms of the root, then those of the nodes that may still be split. What a
child weighs per class is known from its parent's histogram, so a node that ends up a leaf costs no pass.
"""

from dataclasses import dataclass, field
from numbers import Integral

import numpy as np

from fuselearn.learners.binning import Binning
from fuselearn.learners.protocol import Hypothesis
from fuselearn.numeric.execution import SERIAL
from fuselearn.numeric.tree_histograms import (
    best_cuts,
    class_histograms,
    leaves_of_bins,
    leaves_of_values,
    node_histograms,
)
from fuselearn.numeric.weights import TIE

CRITERIA = ("error", "gini", "entropy", "gain_ratio")
HISTOGRAM_BYTES = 64 * 2**20
"""Room for the histograms of one request; a wide level is asked for in parts."""


@dataclass(frozen=True)
class ClassHistograms:
    """Statistic: weight per column, bin and class."""

    kind = "class histograms"
    adds_weights = True

    n_classes: int
    n_bins: int

    def __call__(self, prepared, codes, weights, threads=SERIAL):
        return class_histograms(prepared.bins, codes, weights, self.n_classes, self.n_bins, threads=threads)


@dataclass(frozen=True)
class NodeHistograms:
    """Statistic: the same for the rows in each of some nodes of a half-grown tree."""

    kind = "node histograms"
    adds_weights = True

    tree: "TreeHypothesis"
    nodes: tuple[int, ...]
    n_classes: int

    def __call__(self, prepared, codes, weights, threads=SERIAL):
        slot_of_node = np.full(len(self.tree.feature), -1, dtype=np.int32)
        slot_of_node[list(self.nodes)] = np.arange(len(self.nodes))
        slots = slot_of_node[self.tree.leaves(prepared, threads)]
        return node_histograms(
            prepared.bins,
            slots,
            codes,
            weights,
            len(self.nodes),
            self.n_classes,
            self.tree.plan.n_bins,
            threads=threads,
        )


@dataclass(frozen=True, eq=False)
class TreeHypothesis(Hypothesis):
    """A binary tree; each leaf names a class.

    Attributes
    ----------
    plan : Binning
    feature : int32 ndarray of shape (n_nodes,)
        Column of the view that a node looks at, -1 in a leaf.
    cut_bin, threshold : ndarray of shape (n_nodes,)
        Bins up to `cut_bin`, that is values up to `threshold`, go left.
    missing_left : bool ndarray of shape (n_nodes,)
    left, right : int32 ndarray of shape (n_nodes,)
    code : int32 ndarray of shape (n_nodes,)
        Class of the largest weight in the node.
    """

    plan: Binning
    feature: np.ndarray
    cut_bin: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    left: np.ndarray
    right: np.ndarray
    code: np.ndarray

    def leaves(self, prepared, threads=SERIAL):
        return leaves_of_bins(
            prepared.bins,
            self.feature,
            self.cut_bin,
            self.missing_left,
            self.left,
            self.right,
            self.plan.missing_bin,
            threads=threads,
        )

    def predict_prepared(self, prepared, threads=SERIAL):
        return self.code[self.leaves(prepared, threads)]

    def predict_read(self, rows):
        leaves = leaves_of_values(rows, self.feature, self.threshold, self.missing_left, self.left, self.right)
        return self.code[leaves]


@dataclass
class _Sapling:
    """A tree while it grows, one list entry a node."""

    plan: Binning
    feature: list = field(default_factory=list)
    cut_bin: list = field(default_factory=list)
    threshold: list = field(default_factory=list)
    missing_left: list = field(default_factory=list)
    left: list = field(default_factory=list)
    right: list = field(default_factory=list)
    code: list = field(default_factory=list)

    def add_leaf(self, class_weights):
        self.feature.append(-1)
        self.cut_bin.append(0)
        self.threshold.append(np.nan)
        self.missing_left.append(False)
        self.left.append(-1)
        self.right.append(-1)
        self.code.append(int(np.flatnonzero(class_weights >= class_weights.max() - TIE)[0]))
        return len(self.feature) - 1

    def split(self, node, cut):
        self.feature[node], self.cut_bin[node] = cut.feature, cut.cut_bin
        self.threshold[node], self.missing_left[node] = cut.threshold, cut.missing_left
        self.left[node] = self.add_leaf(cut.left)
        self.right[node] = self.add_leaf(cut.right)
        return self.left[node], self.right[node]

    def grown(self):
        return TreeHypothesis(
            self.plan,
            np.array(self.feature, dtype=np.int32),
            np.array(self.cut_bin, dtype=np.int32),
            np.array(self.threshold, dtype=np.float64),
            np.array(self.missing_left, dtype=bool),
            np.array(self.left, dtype=np.int32),
            np.array(self.right, dtype=np.int32),
            np.array(self.code, dtype=np.int32),
        )


@dataclass(frozen=True)
class _Cut:
    """A way to split a node, and the class weights of the two sides."""

    feature: int
    cut_bin: int
    threshold: float
    missing_left: bool
    left: np.ndarray
    right: np.ndarray


@dataclass(frozen=True)
class Growth:
    """How far and by what measure a tree grows.

    Parameters
    ----------
    max_depth : int or None
    criterion : {"error", "gini", "entropy", "gain_ratio"}
    impurity_tolerance : float
        A node whose minority weighs at most this part of all rows is a leaf (S3 §4).
    idle_splits : bool
        Whether a split that lowers no impurity is made all the same.
    """

    max_depth: int | None
    criterion: str
    impurity_tolerance: float
    idle_splits: bool = False

    def sums(self, plan, n_classes):
        """Generator with the protocol of `Learner.sums`."""
        histograms = yield ClassHistograms(n_classes, plan.n_bins)
        class_weights = histograms[0].sum(axis=0)
        total = class_weights.sum()
        tree = _Sapling(plan)
        root = tree.add_leaf(class_weights / total)
        level = [root] if self._may_split(class_weights / total, depth=0) else []
        level_histograms = iter([histograms])
        depth = 0
        while level:
            depth += 1
            children = []
            for node in level:
                cut = self.best_cut(plan, next(level_histograms) / total)
                if cut is None:
                    continue
                for child, weights in zip(tree.split(node, cut), (cut.left, cut.right)):
                    if self._may_split(weights, depth):
                        children.append(child)
            level = children
            level_histograms = iter(())
            if level:
                level_histograms = yield from self._level_histograms(tree.grown(), level, n_classes)
        return tree.grown()

    def _level_histograms(self, tree, nodes, n_classes):
        node_bytes = 8 * tree.plan.n_columns * tree.plan.n_bins * n_classes
        at_a_time = max(1, HISTOGRAM_BYTES // node_bytes)
        collected = []
        for first in range(0, len(nodes), at_a_time):
            collected.extend((yield NodeHistograms(tree, tuple(nodes[first : first + at_a_time]), n_classes)))
        return iter(collected)

    def _may_split(self, class_weights, depth):
        if self.max_depth is not None and depth >= self.max_depth:
            return False
        minority = class_weights.sum() - class_weights.max()
        return minority > self.impurity_tolerance + TIE

    def best_cut(self, plan, histograms):
        """Best split of a node with these histograms (weights as parts of the whole), or None."""
        by_ratio = self.criterion == "gain_ratio"
        gains, candidates, left_weights = best_cuts(histograms, plan.n_edges, "entropy" if by_ratio else self.criterion)
        if by_ratio:
            feature = _best_ratio(gains, left_weights, histograms[0].sum())
        else:
            feature = int(np.flatnonzero(gains >= gains.max() - TIE)[0])
            least = -TIE if self.idle_splits else TIE
            if not gains[feature] > least:
                feature = None
        return None if feature is None else _cut(plan, histograms[feature], feature, candidates[feature])


def _best_ratio(gains, left_weights, node_weight):
    """C4.5's choice of a column: the best gain ratio among the columns of at least average gain."""
    gains = gains / node_weight
    promising = gains > TIE
    if not promising.any():
        return None
    eligible = np.flatnonzero(promising & (gains >= gains[promising].mean() - TIE))
    share = left_weights[eligible] / node_weight
    split_information = -(share * np.log2(share) + (1 - share) * np.log2(1 - share))
    ratios = gains[eligible] / split_information
    return int(eligible[np.flatnonzero(ratios >= ratios.max() - TIE)[0]])


def _cut(plan, histogram, feature, candidate):
    """Spell out a candidate of `numeric.splitting`."""
    n_edges = int(plan.n_edges[feature])
    apart = candidate == 2 * n_edges
    cut_bin = n_edges if apart else int(candidate >> 1)
    threshold = np.inf if apart else float(plan.edges[feature, cut_bin])
    left, right = histogram[: cut_bin + 1].sum(axis=0), histogram[cut_bin + 1 : -1].sum(axis=0)
    missing = histogram[-1]
    if missing.sum() > 0:
        missing_left = bool(candidate & 1)
        if missing_left:
            left = left + missing
        else:
            right = right + missing
    else:
        # Nothing was missing here: a value that is later goes with the crowd.
        missing_left = bool(left.sum() >= right.sum() - TIE)
    return _Cut(feature, cut_bin, threshold, missing_left, left, right)


def check_growth(max_bins, criterion):
    """Refuse settings that no tree can be grown with."""
    if isinstance(max_bins, bool) or not (isinstance(max_bins, Integral) and 2 <= max_bins <= 255):
        raise ValueError(f"max_bins must be an integer from 2 to 255; got {max_bins!r}.")
    if criterion not in CRITERIA:
        raise ValueError(f"criterion must be one of {list(CRITERIA)}; got {criterion!r}.")
