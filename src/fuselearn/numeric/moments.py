"""Weighted first and second moments per class: all that Gaussian naive Bayes asks of the rows."""

import numpy as np

from fuselearn.numeric.compiled import compiled
from fuselearn.numeric.threads import BLOCK_ROWS, SERIAL, n_blocks


def weighted_moments(values, n_columns, codes, weights, n_classes, *, gaps, threads=SERIAL):
    """Sums of w, w·x and w·x² per class and column.

    Parameters
    ----------
    values : ndarray of shape (n_rows * n_columns,)
        Rows in blocks of `BLOCK_ROWS`, and within a block column after column.
    n_columns : int
    codes : int32 ndarray of shape (n_rows,)
        Class of each row, 0 to `n_classes` - 1. Rows that are sorted by class are quickest, since a block is read
        once for each class in it.
    weights : ndarray of shape (n_rows,)
    n_classes : int
    gaps : bool
        Whether some value may be NaN. A NaN is left out of its column's sums.

    Returns
    -------
    ndarray of shape (n_classes, 1 + 3 * n_columns)
        Class weight, then per column the weight of the observed values, Σ w·x and Σ w·x².
    """
    # With many classes several blocks share a partial sum, so that these stay a small part of the values.
    group_blocks = max(1, 32 * n_classes // BLOCK_ROWS)
    n_groups = -(-n_blocks(len(codes)) // group_blocks)
    partial = np.zeros((n_groups, n_classes, 1 + 3 * n_columns))

    def work(start, stop):
        _moments(values, n_columns, codes, weights, gaps, BLOCK_ROWS, group_blocks, start, stop, partial)

    threads.share(n_groups, work)
    return partial.sum(axis=0)


@compiled(reassociate=True)
def _moments(values, n_columns, codes, weights, gaps, block_rows, group_blocks, first_group, last_group, partial):
    n_rows = len(codes)
    class_weights = np.empty(block_rows)
    for group in range(first_group, last_group):
        group_stop = min(n_rows, (group + 1) * group_blocks * block_rows)
        for start in range(group * group_blocks * block_rows, group_stop, block_rows):
            m = min(block_rows, n_rows - start)
            block_codes, block_weights = codes[start : start + m], weights[start : start + m]
            lowest, highest = block_codes[0], block_codes[0]
            for i in range(m):
                lowest = min(lowest, block_codes[i])
                highest = max(highest, block_codes[i])
            for k in range(lowest, highest + 1):
                total = 0.0
                for i in range(m):
                    w = block_weights[i] if block_codes[i] == k else 0.0
                    class_weights[i] = w
                    total += w
                sums = partial[group, k]
                sums[0] += total
                for j in range(n_columns):
                    column = values[start * n_columns + j * m : start * n_columns + (j + 1) * m]
                    observed, first, second = 0.0, 0.0, 0.0
                    if gaps:
                        for i in range(m):
                            here = column[i] == column[i]
                            x = column[i] if here else 0.0
                            w = class_weights[i] if here else 0.0
                            observed += w
                            first += w * x
                            second += w * x * x
                    else:
                        observed = total
                        for i in range(m):
                            wx = class_weights[i] * column[i]
                            first += wx
                            second += wx * column[i]
                    sums[1 + j] += observed
                    sums[1 + n_columns + j] += first
                    sums[1 + 2 * n_columns + j] += second
