"""Calibration of decision values: class probabilities as a softmax of logits.

Three models of the logits maximise the weighted log likelihood Σ_i u_i Σ_k t_ik ln p_ik of targets t:

- `fit_calibration`: slope · (value_k + shift_k) + ln share_k, for values that were fitted with classes of equal weight;
- `ValueCalibration`: Σ_v weight_v · value_vk + bias_k, one model for the values of all views;
- `fit_sigmoid`: slope · value + offset for one class against the others (Platt).

The first two, which may have many classes and coefficients, share the derivatives and the safeguarded Newton steps at
the end of this file. The sigmoid has two coefficients and no prior, and a general minimiser is enough for it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logsumexp

from fuselearn.typing import BoolArray, FloatArray, IntArray

SLOPE_PENALTY = 1.0
"""Ridge on the slope of values of mean square 1: a Gaussian prior of variance 1. Without it, values that separate the
classes would be trusted without limit."""
SHIFT_PENALTY = 10.0
"""Ridge on the shifts of the same values, which are seldom more than a third of a value. The evidence that it stands
against grows with the square of the slope: labels that hardly follow the values hardly shift them."""
LEAST_SLOPE = 1e-6
"""Least slope for values of mean square 1: values that say nothing of probabilities still break ties."""
WEIGHT_PENALTY = 1.0
"""Ridge on the weights of the views, whose values have mean square 1: a Gaussian prior of variance 1."""
BIAS_PENALTY = 1.0
"""Ridge on the biases of the classes. Without it, weak views and one label column can end with a single class for all
rows and every other label wrong, which the likelihood alone does not rule out."""

MOST_DENSE = 200
"""Coefficients whose curvature is a matrix. With more, steps are found by conjugate gradients, which only take its
products with directions: their cost grows with the number of classes and not with its square."""
MOST_CONJUGATE = 50
CONJUGATE_TOLERANCE = 1e-3
"""Directions of a step, and the share of the gradient that it may leave."""
MOST_STEPS = 100
MOST_HALVINGS = 20
SMALLEST_STEP = 1e-6
"""Newton step, relative to 1 + slope, that slope and shifts are no longer moved by."""
SMALLEST_GAIN = 1e-8
"""Expected gain of a step below which it is the last one: Newton's next would gain less than rounding shows."""
LARGEST_SHARE_OF_SLOPE = 0.9
"""Share of the slope that a step may take off: a slope stays positive."""


@dataclass(frozen=True)
class SoftmaxCalibration:
    """p(class k | values) = softmax_k(slope · (value_k + shift_k) + ln share_k).

    The slope says how far the values can be trusted, the shifts where classes balance, and the shares how large the
    classes are. With classes of one size, the most probable class is the one with the largest shifted value.
    """

    slope: float
    shifts: FloatArray
    log_shares: FloatArray

    def log_probabilities(self, values: FloatArray) -> FloatArray:
        """Return ln p of each class, from values of shape (n_rows, n_classes)."""
        return log_softmax(self.slope * (values + self.shifts) + self.log_shares, axis=1)

    def label_likelihood(
        self, values: FloatArray, codes: IntArray, weights: FloatArray, noise_rates: FloatArray
    ) -> float:
        """Return the log likelihood of labels that are wrong at a rate for each true class."""
        logs = self.log_probabilities(values)
        with np.errstate(divide="ignore"):
            wrong, right = np.log(noise_rates / max(1, len(noise_rates) - 1)), np.log1p(-noise_rates)
        joint = logs + wrong
        given = np.arange(len(codes)), codes
        joint[given] = logs[given] + right[codes]
        return float(weights @ logsumexp(joint, axis=1))


def fit_calibration(
    values: FloatArray, posterior: FloatArray, weights: FloatArray, rows_per_observation: float = 1.0
) -> SoftmaxCalibration:
    """Fit the slope and the shifts with the highest posterior density to out-of-fold values.

    All arrays have a row for each row and a column for each class; `posterior` are the class probabilities to fit, and
    `rows_per_observation` says how many rows tell as much as one that depends on no other.
    """
    counts = weights @ posterior
    log_shares = np.log(class_shares(counts))
    size = _root_mean_square(values)
    if not size > 0:
        return SoftmaxCalibration(0.0, np.zeros(len(counts)), log_shares)
    density = _SlopeAndShifts(values / size, posterior, weights, rows_per_observation)
    # There may be two maxima: where values have an offset, no slope is worth much until a shift has removed it.
    starts = [density.start(shifts) for shifts in (np.zeros(len(counts)), -density.offsets())]
    start = max(starts, key=lambda point: density.height(point)[0])
    slope, shifts = _split(density.ascend(start))
    return SoftmaxCalibration(max(slope, LEAST_SLOPE) / size, shifts * size, log_shares)


def fit_slope(values: FloatArray, posterior: FloatArray, weights: FloatArray) -> SoftmaxCalibration:
    """Fit the slope alone, without shifts."""
    size, no_shifts = _root_mean_square(values), np.zeros(values.shape[1])
    slope = 0.0
    if size > 0:
        slope = max(_SlopeAndShifts(values / size, posterior, weights).best_slope(no_shifts), LEAST_SLOPE) / size
    return SoftmaxCalibration(slope, no_shifts, np.log(class_shares(weights @ posterior)))


def class_shares(counts: FloatArray) -> FloatArray:
    """Return the shares of the classes; one without rows has that of one row.

    Examples
    --------
    >>> class_shares(np.array([79.0, 20.0, 0.0]))
    array([0.79, 0.2 , 0.01])
    """
    counts = _at_least_one(counts)
    return counts / counts.sum()


class ValueCalibration:
    """p(class k | values) = softmax_k(Σ_v weight_v · value_vk + bias_k), with coefficients (weights, biases).

    Values of different views are not independent given the class, so a product of likelihoods of views would count the
    same evidence several times. In one model of all values a view gets the weight that it adds to the others.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_views, n_classes)
        Zeros where a view abstains.
    weights : ndarray of shape (n_rows,), default=None
        None is ones.
    """

    def __init__(self, values: FloatArray, weights: FloatArray | None = None) -> None:
        n_rows, self._n_views, n_classes = values.shape
        self._values, self._weights = values, np.ones(n_rows) if weights is None else weights
        self._penalties = np.repeat([WEIGHT_PENALTY, BIAS_PENALTY], [self._n_views, n_classes])

    @property
    def start(self) -> FloatArray:
        """Coefficients of equal probabilities."""
        return np.zeros(len(self._penalties))

    def log_probabilities(self, coefficients: FloatArray) -> FloatArray:
        """Return ln p(class | values), of shape (n_rows, n_classes)."""
        return log_softmax(self._logits(coefficients), axis=1)

    def log_prior(self, coefficients: FloatArray) -> float:
        """Return ln of the Gaussian prior of the coefficients, up to a constant."""
        return float(-0.5 * (self._penalties * coefficients**2).sum())

    def refit(self, posterior: FloatArray, coefficients: FloatArray) -> FloatArray:
        """Maximise Σ weight · posterior · ln p + ln prior from a point; the result is never worse than it is."""
        likelihood = _SoftmaxLikelihood(posterior, self._weights)

        def height(point: FloatArray) -> tuple[float, FloatArray]:
            log_likelihood, logs = likelihood.value(self._logits(point))
            return log_likelihood + self.log_prior(point), logs

        def derivatives(point: FloatArray, logs: FloatArray) -> "tuple[FloatArray, _Curvature]":
            if len(point) > MOST_DENSE:
                gradient, product = likelihood.derivative_products(self._values, logs)
                return gradient - self._penalties * point, lambda step: product(step) + self._penalties * step
            gradient, curvature = likelihood.derivatives(self._values, logs)
            return gradient - self._penalties * point, curvature + np.diag(self._penalties)

        return _ascend(coefficients, height, derivatives, _end_by_gain)

    def _logits(self, coefficients: FloatArray) -> FloatArray:
        weights, biases = coefficients[: self._n_views], coefficients[self._n_views :]
        return np.einsum("ivk,v->ik", self._values, weights) + biases


def fit_sigmoid(values: FloatArray, positive: BoolArray, weights: FloatArray | None = None) -> tuple[float, float]:
    """Fit P(positive) = 1 / (1 + exp(-(slope · value + offset))) by maximum likelihood; return slope and offset.

    The targets are Platt's, (n₊ + 1) / (n₊ + 2) and 1 / (n₋ + 2) in place of 1 and 0: the slope stays finite where the
    values separate the classes.

    Examples
    --------
    >>> slope, offset = fit_sigmoid(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([False, False, True, True]))
    >>> round(slope, 1), bool(abs(offset) < 1e-6)
    (0.7, True)
    """
    weights = np.ones(len(values)) if weights is None else weights
    positives, negatives = weights[positive].sum(), weights[~positive].sum()
    targets = np.where(positive, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    shares = weights / weights.sum()
    scale = np.abs(values).max() or 1.0
    scaled = values / scale

    def loss(point: FloatArray) -> tuple[float, FloatArray]:
        logits = point[0] * scaled + point[1]
        errors = shares * (expit(logits) - targets)
        return shares @ (np.logaddexp(0.0, logits) - targets * logits), np.array([errors @ scaled, errors.sum()])

    start = np.array([0.0, np.log((positives + 1) / (negatives + 1))])
    slope, offset = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-9}).x
    return float(slope / scale), float(offset)


class _SlopeAndShifts:
    """Log posterior density of (slope, shifts), for values of mean square 1."""

    def __init__(
        self, values: FloatArray, posterior: FloatArray, weights: FloatArray, rows_per_observation: float = 1.0
    ) -> None:
        # Class after class in memory: sums over few classes are then sums of long arrays.
        self._values = np.asfortranarray(values)
        self._likelihood = _SoftmaxLikelihood(np.asfortranarray(posterior), weights)
        self._slope_penalty = rows_per_observation * SLOPE_PENALTY
        self._shift_penalty = rows_per_observation * SHIFT_PENALTY
        # A shift must not stand for the sizes of the classes.
        self._log_shares = np.log(_at_least_one(self._likelihood.counts))

    def offsets(self) -> FloatArray:
        """Return the mean values of a row if each class counted alike, about their mean."""
        of_classes = self._values.T @ self._likelihood.weighted_targets / _at_least_one(self._likelihood.counts)
        means = of_classes.mean(axis=1)
        return means - means.mean()

    def best_slope(self, shifts: FloatArray) -> float:
        """Return the best slope for given shifts, by Newton steps between bounds that close in on it."""
        shifted = self._values + shifts
        slope, low, high = 0.0, 0.0, np.inf
        wanted = float((self._likelihood.weighted_targets * shifted).sum())
        for _ in range(MOST_STEPS):
            mean, variance = self._likelihood.moments(shifted, slope * shifted + self._log_shares)
            gradient = wanted - mean - self._slope_penalty * slope
            low, high = (slope, high) if gradient > 0 else (low, slope)
            step = gradient / (variance + self._slope_penalty)
            if high == 0 or abs(step) < SMALLEST_STEP * (1 + slope):
                break
            # Where classes are rare a bare step may overshoot, and the next one fall back to where it came from.
            slope = slope + step if low < slope + step < high else (low + high) / 2
        return slope

    def start(self, shifts: FloatArray) -> FloatArray:
        """Return a point to ascend from: the shifts with their best slope; without a slope they mean nothing."""
        slope = self.best_slope(shifts)
        return np.append(slope, shifts if slope > 0 else np.zeros_like(shifts))

    def ascend(self, point: FloatArray) -> FloatArray:
        """Return the maximum above a point; a slope of 0 stays."""
        return _ascend(point, self.height, self._derivatives, _end_by_size) if point[0] > 0 else point

    def height(self, point: FloatArray) -> tuple[float, FloatArray]:
        """Return the density at a point, and ln p of each row and class."""
        slope, shifts = _split(point)
        log_likelihood, logs = self._likelihood.value(slope * (self._values + shifts) + self._log_shares)
        penalty = self._slope_penalty * slope**2 + self._shift_penalty * float(shifts @ shifts)
        return log_likelihood - penalty / 2, logs

    def _derivatives(self, point: FloatArray, logs: FloatArray) -> "tuple[FloatArray, _Curvature]":
        """Return gradient and curvature by the chain rule: a shift moves a logit by the slope."""
        slope, shifts = _split(point)
        features = (self._values + shifts)[:, None]
        penalties = np.append(self._slope_penalty, np.full(len(shifts), self._shift_penalty))
        if len(point) > MOST_DENSE:
            by_bias, product = self._likelihood.derivative_products(features, logs)
            chain = np.append(1.0, np.full(len(shifts), slope))

            def curvature_product(direction: FloatArray) -> FloatArray:
                result = chain * product(chain * direction) + penalties * direction
                result[0] -= by_bias[1:] @ direction[1:]
                result[1:] -= by_bias[1:] * direction[0]
                return result

            return chain * by_bias - penalties * point, curvature_product
        gradient, curvature = self._likelihood.derivatives(features, logs)
        curvature[0, 1:] = slope * curvature[0, 1:] - gradient[1:]
        curvature[1:, 0] = curvature[0, 1:]
        curvature[1:, 1:] *= slope**2
        gradient[1:] *= slope
        return gradient - penalties * point, curvature + np.diag(penalties)


class _SoftmaxLikelihood:
    """Weighted log likelihood Σ_i u_i Σ_k t_ik ln p_ik of target probabilities t of shape (n_rows, n_classes)."""

    def __init__(self, targets: FloatArray, weights: FloatArray) -> None:
        self._targets, self._weights, self._roots = targets, weights[:, None], np.sqrt(weights)[:, None]
        self.weighted_targets = self._weights * targets
        self.counts = weights @ targets

    def value(self, logits: FloatArray) -> tuple[float, FloatArray]:
        """Return the log likelihood of logits, and ln p of each row and class."""
        logs = log_softmax(logits, axis=1)
        return float((self.weighted_targets * logs).sum()), logs

    def moments(self, feature: FloatArray, logits: FloatArray) -> tuple[float, float]:
        """Return the weighted sums over rows of mean and variance of a feature by the probabilities of logits.

        They are what the first and second derivative by a coefficient of the feature need.
        """
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        products = p * feature
        means = products.sum(axis=1)
        products *= feature
        weights = self._weights[:, 0]
        return float(means @ weights), float((products.sum(axis=1) - means**2) @ weights)

    def derivatives(self, features: FloatArray, logs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return gradient and curvature (minus the Hessian) by the coefficients of features, then by class biases.

        The features are of shape (n_rows, n_features, n_classes).
        """
        p = np.exp(logs)
        errors = self._weights * (self._targets - p)
        gradient = np.concatenate([np.einsum("ivk,ik->v", features, errors), errors.sum(axis=0)])
        weighted = features * (self._weights * p)[:, None, :]
        means = self._roots * (features * p[:, None, :]).sum(axis=2)
        p *= self._roots
        n_features = features.shape[1]
        curvature = np.empty((len(gradient), len(gradient)))
        curvature[:n_features, :n_features] = np.einsum("ivk,iuk->vu", weighted, features) - means.T @ means
        both = weighted.sum(axis=0) - means.T @ p
        curvature[:n_features, n_features:], curvature[n_features:, :n_features] = both, both.T
        curvature[n_features:, n_features:] = np.diag((self._roots * p).sum(axis=0)) - p.T @ p
        return gradient, curvature

    def derivative_products(
        self, features: FloatArray, logs: FloatArray
    ) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
        """Return the same gradient, and a function of a direction that returns the curvature times it."""
        p = np.exp(logs)
        errors = self._weights * (self._targets - p)
        weighted = self._weights * p
        n_features = features.shape[1]

        def summed(moves: FloatArray) -> FloatArray:
            return np.concatenate([np.einsum("ivk,ik->v", features, moves), moves.sum(axis=0)])

        def product(direction: FloatArray) -> FloatArray:
            moves = np.einsum("ivk,v->ik", features, direction[:n_features]) + direction[n_features:]
            moves -= (p * moves).sum(axis=1, keepdims=True)
            return summed(weighted * moves)

        return summed(errors), product


_Height: TypeAlias = Callable[[FloatArray], tuple[float, FloatArray]]
_Curvature: TypeAlias = FloatArray | Callable[[FloatArray], FloatArray]
"""Minus the Hessian: a matrix, or a function that returns its product with a direction."""
_Derivatives: TypeAlias = Callable[[FloatArray, FloatArray], tuple[FloatArray, _Curvature]]
_StepRule: TypeAlias = Callable[[FloatArray, FloatArray, float], tuple[FloatArray, bool]]


def _ascend(point: FloatArray, height: _Height, derivatives: _Derivatives, rule: _StepRule) -> FloatArray:
    """Return the maximum above a point, by Newton steps; one that does not lead up is halved."""
    best, logs = height(point)
    for _ in range(MOST_STEPS):
        gradient, curvature = derivatives(point, logs)
        step = _newton_step(gradient, curvature)
        step, is_last = rule(point, step, float(gradient @ step))
        if is_last:
            return point + step
        for _ in range(MOST_HALVINGS + 1):
            next_height, next_logs = height(point + step)
            if next_height > best:
                break
            step = step / 2
        else:
            return point  # rounding: nothing better can be found
        point, best, logs = point + step, next_height, next_logs
    return point


def _newton_step(gradient: FloatArray, curvature: _Curvature) -> FloatArray:
    if callable(curvature):
        return _conjugate_step(gradient, curvature)
    # Between two maxima the density is curved up: a ridge makes every step lead uphill.
    ridge = 0.0
    while True:
        try:
            ridged = curvature + ridge * np.eye(len(gradient))
            np.linalg.cholesky(ridged)
            return np.linalg.solve(ridged, gradient)
        except np.linalg.LinAlgError:
            ridge = 10 * ridge or 1e-3 * np.trace(curvature)


def _conjugate_step(gradient: FloatArray, curvature: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Return a step uphill near Newton's, by conjugate gradients; where the density is curved up, the one before."""
    step, residual = np.zeros_like(gradient), gradient.copy()
    direction, size = residual.copy(), float(residual @ residual)
    enough = CONJUGATE_TOLERANCE**2 * size
    for _ in range(MOST_CONJUGATE):
        if not size > enough:
            break
        product = curvature(direction)
        bend = float(direction @ product)
        if not bend > 0:
            return step if step.any() else direction
        step = step + size / bend * direction
        residual = residual - size / bend * product
        before, size = size, float(residual @ residual)
        direction = residual + size / before * direction
    return step


def _end_by_gain(point: FloatArray, step: FloatArray, gain: float) -> tuple[FloatArray, bool]:
    """End with the first step whose expected gain is small."""
    return step, gain < SMALLEST_GAIN


def _end_by_size(point: FloatArray, step: FloatArray, gain: float) -> tuple[FloatArray, bool]:
    """Shorten a step that would make the slope negative; end before one that hardly moves slope and shifts."""
    if step[0] < -LARGEST_SHARE_OF_SLOPE * point[0]:
        step = step * (-LARGEST_SHARE_OF_SLOPE * point[0] / step[0])
    is_small = bool(np.abs(step).max() < SMALLEST_STEP * (1 + point[0]))
    return np.zeros_like(step) if is_small else step, is_small


def _split(point: FloatArray) -> tuple[float, FloatArray]:
    return float(point[0]), point[1:]


def _root_mean_square(values: FloatArray) -> float:
    """Return the root mean square of values of any size, without overflow."""
    largest = np.abs(values).max()
    return float(largest * np.sqrt(((values / largest) ** 2).mean())) if largest > 0 else 0.0


def _at_least_one(counts: FloatArray) -> FloatArray:
    """Give a class without rows one row: it can still turn up."""
    return np.maximum(counts, 1.0)
