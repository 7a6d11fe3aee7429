"""Weighted cross products of rows and targets: all that least squares asks of the rows.

Plain loops rather than BLAS, whose sums depend on how many threads it happens to have.

Solve a symmetric, positive semi-definite system, by the solution of least norm.

Plain loops rather than LAPACK, whose last bits depend on how many threads it happens to have.
"""

import numpy as np

from fuselearn.numeric.execution import BLOCK_ROWS, SERIAL, compiled, n_blocks


def cross_products(values, n_columns, codes, weights, target_classes, *, threads=SERIAL):
    """Σ w·z·[z, t]ᵀ over the rows, with z a row behind a 1 and t its targets.

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

    def work(start, stop):
        _add_products(values, n_columns, codes, weights, target_classes, BLOCK_ROWS, group_blocks, start, stop, partial)

    threads.share(n_groups, work)
    products = partial.sum(axis=0)
    square = products[:, : 1 + n_columns]
    lower = np.tril_indices(1 + n_columns, -1)
    square[lower] = square.T[lower]
    return products


@compiled(reassociate=True)
def _add_products(
    values, n_columns, codes, weights, target_classes, block_rows, group_blocks, first_group, last_group, partial
):
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


def solve_least_norm(matrix, right_sides, tolerance):
    """x of least norm with matrix·x = right side, in the directions that the matrix spans.

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
def _pivoted_cholesky(matrix, tolerance):
    n = len(matrix)
    order = np.arange(n)
    factor = np.zeros((n, n))
    diagonal = np.empty(n)
    for i in range(n):
        diagonal[i] = matrix[i, i]
    least = tolerance * diagonal.max() if n > 0 else 0.0
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
def _solve_with_factor(factor, right_sides):
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
def _product(left, right):
    # leftᵀ·right
    n, a = left.shape
    m = right.shape[1]
    product = np.zeros((a, m))
    for i in range(n):
        for j in range(a):
            for c in range(m):
                product[j, c] += left[i, j] * right[i, c]
    return product
