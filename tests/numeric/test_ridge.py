"""Least squares by a spectrum against normal equations, and the kernel machines made of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn.fusion.base_models import kernel_machines as kernel_machine
from fuselearn.fusion.base_models.kernel_machines import MachineRows, RadialSpectrum
from fuselearn.fusion.base_models.scaling import own_units, standardised, units_matter
from fuselearn.numeric.ridge import RIDGES, SpectralRidge, likelihoods
from tests.naive import fusion_arms as naive


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


def test_likelihoods_are_shares_that_fall_with_the_loss():
    shares = likelihoods(np.array([3.0, 1.0, 2.0, 1.0]), 10)
    assert_allclose(shares.sum(), 1)
    assert_allclose(shares / shares[1], np.exp(-5 * (np.array([3.0, 1.0, 2.0, 1.0]) - 1)))
    assert_array_equal(likelihoods(np.array([1.0, 0.0, 0.0]), 5), [0, 0.5, 0.5])


# Machines


def rows_of(n_rows=60, n_columns=4, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, n_columns)) * np.resize([1.0, 2.0, 0.5, 4.0], n_columns)
    targets = np.sign(rows[:, :1] + 0.3 * rng.normal(size=(n_rows, 1)))
    return rows, targets, rng.uniform(0.5, 2.0, n_rows)


def machine(rows, targets, weights, kernel="rbf", number=0, scales=None):
    scales = [own_units(rows)] if scales is None else scales
    made = MachineRows(kernel, scales, rows, weights, None, np.random.SeedSequence(0))
    return made.fit(targets, number, np.random.SeedSequence(1))


def test_with_all_rows_as_landmarks_the_approximation_is_exact(monkeypatch):
    rows, targets, weights = rows_of()
    scale = own_units(rows)
    exact = RadialSpectrum(scale, scale(rows), np.arange(60), 2.0, weights)
    monkeypatch.setattr(kernel_machine, "EXACT_ROWS", 0)
    landmarks = RadialSpectrum(scale, scale(rows), np.arange(60), 2.0, weights)
    assert exact._exact
    assert not landmarks._exact
    one, other = exact.fit(targets, None), landmarks.fit(targets, None)
    assert_allclose(one.losses, other.losses, rtol=1e-5)
    assert_allclose(one.errors, other.errors, atol=1e-4)
    shares = likelihoods(one.losses, 60)
    new = rows_of(seed=5)[0]
    assert_allclose(exact.machine(one, shares).predict(new), landmarks.machine(other, shares).predict(new), atol=1e-5)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize(("n_rows", "n_columns"), [(60, 4), (8, 12)])
def test_a_machine_is_the_average_of_ridges_by_their_likelihood(kernel, n_rows, n_columns):
    # The linear machine goes by columns or by rows, whichever are fewer.
    rows, targets, weights = rows_of(n_rows, n_columns)
    scale = own_units(rows)
    scaled = scale(rows)
    if kernel == "rbf":
        squares = ((scaled[:, None] - scaled[None]) ** 2).sum(axis=2)
        gram = np.exp(-2.0 * squares / (2 * (scaled**2).sum(axis=1).mean()))
        eigenvalues, vectors = np.linalg.eigh(gram)
        features = vectors * np.sqrt(np.maximum(eigenvalues, 0))
    else:
        features = scaled
    ridges = RIDGES * naive.mean_eigenvalue(features, weights)
    left_out = [naive.left_out_values(features, targets, weights, ridge) for ridge in ridges]
    losses = np.array([weights @ ((targets - values) ** 2).sum(axis=1) for values in left_out])
    shares = np.exp(-0.5 * n_rows * (losses / losses.min() - 1))
    shares /= shares.sum()
    made = machine(rows, targets, weights, kernel)
    assert_allclose(made.values, np.tensordot(shares, left_out, axes=1), rtol=1e-5, atol=1e-6)
    fitted = 0
    for share, ridge in zip(shares, ridges):
        coefficients, offsets = naive.ridge_coefficients(features, targets, weights, ridge)
        fitted = fitted + share * (features @ coefficients + offsets)
    assert_allclose(made.model.predict(rows), fitted, rtol=1e-5, atol=1e-6)


def test_rows_that_a_machine_was_not_fitted_on_are_out_of_sample_anyway(monkeypatch):
    monkeypatch.setattr(kernel_machine, "MOST_ROWS", 40)
    rows, targets, weights = rows_of()
    made = MachineRows("rbf", [own_units(rows)], rows, weights, None, np.random.SeedSequence(0))
    fit = made.fit(targets, 0, None)
    taken = made._taken
    assert taken.sum() == 40
    assert_allclose(fit.values[~taken], fit.model.predict(rows[~taken]))
    elsewhere = targets.copy()
    elsewhere[~taken] *= -1  # labels of rows that are not fitted on change nothing
    assert_array_equal(made.fit(elsewhere, 0, None).values, fit.values)


def test_landmarks_stand_for_many_rows(monkeypatch):
    monkeypatch.setattr(kernel_machine, "EXACT_ROWS", 100)
    monkeypatch.setattr(kernel_machine, "LANDMARKS", 50)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 2))
    targets = np.sign(rows[:, :1] * rows[:, 1:])
    fit = machine(rows, targets, np.ones(400))
    assert np.mean(np.sign(fit.values) == targets) > 0.9
    new = rng.normal(size=(300, 2))
    assert np.mean(np.sign(fit.model.predict(new)[:, 0]) == np.sign(new[:, 0] * new[:, 1])) > 0.9
    assert len(fit.model.parts[0].centres) == 50


def test_rows_at_a_time_do_not_matter(monkeypatch):
    rows, targets, weights = rows_of()
    model = machine(rows, targets, weights).model
    whole = model.predict(rows)
    monkeypatch.setattr(kernel_machine, "ROWS_AT_A_TIME", 7)
    assert_allclose(model.predict(rows), whole, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_few_rows_and_constant_columns(kernel, n_rows):
    rows = np.ones((n_rows, 2))
    targets = np.arange(float(n_rows))[:, None]
    fit = machine(rows, targets, np.ones(n_rows), kernel)
    assert np.isfinite(fit.values).all()
    assert_allclose(fit.model.predict(rows), np.full((n_rows, 1), targets.mean()), atol=1e-9)


# Scales


def test_own_units_give_rows_of_mean_square_one():
    rows = rows_of()[0]
    scaled = own_units(rows)(rows)
    assert_allclose((scaled**2).sum(axis=1).mean(), 1)
    assert_allclose(np.corrcoef(scaled.T), np.corrcoef(rows.T))
    assert_allclose(scaled.std(axis=0) / scaled.std(axis=0)[0], rows.std(axis=0) / rows.std(axis=0)[0])
    by_view = own_units(rows, [np.array([0, 1]), np.array([2, 3])])(rows)
    assert_allclose((by_view[:, :2] ** 2).sum(axis=1).mean(), 0.5)
    assert_allclose((by_view[:, 2:] ** 2).sum(axis=1).mean(), 0.5)


def test_standardised_columns_count_alike_and_far_values_are_not_believed():
    rows = rows_of()[0]
    rows[:, 3] = 7.0
    scaled = standardised(rows)(rows)
    assert_allclose((scaled**2).mean(axis=0), [1 / 3, 1 / 3, 1 / 3, 0])
    far = standardised(rows)(np.array([[1e9, 0, 0, 7.0]]))
    assert_allclose(far[0, 0], 5 / np.sqrt(3))
    assert not np.isnan(standardised(rows)(np.array([[np.nan, 0, 0, 7.0]]))).any()


def test_gaps_are_at_the_centre():
    rows = rows_of()[0]
    holes = rows.copy()
    holes[3, 1] = np.nan
    scaled = own_units(holes)(holes)
    assert scaled[3, 1] == 0
    others = np.delete(rows[:, 1], 3)
    assert_allclose(own_units(holes).centre[1], others.mean())


def test_columns_of_one_unit_have_one_scale():
    rng = np.random.default_rng(0)
    alike = rng.normal(size=(500, 3))
    assert not units_matter(alike / alike.std(axis=0))
    assert units_matter(alike * [1.0, 100.0, 1.0])
    assert not units_matter(alike[:, :1])
    assert not units_matter(np.ones((5, 3)))
