"""Where the classes of made-up data stand, and which object is of which class."""

import numpy as np
from scipy.linalg import helmert


def class_centres(n_classes):
    """Corners of a regular simplex of side 1, so that no two classes are closer than others.

    Returns
    -------
    centres : ndarray of shape (n_classes, n_classes - 1)
        Of mean 0.

    Examples
    --------
    >>> class_centres(2)
    array([[ 0.5],
           [-0.5]])
    """
    return helmert(n_classes).T / np.sqrt(2)


def balanced_classes(n_samples, n_classes, generator):
    """Class numbers in random order; the classes' sizes differ by one at most."""
    return generator.permutation(np.arange(n_samples) % n_classes)
