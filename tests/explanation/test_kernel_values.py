"""Shapley values of Gaussian kernels against their definition."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from fuselearn.explanation import kernel_values
from fuselearn.explanation.kernel_values import kernel_shapley, squashed_kernel_shapley
from fuselearn.numeric.threads import Threads
from tests.naive.shapley import kernel_value, shapley_by_subsets


def problem(seed, n_rows=3, n_columns=5, n_centres=7, n_outputs=2):
    rng = np.random.default_rng(seed)
    X, centres = rng.normal(size=(n_rows, n_columns)), rng.normal(size=(n_centres, n_columns))
    return X, centres, rng.normal(size=(n_centres, n_outputs))


@given(st.integers(0, 2**32 - 1), st.floats(0, 100))
def test_equals_the_definition(seed, gamma):
    X, centres, coefficients = problem(seed)
    base, values = kernel_shapley(X, centres, gamma, coefficients, np.arange(5), 5)
    for row, x in enumerate(X):
        expected = shapley_by_subsets(lambda known, x=x: kernel_value(x, centres, gamma, coefficients, known), 5)
        assert_allclose(values[row], expected, atol=1e-12)
        assert_allclose(base[row], coefficients.sum(axis=0), atol=1e-12)


def test_kernels_of_absolute_differences_are_products_too():
    X, centres, coefficients = problem(6)
    _, values = kernel_shapley(X, centres, 0.3, coefficients, np.arange(5), 5, absolute=True)
    for row, x in enumerate(X):
        factors = np.exp(-0.3 * np.abs(x - centres))
        expected = shapley_by_subsets(
            lambda known, factors=factors: factors[:, sorted(known)].prod(axis=1) @ coefficients, 5
        )
        assert_allclose(values[row], expected, atol=1e-12)


def test_fixed_and_shared_columns():
    X, centres, coefficients = problem(1)
    base, values = kernel_shapley(X, centres, 0.4, coefficients, np.array([1, -1, 3, 1, -1]), 4)
    columns = {1: {0, 3}, 3: {2}}
    players = [1, 3]
    for row, x in enumerate(X):

        def value_of(known, x=x):
            there = {1, 4}.union(*(columns[players[player]] for player in known))
            return kernel_value(x, centres, 0.4, coefficients, there)

        assert_allclose(values[row, players], shapley_by_subsets(value_of, 2), atol=1e-12)
        assert_allclose(base[row], value_of(set()), atol=1e-12)
    assert not values[:, [0, 2]].any()


def test_many_columns_add_up_whatever_the_width_of_the_kernel():
    X, centres, coefficients = problem(2, n_rows=4, n_columns=300, n_centres=50)
    for gamma in (0.0, 1e-4, 0.002, 0.02, 0.2, 20.0):
        base, values = kernel_shapley(X, centres, gamma, coefficients, np.arange(300), 300)
        everything = [kernel_value(x, centres, gamma, coefficients, range(300)) for x in X]
        assert_allclose(base + values.sum(axis=1), everything, atol=1e-11)


def test_equal_columns_get_equal_values():
    X, centres, coefficients = problem(3, n_columns=60)
    _, values = kernel_shapley(X, centres, 0.5, coefficients, np.arange(60), 60)
    X[:, 7], centres[:, 7] = X[:, 31], centres[:, 31]
    _, values = kernel_shapley(X, centres, 0.5, coefficients, np.arange(60), 60)
    assert_allclose(values[:, 7], values[:, 31], rtol=1e-9)


def squashed(x, centres, gamma, coefficients, intercepts, shares, known):
    return np.tanh(kernel_value(x, centres, gamma, coefficients, known) + intercepts) @ shares


def test_squashed_kernels_of_few_columns_are_exact():
    X, centres, coefficients = problem(4)
    intercepts, shares = np.array([0.3, -0.2]), np.array([0.6, 0.4])
    arguments = centres, 0.2, coefficients, intercepts, shares
    base, values, errors = squashed_kernel_shapley(X, *arguments, np.arange(5), 5)
    assert errors is None
    for row, x in enumerate(X):
        expected = shapley_by_subsets(lambda known, x=x: squashed(x, *arguments, known), 5)
        assert_allclose(values[row, :, 0], expected, atol=1e-12)
        assert_allclose(base[row, 0], squashed(x, *arguments, set()), atol=1e-12)


def test_squashed_kernels_of_many_columns_add_up_and_state_their_error(monkeypatch):
    X, centres, coefficients = problem(5, n_rows=8)
    arguments = centres, 0.2, coefficients, np.array([0.3, -0.2]), np.array([0.6, 0.4])
    exact = squashed_kernel_shapley(X, *arguments, np.arange(5), 5)[1]
    monkeypatch.setattr(kernel_values, "MOST_EXACT", 2)
    base, values, errors = squashed_kernel_shapley(X, *arguments, np.arange(5), 5)
    everything = [squashed(x, *arguments, range(5)) for x in X]
    assert_allclose(base[:, 0] + values[:, :, 0].sum(axis=1), everything, atol=1e-12)
    away = np.abs(values - exact)
    assert np.all(away <= 5 * errors + 1e-9)
    assert (away <= 2 * errors + 1e-9).mean() > 0.8
    with Threads(3) as threads:
        others = squashed_kernel_shapley(X, *arguments, np.arange(5), 5, threads)
    assert np.array_equal(values, others[1])
