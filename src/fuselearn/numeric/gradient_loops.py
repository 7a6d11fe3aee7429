"""The loops of gradient boosting on whole-number gradients that all growth of trees shares.

`gradient_histograms` says what they compute, and calls them for a leaf; `whole_tree` calls them from loops of its own.
"""

import numpy as np

from fuselearn.numeric.execution import compiled
from fuselearn.numeric.growth_arrays import CountedRows, SplitRules
from fuselearn.typing import FloatArray, IntArray

COUNT_BITS = 17
"""Bits of a word that count rows; those above hold the sum of their h."""
CHUNK_ROWS = 2**13
"""Rows whose gradients stay in the cache while all columns pass by. Their words can be added up: 2¹³ < 2¹⁷."""
LEAST_HESSIAN = 1e-3
"""Least sum of h on each side of a split: less says nothing about a value."""
LEAST_GAIN = 1e-12
"""Gain of a split, as a share of the scores of its sides, that is more than rounding."""
TIE_SHARE = 1e-10
"""Share of a score or gain by which another one must be larger to win: sums of weighted rows, or exponentials on a GPU,
round differently from those of repeated rows on this machine."""
NEARLY = 1 - 1e-9
"""Share of the best score below which a split is worse, whatever the rounding."""
CATEGORY_SMOOTHING = 10.0
"""Added to the h of a category where categories are ordered, and to that of both sides of a split into sets: a rare
category has an extreme mean by chance."""
G, H, WEIGHT = range(3)
"""Rows of a histogram, and fields of the sums of a leaf."""
SCORE, CUT, DIRECTION = range(3)
"""Fields of the best split on a column; `CUT` is the last bin that goes left, or how many ordered categories do."""


@compiled()
def fill_loop(counted: CountedRows, rows: IntArray, histogram: IntArray, first: int, last: int) -> None:
    # Two columns at a time: their additions are independent of each other, so none waits for the last one's store, and
    # a row's number and gradients are loaded once for both. Indices without a sign need no look at the end.
    bins, columns, n_values = counted.bins, counted.columns, counted.n_values
    g, h, weights = counted.g, counted.h, counted.weights
    n_rows, n_bins = len(rows), histogram.shape[2]
    missing = n_bins - 1
    weighted = len(weights) > 0
    one = np.uintp(1)
    chunk_g = np.empty(min(n_rows, CHUNK_ROWS), np.int64)
    chunk_words = np.empty(len(chunk_g), np.int64)
    totals = np.empty((2, 2 * n_bins), np.int64)
    totals0, totals1 = totals[0], totals[1]
    histogram[first:last] = 0
    for start in range(0, n_rows, CHUNK_ROWS):
        chunk = rows[start : min(start + CHUNK_ROWS, n_rows)]
        for i in range(len(chunk)):
            chunk_g[i] = g[chunk[i]]
            chunk_words[i] = (np.int64(h[chunk[i]]) << COUNT_BITS) + 1
        for place in range(first, last, 2):
            second = min(place + 1, last - 1)
            column0, column1 = bins[columns[place]], bins[columns[second]]
            n_used = max(n_values[columns[place]], n_values[columns[second]])
            for j in range(2 * n_used):
                totals0[j], totals1[j] = 0, 0
            for j in range(2 * missing, 2 * n_bins):
                totals0[j], totals1[j] = 0, 0
            for i in range(len(chunk)):
                row = np.uintp(chunk[i])
                row_g, row_word = chunk_g[i], chunk_words[i]
                j0, j1 = np.uintp(column0[row]) << one, np.uintp(column1[row]) << one
                totals0[j0] += row_g
                totals0[j0 + one] += row_word
                totals1[j1] += row_g
                totals1[j1 + one] += row_word
            for k in range(second - place + 1):
                sums_g, sums_h = histogram[place + k, G], histogram[place + k, H]
                sums_w, of_column = histogram[place + k, WEIGHT], totals[k]
                for b in range(n_used):
                    word = of_column[2 * b + 1]
                    sums_g[b] += of_column[2 * b]
                    sums_h[b] += word >> COUNT_BITS
                    sums_w[b] += word & ((1 << COUNT_BITS) - 1)
                word = of_column[2 * missing + 1]
                sums_g[missing] += of_column[2 * missing]
                sums_h[missing] += word >> COUNT_BITS
                sums_w[missing] += word & ((1 << COUNT_BITS) - 1)
    if weighted:
        for place in range(first, last):
            column = bins[columns[place]]
            sums_w = histogram[place, WEIGHT]
            for b in range(n_bins):
                sums_w[b] = 0
            for i in range(n_rows):
                sums_w[column[rows[i]]] += weights[rows[i]]


@compiled()
def subtract_loop(histogram: IntArray, child: IntArray) -> None:
    for column in range(len(histogram)):
        for field in range(histogram.shape[1]):
            whole, part = histogram[column, field], child[column, field]
            for b in range(len(whole)):
                whole[b] -= part[b]


@compiled()
def scan_loop(
    histogram: IntArray,
    sums: tuple[int, int, int],
    bounds: tuple[float, float],
    rules: SplitRules,
    orders: IntArray,
    n_ordered: IntArray,
    splits: FloatArray,
    left_sums: IntArray,
    first: int,
    last: int,
) -> None:
    g, h, weight = sums
    lower, upper = bounds
    unit_g, unit_h, l2, least_w, least_h = rules.unit_g, rules.unit_h, rules.l2, rules.least_w, rules.least_h
    missing = histogram.shape[2] - 1
    unbounded = lower == -np.inf and upper == np.inf
    for column in range(first, last):
        sums_g, sums_h, sums_w = histogram[column, G], histogram[column, H], histogram[column, WEIGHT]
        sign, place = rules.monotonic[column], rules.order_of_column[column]
        n_directions, n_cuts, penalty = 1, rules.n_values[column] - 1, l2
        if place >= 0:
            n_cuts, penalty = n_ordered[place] - 1, l2 + CATEGORY_SMOOTHING
        elif sums_w[missing] > 0:
            n_directions = 2
        best_score, best_cut, best_direction = -np.inf, -1, 0
        best_g, best_h, best_w = 0, 0, 0
        threshold = 0.0
        for direction in range(n_directions):
            left_g, left_h, left_w = 0, 0, 0
            stop = n_cuts
            if direction == 1:
                left_g, left_h, left_w = sums_g[missing], sums_h[missing], sums_w[missing]
            elif n_directions == 2:
                stop = n_cuts + 1  # all values on one side, the missing ones on the other
            for cut in range(stop):
                b = orders[place, cut] if place >= 0 else cut
                left_g += sums_g[b]
                left_h += sums_h[b]
                left_w += sums_w[b]
                if left_w < least_w or left_h < least_h:
                    continue
                if weight - left_w < least_w or h - left_h < least_h:
                    break
                side_g, other_g = left_g * unit_g, (g - left_g) * unit_g
                side_h, other_h = left_h * unit_h + penalty, (h - left_h) * unit_h + penalty
                # Without bounds the score is side_g²/side_h + other_g²/other_h. Most splits are not the best one by
                # far, which shows without a division.
                if unbounded and side_g * side_g * other_h + other_g * other_g * side_h < threshold * side_h * other_h:
                    continue
                side_value = min(max(-side_g / side_h, lower), upper)
                other_value = min(max(-other_g / other_h, lower), upper)
                if sign * (other_value - side_value) < 0:
                    continue
                score = -side_value * (2 * side_g + side_h * side_value) - other_value * (
                    2 * other_g + other_h * other_value
                )
                if best_cut < 0 or score > best_score + TIE_SHARE * abs(best_score):
                    best_score, best_cut, best_direction = score, cut, direction
                    threshold = score * NEARLY
                    best_g, best_h, best_w = left_g, left_h, left_w
        splits[column, SCORE], splits[column, CUT], splits[column, DIRECTION] = best_score, best_cut, best_direction
        left_sums[column, G], left_sums[column, H], left_sums[column, WEIGHT] = best_g, best_h, best_w


@compiled()
def split_loop(rows: IntArray, scratch: IntArray, column: IntArray, goes_left: IntArray) -> int:
    left = right = np.int64(0)
    for i in range(len(rows)):
        row = rows[i]
        is_left = np.int64(goes_left[column[row]])
        # Both are written, and one of them again by a later row: no branch that the processor would have to guess.
        rows[left] = row
        scratch[right] = row
        left += is_left
        right += 1 - is_left
    for i in range(right):
        rows[left + i] = scratch[i]
    return int(left)
