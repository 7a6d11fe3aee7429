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
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fuselearn.classifiers.cross_fitting import deal_folds, groups_among
from fuselearn.data.training_data import RegressionData
from fuselearn.exceptions import InterruptedFitWarning
from fuselearn.fusion.arm_weights import combine, fill_gaps, weighted_sum
from fuselearn.fusion.base_models import Arm, FittedModel
from fuselearn.fusion.base_models.catalogue import Learners, make_arms
from fuselearn.fusion.calibration_and_scores import importances_of_views, patterns_of_views
from fuselearn.fusion.passes import ArmRuns, Budget, Report
from fuselearn.fusion.pattern_fits import (
    LINE_PRIOR,
    NearestCalibration,
    PatternFit,
    PatternFits,
    PatternValues,
    calibration_of,
    fit_line,
    intervals_of,
)
from fuselearn.fusion.prediction_intervals import (
    LEAST_ROWS,
    PredictionIntervals,
    SpreadRows,
    fit_spread,
    log_sizes,
    weighted_quantiles,
)
from fuselearn.fusion.target_outliers import TargetOutliers, judge_targets
from fuselearn.numeric.exact_sums import exact_mean
from fuselearn.numeric.execution import Threads
from fuselearn.typing import BoolArray, FloatArray, IntArray

LEAST_BELIEF = 1e-6
"""Weight of a row whose target is an outlier for certain."""
WORSE = 0.5
"""Standard errors by which squared errors may be larger after a second pass."""
STRENGTHS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
"""Shrinkage of weights to the plain average; the best one counts. A number tells more of its row than a class does:
the classifier's caution, which keeps weights equal unless others are clearly better, costs 0.3 to 2.8 points of R² on
sets of 600 and 1,000 rows, and gains nothing on diabetes."""
SIZE_LEARNERS: Learners = {"linear": "linear", "trees": "trees"}
"""Learners of the size of residuals: quick ones, of which one or the other found noise that grows with a column, in its
square or in a step, in 300 rows; kernels added nothing."""


@dataclass(frozen=True)
class TargetScale:
    """Mean of a target, and its standard deviation, by the weights of rows."""

    mean: float
    unit: float

    @classmethod
    def of(cls, target: FloatArray, weights: FloatArray) -> "TargetScale":
        """Return the scale of a target; the unit of one that does not vary is 1."""
        size = float(np.abs(target).max()) or 1.0  # squares of very large or small numbers are none
        scaled = target / size
        mean = float(weights @ scaled / weights.sum())
        unit = float(np.sqrt(weights @ (scaled - mean) ** 2 / weights.sum()))
        return cls(mean * size, unit * size if unit > 1e-12 else 1.0)


@dataclass(frozen=True)
class OutOfFold:
    """What is predicted of the training rows out of fold, in units of the target; all of shape (n_rows,).

    Attributes
    ----------
    predicted : ndarray
        By weights that were found on the rows of other folds.
    disagreement : ndarray
        Weighted standard deviation of the values of the arms.
    missing : ndarray
        Sum of the importances of the views that a row lacks.
    known : bool ndarray
        Rows that have a view that is used.
    sizes : ndarray
        Expected logarithm of the size of the residual; 0 where it was not looked for.
    """

    predicted: FloatArray
    disagreement: FloatArray
    missing: FloatArray
    known: BoolArray
    sizes: FloatArray

    @property
    def spread_rows(self) -> SpreadRows:
        """What the spread of the rows follows from."""
        return SpreadRows(self.predicted, self.disagreement, self.missing, self.sizes)


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
) -> RegressionResult:
    """Fit a regression on few rows."""
    row_weights = data.weights / exact_mean(data.weights)

    def run(weights: FloatArray) -> tuple[RegressionPass, RegressionPass | None]:
        fitted = _run(data, learners, weights, seed, budget, threads, report)
        sizes = None
        if not fitted.interrupted:
            sizes = _run_on_sizes(fitted, data, weights, seed, budget, threads)
        return fitted, sizes

    def judged(rows: OutOfFold, sizes: RegressionPass | None) -> TargetOutliers:
        return judge_residuals(data.target, with_sizes(rows, sizes.rows if sizes else None), row_weights, data.blocks.present)

    last, sizes = run(row_weights)
    n_fits = last.n_fits + (0 if sizes is None else sizes.n_fits)
    outliers = judged(last.rows, sizes)
    # A second pass takes as long as the first one; half of it would be of no use.
    in_time = budget.fits_left() >= n_fits and budget.seconds_left() >= budget.seconds_used()
    if outliers.share > 0 and in_time and not last.interrupted:
        believed = row_weights * np.maximum(1 - outliers.probabilities, LEAST_BELIEF)
        second, second_sizes = run(believed / believed.mean())
        n_fits += second.n_fits + (0 if second_sizes is None else second_sizes.n_fits)
        passes = second.rows.predicted, last.rows.predicted
        no_worse = is_no_worse(data.target, *passes, row_weights, outliers.probabilities)
        if no_worse and not second.interrupted:
            last, sizes = second, second_sizes
            outliers = judged(last.rows, sizes)
        else:
            outliers = TargetOutliers(0.0, np.zeros(len(data)))
    if last.interrupted:
        warnings.warn(
            f"Interrupted: the model has the {sum(map(len, last.models))} fits that were done.",
            InterruptedFitWarning,
            stacklevel=3,
        )
    clean = row_weights * (1 - outliers.probabilities)
    result = _result(last, data, clean, outliers, sizes)
    return replace(result, n_fits=n_fits)


def with_sizes(rows: OutOfFold, sizes: OutOfFold | None) -> OutOfFold:
    """Return rows with the sizes of residuals that are expected of them."""
    return rows if sizes is None else replace(rows, sizes=sizes.predicted)


def sizes_of(rows: OutOfFold, target: FloatArray, weights: FloatArray) -> FloatArray:
    """Return logarithms of the sizes of out-of-fold residuals, what is learnt of the spread of rows."""
    sizes = np.where(rows.known, np.abs(target - rows.predicted), 0.0)
    known = rows.known if rows.known.any() else np.ones(len(target), dtype=bool)
    typical = float(weighted_quantiles(sizes[known], weights[known], np.array([0.5]))[0])
    logs = log_sizes(sizes, max(typical, 1e-9 * TargetScale.of(target, weights).unit, np.finfo(float).tiny))
    return np.where(known, logs, np.average(logs[known], weights=weights[known]))


def judge_residuals(target: FloatArray, rows: OutOfFold, weights: FloatArray, present: BoolArray) -> TargetOutliers:
    """Judge targets by the residuals of rows, each over the spread that is expected of it by its views and value."""
    residuals = np.where(rows.known, target - rows.predicted, 0.0)
    known, probabilities = rows.known, np.zeros(len(target))
    if not known.any():
        return TargetOutliers(0.0, probabilities)
    unit = TargetScale.of(target, weights).unit
    of_rows = rows.spread_rows.among(known)
    scaled = residuals[known] / fit_spread(of_rows, residuals[known], weights[known], unit)(of_rows)
    # Rows that lack views are predicted less well; theirs are no outliers.
    _, pattern_of = np.unique(present[known], axis=0, return_inverse=True)
    typical = np.median(np.abs(scaled)) or 1.0
    for pattern in np.unique(pattern_of):
        own = np.ravel(pattern_of) == pattern
        n_own = np.count_nonzero(own)
        scaled[own] /= (n_own * np.median(np.abs(scaled[own])) + LINE_PRIOR * typical) / (n_own + LINE_PRIOR)
    judged = judge_targets(scaled, weights[known])
    probabilities[known] = judged.probabilities
    return TargetOutliers(judged.share, probabilities)


def is_no_worse(
    target: FloatArray, second: FloatArray, first: FloatArray, weights: FloatArray, suspected: FloatArray
) -> bool:
    """Return whether squared errors are not clearly larger after a second pass than after the first.

    Targets in the tail of an honest distribution are predicted better by a first pass, which learnt from them. Outliers
    are not: they pull all predictions towards their mean. So the errors of suspected rows (their probabilities to be
    outliers) are taken about the mean of these errors, which forgives a pass that is not pulled.
    """
    unit = TargetScale.of(target, weights).unit
    losses = []
    for predicted in (second, first):
        errors = (target - predicted) / unit
        shift = np.average(errors, weights=weights * suspected) if np.any(weights * suspected > 0) else 0.0
        losses.append(weights * ((1 - suspected) * errors**2 + suspected * (errors - shift) ** 2))
    excess = losses[0] - losses[1]
    return bool(excess.mean() <= WORSE * excess.std() / np.sqrt(len(excess)))


def explained_share(targets: FloatArray, values: FloatArray, weights: FloatArray) -> float:
    """Return R² of values of shape (n_rows, 1), on the rows that have one; NaN where none has."""
    known = ~np.isnan(values[:, 0])
    if not known.any():
        return np.nan
    t, v, u = targets[known, 0], values[known, 0], weights[known]
    mean = u @ t / u.sum()
    total = float(u @ (t - mean) ** 2)
    return 1 - float(u @ (t - v) ** 2) / total if total > 0 else 0.0


def disagreement_of(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted standard deviation of values of arms, of shape (n_arms, n_rows); NaN where one abstains."""
    shares = np.where(np.isnan(values), 0.0, weights[:, None])
    totals = np.maximum(shares.sum(axis=0), np.finfo(float).tiny)
    known = np.nan_to_num(values)
    means = (shares * known).sum(axis=0) / totals
    return np.sqrt((shares * (known - means) ** 2).sum(axis=0) / totals)


def _run_on_sizes(
    last: RegressionPass,
    data: RegressionData,
    row_weights: FloatArray,
    seed: int,
    budget: Budget,
    threads: Threads,
) -> RegressionPass | None:
    """Fit a small fusion to the sizes of residuals; None where rows are few, or the budget."""
    n_wanted = len(SIZE_LEARNERS) * (len(data.names) + 1)
    if len(data) < LEAST_ROWS or budget.fits_left() < n_wanted or budget.seconds_left() <= 0:
        return None
    sizes = replace(data, target=sizes_of(last.rows, data.target, row_weights))
    return _run(sizes, SIZE_LEARNERS, row_weights, seed, budget, threads, None)


def _run(
    data: RegressionData,
    learners: Learners,
    row_weights: FloatArray,
    seed: int,
    budget: Budget,
    threads: Threads,
    report: Report | None,
) -> RegressionPass:
    """Fit the arms, and weigh them."""
    scale = TargetScale.of(data.target, row_weights)
    targets = ((data.target - scale.mean) / scale.unit)[:, None]
    arms = make_arms(data.blocks, learners, row_weights, data.groups, None, seed)
    runs = ArmRuns(arms, row_weights, data.groups, threads, seed, budget, False, report)
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
    return OutOfFold(
        scale.mean + scale.unit * predicted, scale.unit * disagreement, missing, known, np.zeros(n_rows)
    )


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


def calibrated(
    data: RegressionData,
    rows: OutOfFold,
    fits: PatternFits,
    scale: TargetScale,
    offset: float,
    importances: FloatArray,
    clean: FloatArray,
    size_fits: PatternFits | None,
    size_scale: TargetScale | None,
) -> tuple[NearestCalibration, PredictionIntervals]:
    """Return lines and intervals of patterns of views, the first of all views.

    Parameters
    ----------
    data : RegressionData
    rows : OutOfFold
    fits, size_fits : PatternFits
        Of the target, and of the sizes of residuals.
    scale, size_scale : TargetScale
        Of these two.
    offset : float
        See `calibration_of`.
    importances : ndarray of shape (n_views,)
    clean : ndarray of shape (n_rows,)
        Weights of rows as far as their targets are believed.
    """
    known = rows.known & (clean > 0)
    everything = np.ones(data.blocks.present.shape[1], dtype=bool)
    residuals = data.target - rows.predicted
    if known.any():
        counted = fits.counted(np.flatnonzero(known), clean[known])
        spread = fit_spread(rows.spread_rows.among(known), residuals[known], counted, scale.unit)
    else:
        spread = fit_spread(rows.spread_rows, residuals, clean, scale.unit)

    def spread_rows_of(fit: PatternFit) -> SpreadRows:
        sizes = np.zeros(len(fit.rows))
        if size_fits is not None and size_scale is not None and spread.reads_sizes:
            of_sizes = size_fits(fit.views)
            sizes += size_scale.mean
            if of_sizes is not None:
                sizes += size_scale.unit * of_sizes.predicted
        return SpreadRows(
            scale.mean + scale.unit * fit.predicted,
            scale.unit * fit.disagreement,
            np.full(len(fit.rows), float(importances[~fit.views].sum())),
            sizes,
        )

    first = fits(everything)
    if first is None:
        nothing = np.empty(0)
        first = PatternFit(everything, 1.0, 0.0, np.empty(0, dtype=np.intp), nothing, nothing, nothing)
    listed = [first, *fits.listed()]
    calibration = calibration_of(listed, scale.mean, scale.unit, offset, importances)
    about_mean = data.target - scale.mean
    scaled = np.where(known if known.any() else True, residuals / spread(rows.spread_rows), 0.0)
    intervals = intervals_of(
        calibration.patterns,
        fits,
        spread,
        spread_rows_of,
        data.target,
        (about_mean, clean),
        (scaled, np.where(known, clean, 0.0) if known.any() else clean),
    )
    return calibration, intervals


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
