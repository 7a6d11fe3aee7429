"""Three descriptions of grey images, as S0 and S1 have them for spectacles: eigenfaces, Canny edges, wavelets.

Packages that only the image sets need: the extra ``datasets``.

The papers' last step for each view of an image: principal components.
"""

from importlib import import_module

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.decomposition import PCA
from sklearn.utils import check_array

from fuselearn.datasets.generation import check_in_range, side_by_side
from fuselearn.estimators import check_count, check_positive

WAVELET = "haar"


def face_views(images, *, n_components=100, sigma=1.0, blur=1.0, levels=2):
    """Describe grey images in three views: eigenfaces, Canny edges and wavelet coefficients.

    It needs scikit-image and PyWavelets: ``pip install 'fuselearn[datasets]'``.

    Parameters
    ----------
    images : array of shape (n_images, height, width)
        Grey images, on any scale: the darkest pixel of all images becomes 0 and the brightest 1.
    n_components : int or None, default=100
        Principal components that each view is reduced to, as in S0 and S1; fewer where there are fewer images or
        columns. They come from all images that are passed. None leaves the views as they are, for a classifier that
        learns the components from its training rows (`preprocess`); the first view is then ``"pixels"``.
    sigma : float, default=1.0
        How much an image is smoothed before edges are looked for, in pixels.
    blur : float, default=1.0
        How much the edges are blurred then, in pixels; 0 leaves lines of one pixel.
    levels : int, default=2
        Of the wavelet decomposition.

    Returns
    -------
    X : ndarray of shape (n_images, n_columns of all views)
        The views side by side.
    views : dict of name to slice
        ``"eigenfaces"``, ``"edges"`` and ``"wavelets"``: what to pass as `views` to an estimator.
    feature_names : list of str
        Such as ``"edges_0"``.

    See Also
    --------
    load_face_views : These views of faces and of other things.
    fetch_glasses_views : These views of faces with and without spectacles.

    Notes
    -----
    S0 and S1 name the three views and that each was reduced by principal component analysis, and no more. Two things
    are settled here. Edges are one pixel wide, so two alike faces rarely share one, and principal components find
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


def _details(images, levels, pywt):
    """Magnitudes of the wavelet coefficients, from the coarsest level to the finest, without the coarse image."""
    _, *details = pywt.wavedec2(images, WAVELET, mode="periodization", level=levels, axes=(1, 2))
    return np.hstack([np.abs(part).reshape(len(images), -1) for level in details for part in level])


PACKAGES = {"skimage": "scikit-image", "pywt": "PyWavelets"}


def image_package(module, *, needed_by):
    """Import a module of the extra ``datasets``, or say how to get it.

    Parameters
    ----------
    module : str
        Such as ``"skimage.feature"``.
    needed_by : str
        The function that the user called.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = PACKAGES[module.partition(".")[0]]
        raise ImportError(
            f"{needed_by} needs {package}, which cannot be imported ({error}): pip install 'fuselearn[datasets]'"
        ) from error


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
