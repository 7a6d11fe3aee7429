"""Calibrations on few rows: the maxima that they are defined by, found by a general minimiser."""

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize, minimize_scalar
from scipy.special import logsumexp

from fuselearn.classifiers.calibration import (
    LEAST_SLOPE,
    SoftmaxCalibration,
    ValueCalibration,
    _root_mean_square,
    _SlopeAndShifts,
    fit_calibration,
    fit_sigmoid,
    fit_slope,
)


def problem(n_classes=3, n_rows=12, distance=0.8, seed=0):
    """Return values, target probabilities and weights of rows."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n_rows) % n_classes
    values = rng.normal(size=(n_rows, n_classes)) + distance * np.eye(n_classes)[codes] + 0.3 * np.arange(n_classes)
    return 3 * values, 0.9 * np.eye(n_classes)[codes] + 0.1 / n_classes, rng.uniform(0.5, 2.0, n_rows)


def log_likelihood(logits, targets, weights):
    logs = logits - logsumexp(logits, axis=1, keepdims=True)
    return float(weights @ (targets * logs).sum(axis=1))


def best_slope(values, targets, weights, log_shares, shifts=0.0, caution=1.0):
    """The best slope of values of mean square 1, from 0 on."""

    def loss(slope):
        logits = slope * (values + shifts) + log_shares
        return caution * slope**2 / 2 - log_likelihood(logits, targets, weights)

    return minimize_scalar(loss, bounds=(0, 50), method="bounded", options={"xatol": 1e-10}).x


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("distance", [0.6, 1.0, 3.0])
@pytest.mark.parametrize("caution", [1.0, 4.0])
def test_no_slope_and_shifts_are_more_probable(n_classes, distance, caution):
    values, targets, weights = problem(n_classes, distance=distance)
    size = math.sqrt((values**2).mean())
    log_shares = np.log(weights @ targets / weights.sum())

    def loss(point):
        logits = point[0] * (values / size + point[1:]) + log_shares
        penalty = caution * (point[0] ** 2 + 10 * (point[1:] ** 2).sum()) / 2
        return penalty - log_likelihood(logits, targets, weights)

    best = minimize(loss, np.r_[1.0, np.zeros(n_classes)], method="BFGS", options={"gtol": 1e-8}).x
    calibration = fit_calibration(values, targets, weights, caution)
    assert best[0] > 0
    assert_allclose(calibration.slope * size, best[0], rtol=1e-4)
    assert_allclose(calibration.shifts / size, best[1:], atol=1e-4)
    assert_allclose(calibration.log_shares, log_shares)
    logits = calibration.slope * (values + calibration.shifts) + log_shares
    expected = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    assert_allclose(calibration.log_probabilities(values), expected)
    if caution == 1.0:  # each row for itself, unless told otherwise
        assert_array_equal(fit_calibration(values, targets, weights).shifts, calibration.shifts)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("n_rows", [5, 40])
def test_the_best_slope_without_shifts(scale, n_classes, n_rows):
    values, targets, weights = problem(n_classes, n_rows, distance=1.5)
    values *= scale
    size = math.sqrt((values**2).mean())
    counts = np.maximum(weights @ targets, 1.0)
    calibration = fit_slope(values, targets, weights)
    expected = best_slope(values / size, targets, weights, np.log(counts))
    assert_allclose(calibration.slope * size, expected, rtol=1e-5)
    assert_array_equal(calibration.shifts, np.zeros(n_classes))
    assert_allclose(calibration.log_shares, np.log(counts / counts.sum()))


def test_values_that_mislead_have_the_least_slope():
    values, targets, weights = problem(2, distance=5.0)
    size = math.sqrt((values**2).mean())
    calibration = fit_slope(-values, targets, weights)
    assert_allclose(calibration.slope * size, LEAST_SLOPE)
    assert 0 < LEAST_SLOPE < 1e-3  # it breaks ties, and says nothing else
    assert fit_slope(0 * values, targets, weights).slope == 0
    # Without a slope shifts mean nothing: the ascent neither begins with some nor goes on from there.
    density = _SlopeAndShifts(-values / size, targets, weights)
    assert density.best_slope(np.zeros(2)) == 0
    assert_array_equal(density.start(np.array([0.3, -0.3])), np.zeros(3))
    assert_array_equal(_SlopeAndShifts(values / size, targets, weights).ascend(np.zeros(3)), np.zeros(3))


@pytest.mark.parametrize("weight", [0.05, 1.0, 100.0])
def test_the_best_slope_for_given_shifts(weight):
    """Of light rows the evidence is little, but not nothing."""
    values, targets, weights = problem()
    values, weights, shifts = values / math.sqrt((values**2).mean()), weight * weights, np.array([0.4, 0.1, -0.5])
    log_shares = np.log(np.maximum(weights @ targets, 1.0))
    density = _SlopeAndShifts(values, targets, weights, 2.0)
    expected = best_slope(values, targets, weights, log_shares, shifts, caution=2.0)
    assert expected > 0.01
    assert_allclose(density.best_slope(shifts), expected, rtol=1e-5)
    assert_allclose(density.start(shifts), [expected, *shifts], rtol=1e-5)


def test_steps_to_the_best_slope_stay_between_bounds_that_close_in(monkeypatch):
    """Bare Newton steps would jump far beyond the optimum and back: one class is rare, and separated."""
    rng = np.random.default_rng(20)
    codes = (rng.random(20_000) < 0.002).astype(int)
    one = np.where(codes == 1, 4, -4) + rng.standard_t(2, 20_000)
    one /= math.sqrt((one**2).mean())
    values, targets, weights = np.column_stack([-one, one]), np.eye(2)[codes], np.ones(20_000)
    density = _SlopeAndShifts(values, targets, weights)
    asked, bare, halved = [], 0, 0
    moments = density._likelihood.moments

    def noted(feature, logits):
        slope = (logits[0, 1] - logits[0, 0] - np.log(targets[:, 1].sum() / targets[:, 0].sum())) / (2 * one[0])
        mean, variance = moments(feature, logits)
        asked.append((slope, float((targets * feature).sum()) - mean - slope))
        return mean, variance

    monkeypatch.setattr(density._likelihood, "moments", noted)
    slope = density.best_slope(np.zeros(2))
    assert_allclose(slope, best_slope(values, targets, weights, np.log(targets.sum(axis=0))), rtol=1e-4)
    low, high = 0.0, np.inf
    for (before, uphill), (after, _) in pairwise(asked):
        low, high = (before, high) if uphill > 0 else (low, before)
        assert low < after < high
        if after == pytest.approx((low + high) / 2, rel=1e-9):
            halved += 1
        else:
            bare += 1
    assert halved > 0
    assert bare > 2
    assert len(asked) < 20


@pytest.mark.parametrize(("sign", "most_steps"), [(1, 9), (-1, 1)])
def test_a_slope_takes_few_steps(sign, most_steps, monkeypatch):
    """One that is 0 takes a look at its gradient."""
    values, targets, weights = problem(2, n_rows=100, distance=8.0)
    density, asked = _SlopeAndShifts(sign * values / math.sqrt((values**2).mean()), targets, weights), []
    moments = density._likelihood.moments
    monkeypatch.setattr(density._likelihood, "moments", lambda *those: asked.append(1) or moments(*those))
    assert (density.best_slope(np.zeros(2)) > 1) == (sign > 0)
    assert len(asked) <= most_steps


@pytest.mark.parametrize(("offset", "gap", "best"), [(4.5, 1.0, 1), (9.0, 0.5, 0)])
def test_the_higher_one_of_two_maxima(offset, gap, best):
    """Values with an offset: without shifts hardly a slope is worth it, with them a large one is."""
    rng = np.random.default_rng(0)
    codes = (rng.random(300) < 0.1).astype(int)
    one = gap * codes - offset + 0.3 * rng.normal(size=300)
    values, targets, weights = np.column_stack([-one, one]), np.eye(2)[codes], np.ones(300)
    size = math.sqrt((values**2).mean())
    density = _SlopeAndShifts(values / size, targets, weights)
    tops = [density.ascend(density.start(shifts)) for shifts in (np.zeros(2), -density.offsets())]
    heights = [density.height(top)[0] for top in tops]
    assert heights[best] > heights[1 - best] + 1
    assert_allclose(fit_calibration(values, targets, weights).slope * size, tops[best][0])


def test_weights_of_views_and_biases_are_the_most_probable_ones():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(12, 2, 3))
    targets, weights = rng.dirichlet(np.ones(3), 12), rng.uniform(0.5, 2.0, 12)

    def loss(point, weights):
        logits = np.einsum("ivk,v->ik", values, point[:2]) + point[2:]
        return (point**2).sum() / 2 - log_likelihood(logits, targets, weights)

    for row_weights in (weights, np.ones(12)):
        model = ValueCalibration(values, None if row_weights[0] == 1 else row_weights)
        best = minimize(loss, np.zeros(5), args=(row_weights,), method="BFGS", options={"gtol": 1e-8}).x
        for start in (model.start, np.array([5.0, -5.0, 3.0, 0.0, -3.0]), best):
            assert_allclose(model.refit(targets, start), best, atol=1e-4)


def sigmoid_problem(scale=1.0, weight=1.0):
    rng = np.random.default_rng(0)
    values = np.r_[0.0, rng.normal(size=19)]
    positive = values + rng.normal(size=20) > 0.3
    return scale * values, positive, weight * rng.uniform(0.5, 2.0, 20)


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
@pytest.mark.parametrize("weight", [1e-3, 1.0, 1e3])
def test_the_likelihood_of_a_sigmoid_is_level_at_its_top(scale, weight):
    values, positive, weights = sigmoid_problem(scale, weight)
    slope, offset = fit_sigmoid(values, positive, weights)
    n_positive, n_negative = weights[positive].sum(), weights[~positive].sum()
    targets = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    errors = weights / weights.sum() * (1 / (1 + np.exp(-(slope * values + offset))) - targets)
    assert abs(errors.sum()) < 1e-7
    assert abs(errors @ values / scale) < 1e-7


def test_a_sigmoid_of_rows_that_hardly_count():
    """Their labels move the targets from 1/2 by little, and the slope as little."""
    values, positive, weights = sigmoid_problem(weight=1e-5)
    n_positive, n_negative = weights[positive].sum(), weights[~positive].sum()
    targets = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    line = np.polynomial.Polynomial.fit(values, 4 * (targets - 0.5), 1, w=np.sqrt(weights)).convert().coef
    assert_allclose(fit_sigmoid(values, positive, weights), line[::-1], rtol=1e-3)


def test_rows_of_a_sigmoid_weigh_the_same_by_default():
    values, positive, _ = sigmoid_problem()
    assert fit_sigmoid(values, positive) == fit_sigmoid(values, positive, np.ones(20))
    slope, offset = fit_sigmoid(np.arange(5.0), np.zeros(5, dtype=bool))
    assert_allclose((slope, 1 / (1 + math.exp(-offset))), (0.0, 1 / 7), atol=1e-4)


@pytest.mark.parametrize("n_classes", [1, 2, 4])
def test_the_likelihood_of_labels_that_are_wrong_at_some_rate(n_classes):
    """A wrong label is any of the other classes, each as likely."""
    values, _, weights = problem(n_classes)
    rng = np.random.default_rng(1)
    calibration = SoftmaxCalibration(0.7, 0.1 * np.arange(n_classes), np.log(np.arange(1.0, n_classes + 1)))
    codes, rates = rng.integers(n_classes, size=12), rng.uniform(0.05, 0.4, n_classes) * (n_classes > 1)
    expected = 0.0
    for weight, row, code in zip(weights, calibration.log_probabilities(values), codes):
        given = [1 - rates[k] if k == code else rates[k] / (n_classes - 1) for k in range(n_classes)]
        expected += weight * math.log(np.exp(row) @ given)
    assert calibration.label_likelihood(values, codes, weights, rates) == pytest.approx(expected)


def test_the_root_mean_square():
    assert _root_mean_square(np.array([[0.0, -3.0], [4.0, 0.5]])) == pytest.approx(math.sqrt((9 + 16 + 0.25) / 4))
    assert _root_mean_square(np.array([[0.1, -0.2]])) == pytest.approx(math.sqrt(0.025))
    assert _root_mean_square(np.array([[3e200, 0.0]])) == pytest.approx(3e200 / math.sqrt(2))
    assert _root_mean_square(np.zeros((2, 2))) == 0
