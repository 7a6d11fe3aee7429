"""The best cut of a node on every column, from its histograms.

Values become bins by a sorted list of edges per column: the bin is the number of edges below a value. A candidate for a
cut is a number: 2·b sends bins up to b left and missing values right, 2·b + 1 sends both left, and 2·`n_edges`
separates the missing values, on the right. Low numbers win ties.
"""

import numpy as np

from fuselearn.numeric.execution import compiled
from fuselearn.numeric.votes import TIE
from fuselearn.typing import FloatArray, IntArray

IMPURITIES = {"error": 0, "gini": 1, "entropy": 2}
LOG2 = (
    0.58496250072115608,
    0.48089799269241673,
    -0.080149617794153111,
    0.017815741053949018,
    -0.0044541751931707237,
    0.0011708278212461663,
    -0.00032484426865150102,
    0.00011539508715947188,
    -3.3850387969092958e-05,
)
"""Polynomial in t = 2·m - 3 that interpolates log2 m for m from 1 to 2 at Chebyshev's points."""
LOG2_ERROR = 6e-8
"""Bound on its error."""


def best_cuts(
    histograms: IntArray, total: int, n_edges: IntArray, criterion: str
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return the best candidate of every column.

    Parameters
    ----------
    histograms : int64 ndarray of shape (n_columns, n_classes, n_bins)
        Weights in whole numbers. The last bin holds the missing values.
    total : int
        Weight of all rows, also of those in other nodes; gains and weights are told as parts of it.
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
    # Unsigned: only these are turned into floats by vector instructions.
    histograms = np.ascontiguousarray(histograms).view(np.uint64)
    _best_cuts(histograms, n_edges, IMPURITIES[criterion], 1.0 / total, TIE, gains, candidates, left_weights)
    return gains, candidates, left_weights


@compiled(reassociate=True)
def _best_cuts(
    histograms: IntArray,
    n_edges: IntArray,
    criterion: int,
    unit: float,
    tie: float,
    gains: FloatArray,
    candidates: IntArray,
    left_weights: FloatArray,
) -> None:
    # All candidates of a column take each step together, as vector instructions. Logarithms are what costs: they are
    # approximated first, and computed where the approximation cannot tell a candidate from the best one.
    def w_log_w(w: float) -> float:
        return w * np.log2(w) if w > 0.0 else 0.0

    def add_w_log_w(
        weights: FloatArray, n: int, sign: float, powers: FloatArray, rest: FloatArray, out: FloatArray
    ) -> None:
        # w = 2^power · rest; both are read off the bits of w. An exponent in the last bits of 2^52 is that many units.
        bits, power_bits, rest_bits = weights.view(np.uint64), powers.view(np.uint64), rest.view(np.uint64)
        for c in range(n):
            power_bits[c] = (bits[c] >> np.uint64(52)) | np.uint64(0x4330000000000000)
            rest_bits[c] = (bits[c] & np.uint64(0x000FFFFFFFFFFFFF)) | np.uint64(0x3FF0000000000000)
        for c in range(n):
            t = 2.0 * rest[c] - 3.0
            log = LOG2[8] * t + LOG2[7]
            log = log * t + LOG2[6]
            log = log * t + LOG2[5]
            log = log * t + LOG2[4]
            log = log * t + LOG2[3]
            log = log * t + LOG2[2]
            log = log * t + LOG2[1]
            log = log * t + LOG2[0]
            out[c] += sign * weights[c] * (log + (powers[c] - (4503599627370496.0 + 1023.0)))

    def impurity(classes: FloatArray, others: FloatArray, with_others: float) -> float:
        # weight of a side times its impurity
        weight, largest, squares, logs = 0.0, 0.0, 0.0, 0.0
        for k in range(len(classes)):
            w = classes[k] + with_others * others[k]
            weight += w
            largest = max(largest, w)
            squares += w * w
            if criterion == 2:
                logs += w_log_w(w)
        if weight <= 0.0:
            return 0.0
        if criterion == 0:
            return weight - largest
        if criterion == 1:
            return weight - squares / weight
        return w_log_w(weight) - logs

    n_columns, n_classes, n_bins = histograms.shape
    places, filled = np.empty(n_bins, dtype=np.uintp), np.empty(n_bins, dtype=np.uint64)
    sums = np.empty((n_classes, n_bins), dtype=np.uint64)
    below, above = np.empty((n_classes, n_bins)), np.empty((n_classes, n_bins))
    left, right = np.empty(n_bins), np.empty(n_bins)
    left_sums, right_sums = np.empty(n_bins), np.empty(n_bins)
    side, powers, rest = np.empty(n_bins), np.empty(n_bins), np.empty(n_bins)
    column_gains = np.empty((2, n_bins))
    observed, missing, nothing = np.empty(n_classes), np.empty(n_classes), np.zeros(n_classes)
    for j in range(n_columns):
        bins, last = histograms[j], n_edges[j]
        # A cut behind an empty bin is the cut before it once more, which would win the tie.
        for b in range(last):
            filled[b] = bins[0, b]
        for k in range(1, n_classes):
            for b in range(last):
                filled[b] |= bins[k, b]
        n = 0
        for b in range(last):
            places[n] = b
            n += 1 if (b == 0) | (filled[b] != 0) else 0
        for k in range(n_classes):
            whole = np.uint64(0)
            for c in range(n):
                whole += bins[k, places[c]]
                sums[k, c] = whole
        some_missing = False
        for k in range(n_classes):
            whole = bins[k, last] + (sums[k, n - 1] if n > 0 else np.uint64(0))
            for c in range(n):
                below[k, c] = np.float64(sums[k, c]) * unit
            for c in range(n):
                above[k, c] = np.float64(whole - sums[k, c]) * unit
            observed[k], missing[k] = np.float64(whole) * unit, np.float64(bins[k, n_bins - 1]) * unit
            some_missing |= bins[k, n_bins - 1] != 0
        node = impurity(observed, missing, 1.0)
        best = -np.inf
        for missing_left in range(2 if some_missing else 1):
            out = column_gains[missing_left]
            for c in range(n):
                left[c], right[c], left_sums[c], right_sums[c] = 0.0, 0.0, 0.0, 0.0
            for k in range(n_classes):
                more_left, more_right = missing_left * missing[k], (1 - missing_left) * missing[k]
                if criterion == 0:
                    for c in range(n):
                        w, v = below[k, c] + more_left, above[k, c] + more_right
                        left[c], right[c] = left[c] + w, right[c] + v
                        left_sums[c], right_sums[c] = max(left_sums[c], w), max(right_sums[c], v)
                elif criterion == 1:
                    for c in range(n):
                        w, v = below[k, c] + more_left, above[k, c] + more_right
                        left[c], right[c] = left[c] + w, right[c] + v
                        left_sums[c], right_sums[c] = left_sums[c] + w * w, right_sums[c] + v * v
                else:
                    for c in range(n):
                        side[c] = below[k, c] + more_left
                        left[c] += side[c]
                    add_w_log_w(side, n, 1.0, powers, rest, left_sums)
                    for c in range(n):
                        side[c] = above[k, c] + more_right
                        right[c] += side[c]
                    add_w_log_w(side, n, 1.0, powers, rest, left_sums)
            if criterion == 0:
                for c in range(n):
                    out[c] = node - (left[c] - left_sums[c]) - (right[c] - right_sums[c])
            elif criterion == 1:
                for c in range(n):
                    left_impurity = left[c] - left_sums[c] / max(left[c], unit)
                    out[c] = node - left_impurity - (right[c] - right_sums[c] / max(right[c], unit))
            else:
                add_w_log_w(left, n, -1.0, powers, rest, left_sums)
                add_w_log_w(right, n, -1.0, powers, rest, left_sums)
                for c in range(n):
                    out[c] = node + left_sums[c]
            for c in range(n):
                out[c] = out[c] if (left[c] > 0.0) & (right[c] > 0.0) else -np.inf
                best = max(best, out[c])
        if criterion == 2 and best > -np.inf:
            # Two sides and their classes weigh 2 at most: twice the error of that, in each of two candidates.
            near, best = best - tie - 8 * LOG2_ERROR, -np.inf
            for missing_left in range(2 if some_missing else 1):
                out = column_gains[missing_left]
                for c in range(n):
                    if out[c] >= near:
                        left_impurity = impurity(below[:, c], missing, 1.0 * missing_left)
                        out[c] = node - left_impurity - impurity(above[:, c], missing, 1.0 - missing_left)
                        best = max(best, out[c])
        missing_alone = -np.inf
        if some_missing and observed.sum() > 0.0:
            missing_alone = node - impurity(observed, nothing, 0.0) - impurity(missing, nothing, 0.0)
            best = max(best, missing_alone)
        if best == -np.inf:
            continue
        gains[j], candidates[j], left_weights[j] = missing_alone, 2 * last, observed.sum()
        for c in range(n):
            right_wins = column_gains[0, c] >= best - tie
            if right_wins or (some_missing and column_gains[1, c] >= best - tie):
                missing_left = 0 if right_wins else 1
                gains[j], candidates[j] = column_gains[missing_left, c], 2 * places[c] + missing_left
                left_weights[j] = below[:, c].sum() + missing_left * missing.sum()
                break
