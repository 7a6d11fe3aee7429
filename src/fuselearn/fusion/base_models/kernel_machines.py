"""Kernel machines by least squares: RBF and linear.

Least squares stand for the support vector machine's hinge loss, for three reasons. Flipped labels shrink the values but
do not turn them: the mean of a label that is wrong with probability ρ is (1 − 2ρ) times that of the right one. The
out-of-fold values are exact and cost nothing. And new targets, such as labels after consensus, need no new
decomposition.

Columns that share a unit (pixels, components, intensities) lose by standardising: those that hardly vary are mostly
noise, and would count as much as the others. Columns of different units (age, income) mean nothing without it. Which
of the two a view is cannot be seen from its numbers, so kernel machines try both scales.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.linalg import eigh

from fuselearn.classifiers.cross_fitting import (
    NO_FOLD,
    folds_of_others,
    groups_among,
    held_out_shares,
    likelihood_shares,
    mean_shifts,
    stratified_folds,
    target_codes,
)
from fuselearn.fusion.base_models import ArmFit, FittedModel
from fuselearn.numeric.least_squares import NEGLIGIBLE, RidgeFits, SpectralRidge
from fuselearn.numeric.rbf import rbf_kernel
from fuselearn.persistence.validation import check_array, check_equal, check_number, check_part, check_parts
from fuselearn.typing import BoolArray, FloatArray, IntArray

LARGEST_DEVIATION = 5.0
"""Standard deviations beyond which a standardised value is cut off."""
LARGEST_VALUE = 1e100
"""Largest scaled value in its own units: its square is still a number."""
SAME_UNITS = 0.05
"""Spread of the logarithms of the columns' scales below which the two scales are one."""
NEGLIGIBLE_SHARE = 1e-3
"""Share in an average below which a machine is left out of the model."""
ROUNDING = 1e-10
"""Distance of a value from the mean of the targets below which it is the mean."""
ROWS_AT_A_TIME = 4096
WIDTHS = (2.0, 0.5, 8.0)
"""exp(−width · d² / mean d²), one for each fit. 2 is scikit-learn's gamma="scale"."""
MOST_ROWS = 4000
"""Rows that a machine is fitted on; the others are out of sample anyway."""
WIDE = 1000
"""Columns of a view above which a linear machine takes as few rows: its cost is the cube of the smaller number."""
EXACT_ROWS = 600
LANDMARKS = 400
"""Above EXACT_ROWS rows the kernel is approximated by its columns of so many rows (Nyström)."""
FOLDS = 5
"""Folds of groups, for rows outside the subsample."""


@dataclass(frozen=True)
class Scale:
    """Scale of the columns of a view: centred, divided, cut off, and divided by a size once more.

    Attributes
    ----------
    centre, divisor, size : ndarray of shape (n_columns,)
    largest : float
        Where values are cut off.
    """

    centre: FloatArray
    divisor: FloatArray
    size: FloatArray
    largest: float

    def validate(self) -> None:
        """Check that there are as many numbers of each kind, and that none that is divided by is 0."""
        n_columns = len(check_array(self, "centre", np.float64, (None,)))
        for name in ("divisor", "size"):
            if not (check_array(self, name, np.float64, (n_columns,)) > 0).all():
                raise ValueError(f"{name} of a Scale has numbers that are not positive")
        check_number(self, "largest", least=0.0)

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return scaled rows; a gap is at the centre."""
        scaled = (X - self.centre) / self.divisor
        np.nan_to_num(scaled, copy=False, nan=0.0, posinf=self.largest, neginf=-self.largest)
        np.clip(scaled, -self.largest, self.largest, out=scaled)
        scaled /= self.size
        return scaled


def possible_scales(X: FloatArray, view_columns: list[IntArray] | None = None) -> list[Scale]:
    """Return the scale in own units and, where it differs, the standardised one.

    With `view_columns`, the columns of each of several views side by side, every view counts alike.
    """
    scales = [unit_scale(X, view_columns)]
    _, spread = _moments(X)
    spread = spread[spread > 0]
    if len(spread) > 1 and np.log(spread).std() > SAME_UNITS:
        scales.append(standard_scale(X, view_columns))
    return scales


def unit_scale(X: FloatArray, view_columns: list[IntArray] | None = None) -> Scale:
    """Return the scale of rows with mean square 1 over all columns, which keep their units."""
    centre, spread = _moments(X)
    divisor = np.empty(X.shape[1])
    view_columns = [np.arange(X.shape[1])] if view_columns is None else view_columns
    for columns in view_columns:
        divisor[columns] = np.sqrt((spread[columns] ** 2).sum() * len(view_columns)) or 1.0
    return Scale(centre, divisor, np.ones(len(divisor)), LARGEST_VALUE)


def standard_scale(X: FloatArray, view_columns: list[IntArray] | None = None) -> Scale:
    """Return the scale of columns with variance 1, divided by the square root of their number in each view."""
    centre, spread = _moments(X)
    size = np.empty(X.shape[1])
    view_columns = [np.arange(X.shape[1])] if view_columns is None else view_columns
    for columns in view_columns:
        size[columns] = np.sqrt(max(1, int(np.count_nonzero(spread[columns]))) * len(view_columns))
    return Scale(centre, np.where(spread > 0, spread, 1.0), size, LARGEST_DEVIATION)


def rbf_gamma(scaled: FloatArray, width: float) -> float:
    """Return the factor of squared distances: the width over their mean, for rows about their mean."""
    spread = 2 * (scaled**2).sum(axis=1).mean()
    return float(width / spread) if spread > np.finfo(float).tiny else 0.0


def draw_subsample(n_rows: int, most: int, generator: np.random.Generator) -> BoolArray:
    """Return the mask of the rows that a machine is fitted on: all, or `most` of them drawn at random."""
    subsample = np.zeros(n_rows, dtype=bool)
    subsample[generator.permutation(n_rows)[:most] if n_rows > most else slice(None)] = True
    return subsample


class KernelMachineRows:
    """Training rows of a view for a kernel machine.

    A fit has every scale and every ridge. They are not selected but averaged, each weighted by its likelihood of the
    out-of-fold targets: where several do equally well, choosing one would be guessing.

    Parameters
    ----------
    kernel : "rbf" or "linear"
    scales : list of Scale
    rows : ndarray of shape (n_rows, n_columns)
    weights : ndarray of shape (n_rows,)
    groups : intp ndarray of shape (n_rows,) or None
        Rows of the same number belong together.
    seed : SeedSequence
        Draws the subsample that is fitted on, and the landmarks.
    mean_known : bool, default=False
        Whether the mean of the targets is known beforehand; then out-of-fold values are about it.
    """

    def __init__(
        self,
        kernel: Literal["rbf", "linear"],
        scales: Sequence[Scale],
        rows: FloatArray,
        weights: FloatArray,
        groups: IntArray | None,
        seed: np.random.SeedSequence,
        mean_known: bool = False,
    ) -> None:
        generator = np.random.default_rng(seed)
        self._mean_known = mean_known
        self.n_fits = len(WIDTHS) if kernel == "rbf" else 1
        self._kernel, self._scales = kernel, scales
        self._rows, self._weights = rows, weights
        wide = kernel == "linear" and rows.shape[1] > WIDE
        self._subsample = draw_subsample(len(rows), WIDE if wide else MOST_ROWS, generator)
        self._groups = groups
        self._subsample_groups = None if groups is None else groups_among(groups, self._subsample)
        drawn = generator.permutation(np.count_nonzero(self._subsample))[:LANDMARKS]
        self._is_landmark = np.zeros(len(rows), dtype=bool)
        self._is_landmark[np.flatnonzero(self._subsample)[drawn]] = True
        self._spectra: dict[int, list[Spectrum]] = {}

    def fit(self, targets: FloatArray, number: int, seed: np.random.SeedSequence) -> ArmFit:
        """Fit all scales and ridges with the kernel width of this number, and average them."""
        if number not in self._spectra:
            self._spectra[number] = [self._spectrum(scale, WIDTHS[number], self._subsample) for scale in self._scales]
        spectra, learnt = self._spectra[number], targets[self._subsample]
        fits = fits_by_group = [spectrum.ridge.fit(learnt) for spectrum in spectra]
        if self._groups is not None:
            fits_by_group = [spectrum.ridge.fit(learnt, self._subsample_groups) for spectrum in spectra]
        losses = np.concatenate([fit.losses for fit in fits_by_group])
        shares = np.split(likelihood_shares(losses, len(learnt), self._subsample_groups), len(fits))
        # Mean values over scales and ridges; those of rows outside the subsample follow.
        averages = []
        cases = (fits, None), (fits_by_group, self._subsample_groups)
        for fits_of_all, groups in cases[: 1 if self._groups is None else 2]:
            parts = zip(spectra, fits_of_all, shares)
            errors = [spectrum.ridge.mean_errors(fit, share) for spectrum, fit, share in parts]
            averages.append(np.empty((len(self._rows), learnt.shape[1])))
            averages[-1][self._subsample] = self._about_the_mean(learnt - sum(errors), learnt, groups)
        values, out_of_fold = averages[0], averages[-1]
        scored = self._scored(learnt, fits_by_group)
        machines = [spectrum.machine(fit, share) for spectrum, fit, share in zip(spectra, fits, shares)]
        model = KernelMachine([part for part, share in zip(machines, shares) if share.sum() > NEGLIGIBLE_SHARE])
        outside = ~self._subsample
        if outside.any():
            values[outside] = model.predict(self._rows[outside])
            if self._groups is not None:
                out_of_fold[outside] = self._others_out_of_fold(targets, number, shares, model, seed)
        if scored is not None:
            scored_of_subsample, scored = scored, out_of_fold.copy()
            scored[self._subsample] = scored_of_subsample
        return ArmFit(out_of_fold, values, model, scored)

    def _scored(self, learnt: FloatArray, fits: list[RidgeFits]) -> FloatArray | None:
        """Return values of the subsample with scales and ridges averaged as other rows want it.

        None where errors are not kept.
        """
        weights, errors = self._weights[self._subsample], [fit.errors for fit in fits if fit.errors is not None]
        if not errors:
            return None
        every = np.concatenate(errors, axis=2)
        row_shares = held_out_shares(weights[:, None] * (every**2).sum(axis=1), self._subsample_groups)
        # Not about the mean: a score is of values that follow from nothing but other rows.
        values: FloatArray = learnt - np.einsum("ikr,ir->ik", every, row_shares)
        return values

    def _about_the_mean(self, values: FloatArray, learnt: FloatArray, groups: IntArray | None) -> FloatArray:
        """Return out-of-fold values of the subsample by machines that know the mean of the targets, if it is known."""
        if not self._mean_known:
            return values
        weights = self._weights[self._subsample]
        mean = weights @ learnt / weights.sum()
        values = values + mean_shifts(learnt, weights, groups)
        # Of columns that say nothing the mean is left, and nothing else: rounding follows the labels.
        return np.where(np.abs(values - mean) < ROUNDING, mean, values)

    def _others_out_of_fold(
        self,
        targets: FloatArray,
        number: int,
        shares: list[FloatArray],
        model: FittedModel,
        seed: np.random.SeedSequence,
    ) -> FloatArray:
        """Return values of rows outside the subsample, by machines that have not seen their group either."""
        codes = target_codes(targets[self._subsample])
        fold_of = stratified_folds(codes, FOLDS, np.random.default_rng(seed), self._subsample_groups)
        assert self._groups is not None
        fold_of_others = folds_of_others(self._groups, self._subsample, fold_of)
        others = self._rows[~self._subsample]
        values = np.empty((len(others), targets.shape[1]))
        for fold in np.unique(fold_of_others):
            in_fold = fold_of_others == fold
            machine = model if fold == NO_FOLD else self._machine_without(fold_of == fold, targets, number, shares)
            values[in_fold] = machine.predict(others[in_fold])
        return values

    def _machine_without(
        self, held_out: BoolArray, targets: FloatArray, number: int, shares: list[FloatArray]
    ) -> FittedModel:
        """Fit the average with the same shares on the subsample without some of its rows."""
        rows = self._subsample.copy()
        rows[rows] = ~held_out
        spectra = [self._spectrum(scale, WIDTHS[number], rows) for scale in self._scales]
        learnt = targets[rows]
        return KernelMachine(
            [spectrum.machine(spectrum.ridge.fit(learnt), share) for spectrum, share in zip(spectra, shares)]
        )

    def _spectrum(self, scale: Scale, width: float, rows: BoolArray) -> "Spectrum":
        scaled, weights = scale(self._rows[rows]), self._weights[rows]
        if self._kernel == "linear":
            return LinearSpectrum(scale, scaled, weights)
        landmarks = np.flatnonzero(self._is_landmark[rows])
        return RadialSpectrum(scale, scaled, landmarks, rbf_gamma(scaled, width), weights)


class RadialSpectrum:
    """The spectrum of an RBF kernel, by all rows or by landmarks."""

    def __init__(
        self, scale: Scale, scaled: FloatArray, landmarks: IntArray, gamma: float, weights: FloatArray
    ) -> None:
        self._scale, self._gamma = scale, gamma
        self._exact = len(scaled) <= EXACT_ROWS
        if self._exact:
            self._centres = scaled
            self.ridge = SpectralRidge.of_kernel(rbf_kernel(scaled, scaled, gamma), weights)
        else:
            self._centres = scaled[landmarks]
            eigenvalues, axes = eigh(
                rbf_kernel(self._centres, self._centres, gamma), overwrite_a=True, check_finite=False
            )
            kept = eigenvalues > NEGLIGIBLE * eigenvalues[-1]
            self._roots = axes[:, kept] / np.sqrt(eigenvalues[kept])
            self.ridge = SpectralRidge.of_features(rbf_kernel(scaled, self._centres, gamma) @ self._roots, weights)

    def machine(self, fits: RidgeFits, shares: FloatArray) -> "RadialMachine":
        """Return the predictor of its part of the average."""
        dual, mean = self.ridge.dual(fits, shares), fits.mean * shares.sum()
        if self._exact:
            coefficients, offsets = self.ridge.kernel_coefficients(dual, mean)
        else:
            coefficients, offsets = self.ridge.feature_coefficients(dual, mean)
            coefficients = self._roots @ coefficients
        return RadialMachine(self._scale, self._centres, self._gamma, coefficients, offsets)


class LinearSpectrum:
    """The spectrum of a linear kernel, by rows or by columns, whichever are fewer."""

    def __init__(self, scale: Scale, scaled: FloatArray, weights: FloatArray) -> None:
        self._scale, self._scaled = scale, scaled
        self._by_columns = scaled.shape[1] < len(scaled)
        if self._by_columns:
            self.ridge = SpectralRidge.of_features(scaled, weights)
        else:
            self.ridge = SpectralRidge.of_kernel(scaled @ scaled.T, weights)

    def machine(self, fits: RidgeFits, shares: FloatArray) -> "LinearMachine":
        """Return the predictor of its part of the average."""
        dual, mean = self.ridge.dual(fits, shares), fits.mean * shares.sum()
        if self._by_columns:
            return LinearMachine(self._scale, *self.ridge.feature_coefficients(dual, mean))
        coefficients, offsets = self.ridge.kernel_coefficients(dual, mean)
        return LinearMachine(self._scale, self._scaled.T @ coefficients, offsets)


Spectrum: TypeAlias = RadialSpectrum | LinearSpectrum


@dataclass(frozen=True)
class KernelMachine:
    """The sum of the parts of an average."""

    parts: "list[RadialMachine | LinearMachine]"

    def validate(self) -> None:
        """Check the parts, and that they are of the same columns and targets."""
        parts: list[RadialMachine | LinearMachine] = check_parts(self, "parts", [RadialMachine, LinearMachine])
        for part in parts:
            part.validate()
        check_equal(self, "columns", [len(part.scale.centre) for part in parts])
        check_equal(self, "targets", [len(part.offsets) for part in parts])

    def predict(self, X: FloatArray) -> FloatArray:
        """Return values of shape (n_rows, n_targets)."""
        return sum((part.predict(X) for part in self.parts[1:]), start=self.parts[0].predict(X))


@dataclass(frozen=True)
class RadialMachine:
    """Σ coefficient · exp(−gamma · |x − centre|²) + offset."""

    scale: Scale
    centres: FloatArray
    gamma: float
    coefficients: FloatArray
    offsets: FloatArray

    def validate(self) -> None:
        """Check that scale, centres and coefficients are of the same columns, centres and targets."""
        scale = check_part(self, "scale", Scale)
        scale.validate()
        n_targets = len(check_array(self, "offsets", np.float64, (None,)))
        centres = check_array(self, "centres", np.float64, (None, len(scale.centre)))
        check_array(self, "coefficients", np.float64, (len(centres), n_targets))
        check_number(self, "gamma", least=0.0)

    def predict(self, X: FloatArray) -> FloatArray:
        """Return values of shape (n_rows, n_targets)."""
        values = np.empty((len(X), self.coefficients.shape[1]))
        for start in range(0, len(X), ROWS_AT_A_TIME):
            rows = slice(start, start + ROWS_AT_A_TIME)
            values[rows] = rbf_kernel(self.scale(X[rows]), self.centres, self.gamma) @ self.coefficients + self.offsets
        return values


@dataclass(frozen=True)
class LinearMachine:
    """Columns times coefficients, and an offset."""

    scale: Scale
    coefficients: FloatArray
    offsets: FloatArray

    def validate(self) -> None:
        """Check that scale and coefficients are of the same columns and targets."""
        scale = check_part(self, "scale", Scale)
        scale.validate()
        n_targets = len(check_array(self, "offsets", np.float64, (None,)))
        check_array(self, "coefficients", np.float64, (len(scale.centre), n_targets))

    def predict(self, X: FloatArray) -> FloatArray:
        """Return values of shape (n_rows, n_targets)."""
        return self.scale(X) @ self.coefficients + self.offsets


def _moments(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of the columns, whatever their gaps; 0 for a constant column."""
    finite = np.isfinite(X)
    counts = np.maximum(finite.sum(axis=0), 1)
    values = np.clip(np.where(finite, X, 0.0), -LARGEST_VALUE, LARGEST_VALUE)
    centre = values.sum(axis=0) / counts
    deviations = np.where(finite, values - centre, 0.0)
    spread = np.sqrt((deviations**2).sum(axis=0) / counts)
    return centre, np.where(spread > 1e-10 * (np.abs(centre) + 1e-300), spread, 0.0)
