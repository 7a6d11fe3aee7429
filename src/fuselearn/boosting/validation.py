"""Check what the user gave, before any work is done. Errors name the argument and what would be right."""

import numpy as np
from sklearn.utils.validation import check_consistent_length

from fuselearn.settings import check_choice, check_count, check_flag, check_jobs, check_positive
from fuselearn.views import encode_known

ERRORS = ("training", "out_of_bag")


def check_settings(model):
    """Refuse settings of a boosting classifier that mean nothing."""
    check_count("n_estimators", model.n_estimators)
    check_positive("learning_rate", model.learning_rate)
    check_flag("resample", model.resample)
    check_flag("warm_start", model.warm_start)
    check_jobs(model.n_jobs)
    check_count("verbose", model.verbose, least=0)
    check_choice("error", model.error, ERRORS)
    if model.error == "out_of_bag" and not model.resample:
        raise ValueError("error='out_of_bag' needs resample=True: without it no row is left out of a fit.")


def check_view_labels(view_labels, n_rows, view_names):
    """`view_labels` as an array with a column per view."""
    names = [str(name) for name in getattr(view_labels, "columns", [])]
    labels = np.asarray(view_labels)
    expected = (n_rows, len(view_names))
    if labels.shape != expected:
        raise ValueError(
            f"view_labels must have shape (n_samples, n_views) = {expected}, one column for each of the views "
            f"{view_names}; got shape {labels.shape}."
        )
    if sorted(names) == sorted(view_names):
        # The columns of a data frame that are named as the views belong to them, in whatever order they stand.
        labels = labels[:, [names.index(name) for name in view_names]]
    return labels


def encode_view_labels(labels, classes, view_names, present):
    """Class codes of each view's own labels. A label is not looked at where its view is absent."""
    codes = []
    for name, column, here in zip(view_names, labels.T, present.T):
        view_codes = np.zeros(len(column), dtype=np.int32)
        view_codes[here] = encode_known(column[here], classes, f"view_labels of the view {name!r}")
        codes.append(view_codes)
    return codes


def check_sample_weight(sample_weight, X):
    """Weights as an array of floats; 1 for each row where none are given."""
    if sample_weight is None:
        return np.ones(len(X))
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"sample_weight must hold numbers; got {sample_weight!r:.60}.") from None
    if weights.ndim == 0:
        weights = np.full(len(X), float(weights))
    if weights.ndim != 1:
        raise ValueError(f"sample_weight must be 1-D, a weight per row; got shape {weights.shape}.")
    check_consistent_length(X, weights)
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight holds NaN or infinity; weights are finite numbers.")
    if (weights < 0).any():
        raise ValueError(f"sample_weight holds negative weights, the least {weights.min()}; none may be.")
    if not (weights > 0).any():
        raise ValueError("sample_weight is zero for every row; at least one row must count.")
    return weights / weights.max()  # sums of very large weights overflow, and those of very small ones vanish
