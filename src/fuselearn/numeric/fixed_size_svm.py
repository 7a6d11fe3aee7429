"""A least squares support vector machine that is spanned by some of its rows.

With the kernel values K between rows and vectors, G those between the vectors, and u_i the weight of a row's error, it
is the minimum over coefficients c and an intercept b of

    ½ cᵀGc + ½ Σ u_i·(y_i - (Kc)_i - b)².

That is Suykens' least squares support vector machine, of fixed size: all rows are fitted, few are kept. Its solution is
one system of as many equations as vectors, so that it is found faster than the optimum of a hinge loss, and most of
all it is evaluated faster. Rudi, Camoriano and Rosasco ("Less is More: Nyström Computational Regularization", NeurIPS
2015) show that about √n·ln n of n rows lose nothing in the rate of convergence.
"""

from math import ceil, log, sqrt

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from fuselearn.numeric.rbf import rbf_kernel
from fuselearn.typing import FloatArray, IntArray

MOST_VECTORS = 1_000
"""Vectors of a machine of any number of rows: the system grows with their square."""
ROWS_AT_A_TIME = 4_096
"""Rows whose kernel values are in memory together."""
RIDGE = 1e-8
"""Part of the mean of the diagonal that is added to it: rows that are equal under the kernel make it singular."""
NOTHING = 1e-7
"""Sum of coefficients and intercept of a machine that has nothing to say: values are up to 1, and this is rounding."""


def number_of_vectors(n_rows: int) -> int:
    """Return √n·ln n, rounded up, at most 1,000 and n."""
    return min(n_rows, MOST_VECTORS, ceil(sqrt(n_rows) * log(max(n_rows, 2))))


def choose_vectors(signs: FloatArray, n_vectors: int) -> IntArray:
    """Return the numbers of rows, drawn within each sign; half of either sign where there are so many.

    The draw is the same for as many rows, and has nothing to do with their order, in which classes may take turns.
    """
    positives, negatives = np.flatnonzero(signs > 0), np.flatnonzero(signs < 0)
    half = n_vectors // 2
    n_positives = max(min(len(positives), half), n_vectors - len(negatives))
    generator = np.random.default_rng(len(signs))
    counts = (positives, n_positives), (negatives, n_vectors - n_positives)
    return np.sort(np.concatenate([generator.choice(rows, n, replace=False, shuffle=False) for rows, n in counts]))


def solve_fixed_size(
    rows: FloatArray, signs: FloatArray, upper: FloatArray, vectors: FloatArray, gamma: float
) -> tuple[FloatArray, float]:
    """Solve for the coefficients of the vectors, and the intercept.

    Parameters
    ----------
    rows : float64 ndarray of shape (n_rows, n_columns)
        Centred.
    signs : ndarray of shape (n_rows,)
        +1 or -1.
    upper : ndarray of shape (n_rows,)
        Weight of each row's squared error: C, or C times the weight of the row.
    vectors : float64 ndarray of shape (n_vectors, n_columns)
        Centred like the rows.
    gamma : float
        γ of the kernel.

    Returns
    -------
    coefficients : ndarray of shape (n_vectors,)
    intercept : float
    """
    n_vectors = len(vectors)
    left, right = np.zeros((n_vectors + 1, n_vectors + 1)), np.zeros(n_vectors + 1)
    left[:n_vectors, :n_vectors] = rbf_kernel(vectors, vectors, gamma)
    for start in range(0, len(rows), ROWS_AT_A_TIME):
        here = slice(start, start + ROWS_AT_A_TIME)
        values = np.ones((len(rows[here]), n_vectors + 1))
        values[:, :n_vectors] = rbf_kernel(rows[here], vectors, gamma)
        values *= np.sqrt(upper[here])[:, None]
        left += values.T @ values
        right += values.T @ (np.sqrt(upper[here]) * signs[here])
    left[np.diag_indices(n_vectors + 1)] += RIDGE * left.diagonal().mean()
    solution = cho_solve(cho_factor(left, lower=True, overwrite_a=True, check_finite=False), right, check_finite=False)
    if np.abs(solution).sum() < NOTHING:
        solution[:] = 0.0
    return solution[:n_vectors], float(solution[n_vectors])
