"""Weighted class histograms of binned columns: all that stumps and trees ask of the rows."""

import numpy as np

from fuselearn.numeric.compiled import compiled
from fuselearn.numeric.threads import SERIAL

CACHED_ROWS = 8192
"""Rows whose weights and classes stay in the fast cache while all columns pass by."""


def class_histograms(bins, codes, weights, n_classes, n_bins, *, threads=SERIAL):
    """Weight per column, bin and class.

    Parameters
    ----------
    bins : uint8 ndarray of shape (n_columns, n_rows)
    codes : int32 ndarray of shape (n_rows,)
    weights : ndarray of shape (n_rows,)
        Floats, or whole numbers: then the sums are exact.

    Returns
    -------
    ndarray of shape (n_columns, n_bins, n_classes), of the kind of the weights

    Notes
    -----
    Threads share the columns, each of which is summed in the order of its rows.
    """
    n_columns = len(bins)
    histograms = np.zeros((n_columns, n_bins * n_classes), dtype=weights.dtype)

    def work(start, stop):
        _add_rows(bins[start:stop], codes, weights, n_classes, CACHED_ROWS, histograms[start:stop])

    threads.share(n_columns, work)
    return histograms.reshape(n_columns, n_bins, n_classes)


def node_histograms(bins, slots, codes, weights, n_slots, n_classes, n_bins, *, threads=SERIAL):
    """Weight per node, column, bin and class, for the rows that lie in a node.

    Parameters
    ----------
    slots : int32 ndarray of shape (n_rows,)
        Number of the node each row lies in, or -1 for a row in none of them.

    Returns
    -------
    ndarray of shape (n_slots, n_columns, n_bins, n_classes)
    """
    rows = np.flatnonzero(slots >= 0)
    slots, codes, weights = slots[rows], codes[rows], weights[rows]
    n_columns = len(bins)
    histograms = np.zeros((n_columns, n_slots, n_bins * n_classes), dtype=weights.dtype)

    def work(start, stop):
        _add_node_rows(bins[start:stop], rows, slots, codes, weights, n_classes, histograms[start:stop])

    threads.share(n_columns, work)
    return histograms.reshape(n_columns, n_slots, n_bins, n_classes).swapaxes(0, 1)


@compiled()
def _add_rows(bins, codes, weights, n_classes, cached_rows, histograms):
    # Four columns at a time: their additions are independent of each other, so none waits for the last one's
    # store, and a row's weight and class are loaded once for the four.
    n_columns, n_rows = bins.shape
    stride = np.uintp(n_classes)
    for start in range(0, n_rows, cached_rows):
        stop = min(n_rows, start + cached_rows)
        w_block = weights[start:stop]
        k_block = codes[start:stop]
        j = 0
        while j + 4 <= n_columns:
            bins0, bins1 = bins[j, start:stop], bins[j + 1, start:stop]
            bins2, bins3 = bins[j + 2, start:stop], bins[j + 3, start:stop]
            out0, out1, out2, out3 = histograms[j], histograms[j + 1], histograms[j + 2], histograms[j + 3]
            for i in range(stop - start):
                w = w_block[i]
                k = np.uintp(k_block[i])
                out0[np.uintp(bins0[i]) * stride + k] += w
                out1[np.uintp(bins1[i]) * stride + k] += w
                out2[np.uintp(bins2[i]) * stride + k] += w
                out3[np.uintp(bins3[i]) * stride + k] += w
            j += 4
        while j < n_columns:
            bins0 = bins[j, start:stop]
            out0 = histograms[j]
            for i in range(stop - start):
                out0[np.uintp(bins0[i]) * stride + np.uintp(k_block[i])] += w_block[i]
            j += 1


@compiled()
def _add_node_rows(bins, rows, slots, codes, weights, n_classes, histograms):
    stride = np.uintp(n_classes)
    for j in range(len(bins)):
        column = bins[j]
        out = histograms[j]
        for i in range(len(rows)):
            bin_ = np.uintp(column[rows[i]])
            out[slots[i], bin_ * stride + np.uintp(codes[i])] += weights[i]
