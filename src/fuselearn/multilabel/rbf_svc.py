"""A support vector machine for small samples: scikit-learn's SVC with an RBF kernel, by a solver of our own."""

import warnings
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from fuselearn.arguments import check_count, check_positive
from fuselearn.data import check_sample_weight
from fuselearn.numeric.execution import Scratch
from fuselearn.numeric.fixed_size_svm import choose_vectors, number_of_vectors, solve_fixed_size
from fuselearn.numeric.rbf import rbf_decision_values, rbf_gram
from fuselearn.numeric.svm import solve_svm
from fuselearn.persistence.validation import check_array, check_integer, described
from fuselearn.typing import AnyArray, ArrayLike, FloatArray, TableLike

GRAM_ROWS = 5_000
"""Rows of which the whole Gram matrix is kept (200 MB). More of them go to libsvm, which caches parts of it."""

SCALE_FIRST = "Scale the columns first, e.g. with StandardScaler."


class RbfSVC(ClassifierMixin, BaseEstimator):
    """Two-class support vector machine with an RBF kernel, made for samples of up to some thousand rows.

    The optimum is that of :class:`sklearn.svm.SVC` with the same settings, reached several times faster: the Gram
    matrix is one matrix product, and equal rows of a bootstrap sample are one row of a larger weight.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of a margin violation.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient γ in ``e^(-γ·|x - z|²)``: 1 / (n_features · variance of X), 1 / n_features, or a number.
    tol : float, default=1e-3
        Tolerance of the stopping criterion.
    max_vectors : int, "auto" or None, default=None
        Most support vectors. None is the machine of :class:`sklearn.svm.SVC`, whose support vectors are as many as it
        needs. With a number the machine is one of least squares, fitted on all rows and spanned by so many of them,
        drawn from each class; ``"auto"`` is √n·ln n of n rows, at most 1,000. `tol` is not used then.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Class labels, sorted.
    support_vectors_ : ndarray of shape (n_vectors, n_features)
        Training rows that the decision depends on.
    dual_coef_ : ndarray of shape (1, n_vectors)
        Dual coefficients of the support vectors, times ±1 for their class.
    intercept_ : ndarray of shape (1,)
        Intercept of the decision value.
    gamma_ : float
        γ as it was used.
    n_features_in_ : int
        Number of columns of `X`.
    feature_names_in_ : ndarray of str
        Names of the columns, if `X` was a data frame.

    Notes
    -----
    A row of weight 2 counts as much as the row twice, also for ``gamma="scale"``, whose variance is weighted. Samples
    of more than 5,000 rows are fitted by libsvm, unless `max_vectors` is given.

    References
    ----------
    .. [1] Suykens, Van Gestel, De Brabanter, De Moor, Vandewalle. Least Squares Support Vector Machines. World
       Scientific, 2002. Chapter 6: machines of fixed size.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fuselearn.multilabel import RbfSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bool(RbfSVC().fit(X, y).score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        gamma: float | str = "scale",
        tol: float = 1e-3,
        max_vectors: int | str | None = None,
    ) -> None:
        self.C = C
        self.gamma = gamma
        self.tol = tol
        self.max_vectors = max_vectors

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Training rows.
        y : array of shape (n_samples,)
            Class of each row, one of two.
        sample_weight : array of shape (n_samples,), default=None
            Factor on C of each row.

        Returns
        -------
        self
            The fitted classifier.
        """
        check_positive("C", self.C)
        check_positive("tol", self.tol)
        gamma = self.gamma
        if gamma not in ("scale", "auto") and not (isinstance(gamma, Real) and 0 < float(gamma) < np.inf):
            raise ValueError(f"gamma must be 'scale', 'auto' or a number above 0; got {gamma!r}.")
        check_max_vectors(self.max_vectors)
        X, y = validate_data(self, X, y, dtype=np.float64, order="C")
        check_classification_targets(y)
        if type_of_target(y) != "binary":
            raise ValueError(f"Only binary classification is supported. The type of the target is {type_of_target(y)}.")
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold two classes; it has one class only, {self.classes_.tolist()}.")
        weights = _check_weights(sample_weight, X)
        counted = weights > 0
        if len(np.unique(codes[counted])) < 2:
            raise ValueError(
                "sample_weight is zero for all rows of a class; each of the two needs a row of positive weight."
            )
        if not counted.all():
            X, codes, weights = X[counted], codes[counted], weights[counted]
        return self.fit_signs(X, np.where(codes == 1, 1.0, -1.0), weights)

    def fit_signs(self, X: FloatArray, signs: FloatArray, weights: FloatArray, scratch: Scratch | None = None) -> Self:
        """Fit without checks, on rows of signs +1 and -1, each counted `weights` times.

        Parameters
        ----------
        X : float64 ndarray of shape (n_samples, n_features)
            Training rows.
        signs : ndarray of shape (n_samples,)
            +1 for the second class, -1 for the first.
        weights : ndarray of shape (n_samples,)
            Factor on C of each row, above 0.
        scratch : Scratch, default=None
            Memory for the Gram matrix.

        Returns
        -------
        self
            The fitted classifier.
        """
        self.gamma_ = kernel_gamma(self.gamma, X, weights)
        if self.max_vectors is not None:
            n_vectors = number_of_vectors(len(X)) if self.max_vectors == "auto" else int(self.max_vectors)
            support = choose_vectors(signs, min(n_vectors, len(X)))
            centred = self._centred(X)
            coefficients, intercept = solve_fixed_size(centred, signs, self.C * weights, centred[support], self.gamma_)
        elif len(X) <= GRAM_ROWS:
            centred = self._centred(X)
            gram = rbf_gram(centred, self.gamma_, scratch=scratch)
            solution = solve_svm(gram, signs, self.C * weights, tolerance=self.tol)
            if not solution.converged:
                warnings.warn(
                    f"RbfSVC stopped after {solution.n_iter} steps without reaching tol={self.tol}. Scale the columns, "
                    "or choose a larger tol.",
                    ConvergenceWarning,
                    stacklevel=2,
                )
            support = np.flatnonzero(solution.alpha)
            coefficients, intercept = (solution.alpha * signs)[support], solution.intercept
        else:
            machine = SVC(C=self.C, gamma=self.gamma_, tol=self.tol).fit(X, signs, sample_weight=weights)
            support, coefficients, intercept = machine.support_, machine.dual_coef_[0], machine.intercept_[0]
        self.support_vectors_ = X[support]
        self.dual_coef_ = coefficients[None, :]
        self.intercept_ = np.array([intercept])
        self.n_features_in_ = X.shape[1]
        if not hasattr(self, "classes_"):
            self.classes_ = np.array([0, 1])
        return self

    def _centred(self, X: FloatArray) -> FloatArray:
        """Return the rows less their mean; refuse rows whose distances are no finite numbers."""
        centred = X - X.mean(axis=0)
        if not np.isfinite(self.gamma_ * np.einsum("ij,ij->i", centred, centred)).all():
            raise ValueError(
                f"X must have squared distances that are finite numbers; its largest value is {np.abs(X).max():.3g}. "
                f"{SCALE_FIRST}"
            )
        return centred

    def validate(self) -> None:
        """Refuse a machine, read from a file, whose support vectors and coefficients do not agree.

        :func:`fuselearn.load` calls it.

        Raises
        ------
        ValueError
            The machine would read beyond its arrays.
        """
        if "support_vectors_" not in vars(self):
            return
        n_columns = check_integer(self, "n_features_in_")
        n_vectors = len(check_array(self, "support_vectors_", np.float64, (None, n_columns)))
        check_array(self, "dual_coef_", np.float64, (1, n_vectors))
        check_array(self, "intercept_", np.float64, (1,))
        check_array(self, "classes_", np.generic, (2,), finite=False)
        if not (isinstance(self.gamma_, float) and 0 < self.gamma_ < np.inf):
            raise ValueError(
                f"it has an RbfSVC whose gamma_ is {described(self.gamma_)}, which is not a positive number"
            )

    def decision_function(self, X: TableLike) -> FloatArray:
        """Return the signed distance to the boundary, in units of the margin.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows to decide on.

        Returns
        -------
        ndarray of shape (n_samples,)
            Positive for ``classes_[1]``.
        """
        check_is_fitted(self)
        return machine_values(self, validate_data(self, X, reset=False, dtype=np.float64, order="C"), self.gamma_)

    def predict(self, X: TableLike) -> AnyArray:
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
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(np.intp)]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def check_max_vectors(value: Any) -> None:
    """Refuse a number of support vectors that is neither None, "auto" nor at least 1."""
    if value is not None and not (isinstance(value, str) and value == "auto"):
        check_count("max_vectors", value)


def kernel_gamma(gamma: float | str, X: FloatArray, weights: FloatArray | None = None) -> float:
    """Return γ as a number, by the rules of scikit-learn's SVC; `weights` are how often each row counts."""
    if gamma == "auto":
        return 1.0 / X.shape[1]
    if gamma != "scale":
        return float(gamma)
    mean = np.average(X, weights=weights, axis=0).mean()
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        variance = np.average(((X - mean) ** 2).mean(axis=1), weights=weights)
        value = float(1.0 / (X.shape[1] * variance)) if variance > 0 else 1.0
    if not 0 < value < np.inf:
        raise ValueError(
            f"X must have a variance that gamma='scale' can divide by; that of {len(X)} rows and {X.shape[1]} columns "
            f"is {variance:.3g}. {SCALE_FIRST}"
        )
    return value


def machine_values(
    machine: Any, rows: FloatArray, gamma: float, *, single: bool = False, scratch: Scratch | None = None
) -> FloatArray:
    """Return the decision values of a fitted `RbfSVC` or `SVC` with an RBF kernel, by blocked products.

    `single` allows for errors of 1e-6.
    """
    vectors = np.asarray(machine.support_vectors_, dtype=np.float64)
    values = np.full(len(rows), float(machine.intercept_[0]))
    if not len(vectors):  # a tolerance so wide that the solver has nothing to do
        return values
    centre = vectors.mean(axis=0)
    rbf_decision_values(
        rows - centre,
        vectors - centre,
        np.ascontiguousarray(machine.dual_coef_[0]),
        float(machine.intercept_[0]),
        gamma,
        values,
        single=single,
        scratch=scratch,
    )
    return values


def _check_weights(sample_weight: ArrayLike | None, X: FloatArray) -> FloatArray:
    """Check the weights of rows, and return them as an array; ones where none are given."""
    if sample_weight is None:
        return np.ones(len(X))
    shape = np.asarray(sample_weight).shape
    if shape not in ((), (len(X),)):
        raise ValueError(f"sample_weight must hold a weight for each of the {len(X)} rows of X; got shape {shape}.")
    weights = check_sample_weight(sample_weight, X)
    return np.ones(len(X)) if weights is None else weights
