"""Intervals cover as often as asked, and follow the spread of rows."""

import numpy as np
import pytest

from fuselearn.fusion.prediction_intervals import (
    MOST_RESIDUALS,
    PredictionIntervals,
    RowSpread,
    SpreadRows,
    fit_spread,
    kept_residuals,
    weighted_quantiles,
)

EQUAL = RowSpread(np.zeros(5), 0.0, 1.0, 1.0, 1.0)


def rows_of(predicted, disagreement=0.0):
    """Return rows with all views."""
    predicted = np.asarray(predicted, dtype=float)
    return SpreadRows(predicted, np.full(len(predicted), disagreement), np.zeros(len(predicted)))


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_limits_are_the_ranks_of_conformal_prediction(coverage):
    """Over all places that a new residual may have among n others, it is inside in at least the asked share."""
    n = 39
    residuals = np.arange(1.0, n + 1)
    [[lower, upper]] = PredictionIntervals(EQUAL, [residuals, residuals])(
        rows_of([0]), np.zeros(1, dtype=int), coverage
    )
    inside = [lower <= place <= upper for place in np.arange(0.5, n + 1)]
    assert np.mean(inside) >= coverage
    assert np.mean(inside) <= coverage + 2 / (n + 1)
    assert np.sum(np.arange(0.5, n + 1) < lower) == np.sum(np.arange(0.5, n + 1) > upper)


def test_too_few_residuals_give_the_most_extreme_ones():
    [interval] = PredictionIntervals(EQUAL, [np.array([-1.0, 0.0, 3.0])] * 2)(
        rows_of([10]), np.zeros(1, dtype=int), 0.99
    )
    assert interval.tolist() == [9.0, 13.0]


def test_weighted_quantiles_are_those_of_repeated_values():
    draws = np.random.default_rng(0)
    values, counts = draws.standard_normal(40), draws.integers(1, 4, 40)
    levels = np.array([0.1, 0.25, 0.5, 0.9, 1.0])
    repeated = np.repeat(values, counts)
    expected = np.quantile(repeated, levels, method="inverted_cdf")
    np.testing.assert_array_equal(weighted_quantiles(values, counts.astype(float), levels), expected)


def test_many_residuals_are_kept_as_quantiles():
    residuals = np.random.default_rng(0).standard_normal(50_000)
    kept = kept_residuals(residuals, np.ones(50_000))
    assert len(kept) == MOST_RESIDUALS
    assert np.abs(np.quantile(kept, [0.05, 0.5, 0.95]) - np.quantile(residuals, [0.05, 0.5, 0.95])).max() < 0.01


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


def test_wrong_parts_are_refused():
    PredictionIntervals(EQUAL, [np.zeros(2)]).validate()
    with pytest.raises(ValueError, match="ascending"):
        PredictionIntervals(EQUAL, [np.array([1.0, 0.0])]).validate()
    with pytest.raises(ValueError, match="no numbers"):
        PredictionIntervals(EQUAL, [np.array([np.nan])]).validate()
    with pytest.raises(ValueError, match="no list"):
        PredictionIntervals(EQUAL, []).validate()
    with pytest.raises(ValueError, match="not positive"):
        RowSpread(np.zeros(5), 0.0, 1.0, -1.0, 1.0).validate()
