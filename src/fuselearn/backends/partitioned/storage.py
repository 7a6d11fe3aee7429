"""Where a part of the rows keeps its arrays: in memory, or in files of a folder.

How much memory rows that are read from files may take.
"""

import os
import re
from contextlib import suppress
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


VARIABLE = "FUSELEARN_MEMORY_LIMIT"
UNITS = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3, "T": 1000**4} | {
    "KI": 2**10,
    "MI": 2**20,
    "GI": 2**30,
    "TI": 2**40,
}
WRITTEN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?\s*", re.IGNORECASE)


def memory_limit():
    """Bytes, as the environment variable FUSELEARN_MEMORY_LIMIT says; else half of the memory that there is.

    That is the machine's, or what a container or a job of a cluster may take of it.

    Examples
    --------
    >>> os.environ[VARIABLE] = "1.5 GiB"
    >>> memory_limit()
    1610612736
    >>> del os.environ[VARIABLE]
    """
    written = os.environ.get(VARIABLE)
    if not written:
        return min([_memory_of_the_machine(), *_limits_of_groups()]) // 2
    match = WRITTEN.fullmatch(written)
    size = 0 if match is None else int(float(match[1]) * UNITS[match[2].upper()])
    if size < 2**20:
        raise ValueError(f"{VARIABLE} must be a size of at least 1 MiB, like '8 GiB' or '500 MB'; got {written!r}.")
    return size


def _memory_of_the_machine():
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not POSIX
        return 8 * 2**30


def _limits_of_groups(root="/"):
    """Limits of the control groups that this process is in (of Linux, both versions of them), outermost last."""
    try:
        lines = Path(root, "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    limits = []
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        mounted, name = ("memory", "memory.limit_in_bytes") if controllers else ("", "memory.max")
        top = Path(root, "sys/fs/cgroup", mounted)
        inner = top / group.lstrip("/")
        # Inside a container the group's own folder may not be there, and the top is the container's.
        for folder in (inner, *inner.parents):
            with suppress(OSError, ValueError):  # "max" says that there is none
                limits.append(int((folder / name).read_text()))
            if folder == top:
                break
    return limits
