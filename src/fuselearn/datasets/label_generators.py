"""Labels that have something in common, which sharing models between labels, as S2 does, can gain from.

Either many labels that are made of few concepts, or the synthetic set of S2 §6.1: points of the plane with three labels
that share their boundaries.
"""

import numpy as np

from fuselearn.arguments import check_count, check_flag, check_random_state
from fuselearn.datasets.view_blocks import check_in_range
from fuselearn.typing import FloatArray, IntArray, RandomState

REACH = 1.0
"""Distance that a concept reaches from its centre, in standard deviations of a column."""
LABEL_SHARES = (0.2, 0.2, 0.4)
"""Share of the points that have each label of S2's set."""
WIDTH, HEIGHT = 2.0, 3.0
"""Size of the rectangle of S2's set."""
# Label 3's ellipse has 40 % of the rectangle, and takes the same part of its width as of its height.
PART = np.sqrt(4 * LABEL_SHARES[2] / np.pi)
HALF_WIDTH, HALF_HEIGHT = PART * WIDTH / 2, PART * HEIGHT / 2
CENTRES = np.array([WIDTH / 2, HEIGHT / 2]) + np.array([[0, HALF_HEIGHT / 2], [0, -HALF_HEIGHT / 2], [0, 0]])
SCALES = np.array([[HALF_WIDTH, HALF_HEIGHT / 2], [HALF_WIDTH, HALF_HEIGHT / 2], [HALF_WIDTH, HALF_HEIGHT]])


def make_shared_labels(
    n_samples: int = 1000,
    *,
    n_features: int = 20,
    n_labels: int = 10,
    n_concepts: int = 5,
    concepts_per_label: int = 2,
    features_per_concept: int = 2,
    positives: float = 0.2,
    noise: float = 0.0,
    return_concepts: bool = False,
    random_state: RandomState = None,
) -> tuple[FloatArray, IntArray] | tuple[FloatArray, IntArray, FloatArray]:
    """Make objects with many labels, each a mixture of a few concepts that labels have in common.

    A concept is a place in a few of the columns. A label is the more likely the nearer an object is to its concepts.
    So a model of one concept serves several labels, of which MSSBoost makes use.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of objects.
    n_features : int, default=20
        Number of columns.
    n_labels : int, default=10
        Number of labels.
    n_concepts : int, default=5
        Number of concepts: the fewer, the more the labels share. Each label takes those that are used least so far, so
        all are used where ``n_labels * concepts_per_label`` is at least `n_concepts`; and with as many concepts as that
        product, no two labels share one.
    concepts_per_label : int, default=2
        Number of concepts of a label, at most `n_concepts`.
    features_per_concept : int, default=2
        Number of columns that a concept depends on, at most `n_features`.
    positives : float in (0, 1), default=0.2
        Share of the objects that have a label, rounded to whole objects; the same for all labels.
    noise : float, default=0.0
        Standard deviation of the noise on a label's score, before the highest scores become positives, in standard
        deviations of that score. Each label has noise of its own.
    return_concepts : bool, default=False
        Whether to return the weights of the concepts too.
    random_state : int, RandomState or None, default=None
        Seed of all draws.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Standard normal columns.
    Y : int8 ndarray of shape (n_samples, n_labels)
        1 where an object has the label.
    weights : ndarray of shape (n_labels, n_concepts), if ``return_concepts=True``
        Weight of each concept in each label: 0, or between 0.5 and 1.

    See Also
    --------
    make_overlapping_labels : S2's own set, of three labels in the plane.

    References
    ----------
    S2: Yan, Tešić, Smith. Model-Shared Subspace Boosting for Multi-label Classification. KDD 2007.

    Examples
    --------
    >>> from fuselearn.datasets import make_shared_labels
    >>> X, Y, weights = make_shared_labels(500, n_labels=6, n_concepts=3, return_concepts=True, random_state=0)
    >>> X.shape, Y.sum(axis=0)
    ((500, 20), array([100, 100, 100, 100, 100, 100]))
    >>> (weights > 0).sum(axis=0)
    array([4, 4, 4])
    """
    check_count("n_samples", n_samples, 2)
    check_count("n_features", n_features)
    check_count("n_labels", n_labels)
    check_count("n_concepts", n_concepts)
    check_count("concepts_per_label", concepts_per_label)
    check_count("features_per_concept", features_per_concept)
    check_flag("return_concepts", return_concepts)
    if concepts_per_label > n_concepts:
        raise ValueError(f"concepts_per_label must be at most n_concepts={n_concepts}; got {concepts_per_label}.")
    if features_per_concept > n_features:
        raise ValueError(f"features_per_concept must be at most n_features={n_features}; got {features_per_concept}.")
    check_in_range("noise", noise, least=0)
    check_in_range("positives", positives, least=0, most=1)
    n_positive = round(positives * n_samples)
    if not 0 < n_positive < n_samples:
        raise ValueError(
            f"positives must leave each label an object with it and one without; got {positives!r}, which is "
            f"{n_positive} of {n_samples} objects."
        )

    generator = check_random_state(random_state)
    X = generator.standard_normal((n_samples, n_features))
    activities = np.column_stack([_activity(X, features_per_concept, generator) for _ in range(n_concepts)])
    weights = _concept_weights(n_labels, n_concepts, concepts_per_label, generator)
    scores = activities @ weights.T
    scores += noise * scores.std(axis=0) * generator.standard_normal(scores.shape)
    Y = np.zeros(scores.shape, dtype=np.int8)
    highest = np.argsort(-scores, axis=0, kind="stable")[:n_positive]
    np.put_along_axis(Y, highest, 1, axis=0)
    return (X, Y, weights) if return_concepts else (X, Y)


def make_overlapping_labels(n_samples: int = 1000, *, random_state: RandomState = None) -> tuple[FloatArray, IntArray]:
    """Make S2's synthetic multi-label set: points of a rectangle, and three labels with common boundaries.

    Points are uniform in the rectangle from (0, 0) to (2, 3). Of 1,000 points, 200 have label 1, 200 label 2 and 400
    label 3. Some have two labels or more, and more than half have none.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of points, at least 5, so that each label has a positive.
    random_state : int, RandomState or None, default=None
        Seed of the points.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Coordinates of the points.
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
    check_count("n_samples", n_samples, 5)
    X = check_random_state(random_state).uniform(size=(n_samples, 2)) * (WIDTH, HEIGHT)
    distances = (((X[:, None] - CENTRES) / SCALES) ** 2).sum(axis=2)
    Y = np.zeros((n_samples, len(LABEL_SHARES)), dtype=np.int8)
    for label, share in enumerate(LABEL_SHARES):
        nearest = np.argsort(distances[:, label], kind="stable")[: round(share * n_samples)]
        Y[nearest, label] = 1
    return X, Y


def _activity(X: FloatArray, n_columns: int, generator: np.random.RandomState) -> FloatArray:
    """Return how near each object is to a concept, in columns that are drawn: 1 at its centre."""
    columns = generator.permutation(X.shape[1])[:n_columns]
    centre = generator.standard_normal(n_columns)
    return np.exp(-((X[:, columns] - centre) ** 2).sum(axis=1) / (2 * REACH**2))


def _concept_weights(
    n_labels: int, n_concepts: int, concepts_per_label: int, generator: np.random.RandomState
) -> FloatArray:
    """Draw weights of the concepts in the labels; each label takes the concepts used least, drawn among equals."""
    weights = np.zeros((n_labels, n_concepts))
    for label_weights in weights:
        order = np.lexsort((generator.permutation(n_concepts), (weights > 0).sum(axis=0)))
        label_weights[order[:concepts_per_label]] = generator.uniform(0.5, 1.0, size=concepts_per_label)
    return weights
