"""The one guard that keeps matrix products on one thread, so that only `n_jobs` says how many are used."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from threadpoolctl import threadpool_limits


class _CountedLimit:
    """A limit of the whole process: the first fit that enters sets it, the last one that leaves lifts it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_inside = 0
        self._limits: threadpool_limits | None = None

    def enter(self) -> None:
        """Set the limit, unless another fit has."""
        with self._lock:
            if self._n_inside == 0:
                self._limits = threadpool_limits(limits=1, user_api="blas")
            self._n_inside += 1

    def leave(self) -> None:
        """Restore the number of threads, unless another fit still runs."""
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0 and self._limits is not None:
                self._limits.restore_original_limits()
                self._limits = None


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
