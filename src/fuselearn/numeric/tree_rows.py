"""Rows of a tree: columns as bins, their weighted class histograms, and the way of rows from the root to the leaves.

Values become bins by a sorted list of edges per column: the bin is the number of edges below a value. Histograms of
bins are all that stumps and trees need of the rows to grow.

A tree is a set of arrays with one entry a node: `feature` (-1 in a leaf), the cut, `missing_left`, `left`, `right`.
Children always have higher numbers than their parent.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fuselearn.numeric.execution import BLOCK_ROWS, compiled, n_blocks
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.typing import AnyArray, BoolArray, FloatArray, IntArray

CACHED_ROWS = 8192
"""Rows whose weights and classes stay in the fast cache while all columns pass by."""
HEAVY = 4
"""A value with this many times an average bin's rows has a bin of its own. At 4 these take at most half of the bins."""


def class_histograms(
    bins: IntArray, codes: IntArray, weights: AnyArray, n_classes: int, n_bins: int, *, threads: Threads = SERIAL
) -> AnyArray:
    """Return the weight per column, class and bin.

    Parameters
    ----------
    bins : uint8 ndarray of shape (n_columns, n_rows)
    codes : int32 ndarray of shape (n_rows,)
    weights : ndarray of shape (n_rows,)
        Floats, or whole numbers: then the sums are exact.

    Returns
    -------
    ndarray of shape (n_columns, n_classes, n_bins), of the kind of the weights

    Notes
    -----
    Threads share the columns, each of which is summed in the order of its rows.
    """
    n_columns = len(bins)
    histograms = np.zeros((n_columns, n_classes, n_bins), dtype=weights.dtype)
    flat = histograms.reshape(n_columns, n_classes * n_bins)

    def work(start: int, stop: int) -> None:
        _add_rows(bins[start:stop], codes, weights, n_bins, CACHED_ROWS, flat[start:stop])

    threads.share(n_columns, work)
    return histograms


def node_histograms(
    bins: IntArray,
    row_groups: Sequence[IntArray],
    codes: IntArray,
    weights: AnyArray,
    n_classes: int,
    n_bins: int,
    *,
    threads: Threads = SERIAL,
) -> AnyArray:
    """Return the weight per node, column, class and bin.

    Parameters
    ----------
    row_groups : sequence of unsigned int ndarray
        Numbers of the rows in each node.

    Returns
    -------
    ndarray of shape (n_nodes, n_columns, n_classes, n_bins), of the kind of the weights
    """
    n_nodes, n_columns = len(row_groups), len(bins)
    histograms = np.zeros((n_nodes, n_columns, n_classes, n_bins), dtype=weights.dtype)
    flat = histograms.reshape(n_nodes, n_columns, n_classes * n_bins)

    def work(start: int, stop: int) -> None:
        for rows, out in zip(row_groups, flat):
            _add_some_rows(bins[start:stop], rows, codes, weights, n_bins, CACHED_ROWS, out[start:stop])

    threads.share(n_columns, work)
    return histograms


@compiled()
def _add_rows(
    bins: IntArray, codes: IntArray, weights: AnyArray, n_bins: int, cached_rows: int, histograms: AnyArray
) -> None:
    # Four columns at a time: their additions are independent of each other, so none waits for the last one's
    # store, and a row's weight and class are loaded once for the four.
    n_columns, n_rows = bins.shape
    class_starts = np.empty(min(cached_rows, n_rows), dtype=np.uint32)
    for start in range(0, n_rows, cached_rows):
        stop = min(n_rows, start + cached_rows)
        w_block, k_block = weights[start:stop], class_starts[: stop - start]
        for i in range(stop - start):
            k_block[i] = codes[start + i] * n_bins
        j = 0
        while j + 4 <= n_columns:
            bins0, bins1 = bins[j, start:stop], bins[j + 1, start:stop]
            bins2, bins3 = bins[j + 2, start:stop], bins[j + 3, start:stop]
            out0, out1, out2, out3 = histograms[j], histograms[j + 1], histograms[j + 2], histograms[j + 3]
            for i in range(stop - start):
                w = w_block[i]
                k = np.uintp(k_block[i])
                out0[np.uintp(bins0[i]) + k] += w
                out1[np.uintp(bins1[i]) + k] += w
                out2[np.uintp(bins2[i]) + k] += w
                out3[np.uintp(bins3[i]) + k] += w
            j += 4
        while j < n_columns:
            bins0, out0 = bins[j, start:stop], histograms[j]
            for i in range(stop - start):
                out0[np.uintp(bins0[i]) + np.uintp(k_block[i])] += w_block[i]
            j += 1


@compiled()
def _add_some_rows(
    bins: IntArray,
    rows: IntArray,
    codes: IntArray,
    weights: AnyArray,
    n_bins: int,
    cached_rows: int,
    histograms: AnyArray,
) -> None:
    # As above; weights and classes of some rows are gathered once for all columns. Three of these at a time: with the
    # numbers of the rows, a fourth would not find a register.
    n_columns = len(bins)
    some_weights = np.empty(min(cached_rows, len(rows)), dtype=weights.dtype)
    class_starts = np.empty(len(some_weights), dtype=np.uint32)
    for start in range(0, len(rows), cached_rows):
        block = rows[start : min(len(rows), start + cached_rows)]
        w_block, k_block = some_weights[: len(block)], class_starts[: len(block)]
        for i in range(len(block)):
            w_block[i] = weights[block[i]]
            k_block[i] = codes[block[i]] * n_bins
        j = 0
        while j + 3 <= n_columns:
            bins0, bins1, bins2 = bins[j], bins[j + 1], bins[j + 2]
            out0, out1, out2 = histograms[j], histograms[j + 1], histograms[j + 2]
            for i in range(len(block)):
                row = block[i]
                w = w_block[i]
                k = np.uintp(k_block[i])
                out0[np.uintp(bins0[row]) + k] += w
                out1[np.uintp(bins1[row]) + k] += w
                out2[np.uintp(bins2[row]) + k] += w
            j += 3
        while j < n_columns:
            bins0, out0 = bins[j], histograms[j]
            for i in range(len(block)):
                out0[np.uintp(bins0[block[i]]) + np.uintp(k_block[i])] += w_block[i]
            j += 1


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


class BinTree(NamedTuple):
    """A tree of cuts between bins.

    Attributes
    ----------
    feature : int32 ndarray of shape (n_nodes,)
        Column that a node looks at, -1 in a leaf.
    cut_bin : int32 ndarray of shape (n_nodes,)
        Last bin that goes left.
    missing_left : bool ndarray of shape (n_nodes,)
        Whether missing values go left.
    left, right : int32 ndarray of shape (n_nodes,)
        Numbers of the children.
    missing_bin : int
        Bin of missing values.
    """

    feature: IntArray
    cut_bin: IntArray
    missing_left: BoolArray
    left: IntArray
    right: IntArray
    missing_bin: int

    def splits(self, nodes: IntArray) -> IntArray:
        """Return all that decides where the rows of nodes go, one column a node."""
        arrays = self.feature, self.cut_bin, self.missing_left, self.left, self.right
        return np.array([array[nodes] for array in arrays], dtype=np.int32)


class RowsByNode:
    """Numbers of all rows, those of a node one after the other, in their order.

    A tree that has grown since moves the rows of the nodes that it has split, and no others. Any other tree starts from
    the root again. So the rows of a node are always those that the tree sends there: what is kept saves time only.

    Parameters
    ----------
    bins : uint8 ndarray of shape (n_columns, n_rows)
        The rows.
    """

    def __init__(self, bins: IntArray) -> None:
        self._bins = bins
        self.forget()

    def forget(self) -> None:
        """Free the memory."""
        self._rows: IntArray | None = None
        self._spare: IntArray | None = None
        self._borders: dict[int, tuple[int, int]] = {}
        self._split_nodes: IntArray = np.empty(0, dtype=np.intp)
        self._splits: IntArray = np.empty((5, 0), dtype=np.int32)

    def follow(self, tree: BinTree, threads: Threads = SERIAL) -> None:
        """Move the rows into the leaves of a tree."""
        if not self.begins(tree):
            n_rows = self._bins.shape[1]
            if self._rows is None:
                kind = np.uint32 if n_rows < 2**32 else np.uint64
                self._rows, self._spare = np.empty(n_rows, dtype=kind), np.empty(n_rows, dtype=kind)
            self._rows[:] = np.arange(n_rows)
            self._borders, self._split_nodes = {0: (0, n_rows)}, self._split_nodes[:0]
        while nodes := [node for node in self._borders if tree.feature[node] >= 0]:
            for node, middle in zip(nodes, threads.map(lambda node: self._divide(tree, node), nodes)):
                start, stop = self._borders.pop(node)
                self._borders[int(tree.left[node])] = start, middle
                self._borders[int(tree.right[node])] = middle, stop
            self._split_nodes = np.append(self._split_nodes, nodes)
        self._splits = tree.splits(self._split_nodes)

    def begins(self, tree: BinTree) -> bool:
        """Return whether the rows were moved through splits that are all in this tree."""
        if not len(self._split_nodes) or max(self._borders) >= len(tree.feature):
            return False
        return np.array_equal(tree.splits(self._split_nodes), self._splits)

    def rows_of(self, node: int) -> IntArray:
        """Return the numbers of the rows in a leaf of the tree that was last followed."""
        assert self._rows is not None
        start, stop = self._borders[node]
        return self._rows[start:stop]

    def leaf_values(self, values: IntArray, threads: Threads = SERIAL) -> IntArray:
        """Return the value of the leaf of each row, where `values` has one for each node of the tree."""
        out = np.empty(self._bins.shape[1], dtype=values.dtype)
        threads.map(lambda node: _fill(self.rows_of(node), values[node], out), self._borders)
        return out

    def _divide(self, tree: BinTree, node: int) -> int:
        """Put the rows of a node that go left before the others, and return where these begin."""
        assert self._rows is not None
        assert self._spare is not None
        start, stop = self._borders[node]
        goes_left = np.zeros(256, dtype=np.uint8)
        goes_left[: tree.cut_bin[node] + 1] = 1
        goes_left[tree.missing_bin] = tree.missing_left[node]
        column = self._bins[tree.feature[node]]
        return start + _divide(column, goes_left, self._rows[start:stop], self._spare[start:stop])


@compiled()
def _divide(column: IntArray, goes_left: IntArray, rows: IntArray, spare: IntArray) -> int:
    # Every row is written to both places, and only one of them moves on: nothing depends on a guess of where it goes.
    n_left, n_right = 0, 0
    for i in range(len(rows)):
        row = rows[i]
        left = int(goes_left[column[row]])
        rows[n_left] = row
        spare[n_right] = row
        n_left += left
        n_right += 1 - left
    # Not as an assignment of slices: numba takes four seconds to compile the message of its check of shapes.
    for i in range(n_right):
        rows[n_left + i] = spare[i]
    return n_left


@compiled()
def _fill(rows: IntArray, value: int, out: IntArray) -> None:
    for i in range(len(rows)):
        out[rows[i]] = value


def leaves_of_bins(bins: IntArray, tree: BinTree, *, threads: Threads = SERIAL) -> IntArray:
    """Return the leaf that each binned row ends in; `bins` has shape (n_columns, n_rows)."""
    n_rows = bins.shape[1]
    leaves = np.empty(n_rows, dtype=np.int32)

    def work(start: int, stop: int) -> None:
        rows = slice(start * BLOCK_ROWS, stop * BLOCK_ROWS)
        _walk_bins(bins[:, rows], *tree, leaves[rows])

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
