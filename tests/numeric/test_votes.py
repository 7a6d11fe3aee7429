"""Decision values, probabilities and votes of pairs of classes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn.numeric.votes import codes_of, one_against_one, pairs_of_classes, prior_votes, probabilities


@pytest.mark.parametrize("prior", [[0.3, 0.7], [0.2, 0.5, 0.3]])
def test_the_prior_has_votes_of_its_own(prior):
    votes = prior_votes(np.array(prior))
    decision = votes[1:] - votes[:1] if len(prior) == 2 else votes[None]
    assert_allclose(probabilities(decision), [prior])


def test_ties_go_to_the_lowest_class():
    assert_array_equal(codes_of(np.array([0.0, 1e-9, -1.0])), [0, 1, 0])
    assert_array_equal(codes_of(np.array([[1.0, 1.0, 0.0], [0.0, 2.0, 2.0]])), [0, 1])


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
