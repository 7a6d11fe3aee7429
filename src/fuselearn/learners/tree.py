"""Stumps and trees on binned columns."""

from abc import abstractmethod
from numbers import Integral, Real

import numpy as np

from fuselearn.learners.binning import Binning
from fuselearn.learners.protocol import Learner, Planning, Sums
from fuselearn.learners.tree_growth import Growth
from fuselearn.numeric.threads import SERIAL, Threads

CRITERIA = ("error", "gini", "entropy", "gain_ratio")


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

    def sums(self, plan: Binning, n_classes: int) -> Sums:
        """Grow a tree; see `Learner.sums`."""
        return self.sums_on(SERIAL, plan, n_classes)

    def sums_on(self, threads: Threads, plan: Binning, n_classes: int) -> Sums:
        """Grow a tree; see `Learner.sums_on`."""
        return self.growth(threads).sums(plan, n_classes)

    @abstractmethod
    def growth(self, threads: Threads) -> Growth:
        """Return how it grows."""


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

    def growth(self, threads: Threads) -> Growth:
        """Return how it grows: by one cut."""
        # Under the error, both sides of the best cut may agree and still be the best weak hypothesis there is.
        return Growth(1, self.criterion, 0.0, idle_splits=self.criterion == "error", threads=threads)

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
    pruning_confidence : float in (0, 0.5] or None, default=None
        Confidence of C4.5's pruning, 0.25 there: a subtree is replaced by a leaf where the upper limit of the leaf's
        error is not above those of the subtree's leaves. Less prunes more; None prunes nothing. A subtree is never
        replaced by one of its branches, as C4.5 may do.

    References
    ----------
    S3: Barbu, Iqbal, Peng. Classifier Fusion Using Shared Sampling Distribution for Boosting. ICDM 2005.
    Quinlan. C4.5: Programs for Machine Learning. Morgan Kaufmann, 1993, chapter 4.

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
        pruning_confidence: float | None = None,
    ) -> None:
        self.max_depth = max_depth
        self.impurity_tolerance = impurity_tolerance
        self.criterion = criterion
        self.max_bins = max_bins
        self.pruning_confidence = pruning_confidence

    def check(self) -> None:
        """Refuse settings that mean nothing; see `Learner.check`."""
        super().check()
        if self.max_depth is not None and not (isinstance(self.max_depth, Integral) and self.max_depth >= 1):
            raise ValueError(f"max_depth must be None or an integer of at least 1; got {self.max_depth!r}.")
        if not (isinstance(self.impurity_tolerance, Real) and 0 <= self.impurity_tolerance < 1):
            raise ValueError(f"impurity_tolerance must be in [0, 1); got {self.impurity_tolerance!r}.")
        confidence = self.pruning_confidence
        if confidence is not None and (
            isinstance(confidence, bool) or not (isinstance(confidence, Real) and 0 < confidence <= 0.5)
        ):
            raise ValueError(f"pruning_confidence must be None or in (0, 0.5]; got {confidence!r}.")

    def growth(self, threads: Threads) -> Growth:
        """Return how it grows: level by level."""
        return Growth(
            self.max_depth,
            self.criterion,
            self.impurity_tolerance,
            pruning_confidence=self.pruning_confidence,
            threads=threads,
        )
