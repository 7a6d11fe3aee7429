"""Intervals cover as often as asked, and follow the spread of rows."""

import numpy as np
import pytest

from fuselearn.exceptions import UnattainableCoverageWarning
from fuselearn.fusion.prediction_intervals import (
    MOST_RESIDUALS,
    N_FEATURES,
    PredictionIntervals,
    ResidualQuantiles,
    RowSpread,
    SpreadRows,
    fit_spread,
    weighted_quantiles,
)
from tests.naive.prediction_intervals import limits

EQUAL = RowSpread(np.zeros(N_FEATURES), 0.0, 1.0, 1.0, 1.0)


def rows_of(predicted, disagreement=0.0, sizes=0.0):
    """Return rows with all views."""
    predicted = np.asarray(predicted, dtype=float)
    ones = np.ones(len(predicted))
    return SpreadRows(predicted, disagreement * ones, 0 * ones, sizes * ones)


def quantiles_of(residuals, weights=None, n_independent=None):
    """Return what is kept of residuals; of independent rows that count alike, unless others are given."""
    residuals = np.asarray(residuals, dtype=float)
    weights = np.ones(len(residuals)) if weights is None else weights
    return ResidualQuantiles.of(residuals, weights, len(residuals) if n_independent is None else n_independent)


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_limits_are_the_ranks_of_conformal_prediction(coverage):
    """Over all places that a new residual may have among n others, it is inside in at least the asked share."""
    n = 39
    residuals = quantiles_of(np.arange(1.0, n + 1))
    [[lower, upper]] = PredictionIntervals(EQUAL, [residuals, residuals])(
        rows_of([0]), np.zeros(1, dtype=int), coverage
    )
    inside = [lower <= place <= upper for place in np.arange(0.5, n + 1)]
    assert np.mean(inside) >= coverage
    assert np.mean(inside) <= coverage + 2 / (n + 1)
    assert np.sum(np.arange(0.5, n + 1) < lower) == np.sum(np.arange(0.5, n + 1) > upper)


@pytest.mark.parametrize("coverage", [0.3, 0.8, 0.95])
def test_limits_of_weighted_residuals_are_those_of_the_oracle(coverage):
    draws = np.random.default_rng(0)
    for n_independent in (3, 25, 60):
        residuals = np.round(draws.standard_normal(60), 1)  # with ties
        weights = draws.uniform(0, 1, 60)
        kept = quantiles_of(residuals, weights, n_independent)
        assert kept.limits(coverage) == pytest.approx(limits(residuals, weights, n_independent, coverage))


@pytest.mark.parametrize("coverage", [0.6, 0.8])
def test_rows_of_a_new_group_are_covered_whichever_group_it_is(coverage):
    """Each of some groups in turn is the new one; the mean over them is what the theorem speaks of."""
    draws = np.random.default_rng(1)
    groups = [draws.normal() + 0.3 * draws.standard_normal(size) for size in draws.integers(1, 30, size=40)]
    covered = []
    for place, new in enumerate(groups):
        others = groups[:place] + groups[place + 1 :]
        weights = np.concatenate([np.full(len(rows), 1 / len(rows)) for rows in others])
        lower, upper = quantiles_of(np.concatenate(others), weights, len(others)).limits(coverage)
        covered.append(np.mean((lower <= new) & (new <= upper)))
    assert coverage <= np.mean(covered) < coverage + 0.1


def test_too_few_residuals_give_the_most_extreme_ones():
    [interval] = PredictionIntervals(EQUAL, [quantiles_of([-1.0, 0.0, 3.0])] * 2)(
        rows_of([10]), np.zeros(1, dtype=int), 0.99
    )
    assert interval.tolist() == [9.0, 13.0]
    # Ten groups are too few as well, however many rows they have.
    assert quantiles_of(np.arange(500), n_independent=10).limits(0.9) == (0.0, 499.0)


@pytest.mark.parametrize(("coverage", "least"), [(0.5, 3), (0.8, 9), (0.9, 19), (0.99, 199)])
def test_too_few_residuals_are_told(coverage, least):
    few, enough = quantiles_of(np.arange(least - 1.0)), quantiles_of(np.arange(float(least)))
    assert not few.attains(coverage)
    assert enough.attains(coverage)
    lower, upper = enough.limits(coverage)
    assert (upper - lower + 1) / (least + 1) >= (least - 1) / (least + 1) >= coverage - 1e-12
    intervals = PredictionIntervals(EQUAL, [enough, few])
    with pytest.warns(UnattainableCoverageWarning, match=f"coverage {coverage:g} need {least} training rows") as caught:
        intervals.warn_of_few_rows([0, -1], coverage)
    assert f"some rows have {least - 1}. " in str(caught[0].message)
    assert f"cover about {np.floor(1000 * (least - 2) / least) / 1000:g}." in str(caught[0].message)
    intervals.warn_of_few_rows([0], coverage)  # warnings are errors here


def test_weighted_quantiles_are_those_of_repeated_values():
    draws = np.random.default_rng(0)
    values, counts = draws.standard_normal(40), draws.integers(1, 4, 40)
    levels = np.array([0.1, 0.25, 0.5, 0.9, 1.0])
    repeated = np.repeat(values, counts)
    expected = np.quantile(repeated, levels, method="inverted_cdf")
    np.testing.assert_array_equal(weighted_quantiles(values, counts.astype(float), levels), expected)


def test_many_residuals_are_kept_as_quantiles_and_limits_are_hardly_wider():
    residuals = np.random.default_rng(0).standard_normal(50_000)
    kept = quantiles_of(residuals)
    assert len(kept.residuals) <= MOST_RESIDUALS
    for coverage in (0.5, 0.9, 0.99):
        lower, upper = limits(np.sort(residuals)[:: 1 if coverage > 1 else 25], np.ones(2000), 50_000, coverage)
        assert kept.limits(coverage) == pytest.approx((lower, upper), abs=0.1)
        inside = np.mean((residuals >= kept.limits(coverage)[0]) & (residuals <= kept.limits(coverage)[1]))
        assert coverage <= inside < coverage + 0.005


def test_spread_follows_the_rows_where_it_differs_and_is_one_where_not():
    draws = np.random.default_rng(0)
    predicted = draws.uniform(0, 1, 2000)
    rows = rows_of(predicted, 0.1)
    residuals = draws.standard_normal(2000)
    equal = fit_spread(rows, residuals, np.ones(2000), 1.0)
    values = equal(rows)
    assert values.max() < 1.2 * values.min()
    local = fit_spread(rows, residuals * np.exp(2 * predicted), np.ones(2000), 1.0)
    low, high = local(rows_of([0.1, 0.9], 0.1))
    assert 3 < high / low < 7  # exp(1.6) is 5


def test_spread_follows_expected_sizes_where_these_tell_something():
    draws = np.random.default_rng(0)
    sizes = draws.uniform(-2, 2, 2000)
    rows = rows_of(np.zeros(2000), 0.1, sizes)
    noise = draws.standard_normal(2000)
    local = fit_spread(rows, noise * np.exp(sizes), np.ones(2000), 1.0)
    assert local.reads_sizes
    low, high = local(rows_of([0, 0], 0.1, np.array([-1.5, 1.5])))
    assert 12 < high / low < 30  # exp(3) is 20
    equal = fit_spread(rows, noise, np.ones(2000), 1.0)
    assert np.ptp(np.log(equal(rows))) < 0.3


@pytest.mark.parametrize("unit", [1e-200, 1e-3, 1e200])
def test_spread_has_the_unit_of_the_target(unit):
    draws = np.random.default_rng(0)
    predicted, sizes = draws.uniform(0, 1, 500), draws.uniform(-2, 2, 500)
    residuals = draws.standard_normal(500) * np.exp(2 * predicted + sizes)
    one = fit_spread(rows_of(predicted, 0.1, sizes), residuals, np.ones(500), 1.0)
    rows = rows_of(unit * predicted, 0.1 * unit, sizes)
    other = fit_spread(rows, unit * residuals, np.ones(500), unit)
    np.testing.assert_allclose(other(rows), unit * one(rows_of(predicted, 0.1, sizes)), rtol=1e-9)


def test_wrong_parts_are_refused():
    residuals = quantiles_of([0.0, 1.0])
    PredictionIntervals(EQUAL, [residuals]).validate()
    with pytest.raises(ValueError, match="ascending"):
        ResidualQuantiles(residuals.residuals[::-1].copy(), residuals.below, residuals.above, 2.0).validate()
    with pytest.raises(ValueError, match="n_independent"):
        ResidualQuantiles(residuals.residuals, residuals.below, residuals.above, 0.0).validate()
    with pytest.raises(ValueError, match="below"):
        ResidualQuantiles(residuals.residuals, residuals.below[:1], residuals.above, 2.0).validate()
    with pytest.raises(ValueError, match="no residuals"):
        PredictionIntervals(EQUAL, [np.zeros(2)]).validate()
    with pytest.raises(ValueError, match="no list"):
        PredictionIntervals(EQUAL, []).validate()
    with pytest.raises(ValueError, match="not positive"):
        RowSpread(np.zeros(N_FEATURES), 0.0, 1.0, -1.0, 1.0).validate()
