"""Which rows a learner is fitted on, where there are more than it can take."""

import numpy as np


def taken_rows(n_rows, most, generator, groups=None):
    """Mask of the rows that a machine is fitted on, drawn at random.

    Parameters
    ----------
    n_rows, most : int
    generator : Generator
    groups : intp ndarray of shape (n_rows,) or None
        Rows of the same number, from 0, are taken together: those that are not taken count as rows that the machine
        has not seen the like of.

    Examples
    --------
    >>> groups = np.array([0, 0, 0, 1, 1, 2, 2])
    >>> taken_rows(7, 5, np.random.default_rng(0), groups)
    array([ True,  True,  True, False, False,  True,  True])
    """
    taken = np.zeros(n_rows, dtype=bool)
    if n_rows <= most:
        taken[:] = True
    elif groups is None:
        taken[generator.permutation(n_rows)[:most]] = True
    else:
        turn = generator.permutation(groups.max() + 1)
        whole = _that_fit(np.bincount(groups)[turn], most)
        if whole.sum() >= 2:
            taken = np.isin(groups, turn[whole])
        else:  # too large to be taken whole: a part of each
            taken[generator.permutation(n_rows)[:most]] = True
    return taken


def _that_fit(sizes, most):
    """Mask of the groups that go in one after the other; one that would be too much is passed over."""
    fits, room = np.zeros(len(sizes), dtype=bool), most
    for number, size in enumerate(sizes):
        if size <= room:
            fits[number], room = True, room - size
    return fits


def among(groups, taken):
    """Groups of the taken rows, numbered from 0 again; None where there are none."""
    return None if groups is None else np.unique(groups[taken], return_inverse=True)[1]
