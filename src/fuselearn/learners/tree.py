"""Stumps and trees on binned columns, grown from histograms, level by level.

Growing asks for sums only: the histograms of the root, then those of the nodes that may still be split. The class
weights of a child are known from its parent's histogram, so a node that ends up a leaf costs no pass.
"""

from collections.abc import Generator
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from fuselearn.learners.binning import Binned, Binning
from fuselearn.learners.protocol import Hypothesis, Learner, Planning, Sums
from fuselearn.numeric.execution import SERIAL, Threads
from fuselearn.numeric.tree_histograms import (
    best_cuts,
    class_histograms,
    leaves_of_bins,
    leaves_of_values,
    node_histograms,
)
from fuselearn.numeric.votes import TIE
from fuselearn.persistence.validation import check_array, check_children
from fuselearn.typing import BoolArray, FloatArray, IntArray

CRITERIA = ("error", "gini", "entropy", "gain_ratio")
HISTOGRAM_BYTES = 64 * 2**20
"""Memory for the histograms of one request; those of a wide level are asked for in several."""
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


class _TreeLearner(Learner):
    """Base of stumps and trees: the binned rows, which all learners with as many bins share."""

    plan_type = Binning

    criterion: str
    max_bins: int

    @property
    def preparation(self) -> tuple[str, int]:
        """Key of the binned rows."""
        return ("binned", self.max_bins)

    def check(self) -> None:
        """Refuse settings that no tree can be grown with; see `Learner.check`."""
        if isinstance(self.max_bins, bool) or not (isinstance(self.max_bins, Integral) and 2 <= self.max_bins <= 255):
            raise ValueError(f"max_bins must be an integer from 2 to 255; got {self.max_bins!r}.")
        if self.criterion not in CRITERIA:
            raise ValueError(f"criterion must be one of {list(CRITERIA)}; got {self.criterion!r}.")

    def planning(self, name: str, n_columns: int, n_rows: int, seed: np.random.SeedSequence | None) -> Planning:
        """Place the edges of the bins; see `Learner.planning`."""
        return (yield from Binning.planning(n_columns, n_rows, self.max_bins, seed))


class Stump(_TreeLearner):
    """A tree of depth one: the cut on one column that errs least under the weights.

    Columns are binned once; a round is one pass over bytes. Missing values go to the side where they err least.

    Parameters
    ----------
    criterion : {"error", "gini", "entropy", "gain_ratio"}, default="error"
        What the best cut minimises. The weighted error is what boosting rewards.
    max_bins : int, default=255
        Most bins of a column. A column of no more distinct values than this is cut exactly.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fuselearn import ShareBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ShareBoostClassifier("stump", views=[slice(0, 10), slice(10, 30)], n_estimators=50)
    >>> model.fit(X, y).score(X, y) > 0.97
    True
    """

    def __init__(self, criterion: str = "error", max_bins: int = 255) -> None:
        self.criterion = criterion
        self.max_bins = max_bins

    def sums(self, plan: Binning, n_classes: int) -> Sums:
        """Find the best cut; see `Learner.sums`."""
        # Under the error, both sides of the best cut may agree and still be the best weak hypothesis there is.
        growth = Growth(1, self.criterion, 0.0, idle_splits=self.criterion == "error")
        return (yield from growth.sums(plan, n_classes))

    def vc_dimension(self, n_columns: int) -> int:
        """Return a bound on the VC dimension; see `Learner.vc_dimension`."""
        # n rows can be cut in at most 2·n·n_columns ways, so 2^d <= 2·d·n_columns for d rows to be shattered.
        d = 1
        while 2 ** (d + 1) <= 2 * (d + 1) * n_columns:
            d += 1
        return d


class Tree(_TreeLearner):
    """Decision tree on binned columns; by default the weakened C4.5 of S3 §4.

    A node is not split once the rows outside its majority class weigh at most `impurity_tolerance` of all rows: S3's
    way to keep the learner weak. For a plain tree of a given depth set ``impurity_tolerance=0``.

    Parameters
    ----------
    max_depth : int or None, default=None
        Most splits between the root and a leaf; None for any number.
    impurity_tolerance : float, default=0.2
        Weight, as a part of that of all rows, that the minority of a leaf may have.
    criterion : {"error", "gini", "entropy", "gain_ratio"}, default="gain_ratio"
        ``"gain_ratio"`` is C4.5's: each column's cut of largest information gain, then, among the columns of at
        least average gain, the largest ratio of gain to split information.
    max_bins : int, default=255
        Most bins of a column. A column of no more distinct values than this is cut exactly.

    References
    ----------
    S3: Barbu, Iqbal, Peng. Classifier Fusion Using Shared Sampling Distribution for Boosting. ICDM 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from fuselearn import ShareBoostClassifier
    >>> from fuselearn.learners import Tree
    >>> X, y = load_wine(return_X_y=True)
    >>> model = ShareBoostClassifier(Tree(), views=[slice(0, 6), slice(6, 13)], n_estimators=30)
    >>> model.fit(X, y).score(X, y) > 0.97
    True
    """

    def __init__(
        self,
        max_depth: int | None = None,
        impurity_tolerance: float = 0.2,
        criterion: str = "gain_ratio",
        max_bins: int = 255,
    ) -> None:
        self.max_depth = max_depth
        self.impurity_tolerance = impurity_tolerance
        self.criterion = criterion
        self.max_bins = max_bins

    def check(self) -> None:
        """Refuse settings that mean nothing; see `Learner.check`."""
        super().check()
        if self.max_depth is not None and not (isinstance(self.max_depth, Integral) and self.max_depth >= 1):
            raise ValueError(f"max_depth must be None or an integer of at least 1; got {self.max_depth!r}.")
        if not (isinstance(self.impurity_tolerance, Real) and 0 <= self.impurity_tolerance < 1):
            raise ValueError(f"impurity_tolerance must be in [0, 1); got {self.impurity_tolerance!r}.")

    def sums(self, plan: Binning, n_classes: int) -> Sums:
        """Grow a tree; see `Learner.sums`."""
        growth = Growth(self.max_depth, self.criterion, self.impurity_tolerance)
        return (yield from growth.sums(plan, n_classes))


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
    """

    plan: Binning
    feature: IntArray
    cut_bin: IntArray
    threshold: FloatArray
    missing_left: BoolArray
    left: IntArray
    right: IntArray
    code: IntArray

    def validate(self) -> None:
        """Refuse a tree, read from a file, whose nodes lead out of it or read columns that its view lacks."""
        n_nodes = len(self.feature)
        for name, kind in NODE_KINDS.items():
            check_array(self, name, kind, (n_nodes,), finite=False)
        check_children(self.feature >= 0, self.left, self.right, self.feature, len(self.plan.n_edges))

    def validate_votes(self, n_classes: int) -> None:
        """Refuse leaves of other classes; see `Hypothesis.validate_votes`."""
        check_array(self, "code", np.integer, (None,), at_least=0, below=n_classes)

    def leaves(self, prepared: Binned, threads: Threads = SERIAL) -> IntArray:
        """Return the number of the leaf that each row falls into."""
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

    def predict_prepared(self, prepared: Binned, threads: Threads = SERIAL) -> IntArray:
        """Return the class of the leaf of each binned row."""
        return self.code[self.leaves(prepared, threads)]

    def predict_read(self, rows: FloatArray) -> IntArray:
        """Return the class of the leaf of each row of values."""
        leaves = leaves_of_values(rows, self.feature, self.threshold, self.missing_left, self.left, self.right)
        return self.code[leaves]


@dataclass(frozen=True)
class ClassHistograms:
    """Statistic: weight per column, bin and class."""

    adds_weights: ClassVar[bool] = True

    n_classes: int
    n_bins: int

    def __call__(self, prepared: Binned, codes: IntArray, weights: FloatArray, threads: Threads = SERIAL) -> FloatArray:
        return class_histograms(prepared.bins, codes, weights, self.n_classes, self.n_bins, threads=threads)


@dataclass(frozen=True)
class NodeHistograms:
    """Statistic: the same for the rows in each of some nodes of a half-grown tree."""

    adds_weights: ClassVar[bool] = True

    tree: TreeHypothesis
    nodes: tuple[int, ...]
    n_classes: int

    def __call__(self, prepared: Binned, codes: IntArray, weights: FloatArray, threads: Threads = SERIAL) -> FloatArray:
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
    """

    max_depth: int | None
    criterion: str
    impurity_tolerance: float
    idle_splits: bool = False

    def sums(self, plan: Binning, n_classes: int) -> Sums:
        """Grow a tree: the generator of `Learner.sums`."""
        histograms = yield ClassHistograms(n_classes, plan.n_bins)
        class_weights = histograms[0].sum(axis=0)
        total = class_weights.sum()
        tree = _GrowingTree(plan)
        root = tree.add_leaf(class_weights / total)
        level = [root] if self._may_split(class_weights / total, depth=0) else []
        level_histograms = [histograms]
        depth = 0
        while level:
            depth += 1
            children = []
            for node, node_histogram in zip(level, level_histograms):
                cut = self._best_cut(plan, node_histogram / total)
                if cut is None:
                    continue
                for child, weights in zip(tree.split(node, cut), (cut.left, cut.right)):
                    if self._may_split(weights, depth):
                        children.append(child)
            level = children
            if level:
                level_histograms = yield from self._level_histograms(tree.hypothesis(), level, n_classes)
        return tree.hypothesis()

    def _level_histograms(
        self, tree: TreeHypothesis, nodes: list[int], n_classes: int
    ) -> Generator[NodeHistograms, FloatArray, list[FloatArray]]:
        """Ask for the histograms of the nodes of a level, as many at a time as memory allows."""
        node_bytes = 8 * tree.plan.n_columns * tree.plan.n_bins * n_classes
        at_a_time = max(1, HISTOGRAM_BYTES // node_bytes)
        histograms: list[FloatArray] = []
        for first in range(0, len(nodes), at_a_time):
            histograms.extend((yield NodeHistograms(tree, tuple(nodes[first : first + at_a_time]), n_classes)))
        return histograms

    def _may_split(self, class_weights: FloatArray, depth: int) -> bool:
        """Return whether a node of these class weights is not to be a leaf."""
        if self.max_depth is not None and depth >= self.max_depth:
            return False
        minority = class_weights.sum() - class_weights.max()
        return bool(minority > self.impurity_tolerance + TIE)

    def _best_cut(self, plan: Binning, histograms: FloatArray) -> "_Cut | None":
        """Return the best split of a node with these histograms (weights as parts of the whole), or None."""
        by_ratio = self.criterion == "gain_ratio"
        gains, candidates, left_weights = best_cuts(histograms, plan.n_edges, "entropy" if by_ratio else self.criterion)
        feature: int | None
        if by_ratio:
            feature = _best_ratio(gains, left_weights, histograms[0].sum())
        else:
            feature = int(np.flatnonzero(gains >= gains.max() - TIE)[0])
            least = -TIE if self.idle_splits else TIE
            if not gains[feature] > least:
                feature = None
        return None if feature is None else _cut(plan, histograms[feature], feature, candidates[feature])


@dataclass(frozen=True)
class _Cut:
    """A way to split a node, and the class weights of the two sides."""

    feature: int
    cut_bin: int
    threshold: float
    missing_left: bool
    left: FloatArray
    right: FloatArray


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

    def add_leaf(self, class_weights: FloatArray) -> int:
        """Add a leaf of the class of largest weight, and return its number."""
        self.feature.append(-1)
        self.cut_bin.append(0)
        self.threshold.append(np.nan)
        self.missing_left.append(False)
        self.left.append(-1)
        self.right.append(-1)
        self.code.append(int(np.flatnonzero(class_weights >= class_weights.max() - TIE)[0]))
        return len(self.feature) - 1

    def split(self, node: int, cut: _Cut) -> tuple[int, int]:
        """Turn a leaf into a split, and return the numbers of its children."""
        self.feature[node], self.cut_bin[node] = cut.feature, cut.cut_bin
        self.threshold[node], self.missing_left[node] = cut.threshold, cut.missing_left
        self.left[node] = self.add_leaf(cut.left)
        self.right[node] = self.add_leaf(cut.right)
        return self.left[node], self.right[node]

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
        )


def _best_ratio(gains: FloatArray, left_weights: FloatArray, node_weight: float) -> int | None:
    """Return C4.5's choice of a column: the best gain ratio among the columns of at least average gain."""
    gains = gains / node_weight
    promising = gains > TIE
    if not promising.any():
        return None
    eligible = np.flatnonzero(promising & (gains >= gains[promising].mean() - TIE))
    share = left_weights[eligible] / node_weight
    split_information = -(share * np.log2(share) + (1 - share) * np.log2(1 - share))
    ratios = gains[eligible] / split_information
    return int(eligible[np.flatnonzero(ratios >= ratios.max() - TIE)[0]])


def _cut(plan: Binning, histogram: FloatArray, feature: int, candidate: int) -> _Cut:
    """Return the cut that the number of a candidate stands for; see `numeric.tree_histograms`."""
    n_edges = int(plan.n_edges[feature])
    missing_alone = candidate == 2 * n_edges
    cut_bin = n_edges if missing_alone else int(candidate >> 1)
    threshold = np.inf if missing_alone else float(plan.edges[feature, cut_bin])
    left, right = histogram[: cut_bin + 1].sum(axis=0), histogram[cut_bin + 1 : -1].sum(axis=0)
    missing = histogram[-1]
    if missing.sum() > 0:
        missing_left = bool(candidate & 1)
        if missing_left:
            left = left + missing
        else:
            right = right + missing
    else:
        # Nothing was missing here: a value that is missing later goes where most rows went.
        missing_left = bool(left.sum() >= right.sum() - TIE)
    return _Cut(feature, cut_bin, threshold, missing_left, left, right)
