"""From combined values to probabilities.

Arms learn with classes of equal weight, so their values say how a row differs from the mean of all classes, however
large these are. The sizes come in as a prior, and one slope says how much a value is worth:

    p(class k | values) ∝ share_k · exp(slope · value_k)

The slope is fitted on out-of-sample values. Where classes are of one size, the most probable class is the one with the
largest value. A row that lacks views is worth less: there are slopes for what is left when a view is missing, for each
view alone, and for what the training rows have.

Wrong labels and classes that overlap look alike where there is one label column. The slope believes in wrong labels
only where they explain the labels clearly better than overlap does; else probabilities are those of the labels given.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax, logsumexp
from scipy.stats import chisquare

from fuselearn.fusion.combination import weighted_sum

PENALTY = 1.0
"""Ridge on the slope of values of mean square 1: a Gaussian prior of variance 1. Without it, values that separate the
classes would be believed without limit."""
MOST_STEPS = 100
LEVEL = 0.05
CLEARLY_BETTER = 2.0
"""Gain of log-likelihood by which wrong labels must be the better explanation: about 5 % for one further number."""
MOST_PATTERNS = 64


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


@dataclass(frozen=True)
class Links:
    """A link for each pattern of views that may be there.

    Attributes
    ----------
    patterns : bool ndarray of shape (n_patterns, n_views)
        The first has all views.
    slopes : ndarray of shape (n_patterns,)
    log_shares : ndarray of shape (n_classes,)
    """

    patterns: np.ndarray
    slopes: np.ndarray
    log_shares: np.ndarray

    def slopes_of(self, present):
        """Slope of each row, by the largest known pattern among the views that it has; of shape (n_rows,)."""
        slopes = np.full(len(present), self.slopes[0])
        missing = np.flatnonzero(~present.all(axis=1))
        if len(missing):
            kinds, kind_of = np.unique(present[missing], axis=0, return_inverse=True)
            sizes = self.patterns.sum(axis=1)
            of_kinds = []
            for kind in kinds:
                inside = np.flatnonzero(~(self.patterns & ~kind).any(axis=1))
                # Several as large: the one that is most cautious.
                best = min(inside, key=lambda number: (-sizes[number], self.slopes[number]), default=None)
                of_kinds.append(0.0 if best is None else self.slopes[best])
            slopes[missing] = np.array(of_kinds)[np.ravel(kind_of)]
        return slopes

    def log_probabilities(self, values, present):
        """ln p of each class, from values of shape (n_rows, n_classes)."""
        return log_softmax(self.slopes_of(present)[:, None] * values + self.log_shares, axis=1)


def fit_links(sources, values, rows, posterior, channel):
    """Links for all patterns of views, on out-of-sample values.

    Parameters
    ----------
    sources : list of (view or None, ndarray of shape (n_rows, n_targets), weight)
        Values of the arms; the view is None for all of them.
    values : ndarray of shape (n_rows, n_classes)
        The weighted sum of all.
    rows : LabelledRows
    posterior : ndarray of shape (n_rows, n_classes)
    channel : ndarray of shape (n_classes,) or None
        Estimated rates of wrong labels, where there is one label column.
    """
    believed = posterior
    whole = fit_link(values, believed, rows.weights)
    if channel is not None:
        plain = fit_link(values, rows.votes(), rows.weights)
        gain = _log_likelihood(whole, values, rows, channel) - _log_likelihood(plain, values, rows, 0 * channel)
        if gain < CLEARLY_BETTER:
            believed, whole = rows.votes(), plain
    n_views = rows.blocks.present.shape[1]
    patterns, slopes = [np.ones(n_views, dtype=bool)], [whole.slope]
    for pattern in _patterns(rows.blocks.present):
        said = [(one, weight) for view, one, weight in sources if view is not None and pattern[view]]
        total = sum(weight for _, weight in said)
        if total > 0:
            left, heard = weighted_sum([one for one, _ in said], np.array([weight for _, weight in said]))
            # As predictions do it: those that are left speak for the others.
            left = by_class(left * sum(weight for _, _, weight in sources) / total)
            link = fit_link(left[heard], believed[heard], rows.weights[heard], whole.log_shares)
            patterns.append(pattern)
            slopes.append(link.slope)
    return Links(np.array(patterns), np.array(slopes), whole.log_shares)


def _patterns(present):
    """Views that may be there, other than all of them: without each, each alone, and as in the training rows."""
    n_views = present.shape[1]
    if n_views == 1:
        return []
    one = np.eye(n_views, dtype=bool)
    seen, counts = np.unique(present, axis=0, return_counts=True)
    seen = seen[np.argsort(-counts, kind="stable")][:MOST_PATTERNS]
    both = np.unique(np.vstack([~one, one, seen]), axis=0)
    return [pattern for pattern in both if pattern.any() and not pattern.all()]


def _log_likelihood(link, values, rows, rates):
    """Of the labels of the one column, which is wrong with these rates."""
    logs = link.log_probabilities(values)
    codes = rows.codes[:, 0]
    n_classes = len(rates)
    with np.errstate(divide="ignore"):
        wrong, right = np.log(rates / max(1, n_classes - 1)), np.log1p(-rates)
    through = logs + wrong
    own = np.arange(len(codes)), codes
    through[own] = logs[own] + right[codes]
    return float(rows.weights @ logsumexp(through, axis=1))


def by_class(values):
    """Combined values as one column per class."""
    return np.column_stack([-values[:, 0], values[:, 0]]) if values.shape[1] == 1 else values


def fit_link(values, posterior, weights, log_shares=None):
    """The slope with the highest posterior density, by Newton steps between bounds that close in on it.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_classes)
    posterior : ndarray of shape (n_rows, n_classes)
        What is believed of the rows' classes.
    weights : ndarray of shape (n_rows,)
    log_shares : ndarray of shape (n_classes,), default=None
        None takes those of the posterior.

    Returns
    -------
    Link
    """
    if log_shares is None:
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
