"""The fit of a fusion on many rows in partitions: Dask collections, and Parquet files that are larger than memory.

Partitions become blocks (`fusion_rows.FusionBlock`), which stay where they are; boosted trees have blocks of their own,
of the same rows in their bins. What is as long as the rows stays there, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuselearn.backends.partitioned.partitions import AnsweringRows, Partitions, Recipe
from fuselearn.backends.partitioned.row_source import PartitionReader, PartitionSummary, RawPartition, Result, RowSource
from fuselearn.backends.partitioned.storage import ArrayStore
from fuselearn.boosting.gradient.partitioned_gradient_data import PartitionedGradientData
from fuselearn.data.folds import Folds
from fuselearn.fusion.base_models.boosted_trees import BoostedTreesArms
from fuselearn.fusion.counted_rows import FusionReader
from fuselearn.fusion.fusion_options import FusionLog, FusionOptions, n_folds_of
from fuselearn.fusion.fusion_rows import FusionBlock, FusionFrame, learnt_labels
from fuselearn.fusion.fusion_run import FusionResult, run_on_many_rows
from fuselearn.fusion.listed_suspects import ListedSuspects, list_suspects
from fuselearn.fusion.local_fusion import boosting_arms
from fuselearn.fusion.partitioned_fusion_data import PartitionedFusionData
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.typing import IntArray

VALUE_BYTES = 8
"""Bytes of the out-of-fold value of an arm for a row and a target."""


def fit_in_partitions(
    data: PartitionedFusionData, options: FusionOptions, threads: Threads, log: FusionLog | None = None
) -> tuple[FusionResult, ListedSuspects]:
    """Fit a fusion on many rows in partitions; return its result, and the labels that are most probably wrong."""
    n_folds = min(n_folds_of(len(data)), data.n_groups)
    n_features = int(data.features["n_features_in_"])
    frame = FusionFrame(data.names, data.columns, len(data.classes), len(data), n_folds, n_features)
    folds = data.folds(n_folds, options.seed)
    boosted: list[BoostedTreesArms] = []

    def boosting() -> BoostedTreesArms:
        boosted.append(boosting_arms(_gradient_data(data, folds), len(data), n_folds, options, threads))
        return boosted[0]

    recipe = FusionRecipe(data.reader, frame, folds, data.mean_weight, data.first_counted)
    rows = data.source.load_partitions(recipe, threads)
    try:
        result = run_on_many_rows(rows, frame, options, boosting, log)
        suspects = list_suspects(rows, result.updates, data.first_counted, judged=result.judged)
    finally:
        for arms in boosted:
            arms.close()
        rows.close()
    return result, suspects.renumbered(data.row_numbers(suspects.rows))


@dataclass(frozen=True)
class FusionRecipe:
    """All that is needed to make a block of the rows of a partition.

    Attributes
    ----------
    reader : FusionReader
        Reads the rows.
    frame : FusionFrame
        What all blocks have in common.
    folds : Folds
        Folds of all rows that count.
    mean_weight : float
        Mean weight of the rows that count.
    first_rows : intp ndarray of shape (n_partitions,)
        Rows that count before each partition.
    """

    reader: FusionReader
    frame: FusionFrame
    folds: Folds
    mean_weight: float
    first_rows: IntArray

    @property
    def plans(self) -> Sequence[Any]:
        """Objects that questions refer to: none."""
        return ()

    def build(self, raw: RawPartition, store: ArrayStore | None = None, threads: Threads = SERIAL) -> FusionBlock:
        """Prepare a partition; its arrays are kept in a store."""
        counted, first_row = self.reader.counted(raw), int(self.first_rows[raw.number])
        return FusionBlock(
            self.frame,
            counted.table,
            counted.present,
            counted.codes,
            counted.weights / self.mean_weight,
            self.folds.numbers(len(counted.rows), first_row=first_row, groups=counted.groups),
            first_row,
            store,
        )

    def later_bytes(self, n_rows: int) -> int:
        """Return the memory that a partition takes besides during the run: values of arms, and the posterior."""
        n_arms = 2 * (self.frame.n_views + 1)
        return VALUE_BYTES * n_rows * (n_arms * self.frame.n_targets + self.frame.n_classes)


@dataclass(frozen=True)
class LabelledRows:
    """Reads the rows of a partition that count, each with the one class that boosted trees learn, and its weight.

    Attributes
    ----------
    reader : FusionReader
        Reads the rows.
    mean_weight : float
        Mean weight of the rows that count.
    largest : float
        Largest of the weights that rows have here; 1 while it is not known.
    """

    reader: FusionReader
    mean_weight: float
    largest: float = 1.0

    def __call__(self, raw: RawPartition) -> RawPartition:
        """Return the rows of a partition, with class codes for labels."""
        counted, n_classes = self.reader.counted(raw), len(self.reader.reader.classes)
        codes, weights = learnt_labels(counted.codes, counted.weights / self.mean_weight, n_classes)
        return RawPartition(
            raw.place, counted.table, codes, weights / self.largest, None, counted.groups, number=raw.number
        )


def extreme_weights(raw: RawPartition, labelled: LabelledRows) -> tuple[float, float]:
    """Return the least and the largest weight of a partition."""
    weights = labelled(raw).weights
    assert weights is not None
    return float(weights.min(initial=np.inf)), float(weights.max(initial=0.0))


def call_on_labelled(
    raw: RawPartition, labelled: LabelledRows, function: Callable[..., Result], *arguments: object
) -> Result:
    """Call a function on the rows of a partition that count."""
    return function(labelled(raw), *arguments)


@dataclass(frozen=True)
class LabelledRecipe:
    """A recipe for the rows of partitions that count."""

    recipe: Recipe
    labelled: LabelledRows

    @property
    def plans(self) -> Sequence[Any]:
        """Objects that updates and questions refer to; see `Recipe.plans`."""
        return self.recipe.plans

    def build(self, raw: RawPartition, store: ArrayStore | None = None, threads: Threads = SERIAL) -> AnsweringRows:
        """Prepare a partition; see `Recipe.build`."""
        return self.recipe.build(self.labelled(raw), store, threads)

    def later_bytes(self, n_rows: int) -> int:
        """Return the memory that a partition takes later; see `Recipe.later_bytes`."""
        return self.recipe.later_bytes(n_rows)


class LabelledSource(RowSource):
    """The rows of a source that count, each with one class."""

    def __init__(self, source: RowSource, labelled: LabelledRows) -> None:
        self._source, self._labelled = source, labelled
        self.description, self.n_features = source.description, source.n_features
        self.column_names, self.empty_table = source.column_names, source.empty_table
        self.has_view_labels, self.has_groups, self.is_far = False, source.has_groups, source.is_far

    def check_view_labels(self, names: list[str]) -> None:
        """Check nothing: there are no view labels."""

    def map(
        self, function: Callable[..., Result], *arguments: object, each: Sequence[object] | None = None
    ) -> Sequence[Result]:
        """Call a function on each partition; see `RowSource.map`."""
        return self._source.map(call_on_labelled, self._labelled, function, *arguments, each=each)

    def load_partitions(self, recipe: Recipe, threads: Threads) -> Partitions:
        """Build all partitions where they are to stay; see `RowSource.load_partitions`."""
        return self._source.load_partitions(LabelledRecipe(recipe, self._labelled), threads)


def _gradient_data(data: PartitionedFusionData, folds: Folds) -> PartitionedGradientData:
    """Return the rows as boosted trees take them."""
    labelled = LabelledRows(data.reader, data.mean_weight)
    if data.source.has_view_labels:
        extremes = data.source.map(extreme_weights, labelled)
    else:
        mean = data.mean_weight
        extremes = [
            (of_partition.least_weight / mean, of_partition.largest_weight / mean) for of_partition in data.counts
        ]
    largest = max(of_partition for _, of_partition in extremes)
    labelled = LabelledRows(data.reader, data.mean_weight, largest)
    none = np.empty(0, dtype=np.intp)
    summaries = [
        PartitionSummary(
            counts.n_counted,
            counts.n_counted,
            none,
            none,
            none,
            np.zeros(len(data.names), dtype=np.intp),
            None,
            least / largest,
            least / largest,
            1.0,
            summary.number_format,
        )
        for counts, summary, (least, _) in zip(data.counts, data.summaries, extremes)
    ]
    reader = PartitionReader(data.names, data.columns, np.arange(len(data.classes)), 1.0)
    rows = PartitionedGradientData(LabelledSource(data.source, labelled), summaries, reader, data.features, None)
    rows.divide(folds)
    return rows
