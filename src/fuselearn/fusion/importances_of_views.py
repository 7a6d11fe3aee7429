"""What each view contributes to a fusion, from the weights and the out-of-fold values of its arms."""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls

from fuselearn.fusion.base_models import Arm
from fuselearn.typing import FloatArray

RIDGE = 1e-3
"""Of the combination by which an arm of all views is shared out among them."""


def importances_of_views(arms: Sequence[Arm], weights: FloatArray, arm_values: FloatArray, n_views: int) -> FloatArray:
    """Return the share of each view in Σ weight · root mean square of the values.

    An arm of all views is shared out among them.
    """
    importances = np.zeros(n_views)
    for arm, weight, values in zip(arms, weights, arm_values):
        if weight > 0:
            spread = weight * np.sqrt(np.nanmean(values**2))
            if arm.view is None:
                importances += spread * _shares_of_views(values, arm.learner, arms, arm_values, n_views)
            else:
                importances[arm.view] += spread
    total = importances.sum()
    return importances / total if total > 0 else np.full(n_views, 1 / n_views)


def _shares_of_views(
    values: FloatArray, learner: str, arms: Sequence[Arm], arm_values: FloatArray, n_views: int
) -> FloatArray:
    """Return the shares of the views in values of an arm of all views: the non-negative combination of the values that
    the same learner has for each view alone which comes nearest to them. What it leaves unexplained, the views matter
    for together: it is shared equally among those that say anything."""
    single = [
        (number, arm.view)
        for number, arm in enumerate(arms)
        if arm.view is not None and arm.learner == learner and not np.isnan(arm_values[number]).all()
    ]
    numbers, views = [number for number, _ in single], [view for _, view in single]
    rows = ~np.isnan(values[:, 0])
    shares = np.zeros(n_views)
    if single and rows.any():
        whole = values[rows].ravel()
        parts = np.nan_to_num(arm_values[numbers][:, rows].reshape(len(numbers), -1))  # an absent view adds nothing
        products = parts @ parts.T
        # A small ridge: views with the same values have equal shares.
        root = cholesky(products + (RIDGE * np.trace(products) or 1.0) * np.eye(len(numbers)))
        factors, _ = nnls(root, solve_triangular(root, parts @ whole, trans=1))
        lengths = np.sqrt(np.diag(products))
        explained = lengths * factors
        length = whole @ whole
        unexplained = min(1.0, np.sum((whole - factors @ parts) ** 2) / length) if length > 0 else 0.0
        if explained.any():
            says_something = lengths > RIDGE * lengths.max()
            shares[views] = (1 - unexplained) * explained / explained.sum()
            shares[views] += unexplained * says_something / says_something.sum()
    return shares / shares.sum() if shares.any() else np.full(n_views, 1 / n_views)
