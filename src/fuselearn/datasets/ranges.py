"""Checks of the numbers that shape made-up data."""

from collections.abc import Mapping
from numbers import Real

import numpy as np


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
