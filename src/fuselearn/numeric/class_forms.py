"""From weighted moments to the quadratic score of each class: fitting Gaussian naive Bayes."""

import numpy as np

from fuselearn.numeric.compiled import compiled


@compiled()
def class_forms(moments, smoothing, least_variance):
    """Quadratic forms whose values are the log-posteriors of the classes, up to what all of them share.

    Parameters
    ----------
    moments : ndarray of shape (n_classes, 1 + 3 * n_columns)
        As `weighted_moments` returns them.
    smoothing : ndarray of shape (n_columns,)
        Added to the variances of each column.
    least_variance : float

    Returns
    -------
    squares, slopes, column_constants : ndarray of shape (n_classes, n_columns)
    log_priors : ndarray of shape (n_classes,)
        For two classes these are the one difference of class 1 and class 0. A class without weight has a log-prior of
        -inf. A column that some class with weight was never observed in takes no part.
    """
    n_classes, n_columns = len(moments), len(smoothing)
    squares = np.zeros((n_classes, n_columns))
    slopes = np.zeros((n_classes, n_columns))
    constants = np.zeros((n_classes, n_columns))
    log_priors = np.full(n_classes, -np.inf)
    total = moments[:, 0].sum()
    n_seen = 0
    for k in range(n_classes):
        if moments[k, 0] > 0.0:
            n_seen += 1
            log_priors[k] = np.log(moments[k, 0] / total)
    for j in range(n_columns):
        n_observed = 0
        for k in range(n_classes):
            if moments[k, 0] > 0.0 and moments[k, 1 + j] > 0.0:
                n_observed += 1
        if n_observed < n_seen:
            continue
        for k in range(n_classes):
            if moments[k, 0] > 0.0:
                observed = moments[k, 1 + j]
                mean = moments[k, 1 + n_columns + j] / observed
                raw = moments[k, 1 + 2 * n_columns + j] / observed
                spread = raw - mean * mean
                # Of a column that is constant in the class only rounding is left, which even far below the smoothing
                # would tell apart classes that are equally far: such log-posteriors are as large as 1e9.
                variance = (spread if spread > 1e-13 * raw else 0.0) + smoothing[j]
                variance = max(variance, least_variance)
                squares[k, j] = -0.5 / variance
                slopes[k, j] = mean / variance
                constants[k, j] = -0.5 * (np.log(variance) + mean * mean / variance)
    if n_classes == 2:
        if n_seen < 2:  # one class alone: its prior decides, and no column says anything
            nothing = np.zeros((1, n_columns))
            return nothing, nothing, nothing, log_priors[1:] - log_priors[:1]
        return (
            squares[1:] - squares[:1],
            slopes[1:] - slopes[:1],
            constants[1:] - constants[:1],
            log_priors[1:] - log_priors[:1],
        )
    return squares, slopes, constants, log_priors
