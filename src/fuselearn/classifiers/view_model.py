"""A fitted classifier of one view, whose classes may be fewer than those of the whole."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from fuselearn.classifiers.adapter import array_for, gives_values, is_frozen, weight_parameter
from fuselearn.classifiers.fitted_classifiers import ConstantClassifier
from fuselearn.data import ViewBlocks, encode_known
from fuselearn.persistence.validation import check_array, check_indices, check_integer, check_part
from fuselearn.typing import AnyArray, FloatArray, IntArray

SMALLEST_PROBABILITY = 1e-6

Output: TypeAlias = Callable[["ViewModel", FloatArray], FloatArray]
"""A function of a model and rows that returns an array with a row for each, such as `ViewModel.values`."""


@dataclass(frozen=True)
class ViewModel:
    """A fitted classifier, in the class codes of all views.

    Attributes
    ----------
    name : str
        How messages call it, such as ``the view 'rna'``.
    estimator : fitted classifier
        The classifier, which has `classes_`.
    codes : int ndarray
        Class codes of the classes that it knows, in its own order.
    n_classes : int
        Number of classes of all views.
    """

    name: str
    estimator: Any
    codes: IntArray
    n_classes: int

    def validate(self) -> None:
        """Check that it knows some of the classes; the classifier is not ours."""
        check_part(self, "name", str)
        n_classes = check_integer(self, "n_classes", least=1)
        codes = check_array(self, "codes", np.integer, (None,))
        check_indices(self, "codes", codes, n_classes)
        if not 0 < len(np.unique(codes)) == len(codes):
            raise ValueError("codes of a ViewModel are not of different classes")

    @property
    def abstains(self) -> bool:
        """True if it knows one class only, and so cannot distinguish classes."""
        return len(self.codes) == 1

    @property
    def gives_values(self) -> bool:
        """True if it has decision values or probabilities."""
        return gives_values(self.estimator)

    def predicted(self, rows: FloatArray) -> IntArray:
        """Return the predicted class code of each row, of shape (n_rows,)."""
        known = np.asarray(self.estimator.classes_)
        labels = np.asarray(self.estimator.predict(self._as_fitted(rows)))
        return self.codes[
            encode_known(labels, known, f"The prediction of {type(self.estimator).__name__} for {self.name}")
        ]

    def predicted_indicators(self, rows: FloatArray) -> FloatArray:
        """Return 1 for the predicted class of each row and 0 for the others, of shape (n_rows, n_classes)."""
        return (self.predicted(rows)[:, None] == np.arange(self.n_classes)).astype(np.float64)

    def values(self, rows: FloatArray, *, unknown: str = "neutral") -> FloatArray:
        """Return a decision value for each class, of shape (n_rows, n_classes).

        It is the decision value, or 2p - 1 of a classifier that has probabilities only: both are about 1 where a row is
        clearly of the class and about -1 where it clearly is not. A class that the classifier does not know gets the
        mean of the others (`unknown="neutral"`), or less than any other (`unknown="least"`).
        """
        rows = self._as_fitted(rows)
        known = self._decision_values(rows)
        if known is None:
            known = 2 * np.asarray(self.estimator.predict_proba(rows), dtype=np.float64) - 1
        self._check_shape(known, len(rows))
        otherwise = known.mean(axis=1) if unknown == "neutral" else known.min(axis=1, initial=np.inf) - 1
        values = np.repeat(otherwise[:, None], self.n_classes, axis=1)
        values[:, self.codes] = known
        return values

    def centred_values(self, rows: FloatArray) -> FloatArray:
        """Return a finite value for each class with mean 0 in every row, of shape (n_rows, n_classes).

        It is the decision value, or the logarithm of the probability of a classifier that has no other; 0 for a class
        that the classifier does not know.
        """
        rows = self._as_fitted(rows)
        known = self._decision_values(rows)
        if known is None:
            known = np.asarray(self.estimator.predict_proba(rows), dtype=np.float64)
            known = np.log(np.maximum(known, SMALLEST_PROBABILITY))
        self._check_shape(known, len(rows))
        if not np.isfinite(known).all():
            raise ValueError(f"{type(self.estimator).__name__} gives NaN or infinity for {self.name}.")
        values = np.zeros((len(rows), self.n_classes))
        values[:, self.codes] = known - known.mean(axis=1, keepdims=True)
        return values

    def probabilities(self, rows: FloatArray) -> FloatArray:
        """Return the classifier's own probabilities, of shape (n_rows, n_classes)."""
        values = np.zeros((len(rows), self.n_classes))
        values[:, self.codes] = self.estimator.predict_proba(self._as_fitted(rows))
        return values

    def _decision_values(self, rows: Any) -> FloatArray | None:
        """Return the decision values with a column per known class, or None where the classifier has none."""
        if not hasattr(self.estimator, "decision_function"):
            return None
        values = np.asarray(self.estimator.decision_function(rows), dtype=np.float64)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        return np.column_stack([-values, values]) if values.ndim == 1 else values

    def _check_shape(self, values: FloatArray, n_rows: int) -> None:
        """Check that there is a value for each row and known class."""
        expected = (n_rows, len(self.codes))
        if values.shape != expected:
            raise ValueError(
                f"{type(self.estimator).__name__} must give a decision value per class, of shape {expected}, for "
                f"{self.name}; got shape {values.shape}."
            )

    def _as_fitted(self, rows: FloatArray) -> Any:
        """Return rows in a data frame for a frozen classifier that knows its columns by name, else unchanged."""
        names = getattr(self.estimator, "feature_names_in_", None) if is_frozen(self.estimator) else None
        if names is None:
            return rows
        library: Any = next(library for library in ("pandas", "polars", "pyarrow") if find_spec(library))
        return nw.from_numpy(np.ascontiguousarray(rows), schema=list(names), backend=library).to_native()


def fit_view_model(
    name: str,
    estimator: Any,
    rows: FloatArray,
    codes: IntArray,
    classes: AnyArray,
    weights: FloatArray | None,
    *,
    encoded: bool = False,
) -> ViewModel:
    """Fit a classifier, which is changed, on the rows of a view.

    Parameters
    ----------
    name : str
        How messages call the model.
    estimator : unfitted clone, or frozen classifier
        The classifier; a frozen one is not fitted.
    rows : ndarray of shape (n_rows, n_columns)
        Rows that have the view.
    codes : int ndarray of shape (n_rows,)
        Their class codes.
    classes : ndarray of shape (n_classes,)
        Labels of all classes.
    weights : ndarray of shape (n_rows,) or None
        Weights of the rows.
    encoded : bool, default=False
        Whether the classifier is given the classes as 0, 1, … without gaps, which some classifiers insist on, instead
        of their labels, with which class weights by name hold.

    Returns
    -------
    ViewModel
        The fitted classifier. Where the rows are of one class, it abstains.
    """
    if is_frozen(estimator):
        return known_model(name, estimator, classes)
    seen, local_codes = np.unique(codes, return_inverse=True)
    if len(seen) == 1:  # most classifiers refuse to learn one class
        label = local_codes[:1] if encoded else classes[seen]
        return ViewModel(name, ConstantClassifier(label.copy()), seen, len(classes))
    options = {} if weights is None else {str(weight_parameter(estimator)): weights}
    estimator.fit(rows, local_codes if encoded else classes[codes], **options)
    if not hasattr(estimator, "classes_"):
        raise TypeError(f"{estimator!r} for {name} has no classes_ after fit; scikit-learn's classifiers have.")
    return ViewModel(name, estimator, seen, len(classes)) if encoded else known_model(name, estimator, classes)


def known_model(name: str, estimator: Any, classes: AnyArray) -> ViewModel:
    """Return a fitted classifier as a model, with its classes looked up among all classes."""
    codes = encode_known(np.asarray(estimator.classes_), classes, f"classes_ of the classifier for {name}")
    return ViewModel(name, estimator, codes, len(classes))


def view_outputs(
    models: Sequence[ViewModel], blocks: ViewBlocks, output: Output, width: int, n_jobs: int | None
) -> list[FloatArray]:
    """Return the output of each view's model for all rows; NaN where the view is absent or its model abstains.

    Parameters
    ----------
    models : list of ViewModel
        The model of each view.
    blocks : ViewBlocks
        The rows.
    output : callable
        Takes a model and rows, and returns an array of shape (n_rows, width).
    width : int
        Number of columns of an output.
    n_jobs : int or None
        Number of threads, over the views.

    Returns
    -------
    list of ndarray of shape (n_rows, width)
        The outputs of each view.
    """
    tables = [array_for(view, model.estimator) for view, model in zip(blocks, models)]
    results = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(model_output)(model, table, output) for model, table in zip(models, tables)
    )
    outputs = []
    for view, values in zip(blocks, results):
        outputs.append(np.full((len(blocks), width), np.nan))
        outputs[-1][slice(None) if view.rows is None else view.rows] = values
    return outputs


def model_output(model: ViewModel, rows: FloatArray, output: Output) -> FloatArray | float:
    """Return the output of a model for rows, or NaN where it abstains or there are none."""
    return np.nan if model.abstains or len(rows) == 0 else output(model, rows)
