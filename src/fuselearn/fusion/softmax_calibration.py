"""From combined values to probabilities: one slope, and a shift of each class.

Arms learn with classes of equal weight, so their values say how a row differs from the mean of all classes, however
large these are. The sizes come in as a prior, the slope says how much a value is worth, and the shifts where classes
balance:

    p(class k | values) ∝ share_k · exp(slope · (value_k + shift_k))

Where classes are of one size, the most probable class is the one with the largest shifted value.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import chdtrc, log_softmax

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
    shifts : ndarray of shape (n_classes,)
    log_shares : ndarray of shape (n_classes,)
        Equal ones, unless the classes can be told to be of different size. Slope and shifts are fitted with the sizes
        that the classes have.
    """

    slope: float
    shifts: np.ndarray
    log_shares: np.ndarray

    def log_probabilities(self, values):
        """ln p of each class, from values of shape (n_rows, n_classes)."""
        return log_softmax(self.slope * (values + self.shifts) + self.log_shares, axis=1)


def fit_link(values, posterior, weights, caution=1.0):
    """The slope and the shifts with the highest posterior density.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_classes)
        Out of sample.
    posterior : ndarray of shape (n_rows, n_classes)
        What is believed of the rows' classes.
    weights : ndarray of shape (n_rows,)
    caution : float, default=1.0
        How many rows tell as much as one that depends on no other.

    Returns
    -------
    Link
    """
    counts = weights @ posterior
    log_shares = np.log(settled_shares(counts))
    size = _size(values)
    if not size > 0:
        return Link(0.0, np.zeros(len(counts)), log_shares)
    density = _Density(values / size, posterior, weights, caution)
    # There may be two tops: where values have an offset, no slope is worth much until a shift has taken it away.
    starts = [density.start(shifts) for shifts in (np.zeros(len(counts)), -density.offsets())]
    slope, shifts = density.climb(*max(starts, key=lambda start: start[0]))
    return Link(slope / size, shifts * size, log_shares)


def fit_slope(values, posterior, weights):
    """The same without shifts."""
    size, nothing = _size(values), np.zeros(values.shape[1])
    slope = _Density(values / size, posterior, weights, 1.0).best_slope(nothing) / size if size > 0 else 0.0
    return Link(slope, nothing, np.log(settled_shares(weights @ posterior)))


def _size(values):
    """Root mean square, of values of any size."""
    largest = np.abs(values).max()
    return largest * np.sqrt(((values / largest) ** 2).mean()) if largest > 0 else 0.0


class _Density:
    """Log posterior density of slope and shifts, for values of mean square 1.

    Arrays have a row per class: sums over few classes are then sums of long arrays.
    """

    def __init__(self, values, posterior, weights, caution):
        self._values, self._posterior = np.ascontiguousarray(values.T), np.ascontiguousarray(posterior.T)
        self._weights = weights
        self._penalty, self._shift_penalty = caution * PENALTY, caution * SHIFT_PENALTY
        self._wanted = self._posterior @ weights
        # As large as the classes are here, told apart or not: a shift must not stand for their size.
        self._log_shares = np.log(_at_least_one(self._wanted))[:, None]

    def offsets(self):
        """Where values are when each class counts alike, about their mean."""
        of_classes = self._values @ (self._weights * self._posterior).T / _at_least_one(self._wanted)
        means = of_classes.mean(axis=1)
        return means - means.mean()

    def best_slope(self, shifts):
        """By Newton steps between bounds that close in on it."""
        shifted = self._values + shifts[:, None]
        slope, low, high = 0.0, 0.0, np.inf
        wanted = (self._posterior * shifted).sum(axis=0) @ self._weights
        for _ in range(MOST_STEPS):
            p, _ = _softmax(slope * shifted + self._log_shares)
            spoken = p * shifted
            means = spoken.sum(axis=0)
            gradient = wanted - means @ self._weights - self._penalty * slope
            spoken *= shifted
            curvature = (spoken.sum(axis=0) - means**2) @ self._weights + self._penalty
            low, high = (slope, high) if gradient > 0 else (low, slope)
            step = gradient / curvature
            if high == 0 or abs(step) < PRECISION * (1 + slope):
                break
            # Where classes are rare a bare step may overshoot, and the next one fall back to where it came from.
            slope = slope + step if low < slope + step < high else (low + high) / 2
        return slope

    def start(self, shifts):
        """A place to climb from: its height, slope, shifts and probabilities."""
        slope = self.best_slope(shifts)
        shifts = shifts if slope > 0 else np.zeros_like(shifts)
        height, p = self._look(slope, shifts)
        return height, slope, shifts, p

    def climb(self, height, slope, shifts, p):
        """Slope and shifts of the top above a start, by Newton steps on all of them."""
        for _ in range(MOST_STEPS if slope > 0 else 0):
            step = self._newton_step(slope, shifts, p)
            if step[0] < -0.9 * slope:  # a slope is positive
                step *= -0.9 * slope / step[0]
            while np.abs(step).max() >= PRECISION * (1 + slope):
                next_height, next_p = self._look(slope + step[0], shifts + step[1:])
                if next_height > height:
                    break
                step /= 2
            else:
                break
            slope, shifts, height, p = slope + step[0], shifts + step[1:], next_height, next_p
        return slope, shifts

    def _look(self, slope, shifts):
        """The height at a place, and the probabilities there."""
        terms = slope * (self._values + shifts[:, None]) + self._log_shares
        p, log_totals = _softmax(terms)
        said = (self._posterior * terms).sum(axis=0) - log_totals
        ridges = self._penalty * slope**2 + self._shift_penalty * (shifts @ shifts)
        return said @ self._weights - ridges / 2, p

    def _newton_step(self, slope, shifts, p):
        shifted = self._values + shifts[:, None]
        means = (p * shifted).sum(axis=0)
        weighted = self._weights * p
        given = weighted.sum(axis=1)
        missing = self._wanted - given
        gradient = np.empty(len(shifts) + 1)
        gradient[0] = ((self._posterior * shifted).sum(axis=0) - means) @ self._weights - self._penalty * slope
        gradient[1:] = slope * missing - self._shift_penalty * shifts
        curvature = np.empty((len(gradient), len(gradient)))
        curvature[0, 0] = ((p * shifted**2).sum(axis=0) - means**2) @ self._weights + self._penalty
        curvature[0, 1:] = slope * (weighted * (shifted - means)).sum(axis=1) - missing
        curvature[1:, 0] = curvature[0, 1:]
        curvature[1:, 1:] = slope**2 * (np.diag(given) - weighted @ p.T) + self._shift_penalty * np.eye(len(shifts))
        # Between two tops the ground is curved up: a ridge makes every step lead uphill.
        ridge = 0.0
        while True:
            try:
                return cho_solve(cho_factor(curvature + ridge * np.eye(len(gradient))), gradient)
            except LinAlgError:
                ridge = 10 * ridge or 1e-3 * np.trace(curvature)


def _softmax(terms):
    """Softmax over the first axis, and the logarithm of what it is divided by."""
    tops = terms.max(axis=0)
    p = np.exp(terms - tops)
    totals = p.sum(axis=0)
    p /= totals
    return p, tops + np.log(totals)


def settled_shares(counts):
    """Shares of classes: equal ones, unless the classes can be told to be of different size (χ² test, 5 %).

    Examples
    --------
    >>> settled_shares(np.array([52.0, 48.0])), settled_shares(np.array([80.0, 20.0]))
    (array([0.5, 0.5]), array([0.8, 0.2]))
    """
    counts = _at_least_one(counts)
    expected = counts.mean()
    if chdtrc(len(counts) - 1, ((counts - expected) ** 2).sum() / expected) >= LEVEL:
        return np.full(len(counts), 1 / len(counts))
    return counts / counts.sum()


def _at_least_one(counts):
    """A class that nobody is believed to be of is taken to have one row: it can still turn up."""
    return np.maximum(counts, 1.0)
