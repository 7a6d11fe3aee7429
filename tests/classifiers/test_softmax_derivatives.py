"""Gradients and curvatures of the softmax models, against differences of their heights."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn.classifiers import calibration
from fuselearn.classifiers.calibration import ValueCalibration, _SlopeAndShifts, _SoftmaxLikelihood

N_ROWS, N_CLASSES = 9, 3


def problem(seed=0, n_classes=N_CLASSES):
    """Return values of mean square 1, target probabilities and weights."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(N_ROWS, n_classes))
    targets = rng.dirichlet(np.ones(n_classes), N_ROWS)
    return values / np.sqrt((values**2).mean()), targets, rng.uniform(0.5, 2.0, N_ROWS)


def log_probabilities(logits):
    return np.array([[z - np.log(sum(np.exp(other) for other in row)) for z in row] for row in logits])


def differences(function, point, step=1e-5):
    """The derivatives of a function of a point, by central differences; a column for each coordinate."""
    moves = step * np.eye(len(point))
    columns = [(np.asarray(function(point + move)) - function(point - move)) / (2 * step) for move in moves]
    return np.stack(columns, axis=-1)


def matrix(curvature, size):
    """A curvature as a matrix, where it is a function of a direction."""
    return np.column_stack([curvature(unit) for unit in np.eye(size)]) if callable(curvature) else curvature


def assert_derivatives(height, derivatives, point):
    def gradient(at):
        return derivatives(at, height(at)[1])[0]

    assert_allclose(gradient(point), differences(lambda at: height(at)[0], point), atol=1e-7)
    curvature = matrix(derivatives(point, height(point)[1])[1], len(point))
    assert_allclose(curvature, -differences(gradient, point), atol=1e-7)
    assert_allclose(curvature, curvature.T, atol=1e-12)


@pytest.fixture(params=["matrices", "products"])
def way(request, monkeypatch):
    """Both ways to write a curvature."""
    monkeypatch.setattr(calibration, "MOST_DENSE", 100 if request.param == "matrices" else 0)
    return request.param


@pytest.mark.parametrize("way", ["matrices", "products"])
def test_derivatives_of_the_likelihood(way):
    _, targets, weights = problem()
    features = np.random.default_rng(1).normal(size=(N_ROWS, 2, N_CLASSES))
    likelihood = _SoftmaxLikelihood(targets, weights)
    assert_allclose(likelihood.counts, [sum(w * t[k] for w, t in zip(weights, targets)) for k in range(N_CLASSES)])

    def height(point):
        logs = log_probabilities(features.transpose(0, 2, 1) @ point[:2] + point[2:])
        value = likelihood.value(features.transpose(0, 2, 1) @ point[:2] + point[2:])
        assert_allclose(value[1], logs)
        assert value[0] == pytest.approx(sum(w * (t @ row) for w, t, row in zip(weights, targets, logs)))
        return value

    derivatives = likelihood.derivatives if way == "matrices" else likelihood.derivative_products
    assert_derivatives(height, lambda point, logs: derivatives(features, logs), np.array([0.7, -1.2, 0.1, 0.5, -0.4]))


@pytest.mark.parametrize("caution", [1.0, 3.5])
def test_derivatives_by_slope_and_shifts(way, caution):
    density = _SlopeAndShifts(*problem(), caution)
    point = np.array([1.3, 0.4, -0.2, 0.3])
    assert_derivatives(density.height, density._derivatives, point)
    assert callable(density._derivatives(point, density.height(point)[1])[1]) == (way == "products")


def test_derivatives_by_weights_of_views_and_biases(way, monkeypatch):
    _, targets, row_weights = problem()
    values = np.random.default_rng(1).normal(size=(N_ROWS, 2, N_CLASSES))
    asked = SimpleNamespace()

    def noted(point, height, derivatives, rule):
        asked.height, asked.derivatives = height, derivatives
        return point

    monkeypatch.setattr(calibration, "_ascend", noted)
    model = ValueCalibration(values, row_weights)
    model.refit(targets, model.start)
    point = np.array([0.7, -1.2, 0.1, 0.5, -0.4])
    assert_derivatives(asked.height, asked.derivatives, point)
    # Weights and biases are drawn from normal distributions of variance 1.
    logs = log_probabilities(values.transpose(0, 2, 1) @ point[:2] + point[2:])
    assert_allclose(model.log_probabilities(point), logs)
    assert model.log_prior(point) == pytest.approx(-(point**2).sum() / 2)
    assert asked.height(point)[0] == pytest.approx(row_weights @ (targets * logs).sum(axis=1) - (point**2).sum() / 2)


@pytest.mark.parametrize("caution", [1.0, 3.5])
def test_the_density_of_slope_and_shifts(caution):
    """Slopes are drawn from a normal distribution of variance 1, shifts of 1/10, as often as rows depend on others."""
    values, targets, weights = problem()
    slope, shifts = 1.3, np.array([0.4, -0.2, 0.3])
    counts = np.maximum(weights @ targets, 1.0)
    logs = log_probabilities(slope * (values + shifts) + np.log(counts))
    expected = weights @ (targets * logs).sum(axis=1) - caution * (slope**2 / 2 + 10 * (shifts @ shifts) / 2)
    density = _SlopeAndShifts(values, targets, weights, caution)
    assert density.height(np.r_[slope, shifts])[0] == pytest.approx(expected)
    if caution == 1.0:
        assert _SlopeAndShifts(values, targets, weights).height(np.r_[slope, shifts])[0] == pytest.approx(expected)


def test_offsets_are_the_means_of_the_values_if_classes_counted_alike():
    values, targets, weights = problem()
    targets[:, 0] *= 5
    targets /= targets.sum(axis=1, keepdims=True)
    weights *= 10  # no class has less than a row
    density = _SlopeAndShifts(values, targets, weights)
    of_classes = [np.average(values, axis=0, weights=weights * targets[:, k]) for k in range(N_CLASSES)]
    means = np.mean(of_classes, axis=0)
    assert_allclose(density.offsets(), means - means.mean())
    # A class of less than a row counts as one.
    few = _SlopeAndShifts(values, np.eye(N_CLASSES)[np.arange(N_ROWS) % 2], weights)
    of_classes = [np.average(values[k::2], axis=0, weights=weights[k::2]) for k in range(2)]
    means = (of_classes[0] + of_classes[1]) / 3
    assert_allclose(few.offsets(), means - means.mean())


@pytest.mark.parametrize("size", [1.0, 1000.0])
def test_moments_of_a_feature(size):
    _, targets, weights = problem()
    feature, logits = np.random.default_rng(2).normal(size=(2, N_ROWS, N_CLASSES))
    logits *= size
    mean = variance = 0.0
    for weight, of_row, row in zip(weights, feature, logits):
        p = np.exp(row - row.max())
        p /= p.sum()
        mean += weight * (p @ of_row)
        variance += weight * (p @ (of_row - p @ of_row) ** 2)
    found = _SoftmaxLikelihood(targets, weights).moments(feature, logits)
    assert_allclose(found, (mean, variance), atol=1e-12)


def test_equal_probabilities_are_where_weights_start():
    values = np.random.default_rng(1).normal(size=(N_ROWS, 2, N_CLASSES))
    model = ValueCalibration(values)
    assert_array_equal(model.start, np.zeros(5))
    assert_allclose(model.log_probabilities(model.start), -np.log(N_CLASSES))
