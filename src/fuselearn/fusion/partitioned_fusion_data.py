"""Training data of a fusion in partitions: Dask collections, and Parquet files that are larger than memory.

What has to be known of all rows before the first fit is asked of the partitions where they are: classes, weights, label
columns, groups, and the ordinary ranges of the columns. Then each becomes a `FusionBlock`, or, if few rows count, these
are collected, and fitted as rows in memory are.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fuselearn.backends.partitioned.partitioned_data import read_summaries, resolve_source
from fuselearn.backends.partitioned.row_source import PartitionReader, PartitionSummary, RawPartition, RowSource
from fuselearn.data import TrainingData, ViewBlocks
from fuselearn.data.folds import Folds, numbered_groups
from fuselearn.data.labels import check_two_classes, check_views_labelled
from fuselearn.data.outlier_warnings import FirstOutlier, warn_of_outliers
from fuselearn.data.training_data import ViewEstimator
from fuselearn.data.view_table import Features
from fuselearn.fusion.counted_rows import (
    FusionReader,
    counted_rows,
    fingerprint_counted,
    places_of_counted,
)
from fuselearn.fusion.fusion_log import described_content
from fuselearn.learners.protocol import run_reductions
from fuselearn.numeric.exact_sums import limb_sums, sums_of_limbs
from fuselearn.numeric.gross_outliers import (
    HIGHEST,
    LOWEST,
    RangeQuestion,
    gross_outliers,
    range_planning,
)
from fuselearn.typing import FloatArray, IntArray


@dataclass(frozen=True)
class PartitionCounts:
    """What has to be known of the rows of a partition that count.

    `n_weighted` are the rows with weight, `n_counted` those that have a label as well; `weight_limbs` is the exact sum
    of their weights, and `least_weight` and `largest_weight` are the extreme ones; `label_counts` has the labels
    by column and class, and `group_counts` the rows of each group, in the order of the groups' first rows.
    """

    n_weighted: int
    n_counted: int
    weight_limbs: IntArray
    least_weight: float
    largest_weight: float
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
            float(counted.weights.min(initial=np.inf)),
            float(counted.weights.max(initial=0.0)),
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
    source, summaries, counts, reader
        As given.
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
        self.source, self.summaries, self.counts, self.reader = source, summaries, counts, reader
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
        used = [summary for summary in self.summaries if summary.n_rows]
        return min(summary.least_weight for summary in used) != max(summary.largest_weight for summary in used)

    @property
    def description(self) -> str:
        """Kind of source, in words."""
        return self.source.description

    @property
    def n_groups(self) -> int:
        """Number of groups; that of the rows where they are independent."""
        if not self.source.has_groups:
            return self.n_rows
        return len({name for of_partition in self.counts for name in of_partition.group_counts})

    @property
    def mean_weight(self) -> float:
        """Mean weight of the rows that count, in units of the largest of all rows."""
        [total] = sums_of_limbs(np.sum([of_partition.weight_limbs for of_partition in self.counts], axis=0))
        return total / self.n_rows

    def collected(self) -> TrainingData:
        """Return the rows that count as training data in memory, as those of rows in memory are read."""
        parts = self.source.map(counted_rows, self.reader)
        joined_parts = [np.concatenate(arrays) for arrays in zip(*(part[:5] for part in parts if len(part.rows)))]
        rows, table, _, codes, weights = joined_parts
        n_rows = [len(part.rows) for part in parts]
        row_numbers = rows + np.repeat(self._first_rows(), n_rows)
        groups = None
        if self.source.has_groups:
            groups = numbered_groups(np.concatenate([part.groups for part in parts if part.groups is not None]))[1]
        return TrainingData(
            blocks=ViewBlocks.of(table, self.names, self.columns),
            names=self.names,
            columns=self.columns,
            classes=self.classes,
            label_columns=self.label_columns,
            has_view_labels=self.source.has_view_labels,
            codes=codes,
            weights=weights / self.mean_weight,
            weighted=self.weighted,
            n_counted=int(np.count_nonzero(weights)),
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
            for of_partition in self.counts:
                for name in of_partition.group_counts:
                    numbers.setdefault(name, len(numbers))
        n_rows, hashes = zip(*self.source.map(fingerprint_counted, self.reader, self.mean_weight, numbers))
        return described_content(self.n_rows, hashes, n_rows)

    def folds(self, n_folds: int, seed: int) -> Folds:
        """Choose the folds of all rows."""
        if self.n_groups == self.n_rows:
            return Folds.of(n_folds, seed)
        return Folds.of_counts(n_folds, seed, [of_partition.group_counts for of_partition in self.counts])

    @property
    def first_counted(self) -> IntArray:
        """Rows that count before each partition."""
        n_rows = np.array([of_partition.n_counted for of_partition in self.counts], dtype=np.intp)
        return np.cumsum(n_rows) - n_rows

    def row_numbers(self, numbers: IntArray) -> IntArray:
        """Return the numbers in X of rows whose numbers among those that count are given."""
        if self.n_rows == self.n_rows_given:
            return numbers
        wanted = np.unique(numbers)
        first, places = self.first_counted, np.searchsorted(wanted, self.first_counted)
        ends = [*places[1:].tolist(), len(wanted)]
        each = [wanted[start:end] - of_first for start, end, of_first in zip(places, ends, first)]
        found = self.source.map(places_of_counted, self.reader, each=each)
        there = np.concatenate([rows + of_first for rows, of_first in zip(found, self._first_rows())])
        return there[np.searchsorted(wanted, numbers)]

    def _first_rows(self) -> IntArray:
        """Return the number of rows before each partition."""
        n_rows = np.array([summary.n_rows for summary in self.summaries], dtype=np.intp)
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
            noted.append(deepcopy(answer))  # the planning goes on with it
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
