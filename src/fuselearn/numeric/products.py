"""Weighted cross products of rows and targets: all that least squares asks of the rows.

Plain loops rather than BLAS, whose sums depend on how many threads it happens to have.
"""

import numpy as np

from fuselearn.numeric.compiled import compiled
from fuselearn.numeric.threads import BLOCK_ROWS, SERIAL


def cross_products(X, codes, weights, target_classes, *, threads=SERIAL):
    """Σ w·z·[z, t]ᵀ over the rows, with z a row behind a 1 and t its targets.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        A NaN counts as 0.
    codes : int32 ndarray of shape (n_rows,)
    weights : ndarray of shape (n_rows,)
    target_classes : int32 ndarray of shape (n_targets,)
        Target j of a row is +1 if its class is `target_classes[j]`, else -1.

    Returns
    -------
    ndarray of shape (1 + n_columns, 1 + n_columns + n_targets)
    """
    n_rows, n_columns = X.shape
    width = 1 + n_columns + len(target_classes)
    # Each block has a square of columns to itself: as many rows, so that these take no more room than X.
    block_rows = max(BLOCK_ROWS, 4 * width)
    blocks = -(-n_rows // block_rows)
    partial = np.zeros((blocks, 1 + n_columns, width))

    def work(start, stop):
        _add_products(X, codes, weights, target_classes, block_rows, start, stop, partial)

    threads.share(blocks, work)
    products = partial.sum(axis=0)
    square = products[:, : 1 + n_columns]
    lower = np.tril_indices(1 + n_columns, -1)
    square[lower] = square.T[lower]
    return products


@compiled()
def _add_products(X, codes, weights, target_classes, block_rows, first_block, last_block, partial):
    n_rows, n_columns = X.shape
    n_targets = len(target_classes)
    z = np.ones(1 + n_columns + n_targets)
    for block in range(first_block, last_block):
        for i in range(block * block_rows, min(n_rows, (block + 1) * block_rows)):
            w = weights[i]
            if w == 0.0:
                continue
            for j in range(n_columns):
                x = X[i, j]
                z[1 + j] = x if x == x else 0.0
            for t in range(n_targets):
                z[1 + n_columns + t] = 1.0 if codes[i] == target_classes[t] else -1.0
            for a in range(1 + n_columns):
                wz = w * z[a]
                sums = partial[block, a, a:]
                rest = z[a:]
                for b in range(len(rest)):
                    sums[b] += wz * rest[b]
