"""A fitted classifier of one view, whose classes may be fewer than those of the whole."""

from dataclasses import dataclass
from importlib.util import find_spec

import narwhals as nw
import numpy as np
from sklearn.dummy import DummyClassifier

from fuselearn.classifiers.checks import (
    check_one_column_per_class,
    check_weights_taken,
    estimators_of_views,
    gives_values,
    is_frozen,
    weight_parameter,
)
from fuselearn.data import encode_known
from fuselearn.learners.sklearn_learner import takes_nan


@dataclass(frozen=True)
class ViewModel:
    """A fitted classifier, in the class codes of the fusion.

    Attributes
    ----------
    name : str
        What to call it in a message, such as ``the view 'rna'``.
    estimator : fitted classifier
    codes : int ndarray
        Class codes of the classes that it knows, in its own order.
    n_classes : int
        Number of classes of the fusion.
    """

    name: str
    estimator: object
    codes: np.ndarray
    n_classes: int

    @property
    def abstains(self):
        """Whether it knows one class only, and so has nothing to tell classes apart by."""
        return len(self.codes) == 1

    def predicted(self, rows):
        """Class code of each row; of shape (n_rows,)."""
        own = np.asarray(self.estimator.classes_)
        labels = np.asarray(self.estimator.predict(self._as_fitted(rows)))
        return self.codes[encode_known(labels, own, f"What {type(self.estimator).__name__} predicts of {self.name}")]

    def values(self, rows, *, unknown="neutral"):
        """How much speaks for each class; of shape (n_rows, n_classes).

        These are the decision values, or 2p - 1 of a classifier that has probabilities only: both are about 1 where a
        row is clearly of the class and about -1 where it clearly is not.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_columns)
        unknown : {"neutral", "least"}
            What a class gets that the classifier does not know: the mean of the others, which speaks neither for nor
            against it, or less than any other.
        """
        rows = self._as_fitted(rows)
        if hasattr(self.estimator, "decision_function"):
            known = np.asarray(self.estimator.decision_function(rows), dtype=np.float64)
            if known.ndim == 2 and known.shape[1] == 1:
                known = known[:, 0]
            if known.ndim == 1:
                known = np.column_stack([-known, known])
        else:
            known = 2 * np.asarray(self.estimator.predict_proba(rows), dtype=np.float64) - 1
        if known.shape != (len(rows), len(self.codes)):
            raise ValueError(
                f"{type(self.estimator).__name__} must give a decision value per class, of shape "
                f"{(len(rows), len(self.codes))}, for {self.name}; got shape {known.shape}."
            )
        otherwise = known.mean(axis=1) if unknown == "neutral" else known.min(axis=1, initial=np.inf) - 1
        values = np.repeat(otherwise[:, None], self.n_classes, axis=1)
        values[:, self.codes] = known
        return values

    def probabilities(self, rows):
        """The classifier's own probabilities; of shape (n_rows, n_classes)."""
        values = np.zeros((len(rows), self.n_classes))
        values[:, self.codes] = self.estimator.predict_proba(self._as_fitted(rows))
        return values

    @property
    def gives_values(self):
        return gives_values(self.estimator)

    def _as_fitted(self, rows):
        """Rows in a data frame for a frozen classifier that knows its columns by name."""
        names = getattr(self.estimator, "feature_names_in_", None) if is_frozen(self.estimator) else None
        if names is None:
            return rows
        library = next(library for library in ("pandas", "polars", "pyarrow") if find_spec(library))
        return nw.from_numpy(np.ascontiguousarray(rows), schema=list(names), backend=library).to_native()


def fit_view_model(name, estimator, rows, codes, classes, weights):
    """Fit a classifier, which is changed, on the rows of a view.

    Parameters
    ----------
    name : str
    estimator : unfitted clone, or frozen classifier
    rows : ndarray of shape (n_rows, n_columns)
    codes : int ndarray of shape (n_rows,)
    classes : ndarray of shape (n_classes,)
        The classifier is given these, not their codes: what it says of classes by name, such as class weights, holds.
    weights : ndarray of shape (n_rows,) or None
    """
    if is_frozen(estimator):
        return known_model(name, estimator, classes)
    if (codes == codes[0]).all():
        estimator = DummyClassifier()  # most classifiers refuse to learn one class
    labels = classes[codes]
    options = {} if weights is None else {weight_parameter(estimator): weights}
    estimator.fit(rows, labels, **options)
    if not hasattr(estimator, "classes_"):
        raise TypeError(f"{estimator!r} for {name} has no classes_ after fit; scikit-learn's classifiers have.")
    return known_model(name, estimator, classes)


def known_model(name, estimator, classes):
    """A fitted classifier, with its classes looked up among those of the fusion."""
    codes = encode_known(np.asarray(estimator.classes_), classes, f"classes_ of the classifier for {name}")
    return ViewModel(name, estimator, codes, len(classes))


def estimators_for(estimator, rows):
    """The classifier of each view of the training rows, refused where it cannot learn or read them.

    Parameters
    ----------
    estimator : classifier, list or dict
        As the user gave it.
    rows : TrainingRows
    """
    chosen = estimators_of_views(estimator, rows.names)
    for view, one in zip(rows.blocks, chosen):
        what = f"estimator for the view {view.name!r}"
        check_one_column_per_class(one, what, len(rows.classes))
        if rows.weights is not None:
            check_weights_taken(one, what)
        if is_frozen(one):
            _check_frozen(one, view, rows.classes, rows.features.get("feature_names_in_"))
    return chosen


def _check_frozen(estimator, view, classes, feature_names):
    """Refuse a frozen classifier of other columns or classes than those of its view."""
    what = f"The frozen estimator for the view {view.name!r}"
    if not hasattr(estimator, "classes_"):
        raise TypeError(f"{what}, {estimator!r}, has no classes_; scikit-learn's classifiers have.")
    width = getattr(estimator, "n_features_in_", view.n_columns)
    if width != view.n_columns:
        raise ValueError(f"{what} was fitted on {width} columns, but the view has {view.n_columns}.")
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and feature_names is not None:
        given = feature_names[view.columns]
        if list(names) != list(given):
            raise ValueError(
                f"{what} was fitted on the columns {list(names)[:5]}, but the view has {list(given)[:5]}; the names "
                "must be the same, in the same order."
            )
    known_model(f"the view {view.name!r}", estimator, classes)


def rows_of(view, estimator):
    """The present rows of a view, refused where they have gaps that the classifier does not take.

    Parameters
    ----------
    view : View
    estimator : classifier
    """
    values = view.array()
    if not takes_nan(estimator):
        broken = np.isnan(values).any(axis=1)
        if broken.any():
            row = np.flatnonzero(broken)[0]
            row = row if view.rows is None else view.rows[row]
            raise ValueError(
                f"The view {view.name!r} has NaN among its columns in row {row} of X, which "
                f"{type(estimator).__name__} does not take. Impute it, e.g. with make_pipeline(SimpleImputer(), …), or "
                "set all columns of the view to NaN where it is absent."
            )
    return values
