"""The best way to cut one column's histogram in two.

A candidate is a number: 2·b sends bins up to b left and missing values right, 2·b + 1 sends both left, and
2·`n_edges` sets the missing values alone apart on the right. Low numbers win ties.
"""

import numpy as np

from fuselearn.numeric.compiled import compiled
from fuselearn.numeric.ties import TIE

IMPURITIES = {"error": 0, "gini": 1, "entropy": 2}


def best_cuts(histograms, n_edges, criterion):
    """Best candidate of every column.

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
def _best_cuts(histograms, n_edges, criterion, tie, gains, candidates, left_weights):
    def w_log_w(w):
        return w * np.log2(w) if w > 0.0 else 0.0

    def weigh(own, missing, with_missing, logs):
        # weight of a side, and that weight times its impurity
        weight, largest, squares, entropy = 0.0, 0.0, 0.0, 0.0
        for k in range(len(own)):
            w = own[k] + missing[k] if with_missing else own[k]
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
        apart = 2 * n_edges[j]
        candidate_gains[apart] = -np.inf
        if some_missing:
            if criterion == 2:
                for k in range(n_classes):
                    logs[0, 0, k], logs[1, 1, k] = w_log_w(above[0, k]), w_log_w(missing[k])
            left, left_impurity = weigh(above[0], missing, False, logs[0, 0])
            right, right_impurity = weigh(nothing, missing, True, logs[1, 1])
            if left > 0.0 and right > 0.0:
                candidate_gains[apart] = parent - left_impurity - right_impurity
                candidate_left[apart] = left
                best = max(best, candidate_gains[apart])
        if best > -np.inf:
            for candidate in range(apart + 1):
                if candidate_gains[candidate] >= best - tie:
                    gains[j] = candidate_gains[candidate]
                    candidates[j] = candidate
                    left_weights[j] = candidate_left[candidate]
                    break
