"""Execution of loops: compiled on their first call, on threads that share out ranges of items, in memory used again.

Importing numba takes as long as fitting a small model, and a command such as ``fuselearn --help`` never needs it. So a
loop stays a plain function until it is called.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, wraps
from math import prod
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
import threadpoolctl
from threadpoolctl import ThreadpoolController

from fuselearn.progress import tell_once
from fuselearn.typing import AnyArray

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Item = TypeVar("Item")

BLOCK_ROWS = 1024
"""Rows of one partial sum. A constant, since the bits of a sum depend on where it is cut; at this one a block's weights
and scores stay in the fastest cache while its columns pass by."""

COMPILING = (
    "fuselearn compiles its loops when they are first used, which takes some seconds. They are {place}; "
    "`fuselearn warmup` compiles them ahead of time."
)


def n_blocks(n_rows: int) -> int:
    """Return the number of blocks that `n_rows` rows are cut into."""
    return -(-n_rows // BLOCK_ROWS)


def compiled(*, reassociate: bool = False) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Decorate a loop over arrays so that numba compiles it on its first call; type hints are for readers only.

    With `reassociate` the compiler may reorder the additions of a sum, which is what turns a dot product into vector
    instructions. The order is fixed at compile time, so results stay reproducible. A loop may call others.
    """

    def decorate(loop: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        kernel: Callable[Parameters, Result] | None = None

        def compiled_kernel() -> Callable[Parameters, Result]:
            nonlocal kernel
            if kernel is None:
                kernel = _compile(loop, reassociate)
                _LOADED.add(call)
            return kernel

        @wraps(loop)
        def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            return (kernel or compiled_kernel())(*args, **kwargs)

        _KERNELS[call], _SOURCES[call] = compiled_kernel, loop
        return call

    return decorate


def made_for_loops(make: Callable[[], Any]) -> Callable[..., Any]:
    """Return a stand-in for a function that loops call and only numba can make; `make` does so when it is needed."""

    def stand_in(*args: Any) -> Any:
        raise TypeError(f"{make.__name__} is for compiled loops only.")

    _KERNELS[stand_in], _SOURCES[stand_in] = cache(make), make
    return stand_in


def is_loaded(loop: Callable[..., Any]) -> bool:
    """Return whether a loop was called in this process. If not, to load or compile it takes up to a second."""
    return loop in _LOADED


_KERNELS: dict[Callable[..., Any], Callable[[], Callable[..., Any]]] = {}
"""What compiles each decorated loop."""
_SOURCES: dict[Callable[..., Any], Callable[..., Any]] = {}
"""Each decorated loop as it was written."""
_LOADED: set[Callable[..., Any]] = set()
"""Decorated loops that were called in this process."""


def _compile(loop: Callable[Parameters, Result], reassociate: bool) -> Callable[Parameters, Result]:
    import numba

    # numba knows its own functions only, not what is decorated here.
    source, kernels = loop, {name: _KERNELS[value]() for name, value in _called(loop).items()}
    if kernels:
        own = FunctionType(loop.__code__, {**loop.__globals__, **kernels}, loop.__name__)
        own.__module__, own.__qualname__ = loop.__module__, loop.__qualname__
        loop = cast(Callable[Parameters, Result], own)
    # Infinities and NaN keep their meaning: both occur in the data of the loops.
    fastmath = {"reassoc", "contract"} if reassociate else False
    try:
        kernel: Any = numba.njit(nogil=True, cache=True, fastmath=fastmath)(loop)
    except RuntimeError:  # no writable place for the cache: compile anew in each process
        tell_once(COMPILING.format(place="not kept: no folder for numba's cache can be written to"))
        return numba.njit(nogil=True, fastmath=fastmath)(loop)
    # Else numba would look at the file of the loop alone, but the machine code holds that of all that it calls.
    stamps = [os.stat(file) for file in sorted(_files(source)) if os.path.exists(file)]
    kernel._cache._cache_file._source_stamp = tuple((stamp.st_mtime, stamp.st_size) for stamp in stamps)
    return cast(Callable[Parameters, Result], _with_locked_cache(kernel))


def _called(loop: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """Return what is decorated here and called by a loop, by name."""
    values = {name: loop.__globals__.get(name) for name in loop.__code__.co_names}
    return {name: value for name, value in values.items() if callable(value) and value in _KERNELS}


def _files(loop: Callable[..., Any]) -> set[str]:
    """Return the files with the source of a loop, of the named tuples that it takes, and of all that it calls."""
    tuples = [hint for hint in loop.__annotations__.values() if isinstance(hint, type) and issubclass(hint, tuple)]
    own = {loop.__code__.co_filename, *(str(sys.modules[hint.__module__].__file__) for hint in tuples)}
    return own.union(*(_files(_SOURCES[value]) for value in _called(loop).values()))


def _with_locked_cache(kernel: Any) -> Any:
    """Return a kernel whose files one process at a time reads or writes.

    numba writes the index of a loop's versions and then the version. Of two processes that compile different versions
    at a time, each may give its own the name of the other's, and a third then runs the wrong machine code.
    """
    cache = kernel._cache
    path = os.path.join(cache.cache_path, "fuselearn.lock")

    load, save = cache.load_overload, cache.save_overload

    def load_overload(*arguments: Any) -> Any:
        with _file_lock(path):
            loaded = load(*arguments)
        if loaded is None:
            tell_once(COMPILING.format(place=f"kept in {os.path.dirname(cache.cache_path)}"))
        return loaded

    def save_overload(*arguments: Any) -> Any:
        with _file_lock(path):
            return save(*arguments)

    cache.load_overload, cache.save_overload = load_overload, save_overload
    return kernel


@contextmanager
def _file_lock(path: str) -> Iterator[None]:
    """Wait until no other process or thread holds a file; go on without where files cannot be locked."""
    try:
        import fcntl

        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except (ImportError, OSError):
        yield
        return
    try:
        with suppress(OSError):  # such as on some network drives
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


class _CountedLimit:
    """A limit of the whole process: the first fit that enters sets it, the last one that leaves lifts it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._limits: Any = None
        self._libraries: ThreadpoolController | None = None
        self._n_modules = 0

    def enter(self) -> None:
        """Set the limit, unless another fit has."""
        with self._lock:
            if self._n_inside == 0:
                _take_control_of_blas()
                self._limits = self._loaded_libraries().limit(limits=1, user_api="blas")
            self._n_inside += 1

    def leave(self) -> None:
        """Restore the number of threads, unless another fit still runs."""
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0 and self._limits is not None:
                _take_control_of_blas()
                self._limits.restore_original_limits()
                self._limits = None
                _take_control_of_blas()

    def _loaded_libraries(self) -> ThreadpoolController:
        """Return the libraries of the process; they take longer to find than a small fit, and only imports add any."""
        n_modules = len(sys.modules)
        if self._libraries is None or n_modules != self._n_modules:
            self._libraries, self._n_modules = ThreadpoolController(), n_modules
        return self._libraries


def _take_control_of_blas() -> None:
    """Let any thread set the number of threads of BLAS, now and for whoever comes next.

    From version 3.8 on, threadpoolctl leaves it to the thread that set it first, and other threads silently do nothing.
    But the fit that enters first and the one that leaves last may run in different threads.
    """
    openblas = getattr(threadpoolctl, "OpenBLASController", None)
    clear_controlling_thread = getattr(openblas, "clear_controlling_thread", None)
    if clear_controlling_thread is not None:
        clear_controlling_thread(force=True)


_LIMIT = _CountedLimit()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread: the bits of a product may depend on how many it has.

    Fits that overlap in several threads of a process, in whatever order they end, leave BLAS as the first one found it.
    """
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()


class Scratch(threading.local):
    """Arrays by name, each thread with its own; they live as long as this object.

    A fresh array of some megabytes costs more than the arithmetic of a small kernel machine: the system hands it out
    page by page, each zeroed. A run of many machines keeps its arrays instead.

    Examples
    --------
    >>> scratch = Scratch()
    >>> products = scratch.array("products", (2, 3))
    >>> products.shape, scratch.array("products", (3, 1)).base is products.base
    ((2, 3), True)
    """

    def __init__(self) -> None:
        self._buffers: dict[tuple[str, type[np.generic]], AnyArray] = {}

    def array(self, name: str, shape: tuple[int, ...], kind: type[np.generic] = np.float64) -> AnyArray:
        """Return a C-contiguous array with any contents; the last one of that name and kind is overwritten."""
        size, key = prod(shape), (name, kind)
        if key not in self._buffers or len(self._buffers[key]) < size:
            self._buffers[key] = np.empty(size, dtype=kind)
        return self._buffers[key][:size].reshape(shape)
