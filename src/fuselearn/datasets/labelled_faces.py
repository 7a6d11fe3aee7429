"""Faces, and pieces of pictures that show none, in three views."""

import numpy as np
from sklearn.utils import Bunch

from fuselearn.datasets.face_descriptors import face_views
from fuselearn.datasets.image_packages import image_package
from fuselearn.datasets.principal_components import check_components

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
