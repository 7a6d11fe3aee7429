"""Linear classifier by weighted least squares (S0 §3.1)."""

from dataclasses import dataclass
from numbers import Real

import numpy as np

from fuselearn.learners.protocol import Sums
from fuselearn.learners.standardisation import ScoreHypothesis, Standardisation, Standardised, StandardisingLearner
from fuselearn.numeric.execution import SERIAL, Threads
from fuselearn.numeric.least_squares import cross_products, solve_least_norm
from fuselearn.typing import FloatArray, IntArray

LEAST_PIVOT = 1e-12
"""Directions in which the standardised rows vary less than this, as part of the largest, are rounding noise."""


class LeastSquares(StandardisingLearner):
    """Linear classifier fitted by weighted least squares to targets +1 and -1, as in S0's illustration.

    With more than two classes, one target column per class against the rest; the largest value wins. A NaN inside a
    present view counts as its column's mean.

    Parameters
    ----------
    ridge : float, default=0.0
        Penalty on the squared coefficients of the columns, standardised under the weights. With 0 the solution is the
        one of least norm where several fit equally well.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import ShareBoostClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ShareBoostClassifier("linear", views={"sepal": [0, 1], "petal": [2, 3]}, n_estimators=10)
    >>> model.fit(X[50:], y[50:]).score(X[50:], y[50:]) > 0.9
    True
    """

    def __init__(self, ridge: float = 0.0) -> None:
        self.ridge = ridge

    def check(self) -> None:
        """Refuse settings that mean nothing; see `Learner.check`."""
        if not (isinstance(self.ridge, Real) and 0 <= self.ridge < np.inf):
            raise ValueError(f"ridge must be a number of at least 0; got {self.ridge!r}.")

    def sums(self, plan: Standardisation, n_classes: int) -> Sums:
        """Solve the normal equations; see `Learner.sums`."""
        products = yield CrossProducts(n_classes)
        # Standardise again, under the weights of the round: the solution of least norm must not depend on whether a
        # row has twice the weight or occurs twice.
        n_unknowns = 1 + len(plan.means)
        products = products / products[0, 0]
        means, target_means = products[0, 1:n_unknowns], products[0, n_unknowns:]
        covariance = products[1:, 1:n_unknowns] - np.outer(means, means)
        with_targets = products[1:, n_unknowns:] - np.outer(means, target_means)
        spread = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        varies = spread > 1e-7 * np.abs(means) + 1e-13
        scales = np.where(varies, spread, np.inf)  # a column that does not vary gets no coefficient
        correlation = covariance / np.outer(scales, scales)
        correlation[np.diag_indices_from(correlation)] += self.ridge
        solution = solve_least_norm(correlation, with_targets / scales[:, None], LEAST_PIVOT)
        slopes = (solution / scales[:, None]).T
        nothing = np.zeros_like(slopes)
        return ScoreHypothesis(plan, nothing, slopes, nothing, target_means - (slopes * means).sum(axis=1))

    def vc_dimension(self, n_columns: int) -> int:
        """Return the VC dimension; see `Learner.vc_dimension`."""
        return n_columns + 1


@dataclass(frozen=True)
class CrossProducts:
    """Statistic: weighted products of the rows, behind a 1, with themselves and with the targets."""

    n_classes: int

    def __call__(
        self, prepared: Standardised, codes: IntArray, weights: FloatArray, threads: Threads = SERIAL
    ) -> FloatArray:
        # Two classes need one target, which is +1 for class 1.
        target_classes = np.arange(1 if self.n_classes == 2 else 0, self.n_classes, dtype=np.int32)
        return cross_products(prepared.values, prepared.n_columns, codes, weights, target_classes, threads=threads)
