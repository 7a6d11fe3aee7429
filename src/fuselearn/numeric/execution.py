"""Compile a loop on its first call.

Importing numba takes as long as fitting a small model, and a command such as ``fuselearn --help`` never needs
it. So a kernel stays a plain function until somebody calls it.

Threads over ranges of items, and the blocks of rows in which sums are taken.

Memory that is used again.

A fresh array of some megabytes costs more than the arithmetic of a small kernel machine: the system hands it out page
by page, each zeroed. A run of many machines keeps its arrays instead.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from math import prod

import numpy as np


def compiled(*, reassociate=False):
    """Decorate a loop over arrays so that numba compiles it on its first call.

    Parameters
    ----------
    reassociate : bool, default=False
        Let the compiler reorder the additions of a sum, which is what turns a dot product into vector
        instructions. The order is fixed at compile time, so results stay reproducible.
    """

    def decorate(loop):
        kernel = None

        @wraps(loop)
        def call(*arguments):
            nonlocal kernel
            if kernel is None:
                kernel = _compile(loop, reassociate)
            return kernel(*arguments)

        return call

    return decorate


def _compile(loop, reassociate):
    import numba

    # Infinities and NaN keep their meaning: both occur in the data of the kernels.
    fastmath = {"reassoc", "contract"} if reassociate else False
    try:
        return numba.njit(loop, nogil=True, cache=True, fastmath=fastmath)
    except RuntimeError:  # no writable place for the cache: compile anew in each process
        return numba.njit(loop, nogil=True, fastmath=fastmath)


BLOCK_ROWS = 1024
"""Rows of one partial sum. A constant, since the bits of a sum depend on where it is cut; at this one a block's weights
and scores stay in the fastest cache while its columns pass by."""


def n_blocks(n_rows):
    """Number of blocks that `n_rows` rows are cut into."""
    return -(-n_rows // BLOCK_ROWS)


class Threads:
    """A fixed number of threads that share out a range of items.

    The kernels release the GIL, so plain Python threads run them side by side. Unlike numba's own parallel
    loops, they can be used from any thread of the caller's, and they cost no compile time.

    Parameters
    ----------
    count : int
        Number of threads; with 1 everything runs in the calling thread.
    """

    def __init__(self, count=1):
        self.count = count
        self._pool = ThreadPoolExecutor(count) if count > 1 else None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self._pool is not None:
            self._pool.shutdown()

    def share(self, n_items, work):
        """Call ``work(start, stop)`` on consecutive parts of ``range(n_items)``, one part a thread."""
        if self._pool is None or n_items < 2:
            work(0, n_items)
            return
        n_parts = min(self.count, n_items)
        cuts = [n_items * part // n_parts for part in range(n_parts + 1)]
        for _ in self._pool.map(work, cuts[:-1], cuts[1:]):
            pass

    def map(self, function, items):
        """``[function(item) for item in items]``, in the order of the items."""
        if self._pool is None:
            return [function(item) for item in items]
        return list(self._pool.map(function, items))


SERIAL = Threads(1)


class Scratch(threading.local):
    """Arrays by name, each thread with its own; they live as long as this object.

    Examples
    --------
    >>> scratch = Scratch()
    >>> products = scratch.array("products", (2, 3))
    >>> products.shape, scratch.array("products", (3, 1)).base is products.base
    ((2, 3), True)
    """

    def __init__(self):
        self._buffers = {}

    def array(self, name, shape, kind=np.float64):
        """A C-contiguous array with anything in it; the last one of that name and kind is overwritten."""
        size, key = prod(shape), (name, kind)
        if key not in self._buffers or len(self._buffers[key]) < size:
            self._buffers[key] = np.empty(size, dtype=kind)
        return self._buffers[key][:size].reshape(shape)
