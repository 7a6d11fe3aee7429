"""Checks of what a fitted model holds, for models that were built from a file.

Compiled loops index arrays without checking bounds, so the `validate` method of a type checks everything that they
index with. It reads attributes and calls nothing but the functions here and the `validate` of its parts, whose types it
has checked: an object of a file can be checked before anything of it is trusted.
"""

from collections.abc import Collection
from typing import Any, TypeVar

import numpy as np

from fuselearn.typing import AnyArray

Part = TypeVar("Part")


def check_array(
    owner: object, name: str, kind: Any, shape: tuple[int | None, ...], *, finite: bool = True
) -> AnyArray:
    """Return the attribute `name` of an object, a plain array of this type and shape; None is any length.

    The type may be that of one kind of numbers, such as float32, or of several, such as integer.

    Raises
    ------
    ValueError
        If it is missing, or anything else, or (with `finite`) has NaN or infinity.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> check_array(SimpleNamespace(shares=np.ones(2)), "shares", np.float64, (2,))
    array([1., 1.])
    >>> check_array(SimpleNamespace(shares=np.ones(2)), "shares", np.float64, (3,))
    Traceback (most recent call last):
    ...
    ValueError: shares of a SimpleNamespace has the shape (2,), not (3,)
    """
    array = vars(owner).get(name)
    what = f"{name} of a {type(owner).__name__}"
    if type(array) is not np.ndarray:
        raise ValueError(f"{what} is not an array but {_kind_of(array)}")
    if not np.issubdtype(array.dtype, kind) or not array.dtype.isnative:
        raise ValueError(f"{what} has numbers of type {array.dtype}, not {kind.__name__}")
    lengths = [given if length is None else length for given, length in zip(array.shape, shape)]
    if array.ndim != len(shape) or array.shape != tuple(lengths):
        wanted = "(" + ", ".join("any" if length is None else str(length) for length in shape)
        raise ValueError(f"{what} has the shape {array.shape}, not {wanted + (',)' if len(shape) == 1 else ')')}")
    if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{what} has NaN or infinity")
    return array


def check_indices(owner: object, name: str, array: AnyArray, n: int) -> None:
    """Refuse numbers of an array that are not from 0 to n − 1."""
    if array.size and (int(array.min()) < 0 or int(array.max()) >= n):
        raise ValueError(f"{name} of a {type(owner).__name__} has numbers that are not from 0 to {n - 1}")


def check_number(owner: object, name: str, *, least: float = -np.inf, largest: float = np.inf) -> float:
    """Return the attribute `name` of an object, a finite float from `least` to `largest`."""
    number: Any = vars(owner).get(name)
    what = f"{name} of a {type(owner).__name__}"
    if type(number) not in (float, np.float64):
        raise ValueError(f"{what} is not a float but {_kind_of(number)}")
    if not (np.isfinite(number) and least <= number <= largest):
        raise ValueError(f"{what} is {number}, which is not finite and from {least} to {largest}")
    return float(number)


def check_count(owner: object, name: str, *, least: int = 0) -> int:
    """Return the attribute `name` of an object, a whole number of at least `least`."""
    number = vars(owner).get(name)
    what = f"{name} of a {type(owner).__name__}"
    if type(number) is not int:
        raise ValueError(f"{what} is not a whole number but {_kind_of(number)}")
    if number < least:
        raise ValueError(f"{what} is {number}, but must be at least {least}")
    return number


def check_part(owner: object, name: str, kind: type[Part]) -> Part:
    """Return the attribute `name` of an object, which must be of exactly this type."""
    part = vars(owner).get(name)
    if type(part) is not kind:
        raise ValueError(f"{name} of a {type(owner).__name__} is not a {kind.__name__} but {_kind_of(part)}")
    return part


def check_parts(owner: object, name: str, kinds: Collection[type[Any]], *, least: int = 1) -> list[Any]:
    """Return the attribute `name` of an object, a list of at least `least` objects of exactly one of these types."""
    parts = check_part(owner, name, list)
    what = f"{name} of a {type(owner).__name__}"
    if len(parts) < least:
        raise ValueError(f"{what} has {len(parts)} items, but must have at least {least}")
    for part in parts:
        if type(part) not in kinds:
            wanted = " or ".join(kind.__name__ for kind in kinds)
            raise ValueError(f"{what} has {_kind_of(part)}, not a {wanted}")
    return parts


def check_equal(owner: object, what: str, numbers: Collection[int]) -> None:
    """Refuse parts that differ in a number, such as that of their columns."""
    if len(set(numbers)) > 1:
        raise ValueError(
            f"the parts of a {type(owner).__name__} differ in the number of {what}: {sorted(set(numbers))}"
        )


def _kind_of(value: object) -> str:
    """Return what a value is, in words."""
    return "missing" if value is None else f"a {type(value).__name__}"
