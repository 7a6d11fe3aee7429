"""Linear classifiers by weighted least squares: the base classifiers of S0 section 3.1."""

import math

import numpy as np

TIE = 1e-12  # values closer than this are equal, and the lowest code wins


def fit(X, y, w, n_classes):
    """Fit an intercept and one coefficient per feature to +1/-1 targets, and return ``h(X) -> codes``.

    Two classes have one target (class 1 is +1); more have one each, class against rest. The solution is the
    one of the smallest norm. NaN is replaced by the unweighted mean of its column over the rows given here (0
    for a column that holds nothing else).
    """
    X = np.asarray(X, dtype=float)
    means = [column_mean(X[:, j]) for j in range(X.shape[1])]
    positive_classes = [1] if n_classes == 2 else list(range(n_classes))
    targets = np.array([[1.0 if label == k else -1.0 for k in positive_classes] for label in y])

    # minimise sum_i w_i (target_i - row_i . coefficients)^2: scale each row by sqrt(w_i)
    scale = np.sqrt(np.asarray(w, dtype=float))[:, np.newaxis]
    coefficients = np.linalg.lstsq(scale * design(X, means), scale * targets, rcond=None)[0]

    def predict(X):
        values = design(np.asarray(X, dtype=float), means) @ coefficients
        if n_classes == 2:
            return np.array([1 if value > TIE else 0 for value in values[:, 0]], dtype=int)
        return np.array([next(k for k, v in enumerate(row) if v >= max(row) - TIE) for row in values], dtype=int)

    return predict


def column_mean(column):
    """The mean of the values that are not NaN."""
    values = [v for v in column if not math.isnan(v)]
    return math.fsum(values) / len(values) if values else 0.0


def design(X, means):
    """A column of ones, then X with its NaN filled."""
    rows = [[1.0] + [m if math.isnan(v) else v for v, m in zip(x, means, strict=True)] for x in X]
    return np.array(rows).reshape(len(X), len(means) + 1)
