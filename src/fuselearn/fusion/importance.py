"""Scores of a fusion and of its arms, and the importance of views."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls

from fuselearn.fusion.arm_weights import by_class
from fuselearn.fusion.base_models.preparation import Arm
from fuselearn.typing import FloatArray, IntArray

RIDGE = 1e-3


@dataclass(frozen=True)
class Assessment:
    """Out-of-fold balanced accuracy of a fusion and of each arm (NaN for one not fitted), and importances of views."""

    score: float
    arm_scores: FloatArray
    view_importances: FloatArray


def assess(
    codes: IntArray,
    decisions: FloatArray,
    arms: Sequence[Arm],
    weights: FloatArray,
    arm_values: FloatArray,
    n_views: int,
) -> Assessment:
    """Assess a fusion by the labels as given.

    Parameters
    ----------
    codes : int ndarray of shape (n_rows,)
        Given classes.
    decisions : ndarray of shape (n_rows, n_classes)
        Out-of-fold decision values.
    arms : list of Arm
    weights : ndarray of shape (n_arms,)
    arm_values : ndarray of shape (n_arms, n_rows, n_targets)
        Out-of-fold values; NaN where an arm abstains.
    n_views : int
    """
    return Assessment(
        balanced_accuracy(codes, decisions.argmax(axis=1)),
        np.array([arm_score(codes, values) for values in arm_values]),
        importances_of_views(arms, weights, arm_values, n_views),
    )


def arm_score(codes: IntArray, values: FloatArray) -> float:
    """Return the balanced accuracy of an arm alone, on the rows that have its view; NaN for one not fitted."""
    known = ~np.isnan(values[:, 0])
    return balanced_accuracy(codes[known], by_class(values[known]).argmax(axis=1)) if known.any() else np.nan


def balanced_accuracy(codes: IntArray, predicted: IntArray) -> float:
    """Return the mean over the classes of the share that is predicted right."""
    totals = np.bincount(codes)
    right = np.bincount(codes[predicted == codes], minlength=len(totals))
    return float((right[totals > 0] / totals[totals > 0]).mean())


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
    the same learner has for each view alone which comes nearest to them."""
    single = [
        (number, arm.view)
        for number, arm in enumerate(arms)
        if arm.view is not None and arm.learner == learner and not np.isnan(arm_values[number]).all()
    ]
    numbers, views = [number for number, _ in single], [view for _, view in single]
    rows = ~np.isnan(values[:, 0]) & ~np.isnan(arm_values[numbers, :, 0]).any(axis=0)
    shares = np.zeros(n_views)
    if single and rows.any():
        parts = arm_values[numbers][:, rows].reshape(len(numbers), -1)
        products = parts @ parts.T
        # A small ridge: views with the same values have equal shares.
        root = cholesky(products + (RIDGE * np.trace(products) or 1.0) * np.eye(len(numbers)))
        factors, _ = nnls(root, solve_triangular(root, parts @ values[rows].ravel(), trans=1))
        shares[views] = np.sqrt(np.diag(products)) * factors
    return shares / shares.sum() if shares.any() else np.full(n_views, 1 / n_views)
