"""The class with the largest quadratic score: Gaussian naive Bayes at work on rows.

The log-posterior of a class is, up to what all classes share, s(x) = c + Σ_j x_j·(b_j + x_j·a_j).
"""

import numpy as np

from fuselearn.numeric.compiled import compiled
from fuselearn.numeric.threads import BLOCK_ROWS, SERIAL, n_blocks
from fuselearn.numeric.ties import TIE


def largest_quadratic(X, squares, slopes, column_constants, constants, *, gaps, threads=SERIAL):
    """Code of the class with the largest score in each row; ties, to rounding, go to the lowest code.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
    squares, slopes, column_constants : ndarray of shape (n_forms, n_columns)
        a, b and each column's share of the constant. One form alone is the log-odds of class 1 against
        class 0.
    constants : ndarray of shape (n_forms,)
        What remains of the constant: the log-priors.
    gaps : bool
        Whether X may hold NaN; a NaN column's whole term is then left out.
    """
    codes = np.empty(len(X), dtype=np.int32)
    if gaps:

        def work(start, stop):
            rows = slice(start * BLOCK_ROWS, stop * BLOCK_ROWS)
            _largest_with_gaps(X[rows], squares, slopes, column_constants, constants, TIE, codes[rows])

    else:
        totals = constants + column_constants.sum(axis=1)

        def work(start, stop):
            rows = slice(start * BLOCK_ROWS, stop * BLOCK_ROWS)
            _largest(X[rows], squares, slopes, totals, TIE, codes[rows])

    threads.share(n_blocks(len(X)), work)
    return codes


@compiled(reassociate=True)
def _largest(X, squares, slopes, constants, tie, codes):
    n_rows, n_columns = X.shape
    n_forms = len(constants)
    for i in range(n_rows):
        best = -np.inf if n_forms > 1 else 0.0
        code = 0
        for k in range(n_forms):
            score = 0.0
            for j in range(n_columns):
                x = X[i, j]
                score += x * (slopes[k, j] + x * squares[k, j])
            score += constants[k]
            if score > best + tie:
                best = score
                code = k if n_forms > 1 else 1
        codes[i] = code


@compiled(reassociate=True)
def _largest_with_gaps(X, squares, slopes, column_constants, constants, tie, codes):
    n_rows, n_columns = X.shape
    n_forms = len(constants)
    for i in range(n_rows):
        best = -np.inf if n_forms > 1 else 0.0
        code = 0
        for k in range(n_forms):
            score = 0.0
            for j in range(n_columns):
                x = X[i, j]
                if x == x:
                    score += x * (slopes[k, j] + x * squares[k, j]) + column_constants[k, j]
            score += constants[k]
            if score > best + tie:
                best = score
                code = k if n_forms > 1 else 1
        codes[i] = code
