"""Gaussian classes in views that correlate: what S4 loses when it does not know which objects belong together."""

import numpy as np
from sklearn.utils import Bunch, check_random_state

from fuselearn.datasets.generation import balanced_classes, check_in_range, class_centres, number_per_view, side_by_side
from fuselearn.estimators import check_count


def make_correlated_gaussians(
    n_samples=1000,
    *,
    n_classes=2,
    n_views=2,
    n_features=2,
    correlation=0.5,
    separation=2.0,
    matched=1.0,
    random_state=None,
):
    """Make Gaussian classes in views that correlate within each class as chosen.

    S4 fuses views whose objects are not matched. Whether that loses anything depends on what only matched objects
    tell: how the views of an object vary together. Here that is a setting.

    Parameters
    ----------
    n_samples : int, default=1000
    n_classes : int, default=2
        The classes are as large as each other, up to one object.
    n_views : int, default=2
        The views are named ``"view0"`` and so on.
    n_features : int, default=2
        Columns of each view, at least ``n_classes - 1``.
    correlation : float, or list of float per class, default=0.5
        Within a class, correlation of a column with the column of the same number in each other view. Columns of other
        numbers do not correlate. From ``-1 / (n_views - 1)``, the least that so many views can have, to 1.
    separation : float, list or dict per view, default=2.0
        Distance between the classes' means in a view, in standard deviations within a class.
    matched : float in [0, 1], default=1.0
        Share of the objects whose views are their own, rounded to whole objects in each class. The other objects of a
        class have exchanged views among themselves. Each view alone is as before, and so are the labels.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        X : ndarray of shape (n_samples, n_views * n_features)
            The views side by side.
        y : int ndarray of shape (n_samples,)
            Classes, from 0.
        views : dict of name to slice
            What to pass as `views` to an estimator.
        feature_names : list of str
            Such as ``"view0_1"``.
        is_matched : bool ndarray of shape (n_samples,)
            Whether the object's views are its own.

    See Also
    --------
    make_views : Views of chosen strength and redundancy, some of them absent.

    Notes
    -----
    With one correlation for all classes and the same separation in all views, the best classifier adds the views up,
    matched or not: matching does not matter. It does where the separations differ (a weak view then tells how far
    off a strong one is), and where the correlations of the classes differ. With a separation of 0, each view alone
    knows nothing, and what a class is shows in pairs only.

    References
    ----------
    S4: Windridge, Yan. Kernel Combination via Debiased Object Correspondence Analysis. Information Fusion, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn.datasets import make_correlated_gaussians
    >>> data = make_correlated_gaussians(5000, n_features=1, correlation=[0.8, -0.8], separation=0, random_state=0)
    >>> [round(float(np.corrcoef(data.X[data.y == label].T)[0, 1]), 1) for label in (0, 1)]
    [0.8, -0.8]
    """
    check_count("n_classes", n_classes, 2)
    check_count("n_samples", n_samples, n_classes)
    check_count("n_views", n_views)
    check_count("n_features", n_features, n_classes - 1)
    names = [f"view{i}" for i in range(n_views)]
    correlations = _correlation_per_class(correlation, n_classes, n_views)
    separations = number_per_view("separation", separation, names, least=0)
    check_in_range("matched", matched, least=0, most=1)

    generator = check_random_state(random_state)
    y = balanced_classes(n_samples, n_classes, generator)
    # The same directions in all views, so that the correlation is one of the evidence and not of idle columns.
    directions = np.linalg.qr(generator.standard_normal((n_features, n_classes - 1)))[0].T
    centres = class_centres(n_classes)[y] @ directions
    draws = generator.standard_normal((n_samples, n_views, n_features))
    roots = np.array([_root(one, n_views) for one in correlations])
    tables = separations[None, :, None] * centres[:, None, :] + roots[y] @ draws
    is_matched = _exchange_views(tables, y, matched, generator)
    X, views, feature_names = side_by_side({name: tables[:, view] for view, name in enumerate(names)})
    return Bunch(X=X, y=y, views=views, feature_names=feature_names, is_matched=is_matched)


def _correlation_per_class(correlation, n_classes, n_views):
    # Many views cannot all be far from each other.
    least = -1 / max(n_views - 1, 1)
    values = correlation if isinstance(correlation, list | tuple | np.ndarray) else [correlation] * n_classes
    if len(values) != n_classes:
        raise ValueError(f"correlation must hold a number for each of the {n_classes} classes; it holds {len(values)}.")
    for value in values:
        check_in_range(
            "correlation", value, least=least, most=1, given=correlation, alternative=", or such a number per class"
        )
    return values


def _root(correlation, n_views):
    """Symmetric square root of the matrix of ones on the diagonal and the correlation elsewhere.

    Its eigenvalues are 1 + (n_views - 1) · correlation, for the mean of the views, and 1 - correlation, for what
    differs from it. Rounding may take the first below zero.
    """
    of_mean = np.sqrt(max(1 + (n_views - 1) * correlation, 0.0))
    of_rest = np.sqrt(1 - correlation)
    return of_rest * np.eye(n_views) + (of_mean - of_rest) / n_views


def _exchange_views(tables, y, matched, generator):
    """Exchange views among objects of a class, in place; tell which objects kept theirs."""
    is_matched = np.ones(len(y), dtype=bool)
    n_views = tables.shape[1]
    for label in np.unique(y):
        members = generator.permutation(np.flatnonzero(y == label))
        rows = members[: len(members) - round(matched * len(members))]
        # In a circle of random order each view moves a number of places of its own. So no two of an object stay
        # together, where there are as many objects as views.
        for view in range(1, n_views):
            tables[rows, view] = tables[np.roll(rows, view), view]
        is_matched[rows] = len(rows) < 2 or n_views < 2
    return is_matched
