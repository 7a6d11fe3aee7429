"""Fitted classifiers as plain data: what is left of scikit-learn's where they are our own choice.

A saved model that holds nothing but arrays of ours can be opened without trusting anybody. Both classes have the part
of scikit-learn's interface that a :class:`~fuselearn.classifiers.view_model.ViewModel` asks for.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

from fuselearn.numeric.rbf import rbf_kernel
from fuselearn.numeric.votes import one_against_one, pairs_of_classes
from fuselearn.persistence.validation import check_array, check_indices, check_number, check_part
from fuselearn.typing import AnyArray, FloatArray, IntArray

ROWS_AT_A_TIME = 2048
"""Rows whose kernels with the support vectors are there at the same time."""


@dataclass(frozen=True, eq=False)
class FittedSVC:
    """A fitted :class:`sklearn.svm.SVC` with an RBF kernel, behind a :class:`~sklearn.preprocessing.StandardScaler`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in sorted order.
    centre, divisor : ndarray of shape (n_columns,)
        Means and scales of the columns; zeros and ones where nothing was scaled.
    gamma : float
        Factor of the squared distances.
    support_vectors : ndarray of shape (n_vectors, n_columns)
        Scaled support vectors.
    class_of_vector : intp ndarray of shape (n_vectors,)
        Class code of each.
    dual_coef : ndarray of shape (n_classes - 1, n_vectors)
        Coefficients of each in the problems of its class against the others, as SVC's ``dual_coef_``.
    intercept : ndarray of shape (n_pairs,)
        Intercept for each pair of classes, as SVC's ``intercept_``.
    """

    classes_: AnyArray
    centre: FloatArray
    divisor: FloatArray
    gamma: float
    support_vectors: FloatArray
    class_of_vector: IntArray
    dual_coef: FloatArray
    intercept: FloatArray

    @classmethod
    def of(cls, fitted: Any) -> Self:
        """Return the numbers of a fitted SVC with an RBF kernel, or of a pipeline of a StandardScaler and one."""
        from sklearn.pipeline import Pipeline

        machine = fitted[-1] if isinstance(fitted, Pipeline) else fitted
        n_columns = machine.support_vectors_.shape[1]
        centre, divisor = np.zeros(n_columns), np.ones(n_columns)
        if isinstance(fitted, Pipeline):
            centre, divisor = fitted[0].mean_, fitted[0].scale_
        return cls(
            np.array(machine.classes_),
            np.asarray(centre, dtype=np.float64),
            np.asarray(divisor, dtype=np.float64),
            float(machine._gamma),  # what gamma="scale" came to; SVC has no public name for it
            np.array(machine.support_vectors_, dtype=np.float64),
            np.repeat(np.arange(len(machine.classes_)), machine.n_support_),
            np.array(machine.dual_coef_, dtype=np.float64),
            np.array(machine.intercept_, dtype=np.float64),
        )

    def decision_function(self, X: FloatArray) -> FloatArray:
        """Return decision values as SVC does: of shape (n_rows,) for two classes, else a column per class."""
        scaled = (np.asarray(X, dtype=np.float64) - self.centre) / self.divisor
        problems = self._coefficients_of_problems().T
        starts = range(0, max(len(scaled), 1), ROWS_AT_A_TIME)
        values = np.concatenate(
            [
                rbf_kernel(scaled[start : start + ROWS_AT_A_TIME], self.support_vectors, self.gamma) @ problems
                for start in starts
            ]
        )
        values += self.intercept
        # libsvm's values of a pair are positive for its first class; for two classes SVC has turned the signs.
        return values[:, 0] if len(self.classes_) == 2 else one_against_one(-values, len(self.classes_))

    def predict(self, X: FloatArray) -> AnyArray:
        """Return the class with the largest decision value, as SVC does with ``break_ties=True``."""
        values = self.decision_function(X)
        codes = (values >= 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
        return self.classes_[codes]

    def validate(self) -> None:
        """Check that the arrays agree in classes, columns and support vectors.

        Raises
        ------
        ValueError
            If they do not.
        """
        n_classes = len(_check_labels(self))
        if n_classes < 2:
            raise ValueError("classes_ of a FittedSVC has less than two classes")
        n_columns = len(check_array(self, "centre", np.float64, (None,)))
        divisor = check_array(self, "divisor", np.float64, (n_columns,))
        if not (divisor > 0).all():
            raise ValueError("divisor of a FittedSVC has numbers that are not above 0")
        check_number(self, "gamma", least=0.0)
        n_vectors = len(check_array(self, "support_vectors", np.float64, (None, n_columns)))
        codes = check_array(self, "class_of_vector", np.intp, (n_vectors,))
        check_indices(self, "class_of_vector", codes, n_classes)
        check_array(self, "dual_coef", np.float64, (n_classes - 1, n_vectors))
        check_array(self, "intercept", np.float64, (n_classes * (n_classes - 1) // 2,))

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: a classifier that takes no NaN."""
        return _classifier_tags(allow_nan=False)

    def _coefficients_of_problems(self) -> FloatArray:
        """Return the coefficients of all support vectors for each pair of classes, 0 for those of other classes."""
        if len(self.classes_) == 2:
            return self.dual_coef
        pairs = pairs_of_classes(len(self.classes_))
        coefficients = np.zeros((len(pairs), len(self.support_vectors)))
        for row, (a, b) in zip(coefficients, pairs):
            # A vector has a row of `dual_coef` for each other class, in their order: its own is left out.
            of_a, of_b = self.class_of_vector == a, self.class_of_vector == b
            row[of_a], row[of_b] = self.dual_coef[b - 1, of_a], self.dual_coef[a, of_b]
        return coefficients


@dataclass(frozen=True, eq=False)
class ConstantClassifier:
    """A classifier that saw one class only, and names it always.

    Attributes
    ----------
    classes_ : ndarray of shape (1,)
        The class.
    """

    classes_: AnyArray

    def predict(self, X: FloatArray) -> AnyArray:
        """Return the class for each row."""
        return np.repeat(self.classes_, len(X))

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return a probability of 1 for each row, of shape (n_rows, 1)."""
        return np.ones((len(X), 1))

    def validate(self) -> None:
        """Check that there is one class.

        Raises
        ------
        ValueError
            If there is not.
        """
        if len(_check_labels(self)) != 1:
            raise ValueError("classes_ of a ConstantClassifier is not one class")

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: a classifier that reads nothing, NaN or not."""
        return _classifier_tags(allow_nan=True)


def _check_labels(owner: object) -> AnyArray:
    """Return `classes_` of an object, a plain array of one dimension."""
    labels = check_part(owner, "classes_", np.ndarray)
    if labels.ndim != 1:
        raise ValueError(f"classes_ of a {type(owner).__name__} has {labels.ndim} dimensions, not 1")
    return labels


def _classifier_tags(*, allow_nan: bool) -> Tags:
    """Return the tags of a classifier."""
    return Tags(
        estimator_type="classifier",
        target_tags=TargetTags(required=True),
        classifier_tags=ClassifierTags(),
        input_tags=InputTags(allow_nan=allow_nan),
    )
