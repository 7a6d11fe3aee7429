"""Sums and fingerprints that do not depend on how rows are partitioned."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn.numeric.exact_sums import (
    fingerprint,
    in_own_units,
    in_units,
    joined,
    limb_sums,
    scale_by_outcome,
    sums_of_limbs,
)
from fuselearn.numeric.votes import ABSENT, RIGHT, WRONG


@given(st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_sums_are_those_of_fractions_in_any_order(seed, n):
    rng = np.random.default_rng(seed)
    values, groups = rng.random(n) ** 8, rng.integers(3, size=n).astype(np.int8)
    limbs = limb_sums(values, groups, 3)
    for group, total in enumerate(sums_of_limbs(limbs)):
        exact = sum((Fraction(float(value)) for value in values[groups == group]), Fraction(0))
        assert abs(Fraction(total) - exact) <= Fraction(n + 1, 2**93) + exact * Fraction(1, 2**52)
    order, cut = rng.permutation(n), n // 2
    partitions = [limb_sums(values[rows], groups[rows], 3) for rows in (order[:cut], order[cut:])]
    assert_array_equal(sum(partitions), limbs)


def test_weights_in_units_keep_their_sum():
    weights = np.random.default_rng(0).dirichlet(np.ones(1000))
    assert_allclose(in_units(weights).sum() / 2.0**62, 1, rtol=1e-15)


@given(st.integers(0, 2**32 - 1), st.integers(-1000, 0))
def test_weights_in_their_own_units_do_not_depend_on_their_size(seed, power):
    weights = np.random.default_rng(seed).dirichlet(np.ones(100))
    assert_array_equal(in_own_units(weights), in_units(weights))
    units = in_own_units(weights * 0.7 * 2.0**power)
    assert_array_equal(units, in_own_units(weights * 0.7))
    assert 2**61 <= units.sum() <= 2**62


def test_weights_are_scaled_by_outcome():
    weights = np.array([1.0, 2.0, 3.0])
    scale_by_outcome(np.array([RIGHT, WRONG, ABSENT], dtype=np.int8), weights, 2.0, 3.0, 5.0)
    assert_array_equal(weights, [2.0, 6.0, 15.0])


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(0, 30))
def test_fingerprints_of_partitions_are_joined(seed, n_rows, cut):
    table = np.random.default_rng(seed).normal(size=(n_rows, 3))
    partitions = [part for part in (table[:cut], table[cut:]) if len(part)]
    assert joined([(len(part), fingerprint(part)) for part in partitions]) == fingerprint(table)
    changed = table.copy()
    changed[-1, -1] = np.nextafter(changed[-1, -1], np.inf)
    assert fingerprint(changed) != fingerprint(table)
