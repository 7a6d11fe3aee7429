"""Forests as arms: out-of-bag values, gaps and large numbers."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import roc_auc_score

from fuselearn.classifiers.cross_fitting import deal_folds
from fuselearn.fusion.base_models.forests import ForestRows
from tests.naive import fusion_arms as naive


def test_values_of_an_arm_are_out_of_bag_and_weighted_by_likelihood():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(150, 3))
    targets = np.sign(rows[:, :1] + 0.5 * rng.normal(size=(150, 1)))
    weights = rng.uniform(0.5, 2.0, 150)
    fit = ForestRows(rows, weights, None).fit(targets, 0, np.random.SeedSequence(1))
    assert_allclose(fit.model.shares.sum(), 1)
    columns = np.ascontiguousarray((rows - rows.mean(axis=0)).T, dtype=np.float32)
    values = []
    for forest, seed in zip(fit.model.forests, np.random.SeedSequence(1).spawn(len(fit.model.forests))):
        counts = [naive.drawn_counts(seed, tree, 150, 150) for tree in range(len(forest.roots))]
        totals, counts = naive.out_of_bag(forest, columns, counts)
        values.append(totals / counts[:, None])
    row_losses = np.array([weights * ((targets - one) ** 2).sum(axis=1) for one in values])
    losses = row_losses.sum(axis=1)
    shares = np.exp(-75 * (losses / losses.min() - 1))
    shares /= shares.sum()
    assert_allclose(fit.model.shares, shares, rtol=1e-6)
    assert_allclose(fit.out_of_fold, np.tensordot(shares, values, axes=1), rtol=1e-6, atol=1e-9)
    expected = naive.averaged_by_others(values, row_losses, deal_folds(150)[1])
    assert_allclose(fit.scored, expected, rtol=1e-6, atol=1e-9)


def test_where_the_mean_of_the_targets_is_known_values_are_about_it():
    rng = np.random.default_rng(0)
    rows, weights = rng.normal(size=(60, 4)), rng.uniform(0.5, 2.0, 60)
    targets = np.sign(rows[:, :1] + rng.normal(size=(60, 1)))
    mean = np.average(targets, axis=0, weights=weights)
    shifts = mean - naive.means_of_others(targets, weights)
    before, after = (
        ForestRows(rows, weights, None, known).fit(targets, 0, np.random.SeedSequence(1)) for known in (False, True)
    )
    # The shares of the sizes of leaves follow the shifted values.
    shares = after.model.shares
    assert not np.allclose(shares, before.model.shares)
    columns = np.ascontiguousarray((rows - rows.mean(axis=0)).T, dtype=np.float32)
    values = []
    for forest, seed in zip(after.model.forests, np.random.SeedSequence(1).spawn(len(shares))):
        counts = [naive.drawn_counts(seed, tree, 60, 60) for tree in range(len(forest.roots))]
        totals, counts = naive.out_of_bag(forest, columns, counts)
        values.append(totals / counts[:, None] + shifts)
    assert_allclose(after.out_of_fold, np.tensordot(shares, values, axes=1), rtol=1e-6, atol=1e-9)


def test_gaps_are_filled_with_the_mean_at_fit_and_predict():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(100, 2))
    targets = np.sign(rows[:, :1])
    holes = rows.copy()
    holes[::7, 1] = np.nan
    full = np.where(np.isnan(holes), np.nanmean(holes, axis=0), holes)
    one = ForestRows(holes, np.ones(100), None).fit(targets, 0, np.random.SeedSequence(1))
    other = ForestRows(full, np.ones(100), None).fit(targets, 0, np.random.SeedSequence(1))
    assert_array_equal(one.out_of_fold, other.out_of_fold)
    assert_array_equal(one.model.predict(holes), other.model.predict(full))


def test_numbers_beyond_float32_are_the_largest():
    rows = np.array([[-1e300], [0.0], [1e300]] * 20)
    targets = np.sign(rows)
    fit = ForestRows(rows, np.ones(60), None).fit(targets, 0, np.random.SeedSequence(1))
    assert np.isfinite(fit.out_of_fold).all()
    assert fit.model.predict(rows)[2, 0] > 0.9


def test_values_of_rows_out_of_bag_do_not_fall_with_their_labels():
    """Of columns of noise and unequal classes; the mean of the other rows is lower for each row of a class."""
    areas = []
    for seed in range(20):
        y = np.arange(30) < 6
        weights = np.where(y, 30 / 12, 30 / 48)
        rows = ForestRows(np.random.default_rng(seed).normal(size=(30, 5)), weights, None, mean_known=True)
        values = rows.fit(np.where(y, 1.0, -1.0)[:, None], 0, np.random.SeedSequence(seed)).out_of_fold[:, 0]
        areas.append(roc_auc_score(y, values))
    assert abs(np.mean(areas) - 0.5) < 0.08
