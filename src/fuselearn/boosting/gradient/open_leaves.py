"""The leaves of a tree that grows: which of them is split next, and the histograms that are kept for that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from fuselearn.boosting.gradient.splitting import Split, Sums
from fuselearn.numeric.gradient_loops import TIE_SHARE, WEIGHT
from fuselearn.typing import IntArray

HISTOGRAM_BYTES = 2**30
"""Memory of the histograms that a tree keeps while it grows."""


@dataclass
class Leaf:
    """A node while a tree grows; `node` is its number among the splits that were made, `split` its best one."""

    node: int
    depth: int
    sums: Sums
    bounds: tuple[float, float]
    split: Split | None = None
    children: tuple[Leaf, Leaf] | None = None


class SplitQueue:
    """Leaves that can be split, by their numbers: the one of the largest gain first, the first one of those that tie.

    A leaf enters and leaves in logarithmic time, so that a tree of many leaves takes no longer for each of them.

    Parameters
    ----------
    leaves : sequence of Leaf
        The first leaves, numbered from 0; those without a split are passed over.

    Examples
    --------
    >>> import numpy as np
    >>> sums, bounds = (0, 0, 0), (-np.inf, np.inf)
    >>> def leaf(gain):
    ...     return Leaf(0, 0, sums, bounds, Split(gain, 0, 0, np.zeros(256), sums, sums))
    >>> queue = SplitQueue([leaf(1.0), leaf(3.0), leaf(2.0), leaf(3.0 + 1e-15)])
    >>> [queue.pop() for _ in range(len(queue))]
    [1, 3, 2, 0]
    """

    def __init__(self, leaves: Sequence[Leaf]) -> None:
        # Gains that are exactly equal, of which there may be many, are one entry of the heap.
        self._gains: list[float] = []
        self._numbers: dict[float, list[int]] = {}
        self._size = 0
        for number, leaf in enumerate(leaves):
            self.push(number, leaf)

    def __len__(self) -> int:
        return self._size

    def push(self, number: int, leaf: Leaf) -> None:
        """Add a leaf, unless it has no split."""
        if leaf.split is None:
            return
        gain = -float(leaf.split.gain)
        if gain not in self._numbers:
            self._numbers[gain] = []
            heappush(self._gains, gain)
        heappush(self._numbers[gain], number)
        self._size += 1

    def pop(self) -> int:
        """Remove the leaf that is to be split first, and return its number."""
        least = -self._gains[0] * (1 - TIE_SHARE)
        tied: list[float] = []
        while self._gains and -self._gains[0] >= least:
            tied.append(heappop(self._gains))
        chosen = min(tied, key=lambda gain: self._numbers[gain][0])
        number = heappop(self._numbers[chosen])
        self._size -= 1
        for gain in tied:
            if self._numbers[gain]:
                heappush(self._gains, gain)
            else:
                del self._numbers[gain]
        return number

    def numbers(self) -> list[int]:
        """Return the numbers of all leaves, increasing."""
        return sorted(number for numbers in self._numbers.values() for number in numbers)


class KeptHistograms:
    """Histograms of leaves that may be split, as many as fit into `HISTOGRAM_BYTES`, but at least one.

    Of more, those of the least weight are dropped: their rows, of which there are few, are counted again.
    """

    def __init__(self) -> None:
        self._by_node: dict[int, IntArray] = {}
        self._by_weight: list[tuple[int, int]] = []
        self._n_bytes = 0

    def keep(self, leaf: Leaf, histogram: IntArray) -> None:
        """Keep the histogram of a leaf, and drop others where there are too many."""
        self._by_node[leaf.node] = histogram
        self._n_bytes += histogram.nbytes
        heappush(self._by_weight, (leaf.sums[WEIGHT], leaf.node))
        while self._n_bytes > HISTOGRAM_BYTES and len(self._by_node) > 1:
            self.pop(heappop(self._by_weight)[1])

    def pop(self, node: int) -> IntArray | None:
        """Return the histogram of a node, and forget it; None where it was dropped."""
        histogram = self._by_node.pop(node, None)
        if histogram is not None:
            self._n_bytes -= histogram.nbytes
        return histogram
