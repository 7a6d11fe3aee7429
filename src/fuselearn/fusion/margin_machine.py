"""Support vector machines of two classes, with values of rows that they were not fitted on.

A machine hardly follows single wrong labels: their dual variables end at the bound C, and with a low one it comes near
the plain difference of the class means in the space of the kernel. Where few rows have many wrong labels, this is
better than a ridge that has to be told from these labels. So both are tried.
"""

from typing import NamedTuple

import numpy as np

from fuselearn.consensus.cross_fitting import stratified_folds
from fuselearn.fusion.arm_protocol import ArmFit
from fuselearn.fusion.kernel_machine import NEGLIGIBLE_SHARE, WIDTHS, rbf, width_factor
from fuselearn.fusion.taking import among, taken_rows
from fuselearn.numeric.spectral_ridge import likelihoods
from fuselearn.numeric.support_vectors import solve_svm

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
        See `fuselearn.fusion.scaling`. The machines of all scales are averaged like those of all penalties.
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
        self._taken = taken_rows(len(rows), MOST_ROWS, np.random.default_rng(seed), groups)
        self._groups = among(groups, self._taken)
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
        values = self._left_out(fitted, signs, believed, seed, None)
        apart = values if self._groups is None else self._left_out(fitted, signs, believed, seed, self._groups)
        shares = likelihoods(self._weights @ (seen[:, None] - apart) ** 2, len(seen))
        model = MarginMachines(
            [
                MarginMachine(space.scale, space.rows, space.factor, solutions, own)
                for space, solutions, own in zip(self._spaces, fitted, np.split(shares, len(fitted)))
                if own.sum() > NEGLIGIBLE_SHARE
            ]
        )
        mean = self._everywhere(values @ shares, model)
        return ArmFit(mean, mean if apart is values else self._everywhere(apart @ shares, model), model)

    def _left_out(self, fitted, signs, believed, seed, groups):
        """Values of the rows by machines that were not fitted on them, a column for each scale and penalty."""
        n_folds = FOLDS if len(signs) <= FEW_ROWS else FEWER_FOLDS
        fold_of = stratified_folds((signs > 0).astype(np.intp), n_folds, np.random.default_rng(seed), groups)
        return np.hstack(
            [
                _cross_fit(space.gram, signs, believed, fold_of, solutions)
                for space, solutions in zip(self._spaces, fitted)
            ]
        )

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
        margins = rbf(self.scale(X), self.centres, self.factor) @ self.coefficients + self.intercepts
        return np.tanh(margins) @ self.shares[:, None]


def _fit_all(gram, signs, believed):
    """`Solutions` on all rows."""
    coefficients = np.zeros((len(signs), len(PENALTIES)))
    intercepts = np.zeros(len(PENALTIES))
    for place, penalty in enumerate(PENALTIES):
        coefficients[:, place], intercepts[place] = _solve(gram, signs, penalty * believed)
    return Solutions(coefficients, intercepts)


def _cross_fit(gram, signs, believed, fold_of, solutions):
    """Values of all rows by machines that were not fitted on them, of shape (n_rows, n_penalties).

    They are tanh of the margins, which is 2p − 1 by the logistic link.
    """
    values = np.zeros((len(signs), len(PENALTIES)))
    for fold in np.unique(fold_of):
        train, held_out = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        among_train = np.ascontiguousarray(gram[np.ix_(train, train)])
        across = gram[np.ix_(held_out, train)]
        for place, penalty in enumerate(PENALTIES):
            # Without a fold the solution is near that with it.
            start = np.abs(solutions.coefficients[train, place])
            own, intercept = _solve(among_train, signs[train], penalty * believed[train], TOLERANCE, start)
            values[held_out, place] = np.tanh(across @ own + intercept)
    return values


def _solve(gram, signs, upper, tolerance=1e-3, start=None):
    """Coefficients and intercept of one machine; rows whose bound is 0 take no part."""
    coefficients = np.zeros(len(signs))
    rows = np.flatnonzero(upper > 0)
    if len(np.unique(signs[rows])) == 2:
        if len(rows) < len(signs):
            gram, start = gram[np.ix_(rows, rows)], None if start is None else start[rows]
        solution = solve_svm(np.ascontiguousarray(gram), signs[rows], upper[rows], tolerance=tolerance, alpha=start)
        coefficients[rows] = solution.alpha * signs[rows]
        return coefficients, solution.intercept
    return coefficients, signs[rows[0]] if len(rows) else 0.0  # one class only
