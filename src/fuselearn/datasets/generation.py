"""Where the classes of made-up data stand, and which object is of which class.

Blocks of columns, one per view, as the one table that estimators take.

Checks of the numbers that shape made-up data.
"""

from collections.abc import Mapping
from numbers import Real

import numpy as np
from scipy.linalg import helmert


def class_centres(n_classes):
    """Corners of a regular simplex of side 1, so that no two classes are closer than others.

    Returns
    -------
    centres : ndarray of shape (n_classes, n_classes - 1)
        Of mean 0.

    Examples
    --------
    >>> class_centres(2)
    array([[ 0.5],
           [-0.5]])
    """
    return helmert(n_classes).T / np.sqrt(2)


def balanced_classes(n_samples, n_classes, generator):
    """Class numbers in random order; the classes' sizes differ by one at most."""
    return generator.permutation(np.arange(n_samples) % n_classes)


def side_by_side(blocks):
    """Put the views' blocks beside each other.

    Parameters
    ----------
    blocks : dict of name to ndarray of shape (n_samples, n_columns)

    Returns
    -------
    X : ndarray of shape (n_samples, n_columns of all views)
    views : dict of name to slice
    feature_names : list of str
        Such as ``"pixels_0"``.

    Examples
    --------
    >>> import numpy as np
    >>> X, views, feature_names = side_by_side({"rna": np.zeros((5, 1)), "image": np.ones((5, 2))})
    >>> views, feature_names
    ({'rna': slice(0, 1, None), 'image': slice(1, 3, None)}, ['rna_0', 'image_0', 'image_1'])
    """
    ends = np.cumsum([block.shape[1] for block in blocks.values()]).tolist()
    views = {name: slice(start, end) for name, start, end in zip(blocks, [0, *ends[:-1]], ends)}
    feature_names = [f"{name}_{i}" for name, block in blocks.items() for i in range(block.shape[1])]
    return np.hstack(list(blocks.values())), views, feature_names


def check_in_range(argument, value, *, least, most=np.inf, given=None, alternative=""):
    """Refuse what is not a finite number from `least` to `most`.

    Parameters
    ----------
    argument : str
        Name of the argument, for the error message.
    value : object
    least, most : float
    given : object, default=None
        What the user gave, where `value` is a part of it.
    alternative : str, default=""
        What would be right, too.
    """
    is_number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if not is_number or not np.isfinite(value) or not least <= value <= most:
        bounds = f"of at least {least:g}" if most == np.inf else f"from {least:g} to {most:g}"
        given = value if given is None else given
        raise ValueError(f"{argument} must be a number {bounds}{alternative}; got {given!r}.")


def number_per_view(argument, value, names, *, least, most=np.inf):
    """Spread a setting over the views: one number for all, a list in the views' order, or a dict that names them all.

    Parameters
    ----------
    argument : str
        Name of the argument, for the error message.
    value : float, list of float, or dict of name to float
    names : list of str
        Names of the views.
    least, most : float
        Smallest and largest number that is right.

    Returns
    -------
    numbers : float ndarray of shape (n_views,)

    Examples
    --------
    >>> number_per_view("noise", {"image": 0, "rna": 0.5}, ["rna", "image"], least=0)
    array([0.5, 0. ])
    """
    if isinstance(value, Mapping):
        if set(value) != set(names):
            raise ValueError(f"{argument} must have an entry for each of the views {names}; it has {list(value)}.")
        numbers = [value[name] for name in names]
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
