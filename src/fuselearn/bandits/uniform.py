"""Draw an arm, all alike: what a bandit has to beat."""

from dataclasses import dataclass

import numpy as np

from fuselearn.bandits.protocol import Policy, PolicyState, draw


@dataclass(frozen=True)
class UniformRandom(Policy):
    """Every arm with the same chance in every round.

    Examples
    --------
    >>> import numpy as np
    >>> state = UniformRandom().start(n_arms=4, horizon=10, seed=np.random.SeedSequence(0))
    >>> state.probabilities
    array([0.25, 0.25, 0.25, 0.25])
    >>> state.pull()
    [2]
    """

    def start(self, n_arms, horizon, seed):
        return _UniformState(n_arms, seed)


class _UniformState(PolicyState):
    def __init__(self, n_arms, seed):
        self.probabilities = np.full(n_arms, 1 / n_arms)
        self._generator = np.random.default_rng(seed)

    def pull(self):
        return [draw(self.probabilities, self._generator)]
