"""One label column from several: what most of the views say."""

import numpy as np


def majority_codes(codes, present, n_classes):
    """The class that most of a row's present views name.

    A tie goes to the first view that names one of the tied classes: the lowest class would be favoured without reason.

    Parameters
    ----------
    codes : int ndarray of shape (n_rows, n_views)
        Class code of each row by each view.
    present : bool ndarray of shape (n_rows, n_views)
    n_classes : int

    Returns
    -------
    int32 ndarray of shape (n_rows,)
        -1 where no view is present.

    Examples
    --------
    >>> import numpy as np
    >>> majority_codes(np.array([[0, 1, 1], [1, 0, 0], [2, 0, 1]]), np.array([[1, 1, 1], [1, 1, 0], [1, 1, 1]]) > 0, 3)
    array([1, 1, 2], dtype=int32)
    """
    everyone = np.arange(len(codes))
    counts = np.zeros((len(codes), n_classes), dtype=np.intp)
    for column, here in zip(codes.T, present.T):
        counts[everyone[here], column[here]] += 1
    most = counts.max(axis=1)
    agreed = np.full(len(codes), -1, dtype=np.int32)
    for column, here in zip(codes.T, present.T):
        chosen = here & (agreed < 0) & (counts[everyone, column] == most)
        agreed[chosen] = column[chosen]
    return agreed
