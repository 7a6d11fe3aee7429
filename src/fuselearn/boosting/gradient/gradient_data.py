"""Training data of gradient boosting, and the plan of a run that follows from all rows: bins, units, first scores.

The plan is made of whole sums over rows, so that it is the same wherever the rows are. `LocalGradientData` has them in
memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from math import frexp, ldexp

import numpy as np

from fuselearn.backends.partitioned.storage import ArrayStore
from fuselearn.boosting.gradient.gradient_rounds import GradientRows
from fuselearn.boosting.gradient.gradient_rows import BlockSettings, FinishedTree, GradientBlock, Question, TreeRequest
from fuselearn.boosting.gradient.growth import HistogramLeaves
from fuselearn.boosting.gradient.losses import Loss, log_loss, quantile_rank, regression_loss
from fuselearn.boosting.gradient.splitting import GrowthSettings
from fuselearn.data import TrainingData, View, ViewBlocks
from fuselearn.data.categories import Categories
from fuselearn.data.held_out import held_out_rows
from fuselearn.data.training_data import RegressionData
from fuselearn.data.view_table import Features
from fuselearn.learners.binning import Binning
from fuselearn.learners.protocol import run_reduction
from fuselearn.numeric.execution import Threads
from fuselearn.numeric.gradients import HELD_OUT, N_ROLES, TRAINING, UNUSED, WEIGHT_UNIT
from fuselearn.typing import AnyArray, BoolArray, FloatArray, IntArray

SKETCH_ROWS = 2**16
"""Rows whose values place the edges between the bins."""
LIMB_BITS, WEIGHT_LIMB_BITS = 18, 15


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
    """

    loss: Loss
    baseline: FloatArray
    binning: Binning
    weight_unit: float
    largest_weight: float
    role_weights: FloatArray

    @property
    def units(self) -> tuple[float, float, float]:
        """Units of g, h and weights."""
        largest = self.largest_weight
        return self.loss.unit_g * largest, self.loss.unit_h * largest, self.weight_unit

    @property
    def loss_unit(self) -> float:
        """Unit of the sums of losses."""
        return self.loss.loss_unit * self.largest_weight

    def starting_at(self, baseline: FloatArray) -> GradientPlan:
        """Return the plan of a run that is continued, whose scores began elsewhere."""
        return replace(self, baseline=baseline)


class GradientData(ABC):
    """Training data of a run, wherever they are.

    Attributes
    ----------
    names : list of str
        Names of the views.
    columns : list of intp ndarray
        Columns of X of each view.
    classes : ndarray or None
        The classes; None for a regression.
    features : dict
        ``n_features_in_`` and, for a data frame, ``feature_names_in_``.
    categories : Categories or None
        Categories of the categorical columns.
    n_label_columns : int
        Number of label columns: one, or one for each view.
    n_counted : int
        Number of rows with weight.
    """

    names: list[str]
    columns: list[IntArray]
    classes: AnyArray | None
    features: Features
    categories: Categories | None
    n_label_columns: int
    n_counted: int

    @property
    def used_columns(self) -> IntArray:
        """Columns of X that are in a view, increasing. In a run, columns are numbered by their places among these."""
        return np.unique(np.concatenate(self.columns))

    @property
    def view_places(self) -> list[IntArray]:
        """Places of the columns of each view among the used ones."""
        return [np.searchsorted(self.used_columns, columns) for columns in self.columns]

    @property
    def categorical(self) -> BoolArray:
        """Whether each of the used columns is categorical."""
        if self.categories is None:
            return np.zeros(len(self.used_columns), dtype=bool)
        return np.isin(self.used_columns, self.categories.columns)

    @abstractmethod
    def plan(
        self, max_bins: int, held_out: float | None, quantile: float | None, seed: int, binning: Binning | None
    ) -> GradientPlan:
        """Make the plan of a run.

        Parameters
        ----------
        max_bins : int
            Most bins of a column.
        held_out : float or None
            Share of the rows that early stopping holds out; None without early stopping.
        quantile : float or None
            Quantile of a regression; None for the squared error, and for classes.
        seed : int
            Seed of all draws.
        binning : Binning or None
            Bins of the run that is continued; None for new ones.
        """

    @abstractmethod
    def rows(
        self, plan: GradientPlan, growth: GrowthSettings, threads: Threads
    ) -> AbstractContextManager[GradientRows]:
        """Return a context manager that yields the rows at the scores before the first round."""

    @abstractmethod
    def fingerprint(self) -> dict[str, int | bool | str]:
        """Return the rows, their labels and weights in a few words, by which other data are recognised."""

    def block_settings(self, plan: GradientPlan) -> BlockSettings:
        """Return the settings that all blocks of rows share."""
        return BlockSettings(
            plan.loss,
            plan.baseline,
            self.view_places,
            np.arange(len(self.used_columns)),
            plan.binning.n_edges + 1,
            plan.binning.n_bins,
        )

    def with_categories(self, binning: Binning) -> Binning:
        """Return bins in which that of a category is its code."""
        if self.categories is None or not self.categorical.any():
            return binning
        counts = dict(zip(self.categories.columns, map(len, self.categories.values)))
        n_edges = binning.n_edges.copy()
        for place in np.flatnonzero(self.categorical):
            n_edges[place] = max(counts[int(self.used_columns[place])] - 1, 0)
        edges = np.full((len(n_edges), max(binning.edges.shape[1], int(n_edges.max(initial=0)))), np.inf)
        edges[:, : binning.edges.shape[1]] = binning.edges
        for place in np.flatnonzero(self.categorical):
            edges[place] = np.inf
            edges[place, : n_edges[place]] = np.arange(n_edges[place]) + 0.5
        return Binning(edges, n_edges)


class LocalGradientData(GradientData):
    """Rows in memory.

    Parameters
    ----------
    data : TrainingData or RegressionData
        The rows as they were read, in units of the largest weight.
    largest_weight : float
        Largest weight that the user gave.
    categories : Categories or None
        Categories of the categorical columns, which are encoded in `data`.
    """

    def __init__(
        self, data: TrainingData | RegressionData, largest_weight: float, categories: Categories | None
    ) -> None:
        self.names, self.columns, self.features, self.categories = data.names, data.columns, data.features, categories
        self.n_counted = data.n_counted
        self._data = data
        self._weights: FloatArray | None
        self._whole_weights: IntArray | None
        self._blocks: ViewBlocks = data.blocks
        self._largest_weight = largest_weight
        self._labels: list[AnyArray]
        if isinstance(data, RegressionData):
            self.classes, self._labels = None, [data.target]
        else:
            self.classes = data.classes
            # Codes of absent views are never read.
            codes = np.maximum(data.codes, 0)
            self._labels = [np.ascontiguousarray(column) for column in codes.T]
        self.n_label_columns = len(self._labels)
        used = data.weights > 0
        self._used = used
        if np.all(data.weights[used] == 1.0):
            self._weights = self._whole_weights = None
        else:
            # By a power of two instead of the largest weight: whole weights of the user's stay whole.
            self._largest_weight = power_of_two(largest_weight)
            self._weights = data.weights * (largest_weight / self._largest_weight)
            self._whole_weights = np.rint(self._weights / WEIGHT_UNIT).astype(np.int32)
        self._roles = np.where(used, np.int8(TRAINING), np.int8(UNUSED))

    def plan(
        self, max_bins: int, held_out: float | None, quantile: float | None, seed: int, binning: Binning | None
    ) -> GradientPlan:
        """Make the plan of a run; see `GradientData.plan`."""
        if held_out is not None:
            self._hold_out(held_out, seed)
        weight_unit = self._largest_weight * (1.0 if self._whole_weights is None else WEIGHT_UNIT)
        whole = np.ones(len(self._roles), dtype=np.int64) if self._whole_weights is None else self._whole_weights
        role_weights = np.zeros((self.n_label_columns, N_ROLES), dtype=np.int64)
        for column in range(self.n_label_columns):
            seen = self._seen(column)
            np.add.at(role_weights[column], self._roles[seen], whole[seen])
        loss, baseline = self._loss(whole, quantile)
        return GradientPlan(
            loss,
            baseline,
            self._binning(max_bins, seed) if binning is None else binning,
            weight_unit,
            self._largest_weight,
            role_weights * weight_unit,
        )

    @contextmanager
    def rows(self, plan: GradientPlan, growth: GrowthSettings, threads: Threads) -> Iterator[GradientRows]:
        """Yield the rows at the scores before the first round; see `GradientData.rows`."""
        present = [None if mask.all() else mask for mask in self._blocks.present.T]
        block = GradientBlock(
            self.block_settings(plan),
            ArrayStore(),
            plan.binning.prepare(self._view(), threads).bins,
            self._labels,
            self._weights,
            self._whole_weights,
            self._roles,
            present,
        )
        yield LocalGradientRows(block, growth, threads)

    def fingerprint(self) -> dict[str, int | bool | str]:
        """Return the rows, their labels and weights in a few words; see `GradientData.fingerprint`."""
        raise NotImplementedError

    def _hold_out(self, fraction: float, seed: int) -> None:
        """Give some of the rows the role of held-out ones."""
        codes = None if isinstance(self._data, RegressionData) else self._data.majority()
        held_out = held_out_rows(
            codes, len(self._roles), fraction, seed, self._data.groups, self._used, classes=self.classes
        )
        self._roles[held_out] = HELD_OUT

    def _seen(self, label_column: int) -> BoolArray:
        """Return the rows that have a label in a column: all of them, or those that have its view."""
        return self._blocks.present[:, label_column] if self.n_label_columns > 1 else self._used

    def _loss(self, whole_weights: IntArray, quantile: float | None) -> tuple[Loss, FloatArray]:
        """Return the loss, and the scores that lower it most without any tree."""
        training = self._roles == TRAINING
        n_rows = len(self._roles)
        if self.classes is not None:
            class_weights = np.zeros(len(self.classes), dtype=np.int64)
            for column, codes in enumerate(self._labels):
                counted = training & self._seen(column)
                np.add.at(class_weights, codes[counted], whole_weights[counted])
            loss = log_loss(len(self.classes), n_rows)
            return loss, loss.baseline(class_weights.astype(np.float64))
        target, weights = self._labels[0][training], whole_weights[training].astype(np.int64)
        baseline = whole_mean(target, weights) if quantile is None else whole_quantile(target, weights, quantile)
        largest = float(np.abs(target - baseline).max())
        return regression_loss(largest, n_rows, quantile), np.array([baseline])

    def _view(self) -> View:
        """Return all rows of the used columns."""
        table = self._blocks.views[0].table
        return View("", table, self.used_columns, None)

    def _binning(self, max_bins: int, seed: int) -> Binning:
        """Place the edges of the bins by the rows that count."""
        view = self._view()
        if not self._used.all():
            view = replace(view, rows=np.flatnonzero(self._used))
        generator = np.random.SeedSequence(seed)
        planning = Binning.planning(len(view.columns), len(view), max_bins, generator, SKETCH_ROWS)
        binning = run_reduction(planning, lambda question: question.merged([question(view, 0)]))
        assert isinstance(binning, Binning)
        return self.with_categories(binning)


class LocalGradientRows:
    """Rows in memory; see `fuselearn.boosting.gradient.gradient_rounds.GradientRows`."""

    def __init__(self, block: GradientBlock, growth: GrowthSettings, threads: Threads) -> None:
        self._block, self._growth, self._threads = block, growth, threads

    def ask(
        self,
        rounds: Sequence[Sequence[FinishedTree]],
        questions: Sequence[Question],
        next_tree: TreeRequest | None = None,
    ) -> list[tuple[IntArray, ...]]:
        """Add the trees of all rounds so far to the scores, and answer questions; see `GradientRows.ask`."""
        self._block.update(rounds, 0, self._threads)
        return self._block.answer(questions, self._threads)

    def leaves(self, request: TreeRequest, rounds: Sequence[Sequence[FinishedTree]]) -> HistogramLeaves:
        """Return the leaves of a new tree; see `GradientRows.leaves`."""
        return HistogramLeaves(
            request,
            self._block.settings.columns(request.view),
            self._growth,
            lambda questions: self.ask(rounds, questions),
            expands_ahead=False,
            threads=self._threads,
        )


def power_of_two(number: float) -> float:
    """Return the least power of two that is not below a number."""
    mantissa, exponent = frexp(number)
    return ldexp(1.0, exponent - 1 if mantissa == 0.5 else exponent)


def whole_mean(values: FloatArray, weights: IntArray) -> float:
    """Return the weighted mean of values, from whole sums."""
    total = int(weights.sum())
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0 or total == 0:
        return 0.0
    unit = value_unit(largest)
    return unit * (whole_product(values, weights, unit) / total)


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


def whole_quantile(values: FloatArray, weights: IntArray, quantile: float) -> float:
    """Return the smallest of the values up to which they have at least the given share of all weights."""
    order = np.argsort(values, kind="stable")
    up_to = np.cumsum(weights[order])
    place = int(np.searchsorted(up_to, quantile_rank(quantile, int(up_to[-1]))))
    return float(values[order[place]])
