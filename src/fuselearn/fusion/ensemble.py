"""The arms of a fusion, fitted, combined and calibrated: everything between the rows and the model."""

from dataclasses import dataclass

import numpy as np

from fuselearn.consensus import agree, judge
from fuselearn.fusion.budget import PULLS_AT_ONCE, Repeats
from fuselearn.fusion.calibration import Link, fit_link
from fuselearn.fusion.combination import combine, filled, weighted_sum

ROWS_TO_AGREE = 10_000
"""Rows that the rates of wrong labels are estimated from, at most."""


@dataclass(frozen=True)
class Fused:
    """What one pass over the labels ended with.

    Attributes
    ----------
    weights : ndarray of shape (n_arms,)
    values : ndarray of shape (n_rows, n_targets)
        Combined out-of-sample values, about their mean.
    means : ndarray of shape (n_targets,)
    arm_values : ndarray of shape (n_arms, n_rows, n_targets)
        About the same mean; NaN where an arm abstains.
    models : list of list
        Fitted models of each arm.
    posterior : ndarray of shape (n_rows, n_classes)
        p(true class | values, labels).
    noise_rates : ndarray of shape (n_label_columns,)
    link : Link
    """

    weights: np.ndarray
    values: np.ndarray
    means: np.ndarray
    arm_values: np.ndarray
    models: list
    posterior: np.ndarray
    noise_rates: np.ndarray
    link: Link


class ArmRuns:
    """The fits of all arms, under a budget.

    Parameters
    ----------
    arms : list of Arm
    row_weights : ndarray of shape (n_rows,)
    threads : Threads
    seed : int
    budget : Budget

    Attributes
    ----------
    interrupted : bool
        Whether the user interrupted the run; what was fitted before is kept.
    n_fits : int
    """

    def __init__(self, arms, row_weights, threads, seed, budget):
        self._arms = arms
        self._row_weights = row_weights
        self._threads = threads
        self._seed = seed
        self._budget = budget
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
        made = [{} for _ in self._arms]
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
        if self._budget.grant(len(self._pulls)) < len(self._pulls):
            return None
        made = [{} for _ in self._arms]
        try:
            self._fit(self._pulls, targets, made, 1)
        except KeyboardInterrupt:
            self.interrupted = True
            return None
        return made

    def values(self, made, n_targets):
        """Mean out-of-sample values of each arm; NaN where it abstains or was not fitted."""
        n_rows = len(self._row_weights)
        values = np.full((len(self._arms), n_rows, n_targets), np.nan)
        for number, (arm, fits) in enumerate(zip(self._arms, made)):
            if fits:
                values[number, arm.rows] = np.mean([fit.values for fit in fits.values()], axis=0)
        return values

    def _try_all(self, targets, made):
        """Fit every arm once; whether the budget allowed it. One fit is made in any case."""
        order = self._by_turns()
        for start in range(0, len(order), PULLS_AT_ONCE):
            chunk = order[start : start + PULLS_AT_ONCE]
            granted = chunk[: max(self._budget.grant(len(chunk)), start == 0)]
            self._fit([(arm, 0) for arm in granted], targets, made, 0)
            if len(granted) < len(chunk):
                return False
        return True

    def _by_turns(self):
        """Arms in the order in which they are tried: a learner on every view, then the next one."""
        turn, seen = [], {}
        for number, arm in enumerate(self._arms):
            turn.append((seen.setdefault(arm.view_name, 0), number))
            seen[arm.view_name] += 1
        return [number for _, number in sorted(turn)]

    def _repeat(self, targets, made):
        combination = self._combined(targets, made)
        repeats = Repeats([prepared.n_fits - 1 for prepared in self._prepared], combination.weights)
        while chosen := repeats.choose():
            granted = chosen[: self._budget.grant(len(chosen))]
            if not granted:
                return
            self._fit([(arm, len(made[arm])) for arm in granted], targets, made, 0)
            before, combination = combination, self._combined(targets, made, (combination.strength,))
            repeats.reward(granted, 1 - combination.loss / before.loss if before.loss > 0 else 0.0)

    def _combined(self, targets, made, strengths=None):
        means = self._row_weights @ targets / self._row_weights.sum()
        values = filled(self.values(made, targets.shape[1]) - means)
        options = {} if strengths is None else {"strengths": strengths}
        return combine(values, targets - means, self._row_weights, **options)

    def _fit(self, pulls, targets, made, pass_number):
        def fit(pull):
            number, fit_number = pull
            arm = self._arms[number]
            if self._prepared[number] is None:
                self._prepared[number] = arm.prepare()
            seed = np.random.SeedSequence(self._seed, spawn_key=(number, fit_number, pass_number))
            return self._prepared[number].fit(targets[arm.rows], fit_number, seed)

        for (number, fit_number), result in zip(pulls, self._threads.map(fit, pulls)):
            made[number][fit_number] = result
            self.n_fits += 1


def fuse(runs, made, targets, rows, row_weights, consensus):
    """Combine what the arms say, and judge the labels by it.

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

    Returns
    -------
    Fused
    """
    means = row_weights @ targets / row_weights.sum()
    arm_values = runs.values(made, targets.shape[1]) - means
    tried = [number for number, fits in enumerate(made) if fits]
    weights = np.zeros(len(made))
    weights[tried] = combine(filled(arm_values[tried]), targets - means, row_weights).weights
    values, _ = weighted_sum(arm_values[tried], weights[tried])
    posterior, rates = rows.votes(), np.zeros(rows.codes.shape[1])
    if consensus:
        posterior, rates = _agreed(by_class(values), rows.codes)
    link = fit_link(by_class(values), posterior, rows.weights)
    models = [[fit.model for fit in fits.values()] for fits in made]
    return Fused(weights, values, means, arm_values, models, posterior, rates, link)


def _agreed(values, codes):
    """What values and labels agree on; estimated on every so many rows, where there are many."""
    size = np.sqrt((values**2).mean()) or 1.0
    values = (values / size)[:, None, :]
    step = -(-len(values) // ROWS_TO_AGREE)
    found = agree(values[::step], codes[::step])
    return (found.posterior, found.noise_rates) if step == 1 else judge(values, codes, found)


def by_class(values):
    """Combined values as one column per class."""
    return np.column_stack([-values[:, 0], values[:, 0]]) if values.shape[1] == 1 else values


def targets_of(shares):
    """What the arms learn of class shares: 2p − 1 for two classes, else p of each class."""
    return 2 * shares[:, 1:] - 1 if shares.shape[1] == 2 else shares
