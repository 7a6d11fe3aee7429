"""Tests and intervals of a comparison, against scipy and against what they are defined as."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fuselearn.evaluation.cells import PROTOCOLS, Protocol, majority_labels
from fuselearn.evaluation.statistics import half_interval, interval, mean_ranks, paired_tests

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


@pytest.mark.parametrize("name", PROTOCOLS)
def test_protocols(name):
    protocol = PROTOCOLS[name]
    y = np.repeat([0, 1], [60, 40])
    splits = protocol.splits(y, run=3, seed=5)
    for train, test in splits:
        assert len(np.intersect1d(train, test)) == 0
        assert len(train) + len(test) == 100
        assert len(test) / len(train) == pytest.approx(protocol.test_share, rel=0.05)
        assert y[train].mean() == pytest.approx(0.4, abs=0.02)
    again = protocol.splits(y, run=3, seed=5)
    assert all(np.array_equal(a, b) for one, other in zip(splits, again) for a, b in zip(one, other))
    other_run = protocol.splits(y, run=4, seed=5)
    assert not np.array_equal(splits[0][0], other_run[0][0])


def test_what_the_papers_do():
    assert PROTOCOLS["bssd"] == Protocol(runs=20, train_size=0.6)
    assert PROTOCOLS["shareboost"] == Protocol(runs=30, train_size=0.6, n_estimators=150)
    assert PROTOCOLS["shared_distribution"] == Protocol(runs=10, train_size=0.5, n_estimators=30)
    assert PROTOCOLS["mssboost"] == Protocol(runs=10, train_size=0.75)
    assert PROTOCOLS["tomographic"] == Protocol(runs=1400, folds=3)


@given(st.integers(0, 2**32 - 1))
def test_majority(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, size=(30, 4))
    chosen = majority_labels(labels, rng)
    for row, label in zip(labels, chosen):
        assert (row == label).sum() == np.bincount(row).max()
