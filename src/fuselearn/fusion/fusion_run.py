"""The fit of a fusion on many rows: folds, arms, their weights, consensus, calibration and scores, all by sums.

It is the same for rows in memory and in partitions; see `fusion_rows` for what it asks of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fuselearn.backends.partitioned.partitions import Partitions
from fuselearn.data.class_weights import ClassWeight
from fuselearn.fusion.base_models.catalogue import Learners
from fuselearn.fusion.base_models.preparation import FittedModel
from fuselearn.fusion.fusion_rows import FittedArm, FusionFrame
from fuselearn.fusion.passes import Budget, Report
from fuselearn.typing import AnyArray

MANY_ROWS = 5_000
"""Rows from which on a fusion is fitted by sums."""
FEWER_FOLDS_ROWS = 30_000
FOLDS, FEWER_FOLDS = 5, 3


def n_folds_of(n_rows: int) -> int:
    """Return the number of folds of a fit on many rows."""
    return FOLDS if n_rows < FEWER_FOLDS_ROWS else FEWER_FOLDS


class BoostingArms(Protocol):
    """Fits boosted trees without a fold; see `base_models.boosted_trees.BoostedTreesArms`."""

    def fit(self, view: int | None, fold: int) -> FittedModel:
        """Fit trees of a view, or of all views (None), on the rows of the other folds."""


class FusionLog(Protocol):
    """Keeps the updates of a run, so that one that was stopped can go on."""

    @property
    def updates(self) -> Sequence[Any]:
        """Updates that an earlier run made."""

    def add(self, update: Any) -> None:
        """Keep one more update."""


@dataclass(frozen=True)
class FusionOptions:
    """Settings of a run.

    Attributes
    ----------
    learners : dict
        Learners by name; a built-in one is its own name.
    classes : ndarray
        The classes, in the order of their codes.
    class_weight : None, str or dict
        By which decisions are scored.
    consensus : bool
        Whether labels are judged.
    seed : int
        Seed of all draws.
    budget : Budget
        Fits and time that may be used.
    report : callable or None
        Called after each fit.
    """

    learners: Learners
    classes: AnyArray
    class_weight: ClassWeight
    consensus: bool
    seed: int
    budget: Budget
    report: Report | None = None


@dataclass(frozen=True)
class FusionResult:
    """The result of a run; the blocks keep the out-of-fold values and the posterior of their rows."""

    arms: list[FittedArm]


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
        Keeps the updates; those of an earlier run are not computed again.
    """
    raise NotImplementedError
