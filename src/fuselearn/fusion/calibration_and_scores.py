"""The calibration of a fusion for each pattern of views, and its scores; both by out-of-fold values.

Logits z are linear in the combined value of a row, and so in the values of its arms: z = slope · value + intercept, and
softmax(z) are the class probabilities, for classes of the size that they have in the training rows. A row that lacks
views is predicted less surely: there are slopes and intercepts for what is left when a view is missing, for each view
alone, and for the patterns of the training rows. All are fitted on out-of-fold values. Where arms of all views have
absent ones filled in, they count less for a pattern of few views, and the values are those of rows with these views
alone; see `filled_views`.

Wrong labels and classes that overlap look alike where there is one label column. The posterior of the consensus is
calibrated for only where wrong labels explain the labels clearly better than overlap does; else probabilities are those
of the labels as given.

A score is of the decisions that the model makes: the accuracy or, where `class_weight` is "balanced", the balanced
accuracy. The decisions of an arm alone are those of its values with a slope, the prior and the class weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import softmax

from fuselearn.classifiers.calibration import SoftmaxCalibration, fit_calibration, fit_slope
from fuselearn.classifiers.cross_fitting import deal_folds, groups_among
from fuselearn.data import TrainingData
from fuselearn.data.class_weights import BALANCED, ClassWeight, given_class_weights
from fuselearn.data.training_data import targets_of
from fuselearn.fusion.arm_weights import by_class, weigh_arms, weighted_sum
from fuselearn.fusion.base_models import Arm
from fuselearn.fusion.base_models.catalogue import LEAST_ROWS
from fuselearn.fusion.filled_views import CountedViews
from fuselearn.fusion.importances_of_views import importances_of_views
from fuselearn.fusion.pattern_calibration import PatternCalibration
from fuselearn.numeric.votes import ties_for_largest
from fuselearn.typing import AnyArray, BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from fuselearn.fusion.passes import PassResult

MOST_PATTERNS = 64
LEAST_COMPLETE = 10
"""Complete rows from which on all views are calibrated by these alone, where others have views filled in."""
MOST_ROWS = 20_000
"""Rows that a calibration is fitted on; of more it would learn nothing."""
ACCURACY, BALANCED_ACCURACY, ROC_AUC = "accuracy", "balanced_accuracy", "roc_auc"
"""Names of scores, as scikit-learn has them."""


def fit_full_calibration(
    values: FloatArray, data: TrainingData, posterior: FloatArray, noise_rates: FloatArray | None
) -> tuple[SoftmaxCalibration, FloatArray]:
    """Fit the calibration for rows with all views; return it and the class probabilities that it was fitted to.

    These are the posterior or, where there is one label column and its estimated `noise_rates` of the classes do not
    explain it clearly better, the labels as given. Values are combined ones, of shape (n_rows, n_classes).
    """
    calibration = _fit(values, posterior, data)
    if noise_rates is None:
        return calibration, posterior
    votes, codes, weights = data.votes(), data.codes[:, 0], data.weights
    plain = _fit(values, votes, data)
    gain = calibration.label_likelihood(values, codes, weights, noise_rates)
    gain -= plain.label_likelihood(values, codes, weights, 0 * noise_rates)
    # Bayesian information criterion for two numbers more: a rate, and how it differs between the classes, which its
    # prior keeps small.
    effect = _design_effect(values, votes, weights, data.groups)
    # Two groups, or one row that outweighs all others, would count as one row, and anything be believed.
    n_rows = max(2.0, weights.sum() ** 2 / (weights**2).sum() / effect)
    return (calibration, posterior) if gain / effect >= np.log(n_rows) else (plain, votes)


def fit_pattern_calibration(
    result: "PassResult", arms: Sequence[Arm], data: TrainingData, most: int = MOST_PATTERNS
) -> PatternCalibration:
    """Fit calibrations for patterns of views on all training rows, `most` of them as they are in these."""
    all_rows = np.ones(len(data), dtype=bool)
    patterns = patterns_of_views(data.blocks.present, most=most)
    if result.filled is not None:
        # What rows of these patterns would be predicted is known, whether there are any or not.
        unseen = np.unique(np.vstack([*patterns, *result.filled.patterns]), axis=0)
        patterns = [pattern for pattern in unseen if not pattern.all()]
    return _fit_patterns(result.calibration, result, arms, data, all_rows, patterns)


def values_to_calibrate(
    result: "PassResult", arms: Sequence[Arm], calibration: PatternCalibration, present: BoolArray
) -> tuple[FloatArray, BoolArray]:
    """Return combined out-of-fold values of the training rows, of shape (n_rows, n_classes), and the rows with some."""
    if calibration.joint_factors is None:
        return by_class(result.values), result.covered
    factors = calibration.joint_factors_of(present)
    used = np.flatnonzero(result.weights > 0).tolist()
    values, covered = weighted_sum(
        result.arm_values[used], result.weights[used], [factors if arms[arm].view is None else 1.0 for arm in used]
    )
    return by_class(values), covered


def share_learnt_wrong(result: "PassResult", data: TrainingData) -> float:
    """Return the share of the labels that look wrong in what the arms of a pass learnt: the largest over all rows and
    over the rows of each view.

    Arms learn the votes of the label columns, so a label counts by its share of its row's votes, not by the rate of its
    column. Among nine right labels of the row, a wrong one does next to no harm; but where it is the only one, as of
    rows that just one annotator has seen, it is all that the row teaches, however many columns are right elsewhere.
    """
    # Measured with one of ten columns wrong in 45 % of its labels, whose rates have a mean of 0.045: where 40 % of the
    # rows have no other label, a second pass raises the accuracy from 94.0 to 95.0; where all have ten, by nothing.
    if data.codes.shape[1] == 1:
        return float(result.noise_rates[0])
    wrong = 1 - (data.votes() * result.posterior).sum(axis=1)
    shares = [np.average(wrong, weights=data.weights)]
    for having in data.blocks.present.T:
        if np.count_nonzero(having) >= LEAST_ROWS:  # others have no arm
            shares.append(np.average(wrong[having], weights=data.weights[having]))
    return float(max(shares))


def explains_labels_worse(result: "PassResult", other: "PassResult", data: TrainingData) -> bool:
    """Return whether the out-of-fold values of a pass explain the labels as given clearly worse than those of another:
    their cross-entropy is higher by more than a standard error."""
    votes, losses = data.votes(), []
    for values in (by_class(result.values), by_class(other.values)):
        losses.append(-data.weights * (votes * _fit(values, votes, data).log_probabilities(values)).sum(axis=1))
    excess = losses[0] - losses[1]
    if data.groups is not None:
        excess = np.bincount(data.groups, excess)
    return bool(excess.sum() > np.sqrt(len(excess)) * excess.std())


def out_of_fold_logits(
    result: "PassResult", arms: Sequence[Arm], data: TrainingData, most: int = MOST_PATTERNS
) -> FloatArray:
    """Return logits of the training rows, of shape (n_rows, n_classes), weighed and calibrated on rows of other folds.

    The prior is that of all rows: the classes that are frequent among the others are for that reason rare in a fold.
    """
    present = data.blocks.present
    patterns, log_prior = _observed_patterns(present, most), result.calibration.log_shares
    result = replace(result, arm_values=result.scored_values)
    logits = np.empty((len(data), len(log_prior)))
    _, fold_of = deal_folds(len(data), data.groups)
    for fold in np.unique(fold_of):
        held_out = fold_of == fold
        weighed = _weighed_on(~held_out, result, data)
        full = replace(_fit(by_class(weighed.values), result.class_targets, data, ~held_out), log_shares=log_prior)
        calibration = _fit_patterns(full, weighed, arms, data, ~held_out, patterns)
        values, covered = values_to_calibrate(weighed, arms, calibration, present)
        logits[held_out] = calibration.logits(values[held_out], covered[held_out], present[held_out])
    return logits


def _weighed_on(rows: BoolArray, result: "PassResult", data: TrainingData) -> "PassResult":
    """Return a result whose arms are weighed by some of the rows only."""
    tried = ~np.isnan(result.arm_values[:, :, 0]).all(axis=1)
    row_weights = result.row_weights[rows]
    given = targets_of(data.votes()[rows])
    given = given - row_weights @ given / row_weights.sum()
    groups = None if data.groups is None else groups_among(data.groups, rows)
    weights = np.zeros(len(result.arm_values))
    weights[tried] = weigh_arms(result.arm_values[tried][:, rows], given, row_weights, groups, result.standard_errors)
    values, covered = weighted_sum(result.arm_values[tried], weights[tried])
    return replace(result, weights=weights, values=values, covered=covered)


def fit_label_slope(values: FloatArray, codes: IntArray, weights: FloatArray) -> float:
    """Return the slope of values of shape (n_rows, n_classes) that explains the given classes best."""
    rows = _subsample(np.arange(len(values)))
    return fit_slope(values[rows], np.eye(values.shape[1])[codes[rows]], weights[rows]).slope


def _fit_patterns(
    full: SoftmaxCalibration,
    result: "PassResult",
    arms: Sequence[Arm],
    data: TrainingData,
    rows: BoolArray,
    patterns: Sequence[BoolArray],
) -> PatternCalibration:
    """Fit calibrations of some patterns on some rows, beside that of all views, which is known."""
    known, all_views = [np.ones(data.blocks.present.shape[1], dtype=bool)], full
    present, targets, counted = data.blocks.present, result.class_targets, None
    if result.filled is not None:
        complete = present.all(axis=1) & rows
        if np.count_nonzero(complete) >= LEAST_COMPLETE:  # arms of all views are less sure of rows that lack some
            of_groups = None if data.groups is None else data.groups[complete]
            all_views = _fit_rows(
                by_class(result.values[complete]), targets[complete], data.weights[complete], of_groups
            )
        groups = None if data.groups is None else data.groups[rows]
        effect = _design_effect(by_class(result.values[rows]), targets[rows], data.weights[rows], groups)
        counted = CountedViews(result, arms, present, result.filled, data.weights * rows, effect)
    calibrations = [all_views]
    for pattern in patterns:
        if counted is None:
            values, some = _values_of_pattern(pattern, result, arms, present)
            some = some[rows[some]]
            values, weights = values[some], data.weights[some]
        else:
            values, some, weights = counted.of_pattern(pattern)
        if len(some):
            known.append(pattern)
            groups = None if data.groups is None else data.groups[some]
            calibrations.append(_fit_rows(by_class(values), targets[some], weights, groups))
    slopes = np.array([calibration.slope for calibration in calibrations])
    # The prior is one for all patterns: which views a row has says nothing of its class.
    intercepts = np.array([calibration.slope * calibration.shifts for calibration in calibrations]) + full.log_shares
    factors = None if counted is None else counted.factors[np.sum(known, axis=1)]
    return PatternCalibration(np.array(known), slopes, intercepts, full.log_shares, factors)


def _values_of_pattern(
    pattern: BoolArray, result: "PassResult", arms: Sequence[Arm], present: BoolArray
) -> tuple[FloatArray, IntArray]:
    """Return values of the arms of single views of a pattern, and the rows that have some of these."""
    left = [number for number, arm in enumerate(arms) if result.weights[number] > 0 and _is_in(arm, pattern)]
    if not left:
        return result.values, np.empty(0, dtype=np.intp)
    values, covered = weighted_sum(result.arm_values[left], result.weights[left])
    # As in predictions: those that are left stand for the others.
    values = values * result.weights.sum() / result.weights[left].sum()
    return values, np.flatnonzero(covered & (present & pattern).any(axis=1))


def _is_in(arm: Arm, pattern: BoolArray) -> bool:
    """Return whether an arm is of a single view, and that in a pattern."""
    return arm.view is not None and bool(pattern[arm.view])


def _fit(
    values: FloatArray, posterior: FloatArray, data: TrainingData, among: BoolArray | None = None
) -> SoftmaxCalibration:
    """Fit a calibration on some of the rows, with as much evidence as their groups provide."""
    rows = np.arange(len(values)) if among is None else np.flatnonzero(among)
    groups = None if data.groups is None else data.groups[rows]
    return _fit_rows(values[rows], posterior[rows], data.weights[rows], groups)


def _fit_rows(
    values: FloatArray, posterior: FloatArray, weights: FloatArray, groups: IntArray | None
) -> SoftmaxCalibration:
    """Fit a calibration on rows, or as many of them as it needs."""
    rows = _subsample(np.arange(len(values)))
    values, posterior, weights = values[rows], posterior[rows], weights[rows]
    groups = None if groups is None else groups[rows]
    return fit_calibration(values, posterior, weights, _design_effect(values, posterior, weights, groups))


def _subsample(rows: IntArray) -> IntArray:
    """Return as many of the rows as a calibration needs."""
    if len(rows) <= MOST_ROWS:
        return rows
    return np.sort(np.random.default_rng(len(rows)).permutation(rows)[:MOST_ROWS])


def _design_effect(values: FloatArray, posterior: FloatArray, weights: FloatArray, groups: IntArray | None) -> float:
    """Return how many rows of groups tell as much of a calibration as an independent one; see `design_effect`."""
    if groups is None:
        return 1.0
    # Without shifts, which would make groups add up to nothing, and about the mean, which is what shifts are for.
    errors = weights[:, None] * (posterior - np.exp(fit_slope(values, posterior, weights).log_probabilities(values)))
    return design_effect(errors - errors.mean(axis=0), groups)


def design_effect(errors: FloatArray, groups: IntArray | None) -> float:
    """Return how many rows of groups tell as much as an independent one (Kish): the ratio of the variance of sums over
    groups to that of sums over independent rows. Errors are of shape (n_rows, n_columns), with a mean of 0."""
    if groups is None:
        return 1.0
    n_groups = np.count_nonzero(np.bincount(groups))
    if n_groups == 1:
        return float(len(groups))
    sums = np.array([np.bincount(groups, column) for column in errors.T])
    total = (errors**2).sum()
    return max(1.0, float((sums**2).sum() / total * n_groups / (n_groups - 1))) if total > 0 else 1.0


def patterns_of_views(present: BoolArray, *, observed_only: bool = False, most: int = MOST_PATTERNS) -> list[BoolArray]:
    """Return views that may be present, other than all of them: without each, each alone, and as in the rows."""
    n_views = present.shape[1]
    if observed_only:
        return _observed_patterns(present, most)
    single = np.eye(n_views, dtype=bool)
    distinct = np.unique(np.vstack([~single, single, *_observed_patterns(present, most)]), axis=0)
    return [pattern for pattern in distinct if pattern.any() and not pattern.all()]


def _observed_patterns(present: BoolArray, most: int) -> list[BoolArray]:
    """Return views that rows have, other than all of them, the most frequent first."""
    observed, counts = np.unique(present, axis=0, return_counts=True)
    observed = observed[np.argsort(-counts, kind="stable")][:most]
    return [pattern for pattern in observed if pattern.any() and not pattern.all()]


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
    first: "PassResult",
    last: "PassResult",
    arms: Sequence[Arm],
    data: TrainingData,
    class_weight: ClassWeight,
    most: int = MOST_PATTERNS,
) -> Assessment:
    """Assess a fusion by the labels as given (where columns differ, the most frequent one), with `most` patterns.

    The labels that the second pass learns depend a little on every label: only the first has a fair score.
    """
    metric, log_prior = metric_of(class_weight), first.calibration.log_shares
    log_weights = np.log(decision_weights(class_weight, data.classes, np.exp(log_prior)))
    codes = data.votes().argmax(axis=1)
    logits = out_of_fold_logits(first, arms, data, most)
    scores = scores_of(codes, logits, log_weights)
    importances = importances_of_views(arms, last.weights, last.arm_values, len(data.names))
    offsets = log_prior + log_weights
    arm_scores = [arm_score(metric, codes, values, data.weights, offsets) for values in last.arm_values]
    return Assessment(metric, scores, np.array(arm_scores), importances)


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
    predicted = ties_for_largest(logits + log_weights).argmax(axis=1)
    scores = {metric: score_of(metric, codes, predicted) for metric in (ACCURACY, BALANCED_ACCURACY)}
    probabilities = softmax(logits, axis=1)
    given = np.unique(codes)
    if len(given) < 2:
        return scores
    from sklearn.metrics import roc_auc_score

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
