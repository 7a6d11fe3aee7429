"""The model and the rows that a report is about, checked before anything is computed."""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils.validation import check_is_fitted

MOST_ROWS = 5_000
"""Rows that charts and figures which need many predictions are drawn from."""


@dataclass(frozen=True)
class ReportRows:
    """A classifier with views, and the rows it is shown on.

    Attributes
    ----------
    model : estimator
        The classifier that knows the views.
    wrapped_in : list of str
        Class names of what stood around it, from the outside.
    X : array or data frame
        As the classifier takes it.
    y : ndarray or None
        Classes, or for many labels the indicator matrix.
    ids : list of str or None
    n_rows : int
    places : intp ndarray or None
        Row numbers in what the user gave; None where these are all its rows.
    """

    model: object
    wrapped_in: list
    X: object
    y: np.ndarray | None
    ids: list | None
    n_rows: int
    places: np.ndarray | None = None

    @property
    def labelled(self):
        return self.y is not None

    @property
    def many_labels(self):
        """Whether a row has several labels, each there or not, instead of one class."""
        return gives_many_labels(self.model)

    def take(self, rows):
        """These rows only."""
        return replace(
            self,
            X=rows_of(self.X, rows),
            y=None if self.y is None else self.y[rows],
            ids=None if self.ids is None else [self.ids[row] for row in rows],
            n_rows=len(rows),
            places=rows if self.places is None else self.places[rows],
        )

    def sample(self, n_rows, seed):
        """At most so many rows, drawn without repeats and in their order."""
        if self.n_rows <= n_rows:
            return self
        drawn = np.random.default_rng(seed).choice(self.n_rows, n_rows, replace=False)
        return self.take(np.sort(drawn))

    def with_known_classes(self):
        """The rows whose class the model has seen."""
        if self.y is None or self.many_labels:
            return self
        known = np.isin(self.y, self.model.classes_)
        return self if known.all() else self.take(np.flatnonzero(known))


def read_rows(model, X, y=None, ids=None):
    """Find the classifier with views, and check that the rows are what it takes.

    Parameters
    ----------
    model : fitted classifier with views, or a pipeline or search around one
    X : array or data frame of shape (n_samples, n_features)
    y : array of shape (n_samples,) or (n_samples, n_labels), default=None
    ids : sequence of length n_samples, default=None

    Returns
    -------
    ReportRows
    """
    check_is_fitted(model)
    core, X, wrapped_in = _unwrapped(model, X)
    if not (hasattr(core, "view_names_") and hasattr(core, "view_columns_") and hasattr(core, "predict")):
        raise TypeError(
            "model must be a fitted classifier with views, such as ShareBoostClassifier, or a pipeline or search "
            f"around one; got {type(core).__name__}."
        )
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if n_rows == 0:
        raise ValueError("X has no rows; a report needs some to show the model on.")
    return ReportRows(core, wrapped_in, X, _checked_y(y, n_rows, core), _checked_ids(ids, n_rows), n_rows)


def gives_many_labels(model):
    """Whether a model gives a row any of several labels, also where it knows one label only."""
    names = getattr(model, "label_names_", None)
    return names is not None and not (len(names) == 1 and isinstance(model.classes_, np.ndarray))


def rows_of(X, rows):
    """Rows of an array, a sparse matrix or a data frame, by their numbers."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else np.asarray(X)[rows]


def _unwrapped(model, X):
    """The classifier inside pipelines, searches and models of whole tables, and `X` as it reaches it."""
    wrapped_in = []
    while True:
        if hasattr(model, "best_estimator_"):
            inner = model.best_estimator_
        elif hasattr(model, "steps"):
            X = model[:-1].transform(X) if len(model.steps) > 1 else X
            inner = model.steps[-1][1]
        elif hasattr(model, "matrix") and hasattr(model, "model_"):  # what ``fuselearn fit`` saves
            X, inner = model.matrix(X), model.model_
        else:
            return model, X, wrapped_in
        wrapped_in.append(type(model).__name__)
        model = inner


def _checked_y(y, n_rows, model):
    if y is None:
        return None
    y = np.asarray(y)
    if gives_many_labels(model):
        expected = (n_rows, len(model.label_names_))
        if y.shape != expected:
            raise ValueError(f"y must hold 0 or 1 for each row and label, of shape {expected}; got shape {y.shape}.")
        return (y != 0).astype(np.intp)
    if y.shape != (n_rows,):
        raise ValueError(f"y must hold a label for each of the {n_rows} rows of X; got shape {y.shape}.")
    missing = np.array([value is None or value != value for value in y.tolist()])
    if missing.any():
        raise ValueError(
            f"y has no label in {int(missing.sum())} rows, the first being row {int(missing.argmax())}; leave these "
            "rows out, or give y=None for a report without labels."
        )
    return y


def _checked_ids(ids, n_rows):
    if ids is None:
        return None
    ids = ids.tolist() if hasattr(ids, "tolist") else list(ids)
    if len(ids) != n_rows:
        raise ValueError(f"ids must name each of the {n_rows} rows of X; got {len(ids)}.")
    return [str(one) for one in ids]
