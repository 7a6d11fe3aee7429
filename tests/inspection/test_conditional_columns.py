"""Columns given all others: what is left of them, draws, and chances of tests."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from fuselearn.inspection.conditional_columns import ConditionalColumns, dependence_chance, gain_chance


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    X[:, 1] += X[:, 0]
    X[:, 2] = np.exp(X[:, 2] + 0.5 * X[:, 0])
    X[:, 4] = X[:, 4] > 0
    X[:30, 3] = np.nan
    return X


@pytest.mark.parametrize("rows", [slice(None), slice(28, 34)])
def test_remainders_are_those_of_a_forward_selection(table, rows):
    table = table[rows]
    scores = np.zeros(table.shape)
    for column, cells in enumerate(table.T):
        known = ~np.isnan(cells)
        normal = stats.norm.ppf((stats.rankdata(cells[known]) - 0.5) / known.sum())
        scores[known, column] = (normal - normal.mean()) / (normal.std() or 1.0)
    conditional, n_chosen = ConditionalColumns(table), []
    for column in range(table.shape[1]):
        left, chosen = scores[:, column], []
        while len(chosen) < len(table) // 4:
            free = np.setdiff1d(np.arange(table.shape[1]), [column, *chosen])
            correlations = np.abs(scores[:, free].T @ left) / np.linalg.norm(scores[:, free], axis=0)
            correlations /= np.linalg.norm(left)
            if correlations.max() <= np.sqrt(2 * np.log(table.shape[1]) / len(table)):
                break
            chosen.append(free[correlations.argmax()])
            others = scores[:, chosen]
            left = scores[:, column] - others @ np.linalg.lstsq(others, scores[:, column], rcond=None)[0]
        n_chosen.append(len(chosen))
        expected = np.where(np.isnan(table[:, column]), 0.0, left)
        assert_allclose(conditional.remainders[:, column], expected, atol=1e-9)
    assert max(n_chosen) >= 1


def test_nothing_is_left_of_a_copy():
    column = np.random.default_rng(0).normal(size=50)
    assert not ConditionalColumns(np.column_stack([column, column])).remainders.any()


def test_means_and_draws_are_values_of_the_column(table):
    conditional, rng = ConditionalColumns(table), np.random.default_rng(0)
    rows = np.arange(400)
    means = np.array([conditional.means(rows, column) for column in range(5)]).T
    assert np.array_equal(np.isnan(means), np.isnan(table))
    assert np.corrcoef(means[:, 1], table[:, 0])[0, 1] > 0.95
    for column in range(5):
        draws = conditional.draws(rows, column, rng)
        known = ~np.isnan(table[:, column])
        assert np.array_equal(np.isnan(draws), ~known)
        assert np.isin(draws[known], table[known, column]).all()
    draws = np.array([conditional.draws(rows, 1, rng) for _ in range(50)])
    assert np.corrcoef(np.tile(table[:, 0], 50), draws.ravel())[0, 1] == pytest.approx(
        np.corrcoef(table[:, 0], table[:, 1])[0, 1], abs=0.05
    )
    assert_allclose(draws.std(), table[:, 1].std(), rtol=0.1)


def test_constant_and_empty_columns_have_nothing_left():
    X = np.column_stack([np.ones(20), np.full(20, np.nan), np.arange(20.0), np.arange(20.0)])
    conditional = ConditionalColumns(X)
    assert_allclose(conditional.remainders[:, :2], 0.0)
    rows = np.arange(20)
    assert_allclose(conditional.means(rows, 0), 1.0)
    assert np.isnan(conditional.draws(rows, 1, np.random.default_rng(0))).all()
    assert dependence_chance(conditional.remainders[:, 0], np.ones((20, 1)), rows) == 1.0


def test_dependence_is_a_t_test_or_that_of_hotelling():
    rng = np.random.default_rng(0)
    remainders, errors = rng.normal(size=60), rng.normal(size=(60, 1))
    chance = dependence_chance(remainders, errors, np.arange(60))
    assert chance == pytest.approx(stats.ttest_1samp(remainders * errors[:, 0], 0.0).pvalue)
    # Three classes, whose errors add up to 0.
    errors = rng.normal(size=(60, 3)) + remainders[:, None] * [0.3, 0.0, 0.0]
    errors -= errors.mean(axis=1, keepdims=True)
    sums = (remainders[:, None] * errors)[:, :2]
    distance = 60 * sums.mean(axis=0) @ np.linalg.solve(np.cov(sums.T), sums.mean(axis=0))
    expected = stats.f.sf(distance * 58 / (2 * 59), 2, 58)
    assert dependence_chance(remainders, errors, np.arange(60)) == pytest.approx(expected)


def test_rows_of_a_group_are_one_observation():
    rng = np.random.default_rng(0)
    remainders, errors = np.repeat(rng.normal(size=20), 5), np.repeat(rng.normal(size=(20, 1)), 5, axis=0)
    groups = np.repeat(np.arange(20), 5)
    alone = dependence_chance(remainders[::5], errors[::5], np.arange(20))
    assert dependence_chance(remainders, errors, groups) == pytest.approx(alone)
    assert gain_chance(np.repeat(errors[::5, 0], 5), groups) == pytest.approx(
        stats.ttest_1samp(errors[::5, 0], 0.0, alternative="greater").pvalue
    )
    assert gain_chance(np.zeros(20), np.arange(20)) == 1.0
    assert gain_chance(np.ones(2), np.arange(2)) == 1.0
