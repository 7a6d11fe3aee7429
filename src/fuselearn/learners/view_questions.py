"""What learners ask about a view before the first round, part by part (see `Learner.planning`)."""

from dataclasses import dataclass

import numpy as np

from fuselearn.numeric.moments import add_column_sums

ROWS_AT_A_TIME = 65536


@dataclass(frozen=True)
class ColumnSums:
    """Number of values, Σ (x - centre) and Σ (x - centre)² of each column; of shape (3, n_columns)."""

    centres: np.ndarray

    def __call__(self, view, first):
        sums = np.zeros((3, view.n_columns))
        for _, _, block in view.blocks():
            add_column_sums(own(block), self.centres, *sums)
        return sums

    def merged(self, answers):
        return sum(answers[1:], start=answers[0])


@dataclass(frozen=True)
class SampledRows:
    """Some rows of a view, in order; of shape (n_positions, n_columns).

    Attributes
    ----------
    positions : intp ndarray or None
        Among the rows in which the view is present, increasing; None for all of them.
    columns : tuple of int or None
        Numbers of columns of the view; None for all of them.
    """

    positions: np.ndarray | None
    columns: tuple | None = None

    def __call__(self, view, first):
        rows = None
        if self.positions is not None:
            low, high = np.searchsorted(self.positions, (first, first + len(view)))
            rows = self.positions[low:high] - first
        if self.columns is None:
            return view.some_columns(0, view.n_columns, rows)
        return np.hstack([view.some_columns(number, number + 1, rows) for number in self.columns])

    def merged(self, answers):
        return np.concatenate(answers)


@dataclass(frozen=True)
class DistinctValues:
    """Sorted distinct values of some columns, but no more than `limit` + 1 of each; a list of arrays.

    Attributes
    ----------
    columns : tuple of int
    limit : int
    """

    columns: tuple
    limit: int

    def __call__(self, view, first):
        return [self._distinct(view, number) for number in self.columns]

    def merged(self, answers):
        return [np.unique(np.concatenate(parts))[: self.limit + 1] for parts in zip(*answers)]

    def _distinct(self, view, number):
        found = np.empty(0)
        for start in range(0, len(view), ROWS_AT_A_TIME):
            rows = slice(start, min(start + ROWS_AT_A_TIME, len(view)))
            column = view.some_columns(number, number + 1, rows)[:, 0].astype(np.float64)
            found = np.union1d(found, column[~np.isnan(column)])
            if len(found) > self.limit:
                return found[: self.limit + 1]
        return found


def own(block):
    """The block, or a copy of one that is read-only, which numba would compile anew for."""
    return block if block.flags.writeable else np.array(block)
