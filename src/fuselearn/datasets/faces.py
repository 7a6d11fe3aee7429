"""Faces in three views, as S0 and S1 describe theirs: eigenfaces, Canny edges and wavelets."""

import os
from math import isqrt
from types import ModuleType

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.utils import Bunch, check_array

from fuselearn.arguments import check_count, check_positive
from fuselearn.datasets.public import DATA_FOLDER_VARIABLE, fetch_views
from fuselearn.datasets.view_blocks import (
    check_components,
    check_in_range,
    image_package,
    principal_components,
    side_by_side,
)
from fuselearn.typing import ArrayLike, FloatArray, IntArray

DESCRIPTION = """\
Faces and other things in three views
-------------------------------------
The 200 grey images of 25 x 25 pixels that come with scikit-image (a part of Labeled Faces in the Wild): 100 faces, and
100 pieces of the backgrounds of such photographs. Each is described in three ways, as S0 and S1 describe theirs for
finding spectacles:

eigenfaces  principal components of the pixels (`pixels`, where no components are asked for)
edges       those of the Canny edges, blurred
wavelets    those of the magnitudes of Haar wavelet details

S0's and S1's own faces are from FERET, which is not public; the images without a face are blacked-out faces there.
"""
GLASSES_DESCRIPTION = """\
Spectacles in three views
-------------------------
The 400 Olivetti faces, ten of each of 40 people, 119 of them with spectacles. They stand in for S0's and S1's 101 faces
of FERET, which is not public. The views are S0's and S1's:

eigenfaces  principal components of the pixels (`pixels`, where no components are asked for)
edges       those of the Canny edges, blurred
wavelets    those of the magnitudes of Haar wavelet details

Most people always or never wear spectacles. So a test on people who were trained on is too easy: split by `groups`.
"""
N_FACES = 100
"""Number of faces among scikit-image's pictures, which come first."""
WAVELET = "haar"


def face_views(
    images: ArrayLike,
    *,
    n_components: int | None = 100,
    sigma: float = 1.0,
    blur: float = 1.0,
    levels: int = 2,
) -> tuple[FloatArray, dict[str, slice], list[str]]:
    """Describe grey images in three views: eigenfaces, Canny edges and wavelet coefficients.

    It needs scikit-image and PyWavelets: ``pip install 'fuselearn[datasets]'``.

    Parameters
    ----------
    images : array of shape (n_images, height, width)
        Grey images, on any scale: the darkest pixel of all images becomes 0 and the brightest 1.
    n_components : int or None, default=100
        Number of principal components that each view is reduced to, as in S0 and S1; fewer where there are fewer images
        or columns. They come from all images that are passed. None leaves the views as they are, for a classifier that
        learns the components from its training rows (`preprocess`); the first view is then ``"pixels"``.
    sigma : float, default=1.0
        Width of the smoothing of an image before edges are detected, in pixels.
    blur : float, default=1.0
        Width of the blur of the edges, in pixels; 0 leaves lines of one pixel.
    levels : int, default=2
        Number of levels of the wavelet decomposition.

    Returns
    -------
    X : ndarray of shape (n_images, n_columns of all views)
        The views side by side.
    views : dict of name to slice
        ``"eigenfaces"``, ``"edges"`` and ``"wavelets"``: the argument `views` of an estimator.
    feature_names : list of str
        Such as ``"edges_0"``.

    See Also
    --------
    load_face_views : These views of faces and of other things.
    fetch_glasses_views : These views of faces with and without spectacles.

    Notes
    -----
    S0 and S1 name the three views and that each was reduced by principal component analysis, and no more. Two things
    are settled here. Edges are one pixel wide, so two similar faces rarely share one, and principal components find
    nothing in them: they are blurred. And wavelet coefficients are a turned copy of the pixels, which principal
    components undo: those of all coefficients would be the eigenfaces again. So the view holds the magnitudes of the
    details (Haar, across, down and diagonal) and leaves the coarse image out.

    References
    ----------
    S0: Barbu, Peng, Seetharaman. Boosting Information Fusion. FUSION 2010 (§5.1.1, glass detection).

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn.datasets import face_views
    >>> images = np.random.default_rng(0).uniform(size=(20, 16, 16))
    >>> X, views, feature_names = face_views(images, n_components=10)
    >>> X.shape, views["edges"]
    ((20, 30), slice(10, 20, None))
    """
    pywt = image_package("pywt", needed_by="face_views")
    feature = image_package("skimage.feature", needed_by="face_views")
    check_components(n_components)
    check_positive("sigma", sigma)
    check_in_range("blur", blur, least=0)
    check_count("levels", levels)
    images = check_array(images, allow_nd=True, dtype=np.float64, ensure_min_samples=2, input_name="images")
    if images.ndim != 3:
        raise ValueError(f"images must be of shape (n_images, height, width), grey; got the shape {images.shape}.")
    height, width = images.shape[1:]
    most_levels = pywt.dwt_max_level(min(height, width), WAVELET)
    if levels > most_levels:
        raise ValueError(
            f"levels must be at most {most_levels} for images of {height} x {width} pixels; got {levels!r}."
        )
    darkest, brightest = images.min(), images.max()
    if darkest == brightest:
        raise ValueError(f"images must not be all of one grey; each pixel is {darkest:g}.")

    # Canny's thresholds are for pixels from 0 to 1.
    images = (images - darkest) / (brightest - darkest)
    blocks = {
        "pixels" if n_components is None else "eigenfaces": images,
        "edges": np.array([gaussian_filter(feature.canny(image, sigma).astype(float), blur) for image in images]),
        "wavelets": _details(images, levels, pywt),
    }
    blocks = {
        name: principal_components(block.reshape(len(images), -1), n_components) for name, block in blocks.items()
    }
    return side_by_side(blocks)


def load_face_views(
    *, n_components: int | None = 100, return_tuple: bool = False
) -> Bunch | tuple[FloatArray, dict[str, slice], IntArray]:
    """Load faces, and pictures of other things, in three views: eigenfaces, Canny edges and wavelets.

    All views are computed from the images of :func:`skimage.data.lfw_subset`, so nothing is downloaded. It needs
    scikit-image and PyWavelets: ``pip install 'fuselearn[datasets]'``.

    Parameters
    ----------
    n_components : int or None, default=100
        Number of principal components of each view, of all 200 images, as S0 and S1 have them. They never see a label,
        but they do see the images that are tested on later. None leaves the views as they are, 625, 625 and 654
        columns, for a classifier that learns the components from its training rows (`preprocess`).
    return_tuple : bool, default=False
        Whether to return ``(X, views, y)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        The data set, with these attributes.

        X : ndarray of shape (200, n_columns of all views)
            The views side by side.
        y : int ndarray of shape (200,)
            1 for a face, 0 for something else.
        views : dict of name to slice
            The argument `views` of an estimator.
        feature_names : list of str
            Such as ``"edges_0"``.
        DESCR : str
            Description of the views.
    X, views, y : tuple, if ``return_tuple=True``
        The table, the views and the classes.

    See Also
    --------
    face_views : The same views of images of one's own.

    References
    ----------
    S0: Barbu, Peng, Seetharaman. Boosting Information Fusion. FUSION 2010.

    Examples
    --------
    >>> from fuselearn.datasets import load_face_views
    >>> X, views, y = load_face_views(n_components=20, return_tuple=True)
    >>> X.shape, list(views)
    ((200, 60), ['eigenfaces', 'edges', 'wavelets'])

    >>> from fuselearn import ShareBoostClassifier
    >>> model = ShareBoostClassifier(views=views, n_estimators=20).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    """
    check_components(n_components)
    data = image_package("skimage.data", needed_by="load_face_views")
    images = data.lfw_subset()
    # lfw_subset promises the faces first.
    y = (np.arange(len(images)) < N_FACES).astype(int)
    X, views, feature_names = face_views(images, n_components=n_components)
    if return_tuple:
        return X, views, y
    return Bunch(X=X, y=y, views=views, feature_names=feature_names, DESCR=DESCRIPTION)


def fetch_glasses_views(*, n_components: int | None = 100, data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """Load the Olivetti faces in three views, to tell who wears spectacles.

    The faces are those of ``fetch_views("olivetti")``. Who wears spectacles is known from the file in the folder
    ``FUSELEARN_DATA`` only. It needs scikit-image and PyWavelets: ``pip install 'fuselearn[datasets]'``.

    Parameters
    ----------
    n_components : int or None, default=100
        Number of principal components of each view, of all images, as S0 and S1 have them. They never see a label, but
        they do see the images that are tested on later. None leaves the views as they are, thousands of columns, for a
        classifier that learns the components from its training rows (`preprocess`).
    data_home : str, path or None, default=None
        Folder where fetched files are kept, as in :func:`fetch_views`.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        The data set, with these attributes.

        X : ndarray of shape (400, n_columns of all views)
            The views side by side.
        y : int ndarray of shape (400,)
            1 for a face with spectacles.
        views : dict of name to slice
            ``"eigenfaces"``, ``"edges"`` and ``"wavelets"``: the argument `views` of an estimator.
        groups : int ndarray of shape (400,)
            Number of the person, for :class:`~sklearn.model_selection.GroupKFold` and the like.
        feature_names : list of str
            Such as ``"edges_0"``.
        DESCR : str
            Description of the views.

    Raises
    ------
    OSError
        If the faces cannot be loaded, or come without the labels of the spectacles.

    Examples
    --------
    >>> from fuselearn.datasets import fetch_glasses_views
    >>> data = fetch_glasses_views()  # doctest: +SKIP
    >>> list(data.views)  # doctest: +SKIP
    ['eigenfaces', 'edges', 'wavelets']
    """
    check_components(n_components)
    faces = fetch_views("olivetti", data_home=data_home)
    if "y_glasses" not in faces:
        raise FileNotFoundError(
            "The public source of the Olivetti faces does not say who wears spectacles. Set the environment variable "
            f"{DATA_FOLDER_VARIABLE} to a folder that holds olivetti/olivetti.npz with an array y_glasses."
        )
    side = isqrt(faces.X.shape[1])
    if side * side != faces.X.shape[1]:
        raise ValueError(f"The faces must be square; olivetti/olivetti.npz has {faces.X.shape[1]} pixels each.")
    images = faces.X.reshape(-1, side, side)
    X, views, feature_names = face_views(images, n_components=n_components)
    return Bunch(
        X=X, y=faces.y_glasses, views=views, groups=faces.y, feature_names=feature_names, DESCR=GLASSES_DESCRIPTION
    )


def _details(images: FloatArray, levels: int, pywt: ModuleType) -> FloatArray:
    """Return the magnitudes of wavelet coefficients, from coarse to fine levels, without the coarse image."""
    _, *details = pywt.wavedec2(images, WAVELET, mode="periodization", level=levels, axes=(1, 2))
    return np.hstack([np.abs(part).reshape(len(images), -1) for level in details for part in level])
