"""Softmax calibration against a general minimiser."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import balanced_accuracy_score

from fuselearn.classifiers import calibration as calibrations
from fuselearn.classifiers.calibration import (
    LEAST_SLOPE,
    SHIFT_PENALTY,
    SLOPE_PENALTY,
    ValueCalibration,
    class_shares,
    fit_calibration,
    fit_sigmoid,
)
from tests.naive import fusion_arms as naive


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([2, 4]),
    st.sampled_from([0.01, 0.05, 0.5]),
    st.sampled_from([-1.0, 0.3, 2.0, 30.0]),
    st.sampled_from([0.0, 1.0, 10.0]),
    st.sampled_from([1.0, 7.5]),
    st.booleans(),
)
@settings(max_examples=8)
def test_slope_and_shifts_are_the_most_probable_ones(seed, n_classes, share, distance, offset, caution, heavy_tails):
    rng = np.random.default_rng(seed)
    rare = rng.random(200) < share
    codes = np.where(rare, 1 + rng.integers(n_classes - 1, size=200), 0)
    posterior = 0.9 * np.eye(n_classes)[codes] + 0.1 / n_classes
    values = distance * np.eye(n_classes)[codes]
    values += rng.standard_t(2, values.shape) if heavy_tails else rng.normal(size=values.shape)
    values += offset * np.arange(n_classes)
    values -= values.mean(axis=1, keepdims=True)
    weights = rng.uniform(0.5, 1.5, 200)
    calibration = fit_calibration(values, posterior, weights, caution)
    log_shares = np.log(np.maximum(weights @ posterior, 1))
    penalties = caution * SLOPE_PENALTY, caution * SHIFT_PENALTY
    slope, shifts = naive.best_calibration(values, posterior, weights, log_shares, *penalties)
    problem = values, posterior, weights, log_shares, penalties
    # By height: there may be two maxima that are equally high.
    best = naive.log_posterior(slope, shifts, *problem)
    assert naive.log_posterior(calibration.slope, calibration.shifts, *problem) >= best - 1e-3


def test_an_offset_does_not_hide_what_values_are_worth():
    """A slope from no shifts is next to nothing here, and without a slope no shift is worth anything."""
    rng = np.random.default_rng(0)
    codes = (rng.random(1000) < 0.03).astype(int)
    one = np.where(codes == 1, -3.0, -4.5) + 0.3 * rng.normal(size=1000)
    calibration = fit_calibration(np.column_stack([-one, one]), np.eye(2)[codes], np.ones(1000))
    decided = one + (calibration.shifts[1] - calibration.shifts[0]) / 2 > 0
    assert balanced_accuracy_score(codes, decided) > 0.95


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_values_of_any_size(size):
    codes = np.arange(40) % 2
    values = np.where(np.arange(2) == codes[:, None], 1.0, -1.0)
    values[:4] *= -1
    calibration, usual = (fit_calibration(factor * values, np.eye(2)[codes], np.ones(40)) for factor in (size, 1.0))
    assert_allclose(calibration.slope * size, usual.slope)
    assert_allclose(calibration.shifts / size, usual.shifts)


def test_a_step_too_far_is_taken_back():
    # Found by trial: bare Newton steps jump between 0 and beyond the optimum here.
    rng = np.random.default_rng(20)
    codes = (rng.random(20_000) < 0.002).astype(int)
    one = np.where(codes == 1, 4, -4) + rng.standard_t(2, 20_000)
    calibration = fit_calibration(np.column_stack([-one, one]), np.eye(2)[codes], np.ones(20_000))
    assert calibration.slope > 0


def test_a_shift_moves_the_border_to_where_classes_balance():
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=3000)
    right = rng.normal(size=(3000, 3)) + 2 * np.eye(3)[codes]
    calibration = fit_calibration(right - [1.0, 0.0, -1.0], np.eye(3)[codes], np.ones(3000))
    assert_allclose(calibration.shifts - calibration.shifts.mean(), [1.0, 0.0, -1.0], atol=0.1)
    # Labels that do not follow the values shift nothing.
    lost = fit_calibration(right - [1.0, 0.0, -1.0], np.eye(3)[rng.permutation(codes)], np.ones(3000))
    assert np.abs(lost.shifts).max() < 0.1


def test_values_that_say_nothing_hardly_have_a_slope():
    posterior = np.eye(2)[np.arange(20) % 2]
    assert fit_calibration(np.zeros((20, 2)), posterior, np.ones(20)).slope == 0
    assert fit_calibration(1 - 2 * posterior, posterior, np.ones(20)).slope == LEAST_SLOPE


def test_a_class_without_rows_has_a_share():
    assert_array_equal(class_shares(np.array([60.0, 20.0, 20.0])), [0.6, 0.2, 0.2])
    shares = class_shares(np.array([99.0, 0.0]))
    assert_allclose(shares, [0.99, 0.01])


@given(st.integers(0, 2**32 - 1), st.floats(1e-3, 1e3))
def test_the_sigmoid_has_the_largest_likelihood(seed, scale):
    rng = np.random.default_rng(seed)
    positive = rng.random(40) < rng.uniform(0.2, 0.8)
    values, weights = scale * (rng.normal(size=40) + positive), rng.exponential(size=40)
    n_positive, n_negative = weights[positive].sum(), weights[~positive].sum()
    targets = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))

    def loss(slope, offset):
        odds = slope * values + offset
        return weights @ (np.logaddexp(0, odds) - targets * odds)

    slope, offset = fit_sigmoid(values, positive, weights)
    least = loss(slope, offset)
    for other in (loss(slope * 1.01, offset), loss(slope * 0.99, offset), loss(slope, offset + 0.01), loss(0.0, 0.0)):
        assert least <= other + 1e-9


def test_a_sigmoid_of_separated_values_is_finite():
    slope, offset = fit_sigmoid(np.r_[np.full(50, -1.0), np.full(50, 1.0)], np.arange(100) >= 50)
    assert_allclose(1 / (1 + np.exp(-(slope + offset))), 51 / 52, rtol=1e-4)
    assert_allclose(fit_sigmoid(np.zeros(4), np.array([True, True, True, False]))[0], 0)


def many_classes(n_classes, n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n_rows) % n_classes
    values = np.eye(n_classes)[codes] + 0.4 * rng.normal(size=(n_rows, n_classes)) + 0.2 * rng.normal(size=n_classes)
    return values, 0.9 * np.eye(n_classes)[codes] + 0.1 / n_classes, rng.uniform(0.5, 2.0, n_rows)


@pytest.mark.parametrize("n_classes", [2, 5, 40])
def test_steps_by_conjugate_gradients_end_where_newtons_do(monkeypatch, n_classes):
    values, posterior, weights = many_classes(n_classes)
    by_matrix = fit_calibration(values, posterior, weights)
    views = ValueCalibration(np.stack([values, values[::-1]], axis=1))
    coefficients = views.refit(posterior, views.start)
    monkeypatch.setattr(calibrations, "MOST_DENSE", 0)
    by_products = fit_calibration(values, posterior, weights)
    assert_allclose(by_products.slope, by_matrix.slope, rtol=1e-3)
    assert_allclose(by_products.shifts, by_matrix.shifts, atol=1e-3)
    assert_array_equal(by_products.log_shares, by_matrix.log_shares)
    assert_allclose(
        views.log_probabilities(views.refit(posterior, views.start)), views.log_probabilities(coefficients), atol=2e-3
    )


def test_many_classes_need_no_matrix_of_classes_by_classes(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("the curvature was computed as a matrix")

    monkeypatch.setattr(calibrations._SoftmaxLikelihood, "derivatives", refuse)
    values, posterior, weights = many_classes(calibrations.MOST_DENSE + 1, n_rows=450)
    fitted = fit_calibration(values, posterior, weights)
    assert (fitted.log_probabilities(values).argmax(axis=1) == posterior.argmax(axis=1)).mean() > 0.3
    views = ValueCalibration(values[:, None])
    assert views.refit(posterior, views.start)[0] > 0
    with pytest.raises(AssertionError, match="as a matrix"):
        fit_calibration(*many_classes(5))


def test_a_direction_of_a_density_curved_up_ends_the_steps():
    gradient = np.array([3.0, 1.0])
    assert_array_equal(calibrations._conjugate_step(gradient, lambda direction: -direction), gradient)
    curved = np.array([2.0, -1.0])
    step = calibrations._conjugate_step(gradient, lambda direction: curved * direction)
    size = (gradient @ gradient) / (gradient @ (curved * gradient))
    assert_allclose(step, size * gradient)  # the first one, since the second direction is curved up


@pytest.mark.parametrize(("rest", "n_products"), [(2e-4, 1), (5e-3, 2)])
def test_conjugate_steps_end_where_a_thousandth_of_the_gradient_is_left(rest, n_products):
    asked = []

    def curvature(direction):
        asked.append(direction)
        return np.array([1.0, 2.0]) * direction

    calibrations._conjugate_step(np.array([1.0, rest]), curvature)
    assert len(asked) == n_products


def test_a_step_takes_off_nine_tenths_of_the_slope_at_most():
    point = np.array([4.0, 1.0, -1.0])
    step, ends = calibrations._end_by_size(point, np.array([-10.0, 5.0, 2.5]), 1.0)
    assert_allclose(step, [-3.6, 1.8, 0.9])
    assert not ends
    short = np.array([-3.5, 5.0, 2.5])
    assert_array_equal(calibrations._end_by_size(point, short, 1.0)[0], short)
    step, ends = calibrations._end_by_size(point, np.array([4.9e-6, 0, 0]), 1.0)
    assert ends
    assert_array_equal(step, np.zeros(3))
    assert not calibrations._end_by_size(point, np.array([5.1e-6, 0, 0]), 1.0)[1]
