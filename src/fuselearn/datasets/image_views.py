"""Images that come with scikit-learn and scikit-image, in several views.

Handwritten digits are described in four ways. Patches of colour photographs are seen through their red, green and blue
channel: S3's views.
"""

from collections.abc import Sequence

import numpy as np
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from fuselearn.arguments import check_count, check_random_state
from fuselearn.datasets.view_blocks import check_components, image_package, principal_components, side_by_side
from fuselearn.typing import AnyArray, FloatArray, IntArray, RandomState

DIGITS_DESCRIPTION = """\
Handwritten digits in four views
--------------------------------
The 1,797 images of 8 x 8 pixels that come with scikit-learn (UCI, Optical Recognition of Handwritten Digits), each
described in four ways:

pixels    64 columns: ink from 0 to 16. Three pixels at the border are 0 in all images.
fourier   34 columns: log(1 + magnitude) of the two-dimensional Fourier transform, blind to where the digit stands.
profiles  32 columns: ink of each row and of each column of the image, and the centre of that ink.
edges     32 columns: strength of the ink's gradient in eight directions, in each quarter of the image.
"""
N_DIRECTIONS = 8
"""Directions of edges that are told apart."""
PATCHES_DESCRIPTION = """\
Patches of photographs in three views
-------------------------------------
Square patches of the colour photographs that come with scikit-image. The class of a patch is the photograph that it was
cut from. No two patches overlap or are alike. The views are the channels, as in S3:

red, green, blue  principal components of the channel's pixels, or the pixels themselves, from 0 to 1

They stand in for S3's ten textures of VisTex, which is not public. Pairs of photographs make two-class sets like S3's
five.
"""
CHANNELS = ("red", "green", "blue")
PHOTOGRAPHS = {
    "astronaut": lambda data: data.astronaut(),
    "cat": lambda data: data.chelsea(),
    "coffee": lambda data: data.coffee(),
    "galaxies": lambda data: data.hubble_deep_field(),
    "motorcycle": lambda data: data.stereo_motorcycle()[0],
    "retina": lambda data: data.retina(),
    "rocket": lambda data: data.rocket(),
    "tissue": lambda data: data.immunohistochemistry(),
}


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
    return Bunch(X=X, y=digits.target, views=views, feature_names=feature_names, DESCR=DIGITS_DESCRIPTION)


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


def load_colour_patches(
    photographs: Sequence[str] | None = None,
    *,
    patch_size: int = 16,
    n_patches: int = 72,
    n_components: int | None = 100,
    random_state: RandomState = 0,
    return_tuple: bool = False,
) -> Bunch | tuple[FloatArray, dict[str, slice], AnyArray]:
    """Load patches of colour photographs in three views: their red, green and blue channel.

    The photographs are part of scikit-image, so nothing is downloaded: ``pip install 'fuselearn[datasets]'``.

    Parameters
    ----------
    photographs : list of str or None, default=None
        Photographs to cut patches from: two or more of ``"astronaut"``, ``"cat"``, ``"coffee"``, ``"galaxies"``,
        ``"motorcycle"``, ``"retina"``, ``"rocket"`` and ``"tissue"``. None is all of them.
    patch_size : int, default=16
        Height and width of a patch, in pixels.
    n_patches : int, default=72
        Number of patches of each photograph: two of them then have 144, like S3's first set.
    n_components : int or None, default=100
        Number of principal components of each channel, of all patches, as in S3; fewer where there are fewer patches or
        pixels. They never see a label, but they do see the patches that are tested on later. None gives the pixels, for
        a classifier that learns the components from its training rows (`preprocess`).
    random_state : int, RandomState or None, default=0
        Seed of the choice of patches of a photograph, and of the order of the rows.
    return_tuple : bool, default=False
        Whether to return ``(X, views, y)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        The data set, with these attributes.

        X : ndarray of shape (n_patches of all photographs, n_columns of all views)
            The views side by side.
        y : str ndarray of shape (n_patches of all photographs,)
            The photograph.
        views : dict of name to slice
            ``"red"``, ``"green"`` and ``"blue"``: the argument `views` of an estimator.
        feature_names : list of str
            Such as ``"red_0"``.
        DESCR : str
            Description of the views.
    X, views, y : tuple, if ``return_tuple=True``
        The table, the views and the classes.

    References
    ----------
    S3: Barbu, Iqbal, Peng. Classifier Fusion Using Shared Sampling Distribution for Boosting. ICDM 2005.

    Examples
    --------
    >>> from fuselearn.datasets import load_colour_patches
    >>> data = load_colour_patches(["cat", "coffee"], n_components=30)
    >>> data.X.shape, data.views
    ((144, 90), {'red': slice(0, 30, None), 'green': slice(30, 60, None), 'blue': slice(60, 90, None)})
    """
    names = _names(photographs)
    check_count("patch_size", patch_size, 2)
    check_count("n_patches", n_patches)
    check_components(n_components)
    data = image_package("skimage.data", needed_by="load_colour_patches")
    generator = check_random_state(random_state)
    patches = np.concatenate(
        [draw_patches(name, PHOTOGRAPHS[name](data), patch_size, n_patches, generator) for name in names]
    )
    order = generator.permutation(len(patches))
    y = np.repeat(names, n_patches)[order]
    channels = patches[order].transpose(2, 0, 1) / 255
    X, views, feature_names = side_by_side(
        {name: principal_components(channel, n_components) for name, channel in zip(CHANNELS, channels)}
    )
    if return_tuple:
        return X, views, y
    return Bunch(X=X, y=y, views=views, feature_names=feature_names, DESCR=PATCHES_DESCRIPTION)


def _names(photographs: Sequence[str] | None) -> list[str]:
    """Check the names of photographs; None is all of them."""
    if photographs is None:
        return list(PHOTOGRAPHS)
    names = list(photographs) if isinstance(photographs, list | tuple) else []
    known = all(isinstance(name, str) and name in PHOTOGRAPHS for name in names)
    if len(names) < 2 or not known or len(set(names)) < len(names):
        raise ValueError(
            f"photographs must be None or a list of two or more of {', '.join(PHOTOGRAPHS)}, each once; "
            f"got {photographs!r}."
        )
    return names


def draw_patches(
    name: str, photograph: AnyArray, patch_size: int, n_patches: int, generator: np.random.RandomState
) -> AnyArray:
    """Draw patches of a grid on the photograph, of shape (n_patches, patch_size ** 2, 3)."""
    n_rows, n_columns = photograph.shape[0] // patch_size, photograph.shape[1] // patch_size
    grid = photograph[: n_rows * patch_size, : n_columns * patch_size]
    grid = grid.reshape(n_rows, patch_size, n_columns, patch_size, len(CHANNELS))
    patches = grid.swapaxes(1, 2).reshape(n_rows * n_columns, patch_size**2 * len(CHANNELS))
    # The black around the retina is the same patch a thousand times: it would be in training and in test.
    if len(patches):
        patches = patches[np.sort(np.unique(patches, axis=0, return_index=True)[1])]
    if n_patches > len(patches):
        raise ValueError(
            f"n_patches must be at most {len(patches)} for the photograph {name!r} and patch_size={patch_size}; "
            f"got {n_patches}."
        )
    drawn = generator.permutation(len(patches))[:n_patches]
    return patches[drawn].reshape(n_patches, patch_size**2, len(CHANNELS))
