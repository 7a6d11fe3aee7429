"""S3's weakened C4.5."""

from numbers import Integral, Real

from fuselearn.learners.binning import Binning
from fuselearn.learners.protocol import Learner
from fuselearn.learners.tree_growth import Growth, check_growth


class Tree(Learner):
    """Decision tree on binned columns; by default the weakened C4.5 of S3 §4.

    A node is not split once the rows outside its majority class weigh at most `impurity_tolerance` of all rows: S3's
    way to keep the learner weak. For a plain tree of a given depth set ``impurity_tolerance=0``.

    Parameters
    ----------
    max_depth : int or None, default=None
        Most splits between the root and a leaf.
    impurity_tolerance : float, default=0.2
    criterion : {"error", "gini", "entropy", "gain_ratio"}, default="gain_ratio"
        ``"gain_ratio"`` is C4.5's: each column's cut of largest information gain, then, among the columns of at
        least average gain, the largest ratio of gain to split information.
    max_bins : int, default=255
        Most bins of a column.

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

    def __init__(self, max_depth=None, impurity_tolerance=0.2, criterion="gain_ratio", max_bins=255):
        self.max_depth = max_depth
        self.impurity_tolerance = impurity_tolerance
        self.criterion = criterion
        self.max_bins = max_bins

    @property
    def preparation(self):
        return ("binned", self.max_bins)

    def check(self, view):
        check_growth(self.max_bins, self.criterion)
        if self.max_depth is not None and not (isinstance(self.max_depth, Integral) and self.max_depth >= 1):
            raise ValueError(f"max_depth must be None or an integer of at least 1; got {self.max_depth!r}.")
        if not (isinstance(self.impurity_tolerance, Real) and 0 <= self.impurity_tolerance < 1):
            raise ValueError(f"impurity_tolerance must be in [0, 1); got {self.impurity_tolerance!r}.")

    def planning(self, name, n_columns, n_rows, seed):
        return Binning.planning(n_columns, n_rows, self.max_bins, seed)

    def sums(self, plan, n_classes):
        return Growth(self.max_depth, self.criterion, self.impurity_tolerance).sums(plan, n_classes)
