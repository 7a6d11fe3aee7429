"""Tests, intervals and ranks of a leaderboard, against scipy and against what they are defined as."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fuselearn.evaluation.leaderboard import half_interval, interval, mean_ranks, paired_tests

scores = st.lists(st.floats(0, 1).map(lambda value: round(value, 3)), min_size=3, max_size=30)


@given(scores, st.integers(0, 2**32 - 1))
def test_paired_t_is_scipys(first, seed):
    second = np.array(first) + np.random.default_rng(seed).normal(0.01, 0.02, size=len(first))
    tests = paired_tests(first, second, 2 / 3)
    assert tests.t == pytest.approx(stats.ttest_rel(first, second).pvalue)
    assert tests.corrected >= tests.t
    assert tests.difference == pytest.approx(np.mean(first) - np.mean(second))
    assert paired_tests(first, second, 0.0).corrected == pytest.approx(tests.t)


def test_nadeau_and_bengios_variance():
    differences = np.array([0.02, 0.01, 0.03, 0.02])
    tests = paired_tests(differences, np.zeros(4), 0.5)
    t = differences.mean() / np.sqrt(differences.var(ddof=1) * (1 / 4 + 0.5))
    assert tests.corrected == pytest.approx(2 * stats.t.sf(t, 3))
    low, high = interval(differences, 0.5)
    # The interval leaves out 0 just where the test is significant at its level.
    level = 1 - tests.corrected
    low, high = interval(differences, 0.5, level)
    assert low == pytest.approx(0, abs=1e-12)
    assert high == pytest.approx(2 * differences.mean())


def test_sign_test_leaves_out_ties():
    tests = paired_tests([1.0, 1.0, 1.0, 1.0, 0.5], [0.9, 0.9, 0.9, 0.9, 0.5], 0.5)
    assert tests.sign == pytest.approx(2 * 0.5**4)
    same = paired_tests([0.5, 0.5], [0.5, 0.5], 0.5)
    assert (same.t, same.corrected, same.sign) == (1.0, 1.0, 1.0)
    assert np.isnan(paired_tests([0.6, 0.6], [0.5, 0.5], 0.5).t)


def test_one_run_says_nothing():
    assert np.isnan(paired_tests([0.5], [0.4], 0.5).t)
    assert np.isnan(interval([0.5], 0.5)).all()


def test_half_interval_is_that_of_student():
    values = np.array([3.0, 5.0, 4.0, 8.0])
    assert half_interval(values) == pytest.approx(3.182446 * values.std(ddof=1) / 2, rel=1e-6)


def test_mean_ranks():
    assert mean_ranks([[0.9, 0.8], [0.8, 0.8], [0.1, 0.9]]).tolist() == [1.75, 2.25, 2.0]
