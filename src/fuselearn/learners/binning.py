"""A view, binned once to bytes: the edges of each column, and the questions about the view that they follow from."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fuselearn.data import View
from fuselearn.learners.protocol import Plan, Planning
from fuselearn.numeric.execution import BLOCK_ROWS, n_blocks
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.numeric.tree_rows import RowsByNode, column_edges, fill_bins, has_more_values, searchable
from fuselearn.persistence.validation import check_array
from fuselearn.typing import FloatArray, IntArray

SKETCH_ROWS = 4096
"""Rows whose values place the edges of a column; a seeded sample of as many where there are more."""
LARGE_SKETCH_ROWS = 2**18
"""The same where a column has many values, but so rarely that a sketch shows few of them."""
MAX_EDGES = 254
"""Edges between the bins of a column, which are numbered by a byte with one left for missing values."""
ROWS_AT_A_TIME = 65536
"""Rows whose distinct values are looked for together."""


@dataclass(frozen=True)
class Binned:
    """Rows of a view as bins.

    Attributes
    ----------
    bins : uint8 ndarray of shape (n_columns, n_rows)
        Column-major: a histogram reads one column at a time.
    """

    bins: IntArray

    def __len__(self) -> int:
        return self.bins.shape[1]

    @cached_property
    def rows_by_node(self) -> RowsByNode:
        """The rows by the nodes of a tree that is grown on them."""
        return RowsByNode(self.bins)


@dataclass(frozen=True)
class Binning(Plan):
    """Edges between the bins of each column.

    Attributes
    ----------
    edges : ndarray of shape (n_columns, most edges)
        Increasing in each row, filled up with +inf.
    n_edges : intp ndarray of shape (n_columns,)
        Number of edges of each column.
    """

    edges: FloatArray
    n_edges: IntArray

    def validate(self) -> None:
        """Refuse bins, read from a file, that a byte cannot number, or of columns that differ in number."""
        n_columns, most = check_array(self, "edges", np.float64, (None, None), finite=False).shape
        check_array(self, "n_edges", np.integer, (n_columns,), at_least=0, below=most + 1)
        if most > MAX_EDGES:
            raise ValueError(f"it has {most} edges between the bins of a column; {MAX_EDGES} are the most")

    @property
    def n_columns(self) -> int:  # type: ignore[override]  # the base declares an attribute; here it follows from another
        return len(self.n_edges)

    @property
    def missing_bin(self) -> int:
        """Bin of a missing value, after all others."""
        return self.edges.shape[1] + 1

    @property
    def n_bins(self) -> int:
        """Number of bins, with that of the missing values."""
        return self.missing_bin + 1

    @classmethod
    def planning(
        cls,
        n_columns: int,
        n_rows: int,
        max_bins: int,
        seed: np.random.SeedSequence | None,
        sketch_rows: int = SKETCH_ROWS,
    ) -> Planning:
        """Return the generator of `Learner.planning`: edges of every column, by the values of some rows."""
        generator = np.random.default_rng(seed)
        sketch = yield SampledRows(_sample(n_rows, sketch_rows, generator))
        values = [_sorted(column) for column in sketch.T]
        if n_rows > sketch_rows:
            # A column of few values is cut between all of them, so none may be missed.
            few = [number for number in range(n_columns) if not has_more_values(values[number], max_bins)]
            distinct = (yield DistinctValues(tuple(few), max_bins)) if few else []
            more = []
            for number, column_values in zip(few, distinct):
                if len(column_values) > max_bins:
                    more.append(number)
                else:
                    values[number] = column_values
            if more:
                # Nearly all rows have one of few values: only a larger sample shows how the others are spread.
                sketch = yield SampledRows(_sample(n_rows, LARGE_SKETCH_ROWS, generator), tuple(more))
                for number, column in zip(more, sketch.T):
                    values[number] = _sorted(column)
        all_edges = [column_edges(column, max_bins) for column in values]
        n_edges = np.array([len(edges) for edges in all_edges], dtype=np.intp)
        padded = np.full((n_columns, n_edges.max(initial=0)), np.inf)
        for row, edges in zip(padded, all_edges):
            row[: len(edges)] = edges
        return cls(padded, n_edges)

    def prepare(self, view: View, threads: Threads = SERIAL) -> Binned:
        """Return the rows of a view as bins."""
        n_rows = len(view)
        bins = np.empty((self.n_columns, n_rows), dtype=np.uint8)
        edges = searchable(self.edges)

        def work(first: int, last: int) -> None:
            for number in range(first, last):
                start, stop = number * BLOCK_ROWS, min((number + 1) * BLOCK_ROWS, n_rows)
                fill_bins(view.block(start, stop), edges, self.missing_bin, bins[:, start:stop])

        threads.share(n_blocks(n_rows), work)
        return Binned(bins)

    def read(self, view: View) -> FloatArray:
        """Return the values themselves: x <= edges[b] and bin <= b are the same."""
        return view.block(0, len(view))


@dataclass(frozen=True)
class SampledRows:
    """Question: some rows of a view, in order; of shape (n_positions, n_columns).

    Attributes
    ----------
    positions : intp ndarray or None
        Among the rows in which the view is present, increasing; None for all of them.
    columns : tuple of int or None
        Numbers of columns of the view; None for all of them.
    """

    positions: IntArray | None
    columns: tuple[int, ...] | None = None

    def __call__(self, view: View, first: int) -> FloatArray:
        rows = None
        if self.positions is not None:
            low, high = np.searchsorted(self.positions, (first, first + len(view)))
            rows = self.positions[low:high] - first
        if self.columns is None:
            return view.some_columns(0, view.n_columns, rows)
        return np.hstack([view.some_columns(number, number + 1, rows) for number in self.columns])

    def merged(self, answers: list[FloatArray]) -> FloatArray:
        """Return the rows of all partitions, one after the other."""
        return np.concatenate(answers)


@dataclass(frozen=True)
class DistinctValues:
    """Question: sorted distinct values of some columns, but no more than `limit` + 1 of each; a list of arrays.

    Attributes
    ----------
    columns : tuple of int
        Numbers of columns of the view.
    limit : int
        Number of values beyond which a column has too many.
    """

    columns: tuple[int, ...]
    limit: int

    def __call__(self, view: View, first: int) -> list[FloatArray]:
        return [self._distinct(view, number) for number in self.columns]

    def merged(self, answers: list[list[FloatArray]]) -> list[FloatArray]:
        """Return the distinct values in all partitions."""
        return [np.unique(np.concatenate(partitions))[: self.limit + 1] for partitions in zip(*answers)]

    def _distinct(self, view: View, number: int) -> FloatArray:
        """Return the distinct values of one column."""
        values: FloatArray = np.empty(0)
        for start in range(0, len(view), ROWS_AT_A_TIME):
            rows = slice(start, min(start + ROWS_AT_A_TIME, len(view)))
            column = view.some_columns(number, number + 1, rows)[:, 0].astype(np.float64)
            values = np.union1d(values, column[~np.isnan(column)])
            if len(values) > self.limit:
                return values[: self.limit + 1]
        return values


def _sample(n_rows: int, most: int, generator: np.random.Generator) -> IntArray | None:
    """Return the numbers of `most` rows, increasing; None for all rows where there are no more."""
    return np.sort(generator.choice(n_rows, most, replace=False)) if n_rows > most else None


def _sorted(column: FloatArray) -> FloatArray:
    """Return the observed values of a column, in order."""
    values = np.array(column, dtype=np.float64)
    values.sort()  # NaN comes last
    return values[: np.searchsorted(values, np.nan)]
