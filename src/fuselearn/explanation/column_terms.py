"""Terms of a sum that each column contributes, and the sums and products of such terms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fuselearn.explanation.games import shapley_values
from fuselearn.typing import BoolArray, FloatArray, IntArray

MOST_EXACT = 7
"""Columns up to which all sets of columns are tried in a function of which nothing else is known."""
PAIRS = 8
"""Orders of more columns that are drawn for such a function, each walked forwards and backwards."""


@dataclass
class ColumnTerms:
    """What some function says of rows: a base, and what each column adds to it.

    Attributes
    ----------
    base : ndarray of shape (n_rows, n_outputs)
        What it says of rows of whose columns nothing is known.
    values : ndarray of shape (n_rows, n_columns, n_outputs)
        What columns add.
    errors : ndarray of shape (n_rows, n_columns, n_outputs) or None
        Standard errors of sampled values; None where all are exact.
    """

    base: FloatArray
    values: FloatArray
    errors: FloatArray | None = None

    @classmethod
    def zeros(cls, n_rows: int, n_columns: int, n_outputs: int) -> ColumnTerms:
        """Return terms that are all 0."""
        return cls(np.zeros((n_rows, n_outputs)), np.zeros((n_rows, n_columns, n_outputs)))

    @property
    def total(self) -> FloatArray:
        """What the function says: base and columns, of shape (n_rows, n_outputs)."""
        total: FloatArray = self.base + self.values.sum(axis=1)
        return total

    def add(self, other: ColumnTerms, factor: float | FloatArray = 1.0) -> None:
        """Add other terms times a number, or times a matrix of shape (their outputs, outputs of these)."""
        if isinstance(factor, np.ndarray):
            self.base += other.base @ factor
            self.values += other.values @ factor
        else:
            self.base += factor * other.base
            self.values += factor * other.values
        if other.errors is not None:
            # Errors of terms from the same drawn orders depend on each other: at worst they add up.
            size = np.abs(factor)
            errors = other.errors @ size if isinstance(factor, np.ndarray) else size * other.errors
            self.errors = errors if self.errors is None else self.errors + errors

    def put(self, rows: IntArray, terms: ColumnTerms) -> None:
        """Set the terms of some rows."""
        self.base[rows], self.values[rows] = terms.base, terms.values
        if terms.errors is not None:
            if self.errors is None:
                self.errors = np.zeros(self.values.shape)
            self.errors[rows] = terms.errors


def linear_terms(
    X: FloatArray, coefficients: FloatArray, offsets: FloatArray, players: IntArray, n_players: int
) -> ColumnTerms:
    """Return the terms of X times coefficients plus offsets; an unknown column is 0.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        The rows, scaled so that 0 is an ordinary value.
    coefficients : ndarray of shape (n_columns, n_outputs)
        Their coefficients.
    offsets : ndarray of shape (n_outputs,)
        Offsets.
    players : intp ndarray of shape (n_columns,)
        Player of each column, of which several may have the same one; -1 where a column is fixed.
    n_players : int
        Number of players.

    Examples
    --------
    >>> terms = linear_terms(np.array([[1.0, 2.0]]), np.array([[3.0], [5.0]]), np.array([0.5]), np.array([0, 1]), 2)
    >>> terms.base.tolist(), terms.values[0, :, 0].tolist()
    ([[0.5]], [3.0, 10.0])
    """
    terms = ColumnTerms.zeros(len(X), n_players, coefficients.shape[1])
    fixed = players < 0
    terms.base += offsets + X[:, fixed] @ coefficients[fixed]
    for column in np.flatnonzero(~fixed).tolist():
        terms.values[:, players[column]] += X[:, column, None] * coefficients[column]
    return terms


def function_terms(
    predict: Callable[[FloatArray], FloatArray],
    X: FloatArray,
    reference: FloatArray,
    players: IntArray,
    n_players: int,
    *,
    most_exact: int = MOST_EXACT,
    n_pairs: int = PAIRS,
) -> ColumnTerms:
    """Return the terms of a function of which nothing is known; an unknown column has a value of reference.

    With many columns orders of them are drawn: values have an error then, but add up exactly.

    Parameters
    ----------
    predict : callable
        From rows to values of shape (n_rows, n_outputs).
    X : ndarray of shape (n_rows, n_columns)
        The rows.
    reference : ndarray of shape (n_columns,)
        Values that stand for unknown ones.
    players : intp ndarray of shape (n_columns,)
        Player of each column, -1 where a column is fixed.
    n_players : int
        Number of players.
    most_exact, n_pairs : int
        As in `fuselearn.explanation.games.shapley_values`.
    """
    playing = np.unique(players[players >= 0])
    place_of = np.full(n_players + 1, len(playing))
    place_of[playing] = np.arange(len(playing))
    places = place_of[players]  # fixed columns: one beyond the last

    def value_of(members: BoolArray) -> FloatArray:
        known = np.append(members, True)[places]
        return predict(np.where(known, X, reference))

    game = shapley_values(value_of, len(playing), most_exact=most_exact, n_pairs=n_pairs)
    terms = ColumnTerms.zeros(len(X), n_players, game.empty.shape[1])
    terms.base[:] = game.empty
    terms.values[:, playing] = game.values
    if game.errors is not None:
        terms.errors = np.zeros(terms.values.shape)
        terms.errors[:, playing] = game.errors
    return terms


def players_of(columns: IntArray, known: BoolArray) -> IntArray:
    """Return the players of columns of X: the columns themselves, -1 for those that are fixed.

    Examples
    --------
    >>> players_of(np.array([4, 0, 2]), np.array([True, True, False, True, True])).tolist()
    [4, 0, -1]
    """
    return np.where(known[columns], columns, -1).astype(np.intp)
