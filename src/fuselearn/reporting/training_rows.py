"""Are the rows of a report those that the model was trained on? A model keeps no data, but it leaves traces."""

import numpy as np

SAME = 1e-9


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
        rows, classes and the error of the first round all agree. "alike": only number and, as far as is known, classes
        agree, which two halves of a stratified split do too. None: they differ, or the model does not tell.
    """
    model = rows.model
    if rows.many_labels:
        return None
    if hasattr(model, "support_rows_") and hasattr(model, "support_"):
        return "same" if _has_support_vectors(model, rows) else None
    if rows.n_rows != n_training_rows(model):
        return None
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
