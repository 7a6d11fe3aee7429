"""The fit of a regression on many rows in memory, by the sums over blocks that a fusion of classes is fitted by.

Arms, their order and their trial are those of `arm_fitting`; what is minimised are squares instead of the log loss. As
on few rows, there is a second pass where residuals tell of gross outliers in the target.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from fuselearn.backends.partitioned.partitions import LocalPartitions
from fuselearn.backends.partitioned.storage import ArrayStore
from fuselearn.classifiers.regressors import fit_regressor
from fuselearn.data.folds import Folds
from fuselearn.data.training_data import RegressionData
from fuselearn.fusion.arm_fitting import LEAST_RISE, SUBSAMPLE_ROWS, ArmFitting
from fuselearn.fusion.base_models import FittedModel
from fuselearn.fusion.base_models.boosted_trees import BoostedTreesArms, local_gradient_data
from fuselearn.fusion.base_models.catalogue import Learners
from fuselearn.fusion.base_models.cross_fitted_regressors import CrossFittedRegressors
from fuselearn.fusion.base_models.forests import ForestRows, column_means
from fuselearn.fusion.base_models.subsampled_models import ArmRows
from fuselearn.fusion.fusion_log import FusionLog, StageLog
from fuselearn.fusion.fusion_options import FusionOptions, n_folds_of
from fuselearn.fusion.fusion_rows import FusionBlock, FusionFrame, draw_rows
from fuselearn.fusion.fusion_run import LEAST_PATTERN_ROWS, importances_of_arms
from fuselearn.fusion.local_fusion import BLOCK_ROWS, boosting_arms
from fuselearn.fusion.log_loss_weights import FittedArms, Penalty, Stack, Weighing, weigh, weigh_and_drop, without_folds
from fuselearn.fusion.pattern_fits import PatternFits, PatternValues
from fuselearn.fusion.pattern_values import listed_patterns, out_of_fold_values
from fuselearn.fusion.prediction_sets import ENOUGH_ROWS
from fuselearn.fusion.regression_passes import SIZES, RegressionResult, run_twice
from fuselearn.fusion.regression_residuals import (
    OutOfFold,
    TargetScale,
    calibrated,
    disagreement_of,
    explained_share,
    sizes_of,
    with_sizes,
)
from fuselearn.fusion.target_outliers import TargetOutliers
from fuselearn.fusion.time_plan import TimePlan
from fuselearn.numeric.exact_sums import exact_mean
from fuselearn.numeric.threads import Threads
from fuselearn.typing import BoolArray, Classifier, FloatArray, IntArray

SIZE_LEARNERS: Learners = {"linear": "linear", "boosting": "boosting"}
"""Learners of the size of residuals."""
MOST_MASKED_NUMBERS, LEAST_MASKED_ROWS, MOST_MASKED_ROWS = 2**17, 512, 4096
"""Rows of which values with fewer views are computed: so many over all patterns, and limits for each."""
FEWEST_MASKED_ROWS = 128
"""Such rows where a time limit leaves no time for more."""


class RegressionBlock(FusionBlock):
    """Rows whose targets are numbers, about their mean and in units of their spread; see `FusionBlock`.

    Parameters
    ----------
    frame, table, present, weights, fold_of, first_row
        As for `FusionBlock`.
    target : ndarray of shape (n_rows,)
        The targets.
    """

    def __init__(
        self,
        frame: FusionFrame,
        table: FloatArray,
        present: BoolArray,
        target: FloatArray,
        weights: FloatArray,
        fold_of: IntArray,
        first_row: int,
    ) -> None:
        store = ArrayStore()
        super().__init__(
            frame, table, present, np.zeros((len(table), 1), dtype=np.int32), weights, fold_of, first_row, store
        )
        store.put("target", target[:, None])

    def targets(self, rows: slice, *, judged: bool = False) -> FloatArray:
        """Return the targets of some rows, of shape (n_rows, 1)."""
        return self._store.get("target")[rows]


class RegressionArmFitting(ArmFitting):
    """Fits the arms of a regression; see `ArmFitting`. Of targets it has a mean of 0, and a loss in squares.

    Parameters
    ----------
    target : ndarray of shape (n_rows,)
        Targets of all rows, for learners that are fitted on a subsample.
    others : as for `ArmFitting`
    """

    target: FloatArray

    @property
    def _target_means(self) -> FloatArray:
        """Means of what the ridges learn."""
        return np.zeros(1)

    def _fold_loss(self) -> float:
        """Return the least loss in the first fold, with all arms so far, in units of the noise that they leave."""
        n_rows = max(self._frame.n_rows / self._frame.n_folds, 1.0)
        loss = super()._fold_loss()
        if self._noise is None:
            self._noise = max(2 * loss / n_rows, np.finfo(float).tiny)
        return loss / self._noise

    _noise: float | None = None

    def _weigh_and_drop(self) -> tuple[Weighing, Penalty]:
        """Weigh all arms, and leave out those that hardly lower the loss."""
        start, penalty = self._start(tuple(range(len(self.arms))))
        noise = 2 * weigh(self._losses, start, penalty).loss / self._frame.n_rows
        return weigh_and_drop(self._losses, start, penalty, LEAST_RISE * noise)

    def _models_without_folds(self, learner: str | Classifier, rows: ArmRows) -> Iterator[FittedModel | None]:
        """Yield models of rows of a subsample, without each fold."""
        table, folds = rows.table, rows.folds
        seed = self._options.seed + len(self.arms)
        numbers = draw_rows(self._frame.n_rows, SUBSAMPLE_ROWS, self._options.seed + 2)
        target, weights = self.target[numbers[rows.rows]], rows.taken.weights[rows.rows]
        for fold in range(rows.n_folds):
            others = np.flatnonzero(folds != fold)
            draws = np.random.SeedSequence(seed, spawn_key=(fold,))
            if not len(others):
                yield None
            elif isinstance(learner, str):
                forest = ForestRows(table[others], weights[others], None)
                yield forest.fit(target[others, None], 0, draws).model
            else:
                fitted = fit_regressor(learner, table, target, weights, others, (fold, seed))
                yield CrossFittedRegressors([fitted], column_means(table))


@dataclass(frozen=True)
class _ManyRowsPass:
    """One pass: the arms, their weights, their out-of-fold values in units of the target's spread, and their sums."""

    fitted: FittedArms
    stack: Stack
    scale: TargetScale
    row_weights: FloatArray
    values: FloatArray
    sums: FloatArray
    rows: OutOfFold
    importances: FloatArray
    n_fits: int
    interrupted: bool
    plan: TimePlan


def fit_many_rows(
    data: RegressionData, options: FusionOptions, threads: Threads, log: FusionLog | None = None
) -> RegressionResult:
    """Fit a regression on many rows in memory."""
    started, budget = time.monotonic(), options.budget
    n_folds = n_folds_of(len(data))
    if data.groups is not None:
        n_folds = min(n_folds, int(data.groups.max()) + 1)
    table = data.blocks.views[0].table
    frame = FusionFrame(data.names, data.columns, 1, len(data), n_folds, table.shape[1])
    fold_of = Folds.of(n_folds, options.seed, data.groups).numbers(len(data), groups=data.groups)
    row_weights = data.weights / exact_mean(data.weights)

    def run(weights: FloatArray) -> tuple[_ManyRowsPass, _ManyRowsPass | None]:
        fitted = _run(data, frame, fold_of, weights, options, threads, log)
        n_wanted, seconds = len(SIZE_LEARNERS) * (frame.n_views + 1), time.monotonic() - started
        if fitted.interrupted or budget.fits_left() < n_wanted:
            return fitted, None
        if budget.seconds_left() < seconds:
            budget.leave_out(SIZES)
            return fitted, None
        sizes = replace(data, target=sizes_of(fitted.rows, data.target, weights))
        quiet = replace(options, learners=SIZE_LEARNERS, report=None)
        try:
            with budget.about(SIZES):
                of_sizes = _run(sizes, frame, fold_of, weights, quiet, threads, log)
        except KeyboardInterrupt:
            return replace(fitted, interrupted=True), None
        return (replace(fitted, interrupted=True) if of_sizes.interrupted else fitted), of_sizes

    last, sizes, outliers, n_fits = run_twice(data, row_weights, run, budget)
    clean = row_weights * (1 - outliers.probabilities)
    return replace(_result(data, frame, fold_of, last, outliers, clean, sizes, options.seed), n_fits=n_fits)


def _run(
    data: RegressionData,
    frame: FusionFrame,
    fold_of: IntArray,
    weights: FloatArray,
    options: FusionOptions,
    threads: Threads,
    log: FusionLog | None,
) -> _ManyRowsPass:
    """Fit the arms, and weigh them."""
    scale = TargetScale.of(data.target, weights)
    target = (data.target - scale.mean) / scale.unit
    table, present = data.blocks.views[0].table, data.blocks.present
    parts = [slice(start, start + BLOCK_ROWS) for start in range(0, len(data), BLOCK_ROWS)]
    blocks = [
        RegressionBlock(frame, table[rows], present[rows], target[rows], weights[rows], fold_of[rows], rows.start)
        for rows in parts
    ]
    boosted: list[BoostedTreesArms] = []

    def boosting() -> BoostedTreesArms:
        rows = local_gradient_data(replace(data, target=target), fold_of, weights=weights)
        boosted.append(boosting_arms(rows, len(data), frame.n_folds, options, threads))
        return boosted[0]

    stage = None if log is None else StageLog(log, data.target, weights)
    try:
        fitting = RegressionArmFitting(LocalPartitions(blocks, threads), frame, options, boosting, stage)
        fitting.target = target
        fitted = fitting.run()
    finally:
        for arms in boosted:
            arms.close()
    stack = fitted.weighing.stack
    values = np.empty((len(fitted.arms), len(data)))
    for number, arm in enumerate(fitted.arms):
        values[number] = np.concatenate([block.values(number)[:, 0] for block in blocks])
        values[number, ~arm.having(present)] = np.nan
    used = list(stack.arms)
    known = np.asarray(present.any(axis=1))
    sums = np.empty(len(data))
    for fold, without in enumerate(without_folds(fitted.weighing, fitted.penalty)):
        own = fold_of == fold
        sums[own] = without.weights @ np.nan_to_num(values[used][:, own]) + without.intercepts[0]
    disagreement = disagreement_of(values[used], stack.weights)
    importances = importances_of_arms(fitted.arms, _weights_of_all(fitted), [v[:, None] for v in values], frame)
    rows = OutOfFold(
        scale.mean + scale.unit * np.where(known, sums, 0.0),
        scale.unit * disagreement,
        ~present @ importances,
        known,
        np.zeros(len(data)),
    )
    return _ManyRowsPass(
        fitted,
        stack,
        scale,
        weights,
        values,
        sums,
        rows,
        importances,
        fitting.n_fits,
        fitting.interrupted,
        fitting.plan,
    )


def _weights_of_all(fitted: FittedArms) -> FloatArray:
    """Return the weights of all arms, 0 for those that were left out."""
    stack, weights = fitted.weighing.stack, np.zeros(len(fitted.arms))
    weights[list(stack.arms)] = stack.weights
    return weights


def _result(
    data: RegressionData,
    frame: FusionFrame,
    fold_of: IntArray,
    last: _ManyRowsPass,
    outliers: TargetOutliers,
    clean: FloatArray,
    sizes: _ManyRowsPass | None,
    seed: int,
) -> RegressionResult:
    """Return lines and intervals of patterns of views, and what out-of-fold values say."""
    scale, present = last.scale, data.blocks.present
    targets = (data.target - scale.mean) / scale.unit
    fits, size_fits, of_sizes = _pattern_fits(data, frame, fold_of, last, clean, seed), None, None
    predicted = last.rows.predicted.copy()
    patterns, counts = np.unique(present, axis=0, return_counts=True)
    for pattern in patterns[(counts >= LEAST_PATTERN_ROWS) & patterns.any(axis=1)]:
        fit = fits(pattern)
        assert fit is not None
        own = np.asarray((present == pattern).all(axis=1))
        predicted[own] = scale.mean + scale.unit * (fit.slope * last.sums[own] + fit.intercept)
    rows = with_sizes(replace(last.rows, predicted=predicted), sizes.rows if sizes else None)
    if sizes is not None:
        size_data = replace(data, target=sizes_of(last.rows, data.target, last.row_weights))
        size_fits = _pattern_fits(size_data, frame, fold_of, sizes, clean, seed)
    calibration, intervals = calibrated(
        data,
        rows,
        fits,
        scale,
        float(last.stack.intercepts[0]),
        last.importances,
        clean,
        size_fits,
        sizes.scale if sizes else None,
    )
    if sizes is not None and intervals.spread.reads_sizes:
        nothing = TargetOutliers(0.0, np.zeros(len(data)))
        of_sizes = _result(size_data, frame, fold_of, sizes, nothing, clean, None, seed)
    weights = _weights_of_all(last.fitted)
    arms = last.fitted.arms
    return RegressionResult(
        [(arm.view, arm.view_name, arm.learner, arm.columns) for arm in arms],
        [arm.models if weight > 0 else [] for arm, weight in zip(arms, weights)],
        weights,
        np.array([arm.n_learnt for arm in arms]),
        np.array([len(arm.models) for arm in arms]),
        np.array([arm.complete_only for arm in arms]),
        calibration,
        intervals,
        rows,
        outliers,
        np.array([explained_share(targets[:, None], of_arm[:, None], clean) for of_arm in last.values]),
        last.importances,
        last.n_fits,
        of_sizes,
    )


def _pattern_fits(
    data: RegressionData, frame: FusionFrame, fold_of: IntArray, last: _ManyRowsPass, clean: FloatArray, seed: int
) -> PatternFits:
    """Return fits of patterns of views by the out-of-fold values of a pass.

    Rows with more views than a pattern are a subsample, of which arms of all views predict what there would be.
    """
    present, scale, stack = data.blocks.present, last.scale, last.stack
    n_patterns = len(listed_patterns(present))
    n_masked = int(np.clip(MOST_MASKED_NUMBERS // n_patterns, LEAST_MASKED_ROWS, MOST_MASKED_ROWS))
    least = min(n_masked, FEWEST_MASKED_ROWS)
    n_masked = last.plan.most_masked(n_masked * n_patterns, least * n_patterns) // n_patterns
    drawn = draw_rows(len(data), n_masked, seed + 5)
    table = data.blocks.views[0].table
    without = np.array([of_fold.weights for of_fold in without_folds(last.fitted.weighing, last.fitted.penalty)])
    arms = [last.fitted.arms[number] for number in stack.arms]

    def values_of(views: BoolArray) -> PatternValues | None:
        own = np.flatnonzero((present == views).all(axis=1))
        disagreement = last.rows.disagreement / scale.unit
        borrowed = drawn[:0]
        if clean[own].sum() < ENOUGH_ROWS:
            borrowed = drawn[(present[drawn] | ~views).all(axis=1)]
            borrowed = borrowed[(present[borrowed] != views).any(axis=1)]
        if not len(borrowed):
            return PatternValues(own, last.sums[own], disagreement[own]) if len(own) else None
        values = masked_values(views, borrowed)
        sums = np.einsum("ia,ai->i", without[fold_of[borrowed]], np.nan_to_num(values)) + stack.intercepts[0]
        return PatternValues(
            np.concatenate([own, borrowed]),
            np.concatenate([last.sums[own], sums]),
            np.concatenate([disagreement[own], disagreement_of(values, stack.weights)]),
        )

    def masked_values(views: BoolArray, rows: IntArray) -> FloatArray:
        """Return out-of-fold values of the arms of rows as if they had just some views; NaN where there are none."""
        kept = np.concatenate([frame.columns[view] for view in np.flatnonzero(views)])
        masked = np.full((len(rows), table.shape[1]), np.nan)
        masked[:, kept] = table[np.ix_(rows, kept)]
        values = np.full((len(arms), len(rows)), np.nan)
        for place, arm in enumerate(arms):
            if arm.having(views[None])[0]:
                values[place] = out_of_fold_values(arm, masked, fold_of[rows])[:, 0]
        return values

    targets = (data.target - scale.mean) / scale.unit
    # Weights are those that fit complete rows best, where all others are few.
    all_fit = bool(np.count_nonzero(~present.all(axis=1)) < LEAST_PATTERN_ROWS)
    return PatternFits(values_of, present, targets, clean, fold_of, data.groups, all_fit=all_fit)
