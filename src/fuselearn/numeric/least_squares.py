"""Weighted least squares: cross products, systems of equations, and ridges of all strengths at once.

The first half is the linear weak learner's, in plain loops rather than BLAS and LAPACK, whose last bits depend on how
many threads they happen to have. The second half, `SpectralRidge`, is the kernel machines', with exact leave-one-out
values. For weights w (sum W), targets t with weighted mean t̄ and features centred at their weighted mean, let
U diag(s) Uᵀ be the spectrum of √w K √w. Then with the ridge λ, which leaves the intercept alone,

    fitted  f = t̄ + (1/√w) U diag(s / (s + λ)) Uᵀ √w (t − t̄)
    leverage h_i = Σ_j U_ij² s_j / (s_j + λ) + w_i / W
    leave-one-out value  t_i − (t_i − f_i) / (1 − h_i)

so one spectrum serves all ridges and all targets. Rows that are left out together, a group G, have the same with a
matrix for the leverage: √w (t − value) = (I − H_GG)⁻¹ √w (t − f), where H = U diag(s / (s + λ)) Uᵀ + √w √wᵀ / W.
"""

from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import eigh

from fuselearn.numeric.execution import BLOCK_ROWS, compiled, n_blocks
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.typing import FloatArray, IntArray

RIDGES = 2.0 ** np.arange(-8, 9)
"""In units of the mean eigenvalue."""
LEAST_REMAINDER = 1e-6
"""Least 1 − h that is divided by."""
NEGLIGIBLE = 1e-10
"""Eigenvalues below this share of what there was before centring are rounding."""
MOST_TARGETS = 64
"""Targets that all ridges are fitted to. The losses of more are those of as many random combinations, which keep
distances (Johnson and Lindenstrauss), and only ridges that count are fitted to the targets themselves."""
NEGLIGIBLE_SHARE = 1e-9
"""Share of a ridge in an average below which it does not count."""
ALL_RIDGES = slice(None)


def cross_products(
    values: FloatArray,
    n_columns: int,
    codes: IntArray,
    weights: FloatArray,
    target_classes: IntArray,
    *,
    threads: Threads = SERIAL,
) -> FloatArray:
    """Return Σ w·z·[z, t]ᵀ over the rows, with z a row behind a 1 and t its targets.

    Parameters
    ----------
    values : ndarray of shape (n_rows * n_columns,)
        Rows in blocks of `BLOCK_ROWS`, and within a block column after column. A NaN counts as 0.
    n_columns : int
    codes : int32 ndarray of shape (n_rows,)
    weights : ndarray of shape (n_rows,)
    target_classes : int32 ndarray of shape (n_targets,)
        Target j of a row is +1 if its class is `target_classes[j]`, else -1.

    Returns
    -------
    ndarray of shape (1 + n_columns, 1 + n_columns + n_targets)
    """
    width = 1 + n_columns + len(target_classes)
    # A partial sum is as large as `width` rows squared: with many columns several blocks share one.
    group_blocks = max(1, 4 * width // BLOCK_ROWS)
    n_groups = -(-n_blocks(len(codes)) // group_blocks)
    partial = np.zeros((n_groups, 1 + n_columns, width))

    def work(start: int, stop: int) -> None:
        _add_products(values, n_columns, codes, weights, target_classes, BLOCK_ROWS, group_blocks, start, stop, partial)

    threads.share(n_groups, work)
    products = partial.sum(axis=0)
    square = products[:, : 1 + n_columns]
    lower = np.tril_indices(1 + n_columns, -1)
    square[lower] = square.T[lower]
    return products


@compiled(reassociate=True)
def _add_products(
    values: FloatArray,
    n_columns: int,
    codes: IntArray,
    weights: FloatArray,
    target_classes: IntArray,
    block_rows: int,
    group_blocks: int,
    first_group: int,
    last_group: int,
    partial: FloatArray,
) -> None:
    n_rows = len(codes)
    n_targets = len(target_classes)
    part_rows = 128  # so few rows of all columns stay in the cache while every pair of columns passes by
    z = np.ones((1 + n_columns + n_targets, part_rows))
    weighted = np.empty(part_rows)
    for group in range(first_group, last_group):
        sums = partial[group]
        group_stop = min(n_rows, (group + 1) * group_blocks * block_rows)
        for start in range(group * group_blocks * block_rows, group_stop, block_rows):
            m = min(block_rows, n_rows - start)
            for part in range(0, m, part_rows):
                n_part = min(part_rows, m - part)
                first_row = start + part
                for j in range(n_columns):
                    offset = start * n_columns + j * m + part
                    for i in range(n_part):
                        x = values[offset + i]
                        z[1 + j, i] = x if x == x else 0.0
                for t in range(n_targets):
                    for i in range(n_part):
                        z[1 + n_columns + t, i] = 1.0 if codes[first_row + i] == target_classes[t] else -1.0
                for a in range(1 + n_columns):
                    for i in range(n_part):
                        weighted[i] = weights[first_row + i] * z[a, i]
                    for b in range(a, len(z)):
                        other = z[b]
                        total = 0.0
                        for i in range(n_part):
                            total += weighted[i] * other[i]
                        sums[a, b] += total


def solve_least_norm(matrix: FloatArray, right_sides: FloatArray, tolerance: float) -> FloatArray:
    """Return x of least norm with matrix·x = right side, in the directions that the matrix spans.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Symmetric and positive semi-definite.
    right_sides : ndarray of shape (n, m)
    tolerance : float
        A pivot of at most this part of the largest diagonal entry ends the factorisation.

    Returns
    -------
    ndarray of shape (n, m)

    Notes
    -----
    Cholesky with pivots gives matrix = L·Lᵀ with L of shape (n, rank). The pseudo-inverse is then
    L·(LᵀL)⁻²·Lᵀ, and for full rank L⁻ᵀ·L⁻¹.
    """
    factor, order, rank = _pivoted_cholesky(np.array(matrix), tolerance)
    right_sides = right_sides[order]
    solution = np.zeros_like(right_sides)
    if rank == len(matrix):
        solution = _solve_with_factor(factor, right_sides)
    elif rank > 0:
        tall = np.ascontiguousarray(factor[:, :rank])
        gram, gram_order, _ = _pivoted_cholesky(_product(tall, tall), 0.0)
        inner = _product(tall, right_sides)[gram_order]
        inner = _solve_with_factor(gram, _solve_with_factor(gram, inner))
        restored = np.empty_like(inner)
        restored[gram_order] = inner
        solution = _product(np.ascontiguousarray(tall.T), restored)
    result = np.empty_like(solution)
    result[order] = solution
    return result


@compiled()
def _pivoted_cholesky(matrix: FloatArray, tolerance: float) -> tuple[FloatArray, IntArray, int]:
    n = len(matrix)
    order = np.arange(n)
    factor = np.zeros((n, n))
    diagonal = np.empty(n)
    largest = 0.0  # no element of the diagonal of a Gram matrix is less
    for i in range(n):
        diagonal[i] = matrix[i, i]
        largest = max(largest, diagonal[i])
    least = tolerance * largest
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if diagonal[i] > diagonal[pivot]:
                pivot = i
        if diagonal[pivot] <= least or diagonal[pivot] <= 0.0:
            return factor, order, k
        if pivot != k:
            order[k], order[pivot] = order[pivot], order[k]
            diagonal[k], diagonal[pivot] = diagonal[pivot], diagonal[k]
            for j in range(k):
                factor[k, j], factor[pivot, j] = factor[pivot, j], factor[k, j]
        factor[k, k] = np.sqrt(diagonal[k])
        for i in range(k + 1, n):
            rest = matrix[order[i], order[k]]
            for j in range(k):
                rest -= factor[i, j] * factor[k, j]
            factor[i, k] = rest / factor[k, k]
            diagonal[i] -= factor[i, k] * factor[i, k]
    return factor, order, n


@compiled()
def _solve_with_factor(factor: FloatArray, right_sides: FloatArray) -> FloatArray:
    n, m = right_sides.shape
    x = right_sides.copy()
    for c in range(m):
        for i in range(n):
            for j in range(i):
                x[i, c] -= factor[i, j] * x[j, c]
            x[i, c] /= factor[i, i]
        for i in range(n - 1, -1, -1):
            for j in range(i + 1, n):
                x[i, c] -= factor[j, i] * x[j, c]
            x[i, c] /= factor[i, i]
    return x


@compiled()
def _product(left: FloatArray, right: FloatArray) -> FloatArray:
    # leftᵀ·right
    n, a = left.shape
    m = right.shape[1]
    product = np.zeros((a, m))
    for i in range(n):
        for j in range(a):
            for c in range(m):
                product[j, c] += left[i, j] * right[i, c]
    return product


class RidgeFits(NamedTuple):
    """Least squares fits with every ridge.

    Attributes
    ----------
    errors : ndarray of shape (n_rows, n_targets, n_ridges) or None
        Targets − leave-one-out values (with groups, leave-group-out values); None above `MOST_TARGETS`.
    losses : ndarray of shape (n_ridges,)
        Weighted sums of their squares.
    projected : ndarray of shape (n_eigenvalues, n_targets)
        The targets by eigenvector.
    mean : ndarray of shape (n_targets,)
        Weighted mean of the targets.
    centred : ndarray of shape (n_rows, n_targets)
        The targets about it.
    groups : intp ndarray of shape (n_rows,) or None
        As they were given.
    """

    errors: FloatArray | None
    losses: FloatArray
    projected: FloatArray
    mean: FloatArray
    centred: FloatArray
    groups: IntArray | None


class SpectralRidge:
    """The spectrum of a kernel, and the least squares fits that follow from it.

    Make one with :meth:`of_kernel` or :meth:`of_features`.

    Examples
    --------
    >>> rows = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> ridge = SpectralRidge.of_features(rows, np.ones(4))
    >>> fits = ridge.fit(2 * rows)
    >>> weakest = np.eye(len(RIDGES))[0]
    >>> coefficients, offsets = ridge.feature_coefficients(ridge.dual(fits, weakest), fits.mean)
    >>> (np.array([[4.0]]) @ coefficients + offsets).round(1)
    array([[8.]])
    """

    _means: FloatArray
    _share: FloatArray
    _axes: FloatArray
    _centre: FloatArray

    def __init__(self, eigenvalues: FloatArray, vectors: FloatArray, weights: FloatArray) -> None:
        self._eigenvalues, self._vectors, self._weights = eigenvalues, vectors, weights
        self._roots = np.sqrt(weights)[:, None]
        self._ridges = RIDGES * max(eigenvalues.sum() / len(weights), np.finfo(float).tiny)
        self._shrinking = eigenvalues[:, None] / (eigenvalues[:, None] + self._ridges)
        leverage = vectors**2 @ self._shrinking + (weights / weights.sum())[:, None]
        self._remainder = np.maximum(1 - leverage, LEAST_REMAINDER)

    @classmethod
    def of_kernel(cls, kernel: FloatArray, weights: FloatArray) -> Self:
        """Return the ridge of a kernel matrix of shape (n_rows, n_rows), which is overwritten."""
        share = weights / weights.sum()
        rounding = NEGLIGIBLE * (weights @ np.abs(np.diagonal(kernel)))
        means = kernel @ share
        kernel -= means[:, None]
        kernel -= means - share @ means
        roots = np.sqrt(weights)
        kernel *= roots[:, None]
        kernel *= roots
        eigenvalues, vectors = eigh(kernel, overwrite_a=True, check_finite=False, driver="evd")
        kept = eigenvalues > rounding
        made = cls(eigenvalues[kept], vectors[:, kept], weights)
        made._means, made._share = means, share
        return made

    @classmethod
    def of_features(cls, features: FloatArray, weights: FloatArray) -> Self:
        """Return the ridge of features of shape (n_rows, n_features), fewer than rows."""
        share = weights / weights.sum()
        centre = share @ features
        scaled = (features - centre) * np.sqrt(weights)[:, None]
        eigenvalues, axes = eigh(scaled.T @ scaled, overwrite_a=True, check_finite=False, driver="evd")
        # Features may be far from 0: what is left about their mean can be all rounding.
        kept = eigenvalues > NEGLIGIBLE * (weights @ (features**2).sum(axis=1))
        eigenvalues, axes = eigenvalues[kept], axes[:, kept]
        made = cls(eigenvalues, scaled @ (axes / np.sqrt(eigenvalues)), weights)
        made._axes, made._centre = axes, centre
        return made

    def fit(self, targets: FloatArray, groups: IntArray | None = None) -> RidgeFits:
        """Fit all ridges.

        Parameters
        ----------
        targets : ndarray of shape (n_rows, n_targets)
        groups : intp ndarray of shape (n_rows,) or None
            Rows of the same number are left out together; None leaves each out alone.

        Returns
        -------
        RidgeFits
        """
        n_targets = targets.shape[1]
        mean = self._weights @ targets / self._weights.sum()
        centred = targets - mean
        projected = self._vectors.T @ (self._roots * centred)
        if n_targets <= MOST_TARGETS:
            kept = errors = self._errors(centred, projected, groups, ALL_RIDGES)
        else:
            mixing = np.random.default_rng(n_targets).standard_normal((n_targets, MOST_TARGETS)) / np.sqrt(MOST_TARGETS)
            kept, errors = None, self._errors(centred @ mixing, projected @ mixing, groups, ALL_RIDGES)
        losses = np.einsum("i,ikr,ikr->r", self._weights, errors, errors)
        return RidgeFits(kept, losses, projected, mean, centred, groups)

    def mean_errors(self, fits: RidgeFits, shares: FloatArray) -> FloatArray:
        """Return the average of the errors with these shares, of shape (n_rows, n_targets)."""
        if fits.errors is not None:
            return fits.errors @ shares
        total = np.zeros(fits.centred.shape)
        for ridge in np.flatnonzero(shares > NEGLIGIBLE_SHARE).tolist():
            errors = self._errors(fits.centred, fits.projected, fits.groups, slice(ridge, ridge + 1))
            total += shares[ridge] * errors[:, :, 0]
        return total

    def _errors(self, centred: FloatArray, projected: FloatArray, groups: IntArray | None, ridges: slice) -> FloatArray:
        """Return targets − out-of-fold values with some of the ridges, of shape (n_rows, n_targets, n_ridges)."""
        n_rows, n_targets = centred.shape
        shrinking, remainder = self._shrinking[:, ridges], self._remainder[:, ridges]
        n_ridges = remainder.shape[1]
        shrunk = shrinking[:, None, :] * projected[:, :, None]
        shrunk = shrunk.reshape(len(projected), n_targets * n_ridges)
        fitted = (self._vectors @ shrunk).reshape(n_rows, n_targets, n_ridges) / self._roots[:, :, None]
        errors = centred[:, :, None] - fitted
        if groups is None:
            errors /= remainder[:, None, :]
        else:
            for rows in members(groups):
                errors[rows] = self._without(rows, errors[rows], ridges)
        return errors

    def _without(self, rows: IntArray, residuals: FloatArray, ridges: slice) -> FloatArray:
        """Return errors of some rows by the fits without all of them, from their residuals."""
        if len(rows) == 1:
            return residuals / self._remainder[rows, ridges][:, None, :]
        # H_GG = B diag(c) Bᵀ for each ridge, the intercept being one more direction.
        roots = self._roots[rows]
        basis = np.hstack([self._vectors[rows], roots / np.sqrt(self._weights.sum())])
        shrinking = np.vstack([self._shrinking[:, ridges], np.ones(residuals.shape[2])]).T[:, :, None]
        scaled = np.moveaxis(residuals * roots[:, :, None], 2, 0)
        if len(rows) <= basis.shape[1]:
            errors = _divided_by_remainder(basis @ (shrinking * basis.T), scaled)
        else:  # (I − AAᵀ)⁻¹ = I + A (I − AᵀA)⁻¹ Aᵀ, whichever is smaller
            half = np.sqrt(shrinking)
            inner = half * (basis.T @ basis) * half.transpose(0, 2, 1)
            errors = scaled + basis @ (half * _divided_by_remainder(inner, half * (basis.T @ scaled)))
        return np.moveaxis(errors, 0, 2) / roots[:, :, None]

    def dual(self, fits: RidgeFits, shares: FloatArray) -> FloatArray:
        """Return the average of the fits with these shares, for the next two methods."""
        return ((1 / (self._eigenvalues[:, None] + self._ridges)) @ shares)[:, None] * fits.projected

    def kernel_coefficients(self, dual: FloatArray, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (coefficients, offsets) such that kernel(rows, training rows) @ coefficients + offsets predicts."""
        coefficients = self._roots * (self._vectors @ dual)
        totals = coefficients.sum(axis=0)
        grand = self._share @ self._means
        offsets = mean - self._means @ coefficients + grand * totals
        return coefficients - np.outer(self._share, totals), offsets

    def feature_coefficients(self, dual: FloatArray, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (coefficients, offsets) such that features(rows) @ coefficients + offsets predicts."""
        coefficients = self._axes @ (np.sqrt(self._eigenvalues)[:, None] * dual)
        return coefficients, mean - self._centre @ coefficients


def members(groups: IntArray) -> list[IntArray]:
    """Return the rows of each group.

    Examples
    --------
    >>> members(np.array([0, 1, 0]))
    [array([0, 2]), array([1])]
    """
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)


def _divided_by_remainder(leverages: FloatArray, values: FloatArray) -> FloatArray:
    """Return (I − H)⁻¹ values, for a stack of symmetric H whose eigenvalues are at most 1."""
    remainder = np.eye(leverages.shape[1]) - leverages
    try:
        np.linalg.cholesky(remainder - LEAST_REMAINDER * np.eye(len(remainder[0])))
        return np.linalg.solve(remainder, values)
    except np.linalg.LinAlgError:  # less than the least: the slow way, which can tell where
        pass
    eigenvalues, axes = np.linalg.eigh(leverages)
    least = np.maximum(1 - eigenvalues, LEAST_REMAINDER)
    return axes @ ((axes.transpose(0, 2, 1) @ values) / least[:, :, None])
