"""Shapley values of product games by quadrature.

In a product game the value of a set is the product of a factor o_j of each player in it and a factor z_j of each other
one. Its multilinear extension is F(q) = Π (z_j + q (o_j - z_j)): what the value is on average if every player comes
with probability q. The Shapley value of player j is the integral over q from 0 to 1 of its derivative

    (o_j - z_j) Π_{i ≠ j} (z_i + q (o_i - z_i)),

a polynomial of degree p - 1 for p players, which Gauss and Legendre's rule of p / 2 nodes integrates exactly. All
nodes are within (0, 1) and all weights positive, so that nothing cancels: this is what sums over sets of players, or
over the sizes of sets, cannot offer.

Where all z_j are 1 and o_j = 1 - u_j with u_j in [0, 1], as in kernels, fewer nodes are enough. On the ellipse of
radius ρ about [0, 1] the integrand is at most exp(δ Σ u), with δ = ((ρ + 1/ρ) / 2 - 1) / 2, so that the error is below
5 exp(δ Σ u) ρ^(-2T) for T nodes.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from fuselearn.typing import FloatArray, IntArray

ACCURACY = 1e-16
"""Error of an integral over a product of kernel factors, in units of the kernel of a row with itself."""
LARGEST_SUM = 4096
"""Sums Σ u that numbers of nodes are known for; beyond, the rule is exact by its degree or has the most nodes."""
MOST_NODES = 512


@lru_cache(maxsize=32)
def rules(most_nodes: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights on [0, 1] of the rules with 1, 2, … nodes, row by row, filled up with 0.

    Returns
    -------
    nodes, weights : ndarray of shape (most_nodes + 1, most_nodes)
        Row T has the rule of T nodes; row 0 is empty.

    Examples
    --------
    >>> nodes, weights = rules(2)
    >>> round(float(weights[2] @ nodes[2] ** 3), 12)
    0.25
    """
    nodes, weights = np.zeros((2, most_nodes + 1, most_nodes))
    for count in range(1, most_nodes + 1):
        points, shares = np.polynomial.legendre.leggauss(count)
        nodes[count, :count], weights[count, :count] = (1 + points) / 2, shares / 2
    return nodes, weights


@lru_cache(maxsize=32)
def nodes_for_sums(n_players: int) -> IntArray:
    """Return, for Σ u rounded up to 0, 1, 2, …, the number of nodes of a rule for a product of so many factors 1 - u.

    Examples
    --------
    >>> int(nodes_for_sums(8)[3]), bool(nodes_for_sums(500)[3] < 20)
    (4, True)
    """
    exact = max(1, -(-n_players // 2))
    radii = np.exp(np.linspace(0.05, 6.0, 400))
    delta = ((radii + 1 / radii) / 2 - 1) / 2
    sums = np.arange(min(n_players, LARGEST_SUM) + 1)
    needed = (sums[:, None] * delta - np.log(ACCURACY / 5)) / (2 * np.log(radii))
    counts: IntArray = np.minimum(np.ceil(needed.min(axis=1)), min(exact, MOST_NODES)).astype(np.intp)
    return counts
