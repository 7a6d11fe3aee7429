"""A part of the rows during a run: prepared, weighted, and ready to answer.

All that a part does to its weights is done row by row, and all sums of weights that votes follow from are exact
(`numeric.exact_sums`). So it does not matter into which parts the rows were cut.
"""

from dataclasses import dataclass

import numpy as np

from fuselearn.backends.local import PlacedArm
from fuselearn.backends.partitioned.storage import Shelf, ShelvedRows
from fuselearn.backends.protocol import Arm
from fuselearn.numeric.exact_sums import in_units, limb_sums, scale_by_outcome
from fuselearn.numeric.execution import SERIAL
from fuselearn.numeric.weights import ABSENT, RIGHT, WRONG, mark_outcomes

N_OUTCOMES = 3


@dataclass(frozen=True)
class Sum:
    """Ask for a learner's statistic of the rows that have an arm's view."""

    arm: int
    statistic: object


@dataclass(frozen=True)
class Judge:
    """Ask what a hypothesis makes of the rows.

    Attributes
    ----------
    token : int
        By which a `Step` can refer to it.
    """

    arm: int
    hypothesis: object
    token: int


@dataclass(frozen=True)
class Step:
    """Multiply the weights of right, wrong and absent rows by factors: the same everywhere, to the last bit."""

    arm: int
    hypothesis: object
    token: int
    right: float
    wrong: float
    absent: float


@dataclass(frozen=True)
class Blueprint:
    """How a part is made of what the user gave.

    Attributes
    ----------
    reading : Reading
    total_weight : float
        Sum of the weights of all parts.
    arms : list of (view number, learner)
    plans : list of Plan
    plans_of_arms : list of list of int
        Numbers of the plans that hypotheses of each arm may have; the first is the one that new ones have.
    n_classes : int
    shared : bool
    """

    reading: object
    total_weight: float
    arms: list
    plans: list
    plans_of_arms: list
    n_classes: int
    shared: bool

    def build(self, raw, shelf=None, threads=SERIAL):
        """The part of some rows."""
        blocks = self.reading.blocks_of(raw)
        codes = self.reading.codes_of(raw, blocks)
        weights = self.reading.weights_of(raw) / self.total_weight
        return Part(self, blocks, codes, weights, Shelf() if shelf is None else shelf, threads)


class Part:
    """Rows that follow each other, prepared for every arm.

    Parameters
    ----------
    blueprint : Blueprint
    blocks : ViewBlocks
    codes : list of int32 ndarray of shape (n_rows,)
    weights : ndarray of shape (n_rows,)
    shelf : Shelf
        For all that is as long as the rows.

    Attributes
    ----------
    n_steps : int
        Number of steps that were taken.
    """

    def __init__(self, blueprint, blocks, codes, weights, shelf, threads=SERIAL):
        self.n_steps = 0
        self.n_rows = len(blocks)
        self._shelf = shelf
        self._shared = blueprint.shared
        self._blueprint = blueprint
        self._plan_number = {id(plan): number for number, plan in enumerate(blueprint.plans)}
        self._tokens = [None] * len(blueprint.arms)
        self._places, self._prepared, orders, shelved = [], {}, {}, {}
        for arm, (view_number, learner) in enumerate(blueprint.arms):
            placed = PlacedArm.of(Arm(blocks.views[view_number], view_number, learner, codes[view_number]), orders)
            self._places.append(self._put_rows(placed, shelved))
            for number in blueprint.plans_of_arms[arm]:
                key = (view_number, learner.rows_by_class, number)
                if key not in self._prepared:
                    prepared = blueprint.plans[number].prepare(placed.view, threads)
                    self._prepared[key] = ShelvedRows(shelf, "prepared{}_{:d}_{}".format(*key), prepared)
            if arm == 0 or not self._shared:
                shelf.put(f"weights{self._distribution(arm)}", weights.copy())

    def take(self, steps, first):
        """Take those of the steps, the first of them numbered `first`, that were not taken yet."""
        for step in steps[self.n_steps - first :]:
            outcome = self._outcome(step.arm, step.hypothesis, step.token, SERIAL)
            weights = self._shelf.get(f"weights{self._distribution(step.arm)}")
            scale_by_outcome(outcome, weights, step.right, step.wrong, step.absent)
            self.n_steps += 1

    def answer(self, questions, threads=SERIAL):
        """A tuple of arrays for each question, to be added to those of the other parts."""
        in_units_of = {}
        return [
            self._sum(question, in_units_of, threads) if isinstance(question, Sum) else self._judge(question, threads)
            for question in questions
        ]

    def weights(self, arm):
        return self._shelf.get(f"weights{self._distribution(arm)}")

    def _distribution(self, arm):
        return 0 if self._shared else arm

    def _put_rows(self, placed, shelved):
        """Put the rows and codes of an arm on the shelf, once for all arms that share them; returns their names."""
        key = (id(placed.rows), id(placed.codes))
        if key not in shelved:
            in_order = len(placed.rows) == self.n_rows and np.array_equal(placed.rows, np.arange(self.n_rows))
            name = str(len(shelved))
            if not in_order:
                self._shelf.put(f"rows{name}", placed.rows)
            self._shelf.put(f"codes{name}", placed.codes)
            # The arrays themselves are kept so that no other gets the same identity.
            shelved[key] = (None if in_order else f"rows{name}", f"codes{name}"), placed
        return shelved[key][0]

    def _rows_and_codes(self, arm):
        rows, codes = self._places[arm]
        return None if rows is None else self._shelf.get(rows), self._shelf.get(codes)

    def _rows_for(self, arm, plan_number):
        view_number, learner = self._blueprint.arms[arm]
        return self._prepared[view_number, learner.rows_by_class, plan_number].get()

    def _sum(self, question, in_units_of, threads):
        arm, statistic = question.arm, question.statistic
        rows, codes = self._rows_and_codes(arm)
        distribution = self._distribution(arm)
        weights = self.weights(arm)
        prepared = self._rows_for(arm, self._blueprint.plans_of_arms[arm][0])
        exact = getattr(statistic, "adds_weights", False)
        if exact:
            if distribution not in in_units_of:
                in_units_of[distribution] = in_units(weights)
            summed = in_units_of[distribution]
        else:
            summed = weights
        if rows is not None:
            summed = summed[rows]
        # Weights below the unit of exact sums are nothing to these.
        seen = bool(summed[:1].any()) or bool(summed.any())
        return np.array([seen], dtype=np.int64), statistic(prepared, codes, summed, threads)

    def _judge(self, question, threads):
        outcome = self._outcome(question.arm, question.hypothesis, question.token, threads)
        # WRONG, ABSENT, RIGHT are -1, 0, 1.
        return (limb_sums(self.weights(question.arm), outcome + np.int8(1), N_OUTCOMES),)

    def _outcome(self, arm, hypothesis, token, threads):
        """What a hypothesis makes of each row; kept until the next one of the arm is judged."""
        if token is not None and self._tokens[arm] == token:
            return self._shelf.get(f"outcome{arm}")
        outcome = np.full(self.n_rows, ABSENT, dtype=np.int8)
        if hypothesis is not None:
            rows, codes = self._rows_and_codes(arm)
            number = self._plan_number[id(hypothesis.plan)]
            predicted = hypothesis.predict_prepared(self._rows_for(arm, number), threads)
            if rows is None:
                outcome[:] = np.where(predicted == codes, np.int8(RIGHT), np.int8(WRONG))
            else:
                mark_outcomes(predicted, codes, rows, outcome)
        self._shelf.put(f"outcome{arm}", outcome)
        self._tokens[arm] = token
        return outcome
