"""Are the rows of a report those that the model was trained on? A model keeps no data, but it leaves traces."""

import numpy as np

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
