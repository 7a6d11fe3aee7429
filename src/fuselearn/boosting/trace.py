"""Everything a boosting run recorded.

The weights of the rows follow from the data and this record, so a run can be taken up again where it ended.
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np


class Update(NamedTuple):
    """One reweighting: what an arm's hypothesis, with the vote `alpha`, did to the arm's weights."""

    arm: int
    hypothesis: object
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
    arm_errors : dict of arm to ε
        Of the arms that were tried.
    probabilities : ndarray of shape (n_arms,) or None
        With which the policy drew.
    last : bool
        Whether the run ended here, before the number of rounds asked for.
    """

    winner: Update
    updates: tuple
    error: float
    normaliser: float
    arm_errors: dict
    probabilities: np.ndarray | None
    last: bool


@dataclass(frozen=True)
class RunSettings:
    """What stays the same through a run, also one that is taken up again.

    Attributes
    ----------
    arms_of_views : tuple of int
        Number of arms of each view.
    view_policy : policy, or None where every arm is tried
    learning_rate : float
    resample : bool
    error : {"training", "out_of_bag"}
    """

    arms_of_views: tuple
    view_policy: object
    learning_rate: float
    resample: bool
    error: str

    @property
    def n_arms(self):
        return sum(self.arms_of_views)

    @property
    def out_of_bag(self):
        return self.error == "out_of_bag"


@dataclass
class Trace:
    """The rounds of a run.

    Attributes
    ----------
    settings : RunSettings
    seed : int
        Of all draws of the run.
    horizon : int
        Number of rounds that the first fit planned for.
    rounds : list of Round
    plans : dict
        What the learners know of each view since they first looked at it.
    one_data_set, one_label_column, equal_weights : bool
        Whether all rounds ran on the same rows, with one label a row, and with the same weight for each.
    """

    settings: RunSettings
    seed: int
    horizon: int
    rounds: list = field(default_factory=list)
    plans: dict = field(default_factory=dict)
    one_data_set: bool = True
    one_label_column: bool = True
    equal_weights: bool = True

    def __len__(self):
        return len(self.rounds)

    def __getstate__(self):
        # In a saved model the keys of a dict are text or numbers, and those of the plans are tuples.
        return {**vars(self), "plans": list(self.plans.items())}

    def __setstate__(self, state):
        vars(self).update(state, plans=dict(state["plans"]))

    def copy(self):
        """A trace that can grow without this one."""
        return replace(self, rounds=list(self.rounds), plans=dict(self.plans))

    @property
    def n_arms(self):
        return self.settings.n_arms

    @property
    def ended(self):
        """Whether the last round left nothing to learn."""
        return bool(self.rounds) and self.rounds[-1].last

    @property
    def alphas(self):
        return np.array([round_.winner.alpha for round_ in self.rounds], dtype=float)

    @property
    def errors(self):
        return np.array([round_.error for round_ in self.rounds], dtype=float)

    @property
    def normalisers(self):
        return np.array([round_.normaliser for round_ in self.rounds], dtype=float)

    @property
    def winning_arms(self):
        return np.array([round_.winner.arm for round_ in self.rounds], dtype=np.intp)

    @property
    def arm_errors(self):
        """Of shape (n_rounds, n_arms), NaN where an arm was not tried."""
        table = np.full((len(self.rounds), self.n_arms), np.nan)
        for row, round_ in zip(table, self.rounds):
            row[list(round_.arm_errors)] = list(round_.arm_errors.values())
        return table

    @property
    def arm_probabilities(self):
        """Of shape (n_rounds, n_arms); None for a policy that does not draw."""
        if not self.rounds or self.rounds[0].probabilities is None:
            return None
        return np.array([round_.probabilities for round_ in self.rounds])
