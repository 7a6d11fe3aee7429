"""Kernel machines against averages of ridges."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import roc_auc_score

from fuselearn.classifiers.cross_fitting import deal_folds, likelihood_shares
from fuselearn.fusion.base_models import kernel_machines as kernel_machine
from fuselearn.fusion.base_models.kernel_machines import KernelMachineRows, RadialSpectrum, unit_scale
from fuselearn.numeric.least_squares import RIDGES
from tests.naive import fusion_arms as naive


def rows_of(n_rows=60, n_columns=4, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, n_columns)) * np.resize([1.0, 2.0, 0.5, 4.0], n_columns)
    targets = np.sign(rows[:, :1] + 0.3 * rng.normal(size=(n_rows, 1)))
    return rows, targets, rng.uniform(0.5, 2.0, n_rows)


def machine(rows, targets, weights, kernel="rbf", number=0, scales=None):
    scales = [unit_scale(rows)] if scales is None else scales
    made = KernelMachineRows(kernel, scales, rows, weights, None, np.random.SeedSequence(0))
    return made.fit(targets, number, np.random.SeedSequence(1))


def test_with_all_rows_as_landmarks_the_approximation_is_exact(monkeypatch):
    rows, targets, weights = rows_of()
    scale = unit_scale(rows)
    exact = RadialSpectrum(scale, scale(rows), np.arange(60), 2.0, weights)
    monkeypatch.setattr(kernel_machine, "EXACT_ROWS", 0)
    landmarks = RadialSpectrum(scale, scale(rows), np.arange(60), 2.0, weights)
    assert exact._exact
    assert not landmarks._exact
    one, other = exact.ridge.fit(targets), landmarks.ridge.fit(targets)
    assert_allclose(one.losses, other.losses, rtol=1e-5)
    assert_allclose(one.errors, other.errors, atol=1e-4)
    shares = likelihood_shares(one.losses, 60)
    new = rows_of(seed=5)[0]
    assert_allclose(exact.machine(one, shares).predict(new), landmarks.machine(other, shares).predict(new), atol=1e-5)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize(("n_rows", "n_columns"), [(60, 4), (8, 12)])
def test_a_machine_is_the_average_of_ridges_by_their_likelihood(kernel, n_rows, n_columns):
    # The linear machine goes by columns or by rows, whichever are fewer.
    rows, targets, weights = rows_of(n_rows, n_columns)
    scale = unit_scale(rows)
    scaled = scale(rows)
    if kernel == "rbf":
        squares = ((scaled[:, None] - scaled[None]) ** 2).sum(axis=2)
        gram = np.exp(-2.0 * squares / (2 * (scaled**2).sum(axis=1).mean()))
        eigenvalues, vectors = np.linalg.eigh(gram)
        features = vectors * np.sqrt(np.maximum(eigenvalues, 0))
    else:
        features = scaled
    ridges = RIDGES * naive.mean_eigenvalue(features, weights)
    out_of_fold = [naive.left_out_values(features, targets, weights, ridge) for ridge in ridges]
    row_losses = np.array([weights * ((targets - values) ** 2).sum(axis=1) for values in out_of_fold])
    losses = row_losses.sum(axis=1)
    shares = np.exp(-0.5 * n_rows * (losses / losses.min() - 1))
    shares /= shares.sum()
    made = machine(rows, targets, weights, kernel)
    assert_allclose(made.out_of_fold, np.tensordot(shares, out_of_fold, axes=1), rtol=1e-5, atol=1e-6)
    expected = naive.averaged_by_others(out_of_fold, row_losses, deal_folds(n_rows)[1])
    assert_allclose(made.scored, expected, rtol=1e-5, atol=1e-6)
    fitted = 0
    for share, ridge in zip(shares, ridges):
        coefficients, offsets = naive.ridge_coefficients(features, targets, weights, ridge)
        fitted = fitted + share * (features @ coefficients + offsets)
    assert_allclose(made.model.predict(rows), fitted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("grouped", [False, True])
def test_where_the_mean_of_the_targets_is_known_values_are_about_it(kernel, grouped):
    rows, targets, weights = rows_of(40)
    groups = np.arange(40) // 3 if grouped else None
    seed, scales = np.random.SeedSequence(0), [unit_scale(rows)]
    fits = {
        known: KernelMachineRows(kernel, scales, rows, weights, groups, seed, mean_known=known).fit(targets, 0, seed)
        for known in (False, True)
    }
    mean = np.average(targets, axis=0, weights=weights)
    for name, units in (("out_of_fold", groups), ("within_groups", None)):
        shifts = mean - naive.means_of_others(targets, weights, units)
        assert_allclose(getattr(fits[True], name), getattr(fits[False], name) + shifts, atol=1e-12)
    assert_array_equal(fits[True].scored, fits[False].scored)  # a score knows other rows only
    assert_array_equal(fits[True].model.predict(rows), fits[False].model.predict(rows))
    # Of constant columns the mean is left, and no rounding that follows the labels.
    constant = np.full((40, 3), 2.5)
    made = KernelMachineRows(kernel, [unit_scale(constant)], constant, weights, groups, seed, mean_known=True)
    fit = made.fit(targets, 0, seed)
    assert_array_equal(fit.out_of_fold, np.broadcast_to(weights @ targets / weights.sum(), (40, 1)))


def test_values_of_columns_of_noise_do_not_order_rows_by_their_labels_in_reverse():
    areas = {False: [], True: []}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rows, labels = rng.normal(size=(60, 200)), np.arange(60) % 3 == 0
        targets = np.where(labels, 1.0, -1.0)[:, None]
        weights = np.where(labels, 1.5, 0.75)  # classes count alike
        for known, found in areas.items():
            draws = np.random.SeedSequence(seed)
            made = KernelMachineRows("linear", [unit_scale(rows)], rows, weights, None, draws, mean_known=known)
            found.append(roc_auc_score(labels, made.fit(targets, 0, draws).out_of_fold[:, 0]))
    assert np.mean(areas[False]) < 0.35
    assert 0.4 < np.mean(areas[True]) < 0.6


def test_rows_that_a_machine_was_not_fitted_on_are_out_of_sample_anyway(monkeypatch):
    monkeypatch.setattr(kernel_machine, "MOST_ROWS", 40)
    rows, targets, weights = rows_of()
    made = KernelMachineRows("rbf", [unit_scale(rows)], rows, weights, None, np.random.SeedSequence(0))
    fit = made.fit(targets, 0, None)
    subsample = made._subsample
    assert subsample.sum() == 40
    assert_allclose(fit.out_of_fold[~subsample], fit.model.predict(rows[~subsample]))
    elsewhere = targets.copy()
    elsewhere[~subsample] *= -1  # labels of rows that are not fitted on change nothing
    assert_array_equal(made.fit(elsewhere, 0, None).out_of_fold, fit.out_of_fold)


def test_landmarks_stand_for_many_rows(monkeypatch):
    monkeypatch.setattr(kernel_machine, "EXACT_ROWS", 100)
    monkeypatch.setattr(kernel_machine, "LANDMARKS", 50)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 2))
    targets = np.sign(rows[:, :1] * rows[:, 1:])
    fit = machine(rows, targets, np.ones(400))
    assert np.mean(np.sign(fit.out_of_fold) == targets) > 0.9
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
    assert np.isfinite(fit.out_of_fold).all()
    assert_allclose(fit.model.predict(rows), np.full((n_rows, 1), targets.mean()), atol=1e-9)
