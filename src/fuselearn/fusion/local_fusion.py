"""A fusion on many rows in memory: blocks of them, and what its fitted model keeps of the training rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fuselearn.backends.partitioned.partitions import LocalPartitions
from fuselearn.boosting.gradient.gradient_data import GradientData
from fuselearn.data import TrainingData
from fuselearn.data.folds import Folds
from fuselearn.fusion.base_models.boosted_trees import (
    BoostedTreesArms,
    BoostingProgress,
    local_gradient_data,
)
from fuselearn.fusion.base_models.catalogue import ALL_VIEWS
from fuselearn.fusion.fusion_options import FusionLog, FusionOptions, boosting_settings, n_folds_of
from fuselearn.fusion.fusion_rows import FusionBlock, FusionFrame, learnt_labels
from fuselearn.fusion.fusion_run import FusionResult, run_on_many_rows
from fuselearn.fusion.log_loss_weights import logits_of
from fuselearn.numeric.threads import Threads
from fuselearn.typing import FloatArray, IntArray

BLOCK_ROWS = 2**15
"""Rows of a block."""
REPORTED_ROUNDS = 25
"""Rounds of boosting between two reports."""


@dataclass(frozen=True)
class LocalFusion:
    """A fusion fitted on rows in memory.

    Attributes
    ----------
    result : FusionResult
    scores : ndarray of shape (n_rows, n_classes)
        Σ weight · out-of-fold value of the arms, by class.
    posterior : ndarray of shape (n_rows, n_classes)
        p(true class | values, labels); without consensus, shares of the labels.
    """

    result: FusionResult
    scores: FloatArray
    posterior: FloatArray


def fit_in_memory(
    data: TrainingData, options: FusionOptions, threads: Threads, log: FusionLog | None = None
) -> LocalFusion:
    """Fit a fusion on many rows in memory."""
    n_folds = n_folds_of(len(data))
    if data.groups is not None:
        n_folds = min(n_folds, int(data.groups.max()) + 1)
    frame = FusionFrame(
        data.names, data.columns, len(data.classes), len(data), n_folds, data.blocks.views[0].table.shape[1]
    )
    fold_of = _folds(data, n_folds, options.seed)
    blocks = make_blocks(data, frame, fold_of)
    boosted: list[BoostedTreesArms] = []

    def boosting() -> BoostedTreesArms:
        codes, weights = learnt_labels(data.codes, data.weights, len(data.classes))
        rows = local_gradient_data(data, fold_of, codes, weights)
        boosted.append(boosting_arms(rows, len(data), n_folds, options, threads))
        return boosted[0]

    try:
        result = run_on_many_rows(LocalPartitions(blocks, threads), frame, options, boosting, log)
    finally:
        for arms in boosted:
            arms.close()
    plain = result.stack.without_intercepts
    scores = [logits_of(plain.block_scores(block, part)) for block in blocks for part in block.parts()]
    posterior = np.concatenate([block.posterior for block in blocks]) if result.judged else data.votes()
    return LocalFusion(result, np.concatenate(scores), posterior)


def make_blocks(
    data: TrainingData, frame: FusionFrame, fold_of: IntArray, block_rows: int = BLOCK_ROWS
) -> list[FusionBlock]:
    """Return windows on the rows; those on a GPU are one block."""
    table, weights = data.blocks.views[0].table, data.weights / data.weights.mean()
    if not isinstance(table, np.ndarray):
        from fuselearn.fusion.gpu_fusion import GpuFusionBlock

        return [GpuFusionBlock(frame, table, data.blocks.present, data.codes, weights, fold_of)]
    blocks = []
    for start in range(0, len(data), block_rows):
        rows = slice(start, start + block_rows)
        blocks.append(
            FusionBlock(
                frame, table[rows], data.blocks.present[rows], data.codes[rows], weights[rows], fold_of[rows], start
            )
        )
    return blocks


def _folds(data: TrainingData, n_folds: int, seed: int) -> IntArray:
    """Return the fold of each row; rows of a group have the same."""
    return Folds.of(n_folds, seed, data.groups).numbers(len(data), groups=data.groups)


def boosting_arms(
    rows: GradientData, n_rows: int, n_folds: int, options: FusionOptions, threads: Threads
) -> BoostedTreesArms:
    """Return what fits boosted trees of rows, wherever these are."""
    deadline = None
    if options.budget.time_limit is not None:
        deadline = options.budget.started + options.budget.time_limit
    return BoostedTreesArms(
        rows, n_folds, boosting_settings(n_rows, options.seed), threads, deadline, _report_of(options, rows, n_folds)
    )


def _report_of(options: FusionOptions, rows: GradientData, n_folds: int) -> Callable[[BoostingProgress], None] | None:
    """Return what tells the user of rounds of boosting, some of them, and of the last one of a run."""
    report = options.report
    if report is None:
        return None

    def tell(progress: BoostingProgress) -> None:
        if progress.is_done or progress.n_rounds % REPORTED_ROUNDS == 0:
            of_view = ALL_VIEWS if progress.view is None else rows.names[progress.view]
            state = "rounds, the last with" if progress.is_done else "rounds so far, with"
            report(
                progress.n_rounds,
                None,
                f"boosting on {of_view!r}, fold {progress.fold + 1} of {n_folds}: {progress.n_rounds} {state} a loss "
                f"of {progress.held_out_loss:.4f}",
            )

    return tell
