"""Gross outliers of a target are told from skewed and heavy-tailed ones."""

import numpy as np
import pytest

from fuselearn.fusion.target_outliers import LEAST_WIDTH, fit_mixture, judge_targets
from tests.naive.residual_mixture import best_log_likelihood

KINDS = {
    "normal": lambda draws, n: draws.standard_normal(n),
    "laplace": lambda draws, n: draws.laplace(size=n),
    "exponential": lambda draws, n: draws.exponential(size=n),
    "lognormal": lambda draws, n: draws.lognormal(size=n),
    "uniform": lambda draws, n: draws.uniform(size=n),
    "two in three equal": lambda draws, n: np.where(draws.random(n) < 0.6, 0.0, draws.standard_normal(n)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_outliers_are_found_where_there_are_none(kind):
    draws = np.random.default_rng(0)
    for n_rows in (30, 400):
        outliers = judge_targets(KINDS[kind](draws, n_rows), np.ones(n_rows))
        assert outliers.share == 0
        assert not outliers.probabilities.any()


@pytest.mark.parametrize("share", [0.03, 0.1])
def test_gross_outliers_are_found(share):
    draws = np.random.default_rng(1)
    is_outlier = draws.random(1000) < share
    residuals = np.where(is_outlier, 15 * draws.standard_normal(1000), draws.standard_normal(1000))
    outliers = judge_targets(residuals, np.ones(1000))
    assert abs(outliers.share - share) < 0.03
    gross = is_outlier & (np.abs(residuals) > 6)
    assert outliers.probabilities[gross].min() > 0.9
    assert outliers.probabilities[~is_outlier].mean() < 0.02


@pytest.mark.parametrize("far", [[100.0], [60.0, -40.0]])
def test_a_single_outlier_is_found(far):
    """It was taken for the tail of the core: no mixture that begins with many outliers ends with one."""
    residuals = np.append(np.random.default_rng(0).standard_normal(200), far)
    outliers = judge_targets(residuals, np.ones(len(residuals)))
    assert outliers.probabilities[200:].min() > 0.99
    assert outliers.probabilities[:200].max() < 0.05
    assert 0 < outliers.share < 0.02


@pytest.mark.parametrize("with_outliers", [False, True])
def test_the_likelihood_is_that_of_a_general_optimiser(with_outliers):
    draws = np.random.default_rng(2)
    residuals = np.append(draws.gamma(3.0, size=55), [30.0, -25.0, 44.0, -60.0])
    weights = draws.uniform(0.5, 1.5, size=len(residuals))
    fast = fit_mixture(residuals, weights, with_outliers=with_outliers).log_likelihood
    slow = best_log_likelihood(residuals, weights, with_outliers, LEAST_WIDTH)
    # The steps of the two pieces hold the mode where it was: they may end a little below the top.
    assert slow - 1.0 < fast < slow + 0.01


def test_weights_count_as_repeated_rows():
    draws = np.random.default_rng(3)
    residuals = np.append(draws.standard_normal(200), [20.0, 25.0, -31.0, 18.0])
    twice = fit_mixture(np.repeat(residuals, 2), np.ones(408), with_outliers=True)
    weighted = fit_mixture(residuals, np.full(204, 2.0), with_outliers=True)
    np.testing.assert_allclose(twice, weighted, rtol=1e-6)


def test_few_rows_are_not_judged():
    assert judge_targets(np.array([0.0, 0.1, 0.2, 1e6]), np.ones(4)).share == 0


@pytest.mark.parametrize("n_groups", [30, 60])
def test_groups_that_differ_are_no_outliers(n_groups):
    """Of rows taken for independent, the tail of so few groups is evidence as strong as if it were many rows."""
    groups = np.repeat(np.arange(n_groups), 15)
    alone = 0
    for seed in range(8):
        draws = np.random.default_rng(seed)
        residuals = draws.laplace(size=n_groups)[groups] + 0.2 * draws.standard_normal(len(groups))
        assert judge_targets(residuals, np.ones(len(groups)), groups).share == 0
        alone += judge_targets(residuals, np.ones(len(groups))).share > 0
    assert alone > 0


@pytest.mark.parametrize("kind", ["rows", "one group", "three groups"])
def test_gross_outliers_are_found_among_groups(kind):
    draws = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 10)
    far = {
        "rows": draws.random(600) < 0.04,
        "one group": groups == 3,
        "three groups": np.isin(groups, [3, 8, 21]),
    }[kind]
    residuals = draws.standard_normal(60)[groups] + draws.standard_normal(600) + far * np.where(groups % 2, 60, -60)
    outliers = judge_targets(residuals, draws.uniform(0.5, 1.5, 600), groups)
    assert outliers.probabilities[far].min() > 0.99
    assert outliers.probabilities[~far].max() < 0.5


def test_few_groups_whose_rows_go_together_are_few_rows():
    draws = np.random.default_rng(0)
    groups = np.repeat(np.arange(8), 10)
    residuals = 0.1 * draws.standard_normal(80) + 60 * (groups == 3)
    assert judge_targets(residuals, np.ones(80)).share > 0
    assert judge_targets(residuals, np.ones(80), groups).share == 0
    assert judge_targets(residuals, np.ones(80), np.zeros(80, dtype=np.intp)).share == 0
