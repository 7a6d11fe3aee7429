"""Histograms of gradients, the best split of a leaf, and rows kept together by leaf: the loops of gradient boosting.

Gradients are whole numbers of one unit (`numeric.gradients`), so every sum of them is exact: it does not depend on the
order of the rows, on threads or on partitions, and the histogram of a leaf less that of one child is that of the other.

A histogram has the shape (n_columns, 3, n_bins): the sums of g, of h and of the weights of the rows in each bin of each
column. Bins are bytes. The last one is that of the missing values; a column uses the first ``n_values`` of the others.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from fuselearn.numeric.execution import compiled
from fuselearn.numeric.gradient_loops import (
    CATEGORY_SMOOTHING,
    TIE_SHARE,
    WEIGHT,
    G,
    H,
    fill_loop,
    scan_loop,
    split_loop,
    subtract_loop,
)
from fuselearn.numeric.growth_arrays import CountedRows, SplitRules
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.typing import FloatArray, IntArray

THREAD_CELLS = 2**20
"""Cells, rows times columns, above which threads count a leaf together: to call them takes longer than a small leaf."""
THREAD_BINS = 2**17
"""The same for the numbers of a histogram."""
THREAD_ROWS = 2**16
"""The same for the rows of a leaf that is split."""
NO_ORDERS = np.zeros((0, 1), dtype=np.intp), np.zeros(0, dtype=np.intp)
BEYOND_SUMS = 2**61
"""More than any sum over the rows of a run."""


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

    counted = CountedRows(bins, columns, rows, rows, g, h, weights, n_values)

    def work(first: int, last: int) -> None:
        fill_loop(counted, rows, histogram, first, last)

    _worth_it(threads, len(rows) * len(columns), THREAD_CELLS).share(len(columns), work)


def _worth_it(threads: Threads, size: int, least: int) -> Threads:
    """Return the threads, or none but this one where there is too little to do."""
    return threads if size >= least else SERIAL


def subtract_histogram(histogram: IntArray, child: IntArray, threads: Threads = SERIAL) -> None:
    """Turn the histogram of a leaf into that of the child whose sibling's is given, in place."""

    def work(first: int, last: int) -> None:
        subtract_loop(histogram[first:last], child[first:last])

    _worth_it(threads, histogram.size, THREAD_BINS).share(len(histogram), work)


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

    no_places = np.empty(0, dtype=np.intp)
    rules = SplitRules(
        n_values,
        monotonic,
        order_of_column,
        no_places,
        float(units[G]),
        float(units[H]),
        float(l2),
        *least,
        max_depth=0,
    )

    def work(first: int, last: int) -> None:
        scan_loop(histogram, sums, bounds, rules, padded, n_ordered, splits, left_sums, first, last)

    _worth_it(threads, histogram.size, THREAD_BINS).share(len(histogram), work)


def least_whole(least: float, unit: float) -> int:
    """Return the least whole number that is, in units, at least a given number; `BEYOND_SUMS` for more than that."""
    if not unit * BEYOND_SUMS > least:  # of weights such as 1e-300
        return BEYOND_SUMS
    number = int(np.ceil(least / unit))
    if number >= 2**53:  # the next number is the same one, rounded
        return number
    while (number - 1) * unit >= least:
        number -= 1
    while number * unit < least:
        number += 1
    return number


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
    n_parts = min(threads.count, n_rows // THREAD_ROWS)
    if n_parts < 2:
        return int(split_loop(rows, scratch, column, goes_left))
    cuts = [n_rows * part // n_parts for part in range(n_parts + 1)]
    parts = [slice(first, last) for first, last in pairwise(cuts)]
    n_left = threads.map(lambda part: int(split_loop(rows[part], scratch[part], column, goes_left)), parts)
    # Each part has its own left rows first; all left rows of all parts come before the right ones.
    lefts = np.concatenate([rows[part][:count] for part, count in zip(parts, n_left)])
    rights = np.concatenate([rows[part][count:] for part, count in zip(parts, n_left)])
    rows[: len(lefts)], rows[len(lefts) :] = lefts, rights
    return len(lefts)


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
