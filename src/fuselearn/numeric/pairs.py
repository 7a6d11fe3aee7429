"""Pairs of objects of one class in one view, from the nearest to the farthest."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from fuselearn.numeric.votes import TIE
from fuselearn.typing import AnyArray, FloatArray, IntArray

KERNEL_ROUNDING = 1e-6
"""Largest departure of a kernel from a symmetric or positive semi-definite one, relative to its largest value on the
diagonal and, for its eigenvalues, to the root of its size: kernels are often saved in single precision."""


def squared_distances(gram: FloatArray) -> FloatArray:
    """Return squared kernel distances K_ii + K_jj − K_ij − K_ji (S4 equation 1), those below zero by rounding as 0."""
    norms = np.diagonal(gram)
    distances = norms[:, None] + norms[None, :]
    distances -= gram
    distances -= gram.T
    np.fill_diagonal(distances, 0.0)
    return np.maximum(distances, 0.0, out=distances)


def mean_squared_distance(gram: FloatArray) -> float:
    """Return the mean of the squared distances over all pairs of different objects.

    It is 0 where there is no pair, or where all objects are in one place but for rounding.
    """
    n = len(gram)
    if n < 2:
        return 0.0
    # Σ over i, j of K_ii + K_jj − 2 K_ij is 2 (n tr K − ΣK): no table of distances is needed.
    spread, whole = n * np.trace(gram) - gram.sum(), n * np.trace(gram)
    return 2.0 * spread / (n * (n - 1)) if spread > TIE * whole else 0.0


@dataclass(frozen=True)
class SortedPairs:
    """Pairs (first < second) of objects, by ascending distance.

    Attributes
    ----------
    first, second : intp ndarray of shape (n_pairs,)
        Numbers of the objects.
    distances : ndarray of shape (n_pairs,)
        Ascending. Distances that are equal but for rounding are made equal, so that nothing depends on it.
    run_ends : intp ndarray
        Where each run of equal distances ends.
    """

    first: IntArray
    second: IntArray
    distances: FloatArray
    run_ends: IntArray

    @classmethod
    def of(cls, distances: FloatArray) -> Self:
        """Sort all pairs of objects by distances of shape (n, n), those of equal distance in any order."""
        first, second = np.triu_indices(len(distances), 1)
        values = distances[first, second]
        order = np.argsort(values)
        values = values[order]
        starts = _run_starts(values)
        run_ends = np.append(starts[1:], len(values)) if len(values) else starts
        if len(starts) < len(values):
            values = np.repeat(values[starts], run_ends - starts)
        return cls(first[order], second[order], values, run_ends)

    def __len__(self) -> int:
        return len(self.distances)

    def by_centrality(self, n_objects: int) -> IntArray:
        """Return the objects by ascending sum of their distances to the others; ties by number."""
        sums = np.zeros(n_objects)
        for ends in (self.first, self.second):
            sums += np.bincount(ends, self.distances, minlength=n_objects)
        order = np.argsort(sums, kind="stable")
        starts = _run_starts(sums[order])
        groups = np.repeat(np.arange(len(starts)), np.diff(starts, append=n_objects))
        return order[np.lexsort((order, groups))]

    def renumbered(self, order: IntArray, keys: AnyArray) -> "SortedPairs":
        """Return the pairs with object ``order[i]`` called i, those of equal distance by ascending key.

        Parameters
        ----------
        order : intp ndarray of shape (n_objects,)
            Present numbers of the objects.
        keys : ndarray of shape (n_pairs,)
            One for each pair by its new numbers, in the order (0, 1), (0, 2), …, (1, 2), …
        """
        n_objects = len(order)
        place = np.empty(n_objects, dtype=np.intp)
        place[order] = np.arange(n_objects)
        ends = place[self.first], place[self.second]
        first, second = np.minimum(*ends), np.maximum(*ends)
        lengths = np.diff(self.run_ends, prepend=0)
        if (lengths > 1).any():
            tied = np.repeat(lengths > 1, lengths)
            runs = np.repeat(np.arange(len(lengths)), lengths)[tied]
            numbers = first * (2 * n_objects - first - 1) // 2 + second - first - 1
            by_key = np.lexsort((keys[numbers[tied]], runs))
            first[tied], second[tied] = first[tied][by_key], second[tied][by_key]
        return SortedPairs(first, second, self.distances, self.run_ends)

    def table(self, n_objects: int) -> FloatArray:
        """Return all distances as a matrix of shape (n_objects, n_objects)."""
        table = np.zeros((n_objects, n_objects))
        table[self.first, self.second] = table[self.second, self.first] = self.distances
        return table

    def bands(self, most: int) -> Iterator[int]:
        """Yield the end of each band of pairs (S4 §4.2: bisection to an index gap of 5).

        A band is a run of equal distances; one of more than `most` pairs is bisected, shorter neighbours are merged up
        to `most`.
        """
        start = end = 0
        for run_end in self.run_ends.tolist():
            if run_end - end > most:
                if end > start:
                    yield end
                yield from _bisected(end, run_end, most)
                start = run_end
            elif run_end - start > most:
                yield end
                start = end
            end = run_end
        if end > start:
            yield end

    def nearest(self, distance: float, least: int) -> int:
        """Return the lowest index of at least `least` whose distance is nearest to `distance`."""
        ahead = self.distances[least:]
        above = int(np.searchsorted(ahead, distance))
        if above == 0:
            return least
        below = ahead[above - 1]
        if above < len(ahead) and ahead[above] - distance < distance - below - TIE * distance:
            return least + above
        return least + int(np.searchsorted(ahead, below))


def _run_starts(ascending: FloatArray) -> IntArray:
    """Return the start of each run of values that are equal but for rounding."""
    largest = ascending[-1] if len(ascending) else 0.0
    return np.flatnonzero(np.diff(ascending, prepend=-np.inf) > TIE * largest)


def _bisected(start: int, stop: int, most: int) -> Iterator[int]:
    if stop - start <= most:
        yield stop
    else:
        middle = start + (stop - start + 1) // 2
        yield from _bisected(start, middle, most)
        yield from _bisected(middle, stop, most)
