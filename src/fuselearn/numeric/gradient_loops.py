"""The compiled loops of gradient boosting, on whole-number gradients: see `gradient_histograms` and `whole_tree`.

They stand in one file since they call each other: what numba keeps on disk of a loop is not renewed when a loop changes
that it calls from another file.
"""

import numpy as np

from fuselearn.numeric.execution import compiled
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
def fill_loop(
    bins: IntArray,
    columns: IntArray,
    rows: IntArray,
    g: IntArray,
    h: IntArray,
    weights: IntArray,
    n_values: IntArray,
    histogram: IntArray,
    first: int,
    last: int,
) -> None:
    # Two columns at a time: their additions are independent of each other, so none waits for the last one's store, and
    # a row's number and gradients are loaded once for both. Indices without a sign need no look at the end.
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
    n_values: IntArray,
    g: int,
    h: int,
    weight: int,
    unit_g: float,
    unit_h: float,
    lower: float,
    upper: float,
    monotonic: IntArray,
    order_of_column: IntArray,
    orders: IntArray,
    n_ordered: IntArray,
    l2: float,
    least_w: int,
    least_h: int,
    splits: FloatArray,
    left_sums: IntArray,
) -> None:
    n_columns, _, n_bins = histogram.shape
    missing = n_bins - 1
    unbounded = lower == -np.inf and upper == np.inf
    for column in range(n_columns):
        sums_g, sums_h, sums_w = histogram[column, G], histogram[column, H], histogram[column, WEIGHT]
        sign, place = monotonic[column], order_of_column[column]
        n_directions, n_cuts, penalty = 1, n_values[column] - 1, l2
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


@compiled()
def _score(g: int, h: int, unit_g: float, unit_h: float, l2: float, lower: float, upper: float) -> tuple[float, float]:
    """Return the value of a leaf, and twice what it lowers the regularised loss by."""
    whole_g, whole_h = g * unit_g, h * unit_h + l2
    value = min(max(-whole_g / whole_h, lower), upper) if whole_h > 0 else 0.0
    return value, -value * (2 * whole_g + whole_h * value)


@compiled()
def _order_categories(
    histogram: IntArray, places: IntArray, unit_g: float, unit_h: float, orders: IntArray, n_ordered: IntArray
) -> None:
    """Sort the categories of categorical columns; see `ordered_categories`."""
    means = np.empty(histogram.shape[2])
    for k in range(len(places)):
        column = histogram[places[k]]
        n_present = 0
        for b in range(histogram.shape[2]):
            if column[WEIGHT, b] > 0:
                mean = column[G, b] * unit_g / (column[H, b] * unit_h + CATEGORY_SMOOTHING)
                i = n_present
                while i > 0 and means[i - 1] > mean:
                    means[i], orders[k, i] = means[i - 1], orders[k, i - 1]
                    i -= 1
                means[i], orders[k, i] = mean, b
                n_present += 1
        n_ordered[k] = n_present


@compiled()
def _look_at(
    histogram: IntArray,
    node: int,
    n_values: IntArray,
    monotonic: IntArray,
    order_of_column: IntArray,
    categorical_places: IntArray,
    unit_g: float,
    unit_h: float,
    l2: float,
    least_w: int,
    least_h: int,
    splits: FloatArray,
    left_sums: IntArray,
    orders: IntArray,
    n_ordered: IntArray,
    node_sums: IntArray,
    node_bounds: FloatArray,
    node_gain: FloatArray,
    node_place: IntArray,
    node_cut: IntArray,
    node_left_sums: IntArray,
    goes_left: IntArray,
) -> None:
    """Find the best split of a node; see `SplitFinder.best_split`."""
    node_gain[node] = -np.inf
    g, h, weight = node_sums[node]
    if weight < 2 * least_w:
        return
    lower, upper = node_bounds[node]
    _order_categories(histogram, categorical_places, unit_g, unit_h, orders, n_ordered)
    scan_loop(
        histogram, n_values, g, h, weight, unit_g, unit_h, lower, upper, monotonic, order_of_column, orders, n_ordered,
        l2, least_w, least_h, splits, left_sums,
    )  # fmt: skip
    largest = -np.inf
    for place in range(len(splits)):
        largest = max(largest, splits[place, SCORE])
    if largest == -np.inf:
        return
    place = 0
    while splits[place, SCORE] < largest - TIE_SHARE * abs(largest):
        place += 1
    score = splits[place, SCORE]
    gain = score - _score(g, h, unit_g, unit_h, l2, lower, upper)[1]
    if not gain > LEAST_GAIN * abs(score):
        return
    cut, missing = int(splits[place, CUT]), histogram.shape[2] - 1
    heavier = left_sums[place, WEIGHT] >= weight - left_sums[place, WEIGHT]
    for b in range(256):
        goes_left[node, b] = heavier
    order = order_of_column[place]
    if order >= 0:
        for i in range(n_ordered[order]):
            goes_left[node, orders[order, i]] = i <= cut
    else:
        for b in range(missing):
            goes_left[node, b] = b <= cut
        if histogram[place, WEIGHT, missing] > 0:
            goes_left[node, missing] = splits[place, DIRECTION] > 0
    node_gain[node], node_place[node], node_cut[node] = gain, place, cut
    for i in range(3):
        node_left_sums[node, i] = left_sums[place, i]


@compiled()
def grow_loop(
    bins: IntArray,
    columns: IntArray,
    rows: IntArray,
    scratch: IntArray,
    g: IntArray,
    h: IntArray,
    weights: IntArray,
    n_values_of_all: IntArray,
    n_values: IntArray,
    monotonic: IntArray,
    order_of_column: IntArray,
    categorical_places: IntArray,
    unit_g: float,
    unit_h: float,
    l2: float,
    least_w: int,
    least_h: int,
    max_depth: int,
    histograms: IntArray,
    splits: FloatArray,
    left_sums: IntArray,
    orders: IntArray,
    n_ordered: IntArray,
    node_sums: IntArray,
    node_bounds: FloatArray,
    node_gain: FloatArray,
    node_place: IntArray,
    node_cut: IntArray,
    node_left: IntArray,
    node_rows: IntArray,
    goes_left: IntArray,
) -> int:
    n_columns, max_leaf_nodes = len(columns), len(histograms)
    node_left_sums = np.empty((len(node_gain), 3), np.int64)
    node_slot, node_depth = np.zeros(len(node_gain), np.intp), np.zeros(len(node_gain), np.intp)
    root = int(np.intp(0))  # a literal would be a type of its own, for which loops are compiled once more
    fill_loop(bins, columns, rows, g, h, weights, n_values_of_all, histograms[0], root, n_columns)
    for i in range(3):
        node_sums[0, i] = 0
        for b in range(histograms.shape[3]):  # every row is in some bin of the first column
            node_sums[0, i] += histograms[0, 0, i, b]
    node_bounds[0, 0], node_bounds[0, 1] = -np.inf, np.inf
    node_rows[0, 0], node_rows[0, 1] = 0, len(rows)
    node_left[0] = -1
    _look_at(
        histograms[0], root, n_values, monotonic, order_of_column, categorical_places, unit_g, unit_h, l2, least_w,
        least_h, splits, left_sums, orders, n_ordered, node_sums, node_bounds, node_gain, node_place, node_cut,
        node_left_sums, goes_left,
    )  # fmt: skip
    n_nodes, n_leaves = 1, 1
    while n_leaves < max_leaf_nodes:
        largest = -np.inf
        for node in range(n_nodes):
            if node_left[node] < 0:
                largest = max(largest, node_gain[node])
        if largest == -np.inf:
            break
        best = 0
        while node_left[best] >= 0 or node_gain[best] < largest * (1 - TIE_SHARE):
            best += 1
        start, stop, place = node_rows[best, 0], node_rows[best, 1], node_place[best]
        middle = start + split_loop(rows[start:stop], scratch[start:stop], bins[columns[place]], goes_left[best])
        left, right = n_nodes, n_nodes + 1
        node_left[best] = left
        node_rows[left, 0], node_rows[left, 1] = start, middle
        node_rows[right, 0], node_rows[right, 1] = middle, stop
        for i in range(3):
            node_sums[left, i] = node_left_sums[best, i]
            node_sums[right, i] = node_sums[best, i] - node_left_sums[best, i]
        lower, upper = node_bounds[best, 0], node_bounds[best, 1]
        for child in range(left, right + 1):
            node_left[child], node_gain[child] = -1, -np.inf
            node_depth[child] = node_depth[best] + 1
            node_bounds[child, 0], node_bounds[child, 1] = lower, upper
        if monotonic[place] != 0:
            left_value, _ = _score(node_sums[left, G], node_sums[left, H], unit_g, unit_h, l2, lower, upper)
            right_value, _ = _score(node_sums[right, G], node_sums[right, H], unit_g, unit_h, l2, lower, upper)
            between = (left_value + right_value) / 2
            low, high = (left, right) if monotonic[place] > 0 else (right, left)
            node_bounds[low, 1], node_bounds[high, 0] = between, between
        n_nodes += 2
        n_leaves += 1
        if n_leaves == max_leaf_nodes or node_depth[left] >= max_depth:
            continue
        # The child of less weight is counted; the other one's histogram is what is left of the parent's.
        small, large = (left, right) if node_sums[left, WEIGHT] <= node_sums[right, WEIGHT] else (right, left)
        node_slot[small], node_slot[large] = n_leaves - 1, node_slot[best]
        counted, rest = histograms[node_slot[small]], histograms[node_slot[large]]
        fill_loop(
            bins, columns, rows[node_rows[small, 0] : node_rows[small, 1]], g, h, weights, n_values_of_all, counted,
            root, n_columns,
        )  # fmt: skip
        subtract_loop(rest, counted)
        for child in range(left, right + 1):
            _look_at(
                histograms[node_slot[child]], child, n_values, monotonic, order_of_column, categorical_places, unit_g,
                unit_h, l2, least_w, least_h, splits, left_sums, orders, n_ordered, node_sums, node_bounds, node_gain,
                node_place, node_cut, node_left_sums, goes_left,
            )  # fmt: skip
    return n_nodes
