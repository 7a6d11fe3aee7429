"""Out-of-fold values of training rows as they are, and as they would be with fewer views.

An arm of a view has the same value whatever other views a row has. So what a model would have predicted for a training
row without some of its views, by models that did not see the row, follows from the sums of the arms' weighted
out-of-fold values by view. Arms of all views are the exception. On few rows they abstain where a view is missing or,
where training rows lack views, have these filled in; on many rows boosted trees take what there is. Their values with
fewer views are computed at the end of the fit, for some rows and patterns of views.

Prediction sets and the choice of the next view to measure are calibrated by these values. They are kept with the model,
in single precision: a number for each row, view and class, of some thousand rows at most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from fuselearn.fusion.arm_weights import OutOfFoldLogits, OutOfFoldValues
from fuselearn.fusion.filled_views import FilledRows
from fuselearn.fusion.fusion_rows import FittedArm, FusionFrame, TakenRows, draw_rows, rows_of
from fuselearn.fusion.log_loss_weights import Stack, logits_of
from fuselearn.fusion.passes import PassResult
from fuselearn.fusion.pattern_calibration import PatternCalibration
from fuselearn.typing import BoolArray, FloatArray, IntArray

MOST_LISTED_VIEWS = 6
"""Views up to which arms of all views are computed for every pattern; with more, for frequent and simple ones."""
MOST_MASKED_ROWS, LEAST_MASKED_ROWS = 4096, 512
"""Rows whose values with fewer views are computed after a fit on many rows."""
MOST_MASKED_NUMBERS = 2**19
"""Values of arms of all views, over rows, patterns and classes, above which there are fewer rows."""
MOST_OWN_NUMBERS = 2**18
"""Logits of rows with the views that they have, over rows and classes, that are kept of many rows."""


def listed_patterns(present: BoolArray, most: int = 64) -> BoolArray:
    """Return patterns of views: all but the empty one, or of many views those of most rows and simple ones."""
    n_views = present.shape[1]
    if n_views <= MOST_LISTED_VIEWS:
        return np.array(list(product([True, False], repeat=n_views))[:-1], dtype=bool)
    observed, counts = np.unique(present, axis=0, return_counts=True)
    frequent = observed[np.argsort(-counts, kind="stable")[:most]]
    single = np.eye(n_views, dtype=bool)[: most // 2]
    patterns = np.unique(np.vstack([np.ones((1, n_views), dtype=bool), ~single, single, frequent]), axis=0)
    return patterns[patterns.any(axis=1)]


def rows_to_mask(n_patterns: int, n_targets: int) -> int:
    """Return of how many rows the values with fewer views are computed."""
    return int(np.clip(MOST_MASKED_NUMBERS // (n_patterns * n_targets), LEAST_MASKED_ROWS, MOST_MASKED_ROWS))


def values_of_many_rows(
    taken: TakenRows,
    sample: TakenRows,
    arms: Sequence[FittedArm],
    stack: Stack,
    frame: FusionFrame,
    patterns: BoolArray,
    calibration: PatternCalibration,
    targets_of_rows: Callable[[TakenRows], FloatArray],
    seed: int,
) -> OutOfFoldValues:
    """Return values of some rows by view, after a fit on many rows; arms of all views predict them again.

    Parameters
    ----------
    taken : TakenRows
        Rows with their table, and values of all arms.
    sample : TakenRows
        More rows, with values of all arms.
    arms : sequence of FittedArm
        All arms, with the models of folds.
    stack : Stack
        Weights of the arms.
    frame : FusionFrame
    patterns : bool ndarray of shape (n_patterns, n_views)
        Patterns of views that arms of all views are computed for.
    calibration : PatternCalibration
    targets_of_rows : callable
        Returns the probabilities of the classes that the model is calibrated to.
    seed : int
        Draws the rows of the sample that are kept.
    """
    n_views, n_rows = frame.n_views, len(taken.weights)
    # As in predictions: of two classes, each has minus or plus half of the log-odds.
    weights = stack.weights / 2 if frame.n_targets == 1 else stack.weights
    factors = weights if stack.matrices is None else stack.matrices
    view_sums = np.zeros((n_views, n_rows, frame.n_targets), dtype=np.float32)
    view_weights = np.zeros(n_views + 1)
    joint: list[int] = []
    for place, number in enumerate(stack.arms):
        view = arms[number].view
        view_weights[-1 if view is None else view] += weights[place]
        if view is None:
            joint.append(place)
        else:
            view_sums[view] += _times(taken.values[number], factors[place])
    everywhere = any(not arms[stack.arms[place]].complete_only for place in joint)
    if not joint:
        patterns = patterns[:0]
    elif not everywhere:
        patterns = np.ones((1, n_views), dtype=bool)
    joint_sums = np.zeros((len(patterns), n_rows, frame.n_targets), dtype=np.float32)
    table = np.full((n_rows, frame.n_features), np.nan)
    table[:, frame.used_columns] = taken.table
    for pattern, sums in zip(patterns, joint_sums):
        rows = np.flatnonzero((taken.present | ~pattern).all(axis=1))
        gone = np.setdiff1d(
            frame.used_columns, np.concatenate([frame.columns[view] for view in np.flatnonzero(pattern)])
        )
        masked = table[rows]
        masked[:, gone] = np.nan
        for place in joint:
            arm = arms[stack.arms[place]]
            if pattern.all() or not arm.complete_only:
                sums[rows] += _times(out_of_fold_values(arm, masked, taken.folds[rows]), factors[place])
    return OutOfFoldValues(
        taken.present,
        targets_of_rows(taken).astype(np.float32),
        taken.weights,
        np.arange(n_rows),
        view_sums,
        view_weights,
        patterns,
        joint_sums,
        everywhere,
        False,
        _own_logits(sample, stack, frame, calibration, targets_of_rows(sample), seed),
    )


def _own_logits(
    sample: TakenRows, stack: Stack, frame: FusionFrame, calibration: PatternCalibration, targets: FloatArray, seed: int
) -> OutOfFoldLogits:
    """Return logits of as many rows of a sample as are kept, drawn from it, with the views that they have."""
    most = max(LEAST_MASKED_ROWS, MOST_OWN_NUMBERS // frame.n_classes)
    some = draw_rows(len(targets), most, seed)
    scores = logits_of(stack.without_intercepts.scores(sample.values[list(stack.arms)][:, some]))
    present = sample.present[some]
    logits = calibration.logits(scores, np.asarray(present.any(axis=1)), present)
    return OutOfFoldLogits(
        present,
        logits.astype(np.float32),
        targets[some].astype(np.float32),
        sample.weights[some],
        MOST_MASKED_ROWS + np.arange(len(logits)),
    )


def values_of_filled_rows(
    values: OutOfFoldValues, filled: FilledRows, result: PassResult, calibration: PatternCalibration
) -> OutOfFoldValues:
    """Return values of some rows by view, after a fit on few rows whose arms of all views have absent ones filled in.

    Parameters
    ----------
    values : OutOfFoldValues
        Of all rows; its values of arms of all views are of rows with the views that they have.
    filled : FilledRows
        What these arms say of some rows with fewer views.
    result : PassResult
    calibration : PatternCalibration
    """
    present, chosen = values.present, filled.rows
    logits: FloatArray = np.empty(values.targets.shape, dtype=np.float32)
    for views in np.unique(present, axis=0):
        rows = np.flatnonzero((present == views).all(axis=1))
        logits[rows] = replace(values, joint_patterns=views[None]).logits(views, rows, calibration)
    sums = np.zeros((len(filled.patterns), len(chosen), values.view_sums.shape[2]), dtype=np.float32)
    for place, of_pattern in enumerate(sums):
        of_arms = filled.out_of_fold(place, result.scored_values, present)
        of_pattern[:] = np.nan_to_num(np.tensordot(result.weights[filled.arms], of_arms, axes=1))
    return OutOfFoldValues(
        present[chosen],
        values.targets[chosen],
        values.weights[chosen],
        values.units[chosen],
        values.view_sums[:, chosen],
        values.view_weights,
        filled.patterns,
        sums,
        joint_everywhere=True,
        scaled=True,
        own=OutOfFoldLogits(present, logits, values.targets, values.weights, values.units),
    )


def _times(values: FloatArray, factor: FloatArray) -> FloatArray:
    """Return values times a weight, or a matrix of the classes."""
    product_of: FloatArray = values @ factor if np.ndim(factor) == 2 else values * factor
    return product_of


def out_of_fold_values(arm: FittedArm, table: FloatArray, folds: IntArray) -> FloatArray:
    """Return the values of an arm for rows, each by the model that was fitted without its fold."""
    values = np.zeros((len(table), len(arm.offset)))
    for fold, model in enumerate(arm.fold_models):
        rows = np.flatnonzero(folds == fold)
        if model is not None and len(rows):
            values[rows] = model.predict(rows_of(table, rows, arm.columns)) - arm.offset
    return values
