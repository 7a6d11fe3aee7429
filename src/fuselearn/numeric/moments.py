"""Weighted first and second moments per class: all that Gaussian naive Bayes asks of the rows."""

import numpy as np

from fuselearn.numeric.compiled import compiled
from fuselearn.numeric.threads import BLOCK_ROWS, SERIAL


def weighted_moments(X, codes, weights, n_classes, *, gaps, threads=SERIAL):
    """Sums of w, w·x and w·x² per class and column.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
    codes : int32 ndarray of shape (n_rows,)
        Class of each row, 0 to `n_classes` - 1.
    weights : ndarray of shape (n_rows,)
    n_classes : int
    gaps : bool
        Whether X may hold NaN. A NaN is left out of its column's sums.

    Returns
    -------
    ndarray of shape (n_classes, 1 + 3 * n_columns)
        Class weight, then per column the weight of the observed values, Σ w·x and Σ w·x².
    """
    n_rows, n_columns = X.shape
    # With many classes larger blocks, so that the partial sums stay a small part of X.
    block_rows = max(BLOCK_ROWS, 32 * n_classes)
    blocks = -(-n_rows // block_rows)
    partial = np.zeros((blocks, n_classes, 1 + 3 * n_columns))
    kernel = _moments_with_gaps if gaps else _moments

    def work(start, stop):
        kernel(X, codes, weights, block_rows, start, stop, partial)

    threads.share(blocks, work)
    moments = partial.sum(axis=0)
    if not gaps:
        moments[:, 1 : 1 + n_columns] = moments[:, :1]
    return moments


@compiled()
def _moments(X, codes, weights, block_rows, first_block, last_block, partial):
    n_rows, n_columns = X.shape
    for block in range(first_block, last_block):
        for i in range(block * block_rows, min(n_rows, (block + 1) * block_rows)):
            w = weights[i]
            if w == 0.0:
                continue
            sums = partial[block, codes[i]]
            sums[0] += w
            first = sums[1 + n_columns : 1 + 2 * n_columns]
            second = sums[1 + 2 * n_columns :]
            for j in range(n_columns):
                x = X[i, j]
                wx = w * x
                first[j] += wx
                second[j] += wx * x


@compiled()
def _moments_with_gaps(X, codes, weights, block_rows, first_block, last_block, partial):
    n_rows, n_columns = X.shape
    for block in range(first_block, last_block):
        for i in range(block * block_rows, min(n_rows, (block + 1) * block_rows)):
            w = weights[i]
            if w == 0.0:
                continue
            sums = partial[block, codes[i]]
            sums[0] += w
            observed = sums[1 : 1 + n_columns]
            first = sums[1 + n_columns : 1 + 2 * n_columns]
            second = sums[1 + 2 * n_columns :]
            for j in range(n_columns):
                x = X[i, j]
                if x == x:
                    wx = w * x
                    observed[j] += w
                    first[j] += wx
                    second[j] += wx * x
