"""Training data of gradient boosting, and the plan of a run that follows from all rows: bins, units, first scores.

The plan is made of whole sums over rows, so that it is the same wherever the rows are. `LocalGradientData` has them in
memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from fuselearn.backends.partitioned.storage import ArrayStore
from fuselearn.boosting.gradient.gradient_folds import FoldOfView, FoldSums, FoldWeights
from fuselearn.boosting.gradient.gradient_plan import (
    AboutBins,
    ContentHashes,
    FirstScores,
    GradientPart,
    GradientPlan,
    LargestResidual,
    PlanQuestion,
    WeightScale,
    loss_planning,
)
from fuselearn.boosting.gradient.gradient_rounds import GradientRows
from fuselearn.boosting.gradient.gradient_rows import BlockSettings
from fuselearn.boosting.gradient.local_gradient_rows import LocalGradientRows
from fuselearn.boosting.gradient.losses import LogLoss, RegressionLoss, log_loss, regression_loss
from fuselearn.boosting.gradient.splitting import GrowthSettings
from fuselearn.data import TrainingData, View
from fuselearn.data.categories import Categories
from fuselearn.data.held_out import held_out_rows
from fuselearn.data.training_data import RegressionData
from fuselearn.data.view_table import Features
from fuselearn.learners.binning import Binning
from fuselearn.learners.protocol import run_reductions
from fuselearn.numeric.gradients import HELD_OUT, TRAINING, UNUSED
from fuselearn.numeric.threads import Threads
from fuselearn.typing import AnyArray, BoolArray, IntArray

SKETCH_ROWS = 2**16
"""Rows whose values place the edges between the bins."""
SHARED_ROW_BYTES = 8 + 8 + 4 + 1 + 1
"""Bytes of a row in all runs of a cross-fitting: label, weight and the same in units, role, fold. With them come a byte
for each bin and for each view that the row may have."""
RUN_ROW_BYTES = 4 + 4 + 8 + 4 + 1
"""Bytes of a row in one run: its number by leaf, scratch for that and for the rows of a root, weight in units, role."""
RUN_OUTPUT_BYTES = 8 + 8 + 4 + 2
"""Bytes of a row in one run for each score: score, gradient, second derivative, and leaf of the last tree."""


@dataclass(frozen=True)
class FoldPlan:
    """What the runs of a cross-fitting have to know about all rows, and the plan of each of them.

    Attributes
    ----------
    loss : LogLoss or RegressionLoss
        The loss, with its units.
    binning : Binning
        Edges between the bins, the same for all runs.
    scale : WeightScale
        What the weights of rows are to a block.
    sums : FoldSums
        Whole weights by view, fold and class.
    n_counted : int
        Number of rows with weight.
    """

    loss: LogLoss | RegressionLoss
    binning: Binning
    scale: WeightScale
    sums: FoldSums
    n_counted: int

    @property
    def mean_weight(self) -> float:
        """Mean weight of a row with weight, in the units of the runs."""
        return float(self.sums.weights[-1].sum()) * self.scale.unit / self.n_counted

    def plan(self, rows: FoldOfView) -> GradientPlan:
        """Return the plan of a run."""
        role_weights, class_weights = self.sums.of_run(rows)
        if not class_weights.any():  # no row of the other folds has the view
            class_weights = np.ones_like(class_weights)
        return GradientPlan(
            self.loss,
            # Targets of a regression are about their mean.
            self.loss.baseline(class_weights.astype(np.float64)) if isinstance(self.loss, LogLoss) else np.zeros(1),
            self.binning,
            self.scale.unit,
            self.scale.one,
            role_weights * self.scale.unit,
        )


class FoldRuns(Protocol):
    """Prepared rows on which the runs of a cross-fitting are started.

    Attributes
    ----------
    side_by_side : bool
        Whether several runs may go on at the same time, in threads; else a run ends where the next one starts.
    """

    side_by_side: bool

    def start(self, rows: FoldOfView, growth: GrowthSettings, threads: Threads) -> GradientRows:
        """Return the rows at the scores before the first round of a run."""


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
            plans["loss"].n_vanishing,
        )

    def fold_plan(self, n_folds: int, max_bins: int, seed: int) -> FoldPlan:
        """Make the plan of a cross-fitting of classes, with one label for each row, or of targets with a mean of 0.

        Parameters
        ----------
        n_folds : int
            Number of folds; each row was given one of them.
        max_bins : int
            Most bins of a column.
        seed : int
            Seed of the rows that place the edges between bins.
        """
        if self.n_label_columns != 1:
            raise ValueError("Folds need one label for each row.")
        n_classes = 0 if self.classes is None else len(self.classes)

        def ask(question: PlanQuestion) -> Generator[PlanQuestion, Any, Any]:
            return (yield question)

        planning: dict[str, Generator[Any, Any, Any]] = {"sums": ask(FoldWeights(n_folds, n_classes))}
        if not n_classes:
            planning["largest"] = ask(LargestResidual(0.0))
        binning = self._known_binning()
        if binning is None:
            generator = np.random.SeedSequence(seed)
            planning["bins"] = Binning.planning(
                len(self.used_columns), self.n_counted, max_bins, generator, SKETCH_ROWS
            )
        plans: dict[str, Any] = run_reductions(planning, self._plan_answers)
        return FoldPlan(
            # By the rows that count: whether others were dropped before must not matter.
            log_loss(n_classes, self.n_counted)
            if n_classes
            else regression_loss(plans["largest"], self.n_counted, None),
            self.with_categories(plans["bins"]) if binning is None else binning,
            self.weight_scale,
            FoldSums(plans["sums"]),
            self.n_counted,
        )

    def _known_binning(self) -> Binning | None:
        """Return the bins of rows that were binned before; None where they were not."""
        return None

    @abstractmethod
    def fold_runs(self, plan: FoldPlan, threads: Threads) -> AbstractContextManager[FoldRuns]:
        """Return a context manager that yields the rows in their bins, for the runs of a cross-fitting."""

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
        self._binned: tuple[Binning, IntArray] | None = None
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

    def divide(self, folds: IntArray) -> None:
        """Set the fold of each row, for a cross-fitting.

        Parameters
        ----------
        folds : int8 ndarray of shape (n_rows,)
            Numbers of folds, from 0; see `fuselearn.data.folds`.
        """
        scale = self.weight_scale = replace(self.weight_scale, whole=True)
        weights = (
            None if self._part.weights is None else scale.of_block(self._part.weights * (scale.one / scale.largest))
        )
        self._part = replace(self._part, folds=folds, weights=weights)

    @contextmanager
    def rows(self, plan: GradientPlan, growth: GrowthSettings, threads: Threads) -> Iterator[GradientRows]:
        """Yield the rows at the scores before the first round; see `GradientData.rows`."""
        block = self._part.block(self.block_settings(plan), plan.binning, ArrayStore(), threads)
        yield LocalGradientRows(block, growth, threads)

    def part_of(self, rows: FoldOfView) -> GradientPart:
        """Return the rows with the roles that they have in a run of a cross-fitting."""
        return self._part.of_run(rows)

    @contextmanager
    def fold_runs(self, plan: FoldPlan, threads: Threads) -> Iterator[FoldRuns]:
        """Yield the rows in their bins; see `GradientData.fold_runs`."""
        if self._binned is None:
            self._binned = plan.binning, plan.binning.prepare(self._part.view, threads).bins
        yield LocalFoldRuns(self, plan, self._part, self._binned[1])

    def _known_binning(self) -> Binning | None:
        """Return the bins of rows that were binned before; None where they were not."""
        return None if self._binned is None else self._binned[0]

    def _answers(self, questions: Mapping[str, PlanQuestion]) -> dict[str, Any]:
        """Return the answers to questions about all rows; see `GradientData._answers`."""
        return {name: question.merged([question(self._part)]) for name, question in questions.items()}

    def _hold_out(self, fraction: float, seed: int) -> None:
        """Give some of the rows the role of held-out ones."""
        codes, used = self._classes_to_hold_out, self._part.roles != UNUSED
        held_out = held_out_rows(codes, self.n_rows, fraction, seed, self._groups, used, classes=self.classes)
        self._part.roles[held_out] = HELD_OUT


class LocalFoldRuns:
    """Rows in memory, in their bins; see `FoldRuns`.

    Parameters
    ----------
    data : GradientData
        The training data.
    plan : FoldPlan
        The plan of all runs.
    part : GradientPart
        All rows, with folds.
    bins : uint8 ndarray of shape (n_columns, n_rows)
        Bins of the rows.
    """

    side_by_side = True

    def __init__(self, data: GradientData, plan: FoldPlan, part: GradientPart, bins: IntArray) -> None:
        self._data, self._plan, self._part, self._bins = data, plan, part, bins

    @staticmethod
    def bytes_of_row(n_columns: int, n_views: int, n_outputs: int, n_runs: int) -> int:
        """Return the most memory that a row takes: twice what runs share while partitions are joined, or that and what
        so many runs need that go on at the same time."""
        shared = n_columns + n_views + SHARED_ROW_BYTES
        return shared + max(shared, n_runs * (RUN_ROW_BYTES + n_outputs * RUN_OUTPUT_BYTES))

    def start(self, rows: FoldOfView, growth: GrowthSettings, threads: Threads) -> GradientRows:
        """Return the rows at the scores before the first round of a run; see `FoldRuns.start`."""
        plan, part = self._plan.plan(rows), self._part.of_run(rows)
        block = part.block(self._data.block_settings(plan), plan.binning, ArrayStore(), threads, self._bins)
        return LocalGradientRows(block, growth, threads)
