"""One cut on one column."""

from fuselearn.learners.binning import Binning
from fuselearn.learners.protocol import Learner
from fuselearn.learners.tree_growth import Growth, check_growth


class Stump(Learner):
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

    def __init__(self, criterion="error", max_bins=255):
        self.criterion = criterion
        self.max_bins = max_bins

    @property
    def preparation(self):
        return ("binned", self.max_bins)

    def check(self, view):
        check_growth(self.max_bins, self.criterion)

    def planning(self, name, n_columns, n_rows, seed):
        return Binning.planning(n_columns, n_rows, self.max_bins, seed)

    def sums(self, plan, n_classes):
        # Under the error, both sides of the best cut may agree and still be the best weak hypothesis there is.
        growth = Growth(1, self.criterion, 0.0, idle_splits=self.criterion == "error")
        return growth.sums(plan, n_classes)

    def vc_dimension(self, n_columns):
        # n rows can be cut in at most 2·n·n_columns ways, so 2^d <= 2·d·n_columns for d rows to be shattered.
        d = 1
        while 2 ** (d + 1) <= 2 * (d + 1) * n_columns:
            d += 1
        return d
