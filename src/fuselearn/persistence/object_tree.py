"""The closed format: fuselearn's own types, arrays and plain values, written as JSON, and built again.

A value is written as

- itself: None, a truth value, a whole number, a finite float, text; a list as a list;
- a node, an object with one of the keys of `BUILDERS`: ``{"tuple": [...]}``, ``{"dict": [[key, value], ...]}``,
  ``{"array": [offset, dtype, shape, order]}`` (the bytes are in the member `ARRAYS`), and so on;
- ``{"object": id, "state": {...}}``: one of fuselearn's types in `model_types`, by its id and its attributes;
- ``{"ref": number}``: an object or array that came before, where its node has the ``"number"``;
- ``{"foreign": number}``: an object of any other type. Those are kept apart (`foreign_tree`), and are there only if
  the caller trusts their types.

Nothing in a file is called: an object of ours is made empty, its attributes are set, parts first, and it is checked
(`validation`). It refers only to what was built before: there are no circles. Nodes have exactly the keys written.
"""

import base64
import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from fuselearn.persistence.container import Json
from fuselearn.persistence.model_types import (
    DEFINED_IN,
    DTYPE,
    MAX_EMPTY_ITEMS,
    SPARSE,
    check_compressed,
    checked_list,
    dtype_named,
    generator_from,
    generator_state,
    id_of,
    identity_of,
    is_selector_setting,
    native,
    own_class,
    size_of,
)
from fuselearn.persistence.validation import declared_fields, later_fields, validate_object, with_present_names
from fuselearn.typing import AnyArray

ALIGNMENT = 64
"""Every array begins at a multiple of so many bytes."""
MAX_DEPTH = 200
"""Nested values of a model, in which an estimator counts `ESTIMATOR_DEPTH`."""
MAX_IN_RANGES = 2_000_000
"""Numbers in all ranges of a file together: views are given as ranges of columns, which are counted out later."""
PLAIN = (bool, bytes, float, int, str, type(None))
"""Types of the values of an array of objects."""
KEYS = (*PLAIN, frozenset, tuple)
"""Types of keys of a dict, and of values of a set."""
LARGEST_KEY, MAX_COMPOUND_KEYS = 2**60, 10_000
"""Whole numbers that are keys are below the one, and tuples of a file that are keys are as many as the other."""
ESTIMATOR_DEPTH = 40
"""Levels that an estimator counts for: one within another makes predicting several times as long."""
NUMBERED = ("array", "foreign", "object", "objects", "sparse")
"""Kinds of nodes that others may refer to."""
FEW_NODES, MAX_REPETITION = 100_000, 100
"""Values of a tree, if everything were written out where it is referred to, and how many more for each that it has."""
NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class Writer:
    """Turns a model into JSON, the bytes of its arrays, and a list of foreign objects.

    Attributes
    ----------
    foreign : list of object
        Objects of other types than ours, by the number under which the tree refers to them.
    places : list of tuple of str
        Where in the model each of them is.
    """

    def __init__(self) -> None:
        self.foreign: list[Any] = []
        self.places: list[tuple[str, ...]] = []
        self._content = bytearray()
        self._nodes: dict[int | bytes, Json] = {}
        self._written: list[Any] = []  # kept, so that no other object gets the same address
        self._open: set[int] = set()
        self._n_shared = 0

    @property
    def arrays(self) -> bytes:
        """Bytes of all arrays."""
        return bytes(self._content)

    def write(self, value: Any, place: tuple[str, ...] = ()) -> Any:
        """Return a value as JSON; `place` says where it is in the model, for messages."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": str(value)}
        if type(value) is list:
            return self._inside(value, lambda: self._items(value, place), place)
        identity = identity_of(value)
        if (node := self._nodes.get(identity)) is not None:
            if "number" not in node:
                self._n_shared += 1
                node["number"] = self._n_shared
            return {"ref": node["number"]}
        node = self._inside(value, lambda: self._node(value, place), place)
        if {"array", "objects", "object", "foreign", "sparse"} & node.keys():
            self._nodes[identity] = node
            self._written.append(value)
        return node

    def _inside(self, value: Any, written: Callable[[], Any], place: tuple[str, ...]) -> Any:
        """Return what a function writes of a value, and refuse one that holds itself."""
        if id(value) in self._open:
            raise ValueError(f"{'.'.join(place)} refers to itself")
        self._open.add(id(value))
        try:
            return written()
        finally:
            self._open.discard(id(value))

    def _items(self, values: Any, place: tuple[str, ...]) -> list[Any]:
        """Return several values as JSON."""
        return [self.write(value, (*place, str(number))) for number, value in enumerate(values)]

    def _node(self, value: Any, place: tuple[str, ...]) -> Json:
        """Return a value that is not itself JSON as a node."""
        kind = type(value)
        if kind is tuple:
            return {"tuple": self._items(value, place)}
        if kind is dict:
            return {
                "dict": [[self.write(key, place), self.write(item, (*place, str(key)))] for key, item in value.items()]
            }
        if kind in (set, frozenset):
            # In an order of their own, so that equal models make equal files.
            return {kind.__name__: sorted(self._items(value, place), key=repr)}
        if kind in (slice, range):
            bounds = [value.start, value.stop, value.step]
            if all(bound is None or type(bound) is int for bound in bounds):
                return {kind.__name__: bounds}
        if kind is bytes:
            return {"bytes": base64.b64encode(value).decode()}
        if kind is np.ndarray:
            return self._array_node(value, place)
        if isinstance(value, np.generic) and value.dtype.kind not in "OV":
            little = value.dtype.newbyteorder("<")
            content = value.astype(little).tobytes()[
                : little.itemsize
            ]  # NumPy makes room for a character in a text of none
            return {"scalar": [little.str, base64.b64encode(content).decode()]}
        if (state := generator_state(value)) is not None:
            return {"generator": [kind.__name__, self.write(state, place)]}
        return self._object_node(value, place)

    def _array_node(self, array: AnyArray, place: tuple[str, ...]) -> Json:
        """Return the node of an array, whose bytes go to the end of all others."""
        if array.dtype.kind == "O":
            return {"objects": [list(array.shape), self._items(array.ravel().tolist(), place)]}
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        if not DTYPE.fullmatch(little.dtype.str):
            return self._foreign_node(array, place)
        order: Literal["C", "F"] = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        self._content.extend(bytes(-len(self._content) % ALIGNMENT))
        offset = len(self._content)
        self._content.extend(little.tobytes(order))
        return {"array": [offset, little.dtype.str, list(array.shape), order]}

    def _object_node(self, value: Any, place: tuple[str, ...]) -> Json:
        """Return the node of an object: ours by its attributes, a column selector by its settings, or a foreign one."""
        kind = type(value)
        if (public_id := id_of(kind)) is not None:
            declared = declared_fields(kind)
            if isinstance(value, tuple):
                state = {name: getattr(value, name) for name in declared}
            else:
                state = {name: vars(value)[name] for name in declared or vars(value)}
            return {
                "object": public_id,
                "state": {name: self.write(item, (*place, name)) for name, item in state.items()},
            }
        full_name = f"{kind.__module__}.{kind.__qualname__}"
        if full_name.startswith("fuselearn."):
            raise ValueError(f"{'.'.join(place) or 'it'} is a {full_name}, which has no public id for saved models")
        if full_name.startswith("scipy.sparse.") and kind.__name__ in SPARSE:
            parts = [value.data, value.indices, value.indptr]
            return {"sparse": [kind.__name__, list(value.shape), *(self.write(part, place) for part in parts)]}
        if full_name == "sklearn.compose._column_transformer.make_column_selector":
            settings = [value.pattern, value.dtype_include, value.dtype_exclude]
            if all(is_selector_setting(setting) for setting in settings):
                return {"column_selector": settings}
        return self._foreign_node(value, place)

    def _foreign_node(self, value: Any, place: tuple[str, ...]) -> Json:
        """Return the node of an object that is kept apart."""
        self.foreign.append(value)
        self.places.append(place)
        return {"foreign": len(self.foreign) - 1}


class _SharedValue(NamedTuple):
    """A value that others refer to: how deep it is, and how many values it is made of, if all were written out."""

    value: Any
    height: int
    n_written_out: int


class Reader:
    """Builds again what `Writer` wrote.

    Parameters
    ----------
    arrays : bytes
        Bytes of all arrays.
    foreign : list of object
        Foreign objects, which the caller trusts.
    """

    def __init__(self, arrays: bytes, foreign: list[Any]) -> None:
        self._arrays = arrays
        self._foreign = foreign
        self._shared: dict[int, _SharedValue] = {}
        self._deepest = self._n_nodes = self._n_written_out = 0
        self._in_ranges = self._n_empty = 0
        self._taken = 0
        self._n_compound = 0

    def read(self, written: Any, depth: int = 0) -> Any:
        """Return the value that JSON stands for."""
        self._n_nodes += 1
        self._count(depth, 1)
        if written is None or type(written) in (bool, int, float, str):
            if type(written) is float and not math.isfinite(written):
                raise ValueError("its tree has a number that fuselearn.save would write otherwise")
            return written
        if type(written) is list:
            return [self.read(item, depth + 1) for item in written]
        keys = written.keys() - {"number", "state"}
        kind = next(iter(keys)) if len(keys) == 1 else None
        if kind not in BUILDERS or ("state" in written) != (kind == "object"):
            raise ValueError(f"its tree has a node of {sorted(written)!r:.90}, which fuselearn.save never writes")
        if "number" not in written:
            return BUILDERS[kind](self, written, depth + 1)
        number, deepest, written_out = written["number"], self._deepest, self._n_written_out
        if kind not in NUMBERED or type(number) is not int:
            raise ValueError(f"its tree has a {kind} with a number, which only objects have that are referred to")
        self._deepest = depth
        value = BUILDERS[kind](self, written, depth + 1)
        if number in self._shared:
            raise ValueError("its tree has two objects of one number")
        self._shared[number] = _SharedValue(value, self._deepest - depth, self._n_written_out - written_out)
        self._deepest = max(self._deepest, deepest)
        return value

    def _count(self, depth: int, n_written_out: int) -> None:
        """Count values that are at a depth, as if nothing were shared: whoever walks a model meets them all."""
        self._deepest = max(self._deepest, depth)
        self._n_written_out += n_written_out
        if depth > MAX_DEPTH:
            raise ValueError(f"its tree is more than {MAX_DEPTH} levels deep")
        if self._n_written_out > FEW_NODES + MAX_REPETITION * self._n_nodes:
            raise ValueError("its tree has parts that refer to each other far too often")

    def _items(self, written: Any, depth: int, length: int | None = None) -> list[Any]:
        """Return the values of a list, of a length where one is given."""
        return [self.read(item, depth) for item in checked_list(written, length)]

    def _key(self, key: Any) -> Any:
        """Return what can be a key, or in a set; refuse an object, whose methods would be called to compare it.

        Python gives many large numbers, and many tuples, the same place in a table: a file must not choose them.
        """
        parts = list(key) if type(key) in (tuple, frozenset) else []
        self._n_compound += bool(parts)
        plain = type(key) in KEYS or (isinstance(key, np.generic) and not isinstance(key, np.complexfloating))
        if not (parts or plain) or self._n_compound > MAX_COMPOUND_KEYS:
            raise ValueError(f"its tree has a {type(key).__name__} for a key, or too many of them")
        if type(key) is int and abs(key) >= LARGEST_KEY:
            raise ValueError(f"its tree has a number of {LARGEST_KEY:,} or more for a key")
        for part in parts:
            self._key(part)
        return key

    def _tuple(self, node: Json, depth: int) -> Any:
        return tuple(self._items(node["tuple"], depth))

    def _dict(self, node: Json, depth: int) -> Any:
        pairs = [self._items(pair, depth, 2) for pair in checked_list(node["dict"])]
        built = {self._key(key): value for key, value in pairs}
        if len(built) != len(pairs):
            raise ValueError("its tree has a dict with one key twice")
        return built

    def _set(self, node: Json, depth: int) -> Any:
        return {self._key(item) for item in self._items(node["set"], depth)}

    def _frozenset(self, node: Json, depth: int) -> Any:
        return frozenset(self._key(item) for item in self._items(node["frozenset"], depth))

    def _slice(self, node: Json, depth: int) -> Any:
        bounds = checked_list(node["slice"], 3)
        if any(type(bound) not in (int, type(None)) for bound in bounds):
            raise ValueError("its tree has a slice that is not one of whole numbers")
        return slice(*bounds)

    def _range(self, node: Json, depth: int) -> Any:
        bounds = checked_list(node["range"], 3)
        if any(type(bound) is not int for bound in bounds) or bounds[2] == 0:
            raise ValueError("its tree has a range that is not one of three whole numbers")
        built = range(*bounds)
        # Its own length may be more than Python can count.
        self._in_ranges += abs(bounds[1] - bounds[0]) // abs(bounds[2])
        if self._in_ranges > MAX_IN_RANGES:
            raise ValueError(f"it has ranges of more than {MAX_IN_RANGES:,} numbers")
        return built

    def _bytes(self, node: Json, depth: int) -> Any:
        return _decoded(node["bytes"])

    def _float(self, node: Json, depth: int) -> Any:
        if type(node["float"]) is not str or node["float"] not in NOT_FINITE:
            raise ValueError("its tree has a number that is none")
        return NOT_FINITE[node["float"]]

    def _scalar(self, node: Json, depth: int) -> Any:
        name, content = checked_list(node["scalar"], 2)
        raw = _decoded(content)
        dtype = dtype_named(name)
        if len(raw) != dtype.itemsize:
            raise ValueError("its tree has a number of another size than its type")
        return native(np.frombuffer(raw, dtype))[0] if raw else dtype.type()

    def _array(self, node: Json, depth: int) -> Any:
        offset, name, shape, order = checked_list(node["array"], 4)
        dtype, size = dtype_named(name), size_of(shape)
        if type(offset) is not int or offset < 0 or order not in ("C", "F"):
            raise ValueError("its tree has an array that is nowhere")
        # No two arrays share bytes: a small file with the same ones a thousand times would fill the memory.
        self._taken += size * dtype.itemsize
        if max(offset + size * dtype.itemsize, self._taken) > len(self._arrays):
            raise ValueError("its tree has arrays that are larger than the bytes of the file")
        if not dtype.itemsize:
            self._n_empty += size
            if self._n_empty > MAX_EMPTY_ITEMS:
                raise ValueError(f"its tree has arrays of more than {MAX_EMPTY_ITEMS:,} empty texts")
            return np.zeros(shape, dtype)
        flat = np.frombuffer(self._arrays, dtype, size, offset) if size else np.zeros(0, dtype)
        return native(flat).reshape(shape, order=order)

    def _objects(self, node: Json, depth: int) -> Any:
        shape, written = checked_list(node["objects"], 2)
        items = self._items(written, depth)
        if size_of(shape) != len(items):
            raise ValueError("its tree has an array of another size than its values")
        if not all(type(item) in PLAIN or isinstance(item, np.generic) for item in items):
            raise ValueError("its tree has an array of something else than numbers and text")
        array = np.empty(len(items), dtype=object)
        for number, item in enumerate(items):
            array[number] = item
        return array.reshape(shape)

    def _sparse(self, node: Json, depth: int) -> Any:
        from scipy import sparse

        kind, shape, *parts = checked_list(node["sparse"], 5)
        data, indices, indptr = (self.read(part, depth) for part in parts)
        if kind not in SPARSE:
            raise ValueError("its tree has a sparse matrix of an unknown kind")
        size_of(checked_list(shape, 2))
        n_lines, n_in_line = shape if kind.startswith("csr") else shape[::-1]
        check_compressed(data, indices, indptr, n_lines, n_in_line)
        return getattr(sparse, kind)((data, indices, indptr), shape=tuple(shape))

    def _generator(self, node: Json, depth: int) -> Any:
        kind, state = checked_list(node["generator"], 2)
        return generator_from(kind, self.read(state, depth))

    def _column_selector(self, node: Json, depth: int) -> Any:
        from sklearn.compose import make_column_selector

        settings = checked_list(node["column_selector"], 3)
        if not all(is_selector_setting(setting) for setting in settings):
            raise ValueError("its tree has a column selector with settings that are not text")
        pattern, include, exclude = settings
        return make_column_selector(pattern, dtype_include=include, dtype_exclude=exclude)

    def _foreign_object(self, node: Json, depth: int) -> Any:
        number = node["foreign"]
        if type(number) is not int or not 0 <= number < len(self._foreign):
            raise ValueError("its tree refers to a foreign object that is not in the file")
        return self._foreign[number]

    def _ref(self, node: Json, depth: int) -> Any:
        number = node["ref"]
        if type(number) is not int or number not in self._shared:
            raise ValueError("its tree refers to an object that does not come before")
        shared = self._shared[number]
        # It stands where the reference does, of which `depth` is the level of the parts.
        self._count(depth - 1 + shared.height, shared.n_written_out)
        return shared.value

    def _object(self, node: Json, depth: int) -> Any:
        public_id, state = node["object"], node["state"]
        if type(public_id) is not str or public_id not in DEFINED_IN:
            raise ValueError(f"it names the type {public_id!r:.60} of fuselearn, which this version lacks")
        if type(state) is not dict:
            raise ValueError(f"its tree has a {public_id} without attributes")
        kind = own_class(public_id)
        state = with_present_names(kind, state)
        later = later_fields(kind, state.keys())
        depth += ESTIMATOR_DEPTH * hasattr(kind, "get_params")
        attributes = {name: self.read(item, depth) for name, item in state.items()} | later
        built: Any
        if issubclass(kind, tuple):
            built = tuple.__new__(kind, [attributes[name] for name in declared_fields(kind)])
        else:
            built = object.__new__(kind)
            vars(built).update(attributes)
        validate_object(built)
        return built


BUILDERS: dict[str, Callable[[Reader, Json, int], Any]] = {
    "array": Reader._array,
    "bytes": Reader._bytes,
    "column_selector": Reader._column_selector,
    "dict": Reader._dict,
    "float": Reader._float,
    "foreign": Reader._foreign_object,
    "frozenset": Reader._frozenset,
    "generator": Reader._generator,
    "object": Reader._object,
    "objects": Reader._objects,
    "range": Reader._range,
    "ref": Reader._ref,
    "scalar": Reader._scalar,
    "set": Reader._set,
    "slice": Reader._slice,
    "sparse": Reader._sparse,
    "tuple": Reader._tuple,
}
"""Kind of a node, and what builds it."""


def _decoded(text: Any) -> bytes:
    """Return the bytes of a text."""
    try:
        return base64.b64decode(text, validate=True)
    except (TypeError, ValueError):
        raise ValueError("its tree has bytes that are not written as text") from None
