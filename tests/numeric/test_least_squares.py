"""Least squares against normal equations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn.numeric import least_squares
from fuselearn.numeric.execution import BLOCK_ROWS
from fuselearn.numeric.least_squares import RIDGES, SpectralRidge, cross_products, solve_least_norm
from tests.naive import fusion_arms as naive


def in_blocks(X):
    """Rows in blocks, and within a block column after column."""
    blocks = [X[start : start + BLOCK_ROWS].T.ravel() for start in range(0, len(X), BLOCK_ROWS)]
    return np.concatenate(blocks)


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(1, 8), st.integers(1, 3))
def test_solution_of_least_norm(seed, n, rank, m):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, rank))
    matrix = root @ root.T
    right_sides = matrix @ rng.normal(size=(n, m))
    expected = np.linalg.pinv(matrix, rcond=1e-9) @ right_sides
    condition = np.linalg.cond(root) ** 2
    if condition < 1e5:
        assert_allclose(solve_least_norm(matrix, right_sides, 1e-12), expected, rtol=1e-4, atol=1e-6)


def test_nothing_spans_nothing():
    assert_allclose(solve_least_norm(np.zeros((3, 3)), np.ones((3, 1)), 1e-12), np.zeros((3, 1)))


@given(st.integers(0, 2**32 - 1))
def test_cross_products(seed):
    rng = np.random.default_rng(seed)
    n, p, n_classes = int(rng.integers(1, 60)), int(rng.integers(1, 5)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, p))
    X[rng.random(X.shape) < 0.1] = np.nan
    codes = rng.integers(0, n_classes, n).astype(np.int32)
    weights = rng.exponential(size=n) * (rng.random(n) < 0.8)
    table = np.column_stack([np.ones(n), np.nan_to_num(X)])
    targets = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
    expected = (table * weights[:, None]).T @ np.column_stack([table, targets])
    classes = np.arange(n_classes, dtype=np.int32)
    assert_allclose(cross_products(in_blocks(X), p, codes, weights, classes), expected, atol=1e-10)


class Problem:
    """Rows with features, weights and two targets, and further rows."""

    def __init__(self, seed, n_rows, n_features, constant):
        rng = np.random.default_rng(seed)
        self.features = rng.normal(1.0, 2.0, (n_rows, n_features))
        if constant:
            self.features[:, 0] = 3.0
        self.weights = rng.uniform(0.2, 5.0, n_rows)
        self.targets = rng.normal(size=(n_rows, 2)) + self.features[:, -1:]
        self.others = rng.normal(1.0, 2.0, (7, n_features))

    def ridges(self):
        return RIDGES * naive.mean_eigenvalue(self.features, self.weights)

    def kernel(self):
        return self.features @ self.features.T


problems = st.builds(
    Problem,
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(4, 12),
    n_features=st.integers(2, 9),
    constant=st.booleans(),
)


def single(n_ridges, chosen):
    return (np.arange(n_ridges) == chosen).astype(float)


@given(problems, st.sampled_from(["kernel", "features"]))
def test_values_left_out_are_those_of_fits_without_the_row(problem, kind):
    if kind == "kernel":
        fits = SpectralRidge.of_kernel(problem.kernel(), problem.weights).fit(problem.targets)
    else:
        fits = SpectralRidge.of_features(problem.features, problem.weights).fit(problem.targets)
    for place, ridge in enumerate(problem.ridges()):
        values = naive.left_out_values(problem.features, problem.targets, problem.weights, ridge)
        assert_allclose(problem.targets - fits.errors[:, :, place], values, rtol=1e-6, atol=1e-6)
        loss = problem.weights @ ((problem.targets - values) ** 2).sum(axis=1)
        assert_allclose(fits.losses[place], loss, rtol=1e-6)


@given(problems, st.sampled_from(["kernel", "features"]), st.integers(2, 4))
def test_groups_are_left_out_together(problem, kind, n_groups):
    groups = np.arange(len(problem.features)) % n_groups
    if kind == "kernel":
        ridge = SpectralRidge.of_kernel(problem.kernel(), problem.weights)
    else:
        ridge = SpectralRidge.of_features(problem.features, problem.weights)
    fits = ridge.fit(problem.targets, groups)
    for place, strength in enumerate(problem.ridges()):
        values = naive.left_out_values(problem.features, problem.targets, problem.weights, strength, groups)
        assert_allclose(problem.targets - fits.errors[:, :, place], values, rtol=1e-6, atol=1e-6)


def test_groups_larger_and_smaller_than_the_number_of_features():
    for n_rows, n_features in ((40, 3), (12, 9)):
        problem = Problem(0, n_rows, n_features, False)
        groups = np.repeat([0, 1], [3, n_rows - 3])
        fits = SpectralRidge.of_features(problem.features, problem.weights).fit(problem.targets, groups)
        values = naive.left_out_values(problem.features, problem.targets, problem.weights, problem.ridges()[8], groups)
        assert_allclose(problem.targets - fits.errors[:, :, 8], values, rtol=1e-8)


def test_groups_of_one_row_are_rows():
    problem = Problem(3, 12, 5, False)
    ridge = SpectralRidge.of_features(problem.features, problem.weights)
    alone, grouped = ridge.fit(problem.targets), ridge.fit(problem.targets, np.arange(12)[::-1])
    assert_array_equal(alone.errors, grouped.errors)


@given(problems, st.integers(0, len(RIDGES) - 1))
def test_coefficients_are_those_of_the_normal_equations(problem, place):
    coefficients, offsets = naive.ridge_coefficients(
        problem.features, problem.targets, problem.weights, problem.ridges()[place]
    )
    expected = problem.others @ coefficients + offsets
    shares = single(len(RIDGES), place)

    ridge = SpectralRidge.of_features(problem.features, problem.weights)
    fits = ridge.fit(problem.targets)
    coefficients, offsets = ridge.feature_coefficients(ridge.dual(fits, shares), fits.mean)
    assert_allclose(problem.others @ coefficients + offsets, expected, rtol=1e-7, atol=1e-7)

    ridge = SpectralRidge.of_kernel(problem.kernel(), problem.weights)
    fits = ridge.fit(problem.targets)
    coefficients, offsets = ridge.kernel_coefficients(ridge.dual(fits, shares), fits.mean)
    assert_allclose(problem.others @ problem.features.T @ coefficients + offsets, expected, rtol=1e-7, atol=1e-7)


@given(problems)
def test_an_average_of_fits_predicts_the_average(problem):
    shares = np.random.default_rng(0).dirichlet(np.ones(len(RIDGES)))
    expected = 0
    for share, ridge in zip(shares, problem.ridges()):
        coefficients, offsets = naive.ridge_coefficients(problem.features, problem.targets, problem.weights, ridge)
        expected = expected + share * (problem.others @ coefficients + offsets)
    ridge = SpectralRidge.of_kernel(problem.kernel(), problem.weights)
    fits = ridge.fit(problem.targets)
    coefficients, offsets = ridge.kernel_coefficients(ridge.dual(fits, shares), fits.mean)
    assert_allclose(problem.others @ problem.features.T @ coefficients + offsets, expected, rtol=1e-7, atol=1e-7)


def test_features_that_say_nothing_leave_the_mean():
    weights = np.array([1.0, 2.0, 3.0, 1.0])
    targets = np.array([[1.0], [0.0], [2.0], [5.0]])
    for ridge in (
        SpectralRidge.of_features(np.ones((4, 2)), weights),
        SpectralRidge.of_kernel(np.ones((4, 4)), weights),
    ):
        fits = ridge.fit(targets)
        total = weights @ targets
        left_out = (total - weights[:, None] * targets) / (7 - weights[:, None])
        for place in range(len(RIDGES)):
            assert_allclose(targets - fits.errors[:, :, place], left_out)
        assert_allclose(fits.mean, total / 7)


def many_targets(n_rows=60, n_targets=100, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, 6))
    targets = rows @ rng.normal(size=(6, n_targets)) + rng.normal(size=(n_rows, n_targets))
    return rows, targets, rng.uniform(0.5, 2.0, n_rows), rng.integers(0, 15, n_rows)


@pytest.mark.parametrize("grouped", [False, True])
def test_many_targets_have_the_same_errors_and_nearly_the_same_losses(monkeypatch, grouped):
    rows, targets, weights, groups = many_targets()
    groups = np.unique(groups, return_inverse=True)[1] if grouped else None
    ridge = SpectralRidge.of_features(rows, weights)
    fits = ridge.fit(targets, groups)
    assert fits.errors is None
    monkeypatch.setattr(least_squares, "MOST_TARGETS", 1000)
    exact = ridge.fit(targets, groups)
    shares = np.zeros(len(RIDGES))
    shares[3], shares[8], shares[11] = 0.5, 0.3, 0.2
    assert_allclose(ridge.mean_errors(fits, shares), exact.errors @ shares, atol=1e-10)
    assert_array_equal(ridge.mean_errors(exact, shares), exact.errors @ shares)
    assert_allclose(ridge.dual(fits, shares), ridge.dual(exact, shares))
    ratios, exact_ratios = fits.losses / fits.losses.min(), exact.losses / exact.losses.min()
    assert_allclose(ratios, exact_ratios, rtol=0.15)
    assert_allclose(ratios[exact_ratios < 1.01], exact_ratios[exact_ratios < 1.01], atol=0.005)


def test_all_ridges_are_fitted_to_so_many_targets_only(monkeypatch):
    fitted = []
    errors = SpectralRidge._errors

    def counting(self, centred, projected, groups, ridges):
        result = errors(self, centred, projected, groups, ridges)
        fitted.append(result.shape[1] * result.shape[2])
        return result

    monkeypatch.setattr(SpectralRidge, "_errors", counting)
    for n_targets in (100, 1000):
        rows, targets, weights, _ = many_targets(n_targets=n_targets)
        ridge = SpectralRidge.of_features(rows, weights)
        fitted.clear()
        fits = ridge.fit(targets)
        ridge.mean_errors(fits, np.eye(len(RIDGES))[4])
        assert fitted == [least_squares.MOST_TARGETS * len(RIDGES), n_targets]
