"""Faces, and pieces of pictures that show none, in three views.

Faces with and without spectacles, in three views: S0's and S1's glass detection.
"""

from math import isqrt

import numpy as np
from sklearn.utils import Bunch

from fuselearn.datasets.image_descriptors import check_components, face_views, image_package
from fuselearn.datasets.public import DATA_FOLDER_VARIABLE, fetch_views

DESCRIPTION = """\
Faces and other things in three views
-------------------------------------
The 200 grey images of 25 x 25 pixels that come with scikit-image (a part of Labeled Faces in the Wild): 100 faces, and
100 pieces of the backgrounds of such photographs. Each is described in three ways, as S0 and S1 describe theirs for
finding spectacles:

eigenfaces  principal components of the pixels (`pixels`, where no components are asked for)
edges       those of the Canny edges, blurred
wavelets    those of the magnitudes of Haar wavelet details

S0's and S1's own faces are from FERET, which is not public; what is no face there is a blacked-out face.
"""
N_FACES = 100


def load_face_views(*, n_components=100, return_tuple=False):
    """Load faces, and pictures of other things, in three views: eigenfaces, Canny edges and wavelets.

    All views are computed from the images of :func:`skimage.data.lfw_subset`, so nothing is downloaded. It needs
    scikit-image and PyWavelets: ``pip install 'fuselearn[datasets]'``.

    Parameters
    ----------
    n_components : int or None, default=100
        Principal components of each view, of all 200 images, as S0 and S1 have them. They never see a label, but they
        do see the images that are tested on later. None leaves the views as they are, 625, 625 and 654 columns, for a
        classifier that learns the components from its training rows (`preprocess`).
    return_tuple : bool, default=False
        Whether to return ``(X, views, y)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        X : ndarray of shape (200, n_columns of all views)
            The views side by side.
        y : int ndarray of shape (200,)
            1 for a face, 0 for something else.
        views : dict of name to slice
            What to pass as `views` to an estimator.
        feature_names : list of str
            Such as ``"edges_0"``.
        DESCR : str
            What the views are.
    X, views, y : tuple, if ``return_tuple=True``

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


def fetch_glasses_views(*, n_components=100, data_home=None):
    """Load the Olivetti faces in three views, to tell who wears spectacles.

    The faces are those of ``fetch_views("olivetti")``. Who wears spectacles is known from the file in the folder
    ``FUSELEARN_DATA`` only. It needs scikit-image and PyWavelets: ``pip install 'fuselearn[datasets]'``.

    Parameters
    ----------
    n_components : int or None, default=100
        Principal components of each view, of all images, as S0 and S1 have them. They never see a label, but they do
        see the images that are tested on later. None leaves the views as they are, thousands of columns, for a
        classifier that learns the components from its training rows (`preprocess`).
    data_home : str, path or None, default=None
        As in :func:`fetch_views`.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        X : ndarray of shape (400, n_columns of all views)
            The views side by side.
        y : int ndarray of shape (400,)
            1 for a face with spectacles.
        views : dict of name to slice
            ``"eigenfaces"``, ``"edges"`` and ``"wavelets"``: what to pass as `views` to an estimator.
        groups : int ndarray of shape (400,)
            Who it is, for :class:`~sklearn.model_selection.GroupKFold` and the like.
        feature_names : list of str
            Such as ``"edges_0"``.
        DESCR : str
            What the views are.

    Raises
    ------
    OSError
        If the faces cannot be had, or come without the labels of the spectacles.

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
