"""Matrix products on one thread, so that only `n_jobs` says how many are used."""

from contextlib import contextmanager
from threading import Lock

from threadpoolctl import threadpool_limits


class _Limit:
    """How many are inside, since the limit is one of the process: the first sets it, the last lifts it."""

    def __init__(self):
        self._lock = Lock()
        self._inside = 0
        self._limits = None

    def enter(self):
        with self._lock:
            if self._inside == 0:
                self._limits = threadpool_limits(limits=1, user_api="blas")
            self._inside += 1

    def leave(self):
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limits.restore_original_limits()


_LIMIT = _Limit()


@contextmanager
def single_threaded_products():
    """A context in which BLAS has one thread: the bits of a product may depend on how many it has.

    Fits that overlap in several threads of a process leave BLAS as they found it.
    """
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()
