"""Lines of patterns of views, and the rows that they follow from."""

import numpy as np
import pytest

from fuselearn.fusion.pattern_fits import NearestCalibration, PatternFits, PatternValues, fit_line
from fuselearn.fusion.prediction_sets import ENOUGH_ROWS


def calibration(patterns, slopes, view_weights):
    """Return lines through 0."""
    return NearestCalibration(
        np.array(patterns, dtype=bool),
        np.array(slopes, dtype=float),
        np.zeros((len(patterns), 1)),
        np.zeros(1),
        view_weights=np.array(view_weights, dtype=float),
    )


def test_a_pattern_without_a_line_has_that_of_the_nearest_one_and_intervals_of_one_with_fewer_views():
    lines = calibration(
        [[1, 1, 1, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0], [1, 1, 0, 1]],
        [1.0, 0.3, 0.3, 0.6, 0.9],
        [0.4, 0.3, 0.2, 0.1],
    )
    lines.validate()
    present = np.array([[1, 1, 1, 1], [0, 1, 1, 0], [1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 0]], dtype=bool)
    # 1100 is 0.1 away from 1101; 0101 is 0.1 away from 0100; 0010 is 0.3 away from 0110.
    assert lines.pattern_of(present).tolist() == [0, 3, 4, 2, 3, -1]
    assert lines.contained_pattern_of(present).tolist() == [0, 3, 1, 2, -1, -1]
    assert lines.line(present[2], covered=True)[0] == 0.9
    assert lines.line(present[5], covered=True)[0] == 0.0
    with pytest.raises(ValueError, match="view_weights"):
        calibration([[1, 1]], [1.0], [-1.0, 0.0]).validate()


def fits_of(present, groups=None, seed=0):
    """Return fits of two views whose values are the two halves of the target, and a noise."""
    draws = np.random.default_rng(seed)
    halves = draws.standard_normal((len(present), 2))
    targets = halves.sum(axis=1) + 0.1 * draws.standard_normal(len(present))

    def values_of(views):
        rows = np.flatnonzero((present | ~views).all(axis=1))
        # A view that stands for both is twice as much as it should be.
        sums = halves[rows][:, views].sum(axis=1) * 2 / views.sum()
        return PatternValues(rows, sums, np.zeros(len(rows))) if len(rows) else None

    ones = np.ones(len(present))
    return PatternFits(values_of, present, targets, ones, np.arange(len(present)) % 5, groups, all_fit=True)


def test_rows_with_more_views_count_as_far_as_there_are_too_few():
    present = np.ones((2000, 2), dtype=bool)
    present[:100, 1] = False
    fits = fits_of(present)
    fit = fits(np.array([True, False]))
    assert fit.slope == pytest.approx(0.5, abs=0.1)
    own = fit.rows < 100
    assert own.sum() == 100
    assert (fit.weights[own] == 1).all()
    np.testing.assert_allclose(fit.weights[~own], (ENOUGH_ROWS - 100) / 1900)
    both = fits(np.array([True, True]))
    assert (both.slope, both.intercept, len(both.rows)) == (1.0, 0.0, 1900)
    present[:600, 1] = False
    assert len(fits_of(present)(np.array([True, False])).rows) == 600


def test_too_few_rows_leave_it_to_fewer_views():
    present = np.ones((300, 2), dtype=bool)
    present[10:, 1] = False
    fits = fits_of(present)
    assert fits.with_enough_rows(np.array([True, True])).views.tolist() == [True, False]
    groups = np.arange(300) // 30
    few_groups = fits_of(np.ones((300, 2), dtype=bool), groups)
    fit = few_groups(np.array([True, True]))
    assert few_groups.n_independent(fit) == pytest.approx(10)
    assert few_groups.counted(fit.rows, fit.weights).sum() == pytest.approx(10)
    nothing = fits_of(np.zeros((30, 2), dtype=bool) | [True, False])
    assert nothing(np.array([False, True])) is None


def test_a_line_is_held_to_slope_one_by_few_rows():
    values = np.linspace(-1, 1, 1000)
    assert fit_line(values, 3 * values + 1, np.ones(1000)) == pytest.approx((3, 1), abs=0.05)
    slope, intercept = fit_line(values[::100], 3 * values[::100] + 1, np.ones(10))
    assert 1 < slope < 2
    assert 0 < intercept < 0.6
    assert fit_line(values, -values, np.ones(1000))[0] == 0
