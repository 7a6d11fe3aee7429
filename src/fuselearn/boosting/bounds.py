"""Bounds that the papers prove for shared boosting, as numbers.

The bounds on the training error are tight enough to be checked on any run. Those on the generalisation error hold up
to constants that the papers do not give; their terms show how they grow, not how large they are.
"""

from collections.abc import Sequence
from math import exp, inf, log, log2, prod, sqrt

import numpy as np
from scipy.stats import binom

from fuselearn.bandits.exp3p import regret_bound
from fuselearn.typing import BoolArray, FloatArray

SEARCH_LIMIT = 2**100
"""Beyond this many rounds a convergence time is as good as infinite."""


def training_error(normalisers: Sequence[float]) -> float:
    """Return the bound Π Z_t on the training error: S0 Lemma 2 without its second term.

    For an arm without absent rows Z_t = 2·√(ε_t(1 - ε_t)).
    """
    return prod(normalisers)


def tightening(signed_votes: FloatArray, right: BoolArray) -> float:
    """Return S0 Lemma 2's second term: the mean over all rows of exp(-y·F(x)), counting the rows that are right.

    `signed_votes` are y·F(x) of the training rows.
    """
    return float(np.exp(-signed_votes[right]).sum() / len(signed_votes))


def margin_share(alphas: Sequence[float], normalisers: Sequence[float], theta: float) -> float:
    """Return S0 Theorem 4's bound Π Z_t·exp(θ·|α_t|) on the share of rows with a margin of at most θ.

    With no absent row a factor is 2·√(ε^(1-θ)·(1-ε)^(1+θ)), as printed, with min(ε, 1 - ε) for a drawn arm whose α is
    negative.
    """
    return prod(z * exp(theta * abs(alpha)) for alpha, z in zip(alphas, normalisers))


def vc_dimension_of_union(dimensions: Sequence[int]) -> int:
    """Return a bound on the VC dimension of a union of classes of hypotheses, from the dimensions of each.

    By Sauer's lemma a class of dimension d labels m rows in at most Σ_{i<=d} C(m, i) ways. The union shatters no m rows
    once these add up to less than 2^m, which is Σ_j P(Binomial(m, ½) > d_j) > number of classes - 1.

    Examples
    --------
    >>> vc_dimension_of_union([5]), vc_dimension_of_union([5, 5, 5])
    (5, 12)
    """

    def may_be_shattered(m: int) -> bool:
        return binom.sf(dimensions, m, 0.5).sum() <= len(dimensions) - 1

    m = max(dimensions)
    while may_be_shattered(m + 1):
        m += 1
    return m


def terms_of_theorem_3(vc_dimension: int, n_rows: int, theta: float, delta: float) -> dict[str, float] | None:
    """Return what S0 Theorem 3 adds to the share of small margins, up to its O() constant; None where it says nothing.

    The printed d·log²(n/d) falls as d grows beyond n/e²: a richer class would seem to generalise better.
    """
    if vc_dimension * exp(2) > n_rows:
        return None
    spread = vc_dimension * log(n_rows / vc_dimension) ** 2 / theta**2
    return {"complexity": sqrt(spread + log(1 / delta)) / sqrt(n_rows)}


def terms_of_sharper_bound(vc_dimension: int, n_rows: int, theta: float, delta: float) -> dict[str, float]:
    """Return what the bound after S0 Theorem 3 (Koltchinskii, Panchenko and Lozano) adds to the share of small margins.

    ``"complexity"`` stands before a constant C that is not given; ``"iterated_log"`` and ``"confidence"`` are complete.
    """
    return {
        "complexity": sqrt(vc_dimension / n_rows) / theta,
        "iterated_log": sqrt(log(log2(2 / theta)) / n_rows),
        "confidence": (sqrt(log(2 / delta) / 2) + 2) / sqrt(n_rows),
    }


def convergence_time(rho: float, n_rows: int, n_arms: int, delta: float) -> float:
    """Return the rounds after which rShareBoost has no training error, with probability 1 - δ, if a view has edge ρ.

    S1's Theorem 2 cannot be used as printed: its last step needs 1 - ρ/2 < 0. What does follow from S1's (7), (8),
    (12) and Theorem 1 is an error of 0 as soon as T·(1 - √(1 - ρ²)) - Z(T) > ln n, with Z(T) the regret bound. The left
    side is convex in T and starts below, so the first such T is found by bisection.

    Examples
    --------
    >>> convergence_time(0.9, n_rows=1000, n_arms=3, delta=0.05)
    3946
    """

    def converged(rounds: int) -> bool:
        gain = rounds * rho**2 / (1 + sqrt(1 - rho**2))  # T·(1 - √(1 - ρ²)) without cancellation
        return gain - regret_bound(n_arms, rounds, delta) > log(n_rows)

    high = 1
    while not converged(high):
        high *= 2
        if high > SEARCH_LIMIT:
            return inf
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if converged(middle) else (middle, high)
    return high
