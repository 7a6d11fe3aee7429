"""Rows of a partition that count in a fusion, and how they are read, wherever the partition is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fuselearn.backends.partitioned.row_source import PartitionReader, RawPartition
from fuselearn.data import ViewBlocks, encode_known, encode_view_labels
from fuselearn.fusion.fusion_log import content_hashes
from fuselearn.numeric.gross_outliers import ordinary_values
from fuselearn.typing import AnyArray, BoolArray, FloatArray, IntArray


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


def places_of_counted(raw: RawPartition, reader: FusionReader, numbers: IntArray) -> IntArray:
    """Return the numbers in a partition of rows whose numbers among those that count are given."""
    return reader.counted(raw).rows[numbers] if len(numbers) else numbers


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
