"""Decision values to probabilities, by Platt's sigmoid."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit


def fit_sigmoid(values, positive, weights=None):
    """Fit P(positive) = 1 / (1 + exp(-(slope · value + offset))) by maximum likelihood.

    The targets are Platt's, (n₊ + 1) / (n₊ + 2) and 1 / (n₋ + 2) in place of 1 and 0: the slope stays finite where the
    values separate the classes.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
    positive : bool ndarray of shape (n_rows,)
    weights : ndarray of shape (n_rows,), default=None

    Returns
    -------
    slope, offset : float

    Examples
    --------
    >>> slope, offset = fit_sigmoid(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([False, False, True, True]))
    >>> round(slope, 1), bool(abs(offset) < 1e-6)
    (0.7, True)
    """
    weights = np.ones(len(values)) if weights is None else weights
    positives, negatives = weights[positive].sum(), weights[~positive].sum()
    targets = np.where(positive, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    shares = weights / weights.sum()
    scale = np.abs(values).max() or 1.0
    scaled = values / scale

    def loss(parameters):
        slope, offset = parameters
        odds = slope * scaled + offset
        rests = shares * (expit(odds) - targets)
        return shares @ (np.logaddexp(0.0, odds) - targets * odds), np.array([rests @ scaled, rests.sum()])

    start = np.array([0.0, np.log((positives + 1) / (negatives + 1))])
    slope, offset = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-9}).x
    return float(slope / scale), float(offset)
