"""Weights of rows."""

import numpy as np
from sklearn.utils.validation import check_consistent_length


def check_sample_weight(sample_weight, X):
    """Weights as an array of floats, or None where none are given."""
    if sample_weight is None:
        return None
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
    return weights
