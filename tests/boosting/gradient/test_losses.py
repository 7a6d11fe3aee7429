"""Losses: scores before the first tree, and units by which whole numbers neither overflow nor lose small rows."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fuselearn.boosting.gradient.losses import LogLoss, RegressionLoss, log_loss, quantile_rank, regression_loss


def test_the_log_loss_begins_with_the_shares_of_the_classes():
    assert_allclose(LogLoss(2, 40).baseline(np.array([3.0, 9.0])), [math.log(3)])
    assert_allclose(LogLoss(3, 40).baseline(np.array([6.0, 2.0, 4.0])), np.log([1 / 2, 1 / 6, 1 / 3]))
    assert_allclose(LogLoss(1, 40).baseline(np.array([6.0])), [0.0])
    # A class without rows, as in a fold, has a score for all that: a low one.
    for n_classes in (2, 3):
        baseline = LogLoss(n_classes, 40).baseline(np.arange(n_classes, dtype=float)[::-1])
        assert np.isfinite(baseline).all()
        assert baseline[-1] < -20


def test_two_classes_have_one_score():
    assert [LogLoss(n_classes, 40).n_outputs for n_classes in (2, 3, 4)] == [1, 3, 4]
    assert RegressionLoss(40, 8.0).n_outputs == 1


@pytest.mark.parametrize("bits", [30, 45])
def test_units_make_whole_numbers_of_some_bits(bits):
    """The largest gradient, and the largest loss that counts, has that many."""
    whole = 2.0**bits
    for n_classes in (2, 3):
        loss = LogLoss(n_classes, bits)
        assert 1.0 / loss.unit_g == whole  # p - 1
        assert 2.0**20 / loss.loss_unit == whole
    squared, median = RegressionLoss(bits, 8.0), RegressionLoss(bits, 8.0, 0.5)
    assert 8.0 / squared.unit_g == whole  # a residual
    assert 8.0**2 * 2.0**20 / squared.loss_unit == whole
    assert 1.0 / median.unit_g == whole  # a sign
    assert 8.0 * 2.0**20 / median.loss_unit == whole
    assert squared.unit_h == median.unit_h == LogLoss(2, bits).unit_h == 2.0**-28


@pytest.mark.parametrize("n_rows", [1, 1000, 2**31])
def test_sums_over_all_rows_fit_into_64_bits(n_rows):
    for loss in (log_loss(2, n_rows), log_loss(5, n_rows), regression_loss(3.0, n_rows, 0.5)):
        assert n_rows * 2**loss.bits < 2**63


@pytest.mark.parametrize(("quantile", "largest"), [(None, 1e140), (0.5, 1e280)])
def test_targets_whose_losses_overflow_or_vanish_are_refused(quantile, largest):
    for residual in (0.99 * largest, 1.5 / largest, 1.0, 1.0 / largest, 0.0):
        assert regression_loss(residual, 100, quantile).leaf_quantile == quantile
    for residual, words in (
        (largest, "Divide y by a number"),
        (2 * largest, "Divide y by a number"),
        (np.inf, "Divide y by a number"),
        (np.nan, "Divide y by a number"),
        (0.9 / largest, "Multiply y by a number"),
    ):
        with pytest.raises(ValueError, match=words):
            regression_loss(residual, 100, quantile)


def test_the_rank_of_a_quantile():
    """The least whole weight that is at least a share of all; of nothing it is 1, which is never reached."""
    assert [quantile_rank(q, 10) for q in (0.01, 0.1, 0.11, 0.5, 0.95, 1.0)] == [1, 1, 2, 5, 10, 10]
    assert quantile_rank(0.5, 7) == 4
    assert quantile_rank(0.5, 0) == 1
