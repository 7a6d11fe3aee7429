"""Linear classifiers by weighted least squares: the base classifiers of S0 section 3.1."""

import math

import numpy as np

TIE = 1e-12  # values closer than this are equal, and the lowest code wins


def fit(X, y, w, n_classes):
    """Fit an intercept and one coefficient per feature to +1/-1 targets, and return ``h(X) -> codes``.

    Two classes have one target (class 1 is +1); more have one each, class against rest. Of several solutions it is
    the one of the smallest norm of the coefficients of standardised columns. NaN is replaced by the unweighted mean
    of its column over the rows given here (0 for a column that holds nothing else).
    """
    X = np.asarray(X, dtype=float)
    means = [column_mean(X[:, j]) for j in range(X.shape[1])]
    positive_classes = [1] if n_classes == 2 else list(range(n_classes))
    targets = np.array([[1.0 if label == k else -1.0 for k in positive_classes] for label in y])

    # minimise sum_i w_i (target_i - intercept - row_i . coefficients)^2; of several solutions the one with the least
    # coefficients of the columns standardised under the weights
    share = np.asarray(w, dtype=float) / math.fsum(w)
    filled = fill(X, means)
    centre, target_centre = share @ filled, share @ targets
    spread = np.sqrt(share @ (filled - centre) ** 2)
    varies = spread > 1e-7 * np.abs(centre - means) + 1e-13

    def standardised(X):
        return np.where(varies, (fill(X, means) - centre) / np.where(varies, spread, 1.0), 0.0)

    root = np.sqrt(share)[:, np.newaxis]
    coefficients = np.linalg.lstsq(root * standardised(X), root * (targets - target_centre), rcond=1e-6)[0]

    def predict(X):
        values = target_centre + standardised(np.asarray(X, dtype=float)) @ coefficients
        if n_classes == 2:
            return np.array([1 if value > TIE else 0 for value in values[:, 0]], dtype=int)
        return np.array([next(k for k, v in enumerate(row) if v >= max(row) - TIE) for row in values], dtype=int)

    return predict


def column_mean(column):
    """The mean of the values that are not NaN."""
    values = [v for v in column if not math.isnan(v)]
    return math.fsum(values) / len(values) if values else 0.0


def fill(X, means):
    """X with its NaN replaced by the means of their columns."""
    return np.array([[m if math.isnan(v) else v for v, m in zip(x, means, strict=True)] for x in X]).reshape(X.shape)
