"""Try every arm, keep the best: ShareBoost and BSSD."""

from dataclasses import dataclass

import numpy as np

from fuselearn.bandits.protocol import Costs, Policy, PolicyState, check_rewards, short_repr


@dataclass(frozen=True)
class Best(Policy):
    """Greedy policy of S0 Algorithm 1 and S1's ShareBoost: all arms compete in every round.

    Parameters
    ----------
    costs : dict of str to float, tuple of float or None, default=None
        Cost of each view, by its name, or of each arm. With them, the largest reward 1 - Z per cost wins instead of the
        least error: an expensive view joins only where it is worth its cost.

    Examples
    --------
    >>> Best().start(n_arms=3, horizon=10, seed=None).pull()
    [0, 1, 2]
    """

    competes = True

    costs: Costs = None

    __repr__ = short_repr

    def check(self) -> None:
        """Refuse costs that are not numbers above 0."""
        if self.costs is not None:
            check_rewards(self)

    def start(self, n_arms: int, horizon: int, seed: np.random.SeedSequence | None) -> "_BestState":
        """Return the state at the beginning of a run; see `Policy.start`."""
        return _BestState(n_arms)


class _BestState(PolicyState):
    """All arms, in every round."""

    def __init__(self, n_arms: int) -> None:
        self._arms = list(range(n_arms))

    def pull(self) -> list[int]:
        """Return all arms."""
        return self._arms
