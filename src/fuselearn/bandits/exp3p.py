"""Exp3.P: the adversarial bandit behind rShareBoost."""

from dataclasses import dataclass
from math import inf, log, sqrt
from numbers import Integral, Real

import numpy as np

from fuselearn.bandits.protocol import Costs, Policy, PolicyState, check_rewards, draw, short_repr
from fuselearn.typing import FloatArray


@dataclass(frozen=True)
class Exp3P(Policy):
    """Exponential weights for exploration and exploitation, with high probability (S1 §4.2).

    Arms are drawn with probability (1 - γ)·d_j/Σd + γ/M, where d_j grows with the reward that arm j was seen to
    give, divided by the probability of seeing it.

    Parameters
    ----------
    gamma : float in (0, 1] or "theory", default=0.3
        Part of the draws that explores all arms with the same probability. ``"theory"`` is
        min(3/5, 2·√(3·M·ln M / (5·T))).
    alpha : float above 0 or "theory", default=0.15
        Bonus of an arm that is rarely drawn. ``"theory"`` is 2·√(ln(M·T/δ)).
    delta : float in (0, 1), default=0.05
        Probability with which the regret bound may fail.
    horizon : int or None, default=None
        T, the number of rounds planned for; None takes `n_estimators` of the first fit.
    reward : {"loss", "logarithmic"}, default="loss"
        Reward of a round: 1 - Z, which is S1's 1 - √(1 - β²), or min(1, -ln Z), which S1 cites from Busa-Fekete and
        Kégl: it does not tell edges β above 0.93 apart, and is larger below.
    costs : dict of str to float, tuple of float or None, default=None
        Cost of each view, by its name, or of each arm. With them, the reward is per cost, and at most 1 for the
        cheapest.

    Notes
    -----
    S1's rShareBoost box prints γ in the bonus term where its Exp3.P box has α. Theorem 1 needs
    α/(p_j·√(M·T)), which is used here. d is kept as a logarithm, since it overflows otherwise.

    References
    ----------
    Auer, Cesa-Bianchi, Freund, Schapire. The non-stochastic multi-armed bandit problem. SIAM J. Comput. 32, 2002.
    Busa-Fekete, Kégl. Fast boosting using adversarial bandits. ICML 2010 (the logarithmic reward).
    S1: Peng et al. ShareBoost: Boosting for Multi-view Learning with Performance Guarantees. ECML PKDD 2011.

    Examples
    --------
    >>> import numpy as np
    >>> state = Exp3P().start(n_arms=3, horizon=100, seed=np.random.SeedSequence(0))
    >>> for _ in range(100):
    ...     [arm] = state.pull()
    ...     state.update(arm, reward=1.0 if arm == 2 else 0.1)
    >>> state.probabilities.round(2)
    array([0.13, 0.13, 0.75])
    """

    gamma: float | str = 0.3
    alpha: float | str = 0.15
    delta: float = 0.05
    horizon: int | None = None
    reward: str = "loss"
    costs: Costs = None

    __repr__ = short_repr

    @property
    def follows_theory(self) -> bool:
        """True if Theorem 1's bound on the regret holds."""
        return self.gamma == "theory" and self.alpha == "theory"

    def start(self, n_arms: int, horizon: int, seed: np.random.SeedSequence | None) -> "Exp3PState":
        """Return the state at the beginning of a run; see `Policy.start`."""
        rounds = horizon if self.horizon is None else self.horizon
        gamma = theory_gamma(n_arms, rounds) if isinstance(self.gamma, str) else self.gamma
        alpha = theory_alpha(n_arms, rounds, self.delta) if isinstance(self.alpha, str) else self.alpha
        return Exp3PState(self, n_arms, rounds, gamma, alpha, seed)

    def check(self) -> None:
        """Refuse settings that are out of range."""
        if self.gamma != "theory" and not (isinstance(self.gamma, Real) and 0 < self.gamma <= 1):
            raise ValueError(f"Exp3P's gamma must be in (0, 1] or 'theory'; got {self.gamma!r}.")
        if self.alpha != "theory" and not (isinstance(self.alpha, Real) and 0 < self.alpha < inf):
            raise ValueError(f"Exp3P's alpha must be a finite number above 0 or 'theory'; got {self.alpha!r}.")
        if not (isinstance(self.delta, Real) and 0 < self.delta < 1):
            raise ValueError(f"Exp3P's delta must be between 0 and 1; got {self.delta!r}.")
        if self.horizon is not None and not (isinstance(self.horizon, Integral) and self.horizon >= 1):
            raise ValueError(f"Exp3P's horizon must be None or at least 1; got {self.horizon!r}.")
        check_rewards(self)


class Exp3PState(PolicyState):
    """Exp3.P in the middle of a run."""

    def __init__(
        self,
        policy: Exp3P,
        n_arms: int,
        horizon: int,
        gamma: float,
        alpha: float,
        seed: np.random.SeedSequence | None,
    ) -> None:
        self._policy = policy
        self._gamma = gamma
        self._bonus = alpha / sqrt(n_arms * horizon)
        self._log_d = np.full(n_arms, alpha * gamma / 3 * sqrt(horizon / n_arms))
        self._generator = np.random.default_rng(seed)

    @property
    def probabilities(self) -> FloatArray:  # type: ignore[override]  # the base declares an attribute
        """Probabilities of the arms in the next pull."""
        d = np.exp(self._log_d - self._log_d.max())
        return (1 - self._gamma) * d / d.sum() + self._gamma / len(d)

    def pull(self) -> list[int]:
        """Draw an arm."""
        return [draw(self.probabilities, self._generator)]

    def update(self, arm: int, reward: float) -> None:
        """Raise the weight of the arm by its reward, and those of all arms by their bonus."""
        p = self.probabilities
        gain = self._bonus / p
        gain[arm] += self._policy.value(arm, reward) / p[arm]
        self._log_d += self._gamma / (3 * len(p)) * gain


def theory_gamma(n_arms: int, horizon: int) -> float:
    """Return γ of S1's Theorem 1."""
    return min(3 / 5, 2 * sqrt(3 * n_arms * log(n_arms) / (5 * horizon)))


def theory_alpha(n_arms: int, horizon: int, delta: float) -> float:
    """Return α of S1's Theorem 1."""
    return 2 * sqrt(log(n_arms * horizon / delta))


def regret_bound(n_arms: int, horizon: int, delta: float) -> float:
    """Return the most that Exp3.P with the theory's parameters loses to the best single arm, with probability 1 - δ.

    Equation (2) of S1's Theorem 1. It is loose: 444 for three arms and 150 rounds, which give at most 150.

    Examples
    --------
    >>> round(regret_bound(n_arms=3, horizon=150, delta=0.05))
    444
    """
    spread = log(n_arms * horizon / delta)
    return 4 * sqrt(n_arms * horizon * spread) + 4 * sqrt(5 / 3 * n_arms * horizon * log(n_arms)) + 8 * spread
