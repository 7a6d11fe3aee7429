"""Pairs of objects against plain sorting."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn.numeric.pairs import SortedPairs, mean_squared_distance, squared_distances


def points(seed, n):
    return np.random.default_rng(seed).integers(0, 4, size=(n, 2)).astype(float)


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_distances_are_those_of_points(seed, n):
    rows = points(seed, n)
    expected = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    assert_allclose(squared_distances(rows @ rows.T), expected, atol=1e-12)
    mean = expected.sum() / (n * (n - 1)) if n > 1 else 0.0
    assert_allclose(mean_squared_distance(rows @ rows.T), mean, atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(2, 10), st.integers(1, 5))
def test_pairs_are_sorted_renumbered_and_cut_into_bands(seed, n, most):
    distances = squared_distances(points(seed, n) @ points(seed, n).T)
    pairs = SortedPairs.of(distances)
    assert len(pairs) == n * (n - 1) // 2
    assert np.all(np.diff(pairs.distances) >= 0)
    assert_allclose(pairs.table(n), distances, atol=1e-12)
    assert_array_equal(pairs.run_ends[:-1], 1 + np.flatnonzero(np.diff(pairs.distances) > 0))
    order = pairs.by_centrality(n)
    assert np.all(np.diff(distances.sum(axis=1)[order]) > -1e-9)
    renumbered = pairs.renumbered(order, np.arange(len(pairs)))
    assert_allclose(renumbered.table(n), distances[np.ix_(order, order)], atol=1e-12)
    ends = list(pairs.bands(most))
    assert ends[-1] == len(pairs)
    assert np.diff(ends, prepend=0).max() <= most


def test_the_nearest_distance_of_at_least_an_index():
    pairs = SortedPairs.of(squared_distances(np.array([[0.0], [1.0], [3.0]]) @ np.array([[0.0, 1.0, 3.0]])))
    assert_allclose(pairs.distances, [1.0, 4.0, 9.0])
    assert [pairs.nearest(distance, 0) for distance in (0.0, 2.0, 3.0, 100.0)] == [0, 0, 1, 2]
    assert pairs.nearest(0.0, 1) == 1
