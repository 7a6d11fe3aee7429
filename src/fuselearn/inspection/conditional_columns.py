"""Columns given all others, and tests of whether the target depends on a column beyond the others.

Each column is brought to normal scores, and is then regressed on all others by their shrunk covariance (Ledoit and
Wolf, 2004). What is left of it knows nothing of the others. A column that the target does not depend on, given the
others, has a remainder that is uncorrelated with whatever a prediction from the other columns leaves of the target.
This is what the tests look at; they sum over rows of a group first, and need no shuffled copies of the columns.
"""

from __future__ import annotations

import numpy as np
from scipy import stats
from sklearn.covariance import ledoit_wolf_shrinkage

from fuselearn.typing import BoolArray, FloatArray, IntArray

LEAST_SHRINKAGE = 1e-3
"""Share of the covariance that is the identity, at least: columns may be copies of each other."""
LEAST_VARIANCE = 1e-10
"""Share of the largest variance below which a direction of sums is none, such as that of all classes together."""


class ConditionalColumns:
    """Expected values of columns given all others, what these leave of them, and draws given the others.

    A gap counts as the mean for the other columns, and has no value itself.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_columns)
        The columns; NaN is a gap.

    Attributes
    ----------
    known : bool ndarray of shape (n_rows, n_columns)
        Where there is a value.
    remainders : ndarray of shape (n_rows, n_columns)
        Normal scores less those that are expected given the other columns; 0 at gaps.
    """

    def __init__(self, table: FloatArray) -> None:
        self.known: BoolArray = ~np.isnan(table)
        self._scores = np.zeros(table.shape)
        self._values: list[FloatArray] = []
        for column in range(table.shape[1]):
            there = self.known[:, column]
            values, inverse, counts = np.unique(table[there, column], return_inverse=True, return_counts=True)
            # The middle rank of equal values.
            scores = stats.norm.ppf((np.cumsum(counts) - counts / 2) / max(counts.sum(), 1))
            if len(values) > 1:
                scores = scores - np.average(scores, weights=counts)
                scores /= np.sqrt(np.average(scores**2, weights=counts))
            self._scores[there, column] = scores[inverse]
            self._values.append(np.array([scores, values]))
        n_rows, n_columns = table.shape
        shrinkage = max(float(ledoit_wolf_shrinkage(self._scores, assume_centered=True)), LEAST_SHRINKAGE)
        ridge = shrinkage * (float(np.sum(self._scores**2)) / (n_rows * n_columns) or 1.0)
        # The inverse of the covariance (1 - δ) ZᵀZ / n + ridge, by the singular values of Z.
        left, sizes, right = np.linalg.svd(self._scores, full_matrices=False)
        variances = (1 - shrinkage) * sizes**2 / n_rows + ridge
        outside = np.maximum(1 - np.sum(right**2, axis=0), 0.0) / ridge
        precisions = (right**2 / variances[:, None]).sum(axis=0) + outside
        some = self.known & (self._scores != 0).any(axis=0)  # of constant columns rounding alone would be left
        self.remainders: FloatArray = np.where(some, (left * (sizes / variances)) @ right / precisions, 0.0)
        self._spreads = 1 / np.sqrt(precisions)

    def means(self, rows: IntArray, column: int) -> FloatArray:
        """Return the expected values of a column in some rows; its gaps stay."""
        scores, values = self._values[column]
        expected = self._scores[rows, column] - self.remainders[rows, column]
        return self._with_gaps(rows, column, np.interp(expected, scores, values) if len(values) else expected)

    def draws(self, rows: IntArray, column: int, generator: np.random.Generator) -> FloatArray:
        """Return values of a column for some rows, drawn from those it has, given the other columns; its gaps stay."""
        scores, values = self._values[column]
        expected = self._scores[rows, column] - self.remainders[rows, column]
        drawn = expected + self._spreads[column] * generator.standard_normal(len(rows))
        nearest = np.searchsorted((scores[1:] + scores[:-1]) / 2, drawn)
        return self._with_gaps(rows, column, values[nearest] if len(values) else drawn)

    def _with_gaps(self, rows: IntArray, column: int, values: FloatArray) -> FloatArray:
        """Return values with NaN where the column has gaps."""
        filled: FloatArray = np.where(self.known[rows, column], values, np.nan)
        return filled


def dependence_chance(remainders: FloatArray, errors: FloatArray, units: IntArray) -> float:
    """Return the p-value of one column: the chance that its remainder goes with errors of prediction as much as here.

    Sums of remainder · error over the rows of each unit have mean 0 if the target does not depend on the column beyond
    the others: one-sample t-test, or Hotelling's for several classes.

    Parameters
    ----------
    remainders : ndarray of shape (n_rows,)
        What other columns leave of the column, in rows where it has a value.
    errors : ndarray of shape (n_rows, n_outputs)
        What predictions from the other columns leave of the target, or of the indicators of the classes.
    units : intp ndarray of shape (n_rows,)
        Rows of the same number are one observation.

    Returns
    -------
    float
        The p-value.
    """
    sums = _sums_of_units(remainders[:, None] * errors, units)
    n_units = len(sums)
    if n_units < 3:
        return 1.0
    centre = sums.mean(axis=0)
    variances, axes = np.linalg.eigh((sums - centre).T @ (sums - centre) / (n_units - 1))
    used = variances > LEAST_VARIANCE * max(float(variances[-1]), np.finfo(float).tiny)
    n_used = int(used.sum())
    if n_used == 0 or n_units - n_used < 1:
        return 1.0
    distance = n_units * float(np.sum((centre @ axes[:, used]) ** 2 / variances[used]))
    ratio = distance * (n_units - n_used) / (n_used * (n_units - 1))
    return float(stats.f.sf(ratio, n_used, n_units - n_used))


def gain_chance(gains: FloatArray, units: IntArray) -> float:
    """Return the chance that gains of rows, which are symmetric by chance, are as large on average as here.

    Parameters
    ----------
    gains : ndarray of shape (n_rows,)
        By how much a row is predicted better with its own value of a column than with a drawn one.
    units : intp ndarray of shape (n_rows,)
        Rows of the same number are one observation.

    Returns
    -------
    float
        The one-sided p-value.
    """
    sums = _sums_of_units(gains[:, None], units)[:, 0]
    if len(sums) < 3 or not np.ptp(sums) > 0:
        return 1.0
    return float(stats.t.sf(sums.mean() / (sums.std(ddof=1) / np.sqrt(len(sums))), len(sums) - 1))


def _sums_of_units(values: FloatArray, units: IntArray) -> FloatArray:
    """Return the sums over the rows of each unit that has some."""
    _, numbers = np.unique(units, return_inverse=True)
    sums = np.zeros((int(numbers.max(initial=-1)) + 1, values.shape[1]))
    np.add.at(sums, numbers, values)
    return sums
