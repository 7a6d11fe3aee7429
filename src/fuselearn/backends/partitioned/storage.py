"""Arrays of a partition, in memory or in files of a folder, and how much memory they may take."""

import mmap
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fuselearn.learners.protocol import PreparedRows
from fuselearn.typing import AnyArray

MEMORY_LIMIT_VARIABLE = "FUSELEARN_MEMORY_LIMIT"
UNITS = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3, "T": 1000**4} | {
    "KI": 2**10,
    "MI": 2**20,
    "GI": 2**30,
    "TI": 2**40,
}
SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?\s*", re.IGNORECASE)


class ArrayStore:
    """Arrays by name, in memory, or in files of a folder, to which they can be moved.

    A file is mapped anew by each `get`, or once within `mapped`, so that what is not in use takes no memory of the
    process. The folder is made where it does not exist; None keeps arrays in memory.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self._arrays: dict[str, AnyArray] = {}
        self._formats: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {}
        self._maps: dict[str, AnyArray] | None = None
        self._folder: str | None = None
        if folder is not None:
            self.move_to(folder)

    @property
    def n_bytes(self) -> int:
        """Bytes of memory that the arrays take."""
        return sum(array.nbytes for array in self._arrays.values())

    def put(self, name: str, array: AnyArray) -> None:
        """Keep an array; what `get` returns later may be changed in place."""
        if self._folder is None or not array.size:  # an empty file cannot be mapped
            self._arrays[name] = array
            return
        self._arrays.pop(name, None)
        if self._maps is not None:
            self._maps.pop(name, None)
        path = self._path(name)
        # A new file: one that is mapped must not be cut short.
        with suppress(FileNotFoundError):
            os.unlink(path)
        array = np.ascontiguousarray(array)
        array.tofile(path)
        self._formats[name] = array.dtype, array.shape

    def get(self, name: str) -> AnyArray:
        """Return an array that was put in."""
        if name in self._arrays:
            return self._arrays[name]
        if self._maps is not None and name in self._maps:
            return self._maps[name]
        dtype, shape = self._formats[name]
        # A plain array over the map: numba would compile anew for NumPy's own class, and for what is read-only. That
        # class also takes ten times as long, which counts where a fit reads many small partitions.
        with open(self._path(name), "r+b") as file:
            array = np.frombuffer(mmap.mmap(file.fileno(), 0), dtype=dtype).reshape(shape)
        if self._maps is not None:
            self._maps[name] = array
        return array

    @contextmanager
    def mapped(self) -> Iterator[None]:
        """Map each file once for all that is done meanwhile, by one thread."""
        self._maps = {}
        try:
            yield
        finally:
            self._maps = None

    def move_to(self, folder: str | os.PathLike[str]) -> None:
        """Keep all arrays in files from now on."""
        self._folder = os.fspath(folder)
        os.makedirs(folder, exist_ok=True)
        arrays, self._arrays = self._arrays, {}
        for name, array in arrays.items():
            self.put(name, array)

    def _path(self, name: str) -> str:
        """Return the file of an array."""
        assert self._folder is not None
        return os.path.join(self._folder, f"{name}.array")


class StoredRows:
    """Prepared rows, an array or a dataclass with arrays among its fields, whose arrays are in a store."""

    def __init__(self, store: ArrayStore, name: str, prepared: PreparedRows) -> None:
        self._store, self._name = store, name
        self._class: type[Any] | None = None
        self._plain_fields: dict[str, object] = {}
        self._array_fields: list[str] = []
        if not is_dataclass(prepared):
            store.put(name, prepared)
            return
        self._class = type(prepared)
        for field in fields(prepared):
            value = getattr(prepared, field.name)
            if isinstance(value, np.ndarray):
                self._array_fields.append(field.name)
                store.put(f"{name}.{field.name}", value)
            else:
                self._plain_fields[field.name] = value

    def get(self) -> PreparedRows:
        """Return the rows as they were given."""
        if self._class is None:
            return self._store.get(self._name)
        arrays = {field: self._store.get(f"{self._name}.{field}") for field in self._array_fields}
        return self._class(**self._plain_fields, **arrays)


def memory_limit() -> int:
    """Return the bytes that rows may take: FUSELEARN_MEMORY_LIMIT of the environment, else half of the memory.

    The memory is that of the machine, or what a container or a cluster's job may use of it.

    Examples
    --------
    >>> os.environ[MEMORY_LIMIT_VARIABLE] = "1.5 GiB"
    >>> memory_limit()
    1610612736
    >>> del os.environ[MEMORY_LIMIT_VARIABLE]
    """
    given = os.environ.get(MEMORY_LIMIT_VARIABLE)
    if not given:
        return min([_memory_of_the_machine(), *_limits_of_control_groups()]) // 2
    match = SIZE.fullmatch(given)
    size = 0 if match is None else int(float(match[1]) * UNITS[match[2].upper()])
    if size < 2**20:
        raise ValueError(
            f"{MEMORY_LIMIT_VARIABLE} must be a size of at least 1 MiB, like '8 GiB' or '500 MB'; got {given!r}."
        )
    return size


def _memory_of_the_machine() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not POSIX
        return 8 * 2**30


def _limits_of_control_groups(root: str | os.PathLike[str] = "/") -> list[int]:
    """Return the limits of the Linux control groups (both versions) that this process is in, outermost last."""
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
        # Inside a container the folder of the group may be missing, and the top is the container's.
        for folder in (inner, *inner.parents):
            with suppress(OSError, ValueError):  # "max" means that there is no limit
                limits.append(int((folder / name).read_text()))
            if folder == top:
                break
    return limits
