"""Models written in the closed format that `own_types` describes and reads."""

import base64
import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from fuselearn.persistence.array_format import DTYPE
from fuselearn.persistence.container import Json
from fuselearn.persistence.own_types import SPARSE, is_selector_setting
from fuselearn.persistence.public_ids import id_of
from fuselearn.persistence.random_generators import generator_state
from fuselearn.persistence.validation import declared_fields
from fuselearn.typing import AnyArray

ALIGNMENT = 64
"""Every array begins at a multiple of so many bytes."""


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
        self._nodes: dict[int, Json] = {}
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
        if (node := self._nodes.get(id(value))) is not None:
            if "number" not in node:
                self._n_shared += 1
                node["number"] = self._n_shared
            return {"ref": node["number"]}
        node = self._inside(value, lambda: self._node(value, place), place)
        if {"array", "objects", "object", "foreign", "sparse"} & node.keys():
            self._nodes[id(value)] = node
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
