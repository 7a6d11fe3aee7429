"""Weights of meta-objects that give every object of a view its due, however often it was put together with others.

Reading pairs from the nearest to the farthest puts objects of dense places together many times and those of sparse
places once. S4 asks that what each view alone says of a class stays as it was: the deconvolved density has the same
marginals (§2.1), and sampling preserves marginal rates (§3.1.3). Weights can do that where counts cannot.
"""

import numpy as np

ROUNDS = 25
LEAST = 1e-6
"""A dual variable needs some room to move in."""


def marginal_weights(places, codes, matched=None):
    """Weights under which the objects of a class count alike in each view, as nearly as the meta-objects allow.

    Proportional fitting: in turn, each view's objects are given equal sums, and of the last turn the geometric mean
    over the views is taken, so that none is favoured. What all views saw counts once, and what it lends to others does
    not take from that.

    Parameters
    ----------
    places : int ndarray of shape (n_meta, n_views)
        Number of the object of each view.
    codes : int ndarray of shape (n_meta,)
        Class of each meta-object.
    matched : bool ndarray of shape (n_meta, n_views), default=None
        Whether all views saw the thing that an object is of. A meta-object of such objects only is that thing.

    Returns
    -------
    ndarray of shape (n_meta,)

    Examples
    --------
    >>> marginal_weights(np.array([[0, 0], [0, 1], [1, 1]]), np.zeros(3, dtype=int)).round(1)
    array([1., 0., 1.])
    """
    matched = np.zeros(places.shape, dtype=bool) if matched is None else matched
    weights = np.ones(len(places))
    open_ones = ~matched.all(axis=1)
    for code in np.unique(codes[open_ones]):
        here = (codes == code) & open_ones
        weights[here] = _balanced(places[here], matched[here])
    return np.maximum(weights, LEAST)


def _balanced(places, matched):
    """Weights of the meta-objects of one class that are not known matches."""
    views = []
    for column, lent in zip(places.T, matched.T):
        numbers = np.unique(column[~lent], return_inverse=True)[1]
        views.append((numbers, ~lent, numbers.max(initial=-1) + 1, lent.any()))
    total = max(count for _, _, count, _ in views)
    weights = np.full(len(places), total / len(places))
    for _ in range(ROUNDS):
        turns = []
        for numbers, own, count, any_lent in views:
            if count:
                # Where others lend objects, they make up for those that this view lacks.
                due = 1.0 if any_lent else total / count
                sums = np.bincount(numbers, weights[own], minlength=count)
                weights[own] *= (due / np.maximum(sums, np.finfo(float).tiny))[numbers]
            turns.append(np.maximum(weights, LEAST))
    return np.exp(np.mean(np.log(turns), axis=0))
