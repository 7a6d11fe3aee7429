"""The fit of a regression on many rows in memory, by the sums over blocks that a fusion of classes is fitted by.

Arms, their order and their trial are those of `arm_fitting`; what is minimised are squares instead of the log loss. As
on few rows, there is a second pass where residuals tell of gross outliers in the target.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from fuselearn.backends.partitioned.partitions import LocalPartitions
from fuselearn.backends.partitioned.storage import ArrayStore
from fuselearn.classifiers.regressors import fit_regressor
from fuselearn.data.folds import Folds
from fuselearn.data.training_data import RegressionData
from fuselearn.fusion.arm_fitting import LEAST_RISE, SUBSAMPLE_ROWS, ArmFitting, FittedArms
from fuselearn.fusion.base_models import FittedModel
from fuselearn.fusion.base_models.boosted_trees import BoostedTreesArms, local_gradient_data
from fuselearn.fusion.base_models.catalogue import LEAST_ROWS
from fuselearn.fusion.base_models.cross_fitted_regressors import CrossFittedRegressors
from fuselearn.fusion.base_models.forests import ForestRows, column_means
from fuselearn.fusion.fusion_options import FusionOptions, n_folds_of
from fuselearn.fusion.fusion_rows import FittedArm, FusionBlock, FusionFrame, TakenRows, draw_rows, having_of
from fuselearn.fusion.fusion_run import LEAST_PATTERN_ROWS, importances_of_arms
from fuselearn.fusion.local_fusion import BLOCK_ROWS, boosting_arms
from fuselearn.fusion.log_loss_weights import LossSums, Penalty, Stack, Weighing, weigh, weigh_and_drop, without_folds
from fuselearn.fusion.prediction_intervals import PredictionIntervals, fit_spread, kept_residuals
from fuselearn.fusion.regression_passes import (
    LEAST_BELIEF,
    OutOfFold,
    RegressionResult,
    TargetScale,
    disagreement_of,
    explained_share,
    fit_line,
    is_no_worse,
    judge_residuals,
    pattern_lines,
)
from fuselearn.fusion.target_outliers import TargetOutliers
from fuselearn.numeric.exact_sums import exact_mean
from fuselearn.numeric.execution import Threads
from fuselearn.typing import BoolArray, Classifier, FloatArray, IntArray


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

        def ask(stack: Stack) -> tuple[FloatArray, FloatArray, FloatArray]:
            [(losses, gradients, curvatures)] = self.ask(LossSums(stack))
            return losses, gradients, curvatures

        start, penalty = self._start(tuple(range(len(self.arms))))
        noise = 2 * weigh(ask, start, penalty).loss / self._frame.n_rows
        return weigh_and_drop(ask, start, penalty, LEAST_RISE * noise)

    def _fit_subsampled(self, view: int | None, name: str, learner: str | Classifier, taken: TakenRows) -> None:
        """Fit a learner of a view, or of all views, on the rows of a subsample that have it."""
        frame, seed = self._frame, self._options.seed + len(self.arms)
        columns = frame.used_columns if view is None else frame.columns[view]
        rows = np.flatnonzero(having_of(view, True, taken.present))
        if len(rows) < LEAST_ROWS:
            return
        cells = taken.table[np.ix_(rows, np.searchsorted(frame.used_columns, columns))]
        numbers = draw_rows(frame.n_rows, SUBSAMPLE_ROWS, self._options.seed + 2)
        target, weights, folds = self.target[numbers[rows]], taken.weights[rows], taken.folds[rows]
        models: list[FittedModel | None] = []
        for fold in range(frame.n_folds):
            others = np.flatnonzero(folds != fold)
            draws = np.random.SeedSequence(seed, spawn_key=(fold,))
            if not len(others):
                models.append(None)
            elif isinstance(learner, str):
                forest = ForestRows(cells[others], weights[others], None)
                models.append(forest.fit(target[others, None], 0, draws).model)
            else:
                fitted = fit_regressor(learner, cells, target, weights, others, (fold, seed))
                models.append(CrossFittedRegressors([fitted], column_means(cells)))
        view_name = self._view_name(view)
        self._report(f"{name} on {view_name!r}")
        used = [model for model in models if model is not None]
        self._add(FittedArm(view, view_name, name, columns, models, used, np.zeros(1), len(rows), True))


@dataclass(frozen=True)
class _ManyRowsPass:
    """One pass: the arms, their weights, and their out-of-fold values in units of the target's spread."""

    fitted: FittedArms
    stack: Stack
    scale: TargetScale
    values: FloatArray
    rows: OutOfFold
    importances: FloatArray
    n_fits: int


def fit_many_rows(data: RegressionData, options: FusionOptions, threads: Threads) -> RegressionResult:
    """Fit a regression on many rows in memory."""
    started, budget = time.monotonic(), options.budget
    n_folds = n_folds_of(len(data))
    if data.groups is not None:
        n_folds = min(n_folds, int(data.groups.max()) + 1)
    table = data.blocks.views[0].table
    frame = FusionFrame(data.names, data.columns, 1, len(data), n_folds, table.shape[1])
    fold_of = Folds.of(n_folds, options.seed, data.groups).numbers(len(data), groups=data.groups)
    row_weights = data.weights / exact_mean(data.weights)
    last = _run(data, frame, fold_of, row_weights, options, threads)
    n_fits = last.n_fits
    outliers = judge_residuals(data.target, last.rows, row_weights, data.blocks.present)
    in_time = budget.fits_left() >= n_fits and budget.seconds_left() >= time.monotonic() - started
    if outliers.share > 0 and in_time:
        believed = row_weights * np.maximum(1 - outliers.probabilities, LEAST_BELIEF)
        second = _run(data, frame, fold_of, believed / believed.mean(), options, threads)
        n_fits += second.n_fits
        passes = second.rows.predicted, last.rows.predicted
        if is_no_worse(data.target, *passes, row_weights, outliers.probabilities):
            last = second
            outliers = judge_residuals(data.target, last.rows, row_weights, data.blocks.present)
        else:
            outliers = TargetOutliers(0.0, np.zeros(len(data)))
    return _result(data, frame, last, outliers, row_weights, n_fits)


def _run(
    data: RegressionData,
    frame: FusionFrame,
    fold_of: IntArray,
    weights: FloatArray,
    options: FusionOptions,
    threads: Threads,
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

    try:
        fitting = RegressionArmFitting(LocalPartitions(blocks, threads), frame, options, boosting, None)
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
    )
    return _ManyRowsPass(fitted, stack, scale, values, rows, importances, fitting.n_fits)


def _weights_of_all(fitted: FittedArms) -> FloatArray:
    """Return the weights of all arms, 0 for those that were left out."""
    stack, weights = fitted.weighing.stack, np.zeros(len(fitted.arms))
    weights[list(stack.arms)] = stack.weights
    return weights


def _result(
    data: RegressionData,
    frame: FusionFrame,
    last: _ManyRowsPass,
    outliers: TargetOutliers,
    row_weights: FloatArray,
    n_fits: int,
) -> RegressionResult:
    """Return lines and residuals of the frequent patterns of views, and what out-of-fold values say."""
    present, scale, stack = data.blocks.present, last.scale, last.stack
    clean = row_weights * (1 - outliers.probabilities)
    intercept = float(stack.intercepts[0])
    sums = (last.rows.predicted - scale.mean) / scale.unit - intercept
    targets = (data.target - scale.mean) / scale.unit
    patterns, counts = np.unique(present, axis=0, return_counts=True)
    frequent = [pattern for pattern, n in zip(patterns, counts) if n >= LEAST_PATTERN_ROWS and pattern.any()]
    # The first is for complete rows, the last for rows of all patterns that are not known.
    kept: list[BoolArray] = [np.ones(frame.n_views, dtype=bool)]
    kept += [pattern for pattern in frequent if not pattern.all()]
    lines, members = [], []
    predicted = last.rows.predicted.copy()
    for pattern in kept:
        own = np.asarray((present == pattern).all(axis=1))
        slope, shift = fit_line(sums[own], targets[own] - intercept, clean[own]) if len(kept) > 1 else (1.0, 0.0)
        lines.append((slope, intercept + shift))
        members.append(own if np.count_nonzero(own) >= LEAST_PATTERN_ROWS else last.rows.known)
        predicted[own] = scale.mean + scale.unit * (slope * sums[own] + intercept + shift)
    kept.append(np.zeros(frame.n_views, dtype=bool))
    lines.append((1.0, intercept))
    members.append(last.rows.known)
    rows = replace(last.rows, predicted=predicted)
    known, residuals = rows.known, data.target - predicted
    spread = fit_spread(rows.spread_rows.among(known), residuals[known], clean[known], scale.unit)
    scaled = residuals / spread(rows.spread_rows)
    of_patterns = [kept_residuals(scaled[own], clean[own]) for own in members]
    of_patterns.append(kept_residuals(data.target - scale.mean, clean))
    weights = _weights_of_all(last.fitted)
    arms = last.fitted.arms
    return RegressionResult(
        [(arm.view, arm.view_name, arm.learner, arm.columns) for arm in arms],
        [arm.models if weight > 0 else [] for arm, weight in zip(arms, weights)],
        weights,
        np.array([arm.n_learnt for arm in arms]),
        np.array([arm.complete_only for arm in arms]),
        pattern_lines(kept, lines, scale),
        PredictionIntervals(spread, of_patterns),
        rows,
        outliers,
        np.array([explained_share(targets[:, None], of_arm[:, None], clean) for of_arm in last.values]),
        last.importances,
        n_fits,
    )
