"""Gaussian classes in several views, of chosen strength and redundancy, or correlated as S4 asks about."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import helmert
from scipy.stats import ortho_group
from sklearn.utils import Bunch

from fuselearn.arguments import check_count, check_random_state
from fuselearn.datasets.view_blocks import check_in_range, side_by_side
from fuselearn.typing import BoolArray, FloatArray, IntArray, RandomState

PerView: TypeAlias = float | Sequence[float] | FloatArray | Mapping[str, float]
"""A number for all views, one per view, or a dict of view name to number."""


def make_views(
    n_samples: int = 1000,
    *,
    n_classes: int = 2,
    views: Mapping[str, int] | None = None,
    n_views: int = 3,
    n_features: int = 10,
    strength: PerView = 2.0,
    redundancy: float = 0.0,
    noise: PerView = 0.0,
    missing: PerView = 0.0,
    random_state: RandomState = None,
) -> Bunch:
    """Make Gaussian classes in several views, with chosen strength, redundancy, noise and absence.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of objects.
    n_classes : int, default=2
        Number of classes; they are as large as each other, up to one object.
    views : dict of name to int or None, default=None
        Number of columns of each view, at least ``n_classes - 1``. None makes `n_views` views, ``"view0"`` and so on,
        of `n_features` columns each; with a dict these two are not read.
    n_views : int, default=3
        Number of views, where `views` is None.
    n_features : int, default=10
        Number of columns of each view, where `views` is None.
    strength : float, list or dict per view, default=2.0
        Distance between the classes' means in a view, in standard deviations within a class. For two classes, the best
        that can be done with the view alone is an accuracy of Φ(strength / 2): 0.5 for 0, 0.69 for 1, 0.84 for 2,
        0.93 for 3.
    redundancy : float in [0, 1], default=0.0
        Share of each view's evidence that comes from a source all views see. At 0 the views err independently of each
        other. At 1 a view holds nothing that a stronger one does not, and fusion gains nothing.
    noise : float, list or dict per view, default=0.0
        Standard deviation of white noise on each column of a view, in standard deviations within a class. Each view
        has noise of its own. It leaves ``strength / sqrt(1 + noise ** 2)`` of the strength.
    missing : float in [0, 1], list or dict per view, default=0.0
        Share of the objects that lack a view, rounded to whole objects. Their columns are NaN. Each object keeps at
        least one view, so the shares may sum to the number of views less one: with ``1 - 1 / n_views`` each object has
        one view only.
    random_state : int, RandomState or None, default=None
        Seed of all draws.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        The data set, with these attributes.

        X : ndarray of shape (n_samples, n_features of all views)
            The views side by side.
        y : int ndarray of shape (n_samples,)
            Classes, from 0.
        views : dict of name to slice
            The argument `views` of an estimator.
        feature_names : list of str
            Such as ``"view0_3"``.

    See Also
    --------
    make_correlated_gaussians : Views whose columns correlate within a class, more in some classes than in others.

    Notes
    -----
    The evidence in a view is a point around its class's mean, in as many dimensions as the class means need (one for
    two classes), with standard deviation 1. It is turned at random into all columns of the view, so that each holds a
    part of it, and within a class the columns do not correlate.

    A strength s is s² units of evidence. Of these, redundancy · s² are read from a common stream, a weaker view
    reading the beginning of what a stronger one reads, and the rest from a stream of the view's own. So the errors of
    views u and v correlate by redundancy · min(s_u, s_v) / max(s_u, s_v) =: R_uv, and the best that can be done with
    all views (without noise and absence) is what one view of strength √(sᵀ R⁻¹ s) allows.

    Examples
    --------
    >>> from fuselearn.datasets import make_views
    >>> data = make_views(
    ...     300, views={"rna": 5, "image": 8}, strength={"rna": 3, "image": 1}, missing=[0.0, 0.2], random_state=0
    ... )
    >>> data.X.shape, data.views
    ((300, 13), {'rna': slice(0, 5, None), 'image': slice(5, 13, None)})

    >>> from fuselearn import ShareBoostClassifier
    >>> model = ShareBoostClassifier(views=data.views, n_estimators=20).fit(data.X[:200], data.y[:200])
    >>> bool(model.score(data.X[200:], data.y[200:]) > 0.85)
    True
    """
    check_count("n_classes", n_classes, 2)
    check_count("n_samples", n_samples, n_classes)
    widths = _widths(views, n_views, n_features, n_classes)
    names = list(widths)
    strengths = number_per_view("strength", strength, names, least=0)
    noises = number_per_view("noise", noise, names, least=0)
    shares_missing = number_per_view("missing", missing, names, least=0, most=1)
    check_in_range("redundancy", redundancy, least=0, most=1)
    if shares_missing.sum() > len(names) - 1 + 1e-9:
        raise ValueError(
            f"missing must leave each object a view: the shares of the {len(names)} views may sum to {len(names) - 1} "
            f"at most; got {missing!r}, which sum to {shares_missing.sum():g}."
        )

    generator = check_random_state(random_state)
    y = balanced_classes(n_samples, n_classes, generator)
    centres = class_centres(n_classes)[y]
    errors = _errors(strengths, redundancy, centres.shape, generator)
    blocks = {}
    for view, (name, width) in enumerate(widths.items()):
        block = generator.standard_normal((n_samples, width))
        block[:, : n_classes - 1] = strengths[view] * centres + errors[view]
        block = block @ _rotation(width, generator)
        blocks[name] = block + noises[view] * generator.standard_normal(block.shape)
    present = _presence(shares_missing, n_samples, generator)
    for view, block in enumerate(blocks.values()):
        block[~present[:, view]] = np.nan
    X, columns, feature_names = side_by_side(blocks)
    return Bunch(X=X, y=y, views=columns, feature_names=feature_names)


def make_correlated_gaussians(
    n_samples: int = 1000,
    *,
    n_classes: int = 2,
    n_views: int = 2,
    n_features: int = 2,
    correlation: float | Sequence[float] | FloatArray = 0.5,
    separation: PerView = 2.0,
    matched: float = 1.0,
    random_state: RandomState = None,
) -> Bunch:
    """Make Gaussian classes in views that correlate within each class as chosen.

    S4 fuses views whose objects are not matched. Whether that loses anything depends on what only matched objects
    show: how the views of an object vary together. Here that is a setting.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of objects.
    n_classes : int, default=2
        Number of classes; they are as large as each other, up to one object.
    n_views : int, default=2
        Number of views, named ``"view0"`` and so on.
    n_features : int, default=2
        Number of columns of each view, at least ``n_classes - 1``.
    correlation : float, or list of float per class, default=0.5
        Correlation, within a class, of a column with the column of the same number in each other view. Columns of other
        numbers do not correlate. From ``-1 / (n_views - 1)``, the least that so many views can have, to 1.
    separation : float, list or dict per view, default=2.0
        Distance between the classes' means in a view, in standard deviations within a class.
    matched : float in [0, 1], default=1.0
        Share of the objects whose views are their own, rounded to whole objects in each class. The other objects of a
        class have exchanged views among themselves. Each view alone is as before, and so are the labels.
    random_state : int, RandomState or None, default=None
        Seed of all draws.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        The data set, with these attributes.

        X : ndarray of shape (n_samples, n_views * n_features)
            The views side by side.
        y : int ndarray of shape (n_samples,)
            Classes, from 0.
        views : dict of name to slice
            The argument `views` of an estimator.
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
    matched or not: matching does not matter. It does where the separations differ (a weak view then shows how far
    off a strong one is), and where the correlations of the classes differ. With a separation of 0, each view alone
    holds no evidence, and the classes differ in pairs only.

    References
    ----------
    S4: Windridge, Yan. Kernel Combination via Debiased Object Correspondence Analysis. Information Fusion 27, 2016.

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
    roots = np.array([_root(value, n_views) for value in correlations])
    tables = separations[None, :, None] * centres[:, None, :] + roots[y] @ draws
    is_matched = _exchange_views(tables, y, matched, generator)
    X, views, feature_names = side_by_side({name: tables[:, view] for view, name in enumerate(names)})
    return Bunch(X=X, y=y, views=views, feature_names=feature_names, is_matched=is_matched)


def number_per_view(
    argument: str, value: PerView, names: list[str], *, least: float, most: float = np.inf
) -> FloatArray:
    """Spread a setting over the views: a number for all, a list in the views' order, or a dict that names them all."""
    if isinstance(value, Mapping):
        if set(value) != set(names):
            raise ValueError(f"{argument} must have an entry for each of the views {names}; it has {list(value)}.")
        numbers: list[Any] = [value[name] for name in names]
    elif isinstance(value, list | tuple | np.ndarray):
        if len(value) != len(names):
            raise ValueError(
                f"{argument} must hold a number for each of the {len(names)} views {names}; it holds {len(value)}."
            )
        numbers = list(value)
    else:
        numbers = [value] * len(names)
    for number in numbers:
        check_in_range(argument, number, least=least, most=most, given=value, alternative=", or such a number per view")
    return np.array(numbers, dtype=np.float64)


def class_centres(n_classes: int) -> FloatArray:
    """Return the corners of a regular simplex of side 1 and mean 0, so that no two classes are closer than others."""
    return helmert(n_classes).T / np.sqrt(2)


def balanced_classes(n_samples: int, n_classes: int, generator: np.random.RandomState) -> IntArray:
    """Return class numbers in random order; the classes' sizes differ by one at most."""
    return generator.permutation(np.arange(n_samples) % n_classes)


def _widths(views: Mapping[str, int] | None, n_views: int, n_features: int, n_classes: int) -> dict[str, int]:
    """Return the number of columns of each view, by name."""
    if views is None:
        check_count("n_views", n_views)
        check_count("n_features", n_features, n_classes - 1)
        return {f"view{i}": n_features for i in range(n_views)}
    if not isinstance(views, Mapping) or not views or not all(isinstance(name, str) for name in views):
        raise ValueError(
            "views must be None or a dict of name to number of columns, such as {'rna': 5, 'image': 8}; "
            f"got {views!r}."
        )
    for name, width in views.items():
        check_count(f"views[{name!r}]", width, n_classes - 1)
    return dict(views)


def _errors(
    strengths: FloatArray, redundancy: float, shape: tuple[int, ...], generator: np.random.RandomState
) -> FloatArray:
    """Draw the errors of each view's evidence, of variance 1: a part of the common stream and a stream of its own."""
    own_streams = generator.standard_normal((len(strengths), *shape))
    steps = generator.standard_normal((len(strengths), *shape))
    errors = own_streams.copy()
    stream, units_read = np.zeros(shape), 0.0
    # A view of strength 0 reads nothing of the common stream.
    for view in (view for view in np.argsort(strengths, kind="stable") if strengths[view] > 0):
        units = strengths[view] ** 2
        stream = stream + np.sqrt(units - units_read) * steps[view]
        units_read = units
        errors[view] = np.sqrt(redundancy) * stream / strengths[view] + np.sqrt(1 - redundancy) * own_streams[view]
    return errors


def _rotation(width: int, generator: np.random.RandomState) -> FloatArray:
    """Draw a random rotation of a view's columns."""
    return ortho_group.rvs(width, random_state=generator) if width > 1 else np.ones((1, 1))


def _presence(shares_missing: FloatArray, n_samples: int, generator: np.random.RandomState) -> BoolArray:
    """Draw which object has which view: the counts hold exactly, and each object has one view at least."""
    # Shares are rounded together, so that those which leave one view per object still do.
    n_present = n_samples - _whole_parts(shares_missing * n_samples)
    # One view of each object is safe, distributed among the views by how many objects have them.
    n_safe = _whole_parts(n_present * n_samples / n_present.sum())
    safe = generator.permutation(np.repeat(np.arange(len(n_present)), n_safe))
    present = safe[:, None] == np.arange(len(n_present))
    for view, n_more in enumerate(n_present - n_safe):
        others = np.flatnonzero(~present[:, view])
        present[generator.permutation(others)[:n_more], view] = True
    return present


def _whole_parts(parts: FloatArray) -> IntArray:
    """Return whole numbers that differ by less than 1 from the parts, and sum to their rounded sum."""
    return np.diff(np.round(np.cumsum(parts)).astype(int), prepend=0)


def _correlation_per_class(
    correlation: float | Sequence[float] | FloatArray, n_classes: int, n_views: int
) -> list[float]:
    """Check the correlation, and return one for each class."""
    # Many views cannot all be far from each other.
    least = -1 / max(n_views - 1, 1)
    values: list[Any] = (
        list(correlation) if isinstance(correlation, list | tuple | np.ndarray) else [correlation] * n_classes
    )
    if len(values) != n_classes:
        raise ValueError(f"correlation must hold a number for each of the {n_classes} classes; it holds {len(values)}.")
    for value in values:
        check_in_range(
            "correlation", value, least=least, most=1, given=correlation, alternative=", or such a number per class"
        )
    return values


def _root(correlation: float, n_views: int) -> FloatArray:
    """Return the symmetric square root of the matrix of ones on the diagonal and the correlation elsewhere.

    Its eigenvalues are 1 + (n_views - 1) · correlation, for the mean of the views, and 1 - correlation, for the
    differences from it. Rounding may take the first below zero.
    """
    of_mean = np.sqrt(max(1 + (n_views - 1) * correlation, 0.0))
    of_rest = np.sqrt(1 - correlation)
    return of_rest * np.eye(n_views) + (of_mean - of_rest) / n_views


def _exchange_views(tables: FloatArray, y: IntArray, matched: float, generator: np.random.RandomState) -> BoolArray:
    """Exchange views among objects of a class, in place; return which objects kept theirs."""
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
