"""Blocks of columns, one per view, as the one table that estimators take."""

import numpy as np


def side_by_side(blocks):
    """Put the views' blocks beside each other.

    Parameters
    ----------
    blocks : dict of name to ndarray of shape (n_samples, n_columns)

    Returns
    -------
    X : ndarray of shape (n_samples, n_columns of all views)
    views : dict of name to slice
    feature_names : list of str
        Such as ``"pixels_0"``.

    Examples
    --------
    >>> import numpy as np
    >>> X, views, feature_names = side_by_side({"rna": np.zeros((5, 1)), "image": np.ones((5, 2))})
    >>> views, feature_names
    ({'rna': slice(0, 1, None), 'image': slice(1, 3, None)}, ['rna_0', 'image_0', 'image_1'])
    """
    ends = np.cumsum([block.shape[1] for block in blocks.values()]).tolist()
    views = {name: slice(start, end) for name, start, end in zip(blocks, [0, *ends[:-1]], ends)}
    feature_names = [f"{name}_{i}" for name, block in blocks.items() for i in range(block.shape[1])]
    return np.hstack(list(blocks.values())), views, feature_names
