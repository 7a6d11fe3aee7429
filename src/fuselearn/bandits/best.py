"""Try every arm, keep the best: ShareBoost and BSSD."""

from dataclasses import dataclass

import numpy as np

from fuselearn.bandits.protocol import Policy, PolicyState


@dataclass(frozen=True)
class Best(Policy):
    """Greedy policy of S0 Algorithm 1 and S1's ShareBoost: all arms compete in every round.

    Examples
    --------
    >>> Best().start(n_arms=3, horizon=10, seed=None).pull()
    [0, 1, 2]
    """

    competes = True

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
