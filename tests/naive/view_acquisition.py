"""The next view to measure, a row and a set of views at a time."""

from itertools import chain, combinations

import numpy as np


def features(p):
    """Return what a gain depends on: the doubt 1 − max p in several forms."""
    first, second = sorted(p, reverse=True)[:2]
    doubt = 1 - first
    return [doubt, doubt**2, doubt**0.5, doubt * (1 - (first - second))]


def gain(before, after, weights, p, ridge, benefit):
    """Return the expected rise of the largest probability of a row with probabilities p, and some standard errors.

    Parameters
    ----------
    before, after : list of list of float
        Probabilities of training rows, without and with the views to be measured.
    weights : list of float
    p : list of float
    ridge, benefit : float
    """
    table = np.array([features(q) for q in before])
    rises = np.array([max(b) - max(a) for a, b in zip(before, after)])
    root = np.sqrt(np.array(weights))
    n = table.shape[1]
    penalty = ridge * sum(w * sum(row**2) for w, row in zip(weights, table)) / n
    # Least squares with a ridge is plain least squares with rows of zeros below.
    stacked = np.vstack([root[:, None] * table, np.sqrt(penalty) * np.eye(n)])
    solution = np.linalg.lstsq(stacked, np.concatenate([root * rises, np.zeros(n)]), rcond=None)[0]
    covariance = np.zeros((n, n))
    inverse = np.linalg.inv(stacked.T @ stacked)
    for row, rise, weight in zip(table, rises, weights):
        influence = inverse @ row * weight * (rise - row @ solution)
        covariance += np.outer(influence, influence)
    new = np.array(features(p))
    return float(new @ solution + benefit * np.sqrt(max(new @ covariance @ new, 0.0)))


def next_view(gain_of, missing, costs, min_gain):
    """Return the view to measure next, or None; `gain_of` gives the gain of a set of views, None if it is not known."""
    best, plan = -np.inf, None
    every = chain.from_iterable(combinations(missing, size) for size in range(1, len(missing) + 1))
    for views in every:
        found = gain_of(views)
        if found is not None and found >= min_gain * len(views) and found / sum(costs[v] for v in views) > best:
            best, plan = found / sum(costs[v] for v in views), views
    if plan is None:
        return None
    return max(plan, key=lambda v: -np.inf if gain_of((v,)) is None else gain_of((v,)) / costs[v])
