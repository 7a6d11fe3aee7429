"""Send rows down a binary tree.

A tree is a set of arrays with one entry a node: `feature` (-1 in a leaf), the cut, `missing_left`, `left`,
`right`. Children always have higher numbers than their parent.
"""

import numpy as np

from fuselearn.numeric.compiled import compiled
from fuselearn.numeric.threads import BLOCK_ROWS, SERIAL, n_blocks


def leaves_of_bins(bins, feature, cut_bin, missing_left, left, right, missing_bin, *, threads=SERIAL):
    """Number of the leaf each binned row ends in; `bins` has shape (n_columns, n_rows)."""
    n_rows = bins.shape[1]
    leaves = np.empty(n_rows, dtype=np.int32)

    def work(start, stop):
        rows = slice(start * BLOCK_ROWS, stop * BLOCK_ROWS)
        _walk_bins(bins[:, rows], feature, cut_bin, missing_left, left, right, missing_bin, leaves[rows])

    threads.share(n_blocks(n_rows), work)
    return leaves


def leaves_of_values(X, feature, threshold, missing_left, left, right, *, threads=SERIAL):
    """Number of the leaf each row of values ends in; `X` has shape (n_rows, n_columns)."""
    leaves = np.empty(len(X), dtype=np.int32)

    def work(start, stop):
        rows = slice(start * BLOCK_ROWS, stop * BLOCK_ROWS)
        _walk_values(X[rows], feature, threshold, missing_left, left, right, leaves[rows])

    threads.share(n_blocks(len(X)), work)
    return leaves


@compiled()
def _walk_bins(bins, feature, cut_bin, missing_left, left, right, missing_bin, leaves):
    for i in range(bins.shape[1]):
        node = 0
        while feature[node] >= 0:
            value = bins[feature[node], i]
            if value == missing_bin:
                goes_left = missing_left[node]
            else:
                goes_left = value <= cut_bin[node]
            node = left[node] if goes_left else right[node]
        leaves[i] = node


@compiled()
def _walk_values(X, feature, threshold, missing_left, left, right, leaves):
    for i in range(len(X)):
        node = 0
        while feature[node] >= 0:
            value = X[i, feature[node]]
            if value != value:
                goes_left = missing_left[node]
            else:
                goes_left = value <= threshold[node]
            node = left[node] if goes_left else right[node]
        leaves[i] = node
