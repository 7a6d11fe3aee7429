"""Checks of objects that were built from a file, before anything is called on them.

Compiled code walks trees and adds up votes without checking bounds: a node, column or class of too high a number would
read or write foreign memory, and a circle would never end. A checksum shows that a file is whole, not who wrote it. So
every object of fuselearn's own types is checked as it stands in memory, parts before the whole:

1. its fields are of the types that the class declares (`check_fields`: the annotations of a dataclass or NamedTuple);
2. its own method ``validate()``, where the class has one, makes sure that sizes, numbers and parts agree. It is written
   with the functions below, reads attributes, and calls no method of the objects it looks at.
"""

import inspect
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from fuselearn.typing import AnyArray, BoolArray, IntArray

Part = TypeVar("Part")

MAX_JOBS = 1_000
"""Threads or processes that a model may ask for."""
MAX_CLASSES = 100_000
"""Classes of a model."""
MAX_TREE_DEPTH = 10_000
"""Levels of a tree, with those of its root and of its deepest leaf."""
DAMAGED = (ArithmeticError, AttributeError, LookupError, TypeError)
"""Errors of a check that met something else than what every fit makes."""
_DECLARED: dict[type[Any], dict[str, Any]] = {}
"""Fields of classes whose annotations were evaluated."""


def validate_object(value: Any) -> None:
    """Refuse an object of fuselearn whose fields are not what its class declares, or do not agree."""
    kind = type(value)
    try:
        check_fields(value)
        if hasattr(kind, "validate"):
            kind.validate(value)
    except DAMAGED as error:
        raise ValueError(f"it has a {kind.__name__} that is not whole ({described_error(error)})") from None


def described_error(error: Exception) -> str:
    """Return an error in words, short enough for a message."""
    return f"{type(error).__name__}: {error!s:.200}"


def check_fields(value: Any) -> None:
    """Refuse a dataclass or NamedTuple whose fields are not of the types that it declares."""
    for name, hint in declared_fields(type(value)).items():
        field = getattr(value, name) if isinstance(value, tuple) else vars(value)[name]
        if not _is_of(field, hint):
            raise ValueError(f"it has a {type(value).__name__} whose {name} is {described(field)}")


def declared_fields(kind: type[Any]) -> dict[str, Any]:
    """Return the fields of a dataclass or NamedTuple and their types; none for other classes."""
    if kind not in _DECLARED:
        names: Sequence[str] = ()
        if is_dataclass(kind):
            names = [field.name for field in fields(kind)]
        elif issubclass(kind, tuple):
            names = getattr(kind, "_fields", ())
        hints = get_type_hints(kind) if names else {}
        _DECLARED[kind] = {name: hints[name] for name in names}
    return _DECLARED[kind]


def check_array(
    owner: object,
    name: str,
    kind: Any,
    shape: Sequence[int | None],
    *,
    at_least: float | None = None,
    below: float | None = None,
    finite: bool = True,
) -> AnyArray:
    """Return the attribute `name` of an object, a plain array of this type, shape and range; None is any length.

    The type may be that of one kind of numbers, such as float32, or of several, such as integer or generic.

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
    if array.size and (
        (at_least is not None and not array.min() >= at_least) or (below is not None and not array.max() < below)
    ):
        raise ValueError(f"{what} has numbers out of range")
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


def check_integer(owner: object, name: str, *, least: int = 0, below: int | None = None) -> int:
    """Return the attribute `name` of an object, a whole number of at least `least` and below `below`."""
    number: Any = vars(owner).get(name)
    what = f"{name} of a {type(owner).__name__}"
    if not _is_integer(number):
        raise ValueError(f"{what} is not a whole number but {_kind_of(number)}")
    if number < least or (below is not None and number >= below):
        raise ValueError(f"{what} is {number!r:.60}, which is out of range")
    return int(number)


def check_index(model: Any, n_rows: int) -> None:
    """Refuse names of training rows that are not numbers or texts, or not one for each row; there may be none."""
    index = vars(model).get("_index")
    if index is None:
        return
    if not isinstance(index, np.ndarray) or index.shape != (n_rows,) or index.dtype.kind not in "ifU":
        raise ValueError("it has names of rows that do not fit the rows")


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


def check_children(inner: BoolArray, left: IntArray, right: IntArray, feature: IntArray, n_columns: int) -> None:
    """Refuse a tree unless the children of its inner nodes come after them and exist, so that every way down ends."""
    if inner.ndim != 1 or not len(inner):
        raise ValueError("it has a tree without nodes")
    numbers = np.arange(len(inner))
    for child in (left, right):
        child = child.astype(np.int64)
        if np.any(inner & ((child <= numbers) | (child >= len(inner)))):
            raise ValueError("it has a tree whose nodes lead out of it, or in a circle")
    feature = feature.astype(np.int64)
    if np.any(inner & ((feature < 0) | (feature >= n_columns))):
        raise ValueError(f"it has a tree that reads columns beyond the {n_columns} it was fitted on")
    children = np.concatenate([left[inner], right[inner]]).astype(np.int64)
    if np.any(np.bincount(children) > 1):
        raise ValueError("it has a tree with a node of two parents")
    if len(inner) > MAX_TREE_DEPTH:
        _check_depth(inner, left, right)


def _check_depth(inner: BoolArray, left: IntArray, right: IntArray) -> None:
    """Refuse a tree whose ways down are absurdly long."""
    has_parent = np.zeros(len(inner), dtype=bool)
    has_parent[left[inner]] = has_parent[right[inner]] = True
    level = np.flatnonzero(~has_parent)
    for _ in range(MAX_TREE_DEPTH):
        level = level[inner[level]]
        if not len(level):
            return
        level = np.concatenate([left[level], right[level]])
    raise ValueError(f"it has a tree of more than {MAX_TREE_DEPTH:,} levels")


def check_views(model: Any) -> None:
    """Refuse an estimator whose views are not columns of the table it was fitted on; one that is not fitted passes.

    `n_jobs` is checked as well: a file must not ask for a million threads.
    """
    attributes = vars(model)
    n_jobs = attributes.get("n_jobs")
    if n_jobs is not None and not (_is_integer(n_jobs) and -MAX_JOBS <= n_jobs <= MAX_JOBS):
        raise ValueError(f"it has the n_jobs {described(n_jobs)}; None or a whole number would be right")
    if "view_columns_" not in attributes:
        return
    n_columns = check_integer(model, "n_features_in_")
    names, view_columns = attributes["view_names_"], attributes["view_columns_"]
    if type(names) is not list or type(view_columns) is not list or len(names) != len(view_columns):
        raise ValueError("it has another number of views than of names for them")
    for name, columns in zip(names, view_columns):
        if not isinstance(name, str) or type(columns) is not np.ndarray or columns.ndim != 1:
            raise ValueError("it has views that are not names and lists of columns")
        if columns.dtype.kind != "i" or not len(columns) or columns.min() < 0 or columns.max() >= n_columns:
            raise ValueError(f"it has a view with columns beyond the {n_columns} it was fitted on")


def check_classes(model: Any) -> int:
    """Return the number of classes of an estimator whose prior has as many; refuse any other."""
    classes = check_array(model, "classes_", np.generic, (None,))
    n_classes = len(classes)
    if n_classes > MAX_CLASSES:
        raise ValueError(f"it has {n_classes:,} classes; {MAX_CLASSES:,} are the most")
    if len(np.unique(classes)) < n_classes:
        raise ValueError(f"it has {n_classes:,} classes, some of them twice")
    if "class_prior_" in vars(model):
        check_array(model, "class_prior_", np.float64, (n_classes,), at_least=0.0)
    return n_classes


def _is_integer(value: Any) -> bool:
    """Return whether a value is a whole number and no truth value."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_fitted(owner: object) -> bool:
    """Check whether an object has any attribute that only a fit sets."""
    return any(name.endswith("_") for name in vars(owner))


def check_contents(owner: object, kinds: dict[str, type | tuple[type, ...]]) -> list[Any]:
    """Return attributes of an object that was built from a file; one that lacks or is of another type is an error."""
    attributes = vars(owner)
    for name, kind in kinds.items():
        if name not in attributes:
            raise ValueError(f"{type(owner).__name__} lacks {name}")
        if not isinstance(attributes[name], kind) or isinstance(attributes[name], bool):
            raise ValueError(f"{type(owner).__name__} has a {type(attributes[name]).__name__} as {name}")
    return [attributes[name] for name in kinds]


def check_texts(what: str, texts: Any) -> None:
    """Refuse what is not a list of texts."""
    if not isinstance(texts, list | tuple) or not all(type(text) is str for text in texts):
        raise ValueError(f"{what} are not a list of texts")


def with_present_names(kind: type[Any], state: dict[str, Any]) -> dict[str, Any]:
    """Return attributes out of a file, with settings that an earlier version named otherwise by their present names."""
    former = getattr(kind, "_former_settings", {})
    return {former.get(name, name): item for name, item in state.items()}


def later_fields(kind: type[Any], names: Collection[str]) -> dict[str, Any]:
    """Return the fields and settings that a file of an earlier version lacks, as the class has them by default.

    A default is the class's own, not the file's, and what was built is checked as if all had been in the file. A file
    that lacks a field without a default, or has other names than the class, is refused; what a fit leaves is never
    filled in.
    """
    if is_dataclass(kind):
        defaults = {field.name: field.default for field in fields(kind) if field.default is not MISSING}
        made = {field.name: field.default_factory for field in fields(kind) if field.default_factory is not MISSING}
        defaults |= {name: make() for name, make in made.items() if name not in names}
    elif declared_fields(kind):
        defaults = getattr(kind, "_field_defaults", {})
    elif hasattr(kind, "get_params"):
        parameters = inspect.signature(kind.__init__).parameters.values()
        defaults = {item.name: item.default for item in parameters if item.default is not item.empty}
    else:
        defaults = {}
    later = {name: deepcopy(default) for name, default in defaults.items() if name not in names}
    check_names(kind, {*names, *later})
    return later


def check_names(kind: type[Any], names: Any) -> None:
    """Refuse attributes that every object of a type has not, or that would hide a method of it."""
    if declared := declared_fields(kind):
        if names != declared.keys():
            raise ValueError(f"it has a {kind.__name__} with other fields than {sorted(declared)}")
        return
    for name in names:
        if not name.isidentifier() or name.startswith("__") or inspect.getattr_static(kind, name, None) is not None:
            raise ValueError(f"it has a {kind.__name__} with the attribute {name!r:.60}, which no fit sets")
    if hasattr(kind, "get_params"):
        settings = list(inspect.signature(kind.__init__).parameters)[1:]
        if missing := [name for name in settings if name not in names]:
            raise ValueError(f"it has a {kind.__name__} without its setting {missing[0]}")


def _is_of(value: Any, hint: Any) -> bool:
    """Return whether a value is of an annotated type; what cannot be told from a value passes."""
    if hint is Any or isinstance(hint, TypeVar) or hint is object:
        return True
    if hint in (None, NoneType):
        return value is None
    if hint is float:
        return isinstance(value, float | np.floating) or _is_integer(value)
    if hint is int:
        return _is_integer(value)
    if hint is bool:
        return isinstance(value, bool | np.bool_)
    origin, arguments = get_origin(hint), get_args(hint)
    alias = getattr(origin or hint, "__value__", None)
    if alias is not None:  # of a `type` statement, as NumPy's NDArray is from 2.5 on
        return _is_of(value, alias[arguments] if arguments else alias)
    if origin in (Union, UnionType):
        return any(_is_of(value, option) for option in arguments)
    if origin is Literal:
        return value in arguments
    if origin is np.ndarray:
        scalar = get_args(arguments[1])[0]
        return type(value) is np.ndarray and (scalar is Any or np.issubdtype(value.dtype, get_origin(scalar) or scalar))
    return _is_of_container(value, hint, origin, arguments)


def _is_of_container(value: Any, hint: Any, origin: Any, arguments: tuple[Any, ...]) -> bool:
    """Return whether a value is of an annotated container or class."""
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return isinstance(value, tuple) and all(_is_of(item, arguments[0]) for item in value)
        return isinstance(value, tuple) and len(value) == len(arguments) and all(map(_is_of, value, arguments))
    if origin in (list, Sequence):
        return isinstance(value, list | tuple) and all(_is_of(item, arguments[0]) for item in value)
    if origin in (dict, Mapping):
        return isinstance(value, dict) and all(
            _is_of(key, arguments[0]) and _is_of(item, arguments[1]) for key, item in value.items()
        )
    kind = origin or hint
    # What a protocol asks for are methods: those of foreign types, which the caller trusts by name.
    return not isinstance(kind, type) or getattr(kind, "_is_protocol", False) or isinstance(value, kind)


def described(value: Any) -> str:
    """Return what a value is, for a message, without asking the value."""
    if type(value) is np.ndarray:
        return f"an array of {value.dtype}"
    if value is None or isinstance(value, str | int | float):
        return f"{value!r:.60}"
    return f"a {type(value).__name__}"


def _kind_of(value: object) -> str:
    """Return what a value is, in words."""
    return "missing" if value is None else f"a {type(value).__name__}"
