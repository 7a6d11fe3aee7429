"""Settings of a fusion on many rows, and what it is given beside its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from fuselearn.data.class_weights import ClassWeight
from fuselearn.fusion.base_models import ArmFit, FittedModel
from fuselearn.fusion.base_models.boosted_trees import BoostingSettings
from fuselearn.fusion.base_models.catalogue import Learners
from fuselearn.fusion.budget import Budget
from fuselearn.typing import AnyArray, FloatArray, IntArray

Report: TypeAlias = Callable[[int, int | None, str], None]
"""Called with the number of fits done, the number in all where it is known, and a description of the last fit."""

FEWER_FOLDS_ROWS = 100_000
FOLDS, FEWER_FOLDS = 5, 3
"""Folds below so many rows, and from there on. At 40,000 rows of movies five are 0.1 points of AUC better than three;
at 20,000 rows of movies and diamonds eight are better than five with wrong labels only (0.02 to 0.3 points)."""
RATE, L2, ROWS_OF_L2 = 0.2, 10.0, 2000
"""Learning rate, and what is added to the second derivatives of a leaf: 10, or one for each 2,000 rows if that is more,
since leaves grow with the rows. Measured with rates of 0.05 to 0.2 on movies and diamonds at 20,000 rows: with 30 %
wrong labels 30 was 0.1 points of AUC better than 10, with the clean labels of diamonds 0.26 points worse, at a third
more time; rates of 0.1 were no better. At 270,000 rows of which views interact, 100 was better than 10 and 30."""


def n_folds_of(n_rows: int) -> int:
    """Return the number of folds of a fit on many rows."""
    return FOLDS if n_rows < FEWER_FOLDS_ROWS else FEWER_FOLDS


def boosting_settings(n_rows: int, seed: int) -> BoostingSettings:
    """Return the settings of boosted trees of so many rows.

    Leaves are shrunk more than by a plain gradient boosting: the models of the folds are averaged, which makes up for
    the rounds that this costs, and wrong labels do less harm.
    """
    return BoostingSettings(learning_rate=RATE, l2_regularization=max(L2, n_rows / ROWS_OF_L2), seed=seed)


class BoostingArms(Protocol):
    """Fits boosted trees without a fold; see `base_models.boosted_trees.BoostedTreesArms`."""

    deadline: float | None

    @property
    def n_at_a_time(self) -> int:
        """Most fits that go on side by side."""

    def fit_all(
        self, pairs: Sequence[tuple[int | None, int]], keep: Callable[[tuple[int | None, int], Any], None]
    ) -> Sequence[FittedModel]:
        """Fit trees of a view, or of all views (None), on the rows of all folds but one, for pairs of these."""


class FusionLog(Protocol):
    """Keeps fitted models of folds, so that a run that was stopped can go on."""

    def get(self, view: int | None, learner: str, fold: int) -> FittedModel | None:
        """Return a model that an earlier run fitted, if there is one."""

    def add(self, view: int | None, learner: str, fold: int, model: FittedModel) -> None:
        """Keep a model."""


class PassLog(Protocol):
    """Keeps the fits of passes, so that a run that was stopped can go on; see `fusion_log.FusionLog`."""

    def arm_fit(
        self, key: tuple[int, ...], targets: FloatArray, view: int | None, columns: IntArray
    ) -> tuple[ArmFit, int] | None:
        """Return a fit that was made before on the same targets, and the number of fits of the arm that differ."""

    def keep_arm_fit(self, key: tuple[int, ...], targets: FloatArray, fit: ArmFit, n_fits: int) -> None:
        """Keep a fit."""


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
        Arms and time that may be used.
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
