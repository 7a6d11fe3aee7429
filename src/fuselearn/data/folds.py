"""Groups of rows that belong together, and folds for cross-fitting that keep them together, wherever the rows are.

The fold of a row follows from a seed and its number among all rows that were given, or from its group. So a partition
that knows how many rows come before it finds the folds of its rows, and whoever has all rows finds the same ones.
"""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuselearn.data.held_out import hashed
from fuselearn.typing import AnyArray, ArrayLike, IntArray

MAX_FOLDS = 127
"""Most folds: their numbers take a byte."""


def fold_numbers(n_rows: int, n_folds: int, seed: int, *, first_row: int = 0) -> IntArray:
    """Return the fold of each row of a table or of a partition of it: a hash of the seed and the number of the row.

    The sizes of folds differ as those of independent draws do: with 5,000 rows and 5 folds by about 3 percent.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    n_folds : int
        Number of folds, from 2 to 127.
    seed : int
        Seed of the choice.
    first_row : int, default=0
        Number of rows that come before these in the whole table, whether they count or not.

    Returns
    -------
    int8 ndarray of shape (n_rows,)
        Numbers of folds, from 0.

    Examples
    --------
    >>> folds = fold_numbers(1000, 4, seed=0)
    >>> np.bincount(folds)
    array([239, 274, 233, 254])
    >>> np.array_equal(fold_numbers(100, 4, seed=0, first_row=900), folds[900:])
    True
    """
    check_folds(n_folds)
    rows = np.arange(first_row, first_row + n_rows, dtype=np.uint64)
    return (hashed(seed, rows) % np.uint64(n_folds)).astype(np.int8)


def group_folds(counts: Sequence[int] | IntArray, n_folds: int, seed: int) -> IntArray:
    """Return the fold of each group, so that folds have about the same number of rows.

    The largest group comes first, and each goes to the fold with the fewest rows so far; groups of the same size come
    in an order that the seed draws.

    Parameters
    ----------
    counts : integer ndarray of shape (n_groups,)
        Rows of each group, in the order of the groups' first rows.
    n_folds : int
        Number of folds, from 2 to 127.
    seed : int
        Seed of the choice.

    Returns
    -------
    int8 ndarray of shape (n_groups,)
        Numbers of folds, from 0.

    Raises
    ------
    ValueError
        If there are fewer groups than folds.

    Examples
    --------
    >>> group_folds([10, 3, 3, 3, 1], 2, seed=0)
    array([0, 1, 1, 1, 1], dtype=int8)
    """
    check_folds(n_folds)
    sizes = np.asarray(counts, dtype=np.int64)
    if len(sizes) < n_folds:
        raise ValueError(f"groups must hold at least {n_folds} groups, one for each fold; got {len(sizes)}.")
    folds = np.empty(len(sizes), dtype=np.int8)
    rows_of_folds = [(0, fold) for fold in range(n_folds)]
    for group in np.lexsort([hashed(seed, np.arange(len(sizes))), -sizes]).tolist():
        n_rows, fold = rows_of_folds[0]
        folds[group] = fold
        heapq.heapreplace(rows_of_folds, (n_rows + int(sizes[group]), fold))
    return folds


def check_folds(n_folds: int) -> None:
    """Refuse a number of folds that no cross-fitting has."""
    if not 2 <= n_folds <= MAX_FOLDS:
        raise ValueError(f"n_folds must be from 2 to {MAX_FOLDS}; got {n_folds}.")


@dataclass(frozen=True)
class Folds:
    """The folds of all rows of a fit.

    Attributes
    ----------
    n_folds : int
        Number of folds.
    seed : int
        Seed of the choice.
    of_group : dict or None
        Fold of each group, by its name; None where rows are independent.

    Examples
    --------
    >>> groups = np.array(["a", "b", "a", "c", "b", "a"])
    >>> folds = Folds.of(2, seed=0, groups=groups)
    >>> folds.numbers(6, groups=groups)
    array([0, 1, 0, 1, 1, 0], dtype=int8)
    >>> folds.numbers(2, first_row=4, groups=groups[4:])
    array([1, 0], dtype=int8)
    """

    n_folds: int
    seed: int
    of_group: Mapping[Any, int] | None = None

    @classmethod
    def of(cls, n_folds: int, seed: int, groups: AnyArray | None = None) -> "Folds":
        """Choose the folds of rows in memory.

        Parameters
        ----------
        n_folds : int
            Number of folds.
        seed : int
            Seed of the choice.
        groups : ndarray of shape (n_rows,), default=None
            Names or numbers of the groups of all rows that were given, in their order.
        """
        if groups is None:
            check_folds(n_folds)
            return cls(n_folds, seed)
        names, numbers = numbered_groups(groups)
        return cls.of_counts(n_folds, seed, [dict(zip(names, np.bincount(numbers).tolist()))])

    @classmethod
    def of_counts(cls, n_folds: int, seed: int, counts: Sequence[Mapping[Any, int]]) -> "Folds":
        """Choose the folds of groups whose rows are in partitions.

        Parameters
        ----------
        n_folds : int
            Number of folds.
        seed : int
            Seed of the choice.
        counts : sequence of dict
            For each partition the names of its groups, in the order of their first rows, and the rows of each.
        """
        totals: dict[Any, int] = {}
        for of_partition in counts:
            for name, n_rows in of_partition.items():
                totals[name] = totals.get(name, 0) + n_rows
        folds = group_folds(list(totals.values()), n_folds, seed)
        return cls(n_folds, seed, dict(zip(totals, folds.tolist())))

    def numbers(self, n_rows: int, *, first_row: int = 0, groups: AnyArray | None = None) -> IntArray:
        """Return the fold of each row of a table or of a partition of it.

        Parameters
        ----------
        n_rows : int
            Number of rows.
        first_row : int, default=0
            Number of rows that come before these, whether they count or not.
        groups : ndarray of shape (n_rows,), default=None
            Groups of these rows, where folds are of groups.

        Returns
        -------
        int8 ndarray of shape (n_rows,)
            Numbers of folds, from 0.
        """
        if self.of_group is None:
            return fold_numbers(n_rows, self.n_folds, self.seed, first_row=first_row)
        if groups is None:
            raise ValueError("groups must be given: the folds are folds of groups.")
        names, numbers = numbered_groups(groups)
        return np.array([self.of_group[name] for name in names], dtype=np.int8)[numbers]


def group_names(groups: ArrayLike, n_rows: int) -> AnyArray:
    """Return the name of the group of each row, checked: no row may lack one, whether it counts or not."""
    # Names that are not whole numbers as objects: in an array of text, NaN would be the name "nan".
    names = np.asarray(groups, dtype=None if hasattr(groups, "dtype") else object)
    names = names if names.dtype.kind in "biu" else np.asarray(groups, dtype=object)
    if names.shape != (n_rows,):
        raise ValueError(f"groups must have one entry for each of the {n_rows} rows of X; got shape {names.shape}.")
    if names.dtype.kind == "O":
        missing = next((row for row, name in enumerate(names) if _is_missing_name(name)), None)
        if missing is not None:
            raise ValueError(
                f"groups has no value for row {missing}; give a row that belongs to no other a group of its own."
            )
    return names


def encode_groups(groups: ArrayLike, n_rows: int, rows: IntArray) -> IntArray:
    """Return the group of each of some rows, numbered from 0 in the order of their first row."""
    names = group_names(groups, n_rows)
    numbers = numbered_groups(names[rows])[1]
    if numbers.max(initial=0) < 1:
        raise ValueError(
            "groups puts all rows of X that count into one group, so that none can be held out; at least two groups "
            "are needed. Leave groups out where rows are independent."
        )
    return numbers


def numbered_groups(names: AnyArray) -> tuple[list[Any], IntArray]:
    """Return the names of groups in the order of their first row, and for each row the number of its group.

    Examples
    --------
    >>> numbered_groups(np.array([7, 3, 7]))
    ([7, 3], array([0, 1, 0]))
    """
    if names.dtype.kind != "O":
        distinct, first, inverse = np.unique(names, return_index=True, return_inverse=True)
        by_row = np.argsort(first)
        order = np.empty(len(first), dtype=np.intp)
        order[by_row] = np.arange(len(first))
        return distinct[by_row].tolist(), order[inverse]
    number_of: dict[Any, int] = {}
    try:
        numbers = np.array([number_of.setdefault(name, len(number_of)) for name in names], dtype=np.intp)
    except TypeError as error:
        raise ValueError(f"groups must hold numbers or names: {error}.") from None
    return list(number_of), numbers


def _is_missing_name(name: Any) -> bool:
    """Return whether the name of a group is None, NaN or a data frame's missing value."""
    return name is None or (not isinstance(name, str) and str(name) in ("nan", "NaT", "<NA>"))
