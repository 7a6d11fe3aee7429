"""Columns of a view made comparable, in two ways.

Columns that share a unit (pixels, components, intensities) lose by standardising: those that hardly vary are mostly
noise, and would count as much as the others. Columns of different units (age, income) mean nothing without it. Which
of the two a view is cannot be seen from its numbers, so both scales are tried.

Which rows a learner is fitted on, where there are more than it can take, and which groups they are of.
"""

from dataclasses import dataclass

import numpy as np

FARTHEST = 5.0
"""Standard deviations beyond which a standardised value is not believed."""
LARGEST = 1e100
"""Largest scaled value in its own units: its square is still a number."""
ALIKE = 0.05
"""Spread of the logarithms of the columns' scales below which the two ways are one."""


@dataclass(frozen=True)
class Scale:
    """Where the columns are centred, and what they are divided by.

    Attributes
    ----------
    centre, divisor : ndarray of shape (n_columns,)
    farthest : float
    """

    centre: np.ndarray
    divisor: np.ndarray
    farthest: float

    def __call__(self, X):
        """Scaled rows; a gap is at the centre."""
        scaled = (X - self.centre) / self.divisor
        np.nan_to_num(scaled, copy=False, nan=0.0, posinf=self.farthest, neginf=-self.farthest)
        return np.clip(scaled, -self.farthest, self.farthest, out=scaled)


def own_units(X, groups=None):
    """Rows of mean square 1 over all columns, which keep their units.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
    groups : list of intp ndarray or None
        Columns of each view. Every view then counts alike.
    """
    centre, spread = _moments(X)
    divisor = np.empty(X.shape[1])
    groups = [np.arange(X.shape[1])] if groups is None else groups
    for columns in groups:
        divisor[columns] = np.sqrt((spread[columns] ** 2).sum() * len(groups)) or 1.0
    return Scale(centre, divisor, LARGEST)


def standardised(X, groups=None):
    """Columns of variance 1, over the square root of their number (for each view, where there are groups)."""
    centre, spread = _moments(X)
    divisor = np.where(spread > 0, spread, 1.0)
    groups = [np.arange(X.shape[1])] if groups is None else groups
    size = np.empty(X.shape[1])
    for columns in groups:
        size[columns] = np.sqrt(max(1, np.count_nonzero(spread[columns])) * len(groups))
    return _Sized(Scale(centre, divisor, FARTHEST), size)


def units_matter(X):
    """Whether the two ways differ."""
    _, spread = _moments(X)
    spread = spread[spread > 0]
    return len(spread) > 1 and np.log(spread).std() > ALIKE


@dataclass(frozen=True)
class _Sized:
    scale: Scale
    size: np.ndarray

    def __call__(self, X):
        return self.scale(X) / self.size


def _moments(X):
    """Mean and standard deviation of the columns, whatever their gaps; 0 for a constant column."""
    heard = np.isfinite(X)
    counts = np.maximum(heard.sum(axis=0), 1)
    values = np.clip(np.where(heard, X, 0.0), -LARGEST, LARGEST)
    centre = values.sum(axis=0) / counts
    away = np.where(heard, values - centre, 0.0)
    spread = np.sqrt((away**2).sum(axis=0) / counts)
    return centre, np.where(spread > 1e-10 * (np.abs(centre) + 1e-300), spread, 0.0)


UNSEEN = -1


def taken_rows(n_rows, most, generator):
    """Mask of the rows that a machine is fitted on, drawn at random."""
    taken = np.zeros(n_rows, dtype=bool)
    taken[generator.permutation(n_rows)[:most] if n_rows > most else slice(None)] = True
    return taken


def among(groups, rows):
    """Groups of some rows, numbered from 0 again; None where there are none."""
    return None if groups is None else np.unique(groups[rows], return_inverse=True)[1]


def folds_of_others(groups, taken, fold_of):
    """Fold of each row that was not taken: that of its group among the taken ones.

    Parameters
    ----------
    groups : intp ndarray of shape (n_rows,)
    taken : bool ndarray of shape (n_rows,)
    fold_of : intp ndarray of shape (n_taken,)
        Of the taken rows, which keeps groups whole.

    Returns
    -------
    intp ndarray of shape (n_rows - n_taken,)
        `UNSEEN` where no row of the group was taken.

    Examples
    --------
    >>> groups, taken = np.array([0, 0, 1, 1, 2]), np.array([True, False, True, False, False])
    >>> folds_of_others(groups, taken, np.array([3, 4]))
    array([ 3,  4, -1])
    """
    fold_of_group = np.full(groups.max() + 1, UNSEEN)
    fold_of_group[groups[taken]] = fold_of
    return fold_of_group[groups[~taken]]


def n_observations(groups, n_rows):
    """Number of groups, or of rows where there are none: rows of a group tell hardly more than one of them."""
    return n_rows if groups is None else int(groups.max()) + 1
