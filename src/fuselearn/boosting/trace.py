"""Everything a boosting run recorded.

The weights of the rows follow from the data and this record, so a run can be continued where it ended.
"""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from fuselearn.backends.protocol import Plans
from fuselearn.bandits.protocol import Policy
from fuselearn.learners.protocol import Hypothesis
from fuselearn.typing import FloatArray, IntArray

OUT_OF_BAG = "out_of_bag"
"""The `error` of a run whose hypotheses are judged on the rows that they were not fitted on."""


class Update(NamedTuple):
    """One reweighting: the hypothesis of an arm, with the vote `alpha`, moved the arm's weights.

    Attributes
    ----------
    arm : int
        Number of the arm.
    hypothesis : Hypothesis or None
        None where no row with weight had the arm's view.
    alpha : float
        Vote of the hypothesis, with the learning rate.
    """

    arm: int
    hypothesis: Hypothesis | None
    alpha: float


class Round(NamedTuple):
    """One round.

    Attributes
    ----------
    winner : Update
        The hypothesis that joined the ensemble.
    updates : tuple of Update
        All reweightings: the winner's where arms share their weights, every arm's where each keeps its own.
    error, normaliser : float
        ε and Z of the winner.
    arm_errors : dict of int to float
        ε of the arms that were tried.
    probabilities : ndarray of shape (n_arms,) or None
        Probabilities with which the policy drew; None for a policy that does not draw.
    last : bool
        Whether the run ended here, before the number of rounds asked for.
    """

    winner: Update
    updates: tuple[Update, ...]
    error: float
    normaliser: float
    arm_errors: dict[int, float]
    probabilities: FloatArray | None
    last: bool


@dataclass(frozen=True)
class RunSettings:
    """Settings that stay the same through a run, also one that is continued.

    Attributes
    ----------
    arms_of_views : tuple of int
        Number of arms of each view.
    view_policy : Policy or None
        Policy that chooses arms; None where every arm is tried.
    learning_rate : float
        Factor on every vote.
    resample : bool
        Whether hypotheses are fitted on rows drawn by the weights.
    error : {"training", "out_of_bag"}
        Rows that judge a hypothesis.
    """

    arms_of_views: tuple[int, ...]
    view_policy: Policy | None
    learning_rate: float
    resample: bool
    error: str


@dataclass
class Trace:
    """The rounds of a run.

    Attributes
    ----------
    settings : RunSettings
        Settings of the run.
    seed : int
        Seed of all draws of the run.
    horizon : int
        Number of rounds that the first fit planned for.
    rounds : list of Round
        The rounds so far.
    plans : dict
        Plans that the learners made of each view, by the number of the view and the learner's preparation.
    one_data_set, one_label_column, equal_weights : bool
        Whether all rounds ran on the same rows, with one label a row, and with the same weight for each.
    """

    settings: RunSettings
    seed: int
    horizon: int
    rounds: list[Round] = field(default_factory=list)
    plans: Plans = field(default_factory=dict)
    one_data_set: bool = True
    one_label_column: bool = True
    equal_weights: bool = True

    def __len__(self) -> int:
        return len(self.rounds)

    def __getstate__(self) -> dict[str, Any]:
        # For a model inside a foreign object, which skops writes: there the keys of a dict are text or numbers, and
        # those of the plans are tuples.
        return {**vars(self), "plans": list(self.plans.items())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, plans=dict(state["plans"]))

    def copy(self) -> "Trace":
        """Return a trace that can grow without this one."""
        return replace(self, rounds=list(self.rounds), plans=dict(self.plans))

    @property
    def n_arms(self) -> int:
        """Number of arms of all views."""
        return sum(self.settings.arms_of_views)

    @property
    def ended(self) -> bool:
        """True if the last round left nothing to learn."""
        return bool(self.rounds) and self.rounds[-1].last

    @property
    def alphas(self) -> FloatArray:
        """Vote of each winner."""
        return np.array([round_.winner.alpha for round_ in self.rounds], dtype=float)

    @property
    def errors(self) -> FloatArray:
        """Weighted error ε of each winner."""
        return np.array([round_.error for round_ in self.rounds], dtype=float)

    @property
    def normalisers(self) -> FloatArray:
        """Z of each round."""
        return np.array([round_.normaliser for round_ in self.rounds], dtype=float)

    @property
    def winning_arms(self) -> IntArray:
        """Number of the winning arm of each round."""
        return np.array([round_.winner.arm for round_ in self.rounds], dtype=np.intp)

    @property
    def arm_errors(self) -> FloatArray:
        """Errors of all arms, of shape (n_rounds, n_arms), NaN where an arm was not tried."""
        table = np.full((len(self.rounds), self.n_arms), np.nan)
        for row, round_ in zip(table, self.rounds):
            row[list(round_.arm_errors)] = list(round_.arm_errors.values())
        return table

    @property
    def arm_probabilities(self) -> FloatArray | None:
        """Probabilities of all arms, of shape (n_rounds, n_arms); None for a policy that does not draw."""
        if not self.rounds or self.rounds[0].probabilities is None:
            return None
        return np.array([round_.probabilities for round_ in self.rounds])
