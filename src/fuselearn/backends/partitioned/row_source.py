"""Partitions of the rows as the user gave them, and what has to be known of all of them before the first round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.utils import check_array, column_or_1d

from fuselearn.data import ViewBlocks, check_sample_weight, encode_known, encode_view_labels
from fuselearn.data.categories import Categories, distinct_values
from fuselearn.data.folds import group_names
from fuselearn.data.labels import check_target
from fuselearn.learners.protocol import ViewQuestion
from fuselearn.numeric.exact_sums import fingerprint, limb_sums
from fuselearn.numeric.threads import Threads
from fuselearn.typing import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray, TableLike

if TYPE_CHECKING:
    from fuselearn.backends.partitioned.partitions import Partitions, Recipe

Result = TypeVar("Result")


class RowSource(ABC):
    """The rows that a fit was given, in partitions.

    `description` names the kind of source in messages ("Dask collections"); `empty_table` has the columns of X and
    stands for it where views are resolved; `categories` are those by which categorical columns are encoded; `is_far`
    tells whether each question about the rows is a round trip to other machines.
    """

    description: str
    n_features: int
    column_names: list[str] | None
    empty_table: TableLike
    has_view_labels: bool
    has_groups: bool = False
    categories: Categories | None = None
    is_far: bool = False

    @abstractmethod
    def check_view_labels(self, names: list[str]) -> None:
        """Refuse view labels that do not have a column for each view."""

    @abstractmethod
    def map(
        self, function: Callable[..., Result], *arguments: object, each: Sequence[object] | None = None
    ) -> Sequence[Result]:
        """Return ``function(partition, *arguments, last)`` of each partition, where `last` is its entry of `each`.

        Without `each` there is no last argument. The rows are read anew: between two calls nothing is kept of them.
        """

    def distinct_values(self, columns: IntArray, in_views: IntArray | None = None) -> list[list[Any]]:
        """Return the values that columns of X have, before these are encoded, some of them more than once.

        They are those of rows with weight; of columns that are not in a view there are none.
        """
        return joined_values(self.map(distinct_in_partition, columns, in_views))

    @abstractmethod
    def load_partitions(self, recipe: Recipe, threads: Threads) -> Partitions:
        """Build all partitions where they are to stay, and return what holds them."""


@dataclass(frozen=True)
class RawPartition:
    """Consecutive rows with their labels and weights; `place` names them in messages ("partition 3").

    `number` is that of the partition, in the order of the rows.
    """

    place: str
    table: FloatArray
    labels: AnyArray
    weights: FloatArray | None
    view_labels: AnyArray | None
    groups: AnyArray | None = None
    number: int = 0

    @classmethod
    def of(
        cls,
        place: str,
        X: TableLike,
        y: ArrayLike,
        weights: ArrayLike = None,
        view_labels: ArrayLike = None,
        groups: ArrayLike = None,
        *,
        number: int = 0,
    ) -> RawPartition:
        """Check a partition. Messages name it, since a cluster's own do not."""
        try:
            table = check_array(
                X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", ensure_min_samples=0, input_name="X"
            )
            y = np.asarray(y)
            _check_no_label_is_missing(y)
            y = column_or_1d(check_array(y, ensure_2d=False, dtype=None, ensure_min_samples=0, input_name="y"))
            others = {"y": y, "sample_weight": weights, "view_labels": view_labels, "groups": groups}
            for name, values in others.items():
                if values is not None and len(values) != len(table):
                    raise ValueError(
                        f"X has {len(table)} rows and {name} has {len(values)}; partition both at the same rows"
                    )
            if weights is not None:
                weights = np.asarray(weights, dtype=np.float64)
                if len(weights) and weights.any():
                    check_sample_weight(weights, table)
            view_labels = None if view_labels is None else np.asarray(view_labels)
            groups = None if groups is None else group_names(groups, len(table))
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None
        return cls(place, table, y, weights, view_labels, groups, number)

    def __len__(self) -> int:
        return len(self.table)

    @property
    def has_weight(self) -> BoolArray | None:
        """Rows with a positive weight; None where all rows have one."""
        has_weight = None if self.weights is None else self.weights > 0
        return None if has_weight is None or has_weight.all() else has_weight


def _check_no_label_is_missing(labels: AnyArray) -> None:
    """Refuse None, NaN and pandas' NA among labels that are not numbers, which cannot be sorted."""
    if labels.dtype.kind != "O":
        return
    for number, label in enumerate(labels.ravel()):
        if label is None or type(label).__name__ in ("NAType", "NaTType") or (label != label):
            raise ValueError(
                f"y has missing labels; the first is {label!r}, in row {number} of this partition. Leave such rows out "
                "of fit, or give them a label."
            )


@dataclass(frozen=True)
class PartitionSummary:
    """Counts, labels and weights of a partition that have to be known before the classes are known.

    `labels` and `weighted_labels` are the distinct labels of all rows and of those with weight, none for numbers to
    predict; `label_counts` the number of rows with weight of each of the latter, `n_present` the number of rows with
    each view, `row_without_views` the first row with weight and without any view, `least_positive` the least weight
    above 0, and `number_format` that of the table.
    """

    n_rows: int
    n_weighted: int
    labels: AnyArray
    weighted_labels: AnyArray
    label_counts: IntArray
    n_present: IntArray
    row_without_views: int | None
    least_weight: float
    least_positive: float
    largest_weight: float
    number_format: str


def summarise(
    partition: RawPartition, names: list[str], columns: list[IntArray], regressor: str | None = None
) -> PartitionSummary:
    """Look at a partition for the first time; `regressor` names the model whose labels are numbers to predict."""
    has_weight = partition.has_weight
    blocks = ViewBlocks.of(partition.table, names, columns, has_weight)
    without_views = ~blocks.present.any(axis=1)
    if has_weight is not None:
        without_views &= has_weight
    labels = partition.labels
    if regressor is not None:
        try:
            check_target(labels, regressor)
        except ValueError as error:
            raise ValueError(f"{partition.place}: {error}") from None
        labels = labels[:0]
    weights = np.ones(1) if partition.weights is None else partition.weights
    used = labels if has_weight is None or regressor is not None else labels[has_weight]
    weighted_labels, label_counts = np.unique(used, return_counts=True)
    return PartitionSummary(
        len(partition),
        len(partition) if has_weight is None else int(np.count_nonzero(has_weight)),
        weighted_labels if has_weight is None else np.unique(labels),
        weighted_labels,
        label_counts,
        blocks.present.sum(axis=0),
        int(np.flatnonzero(without_views)[0]) if without_views.any() else None,
        float(weights.min(initial=np.inf)),
        float(weights[weights > 0].min(initial=np.inf)),
        float(weights.max(initial=0.0)),
        str(partition.table.dtype),
    )


def distinct_in_partition(partition: RawPartition, columns: IntArray, in_views: IntArray | None) -> list[list[Any]]:
    """Return the values of some columns of a partition, each once."""
    return distinct_values(partition.table, columns, partition.weights, in_views)


def joined_values(of_partitions: Sequence[list[list[Any]]]) -> list[list[Any]]:
    """Return the values of each column in all partitions, one partition after the other."""
    return [list(chain.from_iterable(values)) for values in zip(*of_partitions)]


@dataclass(frozen=True)
class PartitionReader:
    """Views, classes and largest weight of all rows, by which each partition is read; a regression has no classes."""

    names: list[str]
    columns: list[IntArray]
    classes: AnyArray
    largest_weight: float

    def view_blocks(self, partition: RawPartition) -> ViewBlocks:
        """Return the views of a partition."""
        return ViewBlocks.of(partition.table, self.names, self.columns, partition.has_weight)

    def targets(self, partition: RawPartition) -> FloatArray:
        """Return the numbers to predict."""
        return np.asarray(partition.labels, dtype=np.float64)

    def class_codes(self, partition: RawPartition, blocks: ViewBlocks) -> list[IntArray]:
        """Return class codes by each view's labels; the same array for all views that share them."""
        try:
            if partition.view_labels is None:
                return [encode_known(partition.labels, self.classes, "y")] * len(self.names)
            codes = encode_view_labels(partition.view_labels, self.classes, self.names, blocks.present)
            # Codes of absent views are never read. They are 0, as in the fingerprints of logs.
            return [np.ascontiguousarray(column) for column in np.maximum(codes, 0).T]
        except ValueError as error:
            raise ValueError(f"{partition.place}: {error}") from None

    def scaled_weights(self, partition: RawPartition) -> FloatArray:
        """Return weights between 0 and 1, as a fit in memory scales them."""
        return np.ones(len(partition)) if partition.weights is None else partition.weights / self.largest_weight


def sum_weights(partition: RawPartition, reader: PartitionReader) -> tuple[IntArray, IntArray]:
    """Return exact sums over a partition, as limbs: of all weights, and of those of each class."""
    blocks = reader.view_blocks(partition)
    weights = reader.scaled_weights(partition)
    # A row on which its views disagree counts for each of their classes, with a share of its weight.
    shares = weights / np.maximum(blocks.present.sum(axis=1), 1)
    by_view = [
        limb_sums(shares[here], codes[here], len(reader.classes))
        for codes, here in zip(reader.class_codes(partition, blocks), blocks.present.T)
    ]
    return limb_sums(weights, np.zeros(len(partition), dtype=np.int8), 1), np.sum(by_view, axis=0)


def answer_questions(
    partition: RawPartition, reader: PartitionReader, questions: list[tuple[int, ViewQuestion, int]]
) -> tuple[tuple[IntArray, IntArray], list[Any]]:
    """Return the weights summed, and the answers to what learners ask about their views before the first round.

    A question comes with the number of its view and the number of rows of that view before this partition.
    """
    views = reader.view_blocks(partition).views
    return sum_weights(partition, reader), [question(views[number], first) for number, question, first in questions]


def fingerprint_partition(partition: RawPartition, reader: PartitionReader) -> tuple[int, int, int]:
    """Return numbers that stand for the values, the labels and the weights of a partition."""
    codes = reader.class_codes(partition, reader.view_blocks(partition))
    return (
        fingerprint(partition.table),
        fingerprint(np.column_stack(codes[: 1 if partition.view_labels is None else None])),
        fingerprint(reader.scaled_weights(partition)[:, None]),
    )
