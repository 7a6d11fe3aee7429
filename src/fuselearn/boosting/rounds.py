"""The loop, and the two kinds of round it can run.

A round is given the rows (as `fuselearn.backends.protocol.Rows`) and returns a `Round`, or None when no arm has an
edge and the run is over. It sees sums of weights only.
"""

from dataclasses import dataclass

from fuselearn.boosting import algebra
from fuselearn.boosting.trace import Round, Update

SAME_NORMALISER = 1e-9
"""Two Z_t nearer than this are of the same rows, whatever the rounding."""


@dataclass(frozen=True)
class SharedRound:
    """All arms share the weights, and the winner's labels move them (S0 Algorithm 1, S1 §3 and §4.3).

    Parameters
    ----------
    n_classes : int
    learning_rate : float
    policy : policy state
    competes : bool
        Whether the arms that the policy names compete. If not, the one it names joins whatever its edge.
    out_of_bag : bool
        Whether tallies are of the rows that a hypothesis was not fitted on.
    """

    n_classes: int
    learning_rate: float
    policy: object
    competes: bool
    out_of_bag: bool

    def __call__(self, rows, number):
        probabilities = self.policy.probabilities
        arms = self.policy.pull()
        trials = dict(zip(arms, rows.try_arms(arms, number)))
        winner = self._winner(trials) if self.competes else arms[0]
        if winner is None:
            return None
        hypothesis, tally = trials[winner]
        update = Update(winner, hypothesis, self.learning_rate * algebra.vote_weight(tally, self.n_classes))
        rows.reweight(winner, *algebra.reweighting(update.alpha, tally, self.n_classes))
        normaliser = algebra.normaliser(tally, self.n_classes)
        self.policy.update(winner, 1 - normaliser)
        return Round(
            winner=update,
            updates=(update,),
            error=algebra.error(tally),
            normaliser=normaliser,
            arm_errors={arm: algebra.error(trial.tally) for arm, trial in trials.items()},
            probabilities=probabilities,
            last=_ends_the_run(tally, self.out_of_bag),
        )

    def replay(self, rows, number, past):
        """Bring rows and policy to where they were after a round that was recorded."""
        self.policy.pull()
        self.policy.update(past.winner.arm, 1 - past.normaliser)
        return _replay_updates(rows, number, past, self.n_classes)

    def _winner(self, trials):
        """Of the arms with an edge, the one that lowers the exponential loss most; None if there is none."""
        tallies = {arm: trial.tally for arm, trial in trials.items()}
        able = [arm for arm, tally in tallies.items() if algebra.has_edge(tally, self.n_classes)]
        if not able:
            return None
        # Without absent rows Z and ε agree on the order, but near ε = ½ only ε tells the arms apart.
        by_error = self.out_of_bag or all(tally.absent <= algebra.TIE for tally in tallies.values())
        if by_error:
            return algebra.first_least({arm: algebra.clipped(algebra.error(tallies[arm])) for arm in able})
        return algebra.first_least({arm: algebra.normaliser(tallies[arm], self.n_classes) for arm in able})


@dataclass(frozen=True)
class IndependentRound:
    """Each arm has weights of its own and moves them itself; the largest α joins (S0's BISD, S1's iBoost).

    Parameters
    ----------
    n_arms, n_classes : int
    learning_rate : float
    out_of_bag : bool
    """

    n_arms: int
    n_classes: int
    learning_rate: float
    out_of_bag: bool

    def __call__(self, rows, number):
        arms = range(self.n_arms)
        trials = rows.try_arms(list(arms), number)
        alphas = [algebra.vote_weight(trial.tally, self.n_classes) for trial in trials]
        able = [arm for arm in arms if algebra.has_edge(trials[arm].tally, self.n_classes)]
        if not able:
            return None
        winner = algebra.first_least({arm: -alphas[arm] for arm in able})
        updates = tuple(Update(arm, trials[arm].hypothesis, self.learning_rate * alphas[arm]) for arm in arms)
        for update in updates:
            tally = trials[update.arm].tally
            rows.reweight(update.arm, *algebra.reweighting(update.alpha, tally, self.n_classes))
        tally = trials[winner].tally
        return Round(
            winner=updates[winner],
            updates=updates,
            error=algebra.error(tally),
            normaliser=algebra.normaliser(tally, self.n_classes),
            arm_errors={arm: algebra.error(trials[arm].tally) for arm in arms},
            probabilities=None,
            last=_ends_the_run(tally, self.out_of_bag),
        )

    def replay(self, rows, number, past):
        """Bring the rows to where they were after a round that was recorded."""
        return _replay_updates(rows, number, past, self.n_classes)


def _ends_the_run(tally, out_of_bag):
    """Whether the winner is always right (or wrong) and no absent row is left to learn."""
    if out_of_bag or tally.absent > algebra.TIE:
        return False
    return algebra.is_clipped(algebra.error(tally))


def _replay_updates(rows, number, past, n_classes):
    """Reweight as in a round that was recorded; returns whether the rows are the ones it ran on."""
    same = True
    for update in past.updates:
        tally = rows.judge(update.arm, update.hypothesis, number)
        if update.arm == past.winner.arm:
            same = abs(algebra.normaliser(tally, n_classes) - past.normaliser) < SAME_NORMALISER
        rows.reweight(update.arm, *algebra.reweighting(update.alpha, tally, n_classes))
    return same


def replay(rows, one_round, trace):
    """Run the recorded rounds again, without fitting anything.

    Yields before the first round and after each whether the rows are, so far, the ones that the rounds ran on.
    """
    same = True
    yield same
    for number, past in enumerate(trace.rounds):
        same = one_round.replay(rows, number, past) and same
        yield same


def boost(rows, one_round, trace, n_rounds, report):
    """Extend a trace to `n_rounds` rounds, or to where nothing is left to learn.

    Parameters
    ----------
    rows : Rows
        As they were after the rounds that the trace already holds.
    one_round : SharedRound or IndependentRound
    trace : Trace
        Grows in place, so that an interrupt loses nothing.
    n_rounds : int
    report : callable
        Called, without arguments, after each round.
    """
    while len(trace) < n_rounds and not trace.ended:
        result = one_round(rows, len(trace))
        if result is None:
            return
        trace.rounds.append(result)
        report()
