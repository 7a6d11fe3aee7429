"""Training data of a fusion in partitions: Dask collections, and Parquet files that are larger than memory.

What has to be known of all rows before the first fit is asked of the partitions where they are: classes, weights, label
columns, groups, and the ordinary ranges of the columns. Then each becomes a `FusionBlock`, or, if few rows count, these
are collected, and fitted as rows in memory are.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from fuselearn.backends.partitioned.partitioned_data import read_summaries, resolve_source
from fuselearn.backends.partitioned.partitions import Partitions
from fuselearn.backends.partitioned.row_source import PartitionReader, PartitionSummary, RawPartition, RowSource
from fuselearn.backends.partitioned.storage import ArrayStore
from fuselearn.data import TrainingData, ViewBlocks, encode_known, encode_view_labels
from fuselearn.data.folds import Folds
from fuselearn.data.labels import check_two_classes, check_views_labelled, numbered_groups
from fuselearn.data.outlier_warnings import FirstOutlier, warn_of_outliers
from fuselearn.data.training_data import ViewEstimator
from fuselearn.data.view_table import Features
from fuselearn.fusion.fusion_log import content_hashes, described_content
from fuselearn.fusion.fusion_rows import FusionBlock, FusionFrame
from fuselearn.learners.protocol import run_reductions
from fuselearn.numeric.exact_sums import limb_sums, sums_of_limbs
from fuselearn.numeric.execution import SERIAL, Threads
from fuselearn.numeric.gross_outliers import (
    HIGHEST,
    LOWEST,
    RangeQuestion,
    gross_outliers,
    ordinary_values,
    range_planning,
)
from fuselearn.typing import AnyArray, BoolArray, FloatArray, IntArray

VALUE_BYTES = 8
"""Bytes of the out-of-fold value of an arm for a row and a target."""


class CountedRows(NamedTuple):
    """The rows of a partition that count and have a label.

    Attributes
    ----------
    rows : intp ndarray
        Their numbers in the partition.
    table : ndarray of shape (n_rows, n_features)
        All columns, without gross outliers.
    present : bool ndarray of shape (n_rows, n_views)
        Views that they have.
    codes : int32 ndarray of shape (n_rows, n_label_columns)
        Class by each label column; -1 where it has no label.
    weights : ndarray of shape (n_rows,)
        In units of the largest one.
    groups : ndarray of shape (n_rows,) or None
        Names of their groups.
    """

    rows: IntArray
    table: FloatArray
    present: BoolArray
    codes: IntArray
    weights: FloatArray
    groups: AnyArray | None


@dataclass(frozen=True)
class FusionReader:
    """Reads partitions as a fusion needs them.

    Attributes
    ----------
    reader : PartitionReader
        Views, classes and largest weight of all rows.
    negligible_weight : float
        Share of the largest weight up to which a row does not count.
    ranges : ndarray of shape (5, n_features) or None
        Ordinary ranges of the columns; None as long as they are not known.
    """

    reader: PartitionReader
    negligible_weight: float
    ranges: FloatArray | None = None

    def has_weight(self, raw: RawPartition) -> BoolArray:
        """Return which rows of a partition have weight."""
        return self.reader.scaled_weights(raw) > self.negligible_weight

    def table(self, raw: RawPartition) -> FloatArray:
        """Return the columns of a partition, without gross outliers where the ranges are known."""
        return raw.table if self.ranges is None or not len(raw) else ordinary_values(raw.table, self.ranges)

    def counted(self, raw: RawPartition) -> CountedRows:
        """Return the rows of a partition that count and have a label."""
        table, has_weight = self.table(raw), self.has_weight(raw)
        present = ViewBlocks.of(table, self.reader.names, self.reader.columns, has_weight).present
        codes = self._codes(raw, present)
        counts = has_weight & np.logical_or.reduce(codes >= 0, axis=1)
        weights = self.reader.scaled_weights(raw)
        if counts.all():
            return CountedRows(np.arange(len(raw)), table, present, codes, weights, raw.groups)
        rows = np.flatnonzero(counts)
        groups = None if raw.groups is None else raw.groups[rows]
        return CountedRows(rows, table[rows], present[rows], codes[rows], weights[rows], groups)

    def _codes(self, raw: RawPartition, present: BoolArray) -> IntArray:
        """Return the class by each label column of the rows of a partition."""
        classes, names = self.reader.classes, self.reader.names
        try:
            if raw.view_labels is None:
                return encode_known(raw.labels, classes, "y")[:, None]
            return encode_view_labels(raw.view_labels, classes, names, present, optional=True, all_rows=False)
        except ValueError as error:
            raise ValueError(f"{raw.place}: {error}") from None


@dataclass(frozen=True)
class PartitionCounts:
    """What has to be known of the rows of a partition that count.

    `n_weighted` are the rows with weight, `n_counted` those that have a label as well; `weight_limbs` is the exact sum
    of their weights, `label_counts` has the labels by column and class, and `group_counts` the rows of each group, in
    the order of the groups' first rows.
    """

    n_weighted: int
    n_counted: int
    weight_limbs: IntArray
    label_counts: IntArray
    group_counts: dict[Any, int]


@dataclass(frozen=True)
class AboutCounts:
    """Asks for the counts of the partitions."""

    def __call__(self, raw: RawPartition, reader: FusionReader, first: int) -> PartitionCounts:
        """Return the counts of a partition."""
        counted = reader.counted(raw)
        n_classes = len(reader.reader.classes)
        label_counts = [np.bincount(column[column >= 0], minlength=n_classes) for column in counted.codes.T]
        group_counts: dict[Any, int] = {}
        if counted.groups is not None and len(counted.groups):
            names, numbers = numbered_groups(counted.groups)
            group_counts = dict(zip(names, np.bincount(numbers).tolist()))
        return PartitionCounts(
            int(np.count_nonzero(reader.has_weight(raw))),
            len(counted.rows),
            limb_sums(counted.weights, np.zeros(len(counted.rows), dtype=np.int8), 1),
            np.array(label_counts),
            group_counts,
        )

    def merged(self, answers: Sequence[PartitionCounts]) -> Sequence[PartitionCounts]:
        """Return the counts by partition."""
        return answers


@dataclass(frozen=True)
class AboutRanges:
    """Asks a question about the ranges of the columns in the rows with weight."""

    question: RangeQuestion

    def __call__(self, raw: RawPartition, reader: FusionReader, first: int) -> Any:
        """Return the answer of a partition; `first` is the number of rows with weight before it."""
        has_weight = reader.has_weight(raw)
        return self.question(raw.table if has_weight.all() else raw.table[has_weight], first)

    def merged(self, answers: Sequence[Any]) -> Any:
        """Return the answer of all rows."""
        return self.question.merged(answers)


def answer_questions(raw: RawPartition, reader: FusionReader, questions: Mapping[str, Any], first: int) -> Any:
    """Return the answers of a partition to questions, by name; `first` is the number of rows with weight before it."""
    return {name: question(raw, reader, first) for name, question in questions.items()}


def find_outliers(raw: RawPartition, reader: FusionReader) -> tuple[int, list[FirstOutlier]]:
    """Return the number of gross outliers of a partition, and the first of each column."""
    assert reader.ranges is not None
    rows = np.flatnonzero(reader.has_weight(raw))
    if not len(rows):
        return 0, []
    table = raw.table[rows]
    outliers = gross_outliers(table, reader.ranges)
    columns, first = np.unique(outliers.columns, return_index=True)
    return len(outliers.rows), [
        FirstOutlier(int(column), float(table[row, column]), int(rows[row]))
        for column, row in zip(columns, outliers.rows[first])
    ]


def counted_rows(raw: RawPartition, reader: FusionReader) -> CountedRows:
    """Return the rows of a partition that count."""
    return reader.counted(raw)


def fingerprint_counted(
    raw: RawPartition, reader: FusionReader, mean_weight: float, group_numbers: Mapping[Any, int] | None
) -> tuple[int, tuple[int, ...]]:
    """Return the number of rows of a partition that count, and numbers that stand for their content."""
    counted = reader.counted(raw)
    groups = np.zeros(0)
    if group_numbers is not None and counted.groups is not None:
        groups = np.array([group_numbers[name] for name in counted.groups.tolist()], dtype=np.intp)
    return len(counted.rows), content_hashes(counted.table, counted.codes, counted.weights / mean_weight, groups)


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
        Folds of all rows.
    mean_weight : float
        Mean weight of the rows that count.
    first_rows, first_counted : intp ndarray of shape (n_partitions,)
        Rows before each partition: of those given, and of those that count.
    """

    reader: FusionReader
    frame: FusionFrame
    folds: Folds
    mean_weight: float
    first_rows: IntArray
    first_counted: IntArray

    @property
    def plans(self) -> Sequence[Any]:
        """Objects that questions refer to: none."""
        return ()

    def build(self, raw: RawPartition, store: ArrayStore | None = None, threads: Threads = SERIAL) -> FusionBlock:
        """Prepare a partition; its arrays are kept in a store."""
        counted = self.reader.counted(raw)
        return FusionBlock(
            self.frame,
            counted.table,
            counted.present,
            counted.codes,
            counted.weights / self.mean_weight,
            self.fold_numbers(raw)[counted.rows],
            int(self.first_counted[raw.number]),
            store,
        )

    def fold_numbers(self, raw: RawPartition) -> IntArray:
        """Return the folds of all rows of a partition, 0 where a row does not count and no fold has its group."""
        if self.folds.of_group is None:
            return self.folds.numbers(len(raw), first_row=int(self.first_rows[raw.number]))
        assert raw.groups is not None
        names, numbers = numbered_groups(raw.groups)
        return np.array([self.folds.of_group.get(name, 0) for name in names], dtype=np.int8)[numbers]

    def later_bytes(self, n_rows: int) -> int:
        """Return the memory that a partition takes besides during the run: values of arms, and the posterior."""
        n_arms = 3 * (self.frame.n_views + 1)
        return VALUE_BYTES * n_rows * (n_arms * self.frame.n_targets + self.frame.n_classes)


class PartitionedFusionData:
    """Training data of a fusion in partitions.

    Parameters
    ----------
    source : RowSource
        The partitions.
    summaries : list of PartitionSummary
        What was known of each of them at first sight.
    counts : list of PartitionCounts
        What is known of the rows that count.
    reader : FusionReader
        Reads the partitions; ranges are known.
    features : dict
        Columns of X.

    Attributes
    ----------
    names, columns, classes, label_columns, features, ranges
        As `fuselearn.data.TrainingData` has them.
    n_rows_given, n_rows : int
        Number of rows, and of those that count.
    """

    def __init__(
        self,
        source: RowSource,
        summaries: Sequence[PartitionSummary],
        counts: Sequence[PartitionCounts],
        reader: FusionReader,
        features: Features,
    ) -> None:
        self._source, self._summaries, self._counts, self._reader = source, summaries, counts, reader
        self.names, self.columns, self.classes = reader.reader.names, reader.reader.columns, reader.reader.classes
        self.label_columns = self.names if source.has_view_labels else ["y"]
        self.features = features
        assert reader.ranges is not None
        self.ranges = reader.ranges
        self.n_rows_given = sum(summary.n_rows for summary in summaries)
        self.n_rows = sum(of_partition.n_counted for of_partition in counts)

    def __len__(self) -> int:
        """Return the number of rows that count."""
        return self.n_rows

    @property
    def weighted(self) -> bool:
        """Whether some rows weigh more than others."""
        used = [summary for summary in self._summaries if summary.n_rows]
        return min(summary.least_weight for summary in used) != max(summary.largest_weight for summary in used)

    @property
    def description(self) -> str:
        """Kind of source, in words."""
        return self._source.description

    @property
    def n_groups(self) -> int:
        """Number of groups; that of the rows where they are independent."""
        if not self._source.has_groups:
            return self.n_rows
        return len({name for of_partition in self._counts for name in of_partition.group_counts})

    @property
    def mean_weight(self) -> float:
        """Mean weight of the rows that count, in units of the largest of all rows."""
        [total] = sums_of_limbs(np.sum([of_partition.weight_limbs for of_partition in self._counts], axis=0))
        return total / self.n_rows

    def collected(self) -> TrainingData:
        """Return the rows that count as training data in memory, as those of rows in memory are read."""
        parts = self._source.map(counted_rows, self._reader)
        joined_parts = [np.concatenate(arrays) for arrays in zip(*(part[:5] for part in parts if len(part.rows)))]
        rows, table, _, codes, weights = joined_parts
        n_rows = [len(part.rows) for part in parts]
        row_numbers = rows + np.repeat(self._first_rows(), n_rows)
        groups = None
        if self._source.has_groups:
            groups = numbered_groups(np.concatenate([part.groups for part in parts if part.groups is not None]))[1]
        return TrainingData(
            blocks=ViewBlocks.of(table, self.names, self.columns),
            names=self.names,
            columns=self.columns,
            classes=self.classes,
            label_columns=self.label_columns,
            has_view_labels=self._source.has_view_labels,
            codes=codes,
            weights=weights / self.mean_weight,
            weighted=self.weighted,
            groups=groups,
            row_numbers=row_numbers,
            n_rows_given=self.n_rows_given,
            features=self.features,
            ranges=self.ranges,
        )

    def fingerprint(self) -> dict[str, Any]:
        """Return the rows that count in a few words, by which other ones are recognised."""
        numbers: dict[Any, int] | None = None
        if self.n_groups < self.n_rows:
            numbers = {}
            for of_partition in self._counts:
                for name in of_partition.group_counts:
                    numbers.setdefault(name, len(numbers))
        n_rows, hashes = zip(*self._source.map(fingerprint_counted, self._reader, self.mean_weight, numbers))
        return described_content(self.n_rows, hashes, n_rows)

    def folds(self, n_folds: int, seed: int) -> Folds:
        """Choose the folds of all rows."""
        if self.n_groups == self.n_rows:
            return Folds.of(n_folds, seed)
        return Folds.of_counts(n_folds, seed, [of_partition.group_counts for of_partition in self._counts])

    def recipe(self, frame: FusionFrame, folds: Folds) -> FusionRecipe:
        """Return what is needed to make blocks of the partitions."""
        n_counted = np.array([of_partition.n_counted for of_partition in self._counts], dtype=np.intp)
        first_counted = np.cumsum(n_counted) - n_counted
        return FusionRecipe(self._reader, frame, folds, self.mean_weight, self._first_rows(), first_counted)

    def load(self, recipe: FusionRecipe, threads: Threads) -> Partitions:
        """Make blocks of the partitions, where they are to stay."""
        return self._source.load_partitions(recipe, threads)

    def _first_rows(self) -> IntArray:
        """Return the number of rows before each partition."""
        n_rows = np.array([summary.n_rows for summary in self._summaries], dtype=np.intp)
        return np.cumsum(n_rows) - n_rows


def read_partitioned_fusion(
    model: ViewEstimator, source: RowSource, *, negligible_weight: float
) -> PartitionedFusionData:
    """Check the partitions of a source and resolve the views of a model, which is not changed.

    Rows of weight 0, or of less than `negligible_weight` of the largest, do not count.
    """
    names, columns, features = resolve_source(model, source, reset=True)
    summaries, partition_reader = read_summaries(source, names, columns)
    reader = FusionReader(partition_reader, negligible_weight)
    n_weighted = np.array([summary.n_weighted for summary in summaries])
    least = min(summary.least_positive for summary in summaries)
    counts: Sequence[PartitionCounts] | None = None
    if not least > negligible_weight * partition_reader.largest_weight:
        # Rows have so little weight that only a look at them all tells how many count.
        counts = _answers(source, reader, n_weighted, {"counts": AboutCounts()})["counts"]
        n_weighted = np.array([of_partition.n_weighted for of_partition in counts])
    extremes: list[Any] = []
    planning: dict[str, Any] = {"ranges": _noting_first(range_planning(int(n_weighted.sum())), extremes)}
    if counts is None:
        planning["counts"] = _asking(AboutCounts())
    # Side by side: where rows are read anew for each question, they are read for both.
    results = run_reductions(planning, lambda questions: _answers(source, reader, n_weighted, questions))
    counts = results["counts"] if counts is None else counts
    reader = replace(reader, ranges=results["ranges"])
    assert counts is not None
    _check_counts(counts, reader.reader, has_view_labels=source.has_view_labels, has_groups=source.has_groups)
    _warn_of_outliers(source, reader, summaries, extremes, features)
    return PartitionedFusionData(source, summaries, counts, reader, features)


def _asking(question: Any) -> Generator[Any, Any, Any]:
    """Ask one question, and return its answer."""
    return (yield question)


def _noting_first(planning: Generator[RangeQuestion, Any, FloatArray], noted: list[Any]) -> Generator[Any, Any, Any]:
    """Ask the questions of a planning, and note the answer to the first one."""
    question, result = next(planning), None
    while True:
        answer = yield AboutRanges(question)
        if not noted:
            noted.append(answer)
        try:
            question = planning.send(answer)
        except StopIteration as end:
            result = end.value
            return result


def _answers(
    source: RowSource, reader: FusionReader, n_weighted: IntArray, questions: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the answers of all partitions to questions, by name."""
    first = (np.cumsum(n_weighted) - n_weighted).tolist()
    of_partitions = source.map(answer_questions, reader, dict(questions), each=first)
    return {name: question.merged([answers[name] for answers in of_partitions]) for name, question in questions.items()}


def _check_counts(
    counts: Sequence[PartitionCounts], reader: PartitionReader, *, has_view_labels: bool, has_groups: bool
) -> None:
    """Refuse rows that nothing can be learnt from: labels of one class, views without labels, one group."""
    label_counts = np.sum([of_partition.label_counts for of_partition in counts], axis=0)
    if has_view_labels:
        check_views_labelled(label_counts.sum(axis=1) > 0, reader.names)
        check_two_classes(np.flatnonzero(label_counts.sum(axis=0)), reader.classes, "labels of view_labels")
    if has_groups and len({name for of_partition in counts for name in of_partition.group_counts}) < 2:
        raise ValueError(
            "groups puts all rows of X that count into one group, so that none can be held out; at least two groups "
            "are needed. Leave groups out where rows are independent."
        )


def _warn_of_outliers(
    source: RowSource,
    reader: FusionReader,
    summaries: Sequence[PartitionSummary],
    extremes: Sequence[Any],
    features: Features,
) -> None:
    """Warn of gross outliers; the rows are looked at only where the extremes of a column are such."""
    [(least, largest, _)] = extremes
    assert reader.ranges is not None
    if not ((least < reader.ranges[LOWEST]) | (largest > reader.ranges[HIGHEST])).any():
        return
    n_outliers, places, n_before = 0, dict[int, FirstOutlier](), 0
    for (n_found, found), summary in zip(source.map(find_outliers, reader), summaries):
        n_outliers += n_found
        for place in found:
            places.setdefault(place.column, place._replace(row=place.row + n_before))
        n_before += summary.n_rows
    warn_of_outliers(n_outliers, [places[column] for column in sorted(places)], features, clipped=True, stacklevel=5)
