"""Solve a symmetric, positive semi-definite system, by the solution of least norm.

Plain loops rather than LAPACK, whose last bits depend on how many threads it happens to have.
"""

import numpy as np

from fuselearn.numeric.compiled import compiled


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
