"""Check what the user gave, before any work is done. Errors name the argument and what would be right."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

ERRORS = ("training", "out_of_bag")


def check_settings(model):
    """Refuse settings of a boosting classifier that mean nothing."""
    count = model.n_estimators
    if isinstance(count, bool) or not isinstance(count, Integral) or count < 1:
        raise ValueError(f"n_estimators must be an integer of at least 1; got {count!r}.")
    if not (isinstance(model.learning_rate, Real) and 0 < model.learning_rate < np.inf):
        raise ValueError(f"learning_rate must be a number above 0; got {model.learning_rate!r}.")
    for name in ("resample", "warm_start"):
        value = getattr(model, name)
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name} must be True or False; got {value!r}.")
    if model.n_jobs is not None and (not isinstance(model.n_jobs, Integral) or model.n_jobs == 0):
        raise ValueError(f"n_jobs must be None, a number of threads, or -1 for all cores; got {model.n_jobs!r}.")
    if not isinstance(model.verbose, Integral) or model.verbose < 0:
        raise ValueError(f"verbose must be an integer of at least 0; got {model.verbose!r}.")
    if model.error not in ERRORS:
        raise ValueError(f"error must be one of {list(ERRORS)}; got {model.error!r}.")
    if model.error == "out_of_bag" and not model.resample:
        raise ValueError("error='out_of_bag' needs resample=True: without it no row is left out of a fit.")


def encode_labels(y):
    """Classes in sorted order, and the class code of each row."""
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must hold at least two classes; it has one class only, {classes.tolist()}.")
    return classes, codes.astype(np.int32)


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


def encode_known(labels, classes, what):
    """Class codes of labels that must be among the classes."""
    code_of = {label: code for code, label in enumerate(classes.tolist())}
    distinct, where = np.unique(labels, return_inverse=True) if labels.dtype.kind != "O" else (labels, None)
    codes = [code_of.get(label, -1) for label in distinct.tolist()]
    unknown = [label for label, code in zip(distinct.tolist(), codes) if code < 0]
    if unknown:
        shown = list(dict.fromkeys(map(repr, unknown)))[:5]
        raise ValueError(
            f"{what} holds labels that are not among the classes: {', '.join(shown)}; the classes are "
            f"{classes.tolist()[:20]}."
        )
    codes = np.array(codes, dtype=np.int32)
    return codes if where is None else codes[where]


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


def check_presence(present, view_names, counted):
    """Refuse rows that count but that no view describes, and views that no such row has."""
    nowhere = np.flatnonzero(counted & ~present.any(axis=1))
    if len(nowhere):
        raise ValueError(
            f"Every view is absent (all NaN) in {len(nowhere)} of the rows of X, the first being row {nowhere[0]}; "
            "leave such rows out of fit."
        )
    unseen = np.flatnonzero(~present.any(axis=0))
    if len(unseen):
        raise ValueError(
            f"The view {view_names[unseen[0]]!r} is absent (all NaN) in every row of X; leave it out of views."
        )
