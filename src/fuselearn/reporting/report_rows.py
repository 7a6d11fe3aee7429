"""The model and the rows of a report, checked before anything is computed, and compared with the training rows.

A model keeps no training data, but it keeps traces of it: the number of rows, the shares of the classes, support
vectors, out-of-fold values. A report of training rows must not present their scores as those of new rows.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from sklearn.base import is_regressor
from sklearn.metrics import log_loss
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted

from fuselearn.inspection.fitted_model import FittedModel, is_multilabel, read_views
from fuselearn.tables import ViewColumns
from fuselearn.typing import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray, TableLike

Record: TypeAlias = dict[str, Any]
"""Plain numbers, strings, lists and further records, by name: the parts of a summary."""

MAX_ROWS = 5_000
"""Rows that are used by charts and figures which need many predictions."""
SAME = 1e-9
"""Difference up to which shares and errors are the same."""
SAME_LOSS = 1e-6
"""Difference up to which losses are the same: those that a model records are sums of rounded numbers."""
HELD_OUT_ROUNDING = 0.05
"""Part of the difference between the losses of held-out and other rows that depends on how many were held out."""
MIN_ROWS = 20
SAME_ROWS_CORRELATION = 0.5
"""Correlation of decision values above which rows are the same. It is about 0.95 for the same rows and within 0.15 of
0 for others; classes of a handful of rows can bring the same rows below it, which then count as alike only."""


@dataclass(frozen=True)
class ReportRows:
    """A classifier with views, and the rows that it is evaluated on.

    Attributes
    ----------
    model : estimator
        The classifier that knows the views.
    wrapped_in : list of str
        Class names of the estimators around it, the outermost first.
    X : array or data frame
        The rows in the form that the classifier takes.
    y : ndarray or None
        Classes, or for a multi-label model the indicator matrix.
    ids : list of str or None
        Names of the rows.
    n_rows : int
        Number of rows.
    places : intp ndarray or None
        Row numbers in the user's `X`; None if these are all its rows.
    table : ViewColumns or None
        The columns of the user's table that `X` was made of; None if `X` is the user's.
    """

    model: FittedModel
    wrapped_in: list[str]
    X: TableLike
    y: AnyArray | None
    ids: list[str] | None
    n_rows: int
    places: IntArray | None = None
    table: ViewColumns | None = None

    @property
    def labelled(self) -> bool:
        """Return True if the rows have labels."""
        return self.y is not None

    @property
    def labels(self) -> AnyArray:
        """Return the labels of labelled rows."""
        assert self.y is not None
        return self.y

    @property
    def many_labels(self) -> bool:
        """Return True if a row has any number of labels instead of one class."""
        return is_multilabel(self.model)

    def take(self, rows: IntArray) -> Self:
        """Return these rows only."""
        return replace(
            self,
            X=take_rows(self.X, rows),
            y=None if self.y is None else self.y[rows],
            ids=None if self.ids is None else [self.ids[row] for row in rows],
            n_rows=len(rows),
            places=rows if self.places is None else self.places[rows],
        )

    def sample(self, n_rows: int, seed: int) -> Self:
        """Return at most so many rows, drawn without replacement, in their order."""
        if self.n_rows <= n_rows:
            return self
        drawn = np.random.default_rng(seed).choice(self.n_rows, n_rows, replace=False)
        return self.take(np.sort(drawn))

    def with_known_classes(self) -> Self:
        """Return the rows whose class the model knows."""
        if self.y is None or self.many_labels:
            return self
        known = np.isin(self.y, self.model.classes_)
        return self if known.all() else self.take(np.flatnonzero(known))


def read_report_rows(
    model: FittedModel, X: TableLike, y: ArrayLike | None = None, ids: Iterable[object] | None = None
) -> ReportRows:
    """Return the classifier with views inside `model`, and the rows in the form that it takes."""
    check_is_fitted(model)
    classifier, X, wrapped_in, table = unwrapped(model, X)
    if not all(hasattr(classifier, attribute) for attribute in ("view_names_", "view_columns_", "predict")):
        raise TypeError(
            "model must be a fitted classifier with views, such as ShareBoostClassifier, or a pipeline or search "
            f"around one; got {type(classifier).__name__}."
        )
    if is_regressor(classifier):
        raise TypeError(
            f"model must be a classifier: a report is about classes, and {type(classifier).__name__} predicts numbers; "
            "use fuselearn.reporting.RegressionReport(model, X, y)."
        )
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if n_rows == 0:
        raise ValueError("X has no rows; a report needs rows to evaluate the model on.")
    return ReportRows(
        classifier,
        wrapped_in,
        X,
        _checked_labels(y, n_rows, classifier),
        _checked_ids(ids, n_rows),
        n_rows,
        table=table,
    )


def take_rows(X: TableLike, rows: IntArray) -> TableLike:
    """Return rows of an array, a sparse matrix or a data frame, by their numbers."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else np.asarray(X)[rows]


def unwrapped(model: FittedModel, X: TableLike) -> tuple[FittedModel, TableLike, list[str], ViewColumns | None]:
    """Return the model inside pipelines, searches and models of tables, and `X` as it reaches it.

    Also the names of the classes around it, and the columns of the table that `X` was made of, if it was.
    """
    wrapped_in: list[str] = []
    table: ViewColumns | None = None
    while True:
        if hasattr(model, "best_estimator_"):
            inner = model.best_estimator_
        elif hasattr(model, "steps"):
            if len(model.steps) > 1:
                X, table = model[:-1].transform(X), None
            inner = model.steps[-1][1]
        elif (columns := columns_of(model)) is not None:
            X, inner, table = model.matrix(X), model.model_, columns
        else:
            return model, X, wrapped_in, table
        wrapped_in.append(type(model).__name__)
        model = inner


def columns_of(model: FittedModel) -> ViewColumns | None:
    """Return the columns of a fitted model of tables, such as ``fuselearn fit`` saves; None for any other model."""
    return model.columns_ if hasattr(model, "matrix") and hasattr(model, "model_") else None


def has_views_of(model: FittedModel, table: ViewColumns) -> bool:
    """Return True if a model has the views of the columns of a table, and not others that it was given."""
    return list(model.view_names_) == list(table.views_) and all(
        np.array_equal(first, second) for first, second in zip(model.view_columns_, table.views_.values())
    )


def _checked_labels(y: ArrayLike | None, n_rows: int, model: FittedModel) -> AnyArray | None:
    """Return the labels as an array of the right shape, without missing ones."""
    if y is None:
        return None
    y = np.asarray(y)
    if is_multilabel(model):
        expected = (n_rows, len(model.label_names_))
        if y.shape != expected:
            raise ValueError(f"y must hold 0 or 1 for each row and label, of shape {expected}; got shape {y.shape}.")
        return (y != 0).astype(np.intp)
    if y.shape != (n_rows,):
        raise ValueError(f"y must hold a label for each of the {n_rows} rows of X; got shape {y.shape}.")
    missing = np.array([value is None or value != value for value in y.tolist()])
    if missing.any():
        raise ValueError(
            f"y has no label in {int(missing.sum())} of {n_rows} rows, the first of them row {int(missing.argmax())}; "
            "drop these rows, or pass y=None for a report without labels."
        )
    _check_types(y, model.classes_)
    return y


def _check_types(y: AnyArray, classes: AnyArray) -> None:
    """Refuse text as labels for a model of numbers, and numbers for one of text."""
    held, known = ({isinstance(label, str) for label in labels.tolist()} for labels in (y, classes))
    if len(held | known) == 1:
        return
    if len(held) == 2 or len(known) == 2:
        raise ValueError(
            f"y must hold text or numbers, not both; it holds {_some(y)}, the model knows {_some(classes)}."
        )
    kinds = ("text", "numbers") if held == {True} else ("numbers", "text")
    of_classes = classes.dtype.name if classes.dtype.kind in "iuf" else "str"
    cast = "" if classes.dtype.kind == "b" else f"; if only their type differs, np.asarray(y).astype({of_classes!r})"
    raise ValueError(
        f"y holds {kinds[0]} ({_some(y)}), but the classes that the model knows are {kinds[1]} ({_some(classes)}); "
        f"pass labels such as those that it was fitted on{cast}."
    )


def _some(labels: AnyArray) -> str:
    """Return some of the labels as code."""
    names = list(dict.fromkeys(map(repr, labels.tolist())))
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")


def _checked_ids(ids: Iterable[object] | None, n_rows: int) -> list[str] | None:
    """Return the ids as strings, one for each row."""
    if ids is None:
        return None
    names = ids.tolist() if hasattr(ids, "tolist") else list(ids)
    if len(names) != n_rows:
        raise ValueError(f"ids must name each of the {n_rows} rows of X; got {len(names)}.")
    return [str(name) for name in names]


def likeness_to_training(rows: ReportRows) -> Literal["same", "alike"] | None:
    """Compare labelled rows with the training rows.

    "same": training rows beyond reasonable doubt, because support vectors are found at their places, or the number of
    rows, the classes and the error of the first round all agree, or the number of rows and the loss of gradient
    boosting, or the labels and the out-of-fold values do. "alike":
    only the number and, as far as they are known, the classes agree, as in two halves of a stratified split. None:
    they differ, or the model keeps no trace. Rows without any view may have been left out of the fit, as the command
    line leaves them out.
    """
    if rows.many_labels:
        return None
    likeness = _likeness(rows)
    if likeness is None:
        has_view = read_views(rows.model, rows.X).present.any(axis=1)
        if has_view.any() and not has_view.all():
            likeness = _likeness(rows.take(np.flatnonzero(has_view)))
    return likeness


def _likeness(rows: ReportRows) -> Literal["same", "alike"] | None:
    """Compare these labelled rows with the training rows."""
    model = rows.model
    if hasattr(model, "support_rows_") and hasattr(model, "support_"):
        return "same" if _has_support_vectors(model, rows) else None
    if rows.n_rows != n_training_rows(model):
        return None
    if hasattr(model, "posterior_"):
        return _likeness_out_of_fold(model, rows)
    if hasattr(model, "train_score_"):
        return "same" if _loss_agrees(model, rows) else "alike"
    trace = getattr(model, "trace_", None)
    if trace is not None and not trace.equal_weights:
        return "alike"  # weights change both the class shares and the error that the model keeps
    if hasattr(model, "class_prior_") and not _same_class_shares(model, rows.labels):
        return None
    return "same" if trace is not None and len(trace) and _first_error_agrees(model, rows) else "alike"


def likeness_of_numbers(
    model: FittedModel, given: FloatArray, predicted: FloatArray, has_view: BoolArray
) -> Literal["same", "alike"] | None:
    """Compare rows, of which numbers are `given` and `predicted`, with the training rows of a model of numbers.

    "same": the number of rows agrees, and the error of the values that it keeps of its training rows, or the loss of
    gradient boosting, is the one that it recorded. "alike" and None are as in `likeness_to_training`. Rows without any
    view count only if the model counts them.
    """
    expected = n_training_rows(model)
    if expected == np.count_nonzero(has_view):
        given, predicted = given[has_view], predicted[has_view]
    elif expected != len(given):
        return None
    if hasattr(model, "out_of_sample_prediction_"):
        # That of rows with weights is another one, but they are not known here.
        believed = 1 - np.nan_to_num(model.outlier_probabilities_, nan=1.0)
        errors = np.abs(given - np.nan_to_num(model.out_of_sample_prediction_))
        error, recorded = believed @ errors / believed.sum(), model.out_of_sample_scores_["mean_absolute_error"]
        return "same" if np.isclose(error, recorded, rtol=SAME_LOSS, atol=0) else "alike"
    if hasattr(model, "train_score_"):
        loss = _regression_loss(model, given - predicted)
        return "same" if _is_recorded_loss(model, loss, SAME_LOSS * loss) else "alike"
    return "alike"


def n_training_rows(model: FittedModel) -> int | None:
    """Return the number of rows that a model was trained on; None if it is unknown."""
    if hasattr(model, "n_samples_fit_"):
        return int(model.n_samples_fit_)
    for of_rows in ("posterior_", "out_of_sample_prediction_"):
        if hasattr(model, of_rows):
            return len(getattr(model, of_rows))
    return None


def _has_support_vectors(model: FittedModel, rows: ReportRows) -> bool:
    """Return True if the support vectors of a kernel machine stand in the rows that it took them from."""
    for places, vectors, columns in zip(model.support_, model.support_rows_, model.view_columns_):
        if len(places) == 0 or vectors.ndim != 2 or vectors.shape[1] != len(columns):
            continue
        if places.max() >= rows.n_rows:
            return False
        values = np.asarray(rows.take(places).X)[:, columns]
        return bool(np.array_equal(values.astype(vectors.dtype), vectors))
    return False


def _likeness_out_of_fold(model: FittedModel, rows: ReportRows) -> Literal["same", "alike"] | None:
    """Compare with the given labels and the out-of-fold decision values that a model has kept.

    The prior of such a model is an estimate of the true classes, which need not be the shares of the given labels.
    """
    columns, codes = list(getattr(model, "label_columns_", ())), getattr(model, "_given_codes", None)
    if codes is None or "y" not in columns:
        return "alike"
    given, n_classes = codes[:, columns.index("y")], len(model.classes_)
    here = np.full(rows.n_rows, n_classes)  # stands for any class that the model does not know
    known = np.isin(rows.labels, model.classes_)
    here[known] = np.searchsorted(model.classes_, rows.labels[known])
    has_label = given >= 0
    if has_label.all() and not np.array_equal(
        np.bincount(given, minlength=n_classes), np.bincount(here, minlength=n_classes)[:n_classes]
    ):
        return None
    out_of_fold = getattr(model, "out_of_sample_decision_", None)
    if out_of_fold is None or not np.array_equal(given[has_label], here[has_label]):
        return "alike"
    return "same" if _correlate(out_of_fold, model.decision_function(rows.X), here) else "alike"


def _correlate(first: FloatArray, second: FloatArray, codes: IntArray) -> bool:
    """Return True if decision values of as many rows correlate within the classes."""
    first, second = (np.reshape(values, (len(codes), -1)) for values in (first, second))
    kept = np.isfinite(first).all(axis=1) & np.isfinite(second).all(axis=1)
    centred = []
    for values in (first[kept], second[kept]):
        values = values.copy()
        for code in np.unique(codes[kept]):
            values[codes[kept] == code] -= values[codes[kept] == code].mean(axis=0)
        centred.append(values)
    norm = np.linalg.norm(centred[0]) * np.linalg.norm(centred[1])
    # The correlation of unrelated rows is within 1 / √n of 0.
    return bool(kept.sum() >= MIN_ROWS and norm > 0 and np.vdot(*centred) / norm > SAME_ROWS_CORRELATION)


def _same_class_shares(model: FittedModel, y: AnyArray) -> bool:
    """Return True if the classes have the shares of the training rows."""
    shares = [float(np.mean(y == label)) for label in model.classes_]
    return np.allclose(shares, model.class_prior_, rtol=0, atol=SAME)


def _loss_agrees(model: FittedModel, rows: ReportRows) -> bool:
    """Return True if gradient boosting has the loss on the rows that it recorded on its training rows.

    Weights of rows are not known here, and give another loss.
    """
    if not np.isin(rows.labels, model.classes_).all():
        return False
    weights = compute_sample_weight(model.class_weight, rows.labels)
    loss = log_loss(rows.labels, model.predict_proba(rows.X), sample_weight=weights, labels=model.classes_)
    return _is_recorded_loss(model, loss, SAME_LOSS)


def _regression_loss(model: FittedModel, residuals: FloatArray) -> float:
    """Return the mean loss of gradient boosting for numbers."""
    if model.loss == "quantile":
        return float(np.maximum(model.quantile * residuals, (model.quantile - 1) * residuals).mean())
    return float(np.mean(residuals**2 if model.loss == "squared_error" else np.abs(residuals)))


def _is_recorded_loss(model: FittedModel, loss: float, tolerance: float) -> bool:
    """Return True if gradient boosting recorded a loss after its last round, up to a tolerance and what it held out."""
    expected = -model.train_score_[-1]
    if len(model.validation_score_):
        held_out = -model.validation_score_[-1]
        tolerance += HELD_OUT_ROUNDING * abs(held_out - expected)
        expected += model.validation_fraction * (held_out - expected)
    return bool(abs(loss - expected) <= tolerance)


def _first_error_agrees(model: FittedModel, rows: ReportRows) -> bool:
    """Return True if the first hypothesis has the error that the model recorded in its first round."""
    if model.error == "out_of_bag":
        return False  # recorded on rows that were not drawn
    # After one round the ensemble predicts as its hypothesis does; with a negative vote it would predict the opposite.
    first = next(iter(model.staged_predict(rows.X)))
    error = float(np.mean(first != rows.labels))
    return abs(error - model.estimator_errors_[0]) < SAME
