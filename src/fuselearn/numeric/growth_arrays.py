"""The arrays that a tree of gradient boosting grows in, as its compiled loops take them.

numba reads a named tuple as so many arguments. So a loop that hands its arrays on to others names them once.
"""

from typing import NamedTuple

import numpy as np

from fuselearn.numeric.execution import Scratch
from fuselearn.typing import FloatArray, IntArray


class CountedRows(NamedTuple):
    """Rows of a tree, and what is summed over them.

    Attributes
    ----------
    bins, columns, g, h, weights, n_values
        See `fuselearn.numeric.gradient_histograms.fill_histogram`.
    rows, scratch : int32 ndarray of shape (n_rows,)
        Rows of the root, which are sorted by leaf, and memory to work in.
    """

    bins: IntArray
    columns: IntArray
    rows: IntArray
    scratch: IntArray
    g: IntArray
    h: IntArray
    weights: IntArray
    n_values: IntArray


class SplitRules(NamedTuple):
    """What splits have to keep to.

    Attributes
    ----------
    n_values, monotonic, order_of_column, unit_g, unit_h, l2, least_w, least_h
        See `fuselearn.numeric.gradient_histograms.best_splits`; by column that the tree may split on.
    categorical : intp ndarray
        Places of the columns of categories, increasing.
    max_depth : int
        Most splits between the root and a leaf.
    """

    n_values: IntArray
    monotonic: IntArray
    order_of_column: IntArray
    categorical: IntArray
    unit_g: float
    unit_h: float
    l2: float
    least_w: int
    least_h: int
    max_depth: int


class Nodes(NamedTuple):
    """The nodes of a tree.

    Attributes
    ----------
    sums : int64 ndarray of shape (n_nodes, 3)
        Sums of g, h and weights, in units.
    bounds : ndarray of shape (n_nodes, 2)
        Least and largest value.
    gain : ndarray of shape (n_nodes,)
        Gain of the best split; -inf where there is none, or none was looked for.
    place, cut : intp ndarray of shape (n_nodes,)
        Column, among those that the tree may split on, and cut of the best split.
    left : intp ndarray of shape (n_nodes,)
        Left child, which the right one follows; -1 in a leaf.
    rows : intp ndarray of shape (n_nodes, 2)
        First and last place of the node's rows among all rows by leaf.
    goes_left : uint8 ndarray of shape (n_nodes, 256)
        1 for the bins that go left in the best split.
    left_sums : int64 ndarray of shape (n_nodes, 3)
        Sums of the rows that go left in the best split.
    slot, depth : intp ndarray of shape (n_nodes,)
        Place of the histogram among all that are kept, and splits between the root and the node.
    """

    sums: IntArray
    bounds: FloatArray
    gain: FloatArray
    place: IntArray
    cut: IntArray
    left: IntArray
    rows: IntArray
    goes_left: IntArray
    left_sums: IntArray
    slot: IntArray
    depth: IntArray

    @classmethod
    def empty(cls, n_nodes: int) -> "Nodes":
        """Return the memory of so many nodes."""
        return cls(
            sums=np.empty((n_nodes, 3), dtype=np.int64),
            bounds=np.empty((n_nodes, 2)),
            gain=np.empty(n_nodes),
            place=np.empty(n_nodes, dtype=np.intp),
            cut=np.empty(n_nodes, dtype=np.intp),
            left=np.empty(n_nodes, dtype=np.intp),
            rows=np.empty((n_nodes, 2), dtype=np.intp),
            goes_left=np.empty((n_nodes, 256), dtype=np.uint8),
            left_sums=np.empty((n_nodes, 3), dtype=np.int64),
            slot=np.empty(n_nodes, dtype=np.intp),
            depth=np.empty(n_nodes, dtype=np.intp),
        )

    def first(self, n_nodes: int) -> "Nodes":
        """Return the first nodes."""
        return Nodes._make(array[:n_nodes] for array in self)


class SplitSpace(NamedTuple):
    """Memory in which the best splits of two nodes are looked for.

    Attributes
    ----------
    splits, left_sums : ndarray of shape (2, n_columns, 3)
        By node, what `fuselearn.numeric.gradient_histograms.best_splits` fills.
    orders : intp ndarray of shape (n_categorical, n_bins)
        Categories of a node in their order.
    n_ordered : intp ndarray of shape (n_categorical,)
        How many of them there are.
    """

    splits: FloatArray
    left_sums: IntArray
    orders: IntArray
    n_ordered: IntArray


class GrowthMemory:
    """Memory that a tree grows in.

    Parameters
    ----------
    n_columns, n_bins, max_leaf_nodes, n_categorical : int
        Size of the tree.
    scratch : Scratch
        Memory of the histograms, which all trees of a run share, one after the other.
    """

    def __init__(self, n_columns: int, n_bins: int, max_leaf_nodes: int, n_categorical: int, scratch: Scratch) -> None:
        self.max_leaf_nodes = max_leaf_nodes
        self.histograms = scratch.array("histograms", (max_leaf_nodes, n_columns, 3, n_bins), np.int64)
        self.space = SplitSpace(
            np.empty((2, n_columns, 3)),
            np.empty((2, n_columns, 3), dtype=np.int64),
            np.zeros((n_categorical, n_bins), dtype=np.intp),
            np.zeros(n_categorical, dtype=np.intp),
        )
        self.nodes = Nodes.empty(2 * max_leaf_nodes - 1)
