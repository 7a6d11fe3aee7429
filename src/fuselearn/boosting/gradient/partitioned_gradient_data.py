"""Training data of gradient boosting in partitions: Dask collections, and Parquet files that are larger than memory.

All that a run learns of the rows are sums of whole numbers over their partitions, so that the model is the one of rows
in memory, bit for bit. Between two questions a partition remembers its scores and the rows by leaf of the tree that
grows; one that was lost is loaded again, adds the trees of all finished rounds, and is told all splits of the tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from fuselearn.backends.partitioned.partitioned_data import read_summaries, resolve_source
from fuselearn.backends.partitioned.row_source import PartitionReader, PartitionSummary, RawPartition, RowSource
from fuselearn.backends.partitioned.storage import ArrayStore
from fuselearn.boosting.gradient.gradient_data import FoldPlan, FoldRuns, GradientData, LocalFoldRuns
from fuselearn.boosting.gradient.gradient_folds import FoldOfView
from fuselearn.boosting.gradient.gradient_plan import GradientPart, GradientPlan, PlanQuestion, WeightScale
from fuselearn.boosting.gradient.gradient_rounds import GradientRows
from fuselearn.boosting.gradient.gradient_rows import (
    BlockSettings,
    GradientBlock,
)
from fuselearn.boosting.gradient.joined_runs import JoinedRecipe, JoinedRuns
from fuselearn.boosting.gradient.partitioned_gradient_rows import PartitionedFoldRuns, PartitionedGradientRows
from fuselearn.boosting.gradient.splitting import GrowthSettings
from fuselearn.boosting.gradient.warm_start import check_same_categorical
from fuselearn.data import View, ViewBlocks
from fuselearn.data.categories import Categories, categorical_columns
from fuselearn.data.class_weights import ClassWeight, ClassWeights
from fuselearn.data.folds import Folds, numbered_groups
from fuselearn.data.held_out import check_held_out, class_counts, drawn_groups, held_out_part
from fuselearn.data.labels import majority_codes
from fuselearn.data.training_data import ViewEstimator
from fuselearn.data.view_table import Features
from fuselearn.learners.binning import Binning
from fuselearn.numeric.exact_sums import limb_sums, sums_of_limbs
from fuselearn.numeric.gradients import HELD_OUT, TRAINING, UNUSED
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.typing import AnyArray, BoolArray, FloatArray, IntArray

LEAF_BYTES = 2
"""Bytes of the number of a leaf."""
COLLECTED_BYTES = 2**27
"""Memory of the client up to which the rows of a cluster are collected for the runs of a cross-fitting: histograms of
all its trees are many times as large, and with few rows they take most of the time. Bins are counted and, as few
columns of many rows have little of these, all else that rows need there; see `LocalFoldRuns.bytes_of_row`."""


class HeldOut(Protocol):
    """Chooses the rows of a partition that early stopping holds out."""

    def rows(self, raw: RawPartition, codes: IntArray) -> BoolArray:
        """Return which rows are held out, given their class codes, -1 for those that do not count."""


@dataclass(frozen=True)
class HeldOutRanks:
    """Holds out rows by their ranks; `first_ranks` are those of the first rows of each partition, by class."""

    first_ranks: IntArray
    counts: IntArray
    fraction: float
    seed: int

    def rows(self, raw: RawPartition, codes: IntArray) -> BoolArray:
        """Return which rows are held out; see `HeldOut.rows`."""
        return held_out_part(codes, self.first_ranks[raw.number], self.counts, self.fraction, self.seed)


@dataclass(frozen=True)
class HeldOutGroups:
    """Holds out the rows of some groups."""

    names: frozenset[Any]

    def rows(self, raw: RawPartition, codes: IntArray) -> BoolArray:
        """Return which rows are held out; see `HeldOut.rows`."""
        assert raw.groups is not None
        names, numbers = numbered_groups(raw.groups)
        return (codes >= 0) & np.array([name in self.names for name in names], dtype=bool)[numbers]


@dataclass(frozen=True)
class GradientReader:
    """Reads partitions as gradient boosting needs them.

    Attributes
    ----------
    reader : PartitionReader
        Views, classes and largest weight of all rows.
    columns : intp ndarray
        Columns that are in a view.
    first_rows : intp ndarray of shape (n_partitions,)
        Number of the rows with weight before each partition.
    class_weights : ClassWeights or None
        Weights of the classes.
    scale : WeightScale
        What weights are to a block.
    held_out : HeldOut or None
        Chooses the rows that early stopping holds out.
    folds : Folds or None
        Folds of a cross-fitting.
    first_given : intp ndarray of shape (n_partitions,) or None
        Number of all rows before each partition, where there are folds.
    """

    reader: PartitionReader
    columns: IntArray
    first_rows: IntArray
    scale: WeightScale
    class_weights: ClassWeights | None = None
    held_out: HeldOut | None = None
    folds: Folds | None = None
    first_given: IntArray | None = None

    @property
    def has_classes(self) -> bool:
        """Whether labels are classes, not numbers."""
        return len(self.reader.classes) > 0

    def part(self, raw: RawPartition) -> GradientPart:
        """Return the rows of a partition."""
        blocks = self.reader.view_blocks(raw)
        labels = self._labels(raw, blocks)
        weights = self.reader.scaled_weights(raw)
        roles = np.where(weights > 0, np.int8(TRAINING), np.int8(UNUSED))
        if self.class_weights is not None or self.held_out is not None:
            codes = self._codes(labels, blocks, weights > 0)
            if self.class_weights is not None:
                weights = self.class_weights.of_rows(codes, weights)
            if self.held_out is not None:
                roles[self.held_out.rows(raw, codes)] = HELD_OUT
        return GradientPart(
            View("", raw.table, self.columns, None),
            labels,
            self.scale.of_block(weights),
            roles,
            blocks.present,
            int(self.first_rows[raw.number]),
            self._folds(raw),
        )

    def _folds(self, raw: RawPartition) -> IntArray | None:
        """Return the fold of each row; None without a cross-fitting."""
        if self.folds is None or self.first_given is None:
            return None
        return self.folds.numbers(len(raw), first_row=int(self.first_given[raw.number]), groups=raw.groups)

    def codes(self, raw: RawPartition) -> IntArray:
        """Return a class code for each row: by y, by the majority of the views' labels, or 0; -1 without weight."""
        blocks = self.reader.view_blocks(raw)
        return self._codes(self._labels(raw, blocks), blocks, self.reader.scaled_weights(raw) > 0)

    def _codes(self, labels: list[AnyArray], blocks: ViewBlocks, used: BoolArray) -> IntArray:
        """Return a class code for each row, by its labels; see `codes`."""
        if not self.has_classes:
            return np.where(used, np.int8(0), np.int8(-1))
        if len(labels) == 1:
            return np.where(used, labels[0], np.int32(-1))
        return majority_codes(np.column_stack(labels), blocks.present, len(self.reader.classes))

    def _labels(self, raw: RawPartition, blocks: ViewBlocks) -> list[AnyArray]:
        """Return class codes or targets by each label column."""
        if not self.has_classes:
            return [self.reader.targets(raw)]
        codes: list[AnyArray] = [*self.reader.class_codes(raw, blocks)]
        return codes if raw.view_labels is not None else codes[:1]


def sum_classes(raw: RawPartition, reader: GradientReader) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the weights of each class of a partition: their exact sums as limbs, the largest, and the least."""
    codes, n_classes = reader.codes(raw), len(reader.reader.classes)
    used = codes >= 0
    codes, weights = codes[used], reader.reader.scaled_weights(raw)[used]
    largest, least = np.zeros(n_classes), np.full(n_classes, np.inf)
    np.maximum.at(largest, codes, weights)
    np.minimum.at(least, codes, weights)
    return limb_sums(weights, codes, n_classes), largest, least


def count_classes(raw: RawPartition, reader: GradientReader) -> IntArray:
    """Return the number of rows with weight of each class of a partition."""
    return class_counts(reader.codes(raw), max(len(reader.reader.classes), 1))


def count_groups(raw: RawPartition, reader: GradientReader) -> tuple[list[Any], IntArray, IntArray, IntArray]:
    """Return the groups of a partition in the order of their rows, and the rows with weight of each group and class.

    The latter are the class codes, the numbers of the groups, and the numbers of rows.
    """
    assert raw.groups is not None
    names, numbers = numbered_groups(raw.groups)
    codes = reader.codes(raw)
    pairs, counts = np.unique(np.column_stack([codes, numbers])[codes >= 0], axis=0, return_counts=True)
    return names, pairs[:, 0], pairs[:, 1], counts


def group_sizes(raw: RawPartition) -> dict[Any, int]:
    """Return the groups of a partition in the order of their first rows, and the rows of each, with weight or not."""
    assert raw.groups is not None
    names, numbers = numbered_groups(raw.groups)
    return dict(zip(names, np.bincount(numbers, minlength=len(names)).tolist()))


def answer_questions(
    raw: RawPartition, reader: GradientReader, questions: Mapping[str, PlanQuestion]
) -> dict[str, Any]:
    """Return the answers of a partition to questions about the rows."""
    part = reader.part(raw)
    return {name: question(part) for name, question in questions.items()}


def binned_part(raw: RawPartition, reader: GradientReader, binning: Binning) -> tuple[GradientPart, IntArray]:
    """Return the rows of a partition without their values, and their bins."""
    part = reader.part(raw)
    return replace(part, view=replace(part.view, table=part.view.table[:0])), binning.prepare(part.view).bins


def joined_parts(parts: Sequence[tuple[GradientPart, IntArray]]) -> tuple[GradientPart, IntArray]:
    """Return the rows of all partitions, in their order, as those of one."""
    of_rows, bins = zip(*parts)
    first = of_rows[0]
    joined = replace(
        first,
        labels=[np.concatenate(columns) for columns in zip(*(part.labels for part in of_rows))],
        weights=None if first.weights is None else np.concatenate([part.weights for part in of_rows]),
        roles=np.concatenate([part.roles for part in of_rows]),
        present=np.concatenate([part.present for part in of_rows]),
        folds=np.concatenate([part.folds for part in of_rows]),
    )
    return joined, np.concatenate(bins, axis=1)


@dataclass(frozen=True)
class GradientRecipe:
    """All that is needed to make a block of the rows of a partition."""

    reader: GradientReader
    settings: BlockSettings
    binning: Binning

    @property
    def plans(self) -> Sequence[Any]:
        """Objects that questions refer to: none."""
        return ()

    def build(self, raw: RawPartition, store: ArrayStore | None = None, threads: Threads = SERIAL) -> GradientBlock:
        """Prepare a partition; its arrays are kept in a store."""
        store = ArrayStore() if store is None else store
        return self.reader.part(raw).block(self.settings, self.binning, store, threads)

    def later_bytes(self, n_rows: int) -> int:
        """Return the memory that a partition takes besides during the rounds: the leaves of rows, by tree and view."""
        return LEAF_BYTES * n_rows * self.settings.loss.n_outputs * len(self.settings.view_columns)


class PartitionedGradientData(GradientData):
    """Rows in partitions.

    Parameters
    ----------
    source : RowSource
        The partitions.
    summaries : list of PartitionSummary
        What is known of each of them.
    reader : PartitionReader
        Views, classes and largest weight.
    features : dict
        Columns of X.
    categories : Categories or None
        Categories of the categorical columns, which the source encodes.
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes.
    common_weight : float, default=1.0
        Weight of all rows, where one is given for all.
    """

    def __init__(
        self,
        source: RowSource,
        summaries: Sequence[PartitionSummary],
        reader: PartitionReader,
        features: Features,
        categories: Categories | None,
        class_weight: ClassWeight = None,
        common_weight: float = 1.0,
    ) -> None:
        self.names, self.columns, self.features, self.categories = reader.names, reader.columns, features, categories
        self.classes = reader.classes if len(reader.classes) else None
        self.n_rows = sum(summary.n_rows for summary in summaries)
        self.n_counted = sum(summary.n_weighted for summary in summaries)
        self.n_label_columns = len(self.names) if source.has_view_labels else 1
        self._source, self._summaries = source, summaries
        n_weighted = np.array([summary.n_weighted for summary in summaries], dtype=np.intp)
        least = min(summary.least_positive for summary in summaries if summary.n_weighted)
        largest = reader.largest_weight * common_weight
        self._reader = GradientReader(
            reader,
            self.used_columns,
            np.cumsum(n_weighted) - n_weighted,
            WeightScale(largest, least == reader.largest_weight),
        )
        if class_weight is not None:
            self._weigh_classes(class_weight, largest)
        self.weight_scale = self._reader.scale

    @contextmanager
    def rows(self, plan: GradientPlan, growth: GrowthSettings, threads: Threads) -> Iterator[GradientRows]:
        """Yield the rows at the scores before the first round; see `GradientData.rows`."""
        settings = self.block_settings(plan)
        recipe = GradientRecipe(self._reader, settings, plan.binning)
        partitions = self._source.load_partitions(recipe, threads)
        try:
            yield PartitionedGradientRows(partitions, settings, growth)
        finally:
            partitions.close()

    def divide(self, folds: Folds) -> None:
        """Set the folds of the rows, for a cross-fitting, whose weights are in units of the largest one."""
        n_rows = np.array([summary.n_rows for summary in self._summaries], dtype=np.intp)
        self.weight_scale = WeightScale(1.0, self._reader.scale.equal, whole=True)
        self._reader = replace(
            self._reader, folds=folds, first_given=np.cumsum(n_rows) - n_rows, scale=self.weight_scale
        )

    def folds(self, n_folds: int, seed: int) -> Folds:
        """Choose folds of the rows, or of their groups."""
        if not self._source.has_groups:
            return Folds.of(n_folds, seed)
        return Folds.of_counts(n_folds, seed, self._source.map(group_sizes))

    @contextmanager
    def fold_runs(self, plan: FoldPlan, threads: Threads) -> Iterator[FoldRuns]:
        """Yield the rows in their bins; see `GradientData.fold_runs`."""
        is_far = self._source.is_far
        sizes = len(self.used_columns), len(self.names), plan.loss.n_outputs, threads.count
        if is_far and self.n_rows * LocalFoldRuns.bytes_of_row(*sizes) <= COLLECTED_BYTES:
            # Partitions have no name here, or they would stay beside the joined rows.
            joined = joined_parts(self._source.map(binned_part, self._reader, plan.binning))
            yield LocalFoldRuns(self, plan, *joined)
            return
        settings = self.block_settings(plan.plan(FoldOfView(0, -1)))
        recipe = GradientRecipe(self._reader, settings, plan.binning)
        partitions = self._source.load_partitions(JoinedRecipe(recipe) if is_far else recipe, threads)
        try:
            yield (JoinedRuns if is_far else PartitionedFoldRuns)(partitions, self, plan)
        finally:
            partitions.close()

    def _answers(self, questions: Mapping[str, PlanQuestion]) -> dict[str, Any]:
        """Return the answers to questions about all rows; see `GradientData._answers`."""
        of_partitions = self._source.map(answer_questions, self._reader, dict(questions))
        return {
            name: question.merged([answers[name] for answers in of_partitions]) for name, question in questions.items()
        }

    def _hold_out(self, fraction: float, seed: int) -> None:
        """Give some of the rows the role of held-out ones."""
        held_out = self._drawn_groups(fraction, seed) if self._source.has_groups else self._drawn_ranks(fraction, seed)
        self._reader = replace(self._reader, held_out=held_out)

    def _drawn_ranks(self, fraction: float, seed: int) -> HeldOutRanks:
        """Return the choice of rows by their ranks among those of their class."""
        if self.classes is None:
            counts = np.array([[summary.n_weighted] for summary in self._summaries])
        elif self._source.has_view_labels:
            counts = np.array(self._source.map(count_classes, self._reader))
        else:
            counts = np.zeros((len(self._summaries), len(self.classes)), dtype=np.intp)
            for row, summary in zip(counts, self._summaries):
                row[np.searchsorted(self.classes, summary.weighted_labels)] = summary.label_counts
        totals = counts.sum(axis=0)
        check_held_out(totals, self.classes)
        return HeldOutRanks(np.cumsum(counts, axis=0) - counts, totals, fraction, seed)

    def _drawn_groups(self, fraction: float, seed: int) -> HeldOutGroups:
        """Return the choice of whole groups."""
        number_of: dict[Any, int] = {}
        codes, groups, counts = [], [], []
        for names, group_codes, numbers, n_rows in self._source.map(count_groups, self._reader):
            numbers_of_names = np.array([number_of.setdefault(name, len(number_of)) for name in names], dtype=np.intp)
            codes.append(group_codes)
            groups.append(numbers_of_names[numbers])
            counts.append(n_rows)
        joined = np.concatenate(codes), np.concatenate(groups), np.concatenate(counts)
        is_drawn = drawn_groups(*joined, fraction, seed, self.classes)
        return HeldOutGroups(
            frozenset(name for name, number in number_of.items() if is_drawn[number : number + 1].any())
        )

    def _weigh_classes(self, class_weight: ClassWeight, largest_weight: float) -> None:
        """Multiply the weights of rows by those of their classes."""
        assert self.classes is not None
        limbs, largest, least = zip(*self._source.map(sum_classes, self._reader))
        totals = np.array(sums_of_limbs(np.sum(limbs, axis=0)))
        weights = ClassWeights.of(class_weight, self.classes, totals, np.max(largest, axis=0))
        smallest = np.min(least, axis=0)
        there = np.flatnonzero(np.isfinite(smallest))
        scale = WeightScale(
            weights.largest * largest_weight, bool(np.all(weights.of_rows(there, smallest[there]) == 1))
        )
        self._reader = replace(self._reader, class_weights=weights, scale=scale)


class GradientEstimator(ViewEstimator, Protocol):
    """A gradient boosting estimator: its settings that concern the reading of rows."""

    categorical_features: Any
    max_bins: int


def read_partitioned_gradient_data(
    model: Any,
    source: RowSource,
    *,
    reset: bool,
    has_classes: bool,
    class_weight: ClassWeight = None,
    common_weight: float = 1.0,
) -> PartitionedGradientData:
    """Check the partitions of a source and resolve the views of a model, which is not changed.

    With `reset`, the columns may differ from those that the model was fitted on.
    """
    names, columns, features = resolve_source(model, source, reset=reset)
    if not reset:
        check_same_categorical(model, _categorical_columns(model, source))
    categories = _categories(model, source, np.concatenate(columns)) if reset else model.categories_
    source.categories = categories
    summaries, reader = read_summaries(source, names, columns, None if has_classes else type(model).__name__)
    return PartitionedGradientData(source, summaries, reader, features, categories, class_weight, common_weight)


def _categorical_columns(model: GradientEstimator, source: RowSource) -> IntArray:
    """Return the numbers of the categorical columns."""
    return categorical_columns(model.categorical_features, source.empty_table, source.n_features)


def _categories(model: GradientEstimator, source: RowSource, in_views: IntArray) -> Categories | None:
    """Return the categories of the categorical columns, of those that are in a view; None where there are none."""
    columns = _categorical_columns(model, source)
    if not len(columns):
        return None
    names = None if source.column_names is None else [repr(source.column_names[column]) for column in columns]
    return Categories.from_distinct(columns, source.distinct_values(columns, in_views), int(model.max_bins), names)
