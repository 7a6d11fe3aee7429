"""The base models of FusionClassifier: what they have in common."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from fuselearn.typing import FloatArray, IntArray


class FittedModel(Protocol):
    """A fitted base model."""

    def validate(self) -> None:
        """Raise ValueError, in words, unless all that the model holds fits together; for models out of a file."""

    def predict(self, X: FloatArray) -> FloatArray:
        """Return values of rows (columns of the view only), of shape (n_rows, n_targets)."""


class ArmFit(NamedTuple):
    """One fit of an arm, with values of the training rows.

    Attributes
    ----------
    out_of_fold : ndarray of shape (n_rows, n_targets)
        By models that saw neither the row nor another one of its group: what the arm can do for new groups.
    within_groups : ndarray of shape (n_rows, n_targets)
        By models that did not see the row, but may have seen others of its group: what its label is compared with.
        Without groups, the very same array.
    model : FittedModel
        For new rows.
    scored : ndarray of shape (n_rows, n_targets) or None
        Out-of-fold values by settings that the row had no say in either, for scores; None where they are the same.
    """

    out_of_fold: FloatArray
    within_groups: FloatArray
    model: FittedModel
    scored: FloatArray | None = None


class PreparedRows(Protocol):
    """The training rows of a view, prepared once for a learner and fitted many times.

    Attributes
    ----------
    n_fits : int
        Number of fits that differ: further ones would repeat the first.
    """

    n_fits: int

    def fit(self, targets: FloatArray, number: int, seed: np.random.SeedSequence) -> ArmFit:
        """Make fit number `number` (0, 1, …) on targets of shape (n_rows, n_targets)."""


@dataclass(frozen=True)
class Arm:
    """A view together with a learner.

    Attributes
    ----------
    view : int or None
        Number of the view; None for all views side by side.
    view_name, learner : str
        Their names.
    rows : intp ndarray
        Training rows that have the view.
    columns : intp ndarray
        Columns of `X`.
    prepare : callable
        Returns the prepared rows.
    n_learnt : int
        Number of the rows that it learns from: all, or a subsample.
    cost : int
        Place of its learner among all by the time that it takes; within a time limit quick ones are tried first.
    """

    view: int | None
    view_name: str
    learner: str
    rows: IntArray
    columns: IntArray
    prepare: Callable[[], PreparedRows]
    n_learnt: int = 0
    cost: int = 0
