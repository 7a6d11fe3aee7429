"""A view, binned once to bytes."""

from dataclasses import dataclass

import numpy as np

from fuselearn.learners.protocol import Plan
from fuselearn.learners.view_questions import DistinctValues, SampledRows
from fuselearn.numeric.execution import BLOCK_ROWS, SERIAL, n_blocks
from fuselearn.numeric.tree_histograms import column_edges, fill_bins, has_more_values, searchable
from fuselearn.reductions import drive

SKETCH_ROWS = 4096
"""Rows whose values place the edges of a column; a seeded sample of as many where there are more."""
LARGE_SKETCH_ROWS = 2**18
"""The same where a column has many values, but so rarely that a sketch shows few of them."""


@dataclass(frozen=True)
class Binned:
    """Rows of a view as bins.

    Attributes
    ----------
    bins : uint8 ndarray of shape (n_columns, n_rows)
        Column-major: a histogram reads one column at a time.
    """

    bins: np.ndarray

    def __len__(self):
        return self.bins.shape[1]


@dataclass(frozen=True)
class Binning(Plan):
    """Edges between the bins of each column.

    Attributes
    ----------
    edges : ndarray of shape (n_columns, most edges)
        Increasing in each row, filled up with +inf.
    n_edges : intp ndarray of shape (n_columns,)
    """

    kind = "binned"

    edges: np.ndarray
    n_edges: np.ndarray

    @property
    def n_columns(self):
        return len(self.n_edges)

    @property
    def missing_bin(self):
        """Bin of a missing value, after all others."""
        return self.edges.shape[1] + 1

    @property
    def n_bins(self):
        """Number of bins, with that of the missing values."""
        return self.missing_bin + 1

    @classmethod
    def of(cls, view, max_bins, seed):
        """Edges for a view whose rows are all here."""
        planning = cls.planning(view.n_columns, len(view), max_bins, seed)
        return drive(planning, lambda question: question.merged([question(view, 0)]))

    @classmethod
    def planning(cls, n_columns, n_rows, max_bins, seed):
        """Generator with the protocol of `Learner.planning`: edges of every column."""
        generator = np.random.default_rng(seed)
        sketch = yield SampledRows(_sample(n_rows, SKETCH_ROWS, generator))
        values = [_sorted(column) for column in sketch.T]
        if n_rows > SKETCH_ROWS:
            # A column of few values is cut between all of them, so none may be missed.
            few = [number for number in range(n_columns) if not has_more_values(values[number], max_bins)]
            distinct = (yield DistinctValues(tuple(few), max_bins)) if few else []
            more = []
            for number, found in zip(few, distinct):
                if len(found) > max_bins:
                    more.append(number)
                else:
                    values[number] = found
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

    def prepare(self, view, threads=SERIAL):
        bins = np.empty((view.n_columns, len(view)), dtype=np.uint8)
        edges = searchable(self.edges)

        def work(first, last):
            for number in range(first, last):
                start, stop = number * BLOCK_ROWS, min((number + 1) * BLOCK_ROWS, len(view))
                # A block of X can be read-only, which numba would compile anew for.
                block = np.array(view.block(start, stop))
                fill_bins(block, edges, self.missing_bin, bins[:, start:stop])

        threads.share(n_blocks(len(view)), work)
        return Binned(bins)

    def read(self, view):
        """The values themselves: x <= edges[b] says the same as bin <= b."""
        return np.array(view.block(0, len(view)))


def _sample(n_rows, most, generator):
    """Numbers of `most` rows, increasing; None for all rows where there are no more."""
    return np.sort(generator.choice(n_rows, most, replace=False)) if n_rows > most else None


def _sorted(column):
    """Observed values of a column, in order."""
    values = np.array(column, dtype=np.float64)
    values.sort()  # NaN comes last
    return values[: np.searchsorted(values, np.nan)]
