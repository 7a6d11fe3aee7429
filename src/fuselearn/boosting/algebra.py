"""The closed forms of a round, from three sums of weights.

With W₊, W₋, W₀ the weights of right, wrong and absent rows and K classes, SAMME's exponential loss of adding α
times a hypothesis is

    Z(α) = W₊·exp(-2α(K-1)/K) + W₋·exp(2α/K) + W₀,

which is least at α = ½·(ln(W₊/W₋) + ln(K-1)). For K = 2 and W₀ = 0 these are the papers' α and Z_t (S0 steps 3e
and 3f, S1 equation 7); for K = 2 and W₀ > 0 they are Schapire and Singer's for hypotheses that abstain.
"""

from math import exp, log, nan

from fuselearn.numeric.weights import TIE

CLIP = 2.2e-16
"""ε is kept within [CLIP, 1 - CLIP], so that α stays finite."""


def error(tally):
    """ε = W₋ / (W₊ + W₋), NaN where no row was judged."""
    judged = tally.right + tally.wrong
    return tally.wrong / judged if judged > 0 else nan


def clipped(epsilon):
    """ε, away from 0 and 1."""
    return min(max(epsilon, CLIP), 1 - CLIP)


def is_clipped(epsilon):
    """Whether a hypothesis is, to rounding, always right or always wrong."""
    return epsilon <= CLIP or epsilon >= 1 - CLIP


def has_edge(tally, n_classes):
    """Whether a hypothesis beats chance on the rows it sees, by more than rounding."""
    return (n_classes - 1) * tally.right - tally.wrong > TIE


def vote_weight(tally, n_classes):
    """α = ½·(ln((1-ε)/ε) + ln(K-1)) (S0 step 3e); 0 where no row was judged."""
    if tally.right + tally.wrong == 0:
        return 0.0
    epsilon = clipped(error(tally))
    return 0.5 * (log((1 - epsilon) / epsilon) + log(n_classes - 1))


def normaliser(tally, n_classes):
    """Z_t, the factor by which the round lowers the exponential loss: Z(α) at its least."""
    judged = tally.right + tally.wrong
    if judged == 0:
        return tally.absent
    epsilon = clipped(error(tally))
    right, wrong = (1 - epsilon) * judged, epsilon * judged
    share = 1 / n_classes
    return tally.absent + n_classes * right**share * (wrong / (n_classes - 1)) ** (1 - share)


def reweighting(alpha, tally, n_classes):
    """Factors of right, wrong and absent rows (S0 step 3f), up to one that all share.

    The largest factor of rows that there are is 1: no vote, however large, makes the weights overflow or vanish.
    """
    exponents = (-2 * alpha * (n_classes - 1) / n_classes, 2 * alpha / n_classes, 0.0)
    largest = max((exponent for exponent, weight in zip(exponents, tally) if weight > 0), default=0.0)
    return tuple(exp(min(exponent - largest, 0.0)) for exponent in exponents)


def first_least(values):
    """Key of the least value; of those within `TIE` of it the lowest key."""
    least = min(values.values())
    return min(key for key, value in values.items() if value <= least + TIE)
