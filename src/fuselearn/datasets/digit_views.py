"""Handwritten digits, described in four ways."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from fuselearn.datasets.view_blocks import side_by_side
from fuselearn.typing import FloatArray, IntArray

N_DIRECTIONS = 8

DESCRIPTION = """\
Handwritten digits in four views
--------------------------------
The 1,797 images of 8 x 8 pixels that come with scikit-learn (UCI, Optical Recognition of Handwritten Digits), each
described in four ways:

pixels    64 columns: ink from 0 to 16. Three pixels at the border are 0 in all images.
fourier   34 columns: log(1 + magnitude) of the two-dimensional Fourier transform, blind to where the digit stands.
profiles  32 columns: ink of each row and of each column of the image, and the centre of that ink.
edges     32 columns: strength of the ink's gradient in eight directions, in each quarter of the image.
"""


def load_digit_views(*, return_tuple: bool = False) -> Bunch | tuple[FloatArray, dict[str, slice], IntArray]:
    """Load handwritten digits in four views: pixels, Fourier magnitudes, ink profiles and edges.

    All views are computed from the 8 x 8 images of :func:`sklearn.datasets.load_digits`, so nothing is downloaded.

    Parameters
    ----------
    return_tuple : bool, default=False
        Whether to return ``(X, views, y)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        The data set, with these attributes.

        X : ndarray of shape (1797, 162)
            The views side by side.
        y : int ndarray of shape (1797,)
            The digits, 0 to 9.
        views : dict of name to slice
            The argument `views` of an estimator.
        feature_names : list of str
            Such as ``"pixels_0"``.
        DESCR : str
            Description of the views.
    X, views, y : tuple, if ``return_tuple=True``
        The table, the views and the classes.

    Examples
    --------
    >>> from fuselearn.datasets import load_digit_views
    >>> X, views, y = load_digit_views(return_tuple=True)
    >>> {name: X[:, columns].shape[1] for name, columns in views.items()}
    {'pixels': 64, 'fourier': 34, 'profiles': 32, 'edges': 32}

    >>> from fuselearn import ShareBoostClassifier
    >>> model = ShareBoostClassifier(views=views, n_estimators=20).fit(X[:1000], y[:1000])
    >>> bool(model.score(X[1000:], y[1000:]) > 0.9)
    True
    """
    digits = load_digits()
    images = digits.images
    blocks = {
        "pixels": images.reshape(len(images), -1),
        "fourier": _fourier(images),
        "profiles": _profiles(images),
        "edges": _edges(images),
    }
    X, views, feature_names = side_by_side(blocks)
    if return_tuple:
        return X, views, digits.target
    return Bunch(X=X, y=digits.target, views=views, feature_names=feature_names, DESCR=DESCRIPTION)


def _fourier(images: FloatArray) -> FloatArray:
    """Return log(1 + magnitude) of the Fourier transform."""
    magnitudes = np.abs(np.fft.rfft2(images))
    # In the first and the last column of a real image's transform the lower half mirrors the upper one.
    height, width = magnitudes.shape[1:]
    distinct = np.ones((height, width), dtype=bool)
    distinct[height // 2 + 1 :, [0, -1]] = False
    return np.log1p(magnitudes[:, distinct])


def _profiles(images: FloatArray) -> FloatArray:
    """Return the ink of each row and column, and its centre."""
    sideways = images.transpose(0, 2, 1)
    return np.hstack([images.sum(axis=2), sideways.sum(axis=2), _ink_centres(images), _ink_centres(sideways)])


def _ink_centres(images: FloatArray) -> FloatArray:
    """Return the centre of mass along the last axis; the middle where there is no ink."""
    positions = np.arange(images.shape[2])
    ink = images.sum(axis=2)
    middles = np.full(ink.shape, positions.mean())
    return np.divide(images @ positions, ink, out=middles, where=ink > 0)


def _edges(images: FloatArray) -> FloatArray:
    """Return the strength of gradients in eight directions, in each quarter of the image."""
    down, right = np.gradient(images, axis=(1, 2))
    strengths = np.hypot(down, right)
    # Bins are centred on the directions, so that strokes along the axes do not straddle two.
    turns = np.arctan2(down, right) / (2 * np.pi)
    directions = np.round(turns * N_DIRECTIONS).astype(int) % N_DIRECTIONS
    by_direction = np.where(directions[..., None] == np.arange(N_DIRECTIONS), strengths[..., None], 0.0)
    halves = slice(0, images.shape[1] // 2), slice(images.shape[1] // 2, None)
    return np.hstack([by_direction[:, rows, columns].sum(axis=(1, 2)) for rows in halves for columns in halves])
