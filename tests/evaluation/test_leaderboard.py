"""Tests, intervals and ranks of a leaderboard, against scipy and against what they are defined as."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from fuselearn import ConcatenatedClassifier, compare
from fuselearn.evaluation.leaderboard import bounds_of, half_interval, interval, mean_ranks, paired_tests

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


@pytest.mark.parametrize(("n_classes", "area"), [(2, "roc_auc"), (3, "roc_auc_ovr")])
def test_unequal_classes_have_other_scores_beside_accuracy(n_classes, area):
    X, y = load_iris(return_X_y=True)
    kept = (y < n_classes) & ((y != 1) | (np.arange(150) % 3 == 0))
    X, y = X[kept] + np.random.default_rng(0).normal(size=(kept.sum(), 4)), y[kept]
    settings = {"views": {"sepal": [0, 1], "petal": [2, 3]}, "runs": 2, "random_state": 0}
    result = compare(X, y, methods={"nb": ConcatenatedClassifier(GaussianNB()), "plain": LinearSVC()}, **settings)
    assert list(result.summary.columns[:6]) == ["method", "accuracy", "low", "high", "balanced_accuracy", area]
    assert "unequal size" in result.summary.note
    by_name = {record["method"]: record for record in result.summary.records()}
    only = {"methods": {"nb": ConcatenatedClassifier(GaussianNB())}, **settings}
    for score in ("balanced_accuracy", area):
        other = compare(X, y, scoring=score, **only)
        assert list(other.summary.columns[1:5]) == [score, "low", "high", "mean rank"]
        assert by_name["nb"][score] == pytest.approx(other.scores.mean())
    # A score that a method has no values for is missing, and the others are there.
    assert (by_name["plain"][area] is None) == (n_classes == 3)
    assert by_name["plain"]["balanced_accuracy"] > 0.5
    assert area in result.table.columns


def test_intervals_of_bounded_scores_stay_within_their_bounds():
    X, y = load_iris(return_X_y=True)
    methods = {"bayes": GaussianNB(), "petals": "view:b"}
    result = compare(X, y, views={"a": [0, 1], "b": [2, 3]}, methods=methods, runs=4, train_size=0.8, random_state=0)
    assert set(result.methods) == {"bayes", "petals"}
    table = result.table
    assert interval(result.scores[0], 0.25)[1] > 1
    assert table["high"].max() == 1.0
    assert (table["low"] > 0).all()
    assert "<table>" in result._repr_html_()
    for scoring, bounds in {"f1_macro": (0, 1), "matthews_corrcoef": (-1, 1), "r2": (-np.inf, 1)}.items():
        assert bounds_of(scoring) == bounds
