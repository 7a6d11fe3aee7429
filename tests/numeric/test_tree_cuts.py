"""The best cut of each column, and of all, against one candidate at a time."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from fuselearn.numeric.exact_sums import in_units
from fuselearn.numeric.tree_cuts import LOG2, LOG2_ERROR, best_cut, best_cuts
from tests.naive.tree import TIE, candidates, choose_split, divide, gain

CRITERIA = ["error", "gini", "entropy"]


def naive_best_cut(column, n_edges, criterion):
    """Gain, candidate and weight on the left of the first of the best cuts; column[k][b] is the weight of a class."""
    missing = [weights[-1] for weights in column]
    parent = [math.fsum(weights) for weights in column]
    tried = []
    for b in range(n_edges):
        for missing_left in (False, True):
            empty = all(weights[b] == 0 for weights in column)
            if (b > 0 and empty) or (missing_left and not any(missing)):
                continue
            left = [math.fsum(w[: b + 1]) + (m if missing_left else 0) for w, m in zip(column, missing)]
            right = [math.fsum(w[b + 1 : -1]) + (0 if missing_left else m) for w, m in zip(column, missing)]
            tried.append((2 * b + missing_left, left, right))
    if any(missing):
        tried.append((2 * n_edges, [math.fsum(weights[:-1]) for weights in column], missing))
    gains = [
        (gain(parent, left, right, criterion), candidate, math.fsum(left))
        for candidate, left, right in tried
        if any(left) and any(right)
    ]
    if not gains:
        return -np.inf, 0, 0.0
    best = max(g for g, _, _ in gains)
    return next(entry for entry in gains if entry[0] >= best - TIE)


def check(histograms, n_edges, criterion, share=1):
    total = share * int(histograms[0].sum())
    gains, numbers, left_weights = best_cuts(histograms, total, n_edges, criterion)
    for j, column in enumerate((histograms / total).tolist()):
        g, candidate, left = naive_best_cut(column, n_edges[j], criterion)
        assert numbers[j] == candidate
        assert_allclose([gains[j], left_weights[j]], [g, left], rtol=0, atol=1e-13)


@given(st.integers(0, 2**32 - 1), st.sampled_from(CRITERIA), st.integers(2, 5))
def test_best_cuts_are_the_naive_ones(seed, criterion, n_classes):
    rng = np.random.default_rng(seed)
    n_rows, n_columns, n_bins = int(rng.integers(2, 50)), int(rng.integers(1, 4)), int(rng.integers(2, 25))
    n_edges = rng.integers(0, n_bins - 1, size=n_columns) if n_bins > 2 else np.zeros(n_columns, dtype=int)
    codes = rng.integers(n_classes, size=n_rows)
    weights = in_units(np.full(n_rows, 1 / n_rows) if rng.random() < 0.5 else rng.dirichlet(np.ones(n_rows)))
    histograms = np.zeros((n_columns, n_classes, n_bins), dtype=np.int64)
    for j in range(n_columns):
        bins = rng.integers(0, 1 + n_edges[j] // rng.integers(1, 4), size=n_rows)
        bins[rng.random(n_rows) < rng.choice([0.0, 0.3])] = n_bins - 1
        np.add.at(histograms[j], (codes, bins), weights)
    check(histograms, n_edges, criterion, share=int(rng.integers(1, 4)))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_first_of_equal_cuts_wins(criterion):
    """Mirror images have gains that are equal but for rounding, also where logarithms are approximated first."""
    rng = np.random.default_rng(0)
    for n_classes in (2, 3):
        half = rng.integers(1, 1000, size=(20, n_classes, 6))
        histograms = np.concatenate([half, half[..., ::-1], np.zeros((20, n_classes, 1), dtype=half.dtype)], axis=2)
        check(histograms.astype(np.int64), np.full(20, 11), criterion)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_weights_of_a_single_unit_count(criterion):
    """A side is empty where it has no row, not where its row weighs next to nothing."""
    histograms = np.zeros((1, 2, 5), dtype=np.int64)
    histograms[0, :, 0], histograms[0, 1, 2] = 2**60, 1
    gains, numbers, left_weights = best_cuts(histograms, int(histograms.sum()), np.array([3]), criterion)
    assert numbers[0] == 0
    assert gains[0] == pytest.approx(0, abs=1e-15)
    assert left_weights[0] == 1.0


@given(st.integers(0, 2**32 - 1), st.sampled_from([*CRITERIA, "gain_ratio"]), st.booleans())
def test_the_best_of_all_columns(seed, criterion, idle_splits):
    """The sides of the cut that the naive tree chooses, and where later gaps go."""
    rng = np.random.default_rng(seed)
    n_rows, n_classes = int(rng.integers(2, 30)), int(rng.integers(2, 4))
    X, y = rng.integers(0, 6, size=(n_rows, 3)).astype(float), rng.integers(n_classes, size=n_rows)
    X[rng.random(X.shape) < rng.choice([0.0, 0.2])] = np.nan
    weights = rng.dirichlet(np.ones(n_rows))
    histograms = np.zeros((3, n_classes, 7), dtype=np.int64)
    for j in range(3):
        np.add.at(histograms[j], (y, np.where(np.isnan(X[:, j]), 6, X[:, j]).astype(int)), in_units(weights))
    cut = best_cut(histograms, int(histograms[0].sum()), np.full(3, 5), criterion, idle_splits=idle_splits)
    splits = []
    for candidate in candidates(X, range(n_rows), [np.arange(5) + 0.5] * 3):
        sides = divide(X, range(n_rows), candidate)
        if all(sides):
            sides = [[math.fsum(weights[i] for i in side if y[i] == k) for k in range(n_classes)] for side in sides]
            splits.append((candidate, *sides))
    parent = [weights[y == k].sum() for k in range(n_classes)]
    best = choose_split(splits, parent, criterion, split_without_gain=idle_splits)
    assert (cut is None) == (best is None)
    if best is not None:
        (feature, threshold, missing_left), left, right = best
        if missing_left is None:
            missing_left = sum(left) >= sum(right) - TIE
        assert (cut.feature, cut.missing_left) == (feature, missing_left)
        assert cut.cut_bin == (5 if threshold == math.inf else threshold - 0.5)
        assert_allclose([cut.left, cut.right], [left, right], rtol=0, atol=1e-14)


def test_the_approximation_of_logarithms_is_as_near_as_is_relied_on():
    values = np.linspace(1, 2, 100_001)
    approximated = np.polynomial.polynomial.polyval(2 * values - 3, LOG2)
    assert np.abs(approximated - np.log2(values)).max() < LOG2_ERROR
