"""A mixture of residuals by maximising its likelihood with a general optimiser: slow, and without any algebra."""

import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm, t


def log_likelihood(parameters, residuals, weights, least_width):
    """Return the log likelihood at (mode, ln scale below, ln scale above, logit of the share, ln width)."""
    mode, below, above = parameters[0], np.exp(parameters[1]), np.exp(parameters[2])
    scales = np.where(residuals < mode, below, above)
    density = t.pdf((residuals - mode) / scales, 4) * 2 / (below + above)
    if len(parameters) > 3:
        share = 1 / (1 + np.exp(-parameters[3]))
        width = max(np.exp(parameters[4]), least_width * (below + above) / 2)
        density = (1 - share) * density + share * norm.pdf(residuals, mode, width)
    return weights @ np.log(density)


def best_log_likelihood(residuals, weights, with_outliers, least_width):
    """Return the largest log likelihood that is found from some starts."""
    scale = np.log(np.median(np.abs(residuals)) + 1e-9)
    starts = [[np.median(residuals), scale, scale]]
    if with_outliers:
        starts = [[*start, logit, scale + wider] for start in starts for logit, wider in ((-3, 2.5), (-2, 3))]
    runs = [
        minimize(
            lambda point: -log_likelihood(point, residuals, weights, least_width),
            start,
            method="Nelder-Mead",
            options={"maxiter": 600, "xatol": 1e-4, "fatol": 1e-5},
        )
        for start in starts
    ]
    return max(-run.fun for run in runs)
