"""The bounds of S0 section 4 and S1 section 5, for two classes, one label column and ``learning_rate=1``."""

import math

from .exp3p import regret_bound


def lemma2(alphas, Zs, F, y_sign, correct):
    """S0 Lemma 2's two terms, ``(product of the Z_t, tightening term)``: training error <= first - second.

    ``F`` is sum alpha_t h_t(x_i), ``y_sign`` is +1 or -1, and ``correct`` says whether H(x_i) = y_i.
    """
    n = len(F)
    total = math.fsum(abs(alpha) for alpha in alphas)
    kept = []
    for i in range(n):
        margin = y_sign[i] * F[i] / total if total > 0 else 0.0
        if correct[i]:
            kept.append(math.exp(-margin * total))
    return math.prod(Zs), math.fsum(kept) / n


def theorem4(alphas, Zs, theta):
    """S0 Theorem 4, from its proof: P[y F <= theta sum |alpha|] <= prod Z_t exp(theta |alpha_t|)."""
    return math.prod(Z * math.exp(theta * abs(alpha)) for alpha, Z in zip(alphas, Zs, strict=True))


def theorem4_printed(errors, theta):
    """S0 Theorem 4 as printed, where no view is ever absent: ``errors`` are those of the winners.

    A drawn arm may be wrong more often than right; it joins with a negative weight, and so with 1 - epsilon.
    """
    product = 1.0
    for error in errors:
        epsilon = min(error, 1 - error)
        product *= 2 * math.sqrt(epsilon ** (1 - theta) * (1 - epsilon) ** (1 + theta))
    return product


def convergence_time(rho, n, n_arms, delta):
    """The smallest T with T (1 - sqrt(1 - rho^2)) - Z(T) > ln n, where Z(T) is the regret bound, S1 eq. (2).

    This is what follows from S1's (7), (8), (12) and Theorem 1, in place of its Theorem 2. The left side is
    convex in T and negative at T = 1, so that it passes ln n once: double T until it holds, then count up
    from the last T where it did not. Counting takes long for an edge rho below 0.1.
    """

    def holds(T):
        return T * (1 - math.sqrt(1 - rho**2)) - regret_bound(n_arms, T, delta) > math.log(n)

    T = 1
    while not holds(2 * T):
        T = 2 * T
    while not holds(T):
        T += 1
    return T
