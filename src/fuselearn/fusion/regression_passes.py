"""The fit of a regression on few rows: arms, their weights, lines for each pattern of views, and a second pass.

Targets are about their mean, in units of their spread, and all arms minimise squares. Values of the arms are combined
as those of a classifier are (`arm_weights`). Where out-of-fold residuals tell of gross outliers in the target, a second
pass counts each row by the probability of its target not to be one. It is kept if the squared errors of all rows,
outliers included, are not clearly larger: what was learnt without outliers is nearer to the mean of all, while tails
that are no errors are missed.

After each pass a small fusion is fitted to the logarithm of the size of the residuals. What it predicts out of fold is
the scale by which residuals are judged, and by which intervals differ between rows: noise that is wide in some part of
the rows is no outlier there.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np

from fuselearn.classifiers.cross_fitting import deal_folds, groups_among
from fuselearn.data.training_data import RegressionData
from fuselearn.exceptions import InterruptedFitWarning
from fuselearn.fusion.arm_weights import combine, fill_gaps, weighted_sum
from fuselearn.fusion.base_models import Arm, FittedModel
from fuselearn.fusion.base_models.catalogue import Learners, make_arms
from fuselearn.fusion.budget import Budget, FewRowsPlan
from fuselearn.fusion.calibration_and_scores import patterns_of_views
from fuselearn.fusion.fusion_log import FusionLog, StageLog
from fuselearn.fusion.fusion_options import Report
from fuselearn.fusion.importances_of_views import importances_of_views
from fuselearn.fusion.passes import ArmRuns
from fuselearn.fusion.pattern_fits import NearestCalibration, PatternFits, PatternValues, fit_line
from fuselearn.fusion.prediction_intervals import LEAST_ROWS, PredictionIntervals
from fuselearn.fusion.regression_residuals import (
    LEAST_BELIEF,
    OutOfFold,
    TargetScale,
    calibrated,
    disagreement_of,
    explained_share,
    is_no_worse,
    judge_residuals,
    sizes_of,
    with_sizes,
)
from fuselearn.fusion.target_outliers import TargetOutliers
from fuselearn.numeric.exact_sums import exact_mean
from fuselearn.numeric.threads import Threads
from fuselearn.typing import BoolArray, FloatArray, IntArray

STRENGTHS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
"""Shrinkage of weights to the plain average; the best one counts. A number tells more of its row than a class does:
the classifier's caution, which keeps weights equal unless others are clearly better, costs 0.3 to 2.8 points of R² on
sets of 600 and 1,000 rows, and gains nothing on diabetes."""
SIZES = "the size of residuals"
"""How a warning calls what learns it."""
SIZE_LEARNERS: Learners = {"linear": "linear", "trees": "trees"}
"""Learners of the size of residuals: quick ones, of which one or the other found noise that grows with a column, in its
square or in a step, in 300 rows; kernels added nothing."""


@dataclass(frozen=True)
class RegressionResult:
    """A fitted regression, and what out-of-fold values say of it.

    Attributes
    ----------
    arms : list of (view number or None, view name, learner, columns)
    models : list of list
        Fitted models of each arm.
    weights : ndarray of shape (n_arms,)
    learnt : intp ndarray of shape (n_arms,)
        Rows that each arm learnt from.
    arm_fits : intp ndarray of shape (n_arms,)
        Number of models that each arm had; on many rows, those of arms without weight are not kept.
    complete_only : bool ndarray of shape (n_arms,)
        Whether an arm of all views has a value for complete rows only.
    calibration : NearestCalibration
        Lines from combined values to numbers in units of `y`.
    intervals : PredictionIntervals
    rows : OutOfFold
    outliers : TargetOutliers
    arm_scores : ndarray of shape (n_arms,)
        R² of each arm alone.
    importances : ndarray of shape (n_views,)
    n_fits : int
    sizes : RegressionResult or None
        What is fitted to the sizes of residuals, where intervals follow from it.
    """

    arms: list[tuple[int | None, str, str, IntArray]]
    models: list[list[FittedModel]]
    weights: FloatArray
    learnt: IntArray
    arm_fits: IntArray
    complete_only: BoolArray
    calibration: NearestCalibration
    intervals: PredictionIntervals
    rows: OutOfFold
    outliers: TargetOutliers
    arm_scores: FloatArray
    importances: FloatArray
    n_fits: int
    sizes: "RegressionResult | None"


@dataclass(frozen=True)
class RegressionPass:
    """One pass over the arms; values are in units of the target's spread, about its mean."""

    arms: list[Arm]
    models: list[list[FittedModel]]
    scale: TargetScale
    weights: FloatArray
    row_weights: FloatArray
    arm_values: FloatArray
    scored_values: FloatArray
    rows: OutOfFold
    importances: FloatArray
    n_fits: int
    interrupted: bool


def fit_few_rows(
    data: RegressionData,
    learners: Learners,
    seed: int,
    budget: Budget,
    threads: Threads,
    report: Report | None = None,
    log: FusionLog | None = None,
) -> RegressionResult:
    """Fit a regression on few rows."""
    row_weights = data.weights / exact_mean(data.weights)

    def run(weights: FloatArray) -> tuple[RegressionPass, RegressionPass | None]:
        fitted = _run(data, learners, weights, seed, budget, threads, report, log)
        if fitted.interrupted:
            return fitted, None
        try:
            sizes = _run_on_sizes(fitted, data, weights, seed, budget, threads, log)
        except KeyboardInterrupt:
            return replace(fitted, interrupted=True), None
        is_cut = sizes is not None and sizes.interrupted
        return (replace(fitted, interrupted=True) if is_cut else fitted), sizes

    last, sizes, outliers, n_fits = run_twice(data, row_weights, run, budget)
    if last.interrupted:
        warnings.warn(
            f"Interrupted: the model has the {sum(map(len, last.models))} fits that were done.",
            InterruptedFitWarning,
            stacklevel=3,
        )
    clean = row_weights * (1 - outliers.probabilities)
    result = _result(last, data, clean, outliers, sizes)
    return replace(result, n_fits=n_fits)


class Pass(Protocol):
    """What a pass tells of the rows, whatever it is by."""

    @property
    def rows(self) -> OutOfFold:
        """What is predicted of the rows out of fold."""

    @property
    def n_fits(self) -> int:
        """Number of fits."""

    @property
    def interrupted(self) -> bool:
        """Whether the user interrupted it."""


AnyPass = TypeVar("AnyPass", bound=Pass)


def run_twice(
    data: RegressionData,
    row_weights: FloatArray,
    run: Callable[[FloatArray], tuple[AnyPass, AnyPass | None]],
    budget: Budget,
) -> tuple[AnyPass, AnyPass | None, TargetOutliers, int]:
    """Run a pass and, where there are gross outliers, another one that believes these less; return the better one.

    Parameters
    ----------
    data : RegressionData
    row_weights : ndarray of shape (n_rows,)
    run : callable
        Fits a pass, and one on the sizes of its residuals, given weights of rows.
    budget : Budget

    Returns
    -------
    last, sizes : passes
        The one that is kept, and that on the sizes of its residuals.
    outliers : TargetOutliers
    n_fits : int
        Fits of all of them.
    """

    def judged(fitted: AnyPass, sizes: AnyPass | None) -> TargetOutliers:
        rows = with_sizes(fitted.rows, sizes.rows if sizes is not None else None)
        return judge_residuals(data.target, rows, row_weights, data.blocks.present, data.groups)

    last, sizes = run(row_weights)
    n_fits = last.n_fits + (sizes.n_fits if sizes is not None else 0)
    outliers = judged(last, sizes)
    # A second pass takes as long as the first one; half of it would be of no use.
    in_time = budget.fits_left() >= n_fits and budget.seconds_left() >= budget.seconds_used()
    if outliers.share > 0 and in_time and not last.interrupted:
        believed = row_weights * np.maximum(1 - outliers.probabilities, LEAST_BELIEF)
        try:
            second, second_sizes = run(believed / believed.mean())
        except KeyboardInterrupt:
            return replace(last, interrupted=True), sizes, outliers, n_fits  # type: ignore[type-var]
        n_fits += second.n_fits + (second_sizes.n_fits if second_sizes is not None else 0)
        if second.interrupted:
            return replace(last, interrupted=True), sizes, outliers, n_fits  # type: ignore[type-var]
        passes = second.rows.predicted, last.rows.predicted
        no_worse = is_no_worse(data.target, *passes, row_weights, outliers.probabilities, data.groups)
        if no_worse:
            last, sizes = second, second_sizes
            outliers = judged(last, sizes)
        else:
            outliers = TargetOutliers(0.0, np.zeros(len(data)))
    return last, sizes, outliers, n_fits


def _run_on_sizes(
    last: RegressionPass,
    data: RegressionData,
    row_weights: FloatArray,
    seed: int,
    budget: Budget,
    threads: Threads,
    log: FusionLog | None,
) -> RegressionPass | None:
    """Fit a small fusion to the sizes of residuals; None where rows are few, or the budget."""
    n_wanted = len(SIZE_LEARNERS) * (len(data.names) + 1)
    if len(data) < LEAST_ROWS or budget.fits_left() < n_wanted:
        return None
    if budget.seconds_left() <= 0:
        budget.leave_out(SIZES)
        return None
    sizes = replace(data, target=sizes_of(last.rows, data.target, row_weights))
    with budget.about(SIZES):
        return _run(sizes, SIZE_LEARNERS, row_weights, seed, budget, threads, None, log)


def _run(
    data: RegressionData,
    learners: Learners,
    row_weights: FloatArray,
    seed: int,
    budget: Budget,
    threads: Threads,
    report: Report | None,
    log: FusionLog | None,
) -> RegressionPass:
    """Fit the arms, and weigh them."""
    scale = TargetScale.of(data.target, row_weights)
    targets = ((data.target - scale.mean) / scale.unit)[:, None]
    plan = FewRowsPlan(budget)
    arms = make_arms(data.blocks, learners, row_weights, data.groups, None, seed, plan=plan)
    stage = None if log is None else StageLog(log, data.target, row_weights)
    runs = ArmRuns(arms, row_weights, data.groups, threads, seed, plan, False, report, stage)
    fits = runs.first_pass(targets)
    arm_values, scored = runs.out_of_fold(fits, 1), runs.scored(fits, 1)
    weights = _weights(arm_values, targets, row_weights, data.groups)
    importances = importances_of_views(arms, weights, arm_values, len(data.names))
    rows = _out_of_fold(scored, targets, row_weights, data, scale, ~data.blocks.present @ importances)
    models = [[fit.model for fit in arm_fits.values()] for arm_fits in fits]
    return RegressionPass(
        arms, models, scale, weights, row_weights, arm_values, scored, rows, importances, runs.n_fits, runs.interrupted
    )


def _weights(
    arm_values: FloatArray, targets: FloatArray, row_weights: FloatArray, groups: IntArray | None
) -> FloatArray:
    """Return weights of the arms that were fitted, and 0 for others."""
    tried = ~np.isnan(arm_values[:, :, 0]).all(axis=1)
    weights = np.zeros(len(arm_values))
    values = fill_gaps(arm_values[tried])
    combination = combine(values, targets, row_weights, groups=groups, strengths=STRENGTHS, standard_errors=0.0)
    weights[tried] = combination.weights
    return weights


def _out_of_fold(
    values: FloatArray,
    targets: FloatArray,
    row_weights: FloatArray,
    data: RegressionData,
    scale: TargetScale,
    missing: FloatArray,
) -> OutOfFold:
    """Return what is predicted of each row with weights, and lines, of the rows of other folds."""
    n_rows, present = len(data), data.blocks.present
    predicted, disagreement, known = np.zeros(n_rows), np.zeros(n_rows), np.zeros(n_rows, dtype=bool)
    _, fold_of = deal_folds(n_rows, data.groups)
    views = [np.ones(present.shape[1], dtype=bool), *patterns_of_views(present, observed_only=True)]
    for fold in np.unique(fold_of):
        held_out = fold_of == fold
        others = ~held_out if not held_out.all() else held_out
        groups = None if data.groups is None else groups_among(data.groups, others)
        weights = _weights(values[:, others], targets[others], row_weights[others], groups)
        sums, covered = weighted_sum(values, weights)
        sums = sums[:, 0]
        for pattern in views[1:]:
            own = (present == pattern).all(axis=1)
            slope, intercept = fit_line(sums[own & others], targets[own & others, 0], row_weights[own & others])
            sums[own] = slope * sums[own] + intercept
        predicted[held_out], known[held_out] = sums[held_out], covered[held_out]
        disagreement[held_out] = disagreement_of(values[:, held_out, 0], weights)
    return OutOfFold(scale.mean + scale.unit * predicted, scale.unit * disagreement, missing, known, np.zeros(n_rows))


def _result(
    last: RegressionPass,
    data: RegressionData,
    clean: FloatArray,
    outliers: TargetOutliers,
    sizes: RegressionPass | None,
) -> RegressionResult:
    """Return lines and intervals of all patterns of views, and what out-of-fold values say."""
    fits, size_fits = _pattern_fits(last, data, clean), None
    rows, of_sizes = with_sizes(last.rows, sizes.rows if sizes else None), None
    if sizes is not None:
        size_data = replace(data, target=sizes_of(last.rows, data.target, last.row_weights))
        size_fits = _pattern_fits(sizes, size_data, clean)
    calibration, intervals = calibrated(
        data, rows, fits, last.scale, 0.0, last.importances, clean, size_fits, sizes.scale if sizes else None
    )
    if sizes is not None and intervals.spread.reads_sizes:
        of_sizes = _result(sizes, size_data, clean, TargetOutliers(0.0, np.zeros(len(data))), None)
    targets = ((data.target - last.scale.mean) / last.scale.unit)[:, None]
    return RegressionResult(
        [(arm.view, arm.view_name, arm.learner, arm.columns) for arm in last.arms],
        last.models,
        last.weights,
        np.array([arm.n_learnt for arm in last.arms]),
        np.array([len(models) for models in last.models]),
        np.ones(len(last.arms), dtype=bool),
        calibration,
        intervals,
        rows,
        outliers,
        np.array([explained_share(targets, values, clean) for values in last.arm_values]),
        last.importances,
        last.n_fits,
        of_sizes,
    )


def _pattern_fits(last: RegressionPass, data: RegressionData, clean: FloatArray) -> PatternFits:
    """Return fits of patterns of views by the out-of-fold values of a pass."""
    present, scale, rows = data.blocks.present, last.scale, last.rows
    total = last.weights.sum()

    def values_of(views: BoolArray) -> PatternValues | None:
        having = np.flatnonzero((present | ~views).all(axis=1))
        if views.all():
            having = having[rows.known[having]]
            sums = (rows.predicted[having] - scale.mean) / scale.unit
            return PatternValues(having, sums, rows.disagreement[having] / scale.unit)
        left = _arms_left(last.arms, last.weights, views)
        if not left or not len(having):
            return None
        values, weights = last.scored_values[left][:, having], last.weights[left]
        sums, covered = weighted_sum(values, weights)
        # As in predictions: those that are left stand for the others.
        sums = sums[covered, 0] * (total / weights.sum())
        return PatternValues(having[covered], sums, disagreement_of(values[:, covered, 0], weights))

    targets = (data.target - scale.mean) / scale.unit
    _, fold_of = deal_folds(len(data), data.groups)
    return PatternFits(values_of, present, targets, clean, fold_of, data.groups, all_fit=True)


def _arms_left(arms: Sequence[Arm], weights: FloatArray, pattern: BoolArray) -> list[int]:
    """Return the arms with weight that have a value for a row with some views only."""
    return [
        number for number, arm in enumerate(arms) if arm.view is not None and pattern[arm.view] and weights[number] > 0
    ]
