"""Sums over rows on a GPU by fold: of columns, of features of a ridge, and derivatives of the log loss.

Rows stand in the order of their folds, so that those of a fold are next to each other. Sums are products of matrices in
double precision, of some rows at a time; what is as long as the rows stays there. What is summed is described with the
host's counterparts, in `fuselearn.fusion.base_models.ridge_features` and `fuselearn.fusion.log_loss_weights`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fuselearn.backends.gpu.arrays import Arrays, GpuArray
from fuselearn.backends.gpu.gpu_table import GpuTable
from fuselearn.typing import AnyArray, FloatArray, IntArray

VALUES_AT_A_TIME = 2**25
"""Numbers that are made of the rows in one step."""


class FoldedRows:
    """Rows on a GPU in the order of their folds.

    Parameters
    ----------
    table : GpuTable
        The table, in its own order.
    fold_of : integer ndarray of shape (n_rows,)
        Fold of each row.
    n_folds : int
        Number of folds.
    weights : ndarray of shape (n_rows,)
        Weights of the rows.

    Attributes
    ----------
    order : intp ndarray of shape (n_rows,)
        Number in the table of each row.
    ends : intp ndarray of shape (n_folds + 1,)
        First row of each fold, and the number of rows.
    numbers, weights : array of shape (n_rows,)
        The order, and the weights in it, on the GPU.
    """

    def __init__(self, table: GpuTable, fold_of: IntArray, n_folds: int, weights: FloatArray) -> None:
        self.table, self.arrays = table, table.arrays
        self.order = np.argsort(fold_of, kind="stable")
        self.ends = np.searchsorted(fold_of[self.order], np.arange(n_folds + 1))
        self.numbers = self.arrays.from_host(self.order.astype(np.int64))
        self.weights = self.upload(weights)

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self.ends) - 1

    def upload(self, values: AnyArray) -> GpuArray:
        """Return values of the rows, given in the order of the table, on the GPU."""
        return self.arrays.from_host(np.ascontiguousarray(values[self.order]))

    def download(self, values: GpuArray) -> AnyArray:
        """Return values of the rows on the host, in the order of the table."""
        with self.arrays.current():
            ordered = np.asarray(self.arrays.to_host(values))
        restored = np.empty_like(ordered)
        restored[self.order] = ordered
        return restored

    def parts(self, fold: int, n_values: int) -> Iterator[slice]:
        """Yield the rows of a fold, so many at a time that `n_values` numbers of each are no more than a step makes."""
        step = max(1, VALUES_AT_A_TIME // max(1, n_values))
        for start in range(int(self.ends[fold]), int(self.ends[fold + 1]), step):
            yield slice(start, min(start + step, int(self.ends[fold + 1])))

    def cells(self, rows: slice, columns: IntArray) -> GpuArray:
        """Return some columns of some rows, in double precision."""
        return self.arrays.to_double(self.table.columns(columns, self.numbers[rows]))


class GpuFeatures:
    """Features of rows: standardised columns and marks of views, or kernel values of landmarks, and 1.

    Parameters
    ----------
    arrays : Arrays
        Operations on the arrays.
    scale : tuple of ndarray of shape (n_columns,)
        Centre, divisor and size of the columns.
    largest : float
        Where scaled values are cut off.
    marked : list of intp ndarray
        Places of the columns of each view whose presence is a feature.
    landmarks : ndarray of shape (n_landmarks, n_columns + n_marked)
        None of them: the features are columns and marks themselves.
    gamma : float
        Factor of squared distances.
    """

    def __init__(
        self,
        arrays: Arrays,
        scale: tuple[FloatArray, FloatArray, FloatArray],
        largest: float,
        marked: Sequence[IntArray],
        landmarks: FloatArray,
        gamma: float,
    ) -> None:
        self._arrays, self._largest, self._marked, self._gamma = arrays, largest, marked, gamma
        self._centre, self._divisor, self._size = (arrays.from_host(part)[None, :] for part in scale)
        self._n_landmarks = len(landmarks)
        self._factors = arrays.from_host(np.ascontiguousarray(-2 * landmarks.T))
        self._squares = arrays.from_host((landmarks**2).sum(axis=1))[None, :]
        self.n_features = (len(landmarks) or len(scale[0]) + len(marked)) + 1
        self.n_values = self.n_features + 3 * (len(scale[0]) + len(marked))

    def __call__(self, X: GpuArray) -> GpuArray:
        """Return features of rows, of shape (n_rows, n_features)."""
        arrays = self._arrays
        missing = arrays.isnan(X)
        scaled = (X - self._centre) / self._divisor
        scaled = -arrays.at_least(-arrays.at_least(scaled, -self._largest), -self._largest)
        scaled = arrays.where(missing, arrays.xp.zeros_like(scaled), scaled) / self._size
        if self._marked:
            marks = [arrays.take(missing, arrays.from_host(columns), axis=1) for columns in self._marked]
            present = [arrays.to_double(~arrays.all(mark, axis=1))[:, None] for mark in marks]
            scaled = arrays.concatenate([scaled, *present], axis=1)
        if self._n_landmarks:
            squares = arrays.matmul(scaled, self._factors) + arrays.sum(scaled * scaled, axis=1)[:, None]
            scaled = arrays.xp.exp(arrays.at_least(squares + self._squares, 0.0) * -self._gamma)
        return arrays.concatenate([scaled, arrays.full((X.shape[0], 1), 1.0)], axis=1)


def column_moments(rows: FoldedRows, columns: IntArray, largest: float, centre: FloatArray | None) -> FloatArray:
    """Return weight, sum, and sum of squares about a centre, of the values of each column, of shape (3, n_columns)."""
    arrays, sums = rows.arrays, np.zeros((3, len(columns)))
    with arrays.current():
        about = None if centre is None else arrays.from_host(centre)[None, :]
        for fold in range(rows.n_folds):
            for part in rows.parts(fold, 4 * len(columns)):
                X, weights = rows.cells(part, columns), rows.weights[part]
                missing = arrays.isnan(X)
                zeros = arrays.xp.zeros_like(X)
                X = -arrays.at_least(-arrays.at_least(arrays.where(missing, zeros, X), -largest), -largest)
                sums[0] += arrays.to_host(arrays.matmul(weights, arrays.to_double(~missing)))
                sums[1] += arrays.to_host(arrays.matmul(weights, X))
                if about is not None:
                    away = arrays.where(missing, zeros, X - about)
                    sums[2] += arrays.to_host(arrays.matmul(weights, away * away))
    return sums


def ridge_sums(
    rows: FoldedRows, features: GpuFeatures, columns: IntArray, targets: GpuArray, having: GpuArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return Σ u φ φᵀ, Σ u φ tᵀ and Σ u t² by fold, the latter for each column of `having`."""
    arrays, n_folds, n_features = rows.arrays, rows.n_folds, features.n_features
    products = np.zeros((n_folds, n_features, n_features))
    moments = np.zeros((n_folds, n_features, targets.shape[1]))
    squares = np.zeros((n_folds, having.shape[1]))
    with arrays.current():
        for fold in range(n_folds):
            for part in rows.parts(fold, features.n_values + len(columns)):
                roots = arrays.xp.sqrt(rows.weights[part])[:, None]
                of_rows = features(rows.cells(part, columns)) * roots
                wanted = targets[part, :] * roots
                turned = arrays.transpose(of_rows)
                products[fold] += arrays.to_host(arrays.matmul(turned, of_rows))
                moments[fold] += arrays.to_host(arrays.matmul(turned, wanted))
                squares[fold] += arrays.to_host(arrays.matmul(arrays.sum(wanted * wanted, axis=1), having[part, :]))
    return products, moments, squares


@dataclass(frozen=True)
class LossTerms:
    """Rows as the log loss takes them, some or all.

    Attributes
    ----------
    arrays : Arrays
        Operations on the arrays.
    values : list of array of shape (n_rows, n_targets)
        Values of each arm.
    targets : array of shape (n_rows, n_classes)
        Class probabilities that the loss is of.
    weights : array of shape (n_rows,)
        Weights of the rows.
    """

    arrays: Arrays
    values: Sequence[GpuArray]
    targets: GpuArray
    weights: GpuArray

    def part(self, rows: slice) -> LossTerms:
        """Return consecutive rows."""
        values = [of_arm[rows, :] for of_arm in self.values]
        return LossTerms(self.arrays, values, self.targets[rows, :], self.weights[rows])

    def some(self, numbers: GpuArray) -> LossTerms:
        """Return rows by their numbers."""
        arrays = self.arrays
        values = [arrays.take(of_arm, numbers) for of_arm in self.values]
        return LossTerms(arrays, values, arrays.take(self.targets, numbers), arrays.take(self.weights, numbers))

    def derivatives(
        self, weights: FloatArray, intercepts: FloatArray, most_dense: int
    ) -> tuple[float, FloatArray, FloatArray]:
        """Return the loss, its gradient and its curvature by weights of arms and intercepts.

        With more than `most_dense` classes, the curvature of the intercepts is bounded by its diagonal.
        """
        arrays, n_rows = self.arrays, self.weights.shape[0]
        flat = [arrays.xp.reshape(of_arm, (1, n_rows * of_arm.shape[1])) for of_arm in self.values]
        if len(intercepts) == 1:
            features = arrays.concatenate([*flat, arrays.full((1, n_rows), 1.0)])
            return self._of_two_classes(features, arrays.from_host(np.concatenate([weights, intercepts])))
        return self._of_classes(arrays.concatenate(flat), weights, intercepts, most_dense)

    def _of_two_classes(self, features: GpuArray, point: GpuArray) -> tuple[float, FloatArray, FloatArray]:
        """Return the derivatives where there is one score, the log-odds; the last feature is 1."""
        arrays, xp, u, t = self.arrays, self.arrays.xp, self.weights, self.targets[:, 1]
        z = arrays.matmul(point, features)
        e = xp.exp(-xp.abs(z))
        p = arrays.where(z >= 0, 1.0 / (1.0 + e), e / (1.0 + e))
        loss = arrays.sum(u * (arrays.softplus(-z) - t * z))
        gradient = arrays.matmul(features, u * (p - t))
        curvature = arrays.matmul(features * (u * p * (1.0 - p))[None, :], arrays.transpose(features))
        return float(loss), np.asarray(arrays.to_host(gradient)), np.asarray(arrays.to_host(curvature))

    def _of_classes(
        self, flat: GpuArray, weights: FloatArray, intercepts: FloatArray, most_dense: int
    ) -> tuple[float, FloatArray, FloatArray]:
        """Return the derivatives where there is a score for each class."""
        arrays, xp, u, targets = self.arrays, self.arrays.xp, self.weights, self.targets
        n_arms, n_rows, n_classes = len(weights), int(u.shape[0]), len(intercepts)
        scores = xp.reshape(arrays.matmul(arrays.from_host(weights), flat), (n_rows, n_classes))
        scores = scores + arrays.from_host(intercepts)[None, :]
        scores = scores - arrays.largest(scores, axis=1)[:, None]
        logs = scores - xp.log(arrays.sum(xp.exp(scores), axis=1))[:, None]
        p = xp.exp(logs)
        errors, weighted = u[:, None] * (p - targets), u[:, None] * p
        values = xp.reshape(flat, (n_arms, n_rows, n_classes))
        centred = values - arrays.sum(values * p[None, :, :], axis=2)[:, :, None]
        by_class = centred * weighted[None, :, :]
        both = (xp.reshape(part, (n_arms, n_rows * n_classes)) for part in (by_class, centred))
        gradient, curvature = np.empty(n_arms + n_classes), np.empty((n_arms + n_classes,) * 2)
        gradient[:n_arms] = arrays.to_host(arrays.matmul(flat, xp.reshape(errors, (n_rows * n_classes,))))
        gradient[n_arms:] = arrays.to_host(arrays.sum(errors, axis=0))
        curvature[:n_arms, :n_arms] = arrays.to_host(arrays.matmul(next(both), arrays.transpose(next(both))))
        crossed = np.asarray(arrays.to_host(arrays.sum(by_class, axis=1)))
        curvature[:n_arms, n_arms:], curvature[n_arms:, :n_arms] = crossed, crossed.T
        curvature[n_arms:, n_arms:] = np.diag(arrays.to_host(arrays.sum(weighted, axis=0)))
        if n_classes <= most_dense:
            curvature[n_arms:, n_arms:] -= arrays.to_host(arrays.matmul(arrays.transpose(weighted), p))
        loss = -float(arrays.sum(u * arrays.sum(targets * logs, axis=1)))
        return loss, gradient, curvature
