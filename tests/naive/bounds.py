"""The bounds of S0 section 4 and S1 section 5, for two classes, one label column and ``learning_rate=1``."""

import itertools
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


def generalisation_terms(name, d, n, delta, theta):
    """What S0 Theorem 3 ("theorem_3") and the bound after it ("sharper") add to the share of margins <= theta."""
    if name == "theorem_3":
        return math.sqrt(d * math.log(n / d) ** 2 / theta**2 + math.log(1 / delta)) / math.sqrt(n)
    complexity = math.sqrt(d / n) / theta
    iterated_log = math.sqrt(math.log(math.log2(2 / theta)) / n)
    return complexity + iterated_log + (math.sqrt(0.5 * math.log(2 / delta)) + 2) / math.sqrt(n)


def infimum(name, margins, d, delta, steps=20_000):
    """The least of S0's bounds over a fine grid of theta in (0, 1]: never below the infimum, and near it."""
    n = len(margins)
    values = []
    for k in range(1, steps + 1):
        theta = k / steps
        share = sum(margin <= theta for margin in margins) / n
        values.append(share + generalisation_terms(name, d, n, delta, theta))
    return min(values)


def sdp_complexity(n):
    """S0 Lemma 5's E max sigma^T K sigma, over K = y y^T for every y, by trying all of them."""
    signs = list(itertools.product([-1, 1], repeat=2 * n))
    largest = [max(sum(s * t for s, t in zip(sigma, y)) ** 2 for y in signs) for sigma in signs]
    return sum(largest) / len(largest)


def greedy_rounds(rho, n):
    """The smallest T with sqrt(1 - rho^2)^T < 1/n, by counting; an edge above 1 - 1/n is not rewarded."""
    rho = min(rho, 1 - 1 / n)
    T = 1
    while math.sqrt(1 - rho**2) ** T >= 1 / n:
        T += 1
    return T


def regret(rewards, pulled):
    """S1 eq. (1): what the best single arm would have collected, less what was."""
    n_arms = len(rewards[0])
    best = max(math.fsum(row[j] for row in rewards) for j in range(n_arms))
    return best - math.fsum(row[j] for row, j in zip(rewards, pulled, strict=True))


def convergence_time(rho, n, n_arms, delta, logarithmic=False):
    """The smallest T with T (1 - sqrt(1 - rho^2)) - Z(T) > ln n, where Z(T) is the regret bound, S1 eq. (2).

    This is what follows from S1's (7), (8), (12) and Theorem 1, in place of its Theorem 2. The left side is
    convex in T and negative at T = 1, so that it passes ln n once: double T until it holds, then count up
    from the last T where it did not. Counting takes long for an edge rho below 0.1. With the logarithmic reward a
    round gains min(1, -ln sqrt(1 - rho^2)). An edge above 1 - 1/n is not rewarded.
    """
    rho = min(rho, 1 - 1 / n)
    Z = math.sqrt(1 - rho**2)
    gain = min(1, -math.log(Z)) if logarithmic else 1 - Z

    def holds(T):
        return T * gain - regret_bound(n_arms, T, delta) > math.log(n)

    T = 1
    while not holds(2 * T):
        T = 2 * T
    while not holds(T):
        T += 1
    return T
