"""Histograms by class, of all rows and of the rows of nodes, one cell at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn.numeric import tree_histograms
from fuselearn.numeric.exact_sums import in_units
from fuselearn.numeric.execution import Threads
from fuselearn.numeric.tree_histograms import class_histograms, node_histograms


def naive_histograms(bins, rows, codes, weights, n_classes, n_bins):
    histograms = np.zeros((len(bins), n_classes, n_bins), dtype=weights.dtype)
    for j in range(len(bins)):
        for i in rows:
            histograms[j, codes[i], bins[j, i]] += weights[i]
    return histograms


@given(st.integers(0, 2**32 - 1), st.integers(0, 40), st.integers(1, 9), st.integers(2, 4), st.sampled_from([1, 2, 3]))
def test_histograms_are_the_naive_ones(seed, n_rows, n_columns, n_classes, n_threads):
    rng = np.random.default_rng(seed)
    n_bins = int(rng.integers(2, 257))
    bins = rng.integers(n_bins, size=(n_columns, n_rows)).astype(np.uint8)
    codes = rng.integers(n_classes, size=n_rows).astype(np.int32)
    weights = rng.dirichlet(np.ones(n_rows)) if n_rows else np.empty(0)
    groups = np.array_split(rng.permutation(n_rows).astype(np.uint32), int(rng.integers(1, 4)))
    with Threads(n_threads) as threads, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree_histograms, "CACHED_ROWS", int(rng.integers(1, 50)))
        for values, check in ((in_units(weights), assert_array_equal), (weights, assert_allclose)):
            sizes = values, n_classes, n_bins
            fast = class_histograms(bins, codes, *sizes, threads=threads)
            check(fast, naive_histograms(bins, range(n_rows), codes, *sizes))
            fast = node_histograms(bins, groups, codes, *sizes, threads=threads)
            check(fast, [naive_histograms(bins, rows, codes, *sizes) for rows in groups])


def test_whole_numbers_do_not_care_about_the_order_of_rows():
    rng = np.random.default_rng(0)
    bins, codes = rng.integers(20, size=(3, 5000)).astype(np.uint8), rng.integers(3, size=5000).astype(np.int32)
    weights = in_units(rng.dirichlet(np.full(5000, 0.1)))
    order = rng.permutation(5000)
    whole = class_histograms(bins, codes, weights, 3, 21)
    assert_array_equal(class_histograms(bins[:, order].copy(), codes[order], weights[order], 3, 21), whole)
    one, other = node_histograms(bins, np.split(order.astype(np.uint32), [100]), codes, weights, 3, 21)
    assert_array_equal(whole - one, other)
