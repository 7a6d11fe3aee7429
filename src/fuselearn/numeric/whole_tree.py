"""The growth of a whole tree in one call, best leaf first, on rows in memory.

It makes the splits that `fuselearn.boosting.gradient.growth` makes leaf by leaf, wherever the rows are. A small leaf
takes less time than the way to it and back through the interpreter: on tables of few columns that is most of the time.
"""

from typing import NamedTuple

import numpy as np

from fuselearn.numeric.execution import Scratch
from fuselearn.numeric.gradient_loops import G, H, grow_loop
from fuselearn.typing import BoolArray, FloatArray, IntArray


class GrownTree(NamedTuple):
    """The nodes of a tree, in the order in which they were made: root, then both children of each split.

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
    """

    sums: IntArray
    bounds: FloatArray
    gain: FloatArray
    place: IntArray
    cut: IntArray
    left: IntArray
    rows: IntArray
    goes_left: IntArray

    def first(self, n_nodes: int) -> "GrownTree":
        """Return the first nodes."""
        return GrownTree(
            self.sums[:n_nodes],
            self.bounds[:n_nodes],
            self.gain[:n_nodes],
            self.place[:n_nodes],
            self.cut[:n_nodes],
            self.left[:n_nodes],
            self.rows[:n_nodes],
            self.goes_left[:n_nodes],
        )


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
        n_nodes = 2 * max_leaf_nodes - 1
        self.histograms = scratch.array("histograms", (max_leaf_nodes, n_columns, 3, n_bins), np.int64)
        self.splits, self.left_sums = np.empty((n_columns, 3)), np.empty((n_columns, 3), dtype=np.int64)
        self.orders = np.zeros((n_categorical, n_bins), dtype=np.intp)
        self.n_ordered = np.zeros(n_categorical, dtype=np.intp)
        self.nodes = GrownTree(
            np.empty((n_nodes, 3), dtype=np.int64),
            np.empty((n_nodes, 2)),
            np.empty(n_nodes),
            np.empty(n_nodes, dtype=np.intp),
            np.empty(n_nodes, dtype=np.intp),
            np.empty(n_nodes, dtype=np.intp),
            np.empty((n_nodes, 2), dtype=np.intp),
            np.empty((n_nodes, 256), dtype=np.uint8),
        )


def grow_whole_tree(
    bins: IntArray,
    columns: IntArray,
    rows: IntArray,
    scratch: IntArray,
    g: IntArray,
    h: IntArray,
    weights: IntArray,
    n_values: IntArray,
    monotonic: IntArray,
    categorical: BoolArray,
    units: tuple[float, float, float],
    l2: float,
    least: tuple[int, int],
    max_depth: int,
    memory: GrowthMemory,
) -> GrownTree:
    """Grow a tree.

    Parameters
    ----------
    bins, columns, g, h, weights, n_values
        See `fuselearn.numeric.gradient_histograms.fill_histogram`.
    rows, scratch : int32 ndarray of shape (n_rows,)
        Rows of the root, which are sorted by leaf, and memory to work in.
    monotonic, categorical : ndarray of shape (n_all_columns,)
        Sign in which values have to follow a column, and whether its bins are categories.
    units, l2, least
        See `fuselearn.numeric.gradient_histograms.best_splits`.
    max_depth : int
        Most splits between the root and a leaf.
    memory : GrowthMemory
        Memory to work in; the result is a part of it, until the next tree.

    Returns
    -------
    GrownTree
        The nodes.
    """
    categorical_places = np.flatnonzero(categorical[columns])
    order_of_column = np.full(len(columns), -1, dtype=np.intp)
    order_of_column[categorical_places] = np.arange(len(categorical_places))
    nodes = memory.nodes
    n_nodes = grow_loop(
        bins, columns, rows, scratch, g, h, weights, n_values, n_values[columns], monotonic[columns], order_of_column,
        categorical_places, units[G], units[H], l2, *least, max_depth, memory.histograms, memory.splits,
        memory.left_sums, memory.orders, memory.n_ordered, nodes.sums, nodes.bounds, nodes.gain, nodes.place, nodes.cut,
        nodes.left, nodes.rows, nodes.goes_left,
    )  # fmt: skip
    return nodes.first(n_nodes)
