"""Limits of conformal intervals, one candidate after the other."""

import numpy as np


def limits(residuals, weights, n_independent, coverage):
    """Return the narrowest limits beyond which a new row may be in as many cases as are not covered, half on each side.

    The new row is one of n + 1 that count alike; it may be beyond all the others.
    """
    shares = np.asarray(weights) / np.sum(weights)
    n, tail = n_independent, (1 - coverage) / 2
    lower, upper = min(residuals), max(residuals)
    for candidate in residuals:
        if (n * shares[residuals < candidate].sum() + 1) / (n + 1) <= tail + 1e-11:
            lower = max(lower, candidate)
        if (n * shares[residuals > candidate].sum() + 1) / (n + 1) <= tail + 1e-11:
            upper = min(upper, candidate)
    return lower, upper
