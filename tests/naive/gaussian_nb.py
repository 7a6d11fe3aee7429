"""Gaussian naive Bayes under row weights: the base classifier of S0 section 5 and S1 section 6."""

import math

import numpy as np

TIE = 1e-12  # values closer than this are equal, and the lowest code wins


def fit(X, y, w, n_classes, var_smoothing=1e-9):
    """Fit one normal density per class and feature (S0 section 5: "the Gaussian model is used for the
    marginal distributions"), and return the hypothesis ``h(X) -> codes``.

    A NaN is marginalised: it is left out of its feature's sums here, and out of the product of densities in
    the hypothesis. A feature that some class of positive weight never observed takes no part at all.
    """
    X = np.asarray(X, dtype=float)
    epsilon = variance_floor(X, var_smoothing)
    class_weights = [math.fsum(w[i] for i in range(len(y)) if y[i] == k) for k in range(n_classes)]
    total = math.fsum(class_weights)
    seen = [k for k in range(n_classes) if class_weights[k] > 0]

    moments = {}  # (class, feature) -> (mean, variance)
    for j in range(X.shape[1]):
        rows = {k: observed_rows(X, y, w, k, j) for k in seen}
        if all(rows[k] for k in seen):
            for k in seen:
                mean, variance = weighted_moments([X[i, j] for i in rows[k]], [w[i] for i in rows[k]])
                moments[k, j] = (mean, variance + epsilon)

    def log_joint(x, k):
        """ln P(k) + sum over the observed features of ln N(x_j; mean, variance)."""
        terms = [math.log(class_weights[k] / total)]
        for j in range(len(x)):
            if (k, j) in moments and not math.isnan(x[j]):
                mean, variance = moments[k, j]
                terms.append(-0.5 * math.log(2 * math.pi * variance) - (x[j] - mean) ** 2 / (2 * variance))
        return math.fsum(terms)

    def predict(X):
        return np.array([predict_one(x) for x in np.asarray(X, dtype=float)], dtype=int)

    def predict_one(x):
        values = {k: log_joint(x, k) for k in seen}
        return min(k for k in seen if values[k] >= max(values.values()) - TIE)

    return predict


def observed_rows(X, y, w, k, j):
    """The rows of class k that hold a value of feature j and have positive weight."""
    return [i for i in range(len(y)) if y[i] == k and w[i] > 0 and not math.isnan(X[i, j])]


def weighted_moments(values, weights):
    """Weighted mean, and (in a second pass) the weighted biased variance about it."""
    total = math.fsum(weights)
    mean = math.fsum(v * u for v, u in zip(values, weights, strict=True)) / total
    variance = math.fsum(u * (v - mean) ** 2 for v, u in zip(values, weights, strict=True)) / total
    return mean, variance


def variance_floor(X, var_smoothing):
    """``var_smoothing`` times the largest unweighted variance of a column, over all rows, NaN left out."""
    largest = 0.0
    for j in range(X.shape[1]):
        column = [v for v in X[:, j] if not math.isnan(v)]
        if column:
            largest = max(largest, weighted_moments(column, [1.0] * len(column))[1])
    return var_smoothing * largest if largest > 0 else var_smoothing
