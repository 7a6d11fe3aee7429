"""Linear classifier by weighted least squares (S0 §3.1)."""

from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy.linalg import eigh

from fuselearn.learners.protocol import Hypothesis, Learner
from fuselearn.learners.standardisation import Standardisation
from fuselearn.numeric.threads import BLOCK_ROWS, SERIAL, n_blocks
from fuselearn.numeric.ties import TIE

LEAST_EIGENVALUE = 1e-12
"""Directions in which the standardised rows vary less than this, as part of the largest, are rounding noise."""


class LeastSquares(Learner):
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

    preparation = ("standardised",)

    def __init__(self, ridge=0.0):
        self.ridge = ridge

    def check(self, view):
        if not (isinstance(self.ridge, Real) and 0 <= self.ridge < np.inf):
            raise ValueError(f"ridge must be a number of at least 0; got {self.ridge!r}.")

    def plan(self, view, seed):
        return Standardisation.of(view)

    def sums(self, plan, n_classes):
        products = yield CrossProducts(n_classes)
        return self._from_products(plan, products)

    def vc_dimension(self, n_columns):
        return n_columns + 1

    def _from_products(self, plan, products):
        # Standardise again, under the weights of the round: what the solution of least norm is must not depend on
        # whether a row counts twice or stands there twice.
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
        values, vectors = eigh(correlation)
        kept = values > LEAST_EIGENVALUE * max(values[-1], 1.0)
        vectors = vectors[:, kept]
        solution = vectors @ ((vectors.T @ (with_targets / scales[:, None])) / values[kept, None])
        coefficients = solution / scales[:, None]
        return LinearHypothesis(plan, coefficients, target_means - means @ coefficients)


def _filled(prepared, rows):
    values = prepared.values[rows]
    return np.nan_to_num(values, nan=0.0) if prepared.gaps else values


@dataclass(frozen=True)
class CrossProducts:
    """Statistic: Zᵀ·W·[Z, T] with Z the rows behind a 1, and T the targets."""

    n_classes: int

    def __call__(self, prepared, codes, weights, threads=SERIAL):
        one_against_rest = np.arange(1, 2) if self.n_classes == 2 else np.arange(self.n_classes)

        def block_products(number):
            rows = slice(number * BLOCK_ROWS, (number + 1) * BLOCK_ROWS)
            values = _filled(prepared, rows)
            table = np.column_stack([np.ones(len(values)), values])
            targets = np.where(codes[rows, None] == one_against_rest, 1.0, -1.0)
            return (table * weights[rows, None]).T @ np.column_stack([table, targets])

        return sum(threads.map(block_products, range(n_blocks(len(codes)))))


@dataclass(frozen=True, eq=False)
class LinearHypothesis(Hypothesis):
    """The class whose linear score of the standardised columns is largest; for two classes, its sign.

    Attributes
    ----------
    plan : Standardisation
    coefficients : ndarray of shape (n_columns, n_classes), or (n_columns, 1) for two classes
    intercepts : ndarray of shape (n_classes,), or (1,) likewise
    """

    plan: Standardisation
    coefficients: np.ndarray
    intercepts: np.ndarray

    def predict_prepared(self, prepared, threads=SERIAL):
        codes = np.empty(len(prepared), dtype=np.int32)

        def work(first, last):
            for number in range(first, last):
                rows = slice(number * BLOCK_ROWS, (number + 1) * BLOCK_ROWS)
                scores = _filled(prepared, rows) @ self.coefficients + self.intercepts
                if scores.shape[1] == 1:
                    codes[rows] = scores[:, 0] > TIE
                else:
                    codes[rows] = (scores >= scores.max(axis=1, keepdims=True) - TIE).argmax(axis=1)

        threads.share(n_blocks(len(prepared)), work)
        return codes
