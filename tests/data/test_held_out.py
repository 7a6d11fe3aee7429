"""Rows that early stopping holds out."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from fuselearn.data.held_out import (
    class_counts,
    hashed,
    held_out_groups,
    held_out_part,
    held_out_rows,
)

SEEDS = st.integers(0, 2**64 - 1)
FRACTIONS = st.floats(0.001, 0.999) | st.sampled_from([0.1, 0.15, 0.2, 0.25, 1 / 3, 0.5, 0.9])


def naive_hash(seed, *numbers):
    """SplitMix64 in Python's own numbers."""

    def mixed(number):
        number = (number + 0x9E3779B97F4A7C15) % 2**64
        number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        number = (number ^ (number >> 27)) * 0x94D049BB133111EB % 2**64
        return number ^ (number >> 31)

    state = mixed(seed)
    for number in numbers:
        state = mixed(state ^ number)
    return state


def naive_held_out(codes, fraction, seed):
    """Each row by the definition: is it the pick of the block of its rank in its class?"""
    ranks_of_class = {code: np.flatnonzero(codes == code).tolist() for code in set(codes.tolist()) - {-1}}
    held_out = np.zeros(len(codes), dtype=bool)
    for code, rows in ranks_of_class.items():
        for rank, row in enumerate(rows):
            block = next(number for number in range(rank, -1, -1) if math.ceil(number / fraction) <= rank)
            start, stop = math.ceil(block / fraction), math.ceil((block + 1) / fraction)
            held_out[row] = rank == start + naive_hash(seed, code, block) % (stop - start)
        if len(rows) == 1:
            held_out[rows] = False
        elif not held_out[rows].any():
            held_out[rows[naive_hash(seed, code, 2**64 - 1) % len(rows)]] = True
    return held_out


def random_codes(seed, n_classes, n_rows, *, unused=0.0):
    """Codes of classes of different sizes, at least two rows each; some rows do not count."""
    generator = np.random.default_rng(seed)
    codes = np.r_[np.arange(n_classes), np.arange(n_classes), (generator.random(n_rows) ** 2 * n_classes).astype(int)]
    codes[2 * n_classes :][generator.random(n_rows) < unused] = -1
    return generator.permutation(codes)


@given(st.integers(0, 1000), st.integers(1, 5), st.integers(0, 80), FRACTIONS, SEEDS)
def test_the_definition(data_seed, n_classes, n_rows, fraction, seed):
    codes = random_codes(data_seed, n_classes, n_rows, unused=0.2)
    expected = naive_held_out(codes, fraction, seed)
    assert_array_equal(held_out_rows(codes, len(codes), fraction, seed), expected)
    usable = codes >= 0
    as_given = np.where(usable, codes, 0)  # what a row that does not count is labelled does not matter
    assert_array_equal(held_out_rows(as_given, len(codes), fraction, seed, usable=usable), expected)


@given(st.integers(0, 1000), st.integers(1, 4), st.lists(st.integers(0, 70), max_size=6), FRACTIONS, SEEDS)
def test_partitions_do_not_matter(data_seed, n_classes, cuts, fraction, seed):
    codes = random_codes(data_seed, n_classes, 60, unused=0.1)
    counts = class_counts(codes, n_classes)
    first_ranks, held_out = np.zeros(n_classes, dtype=int), []
    for part in np.split(codes, sorted(cuts)):
        held_out.append(held_out_part(part, first_ranks, counts, fraction, seed))
        first_ranks = first_ranks + class_counts(part, n_classes)
    assert_array_equal(np.concatenate(held_out), held_out_rows(codes, len(codes), fraction, seed))


def test_partitions_do_not_matter_where_rows_are_looked_at_in_several_steps(monkeypatch):
    codes = random_codes(5, 3, 500)
    whole = held_out_rows(codes, len(codes), 0.1, 0)
    monkeypatch.setattr("fuselearn.data.held_out.ROWS_AT_A_TIME", 7)
    assert_array_equal(held_out_rows(codes, len(codes), 0.1, 0), whole)


@given(st.integers(0, 1000), st.integers(1, 5), st.integers(0, 300), FRACTIONS, SEEDS)
def test_each_class_is_on_both_sides_with_its_share(data_seed, n_classes, n_rows, fraction, seed):
    codes = random_codes(data_seed, n_classes, n_rows)
    held_out = held_out_rows(codes, len(codes), fraction, seed)
    counts, n_held_out = class_counts(codes), class_counts(codes[held_out], n_classes)
    assert (n_held_out >= 1).all()
    assert (n_held_out < counts).all()
    assert (np.abs(n_held_out - counts * fraction) <= 1 + 1e-9).all()


@given(st.integers(2, 500), FRACTIONS, SEEDS)
def test_regression_has_one_class(n_rows, fraction, seed):
    held_out = held_out_rows(None, n_rows, fraction, seed)
    assert_array_equal(held_out, naive_held_out(np.zeros(n_rows, dtype=int), fraction, seed))
    assert 1 <= np.count_nonzero(held_out) < n_rows


def test_every_row_is_held_out_as_often():
    counts = sum(held_out_rows(None, 40, 0.25, seed).astype(int) for seed in range(1000))
    assert np.abs(counts / 1000 - 0.25).max() < 0.06  # 4 standard deviations


def test_a_fraction_smaller_than_any_table():
    assert np.count_nonzero(held_out_rows(np.arange(20) % 2, 20, 1e-300, 0)) == 2


def test_more_classes_than_16_bits_number():
    codes = np.repeat(np.arange(40_000), 2)
    held_out = held_out_rows(codes, len(codes), 0.1, 4)
    assert_array_equal(class_counts(codes[held_out]), 1)


@given(SEEDS, st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=3))
def test_hash(seed, numbers):
    *first, last = numbers
    assert hashed(seed, *first, np.array([last, last ^ 1], dtype=np.uint64)).tolist() == [
        naive_hash(seed, *first, last),
        naive_hash(seed, *first, last ^ 1),
    ]


def test_a_class_of_one_row_stays_in_the_training():
    codes = np.r_[np.zeros(50, dtype=int), 1, np.full(50, 2)]
    message = "The class 'b' has one row only. It stays in the training, and early stopping does not judge the class"
    with pytest.warns(UserWarning, match=message):
        held_out = held_out_rows(codes, 101, 0.1, 0, classes=np.array(["a", "b", "c"]))
    assert class_counts(codes[held_out]).tolist() == [5, 0, 5]
    with pytest.warns(UserWarning, match="The classes 1, 2, 3, 4, 5 and 2 more have one row only"):
        held_out_rows(np.r_[0, np.arange(8)], 9, 0.1, 0)


@given(st.integers(0, 1000), st.integers(2, 30), FRACTIONS, SEEDS)
def test_whole_groups(data_seed, n_groups, fraction, seed):
    generator = np.random.default_rng(data_seed)
    groups = generator.permutation(np.r_[np.arange(n_groups), generator.integers(0, n_groups, 100)])
    usable = generator.random(len(groups)) < 0.9
    assume(len(np.unique(groups[usable])) > 1)
    held_out = held_out_rows(None, len(groups), fraction, seed, groups, usable)
    held, trained = groups[held_out], groups[usable & ~held_out]
    assert not set(held) & set(trained)
    assert not (held_out & ~usable).any()
    n_usable = len(np.unique(groups[usable]))
    assert len(set(held)) == min(max(1, np.rint(n_usable * fraction)), n_usable - 1)
    order = generator.permutation(len(groups))
    assert_array_equal(held_out_rows(None, len(groups), fraction, seed, groups[order], usable[order]), held_out[order])


def test_groups_are_drawn_again_until_every_class_is_on_both_sides():
    groups = np.repeat(np.arange(40), 5)
    codes = (groups >= 36).astype(int)  # the second class is in four of forty groups
    seeds_drawn_again = 0
    for seed in range(30):
        held_out = held_out_rows(codes, 200, 0.1, seed, groups)
        assert (class_counts(codes[held_out]) > 0).all()
        assert (class_counts(codes[~held_out]) > 0).all()
        first = held_out_groups(np.arange(40), 0.1, seed)
        seeds_drawn_again += not np.array_equal(first, np.unique(groups[held_out]))
        assert len(first) == len(np.unique(groups[held_out])) == 4
    assert seeds_drawn_again > 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"codes": None, "n_rows": 1},
            "early_stopping holds out rows, but 1 row of X counts; set early_stopping=False",
        ),
        ({"codes": np.arange(20)}, "no class has two rows that count"),
        ({"usable": np.zeros(20, dtype=bool)}, "no row of X counts"),
        ({"fraction": 0}, "validation_fraction must be a number above 0 and below 1; got 0"),
        ({"fraction": 1.0}, "validation_fraction must be a number above 0 and below 1; got 1.0"),
        ({"fraction": float("nan")}, "validation_fraction must be .* got nan"),
        ({"fraction": True}, "validation_fraction must be .* got True"),
        ({"fraction": "auto"}, "validation_fraction must be .* got 'auto'"),
        ({"groups": np.zeros(20, dtype=int)}, "the rows of X that count are of one group; give at least two groups"),
        (
            {"groups": np.repeat(np.arange(5), 4), "codes": np.repeat([0, 1], [16, 4]), "classes": ["a", "b"]},
            "20 draws of about 0.2 of the 5 groups none had every class on both sides: the class 'b' is in 1 group. "
            "Give every class more groups, choose a validation_fraction nearer to 0.5, or set early_stopping",
        ),
    ],
)
def test_messages(arguments, message):
    with pytest.raises(ValueError, match=message):
        held_out_rows(**{"codes": np.arange(20) % 2, "n_rows": 20, "fraction": 0.2, "seed": 0, **arguments})
