"""Threads over ranges of items, and the blocks of rows in which sums are taken."""

from concurrent.futures import ThreadPoolExecutor

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
