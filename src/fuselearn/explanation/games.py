"""Shapley values of players in a game: exact over all sets of players, or from permutations of them.

A game gives every set of players a value. The Shapley value of a player is the mean, over all orders in which the
players could come, of what the value changes by when the player comes. Those of all players add up to the value of all
of them less the value of none. With orders that are drawn this holds as it does with all orders, since the changes
along each order add up to the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import factorial
from typing import NamedTuple

import numpy as np

from fuselearn.typing import BoolArray, FloatArray, IntArray

SEED = 20260419
"""Seed of drawn orders: explanations of a row are the same whenever, and with whatever other rows, it is explained."""


class GameValues(NamedTuple):
    """Shapley values of the players in the games of some rows.

    Attributes
    ----------
    empty : ndarray of shape (n_rows, n_outputs)
        Values of the set without players.
    values : ndarray of shape (n_rows, n_players, n_outputs)
        Shapley values.
    errors : ndarray of shape (n_rows, n_players, n_outputs) or None
        Standard errors of sampled values; None where they are exact.
    """

    empty: FloatArray
    values: FloatArray
    errors: FloatArray | None


def shapley_values(
    value_of: Callable[[BoolArray], FloatArray], n_players: int, *, most_exact: int, n_pairs: int
) -> GameValues:
    """Return Shapley values of the games of some rows, which are played at the same time.

    Parameters
    ----------
    value_of : callable
        Takes the mask of the players that are in a set, and returns its values, of shape (n_rows, n_outputs).
    n_players : int
        Number of players.
    most_exact : int
        Players up to which all sets are valued; with more of them, orders are drawn.
    n_pairs : int
        Drawn orders, each of which is walked forwards and backwards.

    Examples
    --------
    Two players who are worth 1 each, and 4 together:

    >>> import numpy as np
    >>> game = shapley_values(lambda s: np.array([[1.0 * s.sum() + 2 * s.all()]]), 2, most_exact=8, n_pairs=4)
    >>> game.values[0, :, 0].tolist()
    [2.0, 2.0]
    """
    empty = value_of(np.zeros(n_players, dtype=bool))
    if n_players <= most_exact:
        return _of_all_sets(value_of, n_players, empty)
    return _of_drawn_orders(value_of, n_players, empty, drawn_orders(n_players, n_pairs))


def _of_all_sets(value_of: Callable[[BoolArray], FloatArray], n_players: int, empty: FloatArray) -> GameValues:
    """Return exact Shapley values: the value of a set counts for its members, and against all others."""
    shares = set_weights(n_players)
    values = np.zeros((len(empty), n_players, empty.shape[1]))
    for number in range(2**n_players):
        members = (number >> np.arange(n_players)) & 1 == 1
        size = int(members.sum())
        of_set = value_of(members) if number else empty
        if size:
            values[:, members] += shares[size - 1] * of_set[:, None]
        if size < n_players:
            values[:, ~members] -= shares[size] * of_set[:, None]
    return GameValues(empty, values, None)


def shapley_values_of_rows(value_of: Callable[[IntArray, BoolArray], FloatArray], present: BoolArray) -> GameValues:
    """Return exact Shapley values of games in each of which only some of the players take part.

    Rows that have the players of a set, whatever others they have, are valued together: 30 rows of 30 different sets of
    ten players need 1,024 values at most, not 30 times as many.

    Parameters
    ----------
    value_of : callable
        Takes numbers of rows and the mask of a set of players, and returns the values of the set in these rows, of
        shape (n_rows, n_outputs).
    present : bool ndarray of shape (n_rows, n_players)
        The players that take part; the others have the value 0.

    Examples
    --------
    Two players who are worth 1 each and 4 together; in the second row there is only one of them:

    >>> import numpy as np
    >>> def value_of(rows, s):
    ...     return np.full((len(rows), 1), 1.0 * s.sum() + 2 * s.all())
    >>> shapley_values_of_rows(value_of, np.array([[True, True], [False, True]])).values[:, :, 0].tolist()
    [[2.0, 2.0], [0.0, 1.0]]
    """
    n_rows, n_players = present.shape
    counts = present.sum(axis=1)
    shares = np.zeros((n_players + 1, n_players + 1))
    for count in np.unique(counts).tolist():
        shares[count, :count] = set_weights(count)
    empty = value_of(np.arange(n_rows), np.zeros(n_players, dtype=bool))
    values = np.zeros((n_rows, n_players, empty.shape[1]))
    for number in _subsets(np.unique(present, axis=0)):
        members = np.array([number >> player & 1 == 1 for player in range(n_players)], dtype=bool)
        rows, size = np.flatnonzero(present[:, members].all(axis=1)), int(members.sum())
        of_set = value_of(rows, members)[:, None] if number else empty[:, None]
        others, count = present[rows] & ~members, counts[rows]
        values[rows] -= np.where(others, shares[count, size, None], 0.0)[:, :, None] * of_set
        if size:
            values[np.ix_(rows, members)] += shares[count, size - 1, None, None] * of_set
    return GameValues(empty, values, None)


def _subsets(patterns: BoolArray) -> list[int]:
    """Return all sets of players that are part of a pattern, each as a number whose bits are its members."""
    subsets = set()
    for pattern in patterns:
        whole = part = sum(1 << player for player in np.flatnonzero(pattern).tolist())
        while part:
            subsets.add(part)
            part = (part - 1) & whole
    return [0, *sorted(subsets)]


def _of_drawn_orders(
    value_of: Callable[[BoolArray], FloatArray], n_players: int, empty: FloatArray, orders: IntArray
) -> GameValues:
    """Return the means over orders, and their standard errors by the means over pairs of orders."""
    sums, squares = np.zeros((2, len(empty), n_players, empty.shape[1]))
    everyone = value_of(np.ones(n_players, dtype=bool))
    for order in orders:
        of_pair = np.zeros(sums.shape)
        for walk in (order, order[::-1]):
            members, before = np.zeros(n_players, dtype=bool), empty
            for place, player in enumerate(walk.tolist()):
                members[player] = True
                after = value_of(members) if place + 1 < n_players else everyone
                of_pair[:, player] += (after - before) / 2
                before = after
        sums += of_pair
        squares += of_pair**2
    return GameValues(empty, sums / len(orders), standard_errors(sums, squares, len(orders)))


def standard_errors(sums: FloatArray, squares: FloatArray, count: int) -> FloatArray:
    """Return the standard errors of means, from sums and sums of squares of `count` independent numbers."""
    mean = sums / count
    variance = np.maximum(squares / count - mean**2, 0.0)
    errors: FloatArray = np.sqrt(variance / max(count - 1, 1))
    return errors


def set_weights(n_players: int) -> FloatArray:
    """Return, by the number s of players that came before, the share s! (p - 1 - s)! / p! of orders with a given set.

    Examples
    --------
    >>> set_weights(2).tolist()
    [0.5, 0.5]
    """
    p = n_players
    return np.array([factorial(s) * factorial(p - 1 - s) / factorial(p) for s in range(p)])


@lru_cache(maxsize=64)
def drawn_orders(n_players: int, n_pairs: int) -> IntArray:
    """Return drawn orders of players, of shape (n_pairs, n_players); the same ones in every call.

    Examples
    --------
    >>> drawn_orders(3, 2).shape
    (2, 3)
    """
    generator = np.random.default_rng([SEED, n_players])
    orders = np.array([generator.permutation(n_players) for _ in range(n_pairs)], dtype=np.intp)
    orders.flags.writeable = False
    return orders
