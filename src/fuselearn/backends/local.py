"""Rows in this process, worked on by threads."""

import numpy as np

from fuselearn.backends.distribution import REFRESH_ROUNDS, Distribution
from fuselearn.backends.protocol import Tally, Trial
from fuselearn.numeric.threads import BLOCK_ROWS
from fuselearn.numeric.weights import ABSENT, draw_rows, outcomes, sum_by_outcome


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
        self._arms = arms
        self._n_classes = n_classes
        self._threads = threads
        self._seed = seed
        self._resample = resample
        self._out_of_bag = out_of_bag
        self._n_draws = np.count_nonzero(weights)
        self._distributions = [Distribution(weights)] * len(arms) if shared else [Distribution(weights) for _ in arms]
        self._outcomes = [None] * len(arms)
        self._plans = plans
        self._prepared = {}

    def weights(self, arm):
        """The arm's current weights; of shape (n_rows,)."""
        return self._distributions[arm].weights

    def try_arms(self, arms, round_number):
        # Learners of ours thread over rows inside a fit; the others are run side by side instead.
        with_rows = [arm for arm in arms if self._arms[arm].learner.needs_rows]
        for arm in with_rows:
            self._prepare(arm, self._plan(arm))
        trials = dict(zip(with_rows, self._threads.map(lambda arm: self._try(arm, round_number), with_rows)))
        return [trials[arm] if arm in trials else self._try(arm, round_number) for arm in arms]

    def judge(self, arm, hypothesis, round_number):
        drawn = self._draw(arm, round_number) if self._out_of_bag else None
        return self._judge(arm, hypothesis, drawn)

    def reweight(self, arm, right, wrong, absent):
        self._distributions[arm].reweight(self._outcomes[arm], right, wrong, absent)

    def catch_up(self, arms, round_number, n_rounds):
        # The last bits of a statistic depend on the full pass that its updates started from.
        if round_number < n_rounds - n_rounds % REFRESH_ROUNDS or self._resample:
            return
        for arm in arms:
            learner = self._arms[arm].learner
            if not learner.needs_rows:
                codes, rows = self._arms[arm].codes, self._arms[arm].view.rows
                statistic = next(learner.sums(self._plan(arm), self._n_classes))
                self._total(arm, statistic, codes if rows is None else codes[rows], round_number)

    def _plan(self, arm):
        """What the arm's learner knows of its view; learners of a kind share it."""
        learner, view, number = self._arms[arm].learner, self._arms[arm].view, self._arms[arm].view_number
        key = (number, learner.preparation)
        if key not in self._plans:
            self._plans[key] = learner.plan(view, np.random.SeedSequence(self._seed))
        return self._plans[key]

    def _prepare(self, arm, plan):
        """The rows of the arm's view as a plan prepares them, made on first use."""
        key = (self._arms[arm].view_number, id(plan))
        if key not in self._prepared:
            self._prepared[key] = plan.prepare(self._arms[arm].view, self._threads)
        return self._prepared[key]

    def _generator_seed(self, arm, round_number):
        return np.random.SeedSequence(self._seed, spawn_key=(round_number, arm))

    def _draw(self, arm, round_number):
        generator = np.random.default_rng(self._generator_seed(arm, round_number))
        return draw_rows(self.weights(arm), self._n_draws, generator)

    def _try(self, arm, round_number):
        drawn = self._draw(arm, round_number) if self._resample else None
        hypothesis = self._fit(arm, round_number, drawn)
        return Trial(hypothesis, self._judge(arm, hypothesis, drawn if self._out_of_bag else None))

    def _fit(self, arm, round_number, drawn):
        """Fit the arm, or return None where no row with weight has its view."""
        learner, view, codes = self._arms[arm].learner, self._arms[arm].view, self._arms[arm].codes
        plan = self._plan(arm)
        # Drawing a row twice is giving it twice the weight.
        counts = None if drawn is None else np.bincount(drawn, minlength=len(codes))
        weights = self.weights(arm) if drawn is None else counts / self._n_draws
        if view.rows is not None:
            codes, weights = codes[view.rows], weights[view.rows]
            counts = None if counts is None else counts[view.rows]
        if not weights.sum() > 0:
            return None
        if learner.needs_rows:
            drawn = None if counts is None else np.repeat(np.arange(len(counts)), counts)
            seed = self._generator_seed(arm, round_number).spawn(1)[0]
            prepared = self._prepare(arm, plan)
            return learner.fit_rows(plan, prepared, codes, weights, self._n_classes, seed=seed, drawn=drawn)
        if drawn is None:
            return drive(
                learner.sums(plan, self._n_classes),
                lambda statistic: self._total(arm, statistic, codes, round_number),
            )
        prepared = self._prepare(arm, plan)
        return drive(
            learner.sums(plan, self._n_classes),
            lambda statistic: statistic(prepared, codes, weights, self._threads),
        )

    def _total(self, arm, statistic, codes, round_number):
        """A statistic of the rows that have the arm's view, under the arm's weights."""
        rows = self._arms[arm].view.rows
        prepared = self._prepare(arm, self._plan(arm))

        def statistic_of(weights):
            return statistic(prepared, codes, weights if rows is None else weights[rows], self._threads)

        if not getattr(statistic, "skips_weightless_rows", False):
            return statistic_of(self.weights(arm))
        refresh = round_number % REFRESH_ROUNDS == 0
        return self._distributions[arm].total((arm, statistic), statistic_of, refresh)

    def _judge(self, arm, hypothesis, excluded):
        codes, rows = self._arms[arm].codes, self._arms[arm].view.rows
        if hypothesis is None:
            self._outcomes[arm] = np.full(len(codes), ABSENT, dtype=np.int8)
            return Tally(0.0, 0.0, 1.0)
        # By the hypothesis' own plan: in a run that is taken up again, the arm may have another learner by now.
        prepared = self._prepare(arm, hypothesis.plan)
        predicted = hypothesis.predict_prepared(prepared, self._threads)
        if rows is None:
            outcome = outcomes(predicted, codes)
        else:
            outcome = np.full(len(codes), ABSENT, dtype=np.int8)
            outcome[rows] = outcomes(predicted, codes[rows])
        if excluded is not None:
            outcome[excluded] = ABSENT
        self._outcomes[arm] = outcome
        return Tally(*sum_by_outcome(outcome, self.weights(arm), BLOCK_ROWS))


def drive(sums, total_of):
    """Run a learner's generator: answer each statistic it asks for, and return the hypothesis it ends with."""
    statistic = next(sums)
    while True:
        try:
            statistic = sums.send(total_of(statistic))
        except StopIteration as end:
            return end.value
