"""Scores of a fusion and of its arms by out-of-fold values, and importances of the views.

A score is of the decisions that the model makes: the accuracy or, where `class_weight` is "balanced", the balanced
accuracy. The decisions of an arm alone are those of its values with a slope, the prior and the class weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls
from scipy.special import softmax
from sklearn.metrics import roc_auc_score

from fuselearn.data import TrainingData
from fuselearn.data.labels import BALANCED, ClassWeight, given_class_weights
from fuselearn.fusion.arm_weights import by_class
from fuselearn.fusion.base_models.preparation import Arm
from fuselearn.fusion.passes import PassResult
from fuselearn.fusion.pattern_calibration import fit_label_slope, out_of_fold_logits
from fuselearn.typing import AnyArray, FloatArray, IntArray

ACCURACY, BALANCED_ACCURACY, ROC_AUC = "accuracy", "balanced_accuracy", "roc_auc"
"""Names of scores, as scikit-learn has them."""
RIDGE = 1e-3
"""Of the combination by which an arm of all views is shared out among them."""


@dataclass(frozen=True)
class Assessment:
    """Out-of-fold scores, and importances of views.

    Attributes
    ----------
    metric : str
        Name of the score that decisions are to be high in.
    scores : dict of str to float
        This and other scores of the fusion.
    arm_scores : ndarray of shape (n_arms,)
        That score of each arm; NaN for one not fitted.
    view_importances : ndarray of shape (n_views,)
    """

    metric: str
    scores: dict[str, float]
    arm_scores: FloatArray
    view_importances: FloatArray


def assess(
    first: PassResult, last: PassResult, arms: Sequence[Arm], data: TrainingData, class_weight: ClassWeight
) -> Assessment:
    """Assess a fusion by the labels as given (where columns differ, the most frequent one).

    The labels that the second pass learns depend a little on every label: only the first has a fair score.
    """
    metric = metric_of(class_weight)
    log_prior = first.calibration.log_shares
    log_weights = np.log(decision_weights(class_weight, data.classes, np.exp(log_prior)))
    codes = data.votes().argmax(axis=1)
    logits = out_of_fold_logits(first, arms, data)
    offsets = log_prior + log_weights
    return Assessment(
        metric,
        scores_of(codes, logits, log_weights),
        np.array([arm_score(metric, codes, values, data.weights, offsets) for values in last.arm_values]),
        importances_of_views(arms, last.weights, last.arm_values, len(data.names)),
    )


def decision_weights(class_weight: ClassWeight, classes: AnyArray, prior: FloatArray) -> FloatArray:
    """Return the factors of the class probabilities in decisions; with "balanced" they are 1 / prior."""
    weights = given_class_weights(class_weight, classes)
    return 1 / prior if weights is None else weights


def metric_of(class_weight: ClassWeight) -> str:
    """Return the name of the score that decisions with these class weights are to be high in."""
    return BALANCED_ACCURACY if isinstance(class_weight, str) and class_weight == BALANCED else ACCURACY


def arm_score(metric: str, codes: IntArray, values: FloatArray, weights: FloatArray, offsets: FloatArray) -> float:
    """Return the score of an arm alone, on the rows that have its view; NaN for one not fitted.

    Parameters
    ----------
    metric : str
    codes : int ndarray of shape (n_rows,)
        Given classes.
    values : ndarray of shape (n_rows, n_targets)
        Out-of-fold values of the arm; NaN where it abstains.
    weights : ndarray of shape (n_rows,)
    offsets : ndarray of shape (n_classes,)
        Decision values of a row of which nothing is known.
    """
    known = ~np.isnan(values[:, 0])
    if not known.any():
        return np.nan
    codes, by_classes = codes[known], by_class(values[known])
    slope = fit_label_slope(by_classes, codes, weights[known])
    return score_of(metric, codes, (slope * by_classes + offsets).argmax(axis=1))


def scores_of(codes: IntArray, logits: FloatArray, log_weights: FloatArray) -> dict[str, float]:
    """Return accuracy and balanced accuracy of decisions by logits, and the area under the ROC curve of probabilities.

    The area is the mean over the classes, each against all others; it is left out where there is one class only.
    """
    predicted = (logits + log_weights).argmax(axis=1)
    scores = {metric: score_of(metric, codes, predicted) for metric in (ACCURACY, BALANCED_ACCURACY)}
    probabilities = softmax(logits, axis=1)
    given = np.unique(codes)
    if len(given) < 2:
        return scores
    if logits.shape[1] == 2:
        return scores | {ROC_AUC: float(roc_auc_score(codes, probabilities[:, 1]))}
    areas = [roc_auc_score(codes == code, probabilities[:, code]) for code in given]
    return scores | {ROC_AUC: float(np.mean(areas))}


def score_of(metric: str, codes: IntArray, predicted: IntArray) -> float:
    """Return the share of rows that is predicted right or, for balanced accuracy, its mean over the classes."""
    if metric == ACCURACY:
        return float(np.mean(predicted == codes))
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
