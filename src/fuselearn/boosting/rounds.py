"""The rounds of a run: what they record, the loop, the two kinds of round, and their closed forms from three sums.

A round is given the rows (as `fuselearn.backends.protocol.Rows`) and returns a `Round`, or None when no arm has an edge
and the run is over. It sees sums of weights only. With W₊, W₋, W₀ the weights of right, wrong and absent rows and K
classes, SAMME's exponential loss of adding α times a hypothesis is

    Z(α) = W₊·exp(-2α(K-1)/K) + W₋·exp(2α/K) + W₀,

which is least at α = ½·(ln(W₊/W₋) + ln(K-1)). For K = 2 and W₀ = 0 these are the papers' α and Z_t (S0 steps 3e
and 3f, S1 equation 7); for K = 2 and W₀ > 0 they are Schapire and Singer's for hypotheses that abstain. So that no
hypothesis silences all others, ε is at least 1/(2n) and at most 1 - 1/(2n) in α.

A hypothesis without errors joins once, its arm is set aside, and the others go on: it lowers the weights of all rows
that have its view alike, and its arm would win every later round. None is set aside where arms or rows are drawn.

The weights of the rows follow from the data and the record (`Trace`), so a run can be continued where it ended.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import exp, log, nan
from typing import Any, ClassVar, NamedTuple, Protocol, cast

import numpy as np

from fuselearn.backends.protocol import Plans, Rows, Tally, Trial
from fuselearn.bandits.protocol import Policy, PolicyState
from fuselearn.learners.protocol import Hypothesis
from fuselearn.numeric.votes import TIE
from fuselearn.typing import FloatArray, IntArray

OUT_OF_BAG = "out_of_bag"
"""The `error` of a run whose hypotheses are judged on the rows that they were not fitted on."""
POLICY_STREAM = 2**31
"""Marks the seed of the policy's draws, which no round or arm has."""
SAME_NORMALISER = 1e-9
"""Two Z_t nearer than this are of the same rows, whatever the rounding."""


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
        Whether the run ended here, since every arm is set aside.
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


class RoundRule(Protocol):
    """Rule by which a round is run, and one that was recorded is run again.

    Attributes
    ----------
    shares_weights : bool
        Whether all arms have the same weights.
    """

    shares_weights: ClassVar[bool]

    def __call__(self, rows: Rows, number: int) -> Round | None:
        """Run the round of this number, and return it; None where no arm has an edge."""

    def replay(self, rows: Rows, number: int, past: Round) -> bool:
        """Bring the rows to where they were after a recorded round; return whether it ran on the same rows."""


def boost(rows: Rows, rule: RoundRule, trace: Trace, n_rounds: int, after_round: Callable[[], None]) -> None:
    """Extend a trace to `n_rounds` rounds, or to where nothing is left to learn.

    The rows are as they were after the rounds that the trace already holds. It grows in place, so that an interrupt
    loses nothing.
    """
    while len(trace) < n_rounds and not trace.ended:
        round_ = rule(rows, len(trace))
        if round_ is None:
            return
        trace.rounds.append(round_)
        after_round()


def replay(rows: Rows, rule: RoundRule, trace: Trace) -> Iterator[bool]:
    """Run the recorded rounds again, without fitting anything.

    Yields before the first round and after each whether the rows are, so far, the ones that the rounds ran on.
    """
    same = True
    yield same
    for number, past in enumerate(trace.rounds):
        same = rule.replay(rows, number, past) and same
        yield same


@dataclass(frozen=True)
class SharedRound:
    """All arms share the weights, and the winner's labels move them (S0 Algorithm 1, S1 §3 and §4.3).

    Parameters
    ----------
    trace : Trace
        The run, with its settings.
    n_classes : int
        Number of classes.
    n_rows : int
        Number of rows with weight, n.

    Attributes
    ----------
    set_aside : set of int
        Arms whose hypothesis was never wrong; they are not tried any more.
    """

    shares_weights: ClassVar[bool] = True

    trace: Trace
    n_classes: int
    n_rows: int
    set_aside: set[int] = field(default_factory=set, init=False)

    @property
    def policy(self) -> Policy:
        """Policy that chooses the arms; a run with shared weights has one."""
        return cast(Policy, self.trace.settings.view_policy)

    @cached_property
    def state(self) -> PolicyState:
        """State of the policy, which starts with the first round that is run or replayed."""
        seed = np.random.SeedSequence(self.trace.seed, spawn_key=(POLICY_STREAM,))
        return self.policy.start(sum(self.trace.settings.arms_of_views), self.trace.horizon, seed)

    def __call__(self, rows: Rows, number: int) -> Round | None:
        """Run the round of this number."""
        probabilities = self.state.probabilities
        arms = [arm for arm in self.state.pull() if arm not in self.set_aside]
        trials = dict(zip(arms, rows.try_arms(arms, number)))
        winner = self._winner(trials) if self.policy.competes else arms[0]
        if winner is None:
            return None
        hypothesis, tally = trials[winner]
        alpha = self.trace.settings.learning_rate * vote_weight(tally, self.n_classes, self.n_rows)
        update = Update(winner, hypothesis, alpha)
        if is_set_aside(error(tally), self.trace.settings):
            self.set_aside.add(winner)
        round_ = Round(
            winner=update,
            updates=(update,),
            error=error(tally),
            normaliser=normaliser(tally, self.n_classes, self.n_rows),
            arm_errors={arm: error(trial.tally) for arm, trial in trials.items()},
            probabilities=probabilities,
            last=len(self.set_aside) == self.trace.n_arms,
        )
        rows.reweight(winner, *reweighting(update.alpha, tally, self.n_classes))
        self.state.update(winner, 1 - round_.normaliser)
        return round_

    def replay(self, rows: Rows, number: int, past: Round) -> bool:
        """Bring rows and policy to where they were after a recorded round."""
        self.state.pull()
        self.state.update(past.winner.arm, 1 - past.normaliser)
        if is_set_aside(past.error, self.trace.settings):
            self.set_aside.add(past.winner.arm)
        return _replay_updates(rows, number, past, self.n_classes, self.n_rows)

    def _winner(self, trials: dict[int, Trial]) -> int | None:
        """Return the arm with an edge that lowers the exponential loss most; None if there is none."""
        tallies = {arm: trial.tally for arm, trial in trials.items()}
        able = [arm for arm, tally in tallies.items() if has_edge(tally, self.n_classes)]
        if not able:
            return None
        if self.policy.costs is not None:
            rewards = {arm: 1 - normaliser(tallies[arm], self.n_classes, self.n_rows) for arm in able}
            return first_least({arm: -self.policy.value(arm, reward) for arm, reward in rewards.items()})
        # Without absent rows Z and ε agree on the order, but near ε = ½ only ε can tell which arm is better.
        if self.trace.settings.error == OUT_OF_BAG or all(tally.absent <= TIE for tally in tallies.values()):
            return first_least({arm: error(tallies[arm]) for arm in able})
        return first_least({arm: normaliser(tallies[arm], self.n_classes, self.n_rows) for arm in able})


@dataclass(frozen=True)
class IndependentRound:
    """Each arm has weights of its own and moves them itself; the largest α joins (S0's BISD, S1's iBoost).

    Parameters
    ----------
    trace : Trace
        The run, with its settings.
    n_classes : int
        Number of classes.
    n_rows : int
        Number of rows with weight, n.

    Attributes
    ----------
    set_aside : set of int
        Arms whose hypothesis joined and was never wrong; they are not tried any more.
    """

    shares_weights: ClassVar[bool] = False

    trace: Trace
    n_classes: int
    n_rows: int
    set_aside: set[int] = field(default_factory=set, init=False)

    def __call__(self, rows: Rows, number: int) -> Round | None:
        """Run the round of this number."""
        arms = [arm for arm in range(self.trace.n_arms) if arm not in self.set_aside]
        learning_rate = self.trace.settings.learning_rate
        trials = dict(zip(arms, rows.try_arms(arms, number)))
        alphas = {arm: vote_weight(trial.tally, self.n_classes, self.n_rows) for arm, trial in trials.items()}
        able = [arm for arm in arms if has_edge(trials[arm].tally, self.n_classes)]
        if not able:
            return None
        winner = first_least({arm: -alphas[arm] for arm in able})
        updates = {arm: Update(arm, trials[arm].hypothesis, learning_rate * alphas[arm]) for arm in arms}
        for arm, update in updates.items():
            rows.reweight(arm, *reweighting(update.alpha, trials[arm].tally, self.n_classes))
        tally = trials[winner].tally
        if is_set_aside(error(tally), self.trace.settings):
            self.set_aside.add(winner)
        return Round(
            winner=updates[winner],
            updates=tuple(updates.values()),
            error=error(tally),
            normaliser=normaliser(tally, self.n_classes, self.n_rows),
            arm_errors={arm: error(trials[arm].tally) for arm in arms},
            probabilities=None,
            last=len(self.set_aside) == self.trace.n_arms,
        )

    def replay(self, rows: Rows, number: int, past: Round) -> bool:
        """Bring the rows to where they were after a recorded round."""
        if is_set_aside(past.error, self.trace.settings):
            self.set_aside.add(past.winner.arm)
        return _replay_updates(rows, number, past, self.n_classes, self.n_rows)


def error(tally: Tally) -> float:
    """Return ε = W₋ / (W₊ + W₋), NaN where no row was judged."""
    judged = tally.right + tally.wrong
    return tally.wrong / judged if judged > 0 else nan


def is_set_aside(epsilon: float, settings: RunSettings) -> bool:
    """Return whether the arm of a winner is set aside: no error but for rounding, and neither arms nor rows drawn."""
    draws_arms = settings.view_policy is not None and not settings.view_policy.competes
    return epsilon <= TIE and not settings.resample and not draws_arms


def has_edge(tally: Tally, n_classes: int) -> bool:
    """Return whether a hypothesis beats chance on the rows it sees, by more than rounding."""
    return (n_classes - 1) * tally.right - tally.wrong > TIE


def vote_weight(tally: Tally, n_classes: int, n_rows: int) -> float:
    """Return α = ½·(ln((1-ε)/ε) + ln(K-1)) (S0 step 3e) of ε within [1/(2n), 1 - 1/(2n)]; 0 where no row was judged."""
    if tally.right + tally.wrong == 0:
        return 0.0
    least = 0.5 / n_rows
    epsilon = min(max(error(tally), least), 1 - least)
    return 0.5 * (log((1 - epsilon) / epsilon) + log(n_classes - 1))


def normaliser(tally: Tally, n_classes: int, n_rows: int) -> float:
    """Return Z_t = Z(α), the factor by which the vote α lowers the exponential loss (without the learning rate)."""
    if tally.right + tally.wrong == 0:
        return tally.absent
    step = 2 * vote_weight(tally, n_classes, n_rows) / n_classes
    return tally.right * exp(-step * (n_classes - 1)) + tally.wrong * exp(step) + tally.absent


def reweighting(alpha: float, tally: Tally, n_classes: int) -> tuple[float, float, float]:
    """Return the factors of right, wrong and absent rows (S0 step 3f), up to one that all share.

    The largest factor of an outcome that occurs is 1: no vote, however large, makes the weights overflow or vanish.
    """
    exponents = (-2 * alpha * (n_classes - 1) / n_classes, 2 * alpha / n_classes, 0.0)
    largest = max((exponent for exponent, weight in zip(exponents, tally) if weight > 0), default=0.0)
    right, wrong, absent = (exp(min(exponent - largest, 0.0)) for exponent in exponents)
    return right, wrong, absent


def first_least(values: dict[int, float]) -> int:
    """Return the key of the least value; of those within `TIE` of it the lowest key."""
    least = min(values.values())
    return min(key for key, value in values.items() if value <= least + TIE)


def _replay_updates(rows: Rows, number: int, past: Round, n_classes: int, n_rows: int) -> bool:
    """Reweight as in a recorded round; return whether the rows are the ones it ran on."""
    same = True
    for update in past.updates:
        tally = rows.judge(update.arm, update.hypothesis, number)
        if update.arm == past.winner.arm:
            same = abs(normaliser(tally, n_classes, n_rows) - past.normaliser) < SAME_NORMALISER
        rows.reweight(update.arm, *reweighting(update.alpha, tally, n_classes))
    return same
