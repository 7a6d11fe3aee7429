"""Rows in this process, worked on by threads."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fuselearn.backends.protocol import Arm, Plans, Tally, Trial
from fuselearn.classifiers.adapter import keep_sklearn_config
from fuselearn.data import View
from fuselearn.learners.protocol import Hypothesis, Learner, Plan, PreparedRows, fit_sums
from fuselearn.numeric.row_draws import draw_counts
from fuselearn.numeric.threads import Threads
from fuselearn.numeric.votes import ABSENT, mark_outcomes, multiply_by_outcome, sum_by_outcome
from fuselearn.typing import FloatArray, IntArray

LEAST_WEIGHT = float(np.finfo(np.float64).tiny)
"""Rows that weigh no more together weigh nothing: numbers below this one have fewer digits."""


class LocalRows:
    """Rows in memory; see `fuselearn.backends.protocol.Rows`.

    Parameters
    ----------
    arms : sequence of Arm
        Every view with every learner it was given.
    weights : ndarray of shape (n_rows,)
        Starting weights, of any sum. Rows of weight 0 must have no view.
    n_classes : int
        Number of classes.
    threads : Threads
        What the work is shared out to.
    seed : int
        All draws follow from it, the round and the arm.
    plans : dict
        Plans of the views that were made before; new ones are added to it.
    shared : bool, default=True
        Whether all arms share one weight per row (S0's BSSD), or each has its own (S0's BISD).
    resample : bool, default=False
        Whether to fit each hypothesis on rows drawn by the weights (S0 step 3a).
    out_of_bag : bool, default=False
        Whether to judge each hypothesis on the rows that were not drawn only; the others count as absent.
    """

    def __init__(
        self,
        arms: Sequence[Arm],
        weights: FloatArray,
        n_classes: int,
        *,
        threads: Threads,
        seed: int,
        plans: Plans,
        shared: bool = True,
        resample: bool = False,
        out_of_bag: bool = False,
    ) -> None:
        orders: RowOrders = {}
        self._arms = [ArmRows.of(arm, orders) for arm in arms]
        self._n_rows = len(weights)
        self._n_draws = int(np.count_nonzero(weights))
        self._n_classes = n_classes
        self._threads = threads
        self._seed = seed
        self._resample = resample
        self._out_of_bag = out_of_bag
        weights = weights / weights.sum()
        self._distributions = [weights] * len(arms) if shared else [weights.copy() for _ in arms]
        self._outcomes: dict[int, IntArray] = {}
        self._plans = plans
        self._prepared: dict[tuple[int, bool, int], PreparedRows] = {}

    def weights(self, arm: int) -> FloatArray:
        """Return the arm's current weights; see `Rows.weights`."""
        return self._distributions[arm]

    def try_arms(self, arms: list[int], round_number: int) -> list[Trial]:
        """Fit each of the arms under its weights; see `Rows.try_arms`."""
        # Learners of ours thread over rows inside a fit; the others are run side by side instead.
        with_rows = [arm for arm in arms if self._arms[arm].learner.needs_rows]
        trials = self._try_side_by_side(with_rows, round_number) if with_rows else {}
        # Back and forth: the view that was read last may still be in the cache.
        for arm in reversed(arms) if round_number % 2 else arms:
            if arm not in trials:
                trials[arm] = self._try(arm, round_number)
        return [trials[arm] for arm in arms]

    def judge(self, arm: int, hypothesis: Hypothesis | None, round_number: int) -> Tally:
        """Weigh the outcomes of a hypothesis that was fitted before; see `Rows.judge`."""
        drawn = self._draw(arm, round_number) if self._out_of_bag else None
        return self._judge(arm, hypothesis, drawn)

    def reweight(self, arm: int, right: float, wrong: float, absent: float) -> None:
        """Multiply the arm's weights by outcome, and normalise; see `Rows.reweight`."""
        multiply_by_outcome(self._outcomes[arm], self._distributions[arm], right, wrong, absent)

    def _try_side_by_side(self, arms: list[int], round_number: int) -> dict[int, Trial]:
        """Fit arms whose learners need rows, one a thread."""
        for arm in arms:
            self._prepare(arm)
        try_arm = keep_sklearn_config(lambda arm: self._try(arm, round_number))
        return dict(zip(arms, self._threads.map(try_arm, arms)))

    def _plan(self, arm: int) -> Plan:
        """Return the plan of the arm's view, which learners with the same preparation share."""
        arm_rows = self._arms[arm]
        key = (arm_rows.view_number, arm_rows.learner.preparation)
        if key not in self._plans:
            self._plans[key] = arm_rows.learner.plan(arm_rows.view_as_given, np.random.SeedSequence(self._seed))
        return self._plans[key]

    def _prepare(self, arm: int, plan: Plan | None = None) -> PreparedRows:
        """Return the rows of the arm's view as a plan, by default its own, prepares them, which is done once."""
        arm_rows = self._arms[arm]
        plan = self._plan(arm) if plan is None else plan
        key = (arm_rows.view_number, arm_rows.learner.rows_by_class, id(plan))
        if key not in self._prepared:
            self._prepared[key] = plan.prepare(arm_rows.view, self._threads)
        return self._prepared[key]

    def _generator_seed(self, arm: int, round_number: int) -> np.random.SeedSequence:
        return np.random.SeedSequence(self._seed, spawn_key=(round_number, arm))

    def _draw(self, arm: int, round_number: int) -> IntArray:
        """Return how often rows are drawn by the arm's weights; the same whenever it is asked for the same round."""
        return draw_counts(self._distributions[arm], self._n_draws, self._generator_seed(arm, round_number))

    def _try(self, arm: int, round_number: int) -> Trial:
        drawn = self._draw(arm, round_number) if self._resample else None
        hypothesis = self._fit(arm, round_number, drawn)
        return Trial(hypothesis, self._judge(arm, hypothesis, drawn if self._out_of_bag else None))

    def _fit(self, arm: int, round_number: int, counts: IntArray | None) -> Hypothesis | None:
        """Fit the arm, or return None where no row with weight has its view."""
        arm_rows = self._arms[arm]
        # Drawing a row twice is giving it twice the weight.
        weights = (self._distributions[arm] if counts is None else counts / self._n_draws)[arm_rows.rows]
        if not weights.sum() > LEAST_WEIGHT:
            return None
        prepared = self._prepare(arm)
        plan = self._plan(arm)
        if arm_rows.learner.needs_rows:
            seed = self._generator_seed(arm, round_number).spawn(1)[0]
            drawn = None if counts is None else np.repeat(np.arange(len(arm_rows.codes)), counts[arm_rows.rows])
            return arm_rows.learner.fit_rows(
                plan, prepared, arm_rows.codes, weights, self._n_classes, seed=seed, drawn=drawn
            )
        return fit_sums(
            arm_rows.learner, plan, prepared, arm_rows.codes, weights, self._n_classes, threads=self._threads
        )

    def _judge(self, arm: int, hypothesis: Hypothesis | None, excluded: IntArray | None) -> Tally:
        """Note the outcome of each row, and sum the weights by outcome; drawn ones (`excluded`) count as absent."""
        arm_rows = self._arms[arm]
        outcome = np.full(self._n_rows, ABSENT, dtype=np.int8)
        self._outcomes[arm] = outcome
        if hypothesis is None:
            return Tally(0.0, 0.0, 1.0)
        # By the hypothesis' own plan: in a run that is continued, the arm may have another learner by now.
        predicted = hypothesis.predict_prepared(self._prepare(arm, hypothesis.plan), self._threads)
        mark_outcomes(predicted, arm_rows.codes, arm_rows.rows, outcome)
        if excluded is not None:
            outcome[excluded > 0] = ABSENT
        return Tally(*sum_by_outcome(outcome, self._distributions[arm]))


RowOrders = dict[tuple[int, int, bool], tuple[IntArray, IntArray]]
"""Rows and codes of arms in order, by the identities of their labels and rows and whether they are sorted by class."""


@dataclass(frozen=True)
class ArmRows:
    """The rows of an arm, in the order that serves its learner best.

    `rows` holds the numbers of the rows of `view`, also where these are all rows of the table; `codes` their classes.
    """

    view_as_given: View
    view: View
    view_number: int
    learner: Learner
    rows: IntArray
    codes: IntArray

    @classmethod
    def of(cls, arm: Arm, orders: RowOrders) -> "ArmRows":
        """Put the rows of an arm in order; `orders` holds those of other arms, which may be the same."""
        by_class = arm.learner.rows_by_class
        key = (id(arm.codes), id(arm.view.rows), by_class)
        if key not in orders:
            rows = np.arange(len(arm.codes)) if arm.view.rows is None else arm.view.rows
            if by_class:
                rows = rows[np.argsort(arm.codes[rows], kind="stable")]
            orders[key] = rows, arm.codes[rows]
        rows, codes = orders[key]
        view = replace(arm.view, rows=rows) if by_class else arm.view
        return cls(arm.view, view, arm.view_number, arm.learner, rows, codes)
