"""Rows in this process, worked on by threads.

The rows of an arm, in the order that serves its learner best.
"""

from dataclasses import dataclass, replace

import numpy as np
from sklearn import config_context, get_config

from fuselearn.backends.protocol import Tally, Trial
from fuselearn.data import View
from fuselearn.numeric.weights import ABSENT, draw_rows, mark_outcomes, multiply_by_outcome, sum_by_outcome
from fuselearn.reductions import drive


class LocalRows:
    """Rows in memory; see `fuselearn.backends.protocol.Rows`.

    Parameters
    ----------
    arms : sequence of Arm
    weights : ndarray of shape (n_rows,)
        Starting weights, of any sum. Rows of weight 0 must have no view.
    n_classes : int
    threads : Threads
    seed : int
        All draws follow from it, the round and the arm.
    plans : dict
        Plans of the views that were made before; new ones are added to it.
    shared : bool
        One weight per row for all arms (S0's BSSD), or one per arm (S0's BISD).
    resample : bool
        Fit each hypothesis on rows drawn by the weights (S0 step 3a).
    out_of_bag : bool
        Judge each hypothesis on the rows that were not drawn; the others count as absent.
    """

    def __init__(
        self, arms, weights, n_classes, *, threads, seed, plans, shared=True, resample=False, out_of_bag=False
    ):
        orders = {}
        self._arms = [PlacedArm.of(arm, orders) for arm in arms]
        self._n_rows = len(weights)
        self._n_draws = np.count_nonzero(weights)
        self._n_classes = n_classes
        self._threads = threads
        self._seed = seed
        self._resample = resample
        self._out_of_bag = out_of_bag
        weights = weights / weights.sum()
        self._distributions = [weights] * len(arms) if shared else [weights.copy() for _ in arms]
        self._outcomes = [None] * len(arms)
        self._plans = plans
        self._prepared = {}

    def weights(self, arm):
        """The arm's current weights; of shape (n_rows,)."""
        return self._distributions[arm]

    def try_arms(self, arms, round_number):
        # Learners of ours thread over rows inside a fit; the others are run side by side instead.
        with_rows = [arm for arm in arms if self._arms[arm].learner.needs_rows]
        for arm in with_rows:
            self._prepare(arm, self._plan(arm))
        config = get_config()  # scikit-learn keeps it per thread

        def try_with_config(arm):
            with config_context(**config):
                return self._try(arm, round_number)

        trials = dict(zip(with_rows, self._threads.map(try_with_config, with_rows)))
        # Back and forth: the view that was read last may still be in the cache.
        for arm in reversed(arms) if round_number % 2 else arms:
            if arm not in trials:
                trials[arm] = self._try(arm, round_number)
        return [trials[arm] for arm in arms]

    def judge(self, arm, hypothesis, round_number):
        drawn = self._draw(arm, round_number) if self._out_of_bag else None
        return self._judge(arm, hypothesis, drawn)

    def reweight(self, arm, right, wrong, absent):
        multiply_by_outcome(self._outcomes[arm], self._distributions[arm], right, wrong, absent)

    def _plan(self, arm):
        """What the arm's learner knows of its view; learners of a kind share it."""
        placed = self._arms[arm]
        key = (placed.view_number, placed.learner.preparation)
        if key not in self._plans:
            self._plans[key] = placed.learner.plan(placed.as_given, np.random.SeedSequence(self._seed))
        return self._plans[key]

    def _prepare(self, arm, plan):
        """The rows of the arm's view as a plan prepares them, made on first use."""
        placed = self._arms[arm]
        key = (placed.view_number, placed.learner.rows_by_class, id(plan))
        if key not in self._prepared:
            self._prepared[key] = plan.prepare(placed.view, self._threads)
        return self._prepared[key]

    def _generator_seed(self, arm, round_number):
        return np.random.SeedSequence(self._seed, spawn_key=(round_number, arm))

    def _draw(self, arm, round_number):
        generator = np.random.default_rng(self._generator_seed(arm, round_number))
        return draw_rows(self._distributions[arm], self._n_draws, generator)

    def _try(self, arm, round_number):
        drawn = self._draw(arm, round_number) if self._resample else None
        hypothesis = self._fit(arm, round_number, drawn)
        return Trial(hypothesis, self._judge(arm, hypothesis, drawn if self._out_of_bag else None))

    def _fit(self, arm, round_number, drawn):
        """Fit the arm, or return None where no row with weight has its view."""
        placed = self._arms[arm]
        # Drawing a row twice is giving it twice the weight.
        counts = None if drawn is None else np.bincount(drawn, minlength=self._n_rows)
        weights = (self._distributions[arm] if drawn is None else counts / self._n_draws)[placed.rows]
        if not weights.max(initial=0.0) > 0:
            return None
        plan = self._plan(arm)
        prepared = self._prepare(arm, plan)
        if placed.learner.needs_rows:
            seed = self._generator_seed(arm, round_number).spawn(1)[0]
            drawn = None if drawn is None else np.repeat(np.arange(len(placed.codes)), counts[placed.rows])
            return placed.learner.fit_rows(
                plan, prepared, placed.codes, weights, self._n_classes, seed=seed, drawn=drawn
            )
        return drive(
            placed.learner.sums(plan, self._n_classes),
            lambda statistic: statistic(prepared, placed.codes, weights, self._threads),
        )

    def _judge(self, arm, hypothesis, excluded):
        placed = self._arms[arm]
        outcome = np.full(self._n_rows, ABSENT, dtype=np.int8)
        self._outcomes[arm] = outcome
        if hypothesis is None:
            return Tally(0.0, 0.0, 1.0)
        # By the hypothesis' own plan: in a run that is taken up again, the arm may have another learner by now.
        predicted = hypothesis.predict_prepared(self._prepare(arm, hypothesis.plan), self._threads)
        mark_outcomes(predicted, placed.codes, placed.rows, outcome)
        if excluded is not None:
            outcome[excluded] = ABSENT
        return Tally(*sum_by_outcome(outcome, self._distributions[arm]))


@dataclass(frozen=True)
class PlacedArm:
    """An arm whose rows have been put in order.

    Attributes
    ----------
    as_given : View
    view : View
        The same with its `rows` in that order.
    view_number : int
    learner : learner
    rows : intp ndarray
        The same rows, also where all of them are the view's.
    codes : int32 ndarray
        Classes of those rows.
    """

    as_given: View
    view: View
    view_number: int
    learner: object
    rows: np.ndarray
    codes: np.ndarray

    @classmethod
    def of(cls, arm, orders):
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
