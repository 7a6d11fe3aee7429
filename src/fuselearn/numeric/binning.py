"""Values to bins: a sorted list of edges per column, and the number of edges below each value."""

import numpy as np

from fuselearn.numeric.compiled import compiled


def column_edges(values, max_bins):
    """Edges that cut the values of one column into at most `max_bins` bins.

    With no more than `max_bins` distinct values the edges are the midpoints between them, and nothing is
    lost. With more, the edges are midpoints at equally spaced ranks.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        Observed values, no NaN; may be empty.
    max_bins : int

    Returns
    -------
    ndarray, increasing; value x belongs to bin b when edges[b - 1] < x <= edges[b].
    """
    values = np.sort(values)
    if len(values) == 0:
        return np.empty(0)
    new = np.flatnonzero(values[1:] != values[:-1])
    if len(new) < max_bins:
        lower, upper = values[new], values[new + 1]
    else:
        ranks = np.linspace(0, len(values) - 1, max_bins + 1)[1:-1]
        lower, upper = values[np.floor(ranks).astype(np.intp)], values[np.ceil(ranks).astype(np.intp)]
    middle = lower / 2 + upper / 2
    # The midpoint of two neighbouring floats rounds to one of them; the upper one would not separate them.
    return np.unique(np.where(middle < upper, middle, lower))


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
