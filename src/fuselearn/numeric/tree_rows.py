"""The way of rows through a tree: the leaf of each, and rows kept together by node while a tree grows.

A tree is a set of arrays with one entry a node: `feature` (-1 in a leaf), the cut, `missing_left`, `left`, `right`.
Children always have higher numbers than their parent.
"""

from typing import NamedTuple

import numpy as np

from fuselearn.numeric.execution import BLOCK_ROWS, SERIAL, Threads, compiled, n_blocks
from fuselearn.typing import BoolArray, FloatArray, IntArray


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
    rows[n_left:] = spare[:n_right]
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
