"""The compiled loops of gradient boosting, on whole-number gradients: see `gradient_histograms` and `whole_tree`.

They stand in one file since they call each other: what numba keeps on disk of a loop is not renewed when a loop changes
that it calls from another file.
"""

import numpy as np

from fuselearn.numeric.barrier import all_arrive
from fuselearn.numeric.execution import compiled
from fuselearn.numeric.growth_arrays import CountedRows, Nodes, SplitRules, SplitSpace
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
BEST, SMALL = range(2)
"""What the first thread tells the others: the leaf to split, and its child that is counted."""
LEAST_ROWS = 2**12
"""Rows of a leaf for each thread below which one of them splits it."""
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


@compiled()
def _score(g: int, h: int, rules: SplitRules, lower: float, upper: float) -> tuple[float, float]:
    """Return the value of a leaf, and twice what it lowers the regularised loss by."""
    whole_g, whole_h = g * rules.unit_g, h * rules.unit_h + rules.l2
    value = min(max(-whole_g / whole_h, lower), upper) if whole_h > 0 else 0.0
    return value, -value * (2 * whole_g + whole_h * value)


@compiled()
def _order_categories(
    histogram: IntArray, rules: SplitRules, orders: IntArray, n_ordered: IntArray, first: int, last: int
) -> None:
    """Sort the categories of some columns of categories; see `ordered_categories`."""
    means = np.empty(histogram.shape[2])
    for k in range(first, last):
        column = histogram[rules.categorical[k]]
        n_present = 0
        for b in range(histogram.shape[2]):
            if column[WEIGHT, b] > 0:
                mean = column[G, b] * rules.unit_g / (column[H, b] * rules.unit_h + CATEGORY_SMOOTHING)
                i = n_present
                while i > 0 and means[i - 1] > mean:
                    means[i], orders[k, i] = means[i - 1], orders[k, i - 1]
                    i -= 1
                means[i], orders[k, i] = mean, b
                n_present += 1
        n_ordered[k] = n_present


@compiled()
def scan_node_loop(
    histogram: IntArray, node: int, rules: SplitRules, nodes: Nodes, space: SplitSpace, k: int, first: int, last: int
) -> None:
    # The best split of a node on each column from the first to before the last, in row k of the memory.
    g, h, weight = nodes.sums[node]
    if weight < 2 * rules.least_w:
        return
    first_order = int(np.searchsorted(rules.categorical, first))
    last_order = int(np.searchsorted(rules.categorical, last))
    _order_categories(histogram, rules, space.orders, space.n_ordered, first_order, last_order)
    bounds = nodes.bounds[node, 0], nodes.bounds[node, 1]
    scan_loop(
        histogram, (g, h, weight), bounds, rules, space.orders, space.n_ordered, space.splits[k], space.left_sums[k],
        first, last,
    )  # fmt: skip


@compiled()
def choose_split_loop(
    histogram: IntArray, node: int, rules: SplitRules, nodes: Nodes, space: SplitSpace, k: int
) -> None:
    # The best of these splits over all columns; see `SplitFinder.best_split`.
    nodes.gain[node] = -np.inf
    g, h, weight = nodes.sums[node]
    if weight < 2 * rules.least_w:
        return
    splits, left_sums = space.splits[k], space.left_sums[k]
    largest = -np.inf
    for place in range(len(splits)):
        largest = max(largest, splits[place, SCORE])
    if largest == -np.inf:
        return
    place = 0
    while splits[place, SCORE] < largest - TIE_SHARE * abs(largest):
        place += 1
    score = splits[place, SCORE]
    gain = score - _score(g, h, rules, nodes.bounds[node, 0], nodes.bounds[node, 1])[1]
    if not gain > LEAST_GAIN * abs(score):
        return
    cut, missing = int(splits[place, CUT]), histogram.shape[2] - 1
    goes_left = nodes.goes_left[node]
    heavier = left_sums[place, WEIGHT] >= weight - left_sums[place, WEIGHT]
    for b in range(256):
        goes_left[b] = heavier
    order = rules.order_of_column[place]
    if order >= 0:
        # Sorted once more: other nodes may have been looked at since.
        _order_categories(histogram, rules, space.orders, space.n_ordered, order, order + 1)
        for i in range(space.n_ordered[order]):
            goes_left[space.orders[order, i]] = i <= cut
    else:
        for b in range(missing):
            goes_left[b] = b <= cut
        if histogram[place, WEIGHT, missing] > 0:
            goes_left[missing] = splits[place, DIRECTION] > 0
    nodes.gain[node], nodes.place[node], nodes.cut[node] = gain, place, cut
    for i in range(3):
        nodes.left_sums[node, i] = left_sums[place, i]


@compiled()
def start_loop(histogram: IntArray, n_rows: int, nodes: Nodes) -> None:
    # The root: every row is in some bin of the first column.
    for i in range(3):
        nodes.sums[0, i] = 0
        for b in range(histogram.shape[2]):
            nodes.sums[0, i] += histogram[0, i, b]
    nodes.bounds[0, 0], nodes.bounds[0, 1] = -np.inf, np.inf
    nodes.rows[0, 0], nodes.rows[0, 1] = 0, n_rows
    nodes.left[0], nodes.slot[0], nodes.depth[0] = -1, 0, 0


@compiled()
def part_loop(
    node: int, counted: CountedRows, nodes: Nodes, n_left: IntArray, thread: int, n_threads: int, barrier: IntArray
) -> int:
    # Rows that go left come before the others, all in their order; returns where the others begin.
    start, stop = nodes.rows[node, 0], nodes.rows[node, 1]
    column, goes_left = counted.bins[counted.columns[nodes.place[node]]], nodes.goes_left[node]
    rows, scratch = counted.rows, counted.scratch
    if stop - start < LEAST_ROWS * n_threads or n_threads == 1:
        if thread > 0:
            return -1
        return start + split_loop(rows[start:stop], scratch[start:stop], column, goes_left)
    first = start + (stop - start) * thread // n_threads
    last = start + (stop - start) * (thread + 1) // n_threads
    n_left[thread] = 0
    for i in range(first, last):
        n_left[thread] += goes_left[column[rows[i]]]
    all_arrive(barrier, n_threads)
    left, middle = start, start
    for k in range(n_threads):
        left += n_left[k] if k < thread else 0
        middle += n_left[k]
    right = middle + (first - start) - (left - start)
    for i in range(first, last):
        is_left = np.int64(goes_left[column[rows[i]]])
        scratch[left if is_left else right] = rows[i]
        left += is_left
        right += 1 - is_left
    all_arrive(barrier, n_threads)
    for i in range(first, last):
        rows[i] = scratch[i]
    return middle


@compiled()
def make_children_loop(node: int, left: int, middle: int, rules: SplitRules, nodes: Nodes) -> None:
    # The children of a node are numbered `left` and one more; the rows from `middle` on go right.
    start, stop, place = nodes.rows[node, 0], nodes.rows[node, 1], nodes.place[node]
    right = left + 1
    nodes.left[node] = left
    nodes.rows[left, 0], nodes.rows[left, 1] = start, middle
    nodes.rows[right, 0], nodes.rows[right, 1] = middle, stop
    for i in range(3):
        nodes.sums[left, i] = nodes.left_sums[node, i]
        nodes.sums[right, i] = nodes.sums[node, i] - nodes.left_sums[node, i]
    lower, upper = nodes.bounds[node, 0], nodes.bounds[node, 1]
    for child in range(left, left + 2):
        nodes.left[child], nodes.gain[child], nodes.depth[child] = -1, -np.inf, nodes.depth[node] + 1
        nodes.bounds[child, 0], nodes.bounds[child, 1] = lower, upper
    if rules.monotonic[place] != 0:
        left_value, _ = _score(nodes.sums[left, G], nodes.sums[left, H], rules, lower, upper)
        right_value, _ = _score(nodes.sums[right, G], nodes.sums[right, H], rules, lower, upper)
        between = (left_value + right_value) / 2
        low, high = (left, right) if rules.monotonic[place] > 0 else (right, left)
        nodes.bounds[low, 1], nodes.bounds[high, 0] = between, between


@compiled()
def give_slots_loop(node: int, new_slot: int, nodes: Nodes) -> int:
    # The child of less weight is counted, and returned; the other one's histogram is what is left of the parent's.
    left = nodes.left[node]
    small, large = (left, left + 1) if nodes.sums[left, WEIGHT] <= nodes.sums[left + 1, WEIGHT] else (left + 1, left)
    nodes.slot[small], nodes.slot[large] = new_slot, nodes.slot[node]
    return small


@compiled()
def best_leaf_loop(n_nodes: int, nodes: Nodes) -> int:
    # The leaf whose split gains most, of those that tie the first one; -1 where no leaf has a split.
    largest = -np.inf
    for node in range(n_nodes):
        if nodes.left[node] < 0:
            largest = max(largest, nodes.gain[node])
    if largest == -np.inf:
        return -1
    best = 0
    while nodes.left[best] >= 0 or nodes.gain[best] < largest * (1 - TIE_SHARE):
        best += 1
    return best


@compiled()
def look_at_children_loop(
    small: int,
    left: int,
    counted: CountedRows,
    rules: SplitRules,
    nodes: Nodes,
    histograms: IntArray,
    space: SplitSpace,
    first: int,
    last: int,
) -> None:
    # Histograms and best splits of two children, of which the smaller one is counted, on some of the columns.
    histogram, rest = histograms[nodes.slot[small]], histograms[nodes.slot[2 * left + 1 - small]]
    fill_loop(counted, counted.rows[nodes.rows[small, 0] : nodes.rows[small, 1]], histogram, first, last)
    subtract_loop(rest[first:last], histogram[first:last])
    for k in range(2):
        scan_node_loop(histograms[nodes.slot[left + k]], left + k, rules, nodes, space, k, first, last)


@compiled()
def grow_loop(
    counted: CountedRows,
    rules: SplitRules,
    nodes: Nodes,
    histograms: IntArray,
    space: SplitSpace,
    max_leaf_nodes: int,
    step: IntArray,
    n_left: IntArray,
    thread: int,
    n_threads: int,
    barrier: IntArray,
) -> int:
    # All threads run this at the same time, and take the same steps. Each counts and scans some columns, and takes its
    # part of the rows; the first one does all the rest. Returns the number of nodes.
    n_pairs = (len(counted.columns) + 1) // 2  # columns are counted two at a time
    first = 2 * (n_pairs * thread // n_threads)
    last = min(2 * (n_pairs * (thread + 1) // n_threads), len(counted.columns))
    # Literals would be types of their own, for which loops are compiled once more.
    root, n_nodes, n_leaves = int(np.intp(0)), int(np.intp(1)), int(np.intp(1))
    fill_loop(counted, counted.rows, histograms[0], first, last)
    all_arrive(barrier, n_threads)
    if thread == 0:
        start_loop(histograms[0], len(counted.rows), nodes)
    all_arrive(barrier, n_threads)
    scan_node_loop(histograms[0], root, rules, nodes, space, root, first, last)
    all_arrive(barrier, n_threads)
    if thread == 0:
        choose_split_loop(histograms[0], root, rules, nodes, space, root)
    while n_leaves < max_leaf_nodes:
        if thread == 0:
            step[BEST] = best_leaf_loop(n_nodes, nodes)
        all_arrive(barrier, n_threads)
        best, left = step[BEST], n_nodes
        if best < 0:
            break
        middle = part_loop(best, counted, nodes, n_left, thread, n_threads, barrier)
        n_nodes += 2
        n_leaves += 1
        is_last = n_leaves == max_leaf_nodes or nodes.depth[best] + 1 >= rules.max_depth
        if thread == 0:
            make_children_loop(best, left, middle, rules, nodes)
            if not is_last:
                step[SMALL] = give_slots_loop(best, n_leaves - 1, nodes)
        all_arrive(barrier, n_threads)
        if is_last:
            continue
        look_at_children_loop(step[SMALL], left, counted, rules, nodes, histograms, space, first, last)
        all_arrive(barrier, n_threads)
        if thread == 0:
            for k in range(2):
                choose_split_loop(histograms[nodes.slot[left + k]], left + k, rules, nodes, space, root + k)
    return n_nodes
