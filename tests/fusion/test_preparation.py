"""Scales of columns, and shares of fits in an average."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn.classifiers.cross_fitting import deal_folds, held_out_shares, likelihood_shares
from fuselearn.fusion.base_models.kernel_machines import possible_scales, standard_scale, unit_scale


def rows_of(n_rows=60, n_columns=4, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, n_columns)) * np.resize([1.0, 2.0, 0.5, 4.0], n_columns)
    targets = np.sign(rows[:, :1] + 0.3 * rng.normal(size=(n_rows, 1)))
    return rows, targets, rng.uniform(0.5, 2.0, n_rows)


def test_likelihoods_are_shares_that_fall_with_the_loss():
    shares = likelihood_shares(np.array([3.0, 1.0, 2.0, 1.0]), 10)
    assert_allclose(shares.sum(), 1)
    assert_allclose(shares / shares[1], np.exp(-5 * (np.array([3.0, 1.0, 2.0, 1.0]) - 1)))
    assert_array_equal(likelihood_shares(np.array([1.0, 0.0, 0.0]), 5), [0, 0.5, 0.5])


@pytest.mark.parametrize("grouped", [False, True])
def test_a_row_has_no_say_in_the_shares_of_its_own_value(grouped):
    rng = np.random.default_rng(0)
    groups = np.arange(40) // 2 if grouped else None
    losses = rng.uniform(0.5, 1.5, (40, 3))
    shares = held_out_shares(losses, groups)
    assert_allclose(shares.sum(axis=1), 1)
    spoilt = losses.copy()
    spoilt[7, 1] += 2
    after = held_out_shares(spoilt, groups)
    _, fold_of = deal_folds(40, groups)
    assert fold_of[6] == fold_of[7] or not grouped
    assert_array_equal(after[fold_of == fold_of[7]], shares[fold_of == fold_of[7]])
    assert (after[fold_of != fold_of[7], 1] < shares[fold_of != fold_of[7], 1]).all()


def test_own_units_give_rows_of_mean_square_one():
    rows = rows_of()[0]
    scaled = unit_scale(rows)(rows)
    assert_allclose((scaled**2).sum(axis=1).mean(), 1)
    assert_allclose(np.corrcoef(scaled.T), np.corrcoef(rows.T))
    assert_allclose(scaled.std(axis=0) / scaled.std(axis=0)[0], rows.std(axis=0) / rows.std(axis=0)[0])
    by_view = unit_scale(rows, [np.array([0, 1]), np.array([2, 3])])(rows)
    assert_allclose((by_view[:, :2] ** 2).sum(axis=1).mean(), 0.5)
    assert_allclose((by_view[:, 2:] ** 2).sum(axis=1).mean(), 0.5)


def test_standardised_columns_count_alike_and_far_values_are_not_believed():
    rows = rows_of()[0]
    rows[:, 3] = 7.0
    scaled = standard_scale(rows)(rows)
    assert_allclose((scaled**2).mean(axis=0), [1 / 3, 1 / 3, 1 / 3, 0])
    far = standard_scale(rows)(np.array([[1e9, 0, 0, 7.0]]))
    assert_allclose(far[0, 0], 5 / np.sqrt(3))
    assert not np.isnan(standard_scale(rows)(np.array([[np.nan, 0, 0, 7.0]]))).any()


def test_gaps_are_at_the_centre():
    rows = rows_of()[0]
    holes = rows.copy()
    holes[3, 1] = np.nan
    scaled = unit_scale(holes)(holes)
    assert scaled[3, 1] == 0
    others = np.delete(rows[:, 1], 3)
    assert_allclose(unit_scale(holes).centre[1], others.mean())


def test_columns_of_one_unit_have_one_scale():
    rng = np.random.default_rng(0)
    alike = rng.normal(size=(500, 3))
    assert len(possible_scales(alike / alike.std(axis=0))) == 1
    assert len(possible_scales(alike * [1.0, 100.0, 1.0])) == 2
    assert len(possible_scales(alike[:, :1])) == 1
    assert len(possible_scales(np.ones((5, 3)))) == 1
