"""Passes over the arms of a fusion: fit them under a budget, weigh them, judge the labels by them, and calibrate.

Every arm is tried, then those whose further fits pay are fitted again. It is S1's idea, a bandit over arms that is
rewarded by the gain of the ensemble, put on learners that cost more than a stump: the gain of an arm's last fit is what
the next one is expected to bring, and the run ends when no arm is expected to bring anything. With consensus, and where
labels look wrong, a second pass repeats all fits on the labels that the first one makes probable.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np

from fuselearn.classifiers.calibration import SoftmaxCalibration
from fuselearn.consensus.expectation_maximisation import agree_on_subsample
from fuselearn.data import TrainingData
from fuselearn.data.training_data import targets_of
from fuselearn.exceptions import InterruptedFitWarning
from fuselearn.fusion.arm_weights import (
    STRENGTHS,
    Combination,
    by_class,
    combine,
    fill_gaps,
    labels_per_right_label,
    weigh_arms,
    weighted_sum,
)
from fuselearn.fusion.base_models import Arm, ArmFit, FittedModel, PreparedRows
from fuselearn.fusion.budget import FewRowsPlan, OutOfTime
from fuselearn.fusion.calibration_and_scores import explains_labels_worse, fit_full_calibration, share_learnt_wrong
from fuselearn.fusion.filled_views import FilledRows
from fuselearn.fusion.fusion_options import PassLog, Report
from fuselearn.numeric.threads import Threads
from fuselearn.typing import BoolArray, FloatArray, IntArray

CONSENSUS_SHARE = 0.5
"""Share of the consensus in what the second pass learns; the rest is the labels as given. The consensus echoes what the
first pass predicted: where the views know little, half of the echo is enough to go wrong by."""
LEAST_NOISE = 0.05
"""Share of wrong labels in what the arms learn (`share_learnt_wrong`) from which on there is a second pass: with fewer,
it would learn more mistakes than it ends."""
CONSENSUS_ROWS = 4_000
"""Rows that the rates of wrong labels are estimated from, at most."""
FITS_AT_ONCE = 4
"""Fits between two looks at the gain: a constant, or the model would depend on n_jobs."""
LEAST_GAIN = 2e-3
"""Share of the loss that a fit must take off to be called a gain."""
FIRST_GAIN = 0.05
"""Share of the loss that a first repeat is expected to take off, for an arm that has all the weight."""

Item = TypeVar("Item")
Fits: TypeAlias = list[dict[int, ArmFit]]
"""Fits of each arm, by their number."""
Pull: TypeAlias = tuple[int, int]
"""Number of an arm, and of one of its fits."""


@dataclass(frozen=True)
class PassResult:
    """The result of one pass over the arms.

    Attributes
    ----------
    weights : ndarray of shape (n_arms,)
    values : ndarray of shape (n_rows, n_targets)
        Combined out-of-fold values, about their mean.
    covered : bool ndarray of shape (n_rows,)
        Rows of which some arm with weight has a value.
    target_means : ndarray of shape (n_targets,)
    arm_values : ndarray of shape (n_arms, n_rows, n_targets)
        About the same mean; NaN where an arm abstains.
    models : list of list
        Fitted models of each arm.
    posterior : ndarray of shape (n_rows, n_classes)
        p(true class | values, labels).
    noise_rates : ndarray of shape (n_label_columns,)
    calibration : SoftmaxCalibration
        For rows with all views.
    class_targets : ndarray of shape (n_rows, n_classes)
        The class probabilities that it was fitted to: the posterior, or the labels as given.
    scored_values : ndarray of shape (n_arms, n_rows, n_targets)
        The values of the arms for scores.
    row_weights : ndarray of shape (n_rows,)
        By which the arms were weighed, as they were fitted.
    standard_errors : float
        By which weights of arms had to be better than equal ones.
    filled : FilledRows or None
        What arms of all views say of some rows with fewer views, where these have absent ones filled in.
    """

    weights: FloatArray
    values: FloatArray
    covered: BoolArray
    target_means: FloatArray
    arm_values: FloatArray
    models: list[list[FittedModel]]
    posterior: FloatArray
    noise_rates: FloatArray
    calibration: SoftmaxCalibration
    class_targets: FloatArray
    scored_values: FloatArray
    row_weights: FloatArray
    standard_errors: float
    filled: FilledRows | None = None


def run_passes(
    runs: "ArmRuns", data: TrainingData, targets: FloatArray, row_weights: FloatArray, consensus: bool, seed: int
) -> tuple[PassResult, PassResult]:
    """Run a pass on the labels as given and, with consensus, one on what it makes probable; return first and last.

    Where labels are right, to learn what the first pass made of them is to learn its mistakes: so there is a second
    pass only where some labels look wrong, and it is the last one unless it explains those given clearly worse.
    """
    fits = runs.first_pass(targets, lambda fits: _fuse(runs, fits, targets, data, row_weights, consensus, seed))
    first = last = _fuse(runs, fits, targets, data, row_weights, consensus, seed)
    noise_rate = float(first.noise_rates.mean())
    if consensus and not share_learnt_wrong(first, data) < LEAST_NOISE and not runs.interrupted:
        targets = targets_of(CONSENSUS_SHARE * first.posterior + (1 - CONSENSUS_SHARE) * data.votes())
        second_fits = runs.second_pass(targets)
        if second_fits is not None:
            second = _fuse(runs, second_fits, targets, data, row_weights, consensus, seed, noise_rate)
            if not explains_labels_worse(second, first, data):
                last = second
    if runs.interrupted:
        warnings.warn(
            f"Interrupted: the model has the {sum(map(len, last.models))} fits that were done.",
            InterruptedFitWarning,
            stacklevel=3,
        )
    return first, last


class ArmRuns:
    """The fits of all arms, under a budget.

    Parameters
    ----------
    arms : list of Arm
    row_weights : ndarray of shape (n_rows,)
    groups : intp ndarray of shape (n_rows,) or None
        Rows of the same number are held out together.
    threads : Threads
    seed : int
    plan : FewRowsPlan
        What may be begun.
    two_passes : bool
        Whether there is to be a second pass, for which repeats in the first one leave enough of the budget.
    report : callable, default=None
        Called after each fit, in the thread of the caller.
    log : PassLog, default=None
        Keeps fits, and has those of a run that was stopped.

    Attributes
    ----------
    arms : list of Arm
    interrupted : bool
        Whether the user interrupted the run; what was fitted before is kept.
    n_fits : int
    """

    def __init__(
        self,
        arms: Sequence[Arm],
        row_weights: FloatArray,
        groups: IntArray | None,
        threads: Threads,
        seed: int,
        plan: FewRowsPlan,
        two_passes: bool,
        report: Report | None = None,
        log: PassLog | None = None,
    ) -> None:
        self.arms = arms
        self._row_weights, self._groups = row_weights, groups
        self._threads = threads
        self._seed = seed
        self._plan, self._budget = plan, plan.budget
        self._two_passes = two_passes
        self._report, self._log = report, log
        self._prepared: list[PreparedRows | None] = [None] * len(arms)
        self._n_possible = [1] * len(arms)
        self._pulls: list[Pull] = []
        self.interrupted = False
        self.n_fits = 0

    def first_pass(self, targets: FloatArray, weigh: Callable[[Fits], object] | None = None) -> Fits:
        """Try every arm, then repeat those that pay.

        Within a time limit, `weigh` shows on the first arm how long it takes to weigh and judge arms.
        """
        fits: Fits = [{} for _ in self.arms]
        try:
            if self._try_all(targets, fits, weigh):
                self._repeat(targets, fits)
        except KeyboardInterrupt:
            if not any(fits):
                raise
            self.interrupted = True
        self._pulls = [(arm, number) for arm, arm_fits in enumerate(fits) for number in arm_fits]
        return fits

    def second_pass(self, targets: FloatArray) -> Fits | None:
        """Repeat all fits on other targets; None where the budget does not allow it or the user stops it."""
        # It takes as long as the first one; half of it would be of no use.
        if self._budget.fits_left() < len(self._pulls) or self._plan.seconds_left() < self._budget.seconds_used():
            return None
        fits: Fits = [{} for _ in self.arms]
        total = self.n_fits + len(self._pulls)
        try:
            for pulls in self._batches(self._pulls):
                if self._budget.grant(len(pulls)) < len(pulls) or not all(self._in_time(arm) for arm, _ in pulls):
                    return None
                self._fit(pulls, targets, fits, 1, total)
        except KeyboardInterrupt:
            self.interrupted = True
            return None
        return fits if sum(map(len, fits)) == len(self._pulls) else None

    def out_of_fold(self, fits: Fits, n_targets: int) -> FloatArray:
        """Return the mean out-of-fold values of each arm; NaN where it abstains or was not fitted."""
        return self._means(fits, n_targets, lambda fit: fit.out_of_fold)

    def within_groups(self, fits: Fits, n_targets: int) -> FloatArray:
        """Return the same by models that may have seen other rows of the group."""
        return self._means(fits, n_targets, lambda fit: fit.within_groups)

    def scored(self, fits: Fits, n_targets: int) -> FloatArray:
        """Return out-of-fold values for scores, which the row had no say in by way of settings either."""
        return self._means(fits, n_targets, lambda fit: fit.out_of_fold if fit.scored is None else fit.scored)

    def _means(self, fits: Fits, n_targets: int, values_of: Callable[[ArmFit], FloatArray]) -> FloatArray:
        values = np.full((len(self.arms), len(self._row_weights), n_targets), np.nan)
        for number, (arm, arm_fits) in enumerate(zip(self.arms, fits)):
            if arm_fits:
                values[number, arm.rows] = np.mean([values_of(fit) for fit in arm_fits.values()], axis=0)
        return values

    def _try_all(self, targets: FloatArray, fits: Fits, weigh: Callable[[Fits], object] | None) -> bool:
        """Fit every arm once; return whether the budget allowed it. One fit is made in any case."""
        order = self._trial_order()
        if self._plan.is_limited:
            self._budget.grant(1)
            self._fit([(order[0], 0)], targets, fits, 0)
            if weigh is not None:
                self._plan.measure_weighing(lambda: weigh(fits))
        for batch in self._batches([arm for arm in order if not fits[arm]]):
            in_time = [arm for arm in batch if self._in_time(arm, note=True)]
            granted = in_time[: max(self._budget.grant(len(in_time)), not any(fits))]
            self._fit([(arm, 0) for arm in granted], targets, fits, 0)
            if len(granted) < len(in_time) and not self._budget.fits_left():
                return False
        return all(fits)

    def _batches(self, items: Sequence[Item]) -> Iterator[Sequence[Item]]:
        """Yield fits, or arms, that are made side by side where the gain does not matter."""
        # Within a time limit, no more than there are threads: the clock is looked at between batches.
        size = self._threads.count if self._plan.is_limited else max(FITS_AT_ONCE, self._threads.count)
        for start in range(0, len(items), size):
            yield items[start : start + size]

    def _in_time(self, number: int, *, note: bool = False) -> bool:
        """Return whether there is time for a fit of an arm; if asked to, note it where there is none."""
        if not (in_time := self._plan.may_fit(self.arms[number].learner)) and note and self._budget.fits_left():
            self._leave_out(number)
        return in_time

    def _leave_out(self, number: int) -> None:
        """Note that there was no time for an arm."""
        self._budget.leave_out(f"{self.arms[number].learner} on {self.arms[number].view_name!r}")

    def _trial_order(self) -> list[int]:
        """Return the arms in the order in which they are tried: a learner on every view, then the next one; within a
        time limit the learners that take least come first, so that every view has an arm soon."""
        turns, seen = [], dict.fromkeys((arm.view_name for arm in self.arms), 0)
        for number, arm in enumerate(self.arms):
            turns.append((arm.cost if self._plan.is_limited else 0, seen[arm.view_name], number))
            seen[arm.view_name] += 1
        return [number for *_, number in sorted(turns)]

    def _repeat(self, targets: FloatArray, fits: Fits) -> None:
        """Fit arms again while it pays and the budget allows it."""
        combination = self._combined(targets, fits)
        repeats = Repeats([n_possible - 1 for n_possible in self._n_possible], combination.weights)
        while chosen := repeats.choose():
            if self._two_passes:
                # Each fit that is made now is made once more in the second pass.
                n_made = sum(map(len, fits))
                while chosen and self._budget.fits_left() < n_made + 2 * len(chosen):
                    chosen.pop()
            if not (granted := self._fit_again(chosen, targets, fits)):
                return
            before, combination = combination, self._combined(targets, fits, (combination.strength,))
            repeats.reward(granted, 1 - combination.loss / before.loss if before.loss > 0 else 0.0)

    def _fit_again(self, chosen: list[int], targets: FloatArray, fits: Fits) -> list[int]:
        """Fit arms once more as far as the budget allows it, and return these."""
        made: list[int] = []
        for batch in self._batches(chosen):
            in_time = [arm for arm in batch if self._in_time(arm)]
            granted = in_time[: self._budget.grant(len(in_time))]
            pulls = [(arm, len(fits[arm])) for arm in granted]
            self._fit(pulls, targets, fits, 0)
            made += [arm for arm, number in pulls if number in fits[arm]]
        return made

    def _combined(self, targets: FloatArray, fits: Fits, strengths: Sequence[float] = STRENGTHS) -> Combination:
        means = self._row_weights @ targets / self._row_weights.sum()
        values = fill_gaps(self.out_of_fold(fits, targets.shape[1]) - means)
        return combine(values, targets - means, self._row_weights, groups=self._groups, strengths=strengths)

    def _fit(
        self, pulls: Sequence[Pull], targets: FloatArray, fits: Fits, pass_number: int, total: int | None = None
    ) -> None:
        """Make some fits side by side, and add them to `fits`."""

        kept: dict[Pull, tuple[ArmFit, int]] = {}
        for number, fit_number in pulls if self._log is not None else ():
            assert self._log is not None
            arm = self.arms[number]
            logged = self._log.arm_fit((pass_number, number, fit_number), targets[arm.rows], arm.view, arm.columns)
            if logged is not None:
                kept[number, fit_number] = logged

        def fit(pull: Pull) -> tuple[ArmFit, int] | None:
            if pull in kept:
                return kept[pull]
            number, fit_number = pull
            arm, started = self.arms[number], self._budget.seconds_used()
            prepared = self._prepared[number]
            if prepared is None:
                prepared = self._prepared[number] = arm.prepare()
            seed = np.random.SeedSequence(self._seed, spawn_key=(number, fit_number, pass_number))
            made, n_times = None, 1
            try:
                made = prepared.fit(targets[arm.rows], fit_number, seed), prepared.n_fits
            except OutOfTime as late:
                n_times = late.n_times
            self._plan.note_fit(arm.learner, n_times * (self._budget.seconds_used() - started))
            return made

        for (number, fit_number), done in zip(pulls, self._threads.map(fit, pulls)):
            if done is None:
                if not fits[number] and not pass_number:
                    self._leave_out(number)
                continue
            (result, n_possible), self._plan.has_fit = done, True
            fits[number][fit_number] = result
            self._n_possible[number] = n_possible
            if self._log is not None:
                rows = self.arms[number].rows
                self._log.keep_arm_fit((pass_number, number, fit_number), targets[rows], result, n_possible)
            self.n_fits += 1
            if self._report is not None:
                of_total = "" if total is None else f" of {total}"
                arm = self.arms[number]
                self._report(self.n_fits, total, f"fit {self.n_fits}{of_total}: {arm.learner} on {arm.view_name!r}")


class Repeats:
    """The choice of arms to fit again.

    Parameters
    ----------
    n_left : list of int
        Further fits that each arm can make.
    weights : ndarray of shape (n_arms,)
        Of the arms in the ensemble so far.
    """

    def __init__(self, n_left: Sequence[int], weights: FloatArray) -> None:
        self._n_left = np.array(n_left)
        total = weights.sum()
        self._expected = FIRST_GAIN * weights / total if total > 0 else np.zeros(len(weights))

    def choose(self) -> list[int]:
        """Return the numbers of the arms to fit now, at most `FITS_AT_ONCE`; none when nothing is to be gained."""
        expected = np.where(self._n_left > 0, self._expected, 0.0)
        order = np.argsort(-expected, kind="stable")[:FITS_AT_ONCE]
        return [int(arm) for arm in order if expected[arm] > LEAST_GAIN]

    def reward(self, arms: Sequence[int], gain: float) -> None:
        """Note the share of the loss that fitting these arms took off, which they share."""
        for arm in arms:
            self._n_left[arm] -= 1
            self._expected[arm] = min(self._expected[arm], max(gain, 0.0) / len(arms))


def _fuse(
    runs: ArmRuns,
    fits: Fits,
    targets: FloatArray,
    data: TrainingData,
    row_weights: FloatArray,
    consensus: bool,
    seed: int,
    noise_rate: float | None = None,
) -> PassResult:
    """Weigh the arms, judge the labels by them, and calibrate; `noise_rate` is None where it is not known yet.

    The arms are weighted by the labels as given, whatever they learnt: the consensus is half their own opinion.
    """
    means = row_weights @ targets / row_weights.sum()
    arm_values = runs.out_of_fold(fits, targets.shape[1]) - means
    scored_values = runs.scored(fits, targets.shape[1]) - means
    tried = [number for number, arm_fits in enumerate(fits) if arm_fits]
    out_of_fold = judging = arm_values[tried]
    if data.groups is not None:
        # A row's label is judged by all that is known, the other rows of its group too.
        judging = runs.within_groups(fits, targets.shape[1])[tried] - means
    votes = data.votes()
    given = targets_of(votes)
    given = given - row_weights @ given / row_weights.sum()
    n_classes, n_columns = len(data.classes), (data.codes >= 0).sum(axis=1).mean()
    posterior, rate = votes, noise_rate or 0.0
    noise_rates: FloatArray = np.zeros(data.codes.shape[1])
    class_rates: FloatArray | None = None
    # Weights depend on the share of wrong labels, and its estimate on the weights.
    for _ in range(2 if consensus and noise_rate is None else 1):
        standard_errors = labels_per_right_label(rate, n_classes, n_columns)
        weights = weigh_arms(out_of_fold, given, row_weights, data.groups, standard_errors)
        if consensus:
            judged = by_class(weighted_sum(judging, weights)[0])
            posterior, noise_rates, class_rates = agree_on_subsample(
                judged, data.codes, CONSENSUS_ROWS, seed, data.weights
            )
            rate = float(noise_rates.mean())
    values, covered = weighted_sum(out_of_fold, weights)
    calibration, class_targets = fit_full_calibration(by_class(values), data, posterior, class_rates)
    models = [[fit.model for fit in arm_fits.values()] for arm_fits in fits]
    arm_weights = np.zeros(len(fits))
    arm_weights[tried] = weights
    return PassResult(
        arm_weights,
        values,
        covered,
        means,
        arm_values,
        models,
        posterior,
        noise_rates,
        calibration,
        class_targets,
        scored_values,
        row_weights,
        standard_errors,
    )
