"""The papers' last step for each view of an image: principal components."""

from sklearn.decomposition import PCA

from fuselearn.settings import check_count


def check_components(n_components):
    """Refuse what is neither None nor a number of components."""
    if n_components is not None:
        check_count("n_components", n_components)


def principal_components(block, n_components):
    """Scores of the first principal components, fewer where there are not as many.

    Parameters
    ----------
    block : ndarray of shape (n_samples, n_columns)
    n_components : int or None
        None leaves the block as it is.

    Returns
    -------
    scores : ndarray of shape (n_samples, min(n_components, n_samples - 1, n_columns))

    Examples
    --------
    >>> import numpy as np
    >>> principal_components(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]), 1).round(2)
    array([[-1.41],
           [ 0.  ],
           [ 1.41]])
    """
    if n_components is None:
        return block
    # n objects around their mean span n - 1 dimensions: one component more would be rounding errors.
    n_components = max(min(n_components, block.shape[0] - 1, block.shape[1]), 1)
    return PCA(n_components, svd_solver="full").fit_transform(block)
