"""What arms and views were worth, in numbers."""

import numpy as np

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
    """Share of each view in Σ weight · root mean square of the values."""
    importances = np.zeros(n_views)
    for arm, weight, values in zip(arms, fused.weights, fused.arm_values):
        if weight > 0:
            spread = weight * np.sqrt(np.nanmean(values**2))
            if arm.view is None:
                importances += spread / n_views
            else:
                importances[arm.view] += spread
    total = importances.sum()
    return importances / total if total > 0 else np.full(n_views, 1 / n_views)
