"""The support vector machine of S0, S1 and S3: σ and C by ten-fold cross-validation.

It is :func:`fuselearn.registry.tuned_svm` for the few rows of the papers' sets: distances are computed once, and the
machines of a fold begin at the optimum of the next smaller C, which takes a hundredth of the time.
"""

from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold

from fuselearn.arguments import check_count, check_flag
from fuselearn.numeric.svm import Solution, solve_checked
from fuselearn.typing import AnyArray, ArrayLike, FloatArray

TOLERANCE = 1e-3


class TunedMachine(ClassifierMixin, BaseEstimator):
    """Two-class machine with the kernel exp(-‖x - x′‖² / σ²), σ and C from a grid over [10⁻², 10²].

    Parameters
    ----------
    standardise : bool, default=True
        Whether columns are brought to mean 0 and variance 1 first. The papers do not say.
    points : int, default=5
        Number of values of σ, and of C, evenly spaced in their logarithm.
    folds : int, default=10
        Folds of the cross-validation, at most as many as the rarer class has rows.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Class labels, sorted.
    sigma_, C_ : float
        The pair of the highest accuracy; of equals the smallest C, then the largest σ.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bool(TunedMachine(points=3, folds=3).fit(X[:150], y[:150]).score(X, y) > 0.9)
    True
    """

    def __init__(self, *, standardise: bool = True, points: int = 5, folds: int = 10) -> None:
        self.standardise = standardise
        self.points = points
        self.folds = folds

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Choose σ and C, and fit the machine.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Training rows.
        y : array of shape (n_samples,)
            Class of each row, one of two.

        Returns
        -------
        self
            The fitted machine.
        """
        check_flag("standardise", self.standardise)
        check_count("points", self.points)
        check_count("folds", self.folds, 2)
        X = np.asarray(X, dtype=float)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            raise ValueError(f"y must hold two classes; it has {len(self.classes_)}.")
        spread = X.std(axis=0)
        self._centre = X.mean(axis=0)
        self._scale = np.where(spread > 0, spread, 1.0) if self.standardise else np.ones_like(spread)
        self._rows = self._prepared(X)
        signs = np.where(codes == 1, 1.0, -1.0)
        squares = _squared_distances(self._rows, self._rows)
        grid = np.logspace(-2, 2, self.points)
        folds = min(self.folds, int(np.bincount(codes).min()))
        splits = list(StratifiedKFold(folds).split(codes, codes)) if folds > 1 else []
        scores = np.array([_accuracies(np.exp(-squares / sigma**2), signs, grid, splits) for sigma in grid])
        # Rows are σ, columns C: of equals the first column, and in it the last row.
        by_c = scores[::-1].T
        c_place, sigma_place = np.unravel_index(int(by_c.argmax()), by_c.shape)
        self.C_, self.sigma_ = float(grid[c_place]), float(grid[::-1][sigma_place])
        solution = _solved(np.exp(-squares / self.sigma_**2), signs, self.C_)
        self._coefficients, self._intercept = solution.alpha * signs, solution.intercept
        return self

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the decision values.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows to decide on.

        Returns
        -------
        ndarray of shape (n_samples,)
            Positive for ``classes_[1]``.
        """
        squares = _squared_distances(self._prepared(np.asarray(X, dtype=float)), self._rows)
        return np.exp(-squares / self.sigma_**2) @ self._coefficients + self._intercept

    def predict(self, X: ArrayLike) -> AnyArray:
        """Predict the class of each row.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class of each row.
        """
        return self.classes_[(self.decision_function(X) > 0).astype(int)]

    def _prepared(self, X: FloatArray) -> FloatArray:
        """Return centred rows, scaled if asked for."""
        return (X - self._centre) / self._scale


def _squared_distances(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return ‖x - z‖² of all pairs of rows."""
    squares = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1) - 2 * first @ second.T
    return np.maximum(squares, 0.0)


def _solved(gram: FloatArray, signs: FloatArray, C: float, alpha: FloatArray | None = None) -> Solution:
    """Return the machine of a Gram matrix."""
    return solve_checked(np.ascontiguousarray(gram), signs, np.full(len(signs), C), TOLERANCE, alpha)


def _accuracies(
    gram: FloatArray, signs: FloatArray, grid: FloatArray, splits: list[tuple[AnyArray, AnyArray]]
) -> FloatArray:
    """Return the cross-validated accuracy of each C."""
    right = np.zeros(len(grid))
    for train, test in splits:
        inside, outside = gram[np.ix_(train, train)], gram[np.ix_(test, train)]
        alpha = None
        for place, C in enumerate(grid):
            solution = _solved(inside, signs[train], float(C), alpha)
            alpha = solution.alpha
            values = outside @ (alpha * signs[train]) + solution.intercept
            right[place] += np.mean((values > 0) == (signs[test] > 0))
    return right / max(len(splits), 1)
