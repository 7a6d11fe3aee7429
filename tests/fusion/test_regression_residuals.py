"""What out-of-fold residuals say of targets."""

from dataclasses import replace

import numpy as np
import pytest

from fuselearn.fusion.regression_residuals import OutOfFold, judge_residuals

N_ROWS, N_UNKNOWN = 400, 60


def rows_of(target, predicted):
    """Return rows of which the first ones have no view that is used: the mean is predicted of them."""
    known = np.arange(N_ROWS) >= N_UNKNOWN
    predicted = np.where(known, predicted, target.mean())
    zeros = np.zeros(N_ROWS)
    return OutOfFold(predicted, zeros + 0.1, np.where(known, 0.0, 1.0), known, zeros), np.c_[known, ~known]


def judged(target, predicted, groups=None):
    rows, present = rows_of(target, predicted)
    return judge_residuals(target, rows, np.ones(N_ROWS), present, groups)


@pytest.fixture
def problem():
    """Targets, and predictions of them that are about right."""
    draws = np.random.default_rng(0)
    predicted = 3 * draws.standard_normal(N_ROWS)
    return predicted + 0.3 * draws.standard_normal(N_ROWS), predicted


@pytest.mark.parametrize("elsewhere", [False, True])
def test_outliers_are_found_in_rows_without_a_view_that_is_used(problem, elsewhere):
    target, predicted = problem
    target[:3] += [200, -150, 180]
    target[[100, 200]] += 150 * elsewhere
    outliers = judged(target, predicted)
    assert outliers.probabilities[:3].min() > 0.99
    assert (outliers.probabilities[[100, 200]].min() > 0.99) == elsewhere
    assert outliers.probabilities[3:N_UNKNOWN].max() == 0
    assert outliers.share == pytest.approx(outliers.probabilities.mean())
    assert outliers.share == pytest.approx((3 + 2 * elsewhere) / N_ROWS, abs=0.002)


def test_a_target_in_the_range_of_those_that_are_believed_is_no_outlier_where_nothing_is_known(problem):
    """Nine of ten are 0: about their mean, the others are far away."""
    target, predicted = problem
    target = np.where(np.arange(N_ROWS) % 10 == 0, 40.0 + np.arange(N_ROWS) % 7, 0.0)
    outliers = judged(target, target + 0.1 * predicted)
    assert outliers.probabilities[:N_UNKNOWN].max() == 0
    target[10] = 4000.0
    outliers = judged(target, target + 0.1 * predicted)
    assert outliers.probabilities[10] > 0.99
    assert np.delete(outliers.probabilities[:N_UNKNOWN], 10).max() == 0


def test_rows_of_which_nothing_is_known_do_not_change_what_is_said_of_others(problem):
    target, predicted = problem
    target[[100, 200]] += 150
    rows, present = rows_of(target, predicted)
    known = rows.known
    alone = judge_residuals(
        target[known],
        OutOfFold(*(values[known] for values in vars(rows).values())),
        np.ones(known.sum()),
        present[known],
        None,
    )
    np.testing.assert_array_equal(judged(target, predicted).probabilities[known], alone.probabilities)
    target[:N_UNKNOWN] = np.where(np.arange(N_UNKNOWN) % 3, 0.0, 50.0)  # however these are distributed
    np.testing.assert_allclose(judged(target, predicted).probabilities[known], alone.probabilities, atol=1e-3)
    assert judged(target, predicted, groups=np.arange(N_ROWS)).share > 0


def test_without_any_view_that_is_used_nothing_is_an_outlier(problem):
    target, _ = problem
    target[0] = 1e6
    rows, present = rows_of(target, target)
    nothing = replace(rows, known=np.zeros(N_ROWS, dtype=bool))
    assert judge_residuals(target, nothing, np.ones(N_ROWS), present, None).share == 0
