"""From combined values to probabilities: one slope, and a shift of each class.

Arms learn with classes of equal weight, so their values say how a row differs from the mean of all classes, however
large these are. The sizes come in as a prior, the slope says how much a value is worth, and the shifts where classes
balance:

    p(class k | values) ∝ share_k · exp(slope · (value_k + shift_k))

Where classes are of one size, the most probable class is the one with the largest shifted value.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax
from scipy.stats import chisquare

PENALTY = 1.0
"""Ridge on the slope of values of mean square 1: a Gaussian prior of variance 1. Without it, values that separate the
classes would be believed without limit."""
SHIFT_PENALTY = 10.0
"""Ridge on the shifts of the same values, which are seldom more than a third of a value. The evidence that it stands
against grows with the square of the slope: labels that hardly follow the values hardly shift them."""
LEVEL = 0.05
MOST_STEPS = 100
PRECISION = 1e-6


@dataclass(frozen=True)
class Link:
    """p(class k | values) = softmax_k(slope · (value_k + shift_k) + ln share_k).

    Attributes
    ----------
    slope : float
    shifts, log_shares : ndarray of shape (n_classes,)
    """

    slope: float
    shifts: np.ndarray
    log_shares: np.ndarray

    def log_probabilities(self, values):
        """ln p of each class, from values of shape (n_rows, n_classes)."""
        return log_softmax(self.slope * (values + self.shifts) + self.log_shares, axis=1)


def fit_link(values, posterior, weights):
    """The slope and the shifts with the highest posterior density, by turns.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_classes)
        Out of sample.
    posterior : ndarray of shape (n_rows, n_classes)
        What is believed of the rows' classes.
    weights : ndarray of shape (n_rows,)

    Returns
    -------
    Link
    """
    size = np.sqrt((values**2).mean()) or 1.0
    scaled = values / size
    wanted = weights @ posterior
    # As large as the classes are here, told apart or not: a shift must not stand for their size.
    log_shares = np.log(_at_least_one(wanted))
    shifts = np.zeros(values.shape[1])
    slope = _best_slope(scaled, posterior, weights, log_shares, 0.0)
    for _ in range(MOST_STEPS):
        before, step = slope, _step_of_shifts(scaled, shifts, wanted, weights, log_shares, slope)
        shifts = shifts + step
        slope = _best_slope(scaled + shifts, posterior, weights, log_shares, slope)
        if abs(slope - before) < PRECISION * (1 + slope) and np.abs(step).max() < PRECISION:
            break
    return Link(slope / size, shifts * size, np.log(settled_shares(wanted)))


def _best_slope(values, posterior, weights, log_shares, start):
    """By Newton steps between bounds that close in on it."""
    slope, low, high = start, 0.0, np.inf
    wanted = weights @ (posterior * values).sum(axis=1)
    for _ in range(MOST_STEPS):
        p, _ = _softmax(slope * values + log_shares)
        means = (p * values).sum(axis=1)
        gradient = wanted - weights @ means - PENALTY * slope
        curvature = weights @ ((p * values**2).sum(axis=1) - means**2) + PENALTY
        low, high = (slope, high) if gradient > 0 else (low, slope)
        step = gradient / curvature
        if high == 0 or abs(step) < PRECISION / 10 * (1 + slope):
            break
        # Where classes are rare a bare step may overshoot, and the next one fall back to where it came from.
        slope = slope + step if low < slope + step < high else (low + high) / 2
    return slope


def _step_of_shifts(values, shifts, wanted, weights, log_shares, slope):
    """A Newton step, halved until it leads up."""
    height, p = _height(values, shifts, wanted, weights, log_shares, slope)
    weighted = weights[:, None] * p
    given = weighted.sum(axis=0)
    gradient = slope * (wanted - given) - SHIFT_PENALTY * shifts
    curvature = slope**2 * (np.diag(given) - weighted.T @ p) + SHIFT_PENALTY * np.eye(len(shifts))
    step = np.linalg.solve(curvature, gradient)
    while np.abs(step).max() >= PRECISION:
        if _height(values, shifts + step, wanted, weights, log_shares, slope)[0] >= height:
            return step
        step = step / 2
    return np.zeros_like(step)


def _height(values, shifts, wanted, weights, log_shares, slope):
    """Log posterior density of shifts, up to a constant, and the probabilities that they give."""
    p, log_totals = _softmax(slope * (values + shifts) + log_shares)
    return slope * (wanted @ shifts) - weights @ log_totals - SHIFT_PENALTY / 2 * (shifts @ shifts), p


def _softmax(terms):
    """Softmax of each row, and the logarithm of what it is divided by."""
    tops = terms.max(axis=1, keepdims=True)
    p = np.exp(terms - tops)
    totals = p.sum(axis=1, keepdims=True)
    p /= totals
    return p, (tops + np.log(totals))[:, 0]


def settled_shares(counts):
    """Shares of classes: equal ones, unless the classes can be told to be of different size (χ² test, 5 %).

    Examples
    --------
    >>> settled_shares(np.array([52.0, 48.0])), settled_shares(np.array([80.0, 20.0]))
    (array([0.5, 0.5]), array([0.8, 0.2]))
    """
    counts = _at_least_one(counts)
    if chisquare(counts).pvalue >= LEVEL:
        return np.full(len(counts), 1 / len(counts))
    return counts / counts.sum()


def _at_least_one(counts):
    """A class that nobody is believed to be of is taken to have one row: it can still turn up."""
    return np.maximum(counts, 1.0)
