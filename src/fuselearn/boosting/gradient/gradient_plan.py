"""What a run of gradient boosting asks about all rows before its first round: the loss, its units, the first scores.

The answers are sums of whole numbers and largest values over the rows of one place, which are merged. So the plan is
the same, to the last bit, whether the rows are in one place or in partitions.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import frexp, ldexp
from typing import Any, Protocol, TypeAlias

import numpy as np

from fuselearn.backends.partitioned.storage import ArrayStore
from fuselearn.boosting.gradient.gradient_folds import FoldOfView
from fuselearn.boosting.gradient.gradient_rows import BlockSettings, GradientBlock
from fuselearn.boosting.gradient.losses import Loss, log_loss, quantile_rank, regression_loss
from fuselearn.data import View
from fuselearn.learners.binning import Binning
from fuselearn.learners.protocol import ViewQuestion
from fuselearn.numeric.exact_sums import fingerprint, joined
from fuselearn.numeric.gradients import (
    N_DIGITS,
    N_ROLES,
    TRAINING,
    UNUSED,
    WEIGHT_UNIT,
    add_digit_weights,
    n_digits,
    narrowed,
    value_of_digits,
)
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.typing import AnyArray, BoolArray, FloatArray, IntArray

LIMB_BITS, WEIGHT_LIMB_BITS = 18, 15
LEAST_WEIGHT, LARGEST_WEIGHT = 1e-290, 1e290
"""Weights between which sums of them, in units, neither vanish nor overflow."""


@dataclass(frozen=True)
class WeightScale:
    """What the weights of rows, in units of the largest, are to a block.

    Parameters
    ----------
    largest : float
        Largest weight that the user gave; 1 where none were given.
    equal : bool
        Whether all rows that count have the same weight, and each counts as one.
    whole : bool, default=False
        Whether a block takes weights as whole numbers of the unit: then it does not matter by which divisions they were
        brought to the largest as their unit.
    """

    largest: float
    equal: bool
    whole: bool = False

    def __post_init__(self) -> None:
        if not LEAST_WEIGHT < self.largest < LARGEST_WEIGHT:
            raise ValueError(
                f"sample_weight, with class_weight, has weights up to {self.largest:.3g}, whose sums and products are "
                "beyond the numbers of a computer. Multiply them by a number, so that a row weighs about 1."
            )

    @property
    def one(self) -> float:
        """Weight that counts as 1 in a block: the largest, or a power of two above it."""
        # By a power of two instead of the largest weight: whole weights of the user's stay whole.
        return self.largest if self.equal else power_of_two(self.largest)

    @property
    def unit(self) -> float:
        """Unit of whole weights, as the user gave the weights."""
        return self.one if self.equal else self.one * WEIGHT_UNIT

    def of_block(self, weights: FloatArray) -> FloatArray | None:
        """Return weights of rows as a block takes them; None where each counts as one."""
        if self.equal:
            return None
        weights = weights * (self.largest / self.one)
        return np.rint(weights / WEIGHT_UNIT) * WEIGHT_UNIT if self.whole else weights


@dataclass
class GradientPart:
    """Rows of one place, all of them or a partition, as they were read.

    Parameters
    ----------
    view : View
        All rows of the columns that are in a view.
    labels : list of ndarray of shape (n_rows,)
        Class codes (int32) or targets by each label column.
    weights : ndarray of shape (n_rows,) or None
        Weights between 0 and 1; None where each row counts as one.
    roles : int8 ndarray of shape (n_rows,)
        Whether a row is trained on, held out, or not used.
    present : bool ndarray of shape (n_rows, n_views)
        Rows that have each view.
    first : int, default=0
        Number of the rows with weight that come before these.
    folds : int8 ndarray of shape (n_rows,) or None
        Fold of each row in a cross-fitting; None where there is none.
    """

    view: View
    labels: list[AnyArray]
    weights: FloatArray | None
    roles: IntArray
    present: BoolArray
    first: int = 0
    folds: IntArray | None = None

    @cached_property
    def whole_weights(self) -> IntArray | None:
        """Weights in units; None where each row counts as one."""
        return None if self.weights is None else np.rint(self.weights / WEIGHT_UNIT).astype(np.int32)

    @property
    def counts(self) -> IntArray:
        """Weights in units, or ones."""
        return np.ones(len(self.roles), dtype=np.int32) if self.whole_weights is None else self.whole_weights

    def used_view(self) -> View:
        """Return the rows that count."""
        used = self.roles != UNUSED
        return self.view if used.all() else replace(self.view, rows=np.flatnonzero(used))

    def labelled(self, label_column: int) -> BoolArray:
        """Return the rows that have a label in a column: all that count, or those that have its view."""
        return self.present[:, label_column] if len(self.labels) > 1 else self.roles != UNUSED

    def of_run(self, rows: FoldOfView) -> GradientPart:
        """Return the rows with the roles that they have in a run of a cross-fitting."""
        assert self.folds is not None
        roles = rows.roles(self.roles, self.folds, None if rows.view < 0 else self.present[:, rows.view])
        return replace(self, roles=roles, folds=None)

    def training(self) -> tuple[FloatArray, IntArray]:
        """Return the targets and weights, in units, of the training rows of a regression."""
        training = self.roles == TRAINING
        return self.labels[0][training], self.counts[training]

    def block(
        self,
        settings: BlockSettings,
        binning: Binning,
        store: ArrayStore,
        threads: Threads = SERIAL,
        bins: IntArray | None = None,
    ) -> GradientBlock:
        """Return the rows as a run uses them, at the scores before the first round; `bins` where they are known."""
        return GradientBlock(
            settings,
            store,
            binning.prepare(self.view, threads).bins if bins is None else bins,
            self.labels,
            self.weights,
            self.whole_weights,
            self.roles,
            [None if mask.all() else mask for mask in self.present.T],
            self.folds,
        )


@dataclass(frozen=True)
class GradientPlan:
    """What a run has to know about all rows before its first round.

    Attributes
    ----------
    loss : Loss
        The loss, with its units.
    baseline : ndarray of shape (n_outputs,)
        Scores before the first tree.
    binning : Binning
        Edges between the bins of the columns that are in a view.
    weight_unit : float
        Unit of whole weights, as the user gave the weights.
    largest_weight : float
        Weight that counts as 1 in a block: the largest that the user gave, or a power of two above it; 1 where none
        were given.
    role_weights : ndarray of shape (n_label_columns, 3)
        Weight of the rows of each role, by label column.
    n_vanishing : int, default=0
        Rows with weight whose weight is 0 in units.
    """

    loss: Loss
    baseline: FloatArray
    binning: Binning
    weight_unit: float
    largest_weight: float
    role_weights: FloatArray
    n_vanishing: int = 0

    @property
    def units(self) -> tuple[float, float, float]:
        """Units of g, h and weights."""
        largest = self.largest_weight
        return self.loss.unit_g * largest, self.loss.unit_h * largest, self.weight_unit

    @property
    def loss_unit(self) -> float:
        """Unit of the sums of losses."""
        return self.loss.loss_unit * self.largest_weight

    @property
    def loss_units(self) -> tuple[float, float]:
        """Units of the two words of a sum of losses."""
        return self.loss_unit, ldexp(self.loss_unit, -self.loss.bits)


class PlanQuestion(Protocol):
    """A question about rows, answered for each partition of them."""

    def __call__(self, part: GradientPart) -> Any:
        """Return the answer for a partition."""

    def merged(self, answers: Sequence[Any]) -> Any:
        """Return the answer for all rows from those of the partitions, in their order."""


@dataclass(frozen=True)
class AboutBins:
    """Asks what the edges between bins follow from, of the rows that count."""

    question: ViewQuestion

    def __call__(self, part: GradientPart) -> Any:
        return self.question(part.used_view(), part.first)

    def merged(self, answers: Sequence[Any]) -> Any:
        """Return the answer for all rows."""
        return self.question.merged(list(answers))


@dataclass(frozen=True)
class LabelSums:
    """Asks for whole weights, by label column and role and by class, the largest size of a target, and lost weights.

    For a regression `n_classes` is 0.
    """

    n_classes: int

    def __call__(self, part: GradientPart) -> tuple[IntArray, IntArray, float, int]:
        role_weights = np.zeros((len(part.labels), N_ROLES), dtype=np.int64)
        class_weights = np.zeros(self.n_classes, dtype=np.int64)
        counts = part.counts
        for column, labels in enumerate(part.labels):
            labelled = part.labelled(column)
            np.add.at(role_weights[column], part.roles[labelled], counts[labelled])
            if self.n_classes:
                trained = labelled & (part.roles == TRAINING)
                np.add.at(class_weights, labels[trained], counts[trained])
        largest = 0.0 if self.n_classes else float(np.abs(part.training()[0]).max(initial=0.0))
        n_vanishing = int(np.count_nonzero(counts[part.roles != UNUSED] == 0))
        return role_weights, class_weights, largest, n_vanishing

    def merged(self, answers: Sequence[tuple[IntArray, IntArray, float, int]]) -> tuple[IntArray, IntArray, float, int]:
        """Return the sums and the largest of all rows."""
        role_weights, class_weights, largest, n_vanishing = zip(*answers)
        return np.sum(role_weights, axis=0), np.sum(class_weights, axis=0), max(largest), sum(n_vanishing)


@dataclass(frozen=True)
class TargetSum:
    """Asks for the weighted sum of the targets of training rows, in units."""

    unit: float

    def __call__(self, part: GradientPart) -> int:
        return whole_product(*part.training(), self.unit)

    def merged(self, answers: Sequence[int]) -> int:
        """Return the sum of all rows."""
        return sum(answers)


@dataclass(frozen=True)
class TargetDigits:
    """Asks for the weights of the targets of training rows by a digit, given the earlier ones (see `gradients`)."""

    prefix: int
    digit: int

    def __call__(self, part: GradientPart) -> IntArray:
        rows = np.flatnonzero(part.roles == TRAINING).astype(np.int32)
        weights = np.empty(0, dtype=np.int32) if part.whole_weights is None else part.whole_weights
        sums = np.zeros(N_DIGITS, dtype=np.int64)
        add_digit_weights(np.zeros(len(part.roles)), part.labels[0], weights, rows, self.prefix, self.digit, sums)
        return sums

    def merged(self, answers: Sequence[IntArray]) -> IntArray:
        """Return the sums of all rows."""
        return np.sum(answers, axis=0)


@dataclass(frozen=True)
class LargestResidual:
    """Asks how far from the first score a target of the training rows is at most."""

    baseline: float

    def __call__(self, part: GradientPart) -> float:
        return float(np.abs(part.training()[0] - self.baseline).max(initial=0.0))

    def merged(self, answers: Sequence[float]) -> float:
        """Return the largest of all rows."""
        return max(answers)


@dataclass(frozen=True)
class ContentHashes:
    """Asks for numbers that stand for the values, the labels, the weights and the roles of the rows in their order."""

    def __call__(self, part: GradientPart) -> tuple[int, tuple[int, ...], set[str]]:
        table = part.view.table
        weights = np.ones(len(table)) if part.weights is None else part.weights
        contents = table, np.column_stack(part.labels), weights[:, None], part.roles[:, None]
        return len(table), tuple(map(fingerprint, contents)), {str(table.dtype)} if len(table) else set()

    def merged(self, answers: Sequence[tuple[int, tuple[int, ...], set[str]]]) -> dict[str, int | bool | str]:
        """Return the rows in a few words."""
        n_rows = [n for n, _, _ in answers]
        hashes = [f"{joined(zip(n_rows, numbers)):016x}" for numbers in zip(*(numbers for _, numbers, _ in answers))]
        return {
            "rows": sum(n_rows),
            "kind of numbers": ", ".join(sorted(set().union(*(kinds for _, _, kinds in answers)))),
            **dict(zip(("content of X", "labels", "sample_weight", "rows held out"), hashes)),
        }


@dataclass(frozen=True)
class LossPlan:
    """The loss, the scores that lower it most without any tree, whole weights, and rows that lose theirs."""

    loss: Loss
    baseline: FloatArray
    role_weights: IntArray
    n_vanishing: int


LossPlanning: TypeAlias = Generator[PlanQuestion, Any, LossPlan]


@dataclass(frozen=True)
class FirstScores:
    """Scores at which a run that is continued began, and how far its trees may have moved them from there."""

    baseline: FloatArray
    reach: float


def loss_planning(
    n_classes: int, n_rows: int, quantile: float | None, continued: FirstScores | None = None
) -> LossPlanning:
    """Return the generator of a loss: it yields questions about the rows and is sent the answers.

    Parameters
    ----------
    n_classes : int
        Number of classes; 0 for a regression.
    n_rows : int
        Number of all rows.
    quantile : float or None
        Quantile of a regression; None for the squared error, and for classes.
    continued : FirstScores or None, default=None
        Where the run began that is continued, perhaps on other rows.
    """
    role_weights, class_weights, largest, n_vanishing = yield LabelSums(n_classes)
    if n_classes:
        loss = log_loss(n_classes, n_rows)
        first = loss.baseline(class_weights.astype(np.float64)) if continued is None else continued.baseline
        return LossPlan(loss, first, role_weights, n_vanishing)
    weight = int(role_weights[0, TRAINING])
    baseline = 0.0
    if quantile is not None:
        rank, prefix = quantile_rank(quantile, weight), 0
        for digit in range(n_digits()):
            rank, prefix = narrowed((yield TargetDigits(prefix, digit)), rank, prefix, digit)
        baseline = value_of_digits(prefix)
    elif largest > 0:
        unit = value_unit(largest)
        baseline = unit * ((yield TargetSum(unit)) / weight)
    reach = 0.0
    if continued is not None and baseline != continued.baseline[0]:  # on other rows than before
        baseline, reach = float(continued.baseline[0]), continued.reach
    largest_residual = reach + (yield LargestResidual(baseline))
    measured = regression_loss(largest_residual, n_rows, quantile)
    return LossPlan(measured, np.array([baseline]), role_weights, n_vanishing)


def power_of_two(number: float) -> float:
    """Return the least power of two that is not below a number."""
    mantissa, exponent = frexp(number)
    return ldexp(1.0, exponent - 1 if mantissa == 0.5 else exponent)


def value_unit(largest: float) -> float:
    """Return the unit in which values up to the given size are whole numbers of 54 bits."""
    return ldexp(1.0, frexp(largest)[1] - 3 * LIMB_BITS)


def whole_product(values: FloatArray, weights: IntArray, unit: float) -> int:
    """Return the sum of the products of values, in units, and whole weights, exactly.

    Values of 54 bits are cut into limbs of 18, weights of 30 into limbs of 15: sums of their products fit into 64 bits
    for 2³⁰ rows.
    """
    whole_values = np.rint(values / unit).astype(np.int64)
    whole_weights = weights.astype(np.int64)
    total = 0
    for part in range(3):
        limb = whole_values >> (LIMB_BITS * part)
        limb = limb if part == 2 else limb & (2**LIMB_BITS - 1)
        for half in range(2):
            factor = whole_weights >> WEIGHT_LIMB_BITS if half else whole_weights & (2**WEIGHT_LIMB_BITS - 1)
            total += int((limb * factor).sum()) << (LIMB_BITS * part + WEIGHT_LIMB_BITS * half)
    return total
