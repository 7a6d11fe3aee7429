"""Wrong labels and blurred columns on purpose, as in the noise studies of S0 and S1."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Literal

import numpy as np
from sklearn.utils import check_array, column_or_1d

from fuselearn.arguments import check_flag, check_random_state
from fuselearn.data import check_on_host, resolve_views
from fuselearn.typing import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray, RandomState, TableLike, Views


def add_label_noise(
    y: ArrayLike,
    n_views: int,
    rate: float,
    *,
    views: Literal["all"] | Sequence[int] | IntArray = "all",
    shared: bool = False,
    random_state: RandomState = None,
) -> tuple[AnyArray, BoolArray]:
    """Flip labels, independently per view as in S0 and S1, or alike for all views.

    Exactly ``round(rate * n_samples)`` labels of each noisy view are replaced by another class, drawn uniformly.

    Parameters
    ----------
    y : array of shape (n_samples,)
        True labels, of at least two classes.
    n_views : int
        Number of label columns to make.
    rate : float in [0, 1]
        Share of the labels to flip; 0.3 in the tables of S0 and S1.
    views : "all" or list of int, default="all"
        Numbers of the views that get noise; the others keep the true labels.
    shared : bool, default=False
        Give all noisy views the same flips, as if they had copied one mistaken source.
    random_state : int, RandomState or None, default=None
        Seed of the draws.

    Returns
    -------
    view_labels : ndarray of shape (n_samples, n_views)
        Labels to pass to `fit` as `view_labels`.
    flipped : bool ndarray of shape (n_samples, n_views)
        True where a label was replaced.

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
    if isinstance(rate, bool) or not (isinstance(rate, Real) and 0 <= rate <= 1):
        raise ValueError(f"rate must be in [0, 1]; got {rate!r}.")
    check_flag("shared", shared)
    generator = check_random_state(random_state)
    view_codes = np.repeat(codes[:, None], n_views, axis=1)
    flips = None
    for view in _noisy_views(views, n_views):
        if flips is None or not shared:
            rows = generator.permutation(len(y))[: round(rate * len(y))]
            steps = generator.randint(1, len(classes), size=len(rows))
            flips = rows, (codes[rows] + steps) % len(classes)
        rows, wrong_codes = flips
        view_codes[rows, view] = wrong_codes
    return classes[view_codes], view_codes != codes[:, None]


def add_feature_noise(
    X: TableLike,
    views: Views,
    scale: float,
    *,
    which: Literal["all"] | Sequence[str] = "all",
    random_state: RandomState = None,
) -> FloatArray:
    """Add white noise to the columns of some views, as S1 §5 does beside its label noise.

    Parameters
    ----------
    X : array or data frame of shape (n_samples, n_features)
        Numbers; NaN where a view is absent.
    views : None, dict of name to selector, or list of selectors
        As for an estimator; None is one view of all columns.
    scale : float
        Standard deviation of the noise, in standard deviations of each column. At 1, half of a column's variance is
        noise.
    which : "all" or list of str, default="all"
        Names of the views that get noise. Those of a list of selectors are ``"view0"``, ``"view1"`` and so on.
    random_state : int, RandomState or None, default=None
        Seed of the noise.

    Returns
    -------
    noisy : float ndarray of shape (n_samples, n_features)
        A copy of `X`. NaN stays NaN, and a constant column stays as it is. A column of two views gets noise once, if
        either view is chosen.

    See Also
    --------
    add_label_noise : Wrong labels instead.

    Notes
    -----
    S1 does not say how strong its noise was, nor whether test rows had it. The noise of a column depends on
    `random_state` and the shape of `X` only, so that choosing further views leaves that of the others as it was.

    References
    ----------
    S1: Peng et al. ShareBoost: Boosting for Multi-view Learning with Performance Guarantees. ECML PKDD 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn.evaluation import add_feature_noise
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> noisy = add_feature_noise(X, {"rna": [0, 1], "image": [2]}, 1.0, which=["image"], random_state=0)
    >>> (noisy.std(axis=0) / X.std(axis=0)).round(1)
    array([1. , 1. , 1.4])
    """
    if isinstance(scale, bool) or not (isinstance(scale, Real) and 0 <= scale < np.inf):
        raise ValueError(f"scale must be a number of at least 0; got {scale!r}.")
    check_on_host(X, "X", "add_feature_noise")
    table = check_array(X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", copy=True, input_name="X")
    names, columns = resolve_views(views, X, table.shape[1])
    chosen = names if isinstance(which, str) and which == "all" else which
    if not isinstance(chosen, list | tuple) or not all(name in names for name in chosen):
        raise ValueError(f"which must be 'all' or a list of names of the views {names}; got {which!r}.")
    noise = check_random_state(random_state).standard_normal(table.shape)
    noisy = np.zeros(table.shape[1], dtype=bool)
    for name, view_columns in zip(names, columns):
        noisy[view_columns] |= name in chosen
    table[:, noisy] += scale * _deviations(table[:, noisy]) * noise[:, noisy]
    return table


def _noisy_views(views: Literal["all"] | Sequence[int] | IntArray, n_views: int) -> list[int]:
    """Return the numbers of the views that get noise, in order."""
    if isinstance(views, str) and views == "all":
        return list(range(n_views))
    if not isinstance(views, list | tuple | range | np.ndarray) or not all(
        isinstance(view, Integral) and not isinstance(view, bool) and view in range(n_views) for view in views
    ):
        raise ValueError(f"views must be 'all' or a list of numbers from 0 to {n_views - 1}; got {views!r}.")
    return sorted({int(view) for view in views})


def _deviations(table: FloatArray) -> FloatArray:
    """Return the standard deviation of each column's known values; 0 where there are none, or all are the same."""
    known = ~np.isnan(table)
    lowest = np.where(known, table, np.inf).min(axis=0)
    highest = np.where(known, table, -np.inf).max(axis=0)
    # The mean of equal values need not be that value, once rounded.
    varied = highest > lowest
    counts = np.maximum(known.sum(axis=0), 1)
    means = np.where(known, table, 0).sum(axis=0, dtype=np.float64) / counts
    squares = np.where(known, table - means, 0) ** 2
    return np.where(varied, np.sqrt(squares.sum(axis=0) / counts), 0)
