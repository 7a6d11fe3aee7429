"""Weighted class histograms of binned columns, all that stumps and trees need of the rows, and the cuts made of them.

Values become bins by a sorted list of edges per column: the bin is the number of edges below a value. A candidate for a
cut is a number: 2·b sends bins up to b left and missing values right, 2·b + 1 sends both left, and 2·`n_edges`
separates the missing values, on the right. Low numbers win ties. A tree is a set of arrays with one entry a node:
`feature` (-1 in a leaf), the cut, `missing_left`, `left`, `right`. Children always have higher numbers than their
parent.
"""

import numpy as np

from fuselearn.numeric.execution import BLOCK_ROWS, SERIAL, Threads, compiled, n_blocks
from fuselearn.numeric.votes import TIE
from fuselearn.typing import AnyArray, BoolArray, FloatArray, IntArray

CACHED_ROWS = 8192
"""Rows whose weights and classes stay in the fast cache while all columns pass by."""
HEAVY = 4
"""A value with this many times an average bin's rows has a bin of its own. At 4 these take at most half of the bins."""
IMPURITIES = {"error": 0, "gini": 1, "entropy": 2}


def class_histograms(
    bins: IntArray, codes: IntArray, weights: AnyArray, n_classes: int, n_bins: int, *, threads: Threads = SERIAL
) -> AnyArray:
    """Return the weight per column, bin and class.

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

    def work(start: int, stop: int) -> None:
        _add_rows(bins[start:stop], codes, weights, n_classes, CACHED_ROWS, histograms[start:stop])

    threads.share(n_columns, work)
    return histograms.reshape(n_columns, n_bins, n_classes)


def node_histograms(
    bins: IntArray,
    slots: IntArray,
    codes: IntArray,
    weights: AnyArray,
    n_slots: int,
    n_classes: int,
    n_bins: int,
    *,
    threads: Threads = SERIAL,
) -> AnyArray:
    """Return the weight per node, column, bin and class, for the rows that lie in a node.

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

    def work(start: int, stop: int) -> None:
        _add_node_rows(bins[start:stop], rows, slots, codes, weights, n_classes, histograms[start:stop])

    threads.share(n_columns, work)
    return histograms.reshape(n_columns, n_slots, n_bins, n_classes).swapaxes(0, 1)


@compiled()
def _add_rows(
    bins: IntArray, codes: IntArray, weights: AnyArray, n_classes: int, cached_rows: int, histograms: AnyArray
) -> None:
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
def _add_node_rows(
    bins: IntArray,
    rows: IntArray,
    slots: IntArray,
    codes: IntArray,
    weights: AnyArray,
    n_classes: int,
    histograms: AnyArray,
) -> None:
    stride = np.uintp(n_classes)
    for j in range(len(bins)):
        column = bins[j]
        out = histograms[j]
        for i in range(len(rows)):
            bin_ = np.uintp(column[rows[i]])
            out[slots[i], bin_ * stride + np.uintp(codes[i])] += weights[i]


def best_cuts(histograms: FloatArray, n_edges: IntArray, criterion: str) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return the best candidate of every column.

    Parameters
    ----------
    histograms : ndarray of shape (n_columns, n_bins, n_classes)
        The last bin holds the missing values.
    n_edges : int ndarray of shape (n_columns,)
    criterion : {"error", "gini", "entropy"}
        The gain is the weight of the node times its impurity, less the same of both sides.

    Returns
    -------
    gains : ndarray of shape (n_columns,)
        -inf where a column cannot be cut.
    candidates : int ndarray of shape (n_columns,)
    left_weights : ndarray of shape (n_columns,)
    """
    n_columns = len(histograms)
    gains = np.full(n_columns, -np.inf)
    candidates = np.zeros(n_columns, dtype=np.intp)
    left_weights = np.zeros(n_columns)
    histograms = np.ascontiguousarray(histograms)
    _best_cuts(histograms, n_edges, IMPURITIES[criterion], TIE, gains, candidates, left_weights)
    return gains, candidates, left_weights


@compiled()
def _best_cuts(
    histograms: FloatArray,
    n_edges: IntArray,
    criterion: int,
    tie: float,
    gains: FloatArray,
    candidates: IntArray,
    left_weights: FloatArray,
) -> None:
    def w_log_w(w: float) -> float:
        return w * np.log2(w) if w > 0.0 else 0.0

    def weigh(side: FloatArray, missing: FloatArray, with_missing: bool, logs: FloatArray) -> tuple[float, float]:
        # weight of a side, and that weight times its impurity
        weight, largest, squares, entropy = 0.0, 0.0, 0.0, 0.0
        for k in range(len(side)):
            w = side[k] + missing[k] if with_missing else side[k]
            weight += w
            if criterion == 0:
                largest = max(largest, w)
            elif criterion == 1:
                squares += w * w
            else:
                entropy -= logs[k]
        if weight <= 0.0:
            return 0.0, 0.0
        if criterion == 0:
            return weight, weight - largest
        if criterion == 1:
            return weight, weight - squares / weight
        return weight, entropy + w_log_w(weight)

    n_columns, n_bins, n_classes = histograms.shape
    # Both sides are summed from their own end, so that a side without rows weighs exactly nothing.
    below = np.zeros((n_bins, n_classes))
    above = np.zeros((n_bins, n_classes))
    nothing = np.zeros(n_classes)
    # w·log2 w of each class, left and right, without and with the missing values. Logarithms are what costs, and most
    # bins hold few classes: only what a bin changes is computed again.
    logs = np.zeros((2, 2, n_classes))
    candidate_gains, candidate_left = np.empty(2 * n_bins), np.empty(2 * n_bins)
    for j in range(n_columns):
        bins = histograms[j]
        missing = bins[n_bins - 1]
        some_missing = missing.sum() > 0.0
        for b in range(n_bins - 1):
            for k in range(n_classes):
                below[b + 1, k] = below[b, k] + bins[b, k]
        for b in range(n_bins - 2, -1, -1):
            for k in range(n_classes):
                above[b, k] = above[b + 1, k] + bins[b, k]
        if criterion == 2:
            for k in range(n_classes):
                logs[0, 0, k], logs[0, 1, k] = 0.0, w_log_w(missing[k])
                logs[1, 0, k], logs[1, 1, k] = w_log_w(above[0, k]), w_log_w(above[0, k] + missing[k])
        _, parent = weigh(above[0], missing, True, logs[1, 1])
        best = -np.inf
        for b in range(n_edges[j]):
            changes = False
            for k in range(n_classes):
                if bins[b, k] != 0.0:
                    changes = True
                    if criterion == 2:
                        logs[0, 0, k] = w_log_w(below[b + 1, k])
                        logs[1, 1, k] = w_log_w(above[b + 1, k] + missing[k])
                        if some_missing:
                            logs[0, 1, k] = w_log_w(below[b + 1, k] + missing[k])
                            logs[1, 0, k] = w_log_w(above[b + 1, k])
            for missing_left in range(2):
                candidate = 2 * b + missing_left
                candidate_gains[candidate] = -np.inf
                # A cut behind an empty bin is the cut before it once more, which would win the tie.
                if (missing_left and not some_missing) or (b > 0 and not changes):
                    continue
                left, left_impurity = weigh(below[b + 1], missing, missing_left == 1, logs[0, missing_left])
                right, right_impurity = weigh(above[b + 1], missing, missing_left == 0, logs[1, 1 - missing_left])
                if left > 0.0 and right > 0.0:
                    candidate_gains[candidate] = parent - left_impurity - right_impurity
                    candidate_left[candidate] = left
                    best = max(best, candidate_gains[candidate])
        missing_alone = 2 * n_edges[j]
        candidate_gains[missing_alone] = -np.inf
        if some_missing:
            if criterion == 2:
                for k in range(n_classes):
                    logs[0, 0, k], logs[1, 1, k] = w_log_w(above[0, k]), w_log_w(missing[k])
            left, left_impurity = weigh(above[0], missing, False, logs[0, 0])
            right, right_impurity = weigh(nothing, missing, True, logs[1, 1])
            if left > 0.0 and right > 0.0:
                candidate_gains[missing_alone] = parent - left_impurity - right_impurity
                candidate_left[missing_alone] = left
                best = max(best, candidate_gains[missing_alone])
        if best > -np.inf:
            for candidate in range(missing_alone + 1):
                if candidate_gains[candidate] >= best - tie:
                    gains[j] = candidate_gains[candidate]
                    candidates[j] = candidate
                    left_weights[j] = candidate_left[candidate]
                    break


def leaves_of_bins(
    bins: IntArray,
    feature: IntArray,
    cut_bin: IntArray,
    missing_left: BoolArray,
    left: IntArray,
    right: IntArray,
    missing_bin: int,
    *,
    threads: Threads = SERIAL,
) -> IntArray:
    """Return the leaf that each binned row ends in; `bins` has shape (n_columns, n_rows)."""
    n_rows = bins.shape[1]
    leaves = np.empty(n_rows, dtype=np.int32)

    def work(start: int, stop: int) -> None:
        rows = slice(start * BLOCK_ROWS, stop * BLOCK_ROWS)
        _walk_bins(bins[:, rows], feature, cut_bin, missing_left, left, right, missing_bin, leaves[rows])

    threads.share(n_blocks(n_rows), work)
    return leaves


def leaves_of_values(
    X: FloatArray,
    feature: IntArray,
    threshold: FloatArray,
    missing_left: BoolArray,
    left: IntArray,
    right: IntArray,
    *,
    threads: Threads = SERIAL,
) -> IntArray:
    """Return the leaf that each row of values ends in; `X` has shape (n_rows, n_columns)."""
    leaves = np.empty(len(X), dtype=np.int32)

    def work(start: int, stop: int) -> None:
        rows = slice(start * BLOCK_ROWS, stop * BLOCK_ROWS)
        _walk_values(X[rows], feature, threshold, missing_left, left, right, leaves[rows])

    threads.share(n_blocks(len(X)), work)
    return leaves


@compiled()
def _walk_bins(
    bins: IntArray,
    feature: IntArray,
    cut_bin: IntArray,
    missing_left: BoolArray,
    left: IntArray,
    right: IntArray,
    missing_bin: int,
    leaves: IntArray,
) -> None:
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
def _walk_values(
    X: FloatArray,
    feature: IntArray,
    threshold: FloatArray,
    missing_left: BoolArray,
    left: IntArray,
    right: IntArray,
    leaves: IntArray,
) -> None:
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


def column_edges(values: FloatArray, max_bins: int) -> FloatArray:
    """Return edges that cut the values of one column into at most `max_bins` bins.

    With no more than `max_bins` distinct values each has its own bin, and nothing is lost. With more, a value that is
    very frequent, such as the zero of counts, has a bin of its own, and the others share what is left, about as many
    rows a bin.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        Observed values, sorted, no NaN; may be empty.
    max_bins : int

    Returns
    -------
    ndarray
        Increasing; value x belongs to bin b when edges[b - 1] < x <= edges[b].
    """
    if len(values) == 0:
        return np.empty(0)
    ends = np.append(np.flatnonzero(values[1:] != values[:-1]), len(values) - 1)
    distinct = values[ends]
    separate = np.ones(len(distinct) - 1, dtype=bool)
    if len(distinct) > max_bins:
        counts = np.diff(ends, prepend=-1)
        heavy = counts >= HEAVY * len(values) / max_bins
        # Two edges give a heavy value a bin of its own.
        shared_bins = max_bins - 2 * np.count_nonzero(heavy)
        light = np.where(heavy, 0, counts)
        shared = np.floor((np.cumsum(light) - light / 2) * (shared_bins / max(light.sum(), 1)))
        separate = heavy[1:] | heavy[:-1] | (shared[1:] != shared[:-1])
    lower, upper = distinct[:-1][separate], distinct[1:][separate]
    middle = lower / 2 + upper / 2
    # The midpoint of two neighbouring floats rounds to one of them; the upper one would not separate them.
    return np.where(middle < upper, middle, lower)


def has_more_values(values: FloatArray, limit: int) -> bool:
    """Return whether sorted values have more than `limit` distinct ones."""
    return int(np.count_nonzero(values[1:] != values[:-1])) >= limit


def searchable(edges: FloatArray) -> FloatArray:
    """Return edges of shape (n_columns, any number), filled up with +inf to one less than a power of two."""
    width = 1
    while width <= edges.shape[1]:
        width *= 2
    filled = np.full((len(edges), width - 1), np.inf)
    filled[:, : edges.shape[1]] = edges
    return filled


@compiled()
def fill_bins(X: FloatArray, edges: FloatArray, missing_bin: int, bins: IntArray) -> None:
    """Set bins[j, i] to the number of edges of column j that are below X[i, j]; `missing_bin` where it is NaN.

    Column-major on purpose: histograms and splits read one column at a time. `edges` must be `searchable`: then every
    value takes the same number of steps, and all values of a column take a step together, as vector instructions.
    """
    n_rows, n_columns = X.shape
    column = np.empty(n_rows)
    below = np.empty(n_rows, dtype=np.int32)
    for j in range(n_columns):
        for i in range(n_rows):
            column[i] = X[i, j]
            below[i] = 0
        step = (edges.shape[1] + 1) >> 1
        while step > 0:
            for i in range(n_rows):
                below[i] += step * (edges[j, np.uint32(below[i] + step - 1)] < column[i])
            step >>= 1
        for i in range(n_rows):
            bins[j, i] = below[i] if column[i] == column[i] else missing_bin
