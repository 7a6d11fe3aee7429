"""Weights of meta-objects that give every object of a view its due, however often it was put together with others.

Reading pairs from the nearest to the farthest puts objects of dense places together many times and those of sparse
places once. S4 asks that what each view alone says of a class stays as it was: the deconvolved density has the same
marginals (§2.1), and sampling preserves marginal rates (§3.1.3). Weights can do that where counts cannot.
"""

import numpy as np

ROUNDS = 25


def marginal_weights(places, codes):
    """Weights under which the objects of a class count alike in each view.

    Proportional fitting: in turn, each view's objects are given equal sums. Where the meta-objects leave no exact
    answer, it ends near one.

    Parameters
    ----------
    places : int ndarray of shape (n_meta, n_views)
        Number of the object of each view.
    codes : int ndarray of shape (n_meta,)
        Class of each meta-object.

    Returns
    -------
    ndarray of shape (n_meta,)
        Their sum over a class is the number of its objects in the view with most of them.

    Examples
    --------
    >>> marginal_weights(np.array([[0, 0], [0, 1], [1, 1]]), np.zeros(3, dtype=int)).round(1)
    array([1., 0., 1.])
    """
    weights = np.ones(len(places))
    for code in np.unique(codes):
        here = codes == code
        columns = [np.unique(column, return_inverse=True)[1] for column in places[here].T]
        counts = [column.max() + 1 for column in columns]
        own = np.ones(here.sum())
        for _ in range(ROUNDS):
            for column, count in zip(columns, counts):
                sums = np.bincount(column, own, minlength=count)
                own *= (max(counts) / count / np.maximum(sums, np.finfo(float).tiny))[column]
        weights[here] = own * (max(counts) / own.sum())
    # A dual variable needs some room to move in.
    return np.maximum(weights, 1e-6)
