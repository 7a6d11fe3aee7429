"""One arm after the other."""

from dataclasses import dataclass
from itertools import cycle

import numpy as np

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

    def start(self, n_arms: int, horizon: int, seed: np.random.SeedSequence | None) -> "_RoundRobinState":
        """Return the state at the beginning of a run; see `Policy.start`."""
        return _RoundRobinState(n_arms)


class _RoundRobinState(PolicyState):
    """The turns of a run."""

    def __init__(self, n_arms: int) -> None:
        self._turns = cycle(range(n_arms))

    def pull(self) -> list[int]:
        """Return the arm whose turn it is."""
        return [next(self._turns)]
