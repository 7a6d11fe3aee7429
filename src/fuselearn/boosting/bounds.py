"""Bounds that the papers prove for shared boosting, as numbers.

The bounds on the training error are tight enough to be checked on any run. Those on the generalisation error hold up
to constants that the papers do not give; their terms show how they grow, not how large they are.
"""

from collections.abc import Callable, Sequence
from math import exp, floor, inf, log, log1p, log2, prod, sqrt

import numpy as np
from scipy.stats import binom

from fuselearn.bandits.exp3p import regret_bound
from fuselearn.typing import BoolArray, FloatArray, IntArray

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


def terms_of_theorem_3(vc_dimension: int, n_rows: int, delta: float, theta: float) -> dict[str, float] | None:
    """Return what S0 Theorem 3 adds to the share of small margins, up to its O() constant; None where it says nothing.

    The printed d·log²(n/d) falls as d grows beyond n/e²: a richer class would seem to generalise better.
    """
    if vc_dimension * exp(2) > n_rows:
        return None
    spread = vc_dimension * log(n_rows / vc_dimension) ** 2 / theta**2
    return {"complexity": sqrt(spread + log(1 / delta)) / sqrt(n_rows)}


def terms_of_sharper_bound(vc_dimension: int, n_rows: int, delta: float, theta: float) -> dict[str, float]:
    """Return what the bound after S0 Theorem 3 (Koltchinskii, Panchenko and Lozano) adds to the share of small margins.

    ``"complexity"`` stands before a constant C that is not given; ``"iterated_log"`` and ``"confidence"`` are complete.
    """
    return {
        "complexity": sqrt(vc_dimension / n_rows) / theta,
        "iterated_log": sqrt(log(log2(2 / theta)) / n_rows),
        "confidence": (sqrt(log(2 / delta) / 2) + 2) / sqrt(n_rows),
    }


GENERALISATION_BOUNDS: dict[str, Callable[[int, int, float, float], dict[str, float] | None]] = {
    "theorem_3": terms_of_theorem_3,
    "sharper": terms_of_sharper_bound,
}
"""Terms of S0's bounds on the generalisation error, given d, n, δ and θ."""


def terms_of_sdp(n_rows: int, gamma: float, delta: float) -> dict[str, float]:
    """Return what S0 equation 2, the bound on the error of SDP, adds to the mean hinge loss, at the margin γ.

    The complexity is √C(K)/(nγ), as S0 uses it. (Printed as √(C(K)/(nγ²)), outside the factor 1/√n, it would even grow
    with n.) So it is 2/γ, whatever n: S0's reason to expect more of boosting, whose complexity falls with n.
    """
    return {
        "complexity": sqrt(complexity_of_sdp(n_rows)) / (n_rows * gamma),
        "confidence": (4 + sqrt(2 * log(1 / delta))) / sqrt(n_rows),
    }


def complexity_of_sdp(n_rows: int) -> int:
    """Return C(K) = E max_K σᵀKσ of S0 Lemma 5, over n training and n test objects.

    K holds the matrix yyᵀ of every labelling y of the 2n objects. The one of y = σ gives (σᵀσ)² = 4n², and no matrix
    of trace 2n gives more. S0 prints 2n², and forgets to bound the trace of the combined kernels.

    Examples
    --------
    >>> complexity_of_sdp(50)
    10000
    """
    return (2 * n_rows) ** 2


def infimum(margins: FloatArray, terms: Callable[[float], dict[str, float] | None]) -> dict[str, float] | None:
    """Return the least, over θ in (0, 1], of the share of margins of at most θ plus terms that fall as θ grows.

    The share is a step function. Between two steps the sum falls, so it is least just below a margin, or at θ = 1.
    Returns this ``"theta"`` and the ``"bound"``, its limit from below; None where the terms are.
    """
    if terms(1.0) is None:
        return None
    # Sums round: two rows of the same votes are one step.
    margins = np.sort(margins.round(12))
    thetas = np.unique(margins[(margins > 0) & (margins < 1)]).tolist()
    thetas.append(1.0)
    shares = (np.searchsorted(margins, thetas, side="left") / len(margins)).tolist()
    sums = [share + sum((terms(theta) or {}).values()) for share, theta in zip(shares, thetas)]
    least = int(np.argmin(sums))
    return {"theta": thetas[least], "bound": sums[least]}


def rounds_of_greedy_boosting(rho: float, n_rows: int) -> int:
    """Return the rounds after which ShareBoost has no training error, if some view always has an edge of ρ.

    Every Z_t is at most √(1 - ρ²), so their product is below 1/n once T > ln n / -ln √(1 - ρ²). As votes are those of
    an error of at least 1/(2n), an edge above 1 - 1/n counts as that.

    Examples
    --------
    >>> rounds_of_greedy_boosting(0.5, n_rows=1000)
    49
    """
    rho = min(rho, 1 - 1 / n_rows)
    return floor(log(n_rows) / (-0.5 * log1p(-(rho**2)))) + 1


def convergence_time(rho: float, n_rows: int, n_arms: int, delta: float, *, logarithmic: bool = False) -> float:
    """Return the rounds after which rShareBoost has no training error, with probability 1 - δ, if a view has edge ρ.

    S1's Theorem 2 cannot be used as printed: its last step needs 1 - ρ/2 < 0. What does follow from S1's (7), (8),
    (12) and Theorem 1 is an error of 0 as soon as T·(1 - √(1 - ρ²)) - Z(T) > ln n, with Z(T) the regret bound. The left
    side is convex in T and starts below, so the first such T is found by bisection. With the logarithmic reward, a
    round with an edge of ρ gains min(1, -ln √(1 - ρ²)) instead. An edge above 1 - 1/n counts as that.

    Examples
    --------
    >>> convergence_time(0.9, n_rows=1000, n_arms=3, delta=0.05)
    3946
    """
    rho = min(rho, 1 - 1 / n_rows)
    # 1 - √(1 - ρ²) without cancellation
    gain = min(1.0, -0.5 * log1p(-(rho**2))) if logarithmic else rho**2 / (1 + sqrt(1 - rho**2))

    def converged(rounds: int) -> bool:
        return rounds * gain - regret_bound(n_arms, rounds, delta) > log(n_rows)

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


def observed_regret(rewards: FloatArray, pulled: IntArray) -> float:
    """Return what a bandit lost to the best single arm (S1 equation 1).

    `rewards` are those of all arms, of shape (n_rounds, n_arms), and `pulled` is the arm of each round.
    """
    collected = rewards[np.arange(len(pulled)), pulled].sum()
    return float(rewards.sum(axis=0).max() - collected)
