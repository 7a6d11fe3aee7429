"""UCB1: the stochastic bandit that S1 names beside Exp3.P."""

from dataclasses import dataclass
from math import inf, log
from numbers import Real

import numpy as np

from fuselearn.bandits.protocol import Costs, Policy, PolicyState, check_rewards, short_repr
from fuselearn.numeric.votes import TIE


@dataclass(frozen=True)
class UCB(Policy):
    """Upper confidence bounds: the arm whose mean reward is, with some confidence, the largest that it may be.

    Each arm is pulled once. From then on it is the arm of the largest mean reward + √(exploration·ln t / n_j), after t
    pulls, n_j of them of arm j; of equal ones the first. Nothing is drawn.

    Parameters
    ----------
    exploration : float above 0, default=2.0
        UCB1's is 2. Less pulls the best arm more often.
    reward : {"loss", "logarithmic"}, default="loss"
        Reward of a round: 1 - Z, or min(1, -ln Z).
    costs : dict of str to float, tuple of float or None, default=None
        Cost of each view, by its name, or of each arm. With them, the reward is per cost.

    Notes
    -----
    S1 names UCB as what speeds up AdaBoost in practice, and prefers Exp3.P because boosting changes the rewards of the
    arms: UCB's guarantees are for rewards that do not change.

    References
    ----------
    Auer, Cesa-Bianchi, Fischer. Finite-time analysis of the multiarmed bandit problem. Machine Learning 47, 2002.
    Busa-Fekete, Kégl. Accelerating AdaBoost using UCB. JMLR W&CP 7, 2009.

    Examples
    --------
    >>> state = UCB().start(n_arms=3, horizon=100, seed=None)
    >>> pulls = []
    >>> for _ in range(100):
    ...     [arm] = state.pull()
    ...     state.update(arm, reward=1.0 if arm == 2 else 0.1)
    ...     pulls.append(arm)
    >>> [pulls.count(arm) for arm in range(3)]
    [7, 7, 86]
    """

    exploration: float = 2.0
    reward: str = "loss"
    costs: Costs = None

    __repr__ = short_repr

    def start(self, n_arms: int, horizon: int, seed: np.random.SeedSequence | None) -> "_UCBState":
        """Return the state at the beginning of a run; see `Policy.start`."""
        return _UCBState(self, n_arms)

    def check(self) -> None:
        """Refuse settings that are out of range."""
        if isinstance(self.exploration, bool) or not (
            isinstance(self.exploration, Real) and 0 < self.exploration < inf
        ):
            raise ValueError(f"UCB's exploration must be a finite number above 0; got {self.exploration!r}.")
        check_rewards(self)


class _UCBState(PolicyState):
    """Rewards and pulls of the arms so far."""

    def __init__(self, policy: UCB, n_arms: int) -> None:
        self._policy = policy
        self._rewards, self._pulls = np.zeros(n_arms), np.zeros(n_arms)

    def pull(self) -> list[int]:
        """Return the arm that was never pulled, or that of the largest upper bound."""
        if not self._pulls.all():
            return [int(np.argmin(self._pulls > 0))]
        bonus = np.sqrt(self._policy.exploration * log(self._pulls.sum()) / self._pulls)
        bounds = self._rewards / self._pulls + bonus
        return [int(np.argmax(bounds >= bounds.max() - TIE))]

    def update(self, arm: int, reward: float) -> None:
        """Add a reward to those of its arm."""
        self._rewards[arm] += self._policy.value(arm, reward)
        self._pulls[arm] += 1
