"""Gaussian naive Bayes as a weak learner (S0 §5, S1 §6)."""

from dataclasses import dataclass
from numbers import Real

import numpy as np

from fuselearn.learners.protocol import Sums
from fuselearn.learners.standardisation import ScoreHypothesis, Standardisation, Standardised, StandardisingLearner
from fuselearn.numeric.execution import SERIAL, Threads
from fuselearn.numeric.moments import class_forms, weighted_moments
from fuselearn.typing import FloatArray, IntArray

LEAST_VARIANCE = 1e-30
"""Variance of a column that never varies, when the user asks for no smoothing."""


class GaussianNB(StandardisingLearner):
    """Gaussian naive Bayes under weights, one pass to fit and one to predict.

    The log-posterior of a class is a quadratic form without cross terms, so fitting needs weighted moments only.
    A NaN inside a present view is marginalised: it is left out of its column's moments, and its column is left
    out of that row's posterior. A column that some class never shows is left out altogether.

    Parameters
    ----------
    var_smoothing : float, default=1e-9
        Part of the largest variance of all columns that is added to every variance, as in
        :class:`sklearn.naive_bayes.GaussianNB`. Below about 1e-15 what is added drowns in rounding.

    References
    ----------
    S0: Barbu, Peng, Seetharaman. Boosting Information Fusion. FUSION 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import ShareBoostClassifier
    >>> from fuselearn.learners import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> ShareBoostClassifier(GaussianNB(var_smoothing=1e-6), n_estimators=5).fit(X, y).score(X, y) > 0.9
    True
    """

    def __init__(self, var_smoothing: float = 1e-9) -> None:
        self.var_smoothing = var_smoothing

    def check(self) -> None:
        """Refuse settings that mean nothing; see `Learner.check`."""
        if not (isinstance(self.var_smoothing, Real) and 0 <= self.var_smoothing < np.inf):
            raise ValueError(f"var_smoothing must be a number of at least 0; got {self.var_smoothing!r}.")

    def sums(self, plan: Standardisation, n_classes: int) -> Sums:
        """Fit the quadratic form of each class from its moments; see `Learner.sums`."""
        moments = yield ClassMoments(n_classes)
        return ScoreHypothesis(plan, *class_forms(moments, self.var_smoothing * plan.largest_variances, LEAST_VARIANCE))

    def vc_dimension(self, n_columns: int) -> int:
        """Return the VC dimension; see `Learner.vc_dimension`."""
        # Signs of a·x² + b·x + c are half-spaces in 2·n_columns dimensions.
        return 2 * n_columns + 1


@dataclass(frozen=True)
class ClassMoments:
    """Statistic: weighted moments per class and column."""

    n_classes: int

    def __call__(
        self, prepared: Standardised, codes: IntArray, weights: FloatArray, threads: Threads = SERIAL
    ) -> FloatArray:
        return weighted_moments(
            prepared.values, prepared.n_columns, codes, weights, self.n_classes, gaps=prepared.gaps, threads=threads
        )
