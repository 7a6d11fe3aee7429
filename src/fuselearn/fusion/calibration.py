"""From combined values to probabilities.

Arms learn with classes of equal weight, so their values say how a row differs from the mean of all classes, however
large these are. The sizes come in as a prior, and one slope says how much a value is worth:

    p(class k | values) ∝ share_k · exp(slope · value_k)

The slope is fitted on out-of-sample values. Where classes are of one size, the most probable class is the one with the
largest value.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax
from scipy.stats import chisquare

PENALTY = 1.0
"""Ridge on the slope of values of mean square 1: a Gaussian prior of variance 1. Without it, values that separate the
classes would be believed without limit."""
MOST_STEPS = 100
LEVEL = 0.05


@dataclass(frozen=True)
class Link:
    """p(class k | values) = softmax_k(slope · value_k + ln share_k).

    Attributes
    ----------
    slope : float
    log_shares : ndarray of shape (n_classes,)
    """

    slope: float
    log_shares: np.ndarray

    def log_probabilities(self, values):
        """ln p of each class, from values of shape (n_rows, n_classes)."""
        return log_softmax(self.slope * values + self.log_shares, axis=1)


def fit_link(values, posterior, weights):
    """The slope with the highest posterior density, by Newton steps between bounds that close in on it.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_classes)
    posterior : ndarray of shape (n_rows, n_classes)
        What is believed of the rows' classes.
    weights : ndarray of shape (n_rows,)

    Returns
    -------
    Link
    """
    log_shares = np.log(settled_shares(weights @ posterior))
    size = np.sqrt((values**2).mean()) or 1.0
    scaled = values / size
    slope, low, high = 0.0, 0.0, np.inf
    wanted = weights @ (posterior * scaled).sum(axis=1)
    for _ in range(MOST_STEPS):
        p = np.exp(log_softmax(slope * scaled + log_shares, axis=1))
        means = (p * scaled).sum(axis=1)
        gradient = wanted - weights @ means - PENALTY * slope
        curvature = weights @ ((p * scaled**2).sum(axis=1) - means**2) + PENALTY
        low, high = (slope, high) if gradient > 0 else (low, slope)
        step = gradient / curvature
        if high == 0 or abs(step) < 1e-10 * (1 + slope):
            break
        # Where classes are rare a bare step may overshoot, and the next one fall back to where it came from.
        slope = slope + step if low < slope + step < high else (low + high) / 2
    return Link(slope / size, log_shares)


def settled_shares(counts):
    """Shares of classes: equal ones, unless the classes can be told to be of different size (χ² test, 5 %).

    Examples
    --------
    >>> settled_shares(np.array([52.0, 48.0])), settled_shares(np.array([80.0, 20.0]))
    (array([0.5, 0.5]), array([0.8, 0.2]))
    """
    # A class that nobody is believed to be of is taken to have one row: it can still turn up.
    counts = np.maximum(counts, 1.0)
    if chisquare(counts).pvalue >= LEVEL:
        return np.full(len(counts), 1 / len(counts))
    return counts / counts.sum()
