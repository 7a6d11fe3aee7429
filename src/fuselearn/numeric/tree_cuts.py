"""The best cut of a node, from its histograms.

Values become bins by a sorted list of edges per column: the bin is the number of edges below a value. A candidate for a
cut is a number: 2·b sends bins up to b left and missing values right, 2·b + 1 sends both left, and 2·`n_edges`
separates the missing values, on the right. Low numbers win ties.
"""

from typing import NamedTuple

import numpy as np

from fuselearn.numeric.execution import compiled
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.numeric.votes import TIE
from fuselearn.typing import FloatArray, IntArray

IMPURITIES = {"error": 0, "gini": 1, "entropy": 2, "gain_ratio": 2}
SHARED_SIZE = 2**16
"""Numbers in the histograms of a node from which on threads share its columns: handing out less takes longer."""
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


class Cut(NamedTuple):
    """A way to split a node.

    Attributes
    ----------
    feature : int
        Column that decides.
    cut_bin : int
        Last bin that goes left.
    missing_left : bool
        Whether missing values go left.
    left, right : list of float
        Class weights of the two sides, as parts of the weight of all rows.
    """

    feature: int
    cut_bin: int
    missing_left: bool
    left: list[float]
    right: list[float]


def best_cut(
    histograms: IntArray,
    total: int,
    n_edges: IntArray,
    criterion: str,
    *,
    idle_splits: bool = False,
    threads: Threads = SERIAL,
) -> Cut | None:
    """Return the best cut of a node.

    Parameters
    ----------
    histograms, total, n_edges, threads
        As for `best_cuts`.
    criterion : {"error", "gini", "entropy", "gain_ratio"}
        The cut of largest gain; or C4.5's: the best gain ratio among the columns of at least average gain.
    idle_splits : bool, default=False
        Whether a cut that gains nothing will do.

    Returns
    -------
    Cut or None
        None where no cut gains anything.
    """
    gains, candidates, left_weights = best_cuts(histograms, total, n_edges, criterion, threads=threads)
    by_ratio = criterion == "gain_ratio"
    least = -TIE if idle_splits else TIE
    sides = np.empty((2, histograms.shape[1]))
    feature, cut_bin, missing_left = _choose(
        histograms, gains, candidates, left_weights, total, by_ratio, least, TIE, sides
    )
    left, right = sides.tolist()
    return None if feature < 0 else Cut(feature, cut_bin, bool(missing_left), left, right)


@compiled()
def _choose(
    histograms: IntArray,
    gains: FloatArray,
    candidates: IntArray,
    left_weights: FloatArray,
    total: int,
    by_ratio: bool,
    least: float,
    tie: float,
    sides: FloatArray,
) -> tuple[int, int, int]:
    n_columns, n_classes, n_bins = histograms.shape
    if by_ratio:
        # The gains become ratios, those of columns that are not looked at -inf.
        units, n_promising, mean = 0, 0, 0.0
        for k in range(n_classes):
            for b in range(n_bins):
                units += histograms[0, k, b]
        node = units / total
        for j in range(n_columns):
            if gains[j] / node > tie:
                n_promising += 1
                mean += gains[j] / node
        for j in range(n_columns):
            gain, gains[j] = gains[j] / node, -np.inf
            if gain > tie and gain >= mean / n_promising - tie:
                share = left_weights[j] / node
                gains[j] = gain / -(share * np.log2(share) + (1 - share) * np.log2(1 - share))
        least = 0.0
    best, feature = -np.inf, -1
    for j in range(n_columns):
        best = max(best, gains[j])
    for j in range(n_columns):
        if gains[j] >= best - tie and gains[j] > least:
            feature = j
            break
    if feature < 0:
        return -1, 0, 0
    candidate, column = candidates[feature], histograms[feature]
    cut_bin = candidate >> 1
    some_missing, left, right = False, 0.0, 0.0
    for k in range(n_classes):
        left_units, right_units = 0, 0
        for b in range(cut_bin + 1):
            left_units += column[k, b]
        for b in range(cut_bin + 1, n_bins - 1):
            right_units += column[k, b]
        sides[0, k], sides[1, k] = left_units / total, right_units / total
        left, right = left + sides[0, k], right + sides[1, k]
        some_missing |= column[k, n_bins - 1] != 0
    missing_left = candidate & 1
    if not some_missing:
        # A value that is missing later goes where most rows went.
        missing_left = 1 if left >= right - tie else 0
    for k in range(n_classes):
        sides[1 - missing_left, k] += column[k, n_bins - 1] / total
    return feature, cut_bin, missing_left


def best_cuts(
    histograms: IntArray, total: int, n_edges: IntArray, criterion: str, *, threads: Threads = SERIAL
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return the best candidate of every column.

    Parameters
    ----------
    histograms : int64 ndarray of shape (n_columns, n_classes, n_bins)
        Weights in whole numbers. The last bin holds the missing values.
    total : int
        Weight of all rows, also of those in other nodes; gains and weights are told as parts of it.
    n_edges : int ndarray of shape (n_columns,)
    criterion : {"error", "gini", "entropy", "gain_ratio"}
        The gain is the weight of the node times its impurity, less the same of both sides; for the gain ratio the
        impurity is the entropy.
    threads : Threads, default=SERIAL
        Threads that share the columns, where these are many.

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

    def work(start: int, stop: int) -> None:
        some = slice(start, stop)
        results = gains[some], candidates[some], left_weights[some]
        _best_cuts(histograms[some], n_edges[some], IMPURITIES[criterion], 1.0 / total, TIE, *results)

    if histograms.size < SHARED_SIZE:
        work(0, n_columns)
    else:
        threads.share(n_columns, work)
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
    def impurity(classes: FloatArray, others: FloatArray, share: float) -> float:
        # of a side with classes + share · others, times its weight
        weight, largest, squares, logs = 0.0, 0.0, 0.0, 0.0
        for k in range(len(classes) + 1):
            w = classes[k] + share * others[k] if k < len(classes) else weight
            if criterion == 2 and w > 0.0:
                logs += w * np.log2(w) if k == len(classes) else -w * np.log2(w)
            if k < len(classes):
                weight += w
                largest = max(largest, w)
                squares += w * w
        if criterion == 2 or weight <= 0.0:
            return logs
        return weight - largest if criterion == 0 else weight - squares / weight

    n_columns, n_classes, n_bins = histograms.shape
    places, filled = np.empty(n_bins, dtype=np.uintp), np.empty(n_bins, dtype=np.uint64)
    sums = np.empty((n_classes, n_bins), dtype=np.uint64)
    # Of both sides, left and right: the weight of each class without missing values, of all, and their impurity.
    classes = np.empty((2, n_classes, n_bins))
    weights, impurities = np.empty((2, n_bins)), np.empty((2, n_bins))
    column_gains = np.empty((2, n_bins))
    part, powers, rest = np.empty(n_bins), np.empty(n_bins), np.empty(n_bins)
    bits, power_bits, rest_bits = part.view(np.uint64), powers.view(np.uint64), rest.view(np.uint64)
    observed, missing = np.empty(n_classes), np.empty(n_classes)
    side_weights, whole_impurities = np.empty(n_classes), np.empty(3)
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
        some_missing, all_observed, all_missing = False, 0.0, 0.0
        for k in range(n_classes):
            whole = np.uint64(0)
            for c in range(n):
                whole += bins[k, places[c]]
                sums[k, c] = whole
            whole += bins[k, last]
            for c in range(n):
                classes[0, k, c] = np.float64(sums[k, c]) * unit
            for c in range(n):
                classes[1, k, c] = np.float64(whole - sums[k, c]) * unit
            observed[k], missing[k] = np.float64(whole) * unit, np.float64(bins[k, n_bins - 1]) * unit
            some_missing |= bins[k, n_bins - 1] != 0
            all_observed, all_missing = all_observed + observed[k], all_missing + missing[k]
        # Of the node, and of the sides where missing values are separated from all others.
        for number in range(3 if some_missing else 1):
            whole_impurities[number] = impurity(
                missing if number == 2 else observed, missing, 1.0 if number == 0 else 0.0
            )
        node = whole_impurities[0]
        best = -np.inf
        for missing_left in range(2 if some_missing else 1):
            for side in range(2):
                weight, out = weights[side], impurities[side]
                for c in range(n):
                    weight[c], out[c] = 0.0, 0.0
                share = 1.0 if side != missing_left else 0.0
                for k in range(n_classes + 1 if criterion == 2 else n_classes):
                    if k < n_classes:
                        more = share * missing[k]
                        for c in range(n):
                            part[c] = classes[side, k, c] + more
                            weight[c] += part[c]
                    else:
                        for c in range(n):
                            part[c] = weight[c]
                    if criterion == 0:
                        for c in range(n):
                            out[c] = max(out[c], part[c])
                    elif criterion == 1:
                        for c in range(n):
                            out[c] += part[c] * part[c]
                    else:
                        # w = 2^power · rest; both are read off the bits of w. A power in the last bits of 2^52 is that
                        # many units.
                        for c in range(n):
                            power_bits[c] = (bits[c] >> np.uint64(52)) | np.uint64(0x4330000000000000)
                            rest_bits[c] = (bits[c] & np.uint64(0x000FFFFFFFFFFFFF)) | np.uint64(0x3FF0000000000000)
                        sign = -1.0 if k < n_classes else 1.0
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
                            out[c] += sign * part[c] * (log + (powers[c] - (4503599627370496.0 + 1023.0)))
                if criterion == 0:
                    for c in range(n):
                        out[c] = weight[c] - out[c]
                elif criterion == 1:
                    for c in range(n):
                        out[c] = weight[c] - out[c] / max(weight[c], unit)
            for c in range(n):
                gain = node - impurities[0, c] - impurities[1, c]
                gain = gain if (weights[0, c] > 0.0) & (weights[1, c] > 0.0) else -np.inf
                column_gains[missing_left, c] = gain
                best = max(best, gain)
        if criterion == 2 and best > -np.inf:
            # Two sides and their classes weigh 2 at most: twice the error of that, in each of two candidates.
            near, best = best - tie - 8 * LOG2_ERROR, -np.inf
            for missing_left in range(2 if some_missing else 1):
                for c in range(n):
                    if column_gains[missing_left, c] >= near:
                        gain = node
                        for side in range(2):
                            for k in range(n_classes):
                                side_weights[k] = classes[side, k, c]
                            gain -= impurity(side_weights, missing, 1.0 if side != missing_left else 0.0)
                        column_gains[missing_left, c] = gain
                        best = max(best, gain)
        missing_alone = -np.inf
        if some_missing and all_observed > 0.0:
            missing_alone = node - whole_impurities[1] - whole_impurities[2]
            best = max(best, missing_alone)
        if best == -np.inf:
            continue
        gains[j], candidates[j], left_weights[j] = missing_alone, 2 * last, all_observed
        for c in range(n):
            right_wins = column_gains[0, c] >= best - tie
            if right_wins or (some_missing and column_gains[1, c] >= best - tie):
                missing_left = 0 if right_wins else 1
                gains[j], candidates[j] = column_gains[missing_left, c], 2 * places[c] + missing_left
                left_weights[j] = missing_left * all_missing
                for k in range(n_classes):
                    left_weights[j] += classes[0, k, c]
                break
