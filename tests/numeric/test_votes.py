"""Weights and votes of a round, one row at a time; decision values, probabilities and votes of pairs of classes."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.multiclass import _ovr_decision_function

from fuselearn.numeric.votes import (
    ABSENT,
    RIGHT,
    WRONG,
    add_all_votes,
    add_votes,
    codes_of,
    mark_outcomes,
    multiply_by_outcome,
    one_against_one,
    pairs_of_classes,
    prior_votes,
    probabilities,
    sum_by_outcome,
    ties_for_largest,
)


@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_a_round_of_weights(seed, n_rows):
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(rng.random(n_rows) < 0.7)
    codes, predicted = rng.integers(3, size=(2, len(rows)), dtype=np.int32)
    outcome = np.zeros(n_rows, dtype=np.int8)
    mark_outcomes(predicted, codes, rows, outcome)
    expected = [ABSENT] * n_rows
    for row, code, guess in zip(rows, codes, predicted):
        expected[row] = RIGHT if code == guess else WRONG
    assert_array_equal(outcome, expected)
    weights = rng.dirichlet(np.ones(n_rows))
    sums = [weights[outcome == kind].sum() for kind in (RIGHT, WRONG, ABSENT)]
    assert_allclose(sum_by_outcome(outcome, weights), sums, atol=1e-15)
    factors = {RIGHT: 0.5, WRONG: 2.0, ABSENT: 1.5}
    scaled = weights * [factors[kind] for kind in outcome.tolist()]
    multiply_by_outcome(outcome, weights, *factors.values())
    assert_allclose(weights, scaled / scaled.sum())


def test_votes_are_added_to_the_predicted_classes():
    rows, codes = np.array([0, 2]), np.array([[1, 0], [1, 1]], dtype=np.int32)
    votes, at_once = np.zeros((3, 2)), np.zeros((3, 2))
    for row_codes, alpha in zip(codes, (0.5, 0.25)):
        add_votes(votes, row_codes, rows, alpha)
    add_all_votes(at_once, codes, rows, np.array([0.5, 0.25]))
    assert_array_equal(votes, [[0.0, 0.75], [0.0, 0.0], [0.5, 0.25]])
    assert_array_equal(at_once, votes)


@pytest.mark.parametrize("prior", [[0.3, 0.7], [0.2, 0.5, 0.3]])
def test_the_prior_has_votes_of_its_own(prior):
    votes = prior_votes(np.array(prior))
    decision = votes[1:] - votes[:1] if len(prior) == 2 else votes[None]
    assert_allclose(probabilities(decision), [prior])


def test_outcomes_are_counted_from_minus_one():
    """Where rows are partitioned, an outcome plus 1 is a place among three sums."""
    assert list(range(-1, 2)) == [WRONG, ABSENT, RIGHT]


def test_a_class_that_no_row_has_is_not_predicted():
    votes = prior_votes(np.array([0.25, 0.0, 0.75]))
    assert np.isfinite(votes).all()
    assert_allclose(probabilities(votes[None]), [[0.25, 0.0, 0.75]], rtol=1e-12, atol=0)


def test_ties_go_to_the_lowest_class():
    assert_array_equal(codes_of(np.array([0.0, 1e-9, -1.0])), [0, 1, 0])
    assert_array_equal(codes_of(np.array([[1.0, 1.0, 0.0], [0.0, 2.0, 2.0]])), [0, 1])


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_pairs_are_decided_as_scikit_learn_does(n_classes):
    pairs = pairs_of_classes(n_classes)
    assert pairs == list(combinations(range(n_classes), 2))
    values = np.random.default_rng(0).normal(size=(30, len(pairs))) * 2
    values[::3, 0] = 0.0  # a pair that is undecided goes to its first class
    theirs = _ovr_decision_function(values > 0, values, n_classes)
    assert_allclose(one_against_one(values, n_classes), theirs)


@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_the_class_that_wins_most_pairs_is_ahead(seed, n_classes):
    pairs = pairs_of_classes(n_classes)
    values = np.random.default_rng(seed).normal(size=(5, len(pairs)))
    decision = one_against_one(values, n_classes)
    for row, row_decision in zip(values, decision):
        wins = np.zeros(n_classes)
        for value, (first, second) in zip(row, pairs):
            wins[second if value > 0 else first] += 1
        assert wins[row_decision.argmax()] == wins.max()
        assert np.all(np.abs(row_decision - wins) < 0.5)


def test_ties_are_of_the_largest_value_but_for_rounding():
    decision = np.array([[0.1, 0.5, 0.2], [3.0, 1.0, 3.0 - 1e-14], [-2.0, -2.0, -2.0 - 1e-9]])
    assert ties_for_largest(decision).tolist() == [[False, True, False], [True, False, True], [True, True, False]]
