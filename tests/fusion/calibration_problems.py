"""Small results of a pass with random values, and training rows, for tests of calibrations by themselves."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from fuselearn.classifiers.calibration import fit_calibration, fit_slope
from fuselearn.fusion.arm_weights import by_class, weighted_sum
from fuselearn.fusion.base_models import Arm
from fuselearn.fusion.filled_views import FilledRows
from fuselearn.fusion.passes import PassResult
from tests.naive import fusion_arms as naive

ARMS = [
    Arm(view, "all views" if view is None else str(view), learner, None, None, None)
    for view in (0, 1, 2, None)
    for learner in ("p", "q")
]
WEIGHTS = np.array([0.3, 0.0, 0.2, 0.1, 0.0, 0.0, 0.3, 0.25])
"""Both arms of the last view alone have no weight."""
PATTERNS = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)][1:-1], dtype=bool)


@dataclass
class Rows:
    """Training rows as far as calibrations read them, with one label column."""

    codes: np.ndarray
    weights: np.ndarray
    present: np.ndarray | None = None
    groups: np.ndarray | None = None
    n_classes: int = 2

    def __len__(self):
        return len(self.codes)

    @property
    def blocks(self):
        return SimpleNamespace(present=self.present)

    @property
    def classes(self):
        return np.arange(self.n_classes)

    @property
    def names(self):
        return [f"view {view}" for view in range(self.present.shape[1])]

    def votes(self):
        return np.eye(self.n_classes)[self.codes[:, 0]]


def some_rows(n=60, n_classes=2, grouped=False, seed=0, share=0.3):
    """Rows of which some lack views; groups leave out numbers."""
    rng = np.random.default_rng(seed)
    present = rng.random((n, 3)) > share
    present[np.arange(n), rng.integers(3, size=n)] = True
    codes = rng.permutation(np.arange(n) % n_classes)[:, None]
    groups = np.unique(rng.integers(0, n // 4, size=n), return_inverse=True)[1] if grouped else None
    return Rows(codes, rng.uniform(0.5, 2.0, n), present, groups, n_classes)


def some_result(data, *, filled=False, seed=1):
    """A result whose arms follow the labels a little; those of all views abstain from rows that lack some, if not
    filled in, and one arm abstains from a few rows for reasons of its own."""
    rng = np.random.default_rng(seed)
    n, n_targets = len(data), 1 if data.n_classes == 2 else data.n_classes
    signal = data.votes()[:, -n_targets:] - 0.5
    values = signal + np.repeat(rng.normal(size=(4, n, n_targets)), 2, axis=0)
    values += 0.5 * rng.normal(size=values.shape)
    for number, arm in enumerate(ARMS):
        lacking = ~data.present[:, arm.view] if arm.view is not None else ~data.present.all(axis=1) & (not filled)
        values[number, lacking] = np.nan
    values[0, ::11] = np.nan
    targets = 0.85 * data.votes() + 0.15 * rng.dirichlet(np.ones(data.n_classes), n)
    combined, covered = weighted_sum(values, WEIGHTS)
    log_shares = np.log(np.arange(1.0, data.n_classes + 1) / np.arange(1.0, data.n_classes + 1).sum())
    rows, joint = np.arange(0, n, 2), np.array([6, 7])
    lacks = (PATTERNS[:, None] & ~data.present[rows]).any(axis=2)
    predicted = rng.normal(size=(len(PATTERNS), 2, len(rows), n_targets)) + signal[rows]
    predicted[np.broadcast_to(lacks[:, None], predicted.shape[:3])] = np.nan
    return PassResult(
        weights=WEIGHTS,
        values=combined,
        covered=covered,
        target_means=np.zeros(n_targets),
        arm_values=values,
        models=[[None]] * len(ARMS),
        posterior=targets,
        noise_rates=np.zeros(1),
        calibration=SimpleNamespace(log_shares=log_shares, slope=1.5, shifts=np.zeros(data.n_classes)),
        class_targets=targets,
        scored_values=values + 0.1 * rng.normal(size=values.shape),
        row_weights=rng.uniform(0.5, 2.0, n),
        standard_errors=1.0,
        filled=FilledRows(rows, joint, PATTERNS, predicted, values[np.ix_(joint, rows)] * 1.3) if filled else None,
    )


def design_effect(values, posterior, weights, groups):
    """How many rows count as one, group by group: Kish's ratio of variances of sums."""
    if groups is None:
        return 1.0
    said = np.exp(fit_slope(values, posterior, weights).log_probabilities(values))
    errors = np.array([w * (t - p) for w, t, p in zip(weights, posterior, said)])
    errors = errors - errors.mean(axis=0)
    numbers = sorted(set(groups.tolist()))
    if len(numbers) == 1:
        return float(len(groups))
    of_groups = [np.sum([error for error, g in zip(errors, groups) if g == number], axis=0) for number in numbers]
    n = len(numbers)
    return max(1.0, n / (n - 1) * sum(s @ s for s in of_groups) / sum(e @ e for e in errors))


def fitted_on(values, posterior, weights, groups, chosen):
    """The calibration of some rows by themselves."""
    values, posterior, weights = by_class(values)[chosen], posterior[chosen], weights[chosen]
    groups = None if groups is None else groups[chosen]
    return fit_calibration(values, posterior, weights, design_effect(values, posterior, weights, groups))


def with_factor(values, weights, factors):
    """Combined values of rows in which each arm's weight is multiplied by a factor, as if absent arms agreed."""
    combined = []
    for row in range(values.shape[1]):
        counted = weights * factors[:, row]
        one = naive.weighted_sum(values[:, [row]], counted)[0]
        combined.append(one * weights.sum() / counted.sum() if counted.sum() > 0 else 0 * one)
    return np.array(combined)
