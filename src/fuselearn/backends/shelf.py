"""Where a part of the rows keeps its arrays: in memory, or in files of a folder."""

from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np


class Shelf:
    """Arrays in memory, or in files of a folder. It can be moved from the one to the other.

    A file is mapped anew by each `get`, so that what is not in use takes no memory of the process.

    Parameters
    ----------
    folder : path-like, default=None
        None for memory. Made if it is not there.
    """

    def __init__(self, folder=None):
        self._arrays = {}
        self._folder = None
        if folder is not None:
            self.move_to(folder)

    @property
    def n_bytes(self):
        """What the arrays take of the memory."""
        return sum(array.nbytes for array in self._arrays.values())

    def put(self, name, array):
        """Keep an array; what `get` returns later may be changed in place."""
        if self._folder is None or not array.size:  # there is no map of nothing
            self._arrays[name] = array
        else:
            self._arrays.pop(name, None)
            np.save(self._folder / f"{name}.npy", np.ascontiguousarray(array))

    def get(self, name):
        if name in self._arrays:
            return self._arrays[name]
        # A plain array over the map: numba would compile anew for NumPy's own class, and for what is read-only.
        return np.asarray(np.load(self._folder / f"{name}.npy", mmap_mode="r+"))

    def move_to(self, folder):
        """Keep all arrays in files from now on."""
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        arrays, self._arrays = self._arrays, {}
        for name, array in arrays.items():
            self.put(name, array)


class ShelvedRows:
    """Prepared rows whose arrays are on a shelf.

    Parameters
    ----------
    shelf : Shelf
    name : str
    prepared : ndarray, or dataclass with arrays among its fields
    """

    def __init__(self, shelf, name, prepared):
        self._shelf, self._name = shelf, name
        self._type = type(prepared) if is_dataclass(prepared) else None
        values = {field.name: getattr(prepared, field.name) for field in fields(prepared)} if self._type else {}
        self._plain = {key: value for key, value in values.items() if not isinstance(value, np.ndarray)}
        self._arrays = [key for key in values if key not in self._plain]
        for key in self._arrays:
            shelf.put(f"{name}.{key}", values[key])
        if self._type is None:
            shelf.put(name, prepared)

    def get(self):
        """The rows as they were given."""
        if self._type is None:
            return self._shelf.get(self._name)
        return self._type(**self._plain, **{key: self._shelf.get(f"{self._name}.{key}") for key in self._arrays})
