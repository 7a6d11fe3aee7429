"""The labels of rows in partitions that are most probably wrong, found without bringing the rows together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fuselearn.backends.partitioned.partitions import Answer, Partitions
from fuselearn.fusion.fusion_rows import FusionBlock
from fuselearn.persistence.validation import check_array
from fuselearn.records import Records
from fuselearn.typing import AnyArray, FloatArray, IntArray

MOST_SUSPECTS = 10_000
"""Labels of rows in partitions that are listed, at most."""
BUCKET_BITS = 48
"""Last bits of a probability that are left out to sort it into a bucket."""
N_BUCKETS = 2**14
"""Buckets of probabilities from 0 to 1."""


@dataclass(frozen=True)
class ListedSuspects:
    """Labels that are probably wrong, the most suspect first.

    Attributes
    ----------
    rows : intp ndarray of shape (n,)
        Numbers of the rows.
    columns : intp ndarray of shape (n,)
        Numbers of the label columns.
    given, proposed : intp ndarray of shape (n,)
        Class of the label, and the most probable other class.
    probabilities : ndarray of shape (n,)
        That the label is wrong.
    """

    rows: IntArray
    columns: IntArray
    given: IntArray
    proposed: IntArray
    probabilities: FloatArray

    def __len__(self) -> int:
        """Return the number of labels."""
        return len(self.rows)

    def renumbered(self, rows: IntArray) -> ListedSuspects:
        """Return the same labels with other numbers of their rows."""
        return replace(self, rows=rows)

    def records(self, classes: AnyArray, columns: Sequence[str], n: int | None) -> Records:
        """Return the first labels as a table; without `n`, those that are more probably wrong than right.

        Parameters
        ----------
        classes : ndarray of shape (n_classes,)
            Labels of the classes.
        columns : list of str
            Names of the label columns.
        n : int or None
            How many.
        """
        if n is not None and n > len(self) >= MOST_SUSPECTS:
            raise ValueError(
                f"n must be at most {len(self):,}, the labels that are listed when rows are in partitions; got {n}."
            )
        n = int(np.count_nonzero(self.probabilities > 0.5)) if n is None else n
        return Records(
            {
                "row": self.rows[:n],
                "column": [columns[column] for column in self.columns[:n]],
                "given": classes[self.given[:n]],
                "proposed": classes[self.proposed[:n]],
                "probability": self.probabilities[:n],
            }
        )

    def validate(self) -> None:
        """Refuse arrays that are not of the same length, or hold numbers that there cannot be.

        Raises
        ------
        ValueError
            If parts do not fit together.
        """
        n = len(check_array(self, "rows", np.integer, (None,), at_least=0))
        for name in ("columns", "given", "proposed"):
            check_array(self, name, np.integer, (n,), at_least=0)
        check_array(self, "probabilities", np.float64, (n,))

    def check(self, n_classes: int, n_columns: int) -> None:
        """Refuse classes and label columns that a model does not have."""
        if len(self) and (max(self.given.max(), self.proposed.max()) >= n_classes or self.columns.max() >= n_columns):
            raise ValueError("it lists suspect labels of classes or columns that it does not have")


def list_suspects(
    rows: Partitions, updates: Sequence[Any], first_rows: IntArray, *, judged: bool, most: int = MOST_SUSPECTS
) -> ListedSuspects:
    """Return the labels that are most probably wrong; of equal ones those of the first rows.

    Parameters
    ----------
    rows : Partitions
        Blocks of all rows.
    updates : list
        All updates of the run.
    first_rows : intp ndarray of shape (n_partitions,)
        Rows that count before each partition.
    judged : bool
        Whether blocks have a posterior; without, the share of a row's labels that agree with each takes its place.
    most : int, default=10_000
        Most labels.
    """
    [(counts,)] = rows.ask(updates, [BeliefCounts(judged)])
    few = FewestBeliefs(judged, int(np.searchsorted(np.cumsum(counts), most)), most, first_rows)
    [(n_found,)] = rows.ask(updates, [few])
    [(found,)] = rows.ask(updates, [SuspectLabels(few, n_found)])
    row, column, given, proposed, bits = found.T
    belief = np.ascontiguousarray(bits).view(np.float64)
    order = np.lexsort([column, row, belief])[:most]
    return ListedSuspects(row[order], column[order], given[order], proposed[order], 1 - belief[order])


@dataclass(frozen=True)
class BeliefCounts:
    """Asks for the numbers of labels by the bucket of the probability that they are right."""

    judged: bool

    def __call__(self, block: FusionBlock) -> Answer:
        """Return whole numbers of shape (n_buckets,)."""
        counts = np.zeros(N_BUCKETS, dtype=np.int64)
        for part in block.parts():
            _, _, belief = _given_labels(block, part, self.judged)
            counts += np.bincount(_bucket(belief), minlength=N_BUCKETS)
        return (counts,)


@dataclass(frozen=True)
class FewestBeliefs:
    """Asks each block for the number of its labels up to a bucket, at most `most`."""

    judged: bool
    bucket: int
    most: int
    first_rows: IntArray

    def __call__(self, block: FusionBlock) -> Answer:
        """Return whole numbers of shape (n_partitions,)."""
        counts = np.zeros(len(self.first_rows), dtype=np.int64)
        counts[self.place(block)] = len(self.labels(block))
        return (counts,)

    def place(self, block: FusionBlock) -> int:
        """Return the number of the partition of a block or, before it, of one without rows."""
        return int(np.searchsorted(self.first_rows, block.first_row))

    def labels(self, block: FusionBlock) -> IntArray:
        """Return the labels of a block, the most suspect first, of shape (n_labels, 5); see `SuspectLabels`."""
        found = [np.zeros((0, 5), dtype=np.int64)]
        for part in block.parts():
            rows, columns, belief = _given_labels(block, part, self.judged)
            chosen = np.flatnonzero(_bucket(belief) <= self.bucket)
            rows, columns, belief = rows[chosen], columns[chosen], belief[chosen]
            others = _beliefs(block, part, self.judged)[rows]
            given = block.codes[part][rows, columns]
            others[np.arange(len(rows)), given] = -1.0
            proposed = others.argmax(axis=1)
            numbers = rows + part.start + block.first_row
            found.append(np.column_stack([numbers, columns, given, proposed, belief.view(np.int64)]).astype(np.int64))
        labels = np.concatenate(found)
        # Bits of numbers from 0 to 1 are in the order of the numbers.
        return labels[np.lexsort([labels[:, 1], labels[:, 0], labels[:, 4]])[: self.most]]


@dataclass(frozen=True)
class SuspectLabels:
    """Asks for these labels; `n_found` has their number in each partition."""

    few: FewestBeliefs
    n_found: IntArray

    def __call__(self, block: FusionBlock) -> Answer:
        """Return whole numbers of shape (n_labels, 5): row, column, given and other class, bits of the probability."""
        found = np.zeros((int(self.n_found.sum()), 5), dtype=np.int64)
        labels, place = self.few.labels(block), self.few.place(block)
        start = int(self.n_found[:place].sum())
        found[start : start + len(labels)] = labels
        return (found,)


def _beliefs(block: FusionBlock, part: slice, judged: bool) -> FloatArray:
    """Return the probability of each class of some rows."""
    return block.posterior[part] if judged else block.votes(part)


def _given_labels(block: FusionBlock, part: slice, judged: bool) -> tuple[IntArray, IntArray, FloatArray]:
    """Return row in the part, label column and probability to be right of each label of some rows."""
    codes = block.codes[part]
    rows, columns = np.nonzero(codes >= 0)
    belief = _beliefs(block, part, judged)[rows, codes[rows, columns]]
    return rows, columns, np.clip(belief, 0.0, 1.0)


def _bucket(belief: FloatArray) -> IntArray:
    """Return the bucket of probabilities: their first bits, which are in the order of the numbers."""
    return (belief.view(np.int64) >> BUCKET_BITS).astype(np.intp)
