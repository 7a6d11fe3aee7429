"""Columns given all others, and tests of whether the target depends on a column beyond the others.

Each column is brought to normal scores, and is then regressed on those others that tell something of it, which are
chosen one after the other as long as one is more correlated with what is left than the largest of as many correlations
is by chance (orthogonal matching pursuit). A shrunk covariance of all columns instead leaves much of strong
correlations, and with it false discoveries beside the columns that matter.

A column that the target does not depend on, given the others, has a remainder that is uncorrelated with whatever a
prediction from the other columns leaves of the target. This is what the tests look at; they sum over rows of a group
first, and need no shuffled copies of the columns.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from fuselearn.typing import BoolArray, FloatArray, IntArray

MOST_CHOSEN = 20
"""Other columns that a column is regressed on, at most; and no more than a quarter of the rows."""
LEAST_LEFT = 1e-6
"""Variance of a column that counts as all explained by others, such as a copy of it."""
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
        self.remainders: FloatArray = np.zeros(table.shape)
        self._spreads = np.zeros(table.shape[1])
        products = self._scores.T @ self._scores / len(table)
        for column in range(table.shape[1]):
            others, slopes, left = chosen_columns(products, column, len(table))
            if left > LEAST_LEFT:  # else rounding alone is left
                remainder = self._scores[:, column] - self._scores[:, others] @ slopes
                self.remainders[:, column] = np.where(self.known[:, column], remainder, 0.0)
            self._spreads[column] = np.sqrt(left)

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


def chosen_columns(products: FloatArray, column: int, n_rows: int) -> tuple[IntArray, FloatArray, float]:
    """Return the columns that a column is regressed on, the slopes, and the variance that is left of it.

    Parameters
    ----------
    products : ndarray of shape (n_columns, n_columns)
        Mean products of columns of mean 0.
    column : int
        The column.
    n_rows : int
        Rows that the means are of.

    Returns
    -------
    others : intp ndarray
        In the order in which they were chosen.
    slopes : ndarray
        Of the least squares.
    left : float
        The variance.

    Examples
    --------
    >>> products = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> others, slopes, left = chosen_columns(products, 0, 100)
    >>> others.tolist(), slopes.round(2).tolist(), round(left, 2)
    ([1], [0.8], 0.36)
    """
    least = np.sqrt(2 * np.log(max(len(products), 2)) / n_rows)
    sizes = np.sqrt(np.diag(products))
    free, others, slopes = sizes > 0, np.empty(0, dtype=np.intp), np.empty(0)
    free[column] = False
    covariances, left = products[column].copy(), float(products[column, column])
    while left > LEAST_LEFT and len(others) < min(MOST_CHOSEN, n_rows // 4):
        correlations = np.where(free, np.abs(covariances) / np.where(free, sizes, 1.0), 0.0) / np.sqrt(left)
        strongest = int(np.argmax(correlations))
        if correlations[strongest] <= least:
            break
        free[strongest] = False
        others = np.append(others, strongest)
        among = products[np.ix_(others, others)]
        slopes = np.linalg.lstsq(among, products[others, column], rcond=None)[0]
        covariances = products[column] - slopes @ products[others]
        left = float(covariances[column])
    return others, slopes, max(left, 0.0)


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
