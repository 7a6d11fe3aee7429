"""Histograms of gradients, the best split of a leaf, and rows kept together by leaf: the loops of gradient boosting.

Gradients are whole numbers of one unit (`numeric.gradients`), so every sum of them is exact: it does not depend on the
order of the rows, on threads or on partitions, and the histogram of a leaf less that of one child is that of the other.

A histogram has the shape (n_columns, 3, n_bins): the sums of g, of h and of the weights of the rows in each bin of each
column. Bins are bytes. The last one is that of the missing values; a column uses the first ``n_values`` of the others.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from fuselearn.numeric.execution import SERIAL, Threads, compiled
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
NO_ORDERS = np.zeros((0, 1), dtype=np.intp), np.zeros(0, dtype=np.intp)
SCORE, CUT, DIRECTION = range(3)
"""Fields of the best split on a column; `CUT` is the last bin that goes left, or how many ordered categories do."""


def fill_histogram(
    bins: IntArray,
    columns: IntArray,
    rows: IntArray,
    g: IntArray,
    h: IntArray,
    weights: IntArray,
    n_values: IntArray,
    histogram: IntArray,
    threads: Threads = SERIAL,
) -> None:
    """Fill the histogram of a leaf.

    Parameters
    ----------
    bins : uint8 ndarray of shape (n_all_columns, n_all_rows)
        Bins of all rows.
    columns : intp ndarray of shape (n_columns,)
        Columns to count.
    rows : int32 ndarray of shape (n_rows,)
        Rows of the leaf.
    g : int64 ndarray of shape (n_all_rows,)
        Gradients, in units.
    h : int32 ndarray of shape (n_all_rows,)
        Second derivatives, in units: at most 2²⁸.
    weights : int32 ndarray of shape (n_all_rows,) or (0,)
        Weights, in units; none where each row counts 1.
    n_values : intp ndarray of shape (n_all_columns,)
        Bins that each column uses, without that of missing values.
    histogram : int64 ndarray of shape (n_columns, 3, n_bins)
        Histogram to fill.
    threads : Threads, default=SERIAL
        Threads that share the columns.
    """

    def work(first: int, last: int) -> None:
        _fill(bins, columns, rows, g, h, weights, n_values, histogram, first, last)

    threads.share(len(columns), work)


@compiled()
def _fill(
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


def subtract_histogram(histogram: IntArray, child: IntArray, threads: Threads = SERIAL) -> None:
    """Turn the histogram of a leaf into that of the child whose sibling's is given, in place."""

    def work(first: int, last: int) -> None:
        _subtract(histogram[first:last], child[first:last])

    threads.share(len(histogram), work)


@compiled()
def _subtract(histogram: IntArray, child: IntArray) -> None:
    whole, part = histogram.ravel(), child.ravel()
    for i in range(len(whole)):
        whole[i] -= part[i]


def best_splits(
    histogram: IntArray,
    n_values: IntArray,
    sums: tuple[int, int, int],
    units: tuple[float, float, float],
    bounds: tuple[float, float],
    monotonic: IntArray,
    order_of_column: IntArray,
    orders: Sequence[IntArray],
    l2: float,
    least: tuple[int, int],
    splits: FloatArray,
    left_sums: IntArray,
    threads: Threads = SERIAL,
) -> None:
    """Find the best split of a leaf on each column.

    With g, h and w the sums of a side, a side may be if w and h are large enough; its value is
    v = clip(-g / (h + l2), bounds), and its score, twice what it lowers the loss by, -v·(2·g + (h + l2)·v). Of splits
    that are equal to rounding the first counts: missing values go right, then left, and cuts in the order of the bins.

    Parameters
    ----------
    histogram : int64 ndarray of shape (n_columns, 3, n_bins)
        Histogram of the leaf.
    n_values : intp ndarray of shape (n_columns,)
        Bins that each column uses, without that of missing values.
    sums : tuple of int
        Sums of g, h and weights of the leaf, in units.
    units : tuple of float
        Units of g, h and weights.
    bounds : tuple of float
        Least and largest value of a side.
    monotonic : int8 ndarray of shape (n_columns,)
        Sign in which values have to follow a column; 0 for any.
    order_of_column : intp ndarray of shape (n_columns,)
        Place in `orders` of the categories of a column; -1 where its bins have an order.
    orders : list of intp ndarray
        Categories of the categorical columns, as `ordered_categories` returns them.
    l2 : float
        Added to h.
    least : tuple of int
        Least weight and h of a side, in units.
    splits : ndarray of shape (n_columns, 3)
        Filled with the score of both sides; the cut, -1 where there is no split; 1 where missing values go left.
    left_sums : int64 ndarray of shape (n_columns, 3)
        Filled with the sums of the left side, in units.
    threads : Threads, default=SERIAL
        Threads that share the columns.
    """
    padded, n_ordered = NO_ORDERS
    if orders:
        n_ordered = np.array([len(order) for order in orders], dtype=np.intp)
        padded = np.zeros((len(orders), max(1, int(n_ordered.max()))), dtype=np.intp)
        for row, order in zip(padded, orders):
            row[: len(order)] = order

    def work(first: int, last: int) -> None:
        part = slice(first, last)
        _scan(
            histogram[part], n_values[part], *sums, units[G], units[H], *bounds, monotonic[part],
            order_of_column[part], padded, n_ordered, l2, *least, splits[part], left_sums[part],
        )  # fmt: skip

    threads.share(len(histogram), work)


def least_whole(least: float, unit: float) -> int:
    """Return the least whole number that is, in units, at least a given number."""
    number = int(np.ceil(least / unit))
    while (number - 1) * unit >= least:
        number -= 1
    while number * unit < least:
        number += 1
    return number


@compiled()
def _scan(
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


def ordered_categories(histogram: IntArray, units: tuple[float, float, float]) -> IntArray:
    """Return the categories in a leaf, missing values among them, by g / (h + smoothing); of equal ones the lowest bin.

    `histogram` is that of one column, of shape (3, n_bins).
    """
    present = np.flatnonzero(histogram[WEIGHT] > 0)
    means = histogram[G, present] * units[G] / (histogram[H, present] * units[H] + CATEGORY_SMOOTHING)
    return present[np.argsort(means, kind="stable")]


def first_of_largest(values: FloatArray) -> int:
    """Return the number of the first value that is, to rounding, the largest."""
    largest = values.max()
    least = largest - TIE_SHARE * abs(largest) if np.isfinite(largest) else largest
    return int(np.argmax(values >= least))


def split_rows(
    rows: IntArray, scratch: IntArray, column: IntArray, goes_left: IntArray, threads: Threads = SERIAL
) -> int:
    """Put the rows of a leaf that go left before the others, each in their order, and return how many they are.

    Parameters
    ----------
    rows : int32 ndarray of shape (n_rows,)
        Rows of the leaf, which are reordered in place.
    scratch : int32 ndarray of shape (n_rows,)
        Memory to work in.
    column : uint8 ndarray of shape (n_all_rows,)
        Bins of the column.
    goes_left : uint8 ndarray of shape (256,)
        1 for the bins that go left.
    threads : Threads, default=SERIAL
        Threads that share the rows.
    """
    n_rows = len(rows)
    n_parts = min(threads.count, n_rows // CHUNK_ROWS)
    if n_parts < 2:
        return int(_split(rows, scratch, column, goes_left))
    cuts = [n_rows * part // n_parts for part in range(n_parts + 1)]
    parts = [slice(first, last) for first, last in pairwise(cuts)]
    n_left = threads.map(lambda part: int(_split(rows[part], scratch[part], column, goes_left)), parts)
    # Each part has its own left rows first; all left rows of all parts come before the right ones.
    lefts = np.concatenate([rows[part][:count] for part, count in zip(parts, n_left)])
    rights = np.concatenate([rows[part][count:] for part, count in zip(parts, n_left)])
    rows[: len(lefts)], rows[len(lefts) :] = lefts, rights
    return len(lefts)


@compiled()
def _split(rows: IntArray, scratch: IntArray, column: IntArray, goes_left: IntArray) -> int:
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
def number_leaves(leaves: IntArray, rows: IntArray, number: int) -> None:
    """Note the number of the leaf that some rows are in."""
    for i in range(len(rows)):
        leaves[rows[i]] = number


@compiled()
def add_leaf_values(scores: FloatArray, leaves: IntArray, values: FloatArray) -> None:
    """Add to each score the value of the row's leaf; the last value is that of rows in none."""
    for i in range(len(scores)):
        scores[i] += values[leaves[i]]
