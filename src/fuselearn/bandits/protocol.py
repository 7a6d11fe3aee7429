"""What a policy is, and the state it has during a run."""

from abc import ABC, abstractmethod


class Policy(ABC):
    """How the arm of a round is chosen.

    Attributes
    ----------
    competes : bool
        Whether the arms that are pulled compete, and only one with an edge may win. Otherwise the one arm that is
        pulled joins the ensemble whatever its edge.
    """

    competes = False

    def check(self):
        """Refuse settings that mean nothing, before any round is run."""

    @abstractmethod
    def start(self, n_arms, horizon, seed):
        """State at the beginning of a run.

        Parameters
        ----------
        n_arms : int
        horizon : int
            Number of rounds that the run was planned for.
        seed : numpy.random.SeedSequence
        """


class PolicyState(ABC):
    """A policy in the middle of a run.

    Attributes
    ----------
    probabilities : ndarray of shape (n_arms,) or None
        Chances of the arms in the next pull; None for a policy that does not draw.
    """

    probabilities = None

    @abstractmethod
    def pull(self):
        """Arms to try in this round."""

    def update(self, arm, reward):
        """Hear what the winner of the round was worth, between 0 and 1.

        A policy that does not learn ignores it.
        """


def draw(probabilities, generator):
    """Arm number drawn with these probabilities."""
    uniform = generator.random()
    cumulative = 0.0
    for arm, probability in enumerate(probabilities):
        cumulative += probability
        if uniform < cumulative:
            return arm
    return len(probabilities) - 1  # the probabilities sum to a little less than 1
