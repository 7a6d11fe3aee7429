"""Support vector machines of two classes with an RBF kernel, and their out-of-fold values.

A machine hardly follows single wrong labels: their dual variables end at the bound C, and with a low one it comes near
the plain difference of the class means in the space of the kernel. Where few rows have many wrong labels, this is
better than a ridge, whose strength is estimated from these labels. So both are tried.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fuselearn.classifiers.cross_fitting import (
    folds_of_others,
    groups_among,
    held_out_shares,
    likelihood_shares,
    stratified_folds,
)
from fuselearn.fusion.base_models import ArmFit, FittedModel
from fuselearn.fusion.base_models.kernel_machines import (
    NEGLIGIBLE_SHARE,
    ROWS_AT_A_TIME,
    WIDTHS,
    Scale,
    draw_subsample,
    rbf_gamma,
)
from fuselearn.numeric.rbf import rbf_kernel
from fuselearn.numeric.svm import solve_checked
from fuselearn.persistence.validation import check_array, check_equal, check_number, check_part, check_parts
from fuselearn.typing import FloatArray, IntArray

PENALTIES = (0.1, 1.0, 10.0)
"""The C of a machine: low for wrong labels, high for clean ones. The machines of all are averaged, each weighted by its
likelihood of the out-of-fold targets."""
FOLDS, FEWER_FOLDS, FEW_ROWS = 10, 5, 500
"""Of few rows, almost all should be seen: a machine on 80 of 100 is much worse than one on 90. Above FEW_ROWS it is
time that counts."""
TOLERANCE, FOLD_TOLERANCE = 1e-3, 1e-2
"""Of machines for new rows, and of those that only give out-of-fold values."""
MOST_ROWS = 1000
"""Rows that a machine is fitted on; the others are out of sample anyway."""


class SupportVectorRows:
    """Training rows of a view for support vector machines.

    Parameters
    ----------
    scales : list of Scale
        The machines of all scales are averaged like those of all penalties.
    rows : ndarray of shape (n_rows, n_columns)
    weights : ndarray of shape (n_rows,)
    groups : intp ndarray of shape (n_rows,) or None
        Rows of the same number belong together.
    seed : SeedSequence
        Draws the subsample that is fitted on.
    """

    n_fits = 1

    def __init__(
        self,
        scales: Sequence[Scale],
        rows: FloatArray,
        weights: FloatArray,
        groups: IntArray | None,
        seed: np.random.SeedSequence,
    ) -> None:
        self._rows = rows
        self._subsample = draw_subsample(len(rows), MOST_ROWS, np.random.default_rng(seed))
        self._groups = groups
        self._subsample_groups = None if groups is None else groups_among(groups, self._subsample)
        self._weights = weights[self._subsample]
        self._spaces = []
        for scale in scales:
            scaled = scale(rows[self._subsample])
            gamma = rbf_gamma(scaled, WIDTHS[0])
            self._spaces.append(_KernelSpace(scale, scaled, gamma, rbf_kernel(scaled, scaled, gamma)))

    def fit(self, targets: FloatArray, number: int, seed: np.random.SeedSequence) -> ArmFit:
        """Fit the machines of all scales and penalties, and average them."""
        learnt = targets[self._subsample, 0]
        signs = np.where(learnt > 0, 1.0, -1.0)
        # A label that is hardly believed hardly counts.
        belief = self._weights * np.abs(learnt)
        solutions = [_fit_all(space.gram, signs, belief) for space in self._spaces]
        values, _ = self._out_of_fold(solutions, signs, belief, seed, None)
        out_of_fold, others = values, None
        if self._groups is not None:
            out_of_fold, others = self._out_of_fold(solutions, signs, belief, seed, self._subsample_groups)
        losses = self._weights[:, None] * (learnt[:, None] - out_of_fold) ** 2
        shares = likelihood_shares(losses.sum(axis=0), len(learnt), self._subsample_groups)
        row_shares = held_out_shares(losses, self._subsample_groups)
        model = SupportVectorMachines(
            [
                SupportVectorMachine(space.scale, space.rows, space.gamma, solution, share)
                for space, solution, share in zip(self._spaces, solutions, np.split(shares, len(solutions)))
                if share.sum() > NEGLIGIBLE_SHARE
            ]
        )
        mean = self._of_all_rows(values @ shares, model)
        group_mean = mean if self._groups is None else self._of_all_rows(out_of_fold @ shares, model)
        if others is not None:
            known = np.isfinite(others[:, 0])
            group_mean[np.flatnonzero(~self._subsample)[known], 0] = others[known] @ shares
        scored = group_mean.copy()
        scored[self._subsample, 0] = (out_of_fold * row_shares).sum(axis=1)
        return ArmFit(group_mean, mean, model, scored)

    def _out_of_fold(
        self,
        solutions: "list[_Solutions]",
        signs: FloatArray,
        belief: FloatArray,
        seed: np.random.SeedSequence,
        groups: IntArray | None,
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return out-of-fold values of the subsample, a column for each scale and penalty, and of the other rows.

        Values are tanh of the margins, which is 2p − 1 of a logistic calibration. With groups, other rows have the fold
        of their group, and NaN if no row of it is in the subsample; without groups, None.
        """
        n_folds = FOLDS if len(signs) <= FEW_ROWS else FEWER_FOLDS
        fold_of = stratified_folds((signs > 0).astype(np.intp), n_folds, np.random.default_rng(seed), groups)
        others = self._rows[~self._subsample]
        fold_of_others = None
        if groups is not None and self._groups is not None and len(others):
            fold_of_others = folds_of_others(self._groups, self._subsample, fold_of)
        columns = len(self._spaces), len(PENALTIES)
        values = np.zeros((len(signs), *columns))
        other_values = np.full((len(others), *columns), np.nan)
        for number, (space, solution) in enumerate(zip(self._spaces, solutions)):
            for fold in np.unique(fold_of):
                train, held_out = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
                train_gram = np.ascontiguousarray(space.gram[np.ix_(train, train)])
                to_held_out = space.gram[np.ix_(held_out, train)]
                if fold_of_others is not None:
                    in_fold = np.flatnonzero(fold_of_others == fold)
                    to_others = rbf_kernel(space.scale(others[in_fold]), space.rows[train], space.gamma)
                for place, penalty in enumerate(PENALTIES):
                    # Without a fold the solution is near that with it.
                    start = np.abs(solution.coefficients[train, place])
                    coefficients, intercept = _solve(
                        train_gram, signs[train], penalty * belief[train], FOLD_TOLERANCE, start
                    )
                    values[held_out, number, place] = np.tanh(to_held_out @ coefficients + intercept)
                    if fold_of_others is not None:
                        other_values[in_fold, number, place] = np.tanh(to_others @ coefficients + intercept)
        out_of_fold = values.reshape(len(signs), -1)
        return out_of_fold, None if fold_of_others is None else other_values.reshape(len(others), -1)

    def _of_all_rows(self, values: FloatArray, model: FittedModel) -> FloatArray:
        """Return values of all rows, from those of the subsample; the model gives those of the others."""
        of_all = np.empty((len(self._rows), 1))
        of_all[self._subsample, 0] = values
        if not self._subsample.all():
            of_all[~self._subsample] = model.predict(self._rows[~self._subsample])
        return of_all


class _KernelSpace(NamedTuple):
    """Rows on a scale, and their kernel."""

    scale: Scale
    rows: FloatArray
    gamma: float
    gram: FloatArray


class _Solutions(NamedTuple):
    """Machines of all penalties: coefficients of shape (n_rows, n_penalties), and intercepts."""

    coefficients: FloatArray
    intercepts: FloatArray


class SupportVectorMachines:
    """A weighted mean of machines."""

    def __init__(self, parts: "list[SupportVectorMachine]") -> None:
        self.parts = parts

    def validate(self) -> None:
        """Check the machines, and that they are of the same columns and have a share in the mean."""
        parts: list[SupportVectorMachine] = check_parts(self, "parts", [SupportVectorMachine])
        for part in parts:
            part.validate()
        check_equal(self, "columns", [len(part.scale.centre) for part in parts])
        if not sum(part.shares.sum() for part in parts) > 0:
            raise ValueError("the shares of the machines of a SupportVectorMachines are not positive")

    def predict(self, X: FloatArray) -> FloatArray:
        """Return values of shape (n_rows, 1)."""
        sums = sum((part.predict(X) for part in self.parts), start=np.zeros((len(X), 1)))
        return sums / sum(part.shares.sum() for part in self.parts)


class SupportVectorMachine:
    """The machines of all penalties in one kernel, with their shares in a mean; rows without weight are left out."""

    def __init__(
        self, scale: Scale, centres: FloatArray, gamma: float, solutions: _Solutions, shares: FloatArray
    ) -> None:
        kept = shares > NEGLIGIBLE_SHARE
        coefficients = solutions.coefficients[:, kept]
        used = coefficients.any(axis=1)
        self.scale, self.gamma = scale, gamma
        self.centres, self.coefficients = centres[used], coefficients[used]
        self.intercepts, self.shares = solutions.intercepts[kept], shares[kept]

    def validate(self) -> None:
        """Check that scale, centres and coefficients are of the same columns, centres and penalties."""
        scale = check_part(self, "scale", Scale)
        scale.validate()
        n_machines = len(check_array(self, "shares", np.float64, (None,)))
        centres = check_array(self, "centres", np.float64, (None, len(scale.centre)))
        check_array(self, "coefficients", np.float64, (len(centres), n_machines))
        check_array(self, "intercepts", np.float64, (n_machines,))
        check_number(self, "gamma", least=0.0)

    def predict(self, X: FloatArray) -> FloatArray:
        """Return the weighted sum of the values, of shape (n_rows, 1)."""
        values = np.empty((len(X), 1))
        for start in range(0, len(X), ROWS_AT_A_TIME):
            rows = slice(start, start + ROWS_AT_A_TIME)
            margins = rbf_kernel(self.scale(X[rows]), self.centres, self.gamma) @ self.coefficients + self.intercepts
            values[rows] = np.tanh(margins) @ self.shares[:, None]
        return values


def _fit_all(gram: FloatArray, signs: FloatArray, belief: FloatArray) -> _Solutions:
    """Fit the machines of all penalties on all rows."""
    coefficients = np.zeros((len(signs), len(PENALTIES)))
    intercepts = np.zeros(len(PENALTIES))
    for place, penalty in enumerate(PENALTIES):
        coefficients[:, place], intercepts[place] = _solve(gram, signs, penalty * belief, TOLERANCE)
    return _Solutions(coefficients, intercepts)


def _solve(
    gram: FloatArray, signs: FloatArray, upper: FloatArray, tolerance: float, start: FloatArray | None = None
) -> tuple[FloatArray, float]:
    """Return coefficients and intercept of one machine; rows whose bound is 0 take no part."""
    counting = upper > 0
    counted = signs[counting]
    if not -len(counted) < counted.sum() < len(counted):  # one class only
        return np.zeros(len(signs)), counted[0] if len(counted) else 0.0
    if not counting.all():
        gram, start = np.ascontiguousarray(gram[np.ix_(counting, counting)]), None if start is None else start[counting]
    solution = solve_checked(gram, counted, upper[counting], tolerance, start)
    coefficients = np.zeros(len(signs))
    coefficients[counting] = solution.alpha * counted
    return coefficients, solution.intercept
