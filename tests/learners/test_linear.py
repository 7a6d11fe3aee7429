"""Least squares equals the naive one."""

import numpy as np
from hypothesis import given
from numpy.testing import assert_array_equal

from fuselearn.learners import LeastSquares
from tests.fitting import fit_learner
from tests.learners.random_problems import problems
from tests.naive import least_squares as naive_ls


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
