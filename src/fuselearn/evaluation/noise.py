"""Wrong labels on purpose: the noise studies of S0 and S1."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state, column_or_1d


def add_label_noise(y, n_views, rate, *, views="all", shared=False, random_state=None):
    """Flip labels, independently per view as in S0 and S1, or alike for all views.

    Exactly ``round(rate * n_samples)`` labels of each noisy view are replaced by another class, drawn uniformly.

    Parameters
    ----------
    y : array of shape (n_samples,)
        True labels, of at least two classes.
    n_views : int
        Number of label columns to make.
    rate : float in [0, 1]
        Part of the labels to flip. 0.3 in S0's and S1's tables.
    views : "all" or list of int, default="all"
        Numbers of the views that get noise; the others keep the true labels.
    shared : bool, default=False
        Whether the noisy views have the same flips: one mistaken source that all views copy.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    view_labels : ndarray of shape (n_samples, n_views)
        What to pass to `fit` as `view_labels`.
    flipped : bool ndarray of shape (n_samples, n_views)

    Examples
    --------
    >>> from fuselearn import add_label_noise
    >>> view_labels, flipped = add_label_noise(["a"] * 5 + ["b"] * 5, n_views=2, rate=0.3, random_state=0)
    >>> flipped.sum(axis=0)
    array([3, 3])
    """
    y = column_or_1d(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must hold at least two classes for a label to be flipped; it has {len(classes)}.")
    if isinstance(n_views, bool) or not isinstance(n_views, Integral) or n_views < 1:
        raise ValueError(f"n_views must be an integer of at least 1; got {n_views!r}.")
    if not (isinstance(rate, Real) and 0 <= rate <= 1):
        raise ValueError(f"rate must be in [0, 1]; got {rate!r}.")
    everyone = range(n_views)
    noisy = everyone if isinstance(views, str) and views == "all" else views
    if not isinstance(noisy, list | tuple | range | np.ndarray) or not all(
        isinstance(view, Integral) and not isinstance(view, bool) and view in everyone for view in noisy
    ):
        raise ValueError(f"views must be 'all' or a list of numbers from 0 to {n_views - 1}; got {views!r}.")
    noisy = sorted(set(noisy))

    generator = check_random_state(random_state)
    view_codes = np.repeat(codes[:, None], n_views, axis=1)
    drawn = None
    for view in noisy:
        if drawn is None or not shared:
            rows = generator.permutation(len(y))[: round(rate * len(y))]
            steps = generator.randint(1, len(classes), size=len(rows))
            drawn = rows, (codes[rows] + steps) % len(classes)
        rows, wrong = drawn
        view_codes[rows, view] = wrong
    return classes[view_codes], view_codes != codes[:, None]
