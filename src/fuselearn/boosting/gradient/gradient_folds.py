"""Runs of a cross-fitting on the same rows in the same bins: one for each fold that is held out, and each view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fuselearn.numeric.gradients import HELD_OUT, N_ROLES, TRAINING, UNUSED
from fuselearn.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from fuselearn.boosting.gradient.gradient_plan import GradientPart


@dataclass(frozen=True)
class FoldOfView:
    """The rows that a run learns from: those of the other folds that have a view.

    Attributes
    ----------
    fold : int
        Fold whose rows are held out.
    view : int
        Number of the view; -1 for all views together, which every row has.
    """

    fold: int
    view: int

    def roles(self, counted: IntArray, folds: IntArray, present: BoolArray | None) -> IntArray:
        """Return the roles of rows in the run.

        Parameters
        ----------
        counted : int8 ndarray of shape (n_rows,)
            Roles outside of any run: which rows are not used.
        folds : int8 ndarray of shape (n_rows,)
            Fold of each row.
        present : bool ndarray of shape (n_rows,) or None
            Rows that have the view; None where all of them have.
        """
        used = counted != UNUSED if present is None else (counted != UNUSED) & present
        in_use = np.where(folds == self.fold, np.int8(HELD_OUT), np.int8(TRAINING))
        return np.where(used, in_use, np.int8(UNUSED))


@dataclass(frozen=True)
class StartRun:
    """Update of rows that begins a run, with the scores before its first tree."""

    rows: FoldOfView
    baseline: FloatArray


@dataclass(frozen=True)
class FoldSums:
    """Whole weights of rows that have a view, by fold and class.

    Attributes
    ----------
    weights : int64 ndarray of shape (n_views + 1, n_folds, n_classes)
        The last of the views are all views together. A regression has one class.
    """

    weights: IntArray

    def of_run(self, rows: FoldOfView) -> tuple[IntArray, IntArray]:
        """Return the whole weights of a run: by label column and role, and of the training rows by class."""
        by_fold = self.weights[rows.view]
        held_out = by_fold[rows.fold]
        training: IntArray = by_fold.sum(axis=0) - held_out
        role_weights = np.zeros((1, N_ROLES), dtype=np.int64)
        role_weights[0, TRAINING], role_weights[0, HELD_OUT] = training.sum(), held_out.sum()
        return role_weights, training


@dataclass(frozen=True)
class FoldWeights:
    """Asks for the whole weights of the rows that count, by view, fold and class (0: numbers); see `FoldSums`."""

    n_folds: int
    n_classes: int

    def __call__(self, part: GradientPart) -> IntArray:
        assert part.folds is not None
        weights = np.zeros((part.present.shape[1] + 1, self.n_folds, self.n_classes or 1), dtype=np.int64)
        used, counts = part.roles != UNUSED, part.counts
        codes = part.labels[0] if self.n_classes else np.zeros(len(used), dtype=np.intp)
        for view, sums in enumerate(weights):
            rows = used & part.present[:, view] if view < part.present.shape[1] else used
            np.add.at(sums, (part.folds[rows], codes[rows]), counts[rows])
        return weights

    def merged(self, answers: Sequence[IntArray]) -> IntArray:
        """Return the sums of all rows."""
        return np.sum(answers, axis=0)
