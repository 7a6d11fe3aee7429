"""Faces with and without spectacles, in three views: S0's and S1's glass detection."""

from math import isqrt

from sklearn.utils import Bunch

from fuselearn.datasets.face_descriptors import face_views
from fuselearn.datasets.principal_components import check_components
from fuselearn.datasets.public import DATA_FOLDER_VARIABLE, fetch_views

DESCRIPTION = """\
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
    return Bunch(X=X, y=faces.y_glasses, views=views, groups=faces.y, feature_names=feature_names, DESCR=DESCRIPTION)
