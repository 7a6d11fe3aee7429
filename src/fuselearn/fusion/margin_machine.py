"""Support vector machines of two classes, with values of rows that they were not fitted on.

A machine with a fixed C hardly follows single wrong labels: their dual variables end at the bound, and it comes near
the plain difference of the class means in the space of the kernel. Where few rows have many wrong labels, this is
better than a ridge that has to be told from these labels. So both are tried.
"""

import numpy as np

from fuselearn.consensus.cross_fitting import stratified_folds
from fuselearn.fusion.arm_protocol import ArmFit
from fuselearn.fusion.kernel_machine import NEGLIGIBLE_SHARE, WIDTHS, rbf, taken_rows, width_factor
from fuselearn.numeric.spectral_ridge import likelihoods
from fuselearn.numeric.support_vectors import solve_svm

C = 1.0
FOLDS = 5
MOST_ROWS = 1000
"""Rows that a machine is fitted on; the others are out of sample anyway."""


class MarginRows:
    """Training rows of a view for support vector machines with an RBF kernel.

    Parameters
    ----------
    scales : list of callable
        See `fuselearn.fusion.scaling`. The machines of all scales are averaged, each weighted by its likelihood of the
        targets that it was not fitted on.
    rows : ndarray of shape (n_rows, n_columns)
    weights : ndarray of shape (n_rows,)
    seed : SeedSequence
        Draws the rows that are fitted on.
    """

    n_fits = 1

    def __init__(self, scales, rows, weights, seed):
        self._rows = rows
        self._taken = taken_rows(len(rows), MOST_ROWS, np.random.default_rng(seed))
        self._weights = weights[self._taken]
        self._scales = scales
        self._spaces = []
        for scale in scales:
            scaled = scale(rows[self._taken])
            factor = width_factor(scaled, WIDTHS[0])
            self._spaces.append((scaled, factor, rbf(scaled, scaled, factor)))

    def fit(self, targets, number, seed):
        seen = targets[self._taken, 0]
        signs = np.where(seen > 0, 1.0, -1.0)
        # A label that is hardly believed hardly counts.
        upper = C * self._weights * np.abs(seen)
        fold_of = stratified_folds((signs > 0).astype(np.intp), FOLDS, np.random.default_rng(seed))
        fitted = [_cross_fit(gram, signs, upper, fold_of) for _, _, gram in self._spaces]
        losses = np.array([self._weights @ (seen - values) ** 2 for values, _, _ in fitted])
        shares = likelihoods(losses, len(seen))
        parts = [
            MarginMachine(scale, scaled, factor, coefficients, intercepts, share)
            for scale, (scaled, factor, _), (_, coefficients, intercepts), share in zip(
                self._scales, self._spaces, fitted, shares
            )
            if share > NEGLIGIBLE_SHARE
        ]
        model = MarginMachines(parts)
        values = np.empty(targets.shape)
        values[self._taken, 0] = sum(share * said for share, (said, _, _) in zip(shares, fitted))
        if not self._taken.all():
            values[~self._taken] = model.predict(self._rows[~self._taken])
        return ArmFit(values, model)


class MarginMachines:
    """A weighted mean of machines.

    Parameters
    ----------
    parts : list of MarginMachine
    """

    def __init__(self, parts):
        self.parts = parts

    def predict(self, X):
        return sum(part.predict(X) for part in self.parts) / sum(part.share for part in self.parts)


class MarginMachine:
    """The machines of all folds in one kernel, as a share of a mean.

    Parameters
    ----------
    scale : callable
    centres : ndarray of shape (n_centres, n_columns)
    factor : float
    coefficients : ndarray of shape (n_centres, n_folds)
    intercepts : ndarray of shape (n_folds,)
    share : float
    """

    def __init__(self, scale, centres, factor, coefficients, intercepts, share):
        used = coefficients.any(axis=1)
        self.scale, self.factor, self.share = scale, factor, float(share)
        self.centres, self.coefficients, self.intercepts = centres[used], coefficients[used], intercepts

    def predict(self, X):
        margins = rbf(self.scale(X), self.centres, self.factor) @ self.coefficients + self.intercepts
        return self.share * np.tanh(margins).mean(axis=1, keepdims=True)


def _cross_fit(gram, signs, upper, fold_of):
    """Values of all rows by machines that were not fitted on them, and the machines.

    Returns
    -------
    values : ndarray of shape (n_rows,)
        tanh of the margins, which is 2p − 1 by the logistic link.
    coefficients : ndarray of shape (n_rows, n_folds)
    intercepts : ndarray of shape (n_folds,)
    """
    values = np.zeros(len(signs))
    coefficients = np.zeros((len(signs), FOLDS))
    intercepts = np.zeros(FOLDS)
    for fold in range(FOLDS):
        train = np.flatnonzero((fold_of != fold) & (upper > 0))
        held_out = np.flatnonzero(fold_of == fold)
        if len(np.unique(signs[train])) == 2:
            solution = solve_svm(np.ascontiguousarray(gram[np.ix_(train, train)]), signs[train], upper[train])
            coefficients[train, fold] = solution.alpha * signs[train]
            intercepts[fold] = solution.intercept
        elif len(train):
            intercepts[fold] = signs[train[0]]  # one class only
        values[held_out] = np.tanh(gram[held_out] @ coefficients[:, fold] + intercepts[fold])
    return values, coefficients, intercepts
