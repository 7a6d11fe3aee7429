"""One BLAS thread while a model is fitted.

With more, the order in which BLAS adds, and so the last bits of a model, would depend on the machine. The limit is one
of the whole process, so fits that overlap share it: the first one in sets it, the last one out lifts it.
"""

from contextlib import contextmanager
from threading import Lock

from threadpoolctl import threadpool_limits

_lock = Lock()
_inside = 0
_limit = None


@contextmanager
def one_blas_thread():
    """Limit BLAS to one thread for as long as anybody is inside."""
    global _inside, _limit
    with _lock:
        if _inside == 0:
            _limit = threadpool_limits(1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limit.restore_original_limits()
                _limit = None
