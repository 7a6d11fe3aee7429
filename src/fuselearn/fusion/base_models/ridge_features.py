"""Ridge machines of many rows by sums: linear in the columns, or in the kernel values of landmarks.

With features φ of a row, targets t and weights u, all that a ridge needs are G = Σ u φ φᵀ, M = Σ u φ tᵀ and Σ u t²,
summed for each fold. From these follow the machines without each fold, their squared errors on that fold for every
strength of the ridge, and the machine of all rows: one pass over the rows is enough, and out-of-fold values are exact.

Columns are standardised, and gaps are at the mean. A row that lacks a view is 0 in all its columns, and in a column
that says whether the view is there: so the sums over the rows that have a view are among the sums over all rows, and
the machines of single views come with that of all views for nothing.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from fuselearn.backends.partitioned.partitions import Answer
from fuselearn.data.training_data import targets_of
from fuselearn.fusion.base_models.kernel_machines import LARGEST_DEVIATION, LARGEST_VALUE, Scale
from fuselearn.fusion.fusion_rows import FusionBlock, FusionFrame, rows_of
from fuselearn.numeric.rbf import rbf_kernel
from fuselearn.persistence.validation import check_array, check_number, check_part
from fuselearn.typing import FloatArray, IntArray

ROWS_AT_A_TIME = 4096
LINEAR_STRENGTHS = tuple(10.0**power for power in range(-7, 1))
LANDMARK_STRENGTHS = tuple(10.0**power for power in range(-10, -1))
"""Strengths of the ridge that are tried, in units of the mean square of a feature, times the rows."""
SUM_BITS = 62
"""Bits of a whole sum: sums of floats of many partitions could not be added up without keeping all of them."""


@dataclass(frozen=True)
class ColumnMoments:
    """Asks for the weight, the sum, and the sum of squares about a centre, of the values of each used column."""

    centre: FloatArray | None = None

    def __call__(self, block: FusionBlock) -> Answer:
        """Return sums of shape (3, n_columns)."""
        columns = block.frame.used_columns
        sums = np.zeros((3, len(columns)))
        for part in block.parts():
            rows, weights = rows_of(block.table, part, columns), block.weights[part]
            finite = np.isfinite(rows)
            values = np.clip(np.where(finite, rows, 0.0), -LARGEST_VALUE, LARGEST_VALUE)
            sums[0] += weights @ finite
            sums[1] += weights @ values
            if self.centre is not None:
                sums[2] += weights @ np.where(finite, values - self.centre, 0.0) ** 2
        return (sums,)


def scale_of(centre: FloatArray, spread: FloatArray) -> Scale:
    """Return the scale of columns with mean 0 and variance 1; a column that does not vary is 0 in training rows."""
    varies = spread > 1e-10 * (np.abs(centre) + 1e-300)
    return Scale(centre, np.where(varies, spread, 1.0), np.ones(len(centre)), LARGEST_DEVIATION)


@dataclass(frozen=True)
class RidgeFeatures:
    """Features of rows: standardised columns and marks of the views that may be missing, or kernel values of landmarks.

    Attributes
    ----------
    scale : Scale
        Of the columns.
    marked : list of intp ndarray
        For each view whose presence is a feature, the places of its columns.
    landmarks : ndarray of shape (n_landmarks, n_columns + n_marked)
        None of them: the features are columns and marks themselves.
    gamma : float
        Factor of squared distances.
    """

    scale: Scale
    marked: list[IntArray]
    landmarks: FloatArray
    gamma: float

    @property
    def n_features(self) -> int:
        """Number of features; the last one is 1."""
        return (len(self.landmarks) or len(self.scale.centre) + len(self.marked)) + 1

    def validate(self) -> None:
        """Check that scale, marks and landmarks are of the same columns."""
        scale = check_part(self, "scale", Scale)
        scale.validate()
        n_columns = len(scale.centre)
        if type(self.marked) is not list:
            raise ValueError("marked of a RidgeFeatures is no list")
        for columns in self.marked:
            if type(columns) is not np.ndarray or columns.ndim != 1 or columns.dtype.kind != "i" or not len(columns):
                raise ValueError("marked of a RidgeFeatures has entries that are no columns")
            if columns.min() < 0 or columns.max() >= n_columns:
                raise ValueError(f"marked of a RidgeFeatures has columns beyond its {n_columns}")
        check_array(self, "landmarks", np.float64, (None, n_columns + len(self.marked)))
        check_number(self, "gamma", least=0.0)

    def coordinates(self, X: FloatArray) -> FloatArray:
        """Return scaled columns, and 1 where a marked view is present."""
        scaled = self.scale(X)
        if not self.marked:
            return scaled
        marks = [~np.isnan(X[:, columns]).all(axis=1) for columns in self.marked]
        return np.column_stack([scaled, *marks])

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return features of rows, of shape (n_rows, n_features)."""
        features = np.empty((len(X), self.n_features))
        features[:, -1] = 1.0
        coordinates = self.coordinates(X)
        features[:, :-1] = rbf_kernel(coordinates, self.landmarks, self.gamma) if len(self.landmarks) else coordinates
        return features


class RidgeModel:
    """A ridge machine of the columns of an arm.

    Parameters
    ----------
    features : RidgeFeatures
        Features of the columns.
    coefficients : ndarray of shape (n_features, n_targets)
        Of the features.
    """

    def __init__(self, features: RidgeFeatures, coefficients: FloatArray) -> None:
        self.features, self.coefficients = features, coefficients

    @property
    def n_columns(self) -> int:
        """Number of columns that it reads."""
        return len(self.features.scale.centre)

    def validate(self) -> None:
        """Check the features, and that there are as many coefficients."""
        features = check_part(self, "features", RidgeFeatures)
        features.validate()
        check_array(self, "coefficients", np.float64, (features.n_features, None))

    def predict(self, X: FloatArray) -> FloatArray:
        """Return values of shape (n_rows, n_targets)."""
        values = np.empty((len(X), self.coefficients.shape[1]))
        for start in range(0, len(X), ROWS_AT_A_TIME):
            rows = slice(start, start + ROWS_AT_A_TIME)
            values[rows] = self.features(X[rows]) @ self.coefficients
        return values


@dataclass(frozen=True)
class RidgeSums:
    """Asks for G, M and Σ u t² by fold, the latter for the rows of each view, and for all rows.

    Sums are whole multiples of 2^-`bits`, so that they are added exactly.
    """

    features: RidgeFeatures
    bits: int

    def __call__(self, block: FusionBlock) -> Answer:
        """Return G (n_folds, q, q), M (n_folds, q, n_targets) and squares (n_folds, n_views + 1)."""
        frame, n_features = block.frame, self.features.n_features
        products = np.zeros((frame.n_folds, n_features, n_features))
        moments = np.zeros((frame.n_folds, n_features, frame.n_targets))
        squares = np.zeros((frame.n_folds, frame.n_views + 1))
        columns = frame.used_columns
        for part in block.parts():
            # The features of a part are in the order of the folds: each fold is then one product.
            folds = block.fold_of[part]
            order = np.argsort(folds, kind="stable")
            rows = np.arange(part.start, part.stop)[order]
            features = self.features(rows_of(block.table, rows, columns))
            targets = targets_of(block.targets(part)[order])
            roots = np.sqrt(block.weights[rows])[:, None]
            features *= roots
            targets = targets * roots
            having = np.column_stack([block.present[rows], np.ones(len(rows), dtype=bool)])
            ends = np.searchsorted(folds[order], np.arange(frame.n_folds + 1))
            for fold, (start, stop) in enumerate(pairwise(ends)):
                of_fold = features[start:stop]
                products[fold] += of_fold.T @ of_fold
                moments[fold] += of_fold.T @ targets[start:stop]
                squares[fold] += (targets[start:stop] ** 2).sum(axis=1) @ having[start:stop]
        return whole_sums((products, moments, squares), self.bits)


def seconds_of_features(features: RidgeFeatures, rows: FloatArray) -> float:
    """Return the time that the features of a row, and their products, take."""
    started = time.monotonic()
    values = features(rows)
    values.T @ values
    return (time.monotonic() - started) / len(rows)


def whole_sums(sums: Sequence[FloatArray], bits: int) -> Answer:
    """Return sums as whole multiples of 2^-`bits`."""
    return tuple(np.rint(np.ldexp(of_kind, bits)).astype(np.int64) for of_kind in sums)


def sum_bits(n_rows: int) -> int:
    """Return the bits behind the point of whole sums over so many rows of weight 1."""
    largest = n_rows * LARGEST_DEVIATION**2
    return SUM_BITS - int(np.ceil(np.log2(largest)))


@dataclass(frozen=True)
class FoldSums:
    """The sums of all rows, by fold, of some of the features."""

    products: FloatArray
    moments: FloatArray
    squares: FloatArray

    def of(self, places: IntArray, view: int) -> FoldSums:
        """Return the sums of some features, over the rows that have a view (-1: all rows)."""
        return FoldSums(self.products[:, places[:, None], places], self.moments[:, places], self.squares[:, [view]])


@dataclass(frozen=True)
class RidgeFit:
    """Coefficients without each fold, those of all rows, and the out-of-fold loss as a share of that of zero."""

    of_folds: list[FloatArray]
    of_all: FloatArray
    strength: float
    loss: float


def fit_ridge(sums: FoldSums, strengths: Sequence[float]) -> RidgeFit:
    """Fit ridges without each fold and on all rows, with the strength of the least out-of-fold squared error."""
    product, moment = sums.products.sum(axis=0), sums.moments.sum(axis=0)
    best: tuple[float, float, list[FloatArray]] | None = None
    for strength in strengths:
        loss, of_folds = 0.0, []
        for products, moments, squares in zip(sums.products, sums.moments, sums.squares):
            coefficients = _solve(product - products, moment - moments, strength)
            of_folds.append(coefficients)
            loss += squares.sum() - 2 * (coefficients * moments).sum()
            loss += (coefficients * (products @ coefficients)).sum()
        if np.isfinite(loss) and (best is None or loss < best[0]):
            best = loss, strength, of_folds
    assert best is not None
    loss, strength, of_folds = best
    share = loss / max(float(sums.squares.sum()), np.finfo(float).tiny)
    return RidgeFit(of_folds, _solve(product, moment, strength), strength, share)


def _solve(product: FloatArray, moment: FloatArray, strength: float) -> FloatArray:
    """Return the coefficients of a ridge; the last feature, which is 1, is hardly penalised."""
    diagonal = np.diag(product)
    ridge = np.full(len(product), strength * diagonal[:-1].mean() if len(product) > 1 else 0.0)
    ridge[-1] = 1e-10 * diagonal[-1]
    ridge += np.finfo(float).tiny + 1e-13 * diagonal.max()
    try:
        return cho_solve(cho_factor(product + np.diag(ridge), lower=True), moment)
    except LinAlgError:  # rounding: this ridge is too weak for these features
        return np.full(moment.shape, np.nan)


def single_view_places(frame: FusionFrame, marked_views: Sequence[int]) -> list[IntArray]:
    """Return, for each view, the places of its features among the linear ones: its columns, and its mark or 1."""
    used = frame.used_columns
    n_features = len(used) + len(marked_views) + 1
    places = []
    for view, columns in enumerate(frame.columns):
        own = np.searchsorted(used, columns)
        one = len(used) + marked_views.index(view) if view in marked_views else n_features - 1
        places.append(np.append(own, one))
    return places


def draw_landmarks(features: RidgeFeatures, rows: FloatArray, width: float) -> RidgeFeatures:
    """Return features of landmarks at some rows; `width` is the factor of distances over their mean square."""
    coordinates = features.coordinates(rows)
    coordinates = np.unique(coordinates, axis=0)
    spread = 2 * coordinates.var(axis=0).sum()
    gamma = float(width / spread) if spread > np.finfo(float).tiny else 0.0
    return RidgeFeatures(features.scale, features.marked, coordinates, gamma)
