"""Gaussian naive Bayes as a weak learner (S0 §5, S1 §6)."""

from dataclasses import dataclass
from numbers import Real

import numpy as np

from fuselearn.learners.protocol import Learner
from fuselearn.learners.scoring import ScoreHypothesis
from fuselearn.learners.standardisation import Standardisation
from fuselearn.numeric.moments import weighted_moments
from fuselearn.numeric.threads import SERIAL

LEAST_VARIANCE = 1e-30
"""Variance of a column that never varies, when the user asks for no smoothing."""
LARGEST_SMOOTHING = 1e100
"""Smoothing of a column that is next to nothing beside the largest one; it says nothing, but must stay finite."""


class GaussianNB(Learner):
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

    preparation = ("standardised",)

    def __init__(self, var_smoothing=1e-9):
        self.var_smoothing = var_smoothing

    def check(self, view):
        if not (isinstance(self.var_smoothing, Real) and 0 <= self.var_smoothing < np.inf):
            raise ValueError(f"var_smoothing must be a number of at least 0; got {self.var_smoothing!r}.")

    def plan(self, view, seed):
        return Standardisation.of(view)

    def sums(self, plan, n_classes):
        moments = yield ClassMoments(n_classes)
        return self._from_moments(plan, moments)

    def vc_dimension(self, n_columns):
        # Signs of a·x² + b·x + c are half-spaces in 2·n_columns dimensions.
        return 2 * n_columns + 1

    def _from_moments(self, plan, moments):
        class_weights = moments[:, 0]
        observed, first, second = np.split(moments[:, 1:], 3, axis=1)
        seen = class_weights > 0
        usable = (observed[seen] > 0).all(axis=0)

        largest_variance = plan.variances.max(initial=0.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            largest_scale = np.sqrt(largest_variance) if largest_variance > 0 else 1.0
            smoothing = np.minimum(self.var_smoothing * (largest_scale / plan.scales) ** 2, LARGEST_SMOOTHING)
            means = first / observed
            variances = np.maximum(second / observed - means**2, 0.0) + smoothing
            variances = np.maximum(variances, LEAST_VARIANCE)
            squares = -0.5 / variances
            slopes = means / variances
            constants = -0.5 * (np.log(variances) + means**2 / variances)
            priors = np.log(class_weights / class_weights.sum())
        in_use = seen[:, None] & usable
        squares, slopes, constants = (np.where(in_use, form, 0.0) for form in (squares, slopes, constants))
        if len(priors) == 2:
            # The log-odds alone decide between two classes. Should one be unseen, its prior of 0 does.
            squares, slopes, constants = (form[1:] - form[:1] for form in (squares, slopes, constants))
            if not seen.all():
                squares, slopes, constants = (np.zeros_like(form) for form in (squares, slopes, constants))
            priors = priors[1:] - priors[:1]
        return ScoreHypothesis(plan, squares, slopes, constants, priors)


@dataclass(frozen=True)
class ClassMoments:
    """Statistic: weighted moments per class and column."""

    # Rows without weight cost next to nothing, so moments can be brought up to date from the rows that changed.
    skips_weightless_rows = True

    n_classes: int

    def __call__(self, prepared, codes, weights, threads=SERIAL):
        return weighted_moments(prepared.values, codes, weights, self.n_classes, gaps=prepared.gaps, threads=threads)
