"""Folds of rows and of groups."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from fuselearn.data.folds import Folds, fold_numbers, group_folds
from tests.data.test_held_out import naive_hash

SEEDS = st.integers(0, 2**64 - 1)


@given(st.integers(0, 40), st.integers(2, 10), SEEDS, st.integers(0, 2**40))
def test_the_definition(n_rows, n_folds, seed, first_row):
    expected = [naive_hash(seed, row) % n_folds for row in range(first_row, first_row + n_rows)]
    assert_array_equal(fold_numbers(n_rows, n_folds, seed, first_row=first_row), expected)


@given(st.lists(st.integers(0, 200), max_size=8), st.integers(2, 6), SEEDS, st.booleans())
def test_partitions_do_not_matter(cuts, n_folds, seed, has_groups):
    groups = np.random.default_rng(seed % 1000).integers(0, 20, 200) if has_groups else None
    whole = Folds.of(n_folds, seed, groups)
    expected = whole.numbers(200, groups=groups)
    folds, numbers = whole, []
    edges = [0, *sorted(cuts), 200]
    if groups is not None:
        counts = []
        for start, stop in pairwise(edges):
            names, first, n_rows = np.unique(groups[start:stop], return_index=True, return_counts=True)
            counts.append({int(names[k]): int(n_rows[k]) for k in np.argsort(first)})
        folds = Folds.of_counts(n_folds, seed, counts)
        assert folds == whole
    folds = pickle.loads(pickle.dumps(folds))
    for start, stop in pairwise(edges):
        some = None if groups is None else groups[start:stop]
        numbers.append(folds.numbers(stop - start, first_row=start, groups=some))
    assert_array_equal(np.concatenate(numbers), expected)
    assert expected.dtype == np.int8


@pytest.mark.parametrize("n_folds", [2, 3, 5])
def test_folds_are_of_about_the_same_size(n_folds):
    for seed in range(20):
        shares = np.bincount(fold_numbers(5000, n_folds, seed), minlength=n_folds) * n_folds / 5000
        assert np.abs(shares - 1).max() < 0.12


def test_groups_stay_together_and_fill_folds_evenly():
    generator = np.random.default_rng(3)
    groups = generator.choice([f"group {k}" for k in range(30)], 2000)
    folds = Folds.of(5, 7, groups).numbers(2000, groups=groups)
    assert all(len(set(folds[groups == name])) == 1 for name in set(groups))
    assert np.ptp(np.bincount(folds)) < 60
    # As many groups as folds: none is empty, whatever the seed.
    for seed in range(20):
        assert sorted(group_folds([5, 5, 5], 3, seed)) == [0, 1, 2]


def test_seeds_draw_different_folds():
    assert not np.array_equal(fold_numbers(100, 5, 0), fold_numbers(100, 5, 1))
    assert not np.array_equal(group_folds([3] * 20, 5, 0), group_folds([3] * 20, 5, 1))


def test_what_is_refused():
    with pytest.raises(ValueError, match="n_folds must be from 2 to 127; got 1"):
        fold_numbers(10, 1, 0)
    with pytest.raises(ValueError, match="groups must hold at least 3 groups, one for each fold; got 2"):
        group_folds([4, 4], 3, 0)
    with pytest.raises(ValueError, match="groups must be given"):
        Folds.of(2, 0, np.arange(4)).numbers(4)
