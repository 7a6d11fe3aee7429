"""Values to bins: a sorted list of edges per column, and the number of edges below each value."""

import numpy as np

from fuselearn.numeric.compiled import compiled

HEAVY = 4
"""A value with this many times an average bin's rows has a bin of its own. At 4 these take at most half of the bins."""


def column_edges(values, max_bins):
    """Edges that cut the values of one column into at most `max_bins` bins.

    With no more than `max_bins` distinct values each has its own bin, and nothing is lost. With more, a value that is
    very frequent, such as the zero of counts, has a bin of its own, and the others share what is left, about as many
    rows a bin.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        Observed values, sorted, no NaN; may be empty.
    max_bins : int

    Returns
    -------
    ndarray, increasing; value x belongs to bin b when edges[b - 1] < x <= edges[b].
    """
    if len(values) == 0:
        return np.empty(0)
    ends = np.append(np.flatnonzero(values[1:] != values[:-1]), len(values) - 1)
    distinct = values[ends]
    separate = np.ones(len(distinct) - 1, dtype=bool)
    if len(distinct) > max_bins:
        counts = np.diff(ends, prepend=-1)
        heavy = counts >= HEAVY * len(values) / max_bins
        # Two edges set a heavy value apart.
        shared_bins = max_bins - 2 * np.count_nonzero(heavy)
        light = np.where(heavy, 0, counts)
        shared = np.floor((np.cumsum(light) - light / 2) * (shared_bins / max(light.sum(), 1)))
        separate = heavy[1:] | heavy[:-1] | (shared[1:] != shared[:-1])
    lower, upper = distinct[:-1][separate], distinct[1:][separate]
    middle = lower / 2 + upper / 2
    # The midpoint of two neighbouring floats rounds to one of them; the upper one would not separate them.
    return np.where(middle < upper, middle, lower)


def has_more_values(values, limit):
    """Whether sorted values are of more than `limit` kinds."""
    return np.count_nonzero(values[1:] != values[:-1]) >= limit


def searchable(edges):
    """Edges of shape (n_columns, any number), filled up with +inf to one less than a power of two."""
    width = 1
    while width <= edges.shape[1]:
        width *= 2
    filled = np.full((len(edges), width - 1), np.inf)
    filled[:, : edges.shape[1]] = edges
    return filled


@compiled()
def fill_bins(X, edges, missing_bin, bins):
    """bins[j, i] = number of edges of column j that are below X[i, j]; `missing_bin` where it is NaN.

    Column-major on purpose: histograms and splits read one column at a time. `edges` must be `searchable`: then every
    value takes the same number of steps, and all values of a column take a step together, as vector instructions.
    """
    n_rows, n_columns = X.shape
    column = np.empty(n_rows)
    below = np.empty(n_rows, dtype=np.int32)
    for j in range(n_columns):
        for i in range(n_rows):
            column[i] = X[i, j]
            below[i] = 0
        step = (edges.shape[1] + 1) >> 1
        while step > 0:
            for i in range(n_rows):
                below[i] += step * (edges[j, np.uint32(below[i] + step - 1)] < column[i])
            step >>= 1
        for i in range(n_rows):
            bins[j, i] = below[i] if column[i] == column[i] else missing_bin
