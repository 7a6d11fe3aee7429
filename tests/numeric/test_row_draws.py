"""Draws of rows by their weights do not depend on how the rows are partitioned."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare

from fuselearn.numeric import row_draws
from fuselearn.numeric.exact_sums import in_units
from fuselearn.numeric.row_draws import block_sums, counts_in_blocks, draw_blocks, draw_counts


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(row_draws, "BLOCK_ROWS", 7)


def random_weights(seed, n):
    rng = np.random.default_rng(seed)
    weights = rng.exponential(size=n) * (rng.random(n) < 0.8)
    weights[rng.integers(n)] += 1.0
    return weights / weights.sum()


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.lists(st.integers(0, 40), max_size=4))
def test_partitions_draw_the_same_rows(seed, n, cuts):
    weights = random_weights(seed, n)
    sequence = np.random.SeedSequence(seed, spawn_key=(3, 1))
    whole = in_units(weights)
    cuts = sorted({0, n, *(cut for cut in cuts if cut < n)})
    parts = [whole[start:stop] for start, stop in pairwise(cuts)]
    n_blocks = -(-n // 7)
    totals = sum(block_sums(part, first, n_blocks) for part, first in zip(parts, cuts, strict=False))
    assert_array_equal(totals, [whole[start : start + 7].sum() for start in range(0, n, 7)])
    n_in_blocks = draw_blocks(totals, n, sequence)
    counts = [
        counts_in_blocks(part, first, int(whole[first - first % 7 : first].sum()), totals, n_in_blocks, sequence)
        for part, first in zip(parts, cuts, strict=False)
    ]
    expected = draw_counts(weights, n, sequence)
    assert_array_equal(np.concatenate(counts), expected)
    assert expected.sum() == n
    assert (expected[weights == 0] == 0).all()


def test_rows_are_drawn_by_their_weights():
    weights = random_weights(0, 30)
    counts = draw_counts(weights, 60_000, np.random.SeedSequence(1))
    used = weights > 0
    assert chisquare(counts[used], 60_000 * weights[used] / weights[used].sum()).pvalue > 0.01
    # And independently of each other: the variance over many draws is the multinomial one.
    many = np.array([draw_counts(weights, 50, np.random.SeedSequence(number)) for number in range(2000)])
    assert_allclose(many.mean(axis=0), 50 * weights, atol=0.25)
    assert_allclose(many.var(axis=0), 50 * weights * (1 - weights), atol=0.6)


def test_rounds_and_arms_draw_other_rows():
    weights = np.full(100, 0.01)
    draws = {
        tuple(draw_counts(weights, 100, np.random.SeedSequence(0, spawn_key=(t, j)))) for t in (0, 1) for j in (0, 1)
    }
    assert len(draws) == 4
