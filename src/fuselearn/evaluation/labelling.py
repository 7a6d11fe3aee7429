"""Which labels a method is trained on, when each view has labels of its own (S0 §3.1)."""

import numpy as np


def majority_labels(view_labels, rng, present=None):
    """What most views say of each row; ties are drawn.

    Parameters
    ----------
    view_labels : ndarray of shape (n_rows, n_views)
    rng : numpy.random.Generator
    present : bool ndarray of shape (n_rows, n_views), default=None
        Views that a row has: the labels of others are not looked at. Every row must have one.

    Examples
    --------
    >>> majority_labels(np.array([[1, 1, 0], [0, 2, 2]]), np.random.default_rng(0)).tolist()
    [1, 2]
    """
    present = np.ones(view_labels.shape, dtype=bool) if present is None else present
    classes = np.unique(view_labels[present])
    votes = np.zeros((len(view_labels), len(classes)))
    for column, here in zip(view_labels.T, present.T):
        votes[here, np.searchsorted(classes, column[here])] += 1
    # Less than a vote, so that it decides between equals only.
    return classes[(votes + rng.uniform(0, 0.5, size=votes.shape)).argmax(axis=1)]
