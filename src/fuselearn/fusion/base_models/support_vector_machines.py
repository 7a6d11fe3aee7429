"""Support vector machines of two classes, with values of rows that they were not fitted on.

A machine hardly follows single wrong labels: their dual variables end at the bound C, and with a low one it comes near
the plain difference of the class means in the space of the kernel. Where few rows have many wrong labels, this is
better than a ridge that has to be told from these labels. So both are tried.
"""

from typing import NamedTuple

import numpy as np

from fuselearn.classifiers.cross_fitting import stratified_folds
from fuselearn.fusion.base_models.kernel_machines import NEGLIGIBLE_SHARE, ROWS_AT_A_TIME, WIDTHS, rbf, width_factor
from fuselearn.fusion.base_models.protocol import ArmFit
from fuselearn.fusion.base_models.scaling import among, folds_of_others, n_observations, taken_rows
from fuselearn.numeric.ridge import likelihoods
from fuselearn.numeric.svm import solve_checked

PENALTIES = (0.1, 1.0, 10.0)
"""The C of a machine: low for wrong labels, high for clean ones. The machines of all are averaged, each weighted by its
likelihood of the targets that it was not fitted on."""
FOLDS, FEWER_FOLDS, FEW_ROWS = 10, 5, 500
"""Of few rows, all but few should be seen: a machine on 80 of 100 is much worse than one on 90. Above FEW_ROWS it is
time that counts."""
TOLERANCE = 1e-2
"""Of machines that only tell values of rows left out."""
MOST_ROWS = 1000
"""Rows that a machine is fitted on; the others are out of sample anyway."""


class MarginRows:
    """Training rows of a view for support vector machines with an RBF kernel.

    Parameters
    ----------
    scales : list of callable
        See `fuselearn.fusion.base_models.scaling`. The machines of all scales are averaged like those of all penalties.
    rows : ndarray of shape (n_rows, n_columns)
    weights : ndarray of shape (n_rows,)
    groups : intp ndarray of shape (n_rows,) or None
        Rows of the same number belong together.
    seed : SeedSequence
        Draws the rows that are fitted on.
    """

    n_fits = 1

    def __init__(self, scales, rows, weights, groups, seed):
        self._rows = rows
        self._taken = taken_rows(len(rows), MOST_ROWS, np.random.default_rng(seed))
        self._groups, self._taken_groups = groups, among(groups, self._taken)
        self._weights = weights[self._taken]
        self._spaces = []
        for scale in scales:
            scaled = scale(rows[self._taken])
            factor = width_factor(scaled, WIDTHS[0])
            self._spaces.append(_Space(scale, scaled, factor, rbf(scaled, scaled, factor)))

    def fit(self, targets, number, seed):
        seen = targets[self._taken, 0]
        signs = np.where(seen > 0, 1.0, -1.0)
        # A label that is hardly believed hardly counts.
        believed = self._weights * np.abs(seen)
        fitted = [_fit_all(space.gram, signs, believed) for space in self._spaces]
        values, _ = self._left_out(fitted, signs, believed, seed, None)
        apart, others = values, None
        if self._groups is not None:
            apart, others = self._left_out(fitted, signs, believed, seed, self._taken_groups)
        n = n_observations(self._taken_groups, len(seen))
        shares = likelihoods(self._weights @ (seen[:, None] - apart) ** 2, n)
        model = MarginMachines(
            [
                MarginMachine(space.scale, space.rows, space.factor, solutions, own)
                for space, solutions, own in zip(self._spaces, fitted, np.split(shares, len(fitted)))
                if own.sum() > NEGLIGIBLE_SHARE
            ]
        )
        mean = self._everywhere(values @ shares, model)
        if self._groups is None:
            return ArmFit(mean, mean, model)
        mean_apart = self._everywhere(apart @ shares, model)
        if others is not None:
            heard = np.isfinite(others[:, 0])
            mean_apart[np.flatnonzero(~self._taken)[heard], 0] = others[heard] @ shares
        return ArmFit(mean, mean_apart, model)

    def _left_out(self, fitted, signs, believed, seed, groups):
        """Values of the rows by machines that were not fitted on them, a column for each scale and penalty.

        With groups, of the rows that no machine is fitted on as well: by those that have seen nobody of their group,
        NaN where that is true of all machines.
        """
        n_folds = FOLDS if len(signs) <= FEW_ROWS else FEWER_FOLDS
        fold_of = stratified_folds((signs > 0).astype(np.intp), n_folds, np.random.default_rng(seed), groups)
        others, fold_of_others = self._rows[~self._taken], None
        if groups is not None and len(others):
            fold_of_others = folds_of_others(self._groups, self._taken, fold_of)
        found = [
            _cross_fit(space, signs, believed, fold_of, solutions, others, fold_of_others)
            for space, solutions in zip(self._spaces, fitted)
        ]
        values, of_others = zip(*found)
        return np.hstack(values), None if fold_of_others is None else np.hstack(of_others)

    def _everywhere(self, values, model):
        """Values of all rows; of those that no machine is fitted on, by the model."""
        everywhere = np.empty((len(self._rows), 1))
        everywhere[self._taken, 0] = values
        if not self._taken.all():
            everywhere[~self._taken] = model.predict(self._rows[~self._taken])
        return everywhere


class _Space(NamedTuple):
    """Rows on a scale, and their kernel."""

    scale: object
    rows: np.ndarray
    factor: float
    gram: np.ndarray


class Solutions(NamedTuple):
    """Machines of all penalties: coefficients of shape (n_rows, n_penalties), and intercepts."""

    coefficients: np.ndarray
    intercepts: np.ndarray


class MarginMachines:
    """A weighted mean of machines.

    Parameters
    ----------
    parts : list of MarginMachine
    """

    def __init__(self, parts):
        self.parts = parts

    def predict(self, X):
        return sum(part.predict(X) for part in self.parts) / sum(part.shares.sum() for part in self.parts)


class MarginMachine:
    """The machines in one kernel, as a part of a mean.

    Parameters
    ----------
    scale : callable
    centres : ndarray of shape (n_centres, n_columns)
    factor : float
    solutions : Solutions
    shares : ndarray of shape (n_machines,)
    """

    def __init__(self, scale, centres, factor, solutions, shares):
        heard = shares > NEGLIGIBLE_SHARE
        coefficients = solutions.coefficients[:, heard]
        used = coefficients.any(axis=1)
        self.scale, self.factor = scale, factor
        self.centres, self.coefficients = centres[used], coefficients[used]
        self.intercepts, self.shares = solutions.intercepts[heard], shares[heard]

    def predict(self, X):
        values = np.empty((len(X), 1))
        for start in range(0, len(X), ROWS_AT_A_TIME):
            part = slice(start, start + ROWS_AT_A_TIME)
            margins = rbf(self.scale(X[part]), self.centres, self.factor) @ self.coefficients + self.intercepts
            values[part] = np.tanh(margins) @ self.shares[:, None]
        return values


def _fit_all(gram, signs, believed):
    """`Solutions` on all rows."""
    coefficients = np.zeros((len(signs), len(PENALTIES)))
    intercepts = np.zeros(len(PENALTIES))
    for place, penalty in enumerate(PENALTIES):
        coefficients[:, place], intercepts[place] = _solve(gram, signs, penalty * believed)
    return Solutions(coefficients, intercepts)


def _cross_fit(space, signs, believed, fold_of, solutions, others, fold_of_others):
    """Values of all rows by machines that were not fitted on them, of shape (n_rows, n_penalties), and of other rows.

    They are tanh of the margins, which is 2p − 1 by the logistic link. Other rows have the fold of their group.
    """
    gram = space.gram
    values = np.zeros((len(signs), len(PENALTIES)))
    of_others = np.full((len(others), len(PENALTIES)), np.nan)
    for fold in np.unique(fold_of):
        train, held_out = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        among_train = np.ascontiguousarray(gram[np.ix_(train, train)])
        across = gram[np.ix_(held_out, train)]
        if fold_of_others is not None:
            there = np.flatnonzero(fold_of_others == fold)
            across_others = rbf(space.scale(others[there]), space.rows[train], space.factor)
        for place, penalty in enumerate(PENALTIES):
            # Without a fold the solution is near that with it.
            start = np.abs(solutions.coefficients[train, place])
            own, intercept = _solve(among_train, signs[train], penalty * believed[train], TOLERANCE, start)
            values[held_out, place] = np.tanh(across @ own + intercept)
            if fold_of_others is not None:
                of_others[there, place] = np.tanh(across_others @ own + intercept)
    return values, of_others


def _solve(gram, signs, upper, tolerance=1e-3, start=None):
    """Coefficients and intercept of one machine; rows whose bound is 0 take no part."""
    all_count = upper.min() > 0
    rows = slice(None) if all_count else np.flatnonzero(upper > 0)
    own = signs[rows]
    if not -len(own) < own.sum() < len(own):  # one class only
        return np.zeros(len(signs)), own[0] if len(own) else 0.0
    if not all_count:
        gram, start = np.ascontiguousarray(gram[np.ix_(rows, rows)]), None if start is None else start[rows]
    solution = solve_checked(gram, own, upper[rows], tolerance, start)
    coefficients = np.zeros(len(signs))
    coefficients[rows] = solution.alpha * own
    return coefficients, solution.intercept
