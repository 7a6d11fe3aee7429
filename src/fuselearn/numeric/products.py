"""Weighted cross products of rows and targets: all that least squares asks of the rows.

Plain loops rather than BLAS, whose sums depend on how many threads it happens to have.
"""

import numpy as np

from fuselearn.numeric.compiled import compiled
from fuselearn.numeric.threads import BLOCK_ROWS, SERIAL, n_blocks


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
