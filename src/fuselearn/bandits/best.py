"""Try every arm, keep the best: ShareBoost and BSSD."""

from dataclasses import dataclass

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

    def start(self, n_arms, horizon, seed):
        return _BestState(n_arms)


class _BestState(PolicyState):
    def __init__(self, n_arms):
        self._arms = list(range(n_arms))

    def pull(self):
        return self._arms
