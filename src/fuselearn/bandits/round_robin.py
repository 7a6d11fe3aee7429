"""One arm after the other."""

from dataclasses import dataclass
from itertools import cycle

from fuselearn.bandits.protocol import Policy, PolicyState


@dataclass(frozen=True)
class RoundRobin(Policy):
    """The arms in turn, from the first.

    Examples
    --------
    >>> state = RoundRobin().start(n_arms=2, horizon=10, seed=None)
    >>> [state.pull() for _ in range(3)]
    [[0], [1], [0]]
    """

    def start(self, n_arms, horizon, seed):
        return _RoundRobinState(n_arms)


class _RoundRobinState(PolicyState):
    def __init__(self, n_arms):
        self._turns = cycle(range(n_arms))

    def pull(self):
        return [next(self._turns)]
