"""The best way to cut one column's histogram in two.

A candidate is a number: 2·b sends bins up to b left and missing values right, 2·b + 1 sends both left, and
2·`n_edges` sets the missing values alone apart on the right. Low numbers win ties.
"""

import numpy as np

from fuselearn.numeric.compiled import compiled

CRITERIA = {"error": 0, "gini": 1, "entropy": 2}
TIE = 1e-12
"""Gains nearer than this are taken as equal: sums of weights round differently from machine to machine."""


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
    _best_cuts(histograms, n_edges, CRITERIA[criterion], TIE, gains, candidates, left_weights)
    return gains, candidates, left_weights


@compiled()
def _best_cuts(histograms, n_edges, criterion, tie, gains, candidates, left_weights):
    def weigh(own, missing, with_missing):
        # weight of a side, and that weight times its impurity
        weight, largest, squares, entropy = 0.0, 0.0, 0.0, 0.0
        for k in range(len(own)):
            w = own[k] + missing[k] if with_missing else own[k]
            weight += w
            if criterion == 0:
                largest = max(largest, w)
            elif criterion == 1:
                squares += w * w
            elif w > 0.0:
                entropy -= w * np.log2(w)
        if weight <= 0.0:
            return 0.0, 0.0
        if criterion == 0:
            return weight, weight - largest
        if criterion == 1:
            return weight, weight - squares / weight
        return weight, entropy + weight * np.log2(weight)

    n_columns, n_bins, n_classes = histograms.shape
    # Both sides are summed from their own end, so that a side without rows weighs exactly nothing.
    below = np.zeros((n_bins, n_classes))
    above = np.zeros((n_bins, n_classes))
    nothing = np.zeros(n_classes)
    repeats = np.zeros(n_bins, dtype=np.bool_)
    candidate_gains, candidate_left = np.empty(2 * n_bins), np.empty(2 * n_bins)
    for j in range(n_columns):
        bins = histograms[j]
        missing = bins[n_bins - 1]
        some_missing = missing.sum() > 0.0
        for b in range(n_bins - 1):
            # A cut behind an empty bin is the cut before it once more, which would win the tie.
            repeats[b] = b > 0
            for k in range(n_classes):
                below[b + 1, k] = below[b, k] + bins[b, k]
                repeats[b] = repeats[b] and bins[b, k] == 0.0
        for b in range(n_bins - 2, -1, -1):
            for k in range(n_classes):
                above[b, k] = above[b + 1, k] + bins[b, k]
        _, parent = weigh(below[n_bins - 1], missing, True)
        best = -np.inf
        n_candidates = 2 * n_edges[j] + 1
        for candidate in range(0, n_candidates, 1 if some_missing else 2):
            candidate_gains[candidate] = -np.inf
            cut = (candidate >> 1) + 1
            missing_left = candidate & 1 == 1
            left, right = below[cut], above[cut]
            if candidate == n_candidates - 1:
                if not some_missing:
                    continue
                left, right = below[n_bins - 1], nothing
            elif repeats[cut - 1]:
                continue
            left_weight, left_impurity = weigh(left, missing, missing_left)
            right_weight, right_impurity = weigh(right, missing, not missing_left)
            if left_weight > 0.0 and right_weight > 0.0:
                candidate_gains[candidate] = parent - left_impurity - right_impurity
                candidate_left[candidate] = left_weight
                best = max(best, candidate_gains[candidate])
        if best == -np.inf:
            continue
        for candidate in range(0, n_candidates, 1 if some_missing else 2):
            if candidate_gains[candidate] >= best - tie:
                gains[j] = candidate_gains[candidate]
                candidates[j] = candidate
                left_weights[j] = candidate_left[candidate]
                break
