"""Gaussian classes seen through several views that know more or less, and more or less the same."""

from collections.abc import Mapping

import numpy as np
from scipy.stats import ortho_group
from sklearn.utils import Bunch, check_random_state

from fuselearn.datasets.generation import balanced_classes, check_in_range, class_centres, number_per_view, side_by_side
from fuselearn.estimators import check_count


def make_views(
    n_samples=1000,
    *,
    n_classes=2,
    views=None,
    n_views=3,
    n_features=10,
    strength=2.0,
    redundancy=0.0,
    noise=0.0,
    missing=0.0,
    random_state=None,
):
    """Make classes that are seen through several views, with chosen strength, redundancy, noise and absence.

    Parameters
    ----------
    n_samples : int, default=1000
    n_classes : int, default=2
        The classes are as large as each other, up to one object.
    views : dict of name to int or None, default=None
        Number of columns of each view, at least ``n_classes - 1``. None makes `n_views` views, ``"view0"`` and so on,
        of `n_features` columns each; with a dict these two are not read.
    n_views : int, default=3
    n_features : int, default=10
    strength : float, list or dict per view, default=2.0
        Distance between the classes' means in a view, in standard deviations within a class. For two classes, the best
        that can be done with the view alone is an accuracy of Φ(strength / 2): 0.5 for 0, 0.69 for 1, 0.84 for 2,
        0.93 for 3.
    redundancy : float in [0, 1], default=0.0
        Share of each view's evidence that comes from a source all views see. At 0 the views err independently of each
        other. At 1 a view knows nothing that a stronger one does not, and fusion gains nothing.
    noise : float, list or dict per view, default=0.0
        Standard deviation of white noise on each column of a view, in standard deviations within a class. Each view
        has noise of its own. It leaves ``strength / sqrt(1 + noise ** 2)`` of the strength.
    missing : float in [0, 1], list or dict per view, default=0.0
        Share of the objects that lack a view, rounded to whole objects. Their columns are NaN. Each object keeps at
        least one view, so the shares may sum to the number of views less one: with ``1 - 1 / n_views`` each object has
        one view only.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        X : ndarray of shape (n_samples, n_features of all views)
            The views side by side.
        y : int ndarray of shape (n_samples,)
            Classes, from 0.
        views : dict of name to slice
            What to pass as `views` to an estimator.
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


def _widths(views, n_views, n_features, n_classes):
    """Number of columns of each view, by name."""
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


def _errors(strengths, redundancy, shape, generator):
    """How far off each view's evidence is, of variance 1: its part of the common stream and its own stream."""
    own = generator.standard_normal((len(strengths), *shape))
    steps = generator.standard_normal((len(strengths), *shape))
    errors = own.copy()
    stream, units_read = np.zeros(shape), 0.0
    # A view of strength 0 reads nothing: what it shows is its own.
    for view in (view for view in np.argsort(strengths, kind="stable") if strengths[view] > 0):
        units = strengths[view] ** 2
        stream = stream + np.sqrt(units - units_read) * steps[view]
        units_read = units
        errors[view] = np.sqrt(redundancy) * stream / strengths[view] + np.sqrt(1 - redundancy) * own[view]
    return errors


def _rotation(width, generator):
    return ortho_group.rvs(width, random_state=generator) if width > 1 else np.ones((1, 1))


def _presence(shares_missing, n_samples, generator):
    """Which object has which view: the counts hold exactly, and each object has one view at least."""
    # Shares are rounded together, so that those which leave one view per object still do.
    n_present = n_samples - _whole_parts(shares_missing * n_samples)
    # One view of each object is safe, shared out among the views by how many objects have them.
    n_safe = _whole_parts(n_present * n_samples / n_present.sum())
    safe = generator.permutation(np.repeat(np.arange(len(n_present)), n_safe))
    present = safe[:, None] == np.arange(len(n_present))
    for view, n_more in enumerate(n_present - n_safe):
        others = np.flatnonzero(~present[:, view])
        present[generator.permutation(others)[:n_more], view] = True
    return present


def _whole_parts(parts):
    """Whole numbers that differ by less than 1 from the parts, and sum to their rounded sum."""
    return np.diff(np.round(np.cumsum(parts)).astype(int), prepend=0)
