"""Kernel machines by least squares: RBF and linear.

Least squares stand for the support vector machine's hinge loss, for three reasons. Flipped labels shrink the values but
do not turn them: the mean of a label that is wrong with probability ρ is (1 − 2ρ) times that of the right one. The
values of rows left out are exact and cost nothing. And new targets, such as labels that were agreed on, need no new
decomposition.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from fuselearn.classifiers.cross_fitting import stratified_folds
from fuselearn.fusion.base_models.protocol import ArmFit, codes_of_targets
from fuselearn.fusion.base_models.scaling import UNSEEN, among, folds_of_others, n_observations, taken_rows
from fuselearn.numeric.ridge import NEGLIGIBLE, SpectralRidge, likelihoods

NEGLIGIBLE_SHARE = 1e-3
ROWS_AT_A_TIME = 4096

WIDTHS = (2.0, 0.5, 8.0)
"""exp(−width · d² / mean d²), one for each fit. 2 is scikit-learn's gamma="scale"."""
MOST_ROWS = 4000
"""Rows that a machine is fitted on; the others are out of sample anyway."""
WIDE = 1000
"""Columns of a view above which a linear machine takes as few rows: its cost is the cube of the smaller number."""
EXACT_ROWS = 600
FOLDS = 5
"""Of groups, for rows that the machine is not fitted on."""
LANDMARKS = 400
"""Above EXACT_ROWS rows the kernel is approximated by its columns of so many rows (Nyström)."""


class MachineRows:
    """Training rows of a view for a kernel machine.

    A fit has every scale and every ridge. They are not selected but averaged, each weighted by its likelihood of the
    targets left out: where several do alike, choosing one would be guessing.

    Parameters
    ----------
    kernel : "rbf" or "linear"
    scales : list of callable
        See `fuselearn.fusion.base_models.scaling`.
    rows : ndarray of shape (n_rows, n_columns)
    weights : ndarray of shape (n_rows,)
    groups : intp ndarray of shape (n_rows,) or None
        Rows of the same number belong together.
    seed : SeedSequence
        Draws the rows that are fitted on, and the landmarks.
    """

    def __init__(self, kernel, scales, rows, weights, groups, seed):
        generator = np.random.default_rng(seed)
        self.n_fits = len(WIDTHS) if kernel == "rbf" else 1
        self._kernel, self._scales = kernel, scales
        self._rows, self._weights = rows, weights
        wide = kernel == "linear" and rows.shape[1] > WIDE
        self._taken = taken_rows(len(rows), WIDE if wide else MOST_ROWS, generator)
        self._groups, self._taken_groups = groups, among(groups, self._taken)
        drawn = generator.permutation(np.count_nonzero(self._taken))[:LANDMARKS]
        self._is_landmark = np.zeros(len(rows), dtype=bool)
        self._is_landmark[np.flatnonzero(self._taken)[drawn]] = True
        self._spectra = {}

    def fit(self, targets, number, seed):
        if number not in self._spectra:
            self._spectra[number] = [self._spectrum(scale, WIDTHS[number], self._taken) for scale in self._scales]
        spectra = self._spectra[number]
        seen = targets[self._taken]
        fits = [spectrum.fit(seen) for spectrum in spectra]
        apart = fits if self._groups is None else [spectrum.fit(seen, self._taken_groups) for spectrum in spectra]
        n = n_observations(self._taken_groups, len(seen))
        shares = likelihoods(np.concatenate([one.losses for one in apart]), n)
        shares = np.split(shares, len(fits))
        parts = [spectrum.machine(one, part) for spectrum, one, part in zip(spectra, fits, shares)]
        model = Machine([part for part, share in zip(parts, shares) if share.sum() > NEGLIGIBLE_SHARE])
        values = self._values(seen, fits, shares, model)
        if self._groups is None:
            return ArmFit(values, values, model)
        values_apart = self._values(seen, apart, shares, model)
        if not self._taken.all():
            values_apart[~self._taken] = self._others_apart(targets, number, shares, model, seed)
        return ArmFit(values, values_apart, model)

    def _values(self, seen, fits, shares, model):
        """Mean values over scales and ridges; of rows that the machine is not fitted on, by the model."""
        values = np.empty((len(self._rows), seen.shape[1]))
        values[self._taken] = seen - sum(one.errors @ part for one, part in zip(fits, shares))
        if not self._taken.all():
            values[~self._taken] = model.predict(self._rows[~self._taken])
        return values

    def _others_apart(self, targets, number, shares, model, seed):
        """Values of rows that the machine is not fitted on, by machines that have seen nobody of their group either."""
        codes = codes_of_targets(targets[self._taken])
        fold_of = stratified_folds(codes, FOLDS, np.random.default_rng(seed), self._taken_groups)
        fold_of_others = folds_of_others(self._groups, self._taken, fold_of)
        others = self._rows[~self._taken]
        values = np.empty((len(others), targets.shape[1]))
        for fold in np.unique(fold_of_others):
            there = fold_of_others == fold
            values[there] = self._machine_without(fold, fold_of, targets, number, shares, model).predict(others[there])
        return values

    def _machine_without(self, fold, fold_of, targets, number, shares, model):
        if fold == UNSEEN:
            return model
        rows = self._taken.copy()
        rows[rows] = fold_of != fold
        spectra = [self._spectrum(scale, WIDTHS[number], rows) for scale in self._scales]
        return Machine([spectrum.machine(spectrum.fit(targets[rows]), part) for spectrum, part in zip(spectra, shares)])

    def _spectrum(self, scale, width, rows):
        scaled, weights = scale(self._rows[rows]), self._weights[rows]
        if self._kernel == "linear":
            return LinearSpectrum(scale, scaled, weights)
        landmarks = np.flatnonzero(self._is_landmark[rows])
        return RadialSpectrum(scale, scaled, landmarks, width_factor(scaled, width), weights)


class RadialSpectrum:
    """The spectrum of an RBF kernel, by all rows or by landmarks."""

    def __init__(self, scale, scaled, landmarks, factor, weights):
        self._scale, self._factor = scale, factor
        self._exact = len(scaled) <= EXACT_ROWS
        if self._exact:
            self._centres = scaled
            self._ridge = SpectralRidge.of_kernel(rbf(scaled, scaled, factor), weights)
        else:
            self._centres = scaled[landmarks]
            among = rbf(self._centres, self._centres, factor)
            eigenvalues, axes = eigh(among, overwrite_a=True, check_finite=False)
            kept = eigenvalues > NEGLIGIBLE * eigenvalues[-1]
            self._roots = axes[:, kept] / np.sqrt(eigenvalues[kept])
            self._ridge = SpectralRidge.of_features(rbf(scaled, self._centres, factor) @ self._roots, weights)

    def fit(self, targets, groups=None):
        return self._ridge.fit(targets, groups)

    def machine(self, fits, shares):
        """The predictor of its part of the average."""
        dual, mean = self._ridge.dual(fits, shares), fits.mean * shares.sum()
        if self._exact:
            coefficients, offsets = self._ridge.kernel_coefficients(dual, mean)
        else:
            coefficients, offsets = self._ridge.feature_coefficients(dual, mean)
            coefficients = self._roots @ coefficients
        return RadialMachine(self._scale, self._centres, self._factor, coefficients, offsets)


class LinearSpectrum:
    """The spectrum of a linear kernel, by rows or by columns, whichever are fewer."""

    def __init__(self, scale, scaled, weights):
        self._scale, self._scaled = scale, scaled
        self._by_columns = scaled.shape[1] < len(scaled)
        if self._by_columns:
            self._ridge = SpectralRidge.of_features(scaled, weights)
        else:
            self._ridge = SpectralRidge.of_kernel(scaled @ scaled.T, weights)

    def fit(self, targets, groups=None):
        return self._ridge.fit(targets, groups)

    def machine(self, fits, shares):
        dual, mean = self._ridge.dual(fits, shares), fits.mean * shares.sum()
        if self._by_columns:
            return LinearMachine(self._scale, *self._ridge.feature_coefficients(dual, mean))
        duals, offsets = self._ridge.kernel_coefficients(dual, mean)
        return LinearMachine(self._scale, self._scaled.T @ duals, offsets)


@dataclass(frozen=True)
class Machine:
    """The sum of the parts of an average."""

    parts: list

    def predict(self, X):
        return sum(part.predict(X) for part in self.parts)


@dataclass(frozen=True)
class RadialMachine:
    """Σ coefficient · exp(−factor · |x − centre|²) + offset."""

    scale: object
    centres: np.ndarray
    factor: float
    coefficients: np.ndarray
    offsets: np.ndarray

    def predict(self, X):
        values = np.empty((len(X), self.coefficients.shape[1]))
        for start in range(0, len(X), ROWS_AT_A_TIME):
            part = slice(start, start + ROWS_AT_A_TIME)
            values[part] = rbf(self.scale(X[part]), self.centres, self.factor) @ self.coefficients + self.offsets
        return values


@dataclass(frozen=True)
class LinearMachine:
    """Columns times coefficients, and an offset."""

    scale: object
    coefficients: np.ndarray
    offsets: np.ndarray

    def predict(self, X):
        return self.scale(X) @ self.coefficients + self.offsets


def width_factor(scaled, width):
    """What squared distances are multiplied by: the width over their mean, for rows about their mean."""
    spread = 2 * (scaled**2).sum(axis=1).mean()
    return width / spread if spread > np.finfo(float).tiny else 0.0


def rbf(A, B, factor):
    """exp(−factor · |a − b|²) of all pairs."""
    squares = A @ (-2 * B.T)
    squares += (A**2).sum(axis=1)[:, None]
    squares += (B**2).sum(axis=1)
    np.maximum(squares, 0, out=squares)
    squares *= -factor
    return np.exp(squares, out=squares)
