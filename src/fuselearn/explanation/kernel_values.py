"""Shapley values of the columns in sums of Gaussian kernels, and in functions of such sums.

A Gaussian kernel is a product over the columns of exp(-γ (x_j - c_j)²), and a column that is not known has the factor
1: it does not tell the row from any centre. So each centre is a product game, and sums of kernels are sums of games,
which `quadrature` solves. A machine that says tanh of such a sum is no sum of product games: its straight part is
explained in the same way, and what is left is sampled, or, of few players, found over all their sets.
"""

from __future__ import annotations

import numpy as np

from fuselearn.explanation.games import drawn_orders, set_weights, standard_errors
from fuselearn.explanation.quadrature import nodes_for_sums, rules
from fuselearn.numeric.execution import compiled
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.typing import FloatArray, IntArray

CACHED_CENTRES = 32
"""Centres whose factors stay in the cache while all nodes of a rule pass by."""
MOST_EXACT = 10
"""Players up to which the sets of a squashed machine are all valued."""
PAIRS = 96
"""Orders that are drawn for more players, each walked forwards and backwards."""


def kernel_shapley(
    X: FloatArray,
    centres: FloatArray,
    gamma: float,
    coefficients: FloatArray,
    players: IntArray,
    n_players: int,
    threads: Threads = SERIAL,
    *,
    absolute: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """Return Σ coefficient · exp(-γ |x - c|²) without any player, and the Shapley values of the players.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        The rows.
    centres : ndarray of shape (n_centres, n_columns)
        The centres.
    gamma : float
        Factor of squared distances, not negative.
    coefficients : ndarray of shape (n_centres, n_outputs)
        Coefficients of the centres.
    players : intp ndarray of shape (n_columns,)
        Player of each column, of which several may have the same one; -1 where a column is fixed.
    n_players : int
        Number of players.
    threads : Threads, default=SERIAL
        Threads that share the rows.
    absolute : bool, default=False
        Whether the kernel is exp(-γ Σ |x_j - c_j|), which is a product, too.

    Returns
    -------
    base : ndarray of shape (n_rows, n_outputs)
        With fixed columns only.
    values : ndarray of shape (n_rows, n_players, n_outputs)
        Shapley values.
    """
    games = _ProductGames(X, centres, gamma, players, absolute)
    values = np.zeros((len(X), n_players, coefficients.shape[1]))
    base = np.zeros((len(X), coefficients.shape[1]))
    counts = nodes_for_sums(len(games.playing))
    nodes, weights = rules(int(counts.max()))

    def work(start: int, stop: int) -> None:
        for row in range(start, stop):
            u, fixed = games.of_row(row)
            integrals = _integrals(u, counts, nodes, weights, CACHED_CENTRES)
            integrals *= u
            integrals *= -fixed
            base[row] = fixed @ coefficients
            values[row, games.playing] = integrals @ coefficients

    threads.share(len(X), work)
    return base, values


def squashed_kernel_shapley(
    X: FloatArray,
    centres: FloatArray,
    gamma: float,
    coefficients: FloatArray,
    intercepts: FloatArray,
    shares: FloatArray,
    players: IntArray,
    n_players: int,
    threads: Threads = SERIAL,
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Explain Σ share · tanh(intercept + Σ coefficient · exp(-γ |x - c|²)) over several machines.

    Parameters
    ----------
    X, centres, gamma, coefficients, players, n_players, threads
        As those of `kernel_shapley`; the outputs are the machines.
    intercepts, shares : ndarray of shape (n_machines,)
        Intercept of each machine, and its factor.

    Returns
    -------
    base : ndarray of shape (n_rows, 1)
        With fixed columns only.
    values : ndarray of shape (n_rows, n_players, 1)
        Shapley values.
    errors : ndarray of shape (n_rows, n_players, 1) or None
        Standard errors; None where the values are exact. The sum of the values has no error.
    """
    games = _ProductGames(X, centres, gamma, players)
    playing, p = games.playing, len(games.playing)
    by_machine = np.ascontiguousarray(coefficients.T)
    values, base = np.zeros((len(X), n_players, 1)), np.zeros((len(X), 1))
    if p <= MOST_EXACT:
        ways = set_weights(p)

        def enumerate_sets(start: int, stop: int) -> None:
            for row in range(start, stop):
                u, fixed = games.of_row(row)
                empty, of_row = _of_all_sets(1 - u, fixed, by_machine, intercepts, shares, ways)
                base[row], values[row, playing, 0] = empty, of_row

        threads.share(len(X), enumerate_sets)
        return base, values, None
    without, straight = kernel_shapley(X, centres, gamma, coefficients, players, n_players, threads)
    margins = intercepts + without
    ends = margins + straight.sum(axis=1)
    # The straight part goes through the values of no player and of all: what is left is 0 at both ends.
    apart = np.abs(ends - margins) > 1e-9
    rises = np.where(apart, (np.tanh(ends) - np.tanh(margins)) / np.where(apart, ends - margins, 1.0), 0.0)
    slopes = np.where(apart, rises, 1 - np.tanh(margins) ** 2)
    base[:, 0] = np.tanh(margins) @ shares
    values[:, :, 0] = np.einsum("npm,nm->np", straight, slopes * shares)
    errors = np.zeros(values.shape)
    orders = drawn_orders(p, PAIRS).copy()

    def walk_orders(start: int, stop: int) -> None:
        for row in range(start, stop):
            u, fixed = games.of_row(row)
            sums, squares = _along_orders(1 - u, fixed, by_machine, intercepts, shares, slopes[row], orders)
            values[row, playing, 0] += sums / len(orders)
            errors[row, playing, 0] = standard_errors(sums, squares, len(orders))

    threads.share(len(X), walk_orders)
    return base, values, errors


class _ProductGames:
    """Factors of the players at the centres: one game for each centre, row by row."""

    def __init__(
        self, X: FloatArray, centres: FloatArray, gamma: float, players: IntArray, absolute: bool = False
    ) -> None:
        order = np.argsort(players, kind="stable")
        order = order[players[order] >= 0]
        # Columns of the same player stand together.
        self.playing, self._starts = np.unique(players[order], return_index=True)
        self._own, self._fixed = order, np.flatnonzero(players < 0)
        self._X, self._gamma, self._absolute = X, float(gamma), absolute
        self._centres = np.ascontiguousarray(centres.T, dtype=np.float64)

    def of_row(self, row: int) -> tuple[FloatArray, FloatArray]:
        """Return u = 1 - exp(-γ d²) of each player and centre, and the product of the factors of fixed columns."""
        own = self._squares(row, self._own)
        if len(self.playing) < len(self._own):
            own = np.add.reduceat(own, self._starts, axis=0)
        np.negative(own, out=own)
        np.exp(own, out=own)
        np.subtract(1.0, own, out=own)
        fixed: FloatArray = np.exp(-self._squares(row, self._fixed).sum(axis=0))
        return own, fixed

    def _squares(self, row: int, columns: IntArray) -> FloatArray:
        """Return γ (x - c)², or γ |x - c|, of some columns, of shape (n_columns, n_centres)."""
        away: FloatArray = self._X[row, columns, None] - self._centres[columns]
        if self._absolute:
            np.abs(away, out=away)
        else:
            away *= away
        away *= self._gamma
        return away


@compiled(reassociate=True)
def _integrals(
    u: FloatArray, counts: IntArray, rule_nodes: FloatArray, rule_weights: FloatArray, cached: int
) -> FloatArray:
    """Return ∫ Π_{i ≠ p} (1 - q u_i) dq of each player p and centre; `counts` are the nodes to take by Σ u."""
    n_players, n_centres = u.shape
    integrals = np.zeros((n_players, n_centres))
    before = np.zeros((n_players, cached))
    running = np.zeros(cached)
    for first in range(0, n_centres, cached):
        size = min(cached, n_centres - first)
        running[:] = 0.0
        for p in range(n_players):
            for c in range(size):
                running[c] += u[p, first + c]
        count = counts[min(int(np.ceil(running.max())), len(counts) - 1)]
        for t in range(count):
            q, share = rule_nodes[count, t], rule_weights[count, t]
            running[:] = 1.0
            for p in range(n_players):
                for c in range(size):
                    before[p, c] = running[c]
                    running[c] *= 1.0 - q * u[p, first + c]
            running[:] = share
            for back in range(n_players):
                p = n_players - 1 - back
                for c in range(size):
                    integrals[p, first + c] += before[p, c] * running[c]
                    running[c] *= 1.0 - q * u[p, first + c]
    return integrals


@compiled(reassociate=True)
def _squashed(
    products: FloatArray, coefficients: FloatArray, intercepts: FloatArray, shares: FloatArray, slopes: FloatArray
) -> float:
    """Return Σ share (tanh(margin) - slope · margin) over the machines, at products of the factors of each centre."""
    total = 0.0
    for m in range(len(shares)):
        margin = 0.0
        for c in range(len(products)):
            margin += coefficients[m, c] * products[c]
        margin += intercepts[m]
        total += shares[m] * (np.tanh(margin) - slopes[m] * margin)
    return total


@compiled(reassociate=True)
def _of_all_sets(
    factors: FloatArray,
    fixed: FloatArray,
    coefficients: FloatArray,
    intercepts: FloatArray,
    shares: FloatArray,
    set_shares: FloatArray,
) -> tuple[float, FloatArray]:
    """Return the value of no player, and the Shapley values of all, from the values of all sets of players."""
    n_players, n_centres = factors.shape
    products = np.ones((n_players + 1, n_centres))
    products[n_players] = fixed
    straight, values, empty = np.zeros(len(shares)), np.zeros(n_players), 0.0
    for number in range(1 << n_players):
        # Product p is over the players from p on that are in the set: the next set differs in the first ones only.
        changed = n_players - 1
        if number:
            changed = 0
            while not (number >> changed) & 1:
                changed += 1
        size = 0
        for back in range(n_players):
            p = n_players - 1 - back
            inside = (number >> p) & 1
            size += inside
            if p <= changed:
                for c in range(n_centres):
                    products[p, c] = products[p + 1, c] * (factors[p, c] if inside else 1.0)
        value = _squashed(products[0], coefficients, intercepts, shares, straight)
        if size == 0:
            empty = value
        for p in range(n_players):
            if (number >> p) & 1:
                values[p] += set_shares[size - 1] * value
            else:
                values[p] -= set_shares[size] * value
    return empty, values


@compiled(reassociate=True)
def _along_orders(
    factors: FloatArray,
    fixed: FloatArray,
    coefficients: FloatArray,
    intercepts: FloatArray,
    shares: FloatArray,
    slopes: FloatArray,
    orders: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Return sums, and sums of squares, of the changes along orders of players of what straight parts leave."""
    n_players, n_centres = factors.shape
    products = np.ones(n_centres)
    sums, squares, changes = np.zeros(n_players), np.zeros(n_players), np.zeros(n_players)
    empty = _squashed(fixed, coefficients, intercepts, shares, slopes)
    for number in range(len(orders)):
        changes[:] = 0.0
        for backwards in range(2):
            products[:] = fixed
            before = empty
            for place in range(n_players):
                p = orders[number, n_players - 1 - place if backwards else place]
                for c in range(n_centres):
                    products[c] *= factors[p, c]
                after = _squashed(products, coefficients, intercepts, shares, slopes)
                changes[p] += (after - before) / 2
                before = after
        for p in range(n_players):
            sums[p] += changes[p]
            squares[p] += changes[p] ** 2
    return sums, squares
