"""A view, binned once to bytes."""

from dataclasses import dataclass

import numpy as np

from fuselearn.learners.protocol import Plan
from fuselearn.numeric.binning import column_edges, fill_bins, has_more_values, searchable
from fuselearn.numeric.threads import BLOCK_ROWS, SERIAL, n_blocks

SKETCH_ROWS = 4096
"""Rows whose values place the edges of a column; a seeded sample of as many where there are more."""
COLUMNS_AT_A_TIME = 16


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
        """Edges of every column, a few columns at a time."""
        sample = None
        if len(view) > SKETCH_ROWS:
            generator = np.random.default_rng(seed)
            sample = np.sort(generator.choice(len(view), SKETCH_ROWS, replace=False))
        all_edges = []
        for first in range(0, view.n_columns, COLUMNS_AT_A_TIME):
            columns = view.some_columns(first, first + COLUMNS_AT_A_TIME, sample)
            for number, column in enumerate(columns.T, start=first):
                values = _sorted(column)
                # A column of few values is cut between all of them, so none may be missed.
                if sample is not None and not has_more_values(values, max_bins):
                    values = _sorted(view.some_columns(number, number + 1)[:, 0])
                all_edges.append(column_edges(values, max_bins))
        n_edges = np.array([len(edges) for edges in all_edges], dtype=np.intp)
        padded = np.full((view.n_columns, n_edges.max(initial=0)), np.inf)
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


def _sorted(column):
    """Observed values of a column, in order."""
    values = np.array(column, dtype=np.float64)
    values.sort()  # NaN comes last
    return values[: np.searchsorted(values, np.nan)]
