"""Draw an arm, all with the same probability: what a bandit has to beat."""

from dataclasses import dataclass

import numpy as np

from fuselearn.bandits.protocol import Policy, PolicyState, draw
from fuselearn.typing import FloatArray


@dataclass(frozen=True)
class UniformRandom(Policy):
    """Every arm with the same probability in every round.

    Examples
    --------
    >>> import numpy as np
    >>> state = UniformRandom().start(n_arms=4, horizon=10, seed=np.random.SeedSequence(0))
    >>> state.probabilities
    array([0.25, 0.25, 0.25, 0.25])
    >>> state.pull()
    [2]
    """

    def start(self, n_arms: int, horizon: int, seed: np.random.SeedSequence | None) -> "_UniformState":
        """Return the state at the beginning of a run; see `Policy.start`."""
        return _UniformState(n_arms, seed)


class _UniformState(PolicyState):
    """The draws of a run."""

    probabilities: FloatArray

    def __init__(self, n_arms: int, seed: np.random.SeedSequence | None) -> None:
        self.probabilities = np.full(n_arms, 1 / n_arms)
        self._generator = np.random.default_rng(seed)

    def pull(self) -> list[int]:
        """Draw an arm."""
        return [draw(self.probabilities, self._generator)]
