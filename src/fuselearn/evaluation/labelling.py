"""Which labels a method is trained on, when each view has labels of its own (S0 §3.1)."""

import numpy as np


def majority_labels(view_labels, rng):
    """What most views say of each row; ties are drawn.

    Parameters
    ----------
    view_labels : ndarray of shape (n_rows, n_views)
    rng : numpy.random.Generator

    Examples
    --------
    >>> majority_labels(np.array([[1, 1, 0], [0, 2, 2]]), np.random.default_rng(0)).tolist()
    [1, 2]
    """
    classes, codes = np.unique(view_labels, return_inverse=True)
    codes = codes.reshape(view_labels.shape)
    votes = np.zeros((len(codes), len(classes)))
    for column in codes.T:
        votes[np.arange(len(codes)), column] += 1
    # Less than a vote, so that it decides between equals only.
    return classes[(votes + rng.uniform(0, 0.5, size=votes.shape)).argmax(axis=1)]
