"""The model and the rows that a report is about, checked before anything is computed.

Are the rows of a report those that the model was trained on? A model keeps no data, but it leaves traces.
"""

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


SAME = 1e-9
FEWEST_ROWS = 20
TOGETHER = 0.5
"""Correlation of decision values from which on rows are the same. It is about 0.95 for the same rows and within 0.15 of
0 for others; classes of a handful of rows can bring the same rows below, which are then only alike."""


def likeness_to_training(rows):
    """What the rows have in common with the training rows.

    Parameters
    ----------
    rows : ReportRows
        With labels.

    Returns
    -------
    {"same", "alike", None}
        "same": training rows beyond reasonable doubt, since support vectors are found at their places, or number of
        rows, classes and the error of the first round all agree, or so do labels and what was said of each row when
        it was held out. "alike": only number and, as far as is known, classes agree, which two halves of a stratified
        split do too. None: they differ, or the model does not tell.
    """
    model = rows.model
    if rows.many_labels:
        return None
    if hasattr(model, "support_rows_") and hasattr(model, "support_"):
        return "same" if _has_support_vectors(model, rows) else None
    if rows.n_rows != n_training_rows(model):
        return None
    if hasattr(model, "posterior_"):
        return _likeness_to_held_out(model, rows)
    trace = getattr(model, "trace_", None)
    if trace is not None and not trace.equal_weights:
        return "alike"  # weights change both the class shares and the error that the model has kept
    if hasattr(model, "class_prior_") and not _same_classes(model, rows.y):
        return None
    return "same" if trace is not None and len(trace) and _first_error_agrees(model, rows) else "alike"


def n_training_rows(model):
    """Number of rows that a model was trained on, where it knows; None where not."""
    if hasattr(model, "n_samples_fit_"):
        return int(model.n_samples_fit_)
    return len(model.posterior_) if hasattr(model, "posterior_") else None


def _has_support_vectors(model, rows):
    """Kernel machines keep support vectors, and the numbers of the rows these were."""
    for places, vectors, columns in zip(model.support_, model.support_rows_, model.view_columns_):
        if len(places) == 0 or vectors.ndim != 2 or vectors.shape[1] != len(columns):
            continue
        if places.max() >= rows.n_rows:
            return False
        values = np.asarray(rows.take(places).X)[:, columns]
        return bool(np.array_equal(values.astype(vectors.dtype), vectors))
    return False


def _likeness_to_held_out(model, rows):
    """For models that keep the labels they were given, and what they said of each training row when it was held out.

    Their prior is an estimate of the true classes, which need not be the shares of the given labels.
    """
    columns, codes = list(getattr(model, "label_columns_", ())), getattr(model, "_given_codes", None)
    if codes is None or "y" not in columns:
        return "alike"
    given, n_classes = codes[:, columns.index("y")], len(model.classes_)
    here = np.full(rows.n_rows, n_classes)  # of a class that the model never saw
    known = np.isin(rows.y, model.classes_)
    here[known] = np.searchsorted(model.classes_, rows.y[known])
    told = given >= 0
    if told.all() and not np.array_equal(
        np.bincount(given, minlength=n_classes), np.bincount(here, minlength=n_classes)[:n_classes]
    ):
        return None
    said = getattr(model, "out_of_sample_decision_", None)
    if said is None or not np.array_equal(given[told], here[told]):
        return "alike"
    return "same" if _goes_with(said, model.decision_function(rows.X), here) else "alike"


def _goes_with(first, second, codes):
    """Whether decision values of the same number of rows rise and fall together within the classes."""
    first, second = (np.reshape(values, (len(codes), -1)) for values in (first, second))
    kept = np.isfinite(first).all(axis=1) & np.isfinite(second).all(axis=1)
    centred = []
    for values in (first[kept], second[kept]):
        values = values.copy()
        for code in np.unique(codes[kept]):
            values[codes[kept] == code] -= values[codes[kept] == code].mean(axis=0)
        centred.append(values)
    size = np.linalg.norm(centred[0]) * np.linalg.norm(centred[1])
    # Of rows that have nothing to do with each other it is within 1 / √n of 0.
    return kept.sum() >= FEWEST_ROWS and size > 0 and np.vdot(*centred) / size > TOGETHER


def _same_classes(model, y):
    shares = [float(np.mean(y == label)) for label in model.classes_]
    return np.allclose(shares, model.class_prior_, rtol=0, atol=SAME)


def _first_error_agrees(model, rows):
    if model.error == "out_of_bag":
        return False  # judged on rows that were drawn
    # One round predicts its hypothesis; with a negative vote it would be turned round.
    first = next(iter(model.staged_predict(rows.X)))
    error = float(np.mean(first != rows.y))
    return abs(error - model.estimator_errors_[0]) < SAME
