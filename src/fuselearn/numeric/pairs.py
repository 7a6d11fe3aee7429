"""Pairs of objects of one class in one view, from the nearest to the farthest."""

from dataclasses import dataclass

import numpy as np

from fuselearn.numeric.ties import TIE


def squared_distances(gram):
    """Squared kernel distances K_ii + K_jj − K_ij − K_ji (S4 equation 1), those below zero by rounding set to 0.

    Parameters
    ----------
    gram : ndarray of shape (n, n)

    Returns
    -------
    ndarray of shape (n, n)
    """
    norms = np.diagonal(gram)
    distances = norms[:, None] + norms[None, :]
    distances -= gram
    distances -= gram.T
    np.fill_diagonal(distances, 0.0)
    return np.maximum(distances, 0.0, out=distances)


def mean_squared_distance(gram):
    """Mean of the squared distances over all pairs of different objects; 0 where there is no pair."""
    n = len(gram)
    if n < 2:
        return 0.0
    # Σ over i, j of K_ii + K_jj − 2 K_ij is 2 (n tr K − ΣK): no table of distances is needed.
    total = 2.0 * (n * np.trace(gram) - gram.sum())
    return max(total, 0.0) / (n * (n - 1))


def level(distances):
    """Make distances equal that are equal but for rounding, so that what follows does not depend on it.

    Parameters
    ----------
    distances : ndarray of shape (n, n)
        Symmetric. Changed in place.

    Returns
    -------
    ndarray of shape (n, n)
    """
    first, second = np.triu_indices(len(distances), 1)
    values = distances[first, second]
    order, starts = _order_and_runs(values)
    if len(starts) < len(values):
        values[order] = np.repeat(values[order[starts]], np.diff(starts, append=len(values)))
        distances[first, second] = values
    distances[second, first] = values
    return distances


def by_centrality(distances):
    """Numbers of the objects, those first whose distances to the others have the least sum; ties by number."""
    sums = distances.sum(axis=1)
    order, starts = _order_and_runs(sums)
    groups = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(sums)))
    return order[np.lexsort((order, groups))]


@dataclass(frozen=True)
class SortedPairs:
    """Pairs (first < second) of objects, by ascending distance.

    Attributes
    ----------
    first, second : intp ndarray of shape (n_pairs,)
    distances : ndarray of shape (n_pairs,)
        Of the pairs, ascending.
    run_ends : list of int
        Where each run of equal distances ends.
    """

    first: np.ndarray
    second: np.ndarray
    distances: np.ndarray
    run_ends: list

    def __len__(self):
        return len(self.distances)

    def bands(self, most):
        """Yield where each band ends: a run of equal distances, one longer than `most` pairs bisected, shorter
        neighbours taken together up to `most` (S4 §4.2: bisection to an index gap of 5)."""
        start = end = 0
        for run_end in self.run_ends:
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

    def nearest(self, distance, least):
        """Lowest index of at least `least` whose distance is nearest to `distance`."""
        ahead = self.distances[least:]
        above = int(np.searchsorted(ahead, distance))
        if above == 0:
            return least
        below = ahead[above - 1]
        if above < len(ahead) and ahead[above] - distance < distance - below - TIE * distance:
            return least + above
        return least + int(np.searchsorted(ahead, below))


def sort_pairs(distances, keys):
    """Sort all pairs of objects by distance, equal ones by key.

    Parameters
    ----------
    distances : ndarray of shape (n, n)
    keys : ndarray of shape (n (n − 1) / 2,)
        One number per pair, in the order (0, 1), (0, 2), …, (1, 2), …
    """
    first, second = np.triu_indices(len(distances), 1)
    values = distances[first, second]
    order = np.lexsort((keys, values))
    first, second, values = first[order], second[order], values[order]
    run_ends = np.flatnonzero(np.diff(values, append=np.inf) > 0) + 1
    return SortedPairs(first, second, values, run_ends.tolist())


def _order_and_runs(values):
    """Ascending order of some values, and where in it each run of values that are equal but for rounding starts."""
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    largest = ascending[-1] if len(values) else 0.0
    return order, np.flatnonzero(np.diff(ascending, prepend=-np.inf) > TIE * largest)


def _bisected(start, stop, most):
    if stop - start <= most:
        yield stop
    else:
        middle = start + (stop - start + 1) // 2
        yield from _bisected(start, middle, most)
        yield from _bisected(middle, stop, most)
