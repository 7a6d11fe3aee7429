"""Gaussian naive Bayes and least squares: like their naive versions and scikit-learn's, whatever the data."""

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal
from sklearn import naive_bayes

from fuselearn.data import View
from fuselearn.learners import GaussianNB, LeastSquares
from tests.fitting import fit_learner
from tests.learners.random_problems import problems
from tests.naive import gaussian_nb as naive_nb
from tests.naive import least_squares as naive_ls


@given(problems())
def test_gaussian_nb_is_the_naive_one(problem):
    X, y, w, n_classes, rng = problem
    fast = fit_learner(GaussianNB(), X, y, w, n_classes)
    slow = naive_nb.fit(X, y, w, n_classes)
    new = rng.normal(size=(30, X.shape[1]))
    new[rng.random(new.shape) < 0.1] = np.nan
    assert_array_equal(fast.predict(X), slow(X))
    assert_array_equal(fast.predict(new), slow(new))


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_gaussian_nb_is_scikit_learns(n_classes, offset):
    rng = np.random.default_rng(n_classes)
    y = rng.integers(0, n_classes, 300)
    X = rng.normal(size=(300, 6)) + y[:, None] * rng.normal(size=6) + offset
    w = rng.exponential(size=300)
    ours = fit_learner(GaussianNB(), X, y, w / w.sum(), n_classes)
    theirs = naive_bayes.GaussianNB().fit(X, y, sample_weight=w)
    assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("seed", range(5))
def test_a_column_that_is_constant_in_each_class_leaves_equally_far_rows_to_the_others(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 200)
    w = rng.exponential(size=200)
    X = np.c_[np.where(y == 1, 5.0, 3.0), rng.normal(size=200) + 3 * y]
    between = np.c_[np.full(500, 4.0), rng.uniform(-3, 6, 500)]
    ours = fit_learner(GaussianNB(), X, y, w / w.sum(), 2)
    assert_array_equal(ours.predict(between), naive_bayes.GaussianNB().fit(X, y, w).predict(between))


def test_gaussian_nb_survives_what_has_no_variance():
    X = np.array([[1.0, 5.0], [1.0, 5.0], [1.0, 7.0], [1.0, 7.0]])
    hypothesis = fit_learner(GaussianNB(), X, [0, 0, 1, 1], np.full(4, 0.25), 2)
    assert_array_equal(hypothesis.predict(X), [0, 0, 1, 1])
    constant = fit_learner(GaussianNB(var_smoothing=0.0), X[:, :1], [0, 1, 1, 1], np.full(4, 0.25), 2)
    assert_array_equal(constant.predict(X[:, :1]), [1, 1, 1, 1])


def test_a_constant_column_is_not_scaled_up():
    X = np.c_[np.full(1000, 0.1), np.arange(1000.0)]
    plan = GaussianNB().plan(View("view", X, np.arange(2), None), None)
    assert plan.scales[0] == 1.0
    assert plan.largest_variances[0] == pytest.approx(np.var(X[:, 1]))


def test_columns_of_very_different_scales():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = np.c_[rng.normal(size=200) * 1e-155, (rng.normal(size=200) + 2 * y) * 1e10]
    hypothesis = fit_learner(GaussianNB(), X, y, np.full(200, 1 / 200), 2)
    assert np.mean(hypothesis.predict(X) == y) > 0.75


@given(problems(gaps=False, coarse=False))
def test_least_squares_is_the_naive_one(problem):
    X, y, w, n_classes, rng = problem
    fast = fit_learner(LeastSquares(), X, y, w, n_classes)
    slow = naive_ls.fit(X, y, w, n_classes)
    new = rng.normal(size=(30, X.shape[1]))
    assert_array_equal(fast.predict(X), slow(X))
    assert_array_equal(fast.predict(new), slow(new))


def test_least_squares_fills_gaps_with_the_mean():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 3)) + y[:, None]
    X[rng.random(X.shape) < 0.2] = np.nan
    w = np.full(60, 1 / 60)
    assert_array_equal(fit_learner(LeastSquares(), X, y, w, 2).predict(X), naive_ls.fit(X, y, w, 2)(X))


def test_ridge_shrinks():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 3)) + y[:, None]
    w = np.full(60, 1 / 60)
    plain, ridge = (fit_learner(LeastSquares(ridge), X, y, w, 2).slopes for ridge in (0.0, 10.0))
    assert np.abs(ridge).sum() < 0.5 * np.abs(plain).sum()


def test_least_squares_takes_more_columns_than_rows():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(10, 40)), np.arange(10) % 2
    assert_array_equal(fit_learner(LeastSquares(), X, y, np.full(10, 0.1), 2).predict(X), y)
