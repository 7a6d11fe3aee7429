"""What arms and views were worth, in numbers."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls

from fuselearn.fusion.calibration import Links, by_class, evidence_left_out, fit_links

RIDGE = 1e-3


@dataclass(frozen=True)
class Worth:
    """What a fusion came to.

    Attributes
    ----------
    links : Links
    score : float
        Balanced accuracy on the training rows, by models and links that were not fitted on them.
    arm_scores : ndarray of shape (n_arms,)
    view_importances : ndarray of shape (n_views,)
    """

    links: Links
    score: float
    arm_scores: np.ndarray
    view_importances: np.ndarray


def worth_of(arms, first, fused, rows):
    """Judge a fusion by the labels as given.

    Parameters
    ----------
    arms : list of Arm
    first, fused : Fused
        After the first pass and after the last one. Agreed labels, which the second pass learns, depend a little on
        every label: the first pass is the fair judge.
    rows : LabelledRows

    Returns
    -------
    Worth
    """
    given = rows.votes().argmax(axis=1)
    return Worth(
        fit_links(fused, arms, rows),
        balanced_accuracy(given, evidence_left_out(first, arms, rows).argmax(axis=1)),
        np.array([arm_score(given, values) for values in fused.arm_values]),
        importances_of_views(arms, fused, len(rows.names)),
    )


def arm_score(codes, values):
    """Balanced accuracy of an arm alone, on the rows that it sees; NaN for one that was not fitted."""
    seen = ~np.isnan(values[:, 0])
    return balanced_accuracy(codes[seen], by_class(values[seen]).argmax(axis=1)) if seen.any() else np.nan


def balanced_accuracy(codes, predicted):
    """Mean over the classes of the share that is predicted right."""
    totals = np.bincount(codes)
    right = np.bincount(codes[predicted == codes], minlength=len(totals))
    return float((right[totals > 0] / totals[totals > 0]).mean())


def importances_of_views(arms, fused, n_views):
    """Share of each view in Σ weight · root mean square of the values; an arm of all views is shared out among them.

    Parameters
    ----------
    arms : list of Arm
    fused : Fused
    n_views : int

    Returns
    -------
    ndarray of shape (n_views,)
        With sum 1.
    """
    importances = np.zeros(n_views)
    for arm, weight, values in zip(arms, fused.weights, fused.arm_values):
        if weight > 0:
            spread = weight * np.sqrt(np.nanmean(values**2))
            if arm.view is None:
                importances += spread * _shares_in(values, arm.learner, arms, fused.arm_values, n_views)
            else:
                importances[arm.view] += spread
    total = importances.sum()
    return importances / total if total > 0 else np.full(n_views, 1 / n_views)


def _shares_in(values, learner, arms, arm_values, n_views):
    """Shares of the views in what an arm of all views says: how much of what the same learner says of each view alone
    makes it up best, without a minus."""
    alone = [number for number, arm in enumerate(arms) if arm.view is not None and arm.learner == learner]
    alone = [number for number in alone if not np.isnan(arm_values[number]).all()]
    here = ~np.isnan(values[:, 0]) & ~np.isnan(arm_values[alone, :, 0]).any(axis=0)
    shares = np.zeros(n_views)
    if alone and here.any():
        parts = arm_values[alone][:, here].reshape(len(alone), -1)
        products = parts @ parts.T
        # A small ridge: views that say the same have equal shares.
        root = cholesky(products + (RIDGE * np.trace(products) or 1.0) * np.eye(len(alone)))
        found, _ = nnls(root, solve_triangular(root, parts @ values[here].ravel(), trans=1))
        shares[[arms[number].view for number in alone]] = np.sqrt(np.diag(products)) * found
    return shares / shares.sum() if shares.any() else np.full(n_views, 1 / n_views)
