"""Which rows a learner is fitted on, where there are more than it can take, and which groups they are of."""

import numpy as np

UNSEEN = -1


def taken_rows(n_rows, most, generator):
    """Mask of the rows that a machine is fitted on, drawn at random."""
    taken = np.zeros(n_rows, dtype=bool)
    taken[generator.permutation(n_rows)[:most] if n_rows > most else slice(None)] = True
    return taken


def among(groups, rows):
    """Groups of some rows, numbered from 0 again; None where there are none."""
    return None if groups is None else np.unique(groups[rows], return_inverse=True)[1]


def folds_of_others(groups, taken, fold_of):
    """Fold of each row that was not taken: that of its group among the taken ones.

    Parameters
    ----------
    groups : intp ndarray of shape (n_rows,)
    taken : bool ndarray of shape (n_rows,)
    fold_of : intp ndarray of shape (n_taken,)
        Of the taken rows, which keeps groups whole.

    Returns
    -------
    intp ndarray of shape (n_rows - n_taken,)
        `UNSEEN` where no row of the group was taken.

    Examples
    --------
    >>> groups, taken = np.array([0, 0, 1, 1, 2]), np.array([True, False, True, False, False])
    >>> folds_of_others(groups, taken, np.array([3, 4]))
    array([ 3,  4, -1])
    """
    fold_of_group = np.full(groups.max() + 1, UNSEEN)
    fold_of_group[groups[taken]] = fold_of
    return fold_of_group[groups[~taken]]


def n_observations(groups, n_rows):
    """Number of groups, or of rows where there are none: rows of a group tell hardly more than one of them."""
    return n_rows if groups is None else int(groups.max()) + 1
