"""The user's table as an array of numbers, and what scikit-learn notes about its columns."""

from copy import copy

import numpy as np
from sklearn.utils.validation import validate_data

from fuselearn.views.device import check_on_host

FEATURE_ATTRIBUTES = ("n_features_in_", "feature_names_in_")


def read_table(model, X, y, *, reset, **checks):
    """Check `X` and `y` for a model without changing it, so that a fit that fails leaves it as it was.

    Parameters
    ----------
    model : estimator
    X, y
        As the user gave them.
    reset : bool
        Whether the columns of `X` may differ from those that the model was fitted on.
    **checks
        For :func:`sklearn.utils.validation.validate_data`, beside numbers that may be NaN.

    Returns
    -------
    table : float array of shape (n_samples, n_features)
    y : ndarray
    features : dict
        ``n_features_in_`` and, for a data frame, ``feature_names_in_``; see :func:`note_features`.
    """
    for name, values in (("X", X), ("y", y)):
        check_on_host(values, name, type(model).__name__)
    # scikit-learn notes the columns on whom it checks for: a stand-in.
    bearer = copy(model)
    checks = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan", **checks}
    table, y = validate_data(bearer, X, y, reset=reset, **checks)
    return table, y, {name: getattr(bearer, name) for name in FEATURE_ATTRIBUTES if hasattr(bearer, name)}


def note_features(model, features):
    """Set the attributes of the columns on a fitted model, and drop those of an earlier fit."""
    for name in FEATURE_ATTRIBUTES:
        if name in features:
            setattr(model, name, features[name])
        elif hasattr(model, name):
            delattr(model, name)
