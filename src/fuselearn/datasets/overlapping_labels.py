"""Points of the plane with three labels that share their boundaries: the synthetic set of S2 §6.1."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state

LABEL_SHARES = (0.2, 0.2, 0.4)
WIDTH, HEIGHT = 2.0, 3.0
# Label 3's ellipse has 40 % of the rectangle, and takes the same part of its width as of its height.
PART = np.sqrt(4 * LABEL_SHARES[2] / np.pi)
HALF_WIDTH, HALF_HEIGHT = PART * WIDTH / 2, PART * HEIGHT / 2
CENTRES = np.array([WIDTH / 2, HEIGHT / 2]) + np.array([[0, HALF_HEIGHT / 2], [0, -HALF_HEIGHT / 2], [0, 0]])
SCALES = np.array([[HALF_WIDTH, HALF_HEIGHT / 2], [HALF_WIDTH, HALF_HEIGHT / 2], [HALF_WIDTH, HALF_HEIGHT]])


def make_overlapping_labels(n_samples=1000, *, random_state=None):
    """Make S2's synthetic multi-label set: points of a rectangle, and three labels with common boundaries.

    Points are uniform in the rectangle from (0, 0) to (2, 3). Of 1,000 points, 200 have label 1, 200 label 2 and 400
    label 3. Some have two labels or more, and more than half have none.

    Parameters
    ----------
    n_samples : int, default=1000
        At least 5, so that each label has a positive.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    Y : int8 ndarray of shape (n_samples, 3)
        1 where a point has the label. The columns hold 20 %, 20 % and 40 % ones, rounded to whole points.

    Notes
    -----
    S2 gives the counts, says that "the samples of each label follow a different Gaussian distribution", draws a closed
    curve around each label as its true boundary (Figure 1), and says that axis-parallel stumps need twelve cuts for
    three separate classifiers but five where labels share them, one for all right and one for all left sides. It does
    not give the Gaussians. Here they are chosen so that all of this holds. The positives of a label are the points
    nearest to its mean in the Gaussian's Mahalanobis distance: an ellipse. The three ellipses are equally wide and
    stand over one another. That of label 3 is twice as high as the others, because it has twice the points; label 1
    fills its upper half and label 2 its lower one. So the left and the right side are common to all, the top to
    labels 1 and 3, the bottom to labels 2 and 3, and one cut ends label 1 and begins label 2: five.

    References
    ----------
    S2: Yan, Tešić, Smith. Model-Shared Subspace Boosting for Multi-label Classification. KDD 2007.

    Examples
    --------
    >>> from fuselearn.datasets import make_overlapping_labels
    >>> X, Y = make_overlapping_labels(random_state=0)
    >>> X.shape, Y.sum(axis=0)
    ((1000, 2), array([200, 200, 400]))
    """
    if isinstance(n_samples, bool) or not isinstance(n_samples, Integral) or n_samples < 5:
        raise ValueError(f"n_samples must be an integer of at least 5; got {n_samples!r}.")
    X = check_random_state(random_state).uniform(size=(n_samples, 2)) * (WIDTH, HEIGHT)
    distances = (((X[:, None] - CENTRES) / SCALES) ** 2).sum(axis=2)
    Y = np.zeros((n_samples, len(LABEL_SHARES)), dtype=np.int8)
    for label, share in enumerate(LABEL_SHARES):
        nearest = np.argsort(distances[:, label], kind="stable")[: round(share * n_samples)]
        Y[nearest, label] = 1
    return X, Y
