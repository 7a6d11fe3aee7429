"""A fusion on many rows, slowly: weights by a general minimiser, ridges refitted without each fold."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax


def log_loss(point, values, targets, weights, log_prior, squares):
    """Loss of z = b + sum of w * v, row by row, with the ridge on weights and intercepts."""
    n_arms = len(values)
    w, b = point[:n_arms], point[n_arms:]
    total = 0.0
    for row in range(len(targets)):
        z = b + sum(w[arm] * values[arm, row] for arm in range(n_arms))
        z = np.array([0.0, z[0]]) if len(z) == 1 else z
        total -= weights[row] * targets[row] @ log_softmax(z)
    return total + sum(w**2 * squares) / 2 + sum((b - log_prior) ** 2) / 2


def weigh(values, targets, weights, log_prior, squares):
    """The weights and intercepts of the least loss, by L-BFGS-B with numerical derivatives."""
    n_arms, n_targets = len(values), values.shape[2]
    bounds = [(0, None)] * n_arms + [(None, None)] * n_targets
    arguments = values, targets, weights, log_prior, squares
    start = np.r_[np.full(n_arms, 0.1), log_prior]
    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 2000}
    return minimize(log_loss, start, arguments, method="L-BFGS-B", bounds=bounds, options=options).x


def ridge(features, targets, weights, strength):
    """Coefficients of a ridge in units of the mean square of the features; the last one, 1, is free."""
    product = (features * weights[:, None]).T @ features
    ridge = np.full(len(product), strength * np.diag(product)[:-1].mean())
    ridge[-1] = 1e-10 * product[-1, -1]
    return np.linalg.solve(
        product + np.diag(ridge + 1e-13 * np.diag(product).max()), features.T @ (weights[:, None] * targets)
    )


def ridge_by_folds(features, targets, weights, folds, strengths):
    """Refit without each fold for every strength; return the best strength, its values, and the coefficients of all."""
    losses, values = [], []
    for strength in strengths:
        out_of_fold = np.empty(targets.shape)
        for fold in np.unique(folds):
            others, held_out = folds != fold, folds == fold
            coefficients = ridge(features[others], targets[others], weights[others], strength)
            out_of_fold[held_out] = features[held_out] @ coefficients
        losses.append((weights[:, None] * (targets - out_of_fold) ** 2).sum())
        values.append(out_of_fold)
    best = int(np.argmin(losses))
    return strengths[best], values[best], ridge(features, targets, weights, strengths[best])


def corrections(values, targets, weights, stack_weights, intercepts, strength):
    """Matrices of arms and intercepts of the least loss, by a general minimiser with numerical derivatives."""
    n_arms, _, n_classes = values.shape
    weighted = stack_weights[:, None, None] * values
    spread = (weights * (weighted**2).mean(axis=(0, 2))).sum() / weights.sum()

    def loss(point):
        moved = np.eye(n_classes) + point[n_classes:].reshape(n_arms, n_classes, n_classes)
        z = intercepts + point[:n_classes] + sum(weighted[arm] @ moved[arm] for arm in range(n_arms))
        ridge = strength * spread * (point[n_classes:] ** 2).sum() + (point[:n_classes] ** 2).sum()
        return ridge / 2 - (weights[:, None] * targets * log_softmax(z, axis=1)).sum()

    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 2000}
    start = np.zeros(n_classes + n_arms * n_classes**2)
    best = minimize(loss, start, method="L-BFGS-B", options=options).x
    matrices = np.eye(n_classes) + best[n_classes:].reshape(n_arms, n_classes, n_classes)
    return stack_weights[:, None, None] * matrices, intercepts + best[:n_classes]
