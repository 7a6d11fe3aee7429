"""What arms and views were worth, in numbers."""

import numpy as np
from scipy.optimize import nnls

from fuselearn.fusion.calibration import by_class


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
        sizes = np.sqrt((parts**2).sum(axis=1))
        shares[[arms[number].view for number in alone]] = sizes * nnls(parts.T, values[here].ravel())[0]
    return shares / shares.sum() if shares.any() else np.full(n_views, 1 / n_views)
