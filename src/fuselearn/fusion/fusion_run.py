"""The fit of a fusion on many rows: arms, their weights, consensus, calibration and scores, all by sums.

It is the same for rows in memory and in partitions; see `fusion_rows` for what it asks of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuselearn.backends.partitioned.partitions import Answer, Partitions
from fuselearn.consensus.expectation_maximisation import Agreement, agree, judge
from fuselearn.fusion.arm_fitting import JUDGED_ROWS, ArmFitting
from fuselearn.fusion.arm_weights import OutOfFoldValues
from fuselearn.fusion.base_models.boosted_trees import BoostedTreesModel
from fuselearn.fusion.base_models.ridge_features import RidgeModel
from fuselearn.fusion.calibration_and_scores import (
    ACCURACY,
    BALANCED_ACCURACY,
    Assessment,
    arm_score,
    decision_weights,
    metric_of,
    scores_of,
)
from fuselearn.fusion.class_matrices import SampledValues, fit_class_matrices
from fuselearn.fusion.fusion_options import BoostingArms, FusionLog, FusionOptions
from fuselearn.fusion.fusion_rows import (
    FittedArm,
    FusionBlock,
    FusionFrame,
    TakenRows,
    draw_rows,
    votes_of,
)
from fuselearn.fusion.log_loss_weights import (
    FittedArms,
    PatternSums,
    Stack,
    Sums,
    block_values,
    fit_patterns,
    logits_of,
    patterns_without_folds,
    without_folds,
)
from fuselearn.fusion.passes import CONSENSUS_ROWS
from fuselearn.fusion.pattern_calibration import PatternCalibration
from fuselearn.fusion.pattern_values import LEAST_MASKED_ROWS, listed_patterns, rows_to_mask, values_of_many_rows
from fuselearn.fusion.time_plan import TimePlan
from fuselearn.numeric.votes import ties_for_largest
from fuselearn.typing import BoolArray, FloatArray, IntArray

MOST_SAMPLED = 2**25
"""Values of arms that scores are estimated from, at most."""
LEAST_PATTERN_ROWS = 200
"""Rows that a pattern of views must have to be calibrated by itself."""


@dataclass(frozen=True)
class FusionResult:
    """The result of a run; the blocks keep the out-of-fold values and the posterior of their rows.

    Attributes
    ----------
    arms : list of FittedArm
        All arms; those without weight are without models.
    arm_fits : intp ndarray of shape (n_arms,)
        Number of models that each of them had.
    weights : ndarray of shape (n_arms,)
    calibration : PatternCalibration
        Of Σ weight · value, by class.
    noise_rates : ndarray of shape (n_label_columns,)
    assessment : Assessment
    stack : Stack
        Weights of the arms that have some, their matrices if these pay, and intercepts.
    judged : bool
        Whether the blocks have a posterior.
    n_fits : int
        Number of fits that were made.
    updates : list
        All updates of the blocks.
    out_of_fold : OutOfFoldValues
        Out-of-fold values of some rows by view.
    """

    arms: list[FittedArm]
    arm_fits: IntArray
    weights: FloatArray
    calibration: PatternCalibration
    noise_rates: FloatArray
    assessment: Assessment
    stack: Stack
    judged: bool
    n_fits: int
    updates: list[Any]
    out_of_fold: OutOfFoldValues

    @property
    def matrices(self) -> FloatArray | None:
        """Matrices of all arms, of shape (n_arms, n_classes, n_classes), if there are any."""
        if self.stack.matrices is None:
            return None
        matrices = np.zeros((len(self.arms), *self.stack.matrices.shape[1:]))
        matrices[list(self.stack.arms)] = self.stack.matrices
        return matrices


def run_on_many_rows(
    rows: Partitions,
    frame: FusionFrame,
    options: FusionOptions,
    boosting: Callable[[], BoostingArms],
    log: FusionLog | None = None,
) -> FusionResult:
    """Fit the arms, weigh them, judge the labels, calibrate, and assess.

    Parameters
    ----------
    rows : Partitions
        Blocks of all rows (`FusionBlock`).
    frame : FusionFrame
        What they have in common.
    options : FusionOptions
        Settings.
    boosting : callable
        Makes what fits boosted trees; called when the first are fitted.
    log : FusionLog, default=None
        Keeps models of folds that take long; those of an earlier run are not fitted again.
    """
    fitting = ArmFitting(rows, frame, options, boosting, log)
    fitted = fitting.run()
    sample = _sample(fitting, frame)
    stack, stacks = _stacks(fitted, sample, frame, fitting.plan)
    noise_rates = np.zeros(sample.codes.shape[1])
    # Probabilities are those of the labels as given; of several columns, those of what they agree on.
    judged, judgement = options.consensus and len(noise_rates) > 1, None
    log_prior = fitting.log_prior
    if options.consensus:
        judgement = _judge_sample(stack, sample, options.seed + 6)
        fitting.updates.append(judgement)
        [(wrong, given, true_classes)] = fitting.ask(JudgedSums())
        noise_rates = np.divide(wrong, given, out=np.full(len(wrong), np.nan), where=given > 0)
        if judged:
            log_prior = np.log((true_classes + 1) / (true_classes + 1).sum())
    calibration, calibrations = _calibrate(fitting, fitted, stack, frame, judged, log_prior)
    weights = np.zeros(len(fitted.arms))
    weights[list(stack.arms)] = stack.weights
    without = WithoutFolds(stacks, calibrations)
    assessment = _assess(fitting, fitted, without, sample, frame, options, weights, log_prior)
    arms = [_kept(arm, weight) for arm, weight in zip(fitted.arms, weights)]
    return FusionResult(
        arms,
        np.array([len(arm.models) for arm in fitted.arms]),
        weights,
        calibration,
        noise_rates,
        assessment,
        stack,
        options.consensus,
        fitting.n_fits,
        fitting.updates,
        _values_by_view(
            fitting, fitted, stack, sample, frame, calibration, judgement if judged else None, options.seed + 7
        ),
    )


def _values_by_view(
    fitting: ArmFitting,
    fitted: FittedArms,
    stack: Stack,
    sample: TakenRows,
    frame: FusionFrame,
    calibration: PatternCalibration,
    judgement: Judgement | None,
    seed: int,
) -> OutOfFoldValues:
    """Return out-of-fold values of some rows by view, for prediction sets and the choice of views."""
    patterns = listed_patterns(sample.present)
    # Within a time limit, no more rows and patterns than there is time for.
    simple = patterns.all(axis=1) | (patterns.sum(axis=1) == 1)
    n_rows = rows_to_mask(len(patterns), frame.n_targets)
    n_masked = fitting.plan.most_masked(n_rows * len(patterns), LEAST_MASKED_ROWS * int(simple.sum()))
    if not fitting.plan.may_improve() or n_masked < LEAST_MASKED_ROWS * len(patterns):
        patterns = patterns[simple]  # other patterns borrow from these
    n_rows = min(rows_to_mask(len(patterns), frame.n_targets), n_masked // len(patterns))
    taken = fitting.take(n_rows, 5, arms=tuple(range(len(fitted.arms))))

    def targets(rows: TakenRows) -> FloatArray:
        return votes_of(rows.codes, frame.n_classes) if judgement is None else judgement.of_taken(rows)

    return values_of_many_rows(taken, sample, fitted.arms, stack, frame, patterns, calibration, targets, seed)


def _kept(arm: FittedArm, weight: float) -> FittedArm:
    """Return an arm without the models of its folds and, if it has no weight, without any."""
    return FittedArm(
        arm.view,
        arm.view_name,
        arm.learner,
        arm.columns,
        [],
        arm.models if weight > 0 else [],
        arm.offset,
        arm.n_learnt,
        arm.complete_only,
    )


def _sample(fitting: ArmFitting, frame: FusionFrame) -> TakenRows:
    """Return values of all arms for a subsample of the rows."""
    most = min(JUDGED_ROWS, max(1000, MOST_SAMPLED // (len(fitting.arms) * frame.n_targets)))
    return fitting.take(most, 4, with_table=False, arms=tuple(range(len(fitting.arms))))


def _stacks(
    fitted: FittedArms, sample: TakenRows, frame: FusionFrame, plan: TimePlan
) -> tuple[Stack, tuple[Stack, ...]]:
    """Return the weights of the arms, and those without each fold, with matrices between classes if these pay."""
    stack, without = fitted.weighing.stack, tuple(without_folds(fitted.weighing, fitted.penalty))
    if frame.n_targets == 1:
        return stack, without
    targets = votes_of(sample.codes, frame.n_classes)
    values = SampledValues.of(sample.values[list(stack.arms)], targets, sample.weights, sample.folds, frame.n_folds)
    return fit_class_matrices(stack, without, values, plan.may_improve)


# Consensus


@dataclass(frozen=True)
class Judgement:
    """Has p(true class | values, labels) of each row computed and kept, by rates estimated on a subsample."""

    stack: Stack
    scale: float
    agreement: Agreement

    def apply(self, block: FusionBlock) -> None:
        """Keep the posterior of the rows of a block."""
        posterior = np.empty((block.n_rows, block.frame.n_classes))
        for part in block.parts():
            values = logits_of(self.stack.block_scores(block, part)) / self.scale
            posterior[part] = judge(values[:, None, :], block.codes[part], self.agreement)[0]
        block.keep_posterior(posterior)

    def of_taken(self, rows: TakenRows) -> FloatArray:
        """Return the posterior of rows that were taken out of the blocks, with values of all arms."""
        values = logits_of(self.stack.scores(rows.values[list(self.stack.arms)])) / self.scale
        return judge(values[:, None, :], rows.codes, self.agreement)[0]


@dataclass(frozen=True)
class JudgedSums:
    """Asks for the weight of wrong labels, as expected, and of all labels of each column, and of the true classes."""

    def __call__(self, block: FusionBlock) -> Answer:
        """Return two sums of shape (n_label_columns,), and one of shape (n_classes,)."""
        codes, posterior, weights = block.codes, block.posterior, block.weights
        given = [np.flatnonzero(column >= 0) for column in codes.T]
        wrong = [weights[rows] @ (1 - posterior[rows, column[rows]]) for rows, column in zip(given, codes.T)]
        return np.array(wrong), np.array([weights[rows].sum() for rows in given]), weights @ posterior


def _judge_sample(stack: Stack, sample: TakenRows, seed: int) -> Judgement:
    """Estimate the rates of wrong labels on some rows of a subsample, drawn whatever the order of the rows is."""
    values = logits_of(stack.scores(sample.values[list(stack.arms)]))
    scale = float(np.sqrt(np.average((values**2).mean(axis=1), weights=sample.weights))) or 1.0
    some = draw_rows(len(values), CONSENSUS_ROWS, seed)
    agreement = agree((values / scale)[some, None, :], sample.codes[some], weights=sample.weights[some])
    return Judgement(stack, scale, agreement)


# Calibration


def _calibrate(
    fitting: ArmFitting, fitted: FittedArms, stack: Stack, frame: FusionFrame, judged: bool, log_prior: FloatArray
) -> tuple[PatternCalibration, tuple[PatternCalibration, ...]]:
    """Fit slope and intercepts of the scores for each frequent pattern of views; return them, and those without folds.

    Those of all patterns together are some numbers of thousands of rows, and the same without a fold. A single pattern
    may have 200 rows, whose labels would show in their own calibration.
    """
    n_views = frame.n_views
    start = np.concatenate([[1.0], stack.intercepts])[None]

    def ask(patterns: tuple[int, ...], only_fold: int | None = None) -> Callable[[FloatArray], Sums]:
        def derivatives(points: FloatArray) -> Sums:
            [(losses, gradients, curvatures)] = fitting.ask(PatternSums(stack, patterns, points, judged, only_fold))
            return losses, gradients, curvatures

        return derivatives

    # Weights and intercepts were fitted to the labels as given.
    if judged:
        start = fit_patterns(ask(()), start, 0.0)
    complete = (1 << n_views) - 1
    frequent = tuple(
        pattern
        for pattern, n_rows in zip(fitting.patterns, fitting.rows_of_patterns)
        if n_rows >= LEAST_PATTERN_ROWS and n_views <= 62
    )
    start = np.repeat(start, len(frequent) + 1, axis=0)
    points, without = start, [start] * frame.n_folds
    if len(frequent) > 1:
        spread = float(stack.weights**2 @ fitted.penalty.squares)
        points = fit_patterns(ask(frequent), start, spread)
        sums = [ask(frequent, fold)(points) for fold in range(frame.n_folds)]
        without = patterns_without_folds(sums, points, start, spread)
    known = np.array([[bool(pattern >> view & 1) for view in range(n_views)] for pattern in frequent], dtype=bool)
    known = known.reshape(len(frequent), n_views)
    order = [*np.flatnonzero(known.all(axis=1)), *np.flatnonzero(~known.all(axis=1))]
    first = [] if complete in frequent else [len(frequent)]
    order = [*first, *order, len(frequent)]
    patterns: BoolArray = np.vstack([known, np.zeros((1, n_views), dtype=bool)])[order]
    patterns[0] = True

    def calibration(points: FloatArray) -> PatternCalibration:
        # Two classes have one score, the log-odds: each class has minus or plus its half.
        return PatternCalibration(patterns, points[order, 0], logits_of(points[order, 1:]), log_prior)

    return calibration(points), tuple(map(calibration, without))


# Assessment


@dataclass(frozen=True)
class WithoutFolds:
    """Weights of the arms and calibrations without each fold, by which its rows are predicted as new ones are."""

    stacks: tuple[Stack, ...]
    calibrations: tuple[PatternCalibration, ...]

    def logits(self, values: FloatArray, folds: IntArray, present: BoolArray) -> FloatArray:
        """Return logits of rows, of shape (n_rows, n_classes), by the values of the arms that have weights."""
        covered = np.asarray(present.any(axis=1))
        logits = np.empty((len(folds), len(self.calibrations[0].log_prior)))
        for fold, (stack, calibration) in enumerate(zip(self.stacks, self.calibrations)):
            rows = np.flatnonzero(folds == fold)
            scores = logits_of(stack.without_intercepts.scores(values[:, rows]))
            logits[rows] = calibration.logits(scores, covered[rows], present[rows])
        return logits


@dataclass(frozen=True)
class Decisions:
    """Asks how many rows of each class are decided right, each row by weights and calibration without its fold."""

    without: WithoutFolds
    log_weights: FloatArray

    def __call__(self, block: FusionBlock) -> Answer:
        """Return rows of each class, and those decided right."""
        n_classes = block.frame.n_classes
        counts, right = np.zeros(n_classes, dtype=np.int64), np.zeros(n_classes, dtype=np.int64)
        for part in block.parts():
            codes = block.votes(part).argmax(axis=1)
            values = block_values(block, self.without.stacks[0].arms, part)
            logits = self.without.logits(values, block.fold_of[part], block.present[part])
            decided = ties_for_largest(logits + self.log_weights).argmax(axis=1)
            counts += np.bincount(codes, minlength=n_classes)
            right += np.bincount(codes[decided == codes], minlength=n_classes)
        return counts, right


def _assess(
    fitting: ArmFitting,
    fitted: FittedArms,
    without: WithoutFolds,
    sample: TakenRows,
    frame: FusionFrame,
    options: FusionOptions,
    weights: FloatArray,
    log_prior: FloatArray,
) -> Assessment:
    """Score the fusion on all rows, each by what is fitted without its fold; the arms, and the AUC, on a subsample."""
    metric = metric_of(options.class_weight)
    log_weights = np.log(decision_weights(options.class_weight, options.classes, np.exp(log_prior)))
    [(counts, right)] = fitting.ask(Decisions(without, log_weights))
    codes = votes_of(sample.codes, frame.n_classes).argmax(axis=1)
    of_stack = sample.values[list(without.stacks[0].arms)]
    scores = scores_of(codes, without.logits(of_stack, sample.folds, sample.present), log_weights)
    scores[ACCURACY] = float(right.sum() / counts.sum())
    scores[BALANCED_ACCURACY] = float((right[counts > 0] / counts[counts > 0]).mean())
    values = [np.where(arm.having(sample.present)[:, None], v, np.nan) for arm, v in zip(fitted.arms, sample.values)]
    offsets = log_prior + log_weights
    arm_scores = [arm_score(metric, codes, of_arm, sample.weights, offsets) for of_arm in values]
    return Assessment(metric, scores, np.array(arm_scores), importances_of_arms(fitted.arms, weights, values, frame))


def importances_of_arms(
    arms: list[FittedArm], weights: FloatArray, values: list[FloatArray], frame: FusionFrame
) -> FloatArray:
    """Return the share of each view in Σ weight · root mean square of the values.

    Boosted trees of all views are shared out by the gains of their splits, a linear machine by the squares of its
    coefficients, and others as these are.
    """
    shares = [_shares_of_views(arm, frame) for arm in arms]
    known = [of_arm for arm, of_arm, weight in zip(arms, shares, weights) if of_arm is not None and arm.view is None]
    others = np.mean(known, axis=0) if known else np.full(frame.n_views, 1 / frame.n_views)
    importances = np.zeros(frame.n_views)
    for of_views, weight, of_arm in zip(shares, weights, values):
        if weight > 0 and not np.isnan(of_arm).all():
            importances += weight * float(np.sqrt(np.nanmean(of_arm**2))) * (others if of_views is None else of_views)
    total = importances.sum()
    return importances / total if total > 0 else np.full(frame.n_views, 1 / frame.n_views)


def _shares_of_views(arm: FittedArm, frame: FusionFrame) -> FloatArray | None:
    """Return the shares of the views in what an arm says; None where nothing tells them."""
    if arm.view is not None:
        return np.eye(frame.n_views)[arm.view]
    sizes = np.zeros(frame.n_features)
    for model in arm.models:
        if isinstance(model, BoostedTreesModel):
            splits = model.trees.column >= 0
            np.add.at(sizes, model.trees.column[splits], model.trees.gain[splits])
        elif isinstance(model, RidgeModel) and not len(model.features.landmarks):
            sizes[arm.columns] += (model.coefficients[: len(arm.columns)] ** 2).sum(axis=1)
    # A column of several views counts for each of them in part.
    counts = np.bincount(np.concatenate(frame.columns), minlength=frame.n_features)
    shares = np.array([(sizes[columns] / counts[columns]).sum() for columns in frame.columns])
    return shares / shares.sum() if shares.sum() > 0 else None
