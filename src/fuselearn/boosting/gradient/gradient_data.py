"""Training data of gradient boosting, and the plan of a run that follows from all rows: bins, units, first scores.

The plan is made of whole sums over rows, so that it is the same wherever the rows are. `LocalGradientData` has them in
memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from math import ldexp
from typing import Any

import numpy as np

from fuselearn.backends.partitioned.storage import ArrayStore
from fuselearn.boosting.gradient.gradient_plan import (
    AboutBins,
    ContentHashes,
    FirstScores,
    GradientPart,
    PlanQuestion,
    WeightScale,
    loss_planning,
)
from fuselearn.boosting.gradient.gradient_rounds import GradientRows
from fuselearn.boosting.gradient.gradient_rows import BlockSettings, FinishedTree, GradientBlock, Question, TreeRequest
from fuselearn.boosting.gradient.growth import HistogramLeaves, WholeTreeLeaves
from fuselearn.boosting.gradient.losses import Loss
from fuselearn.boosting.gradient.splitting import GrowthSettings
from fuselearn.data import TrainingData, View
from fuselearn.data.categories import Categories
from fuselearn.data.held_out import held_out_rows
from fuselearn.data.training_data import RegressionData
from fuselearn.data.view_table import Features
from fuselearn.learners.binning import Binning
from fuselearn.learners.protocol import run_reductions
from fuselearn.numeric.execution import Scratch, Threads
from fuselearn.numeric.gradients import HELD_OUT, TRAINING, UNUSED
from fuselearn.numeric.whole_tree import GrowthMemory
from fuselearn.typing import AnyArray, BoolArray, FloatArray, IntArray

SKETCH_ROWS = 2**16
"""Rows whose values place the edges between the bins."""


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

    @property
    def loss_units(self) -> tuple[float, float]:
        """Units of the two words of a sum of losses."""
        return self.loss_unit, ldexp(self.loss_unit, -self.loss.bits)


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
    n_rows, n_counted : int
        Number of all rows, and of those with weight.
    weight_scale : WeightScale
        What the weights of rows are to a block.
    """

    names: list[str]
    columns: list[IntArray]
    classes: AnyArray | None
    features: Features
    categories: Categories | None
    n_label_columns: int
    n_rows: int
    n_counted: int
    weight_scale: WeightScale

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

    def plan(
        self,
        max_bins: int,
        held_out: float | None,
        quantile: float | None,
        seed: int,
        binning: Binning | None,
        continued: FirstScores | None = None,
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
        continued : FirstScores or None, default=None
            Where the run began that is continued; None for a new one.
        """
        if held_out is not None:
            self._hold_out(held_out, seed)
        n_classes = 0 if self.classes is None else len(self.classes)
        planning: dict[str, Generator[Any, Any, Any]] = {
            "loss": loss_planning(n_classes, self.n_rows, quantile, continued)
        }
        if binning is None:
            generator = np.random.SeedSequence(seed)
            planning["bins"] = Binning.planning(
                len(self.used_columns), self.n_counted, max_bins, generator, SKETCH_ROWS
            )
        # Both side by side: where rows are read anew for each question, they are read for both.
        plans: dict[str, Any] = run_reductions(planning, self._plan_answers)
        return GradientPlan(
            plans["loss"].loss,
            plans["loss"].baseline,
            self.with_categories(plans["bins"]) if binning is None else binning,
            self.weight_scale.unit,
            self.weight_scale.one,
            plans["loss"].role_weights * self.weight_scale.unit,
        )

    def _plan_answers(self, questions: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answers to the questions about the loss and about the bins."""
        return self._answers(
            {name: AboutBins(question) if name == "bins" else question for name, question in questions.items()}
        )

    def fingerprint(self) -> dict[str, int | bool | str]:
        """Return the rows, their labels and weights in a few words, by which other data are recognised.

        The rows that early stopping holds out are among it once the plan is made.
        """
        return {**self._answers({"": ContentHashes()})[""], "view_labels": self.n_label_columns > 1}

    @abstractmethod
    def _answers(self, questions: Mapping[str, PlanQuestion]) -> dict[str, Any]:
        """Return the answers to questions about all rows."""

    @abstractmethod
    def _hold_out(self, fraction: float, seed: int) -> None:
        """Give some of the rows the role of held-out ones."""

    @abstractmethod
    def rows(
        self, plan: GradientPlan, growth: GrowthSettings, threads: Threads
    ) -> AbstractContextManager[GradientRows]:
        """Return a context manager that yields the rows at the scores before the first round."""

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
        self.n_rows, self.n_counted = len(data), data.n_counted
        labels: list[AnyArray]
        # Of `data` nothing else is kept: weights that are all equal, for one, take as much memory as the scores.
        self._groups = data.groups
        self._classes_to_hold_out: IntArray | None
        if isinstance(data, RegressionData):
            self.classes, labels, self._classes_to_hold_out = None, [data.target], None
        else:
            self.classes = data.classes
            # Codes of absent views are never read.
            labels = [np.ascontiguousarray(column) for column in np.maximum(data.codes, 0).T]
            self._classes_to_hold_out = labels[0] if len(labels) == 1 else data.majority()
        self.n_label_columns = len(labels)
        used = data.weights > 0
        self.weight_scale = WeightScale(largest_weight, bool(np.all(data.weights[used] == 1.0)))
        self._part = GradientPart(
            View("", data.blocks.views[0].table, self.used_columns, None),
            labels,
            self.weight_scale.of_block(data.weights),
            np.where(used, np.int8(TRAINING), np.int8(UNUSED)),
            data.blocks.present,
        )

    @contextmanager
    def rows(self, plan: GradientPlan, growth: GrowthSettings, threads: Threads) -> Iterator[GradientRows]:
        """Yield the rows at the scores before the first round; see `GradientData.rows`."""
        block = self._part.block(self.block_settings(plan), plan.binning, ArrayStore(), threads)
        yield LocalGradientRows(block, growth, threads)

    def _answers(self, questions: Mapping[str, PlanQuestion]) -> dict[str, Any]:
        """Return the answers to questions about all rows; see `GradientData._answers`."""
        return {name: question.merged([question(self._part)]) for name, question in questions.items()}

    def _hold_out(self, fraction: float, seed: int) -> None:
        """Give some of the rows the role of held-out ones."""
        codes, used = self._classes_to_hold_out, self._part.roles != UNUSED
        held_out = held_out_rows(codes, self.n_rows, fraction, seed, self._groups, used, classes=self.classes)
        self._part.roles[held_out] = HELD_OUT


WHOLE_TREE_BYTES = 2**28
"""Memory of histograms up to which a tree grows in one call. Leaf by leaf, leaves without a split give theirs back."""

WHOLE_TREE_CELLS = 2**23
"""Cells, rows times columns, below which several threads take longer than one that grows a tree in one call."""


class LocalGradientRows:
    """Rows in memory; see `fuselearn.boosting.gradient.gradient_rounds.GradientRows`."""

    def __init__(self, block: GradientBlock, growth: GrowthSettings, threads: Threads) -> None:
        self._block, self._growth, self._threads = block, growth, threads
        self._scratch = Scratch()

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
        columns, growth = self._block.settings.columns(request.view), self._growth

        def ask(questions: Sequence[Question]) -> list[tuple[IntArray, ...]]:
            return self.ask(rounds, questions)

        self._block.update(rounds, 0, self._threads)
        histograms = growth.max_leaf_nodes * len(columns) * 3 * self._block.settings.n_bins * 8
        is_large = self._threads.count > 1 and self._block.n_rows * len(columns) >= WHOLE_TREE_CELLS
        if is_large or histograms > WHOLE_TREE_BYTES:
            return HistogramLeaves(request, columns, growth, ask, expands_ahead=False, threads=self._threads)
        n_categorical = int(np.count_nonzero(growth.categorical[columns]))
        n_bins = self._block.settings.n_bins
        memory = GrowthMemory(len(columns), n_bins, growth.max_leaf_nodes, n_categorical, self._scratch)
        return WholeTreeLeaves(request, self._block, growth, ask, memory)
