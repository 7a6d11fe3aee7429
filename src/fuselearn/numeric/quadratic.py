"""The class with the largest quadratic score: Gaussian naive Bayes, and linear classifiers, at work on rows.

The score of a class is s(x) = c + Σ_j x_j·(b_j + x_j·a_j): for naive Bayes its log-posterior, up to what all classes
share.
"""

import numpy as np

from fuselearn.numeric.compiled import compiled
from fuselearn.numeric.threads import BLOCK_ROWS, SERIAL, n_blocks
from fuselearn.numeric.ties import TIE


def largest_quadratic(values, n_rows, squares, slopes, column_constants, constants, *, gaps, threads=SERIAL):
    """Code of the class with the largest score in each row; ties, to rounding, go to the lowest code.

    Parameters
    ----------
    values : ndarray of shape (n_rows * n_columns,)
        Rows in blocks of `BLOCK_ROWS`, and within a block column after column.
    n_rows : int
    squares, slopes, column_constants : ndarray of shape (n_forms, n_columns)
        a, b and each column's share of the constant. One form alone is the score of class 1 against class 0.
    constants : ndarray of shape (n_forms,)
        What remains of the constant, such as the log-priors.
    gaps : bool
        Whether some value may be NaN; its column's whole term is then left out.
    """
    codes = np.empty(n_rows, dtype=np.int32)

    def work(start, stop):
        _largest(values, squares, slopes, column_constants, constants, gaps, TIE, BLOCK_ROWS, start, stop, codes)

    threads.share(n_blocks(n_rows), work)
    return codes


@compiled(reassociate=True)
def _largest(
    values, squares, slopes, column_constants, constants, gaps, tie, block_rows, first_block, last_block, codes
):
    n_rows = len(codes)
    n_forms, n_columns = slopes.shape
    scores = np.empty((n_forms, block_rows))
    # From the end: the last blocks may still be in the cache from the pass that fitted the forms.
    for block in range(last_block - 1, first_block - 1, -1):
        start = block * block_rows
        m = min(block_rows, n_rows - start)
        for k in range(n_forms):
            # Without gaps every row has every column's constant.
            scores[k, :] = constants[k] if gaps else constants[k] + column_constants[k].sum()
        for j in range(n_columns):
            column = values[start * n_columns + j * m : start * n_columns + (j + 1) * m]
            for k in range(n_forms):
                a, b, c = squares[k, j], slopes[k, j], column_constants[k, j]
                score = scores[k]
                if gaps:
                    for i in range(m):
                        x = column[i]
                        score[i] += x * (b + x * a) + c if x == x else 0.0
                else:
                    for i in range(m):
                        score[i] += column[i] * (b + column[i] * a)
        block_codes = codes[start : start + m]
        if n_forms == 1:
            for i in range(m):
                block_codes[i] = 1 if scores[0, i] > tie else 0
            continue
        for i in range(m):
            best, code = scores[0, i], 0
            for k in range(1, n_forms):
                if scores[k, i] > best + tie:
                    best, code = scores[k, i], k
            block_codes[i] = code
