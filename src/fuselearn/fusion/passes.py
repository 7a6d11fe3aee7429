"""The arms of a fusion, fitted, combined and calibrated: everything between the rows and the model.

Where the fits go: every arm is tried, then the ones whose further fits pay are fitted again.

It is S1's idea, a bandit over arms that is rewarded by what the ensemble gains, put on learners that cost more than a
stump: the gain of an arm's last fit is what the next one is expected to bring, and the run ends when no arm is expected
to bring anything.
"""

import time
from dataclasses import dataclass, field

import numpy as np

from fuselearn.consensus import agree, judge
from fuselearn.fusion.calibration import by_class, fit_whole
from fuselearn.fusion.softmax_calibration import Link
from fuselearn.fusion.weights import combine, filled, merits, weighted_sum

ROWS_TO_AGREE = 4_000
"""Rows that the rates of wrong labels are estimated from, at most."""


LEAST_FOLLOWED = 0.1
"""Labels that say less than this of the right ones are taken to say so much."""


@dataclass(frozen=True)
class Fused:
    """What one pass over the labels ended with.

    Attributes
    ----------
    weights : ndarray of shape (n_arms,)
    values : ndarray of shape (n_rows, n_targets)
        Combined values by models that saw neither a row nor its group, about their mean.
    heard : bool ndarray of shape (n_rows,)
        Rows of which some arm with weight says something.
    means : ndarray of shape (n_targets,)
    arm_values : ndarray of shape (n_arms, n_rows, n_targets)
        About the same mean; NaN where an arm abstains.
    models : list of list
        Fitted models of each arm.
    posterior : ndarray of shape (n_rows, n_classes)
        p(true class | values, labels).
    noise_rates : ndarray of shape (n_label_columns,)
    link : Link
        Of rows with all views.
    believed : ndarray of shape (n_rows, n_classes)
        What it believes of the labels.
    """

    weights: np.ndarray
    values: np.ndarray
    heard: np.ndarray
    means: np.ndarray
    arm_values: np.ndarray
    models: list
    posterior: np.ndarray
    noise_rates: np.ndarray
    link: Link
    believed: np.ndarray


class ArmRuns:
    """The fits of all arms, under a budget.

    Parameters
    ----------
    arms : list of Arm
    row_weights : ndarray of shape (n_rows,)
    groups : intp ndarray of shape (n_rows,) or None
        Rows of the same number are left out together.
    threads : Threads
    seed : int
    budget : Budget
    again : bool
        Whether there is to be a second pass, for which repeats in the first one leave enough of the budget.

    Attributes
    ----------
    arms : list of Arm
    interrupted : bool
        Whether the user interrupted the run; what was fitted before is kept.
    n_fits : int
    """

    def __init__(self, arms, row_weights, groups, threads, seed, budget, again):
        self.arms = arms
        self._row_weights, self._groups = row_weights, groups
        self._threads = threads
        self._seed = seed
        self._budget = budget
        self._again = again
        self._prepared = [None] * len(arms)
        self.interrupted = False
        self.n_fits = 0

    def first_pass(self, targets):
        """Try every arm, then repeat those that pay.

        Returns
        -------
        list of dict of fit number to ArmFit
            By arm.
        """
        made = [{} for _ in self.arms]
        try:
            if self._try_all(targets, made):
                self._repeat(targets, made)
        except KeyboardInterrupt:
            if not any(made):
                raise
            self.interrupted = True
        self._pulls = [(arm, number) for arm, fits in enumerate(made) for number in fits]
        return made

    def second_pass(self, targets):
        """Fit all that was fitted on other targets; None where the budget does not allow it or the user stops it."""
        # It takes as long as the first one; half of it would be of no use.
        if self._budget.fits_left() < len(self._pulls) or self._budget.seconds_left() < self._budget.seconds_used():
            return None
        made = [{} for _ in self.arms]
        try:
            for start in range(0, len(self._pulls), self._at_once()):
                pulls = self._pulls[start : start + self._at_once()]
                if self._budget.grant(len(pulls)) < len(pulls):
                    return None
                self._fit(pulls, targets, made, 1)
        except KeyboardInterrupt:
            self.interrupted = True
            return None
        return made

    def apart(self, made, n_targets):
        """Mean values of each arm by models that saw neither a row nor its group; NaN where it abstains or was not
        fitted."""
        return self._means(made, n_targets, lambda fit: fit.apart)

    def values(self, made, n_targets):
        """The same by models that did not see the row."""
        return self._means(made, n_targets, lambda fit: fit.values)

    def _means(self, made, n_targets, of_fit):
        n_rows = len(self._row_weights)
        values = np.full((len(self.arms), n_rows, n_targets), np.nan)
        for number, (arm, fits) in enumerate(zip(self.arms, made)):
            if fits:
                values[number, arm.rows] = np.mean([of_fit(fit) for fit in fits.values()], axis=0)
        return values

    def _try_all(self, targets, made):
        """Fit every arm once; whether the budget allowed it. One fit is made in any case."""
        order = self._by_turns()
        for start in range(0, len(order), self._at_once()):
            chunk = order[start : start + self._at_once()]
            granted = chunk[: max(self._budget.grant(len(chunk)), start == 0)]
            self._fit([(arm, 0) for arm in granted], targets, made, 0)
            if len(granted) < len(chunk):
                return False
        return True

    def _at_once(self):
        """Fits between two looks at the clock, where the gain does not matter."""
        return max(PULLS_AT_ONCE, self._threads.count)

    def _by_turns(self):
        """Arms in the order in which they are tried: a learner on every view, then the next one."""
        turn, seen = [], {}
        for number, arm in enumerate(self.arms):
            turn.append((seen.setdefault(arm.view_name, 0), number))
            seen[arm.view_name] += 1
        return [number for _, number in sorted(turn)]

    def _repeat(self, targets, made):
        combination = self._combined(targets, made)
        repeats = Repeats([prepared.n_fits - 1 for prepared in self._prepared], combination.weights)
        while chosen := repeats.choose():
            if self._again:
                # Each fit that is made now is made once more in the second pass.
                made_so_far = sum(map(len, made))
                while chosen and self._budget.fits_left() < made_so_far + 2 * len(chosen):
                    chosen.pop()
            granted = chosen[: self._budget.grant(len(chosen))]
            if not granted:
                return
            self._fit([(arm, len(made[arm])) for arm in granted], targets, made, 0)
            before, combination = combination, self._combined(targets, made, (combination.strength,))
            repeats.reward(granted, 1 - combination.loss / before.loss if before.loss > 0 else 0.0)

    def _combined(self, targets, made, strengths=None):
        means = self._row_weights @ targets / self._row_weights.sum()
        values = filled(self.apart(made, targets.shape[1]) - means)
        options = {} if strengths is None else {"strengths": strengths}
        return combine(values, targets - means, self._row_weights, groups=self._groups, **options)

    def _fit(self, pulls, targets, made, pass_number):
        def fit(pull):
            number, fit_number = pull
            arm = self.arms[number]
            if self._prepared[number] is None:
                self._prepared[number] = arm.prepare()
            seed = np.random.SeedSequence(self._seed, spawn_key=(number, fit_number, pass_number))
            return self._prepared[number].fit(targets[arm.rows], fit_number, seed)

        for (number, fit_number), result in zip(pulls, self._threads.map(fit, pulls)):
            made[number][fit_number] = result
            self.n_fits += 1


def fuse(runs, made, targets, rows, row_weights, consensus, seed, noise_rate=None):
    """Combine what the arms say, and judge the labels by it.

    The arms are weighted by the labels as given, whatever they learnt: labels that were agreed on are half their own
    opinion.

    Parameters
    ----------
    runs : ArmRuns
    made : list of dict
        As a pass of it returned them.
    targets : ndarray of shape (n_rows, n_targets)
        What they learnt.
    rows : LabelledRows
    row_weights : ndarray of shape (n_rows,)
        With which they learnt it.
    consensus : bool
        Whether labels may be wrong.
    seed : int
    noise_rate : float, default=None
        Share of wrong labels; None where it is not known yet.

    Returns
    -------
    Fused
    """
    means = row_weights @ targets / row_weights.sum()
    arm_values = runs.apart(made, targets.shape[1]) - means
    tried = [number for number, fits in enumerate(made) if fits]
    apart = near = arm_values[tried]
    if rows.groups is not None:
        # A row's label is judged by all that is known, the other rows of its group too.
        near = runs.values(made, targets.shape[1])[tried] - means

    def judge_by(noise_rate):
        weights = _weigh(apart, rows, row_weights, noise_rate)
        return weights, *_judge(weighted_sum(near, weights)[0], rows, consensus, seed)

    used, posterior, rates, channel = judge_by(noise_rate or 0.0)
    if consensus and noise_rate is None:
        used, posterior, rates, channel = judge_by(rates.mean())
    values, heard = weighted_sum(apart, used)
    link, believed = fit_whole(by_class(values), rows, posterior, channel)
    models = [[fit.model for fit in fits.values()] for fits in made]
    weights = np.zeros(len(made))
    weights[tried] = used
    return Fused(weights, values, heard, means, arm_values, models, posterior, rates, link, believed)


def _weigh(values, rows, row_weights, noise_rate):
    """Weights of arms by the labels as given."""
    given = targets_of(rows.votes())
    given = given - row_weights @ given / row_weights.sum()
    values = filled(values)
    merit = merits(values, given, row_weights, rows.groups)
    clearly = _labels_for_a_right_one(noise_rate, rows)
    merited = combine(values * merit[:, None, None], given, row_weights, groups=rows.groups, clearly=clearly)
    return merit * merited.weights


def _judge(values, rows, consensus, seed):
    """Posterior, rates of wrong labels by column and, for one column with consensus, by class."""
    if not consensus:
        return rows.votes(), np.zeros(rows.codes.shape[1]), None
    return _agreed(by_class(values), rows.codes, seed)


def _labels_for_a_right_one(noise_rate, rows):
    """How many rows with labels as given tell as much as one row with the right label.

    With K classes the mean of a label that is wrong at the rate ρ follows the right one by 1 − ρ K / (K − 1); several
    label columns of a row share the rest of its variance.
    """
    n_classes = len(rows.classes)
    follows = max(1 - noise_rate * n_classes / (n_classes - 1), LEAST_FOLLOWED)
    n_columns = (rows.codes >= 0).sum(axis=1).mean()
    return 1 + (1 / follows**2 - 1) / n_columns


def _agreed(values, codes, seed):
    """What values and labels agree on: the posterior, the rate of wrong labels of each column and, for one column, of
    each class. Estimated on some rows, where there are many."""
    size = np.sqrt((values**2).mean()) or 1.0
    values = (values / size)[:, None, :]
    few = len(values) <= ROWS_TO_AGREE
    some = slice(None) if few else np.random.default_rng(seed).permutation(len(values))[:ROWS_TO_AGREE]
    found = agree(values[some], codes[some])
    posterior, rates = (found.posterior, found.noise_rates) if few else judge(values, codes, found)
    return posterior, rates, found.column_rates[0] if codes.shape[1] == 1 else None


def targets_of(shares):
    """What the arms learn of class shares: 2p − 1 for two classes, else p of each class."""
    return 2 * shares[:, 1:] - 1 if shares.shape[1] == 2 else shares


PULLS_AT_ONCE = 4
"""Arms that are fitted side by side between two looks at the gain: a constant, or the model would depend on n_jobs."""
WORTH_WHILE = 2e-3
"""Share of the loss that a fit must take off to be called a gain."""
OPTIMISM = 0.05
"""Share of the loss that a first repeat is taken to bring, for an arm that has all the weight."""


@dataclass
class Budget:
    """How much may still be fitted.

    Attributes
    ----------
    max_fits : int or None
    time_limit : float or None
        Seconds.
    """

    max_fits: int | None = None
    time_limit: float | None = None
    used: int = 0
    started: float = field(default_factory=time.monotonic)

    def grant(self, wanted):
        """How many of the wanted fits may be made now; they are then taken as made."""
        if self.seconds_left() <= 0:
            return 0
        granted = min(wanted, self.fits_left())
        self.used += granted
        return granted

    def fits_left(self):
        return np.inf if self.max_fits is None else max(0, self.max_fits - self.used)

    def seconds_used(self):
        return time.monotonic() - self.started

    def seconds_left(self):
        return np.inf if self.time_limit is None else self.time_limit - self.seconds_used()


class Repeats:
    """Which arms to fit again.

    Parameters
    ----------
    left : list of int
        Further fits that each arm can make.
    weights : ndarray of shape (n_arms,)
        Of the arms in the ensemble so far.
    """

    def __init__(self, left, weights):
        self._left = np.array(left)
        total = weights.sum()
        self._expected = OPTIMISM * weights / total if total > 0 else np.zeros(len(weights))

    def choose(self):
        """Numbers of the arms to fit now, at most `PULLS_AT_ONCE`; none when nothing is to be gained."""
        expected = np.where(self._left > 0, self._expected, 0.0)
        order = np.argsort(-expected, kind="stable")[:PULLS_AT_ONCE]
        return [int(arm) for arm in order if expected[arm] > WORTH_WHILE]

    def reward(self, arms, gain):
        """Note the share of the loss that fitting these arms took off, which they share."""
        for arm in arms:
            self._left[arm] -= 1
            self._expected[arm] = min(self._expected[arm], max(gain, 0.0) / len(arms))
