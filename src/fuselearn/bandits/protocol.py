"""The protocol of a policy, and of its state during a run."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from fuselearn.typing import FloatArray


class Policy(ABC):
    """Rule by which the arm of a round is chosen.

    Attributes
    ----------
    competes : bool
        Whether the arms that are pulled compete, and only one with an edge may win. Otherwise the one arm that is
        pulled joins the ensemble whatever its edge.
    """

    competes: bool = False

    def check(self) -> None:
        """Refuse settings that mean nothing, before any round is run."""

    @abstractmethod
    def start(self, n_arms: int, horizon: int, seed: np.random.SeedSequence | None) -> "PolicyState":
        """Return the state at the beginning of a run.

        Parameters
        ----------
        n_arms : int
            Number of arms.
        horizon : int
            Number of rounds that the run was planned for.
        seed : SeedSequence or None
            Seed of the policy's draws.

        Returns
        -------
        PolicyState
            The state before the first round.
        """


class PolicyState(ABC):
    """A policy in the middle of a run.

    Attributes
    ----------
    probabilities : ndarray of shape (n_arms,) or None
        Probabilities of the arms in the next pull; None for a policy that does not draw.
    """

    probabilities: FloatArray | None = None

    @abstractmethod
    def pull(self) -> list[int]:
        """Choose the arms of this round.

        Returns
        -------
        list of int
            Numbers of the arms to try: several where they compete, else one.
        """

    def update(self, arm: int, reward: float) -> None:
        """Receive the reward of the winner of the round. A policy that does not learn ignores it.

        Parameters
        ----------
        arm : int
            Number of the winning arm.
        reward : float
            Between 0 and 1: 1 - Z of the round.
        """


def draw(probabilities: Sequence[float] | FloatArray, generator: np.random.Generator) -> int:
    """Return an arm number drawn with these probabilities."""
    uniform = generator.random()
    cumulative = 0.0
    for arm, probability in enumerate(probabilities):
        cumulative += probability
        if uniform < cumulative:
            return arm
    return len(probabilities) - 1  # the probabilities sum to a little less than 1
