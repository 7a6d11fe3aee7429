"""The growth of a whole tree, best leaf first, on rows in memory: in one call, or on several threads.

It makes the splits that `fuselearn.boosting.gradient.growth` makes leaf by leaf, wherever the rows are. A small leaf
takes less time than the way to it and back through the interpreter: on tables of few columns that is most of the time.

On several threads, each counts some of the columns. To call them takes as long as some ten thousand additions, so they
expand small leaves together: all those that are to be split as far as one can see, though some may turn out not to be.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from fuselearn.numeric.execution import SERIAL, Threads, compiled
from fuselearn.numeric.gradient_histograms import split_rows
from fuselearn.numeric.gradient_loops import (
    TIE_SHARE,
    choose_split_loop,
    choose_splits_loop,
    expand_loop,
    fill_loop,
    give_slots_loop,
    grow_loop,
    make_children_loop,
    part_leaves_loop,
    scan_node_loop,
    start_loop,
)
from fuselearn.numeric.growth_arrays import CountedRows, GrowthMemory, Nodes, SplitRules
from fuselearn.typing import IntArray

SHARED_CELLS = 2**20
"""Cells, rows times columns, of a thread below which leaves are expanded ahead: they may turn out not to be split."""
LEAST_CELLS = 2**16
"""Cells below which one thread counts leaves in less time than it takes to call several."""
LEAST_ROWS = 2**14
"""The same for the rows of leaves that are split."""


def grow_whole_tree(counted: CountedRows, rules: SplitRules, memory: GrowthMemory, threads: Threads = SERIAL) -> Nodes:
    """Grow a tree.

    Parameters
    ----------
    counted : CountedRows
        The rows, which are sorted by leaf.
    rules : SplitRules
        What splits have to keep to.
    memory : GrowthMemory
        Memory to work in; the result is a part of it, until the next tree.
    threads : Threads, default=SERIAL
        Threads that share the columns.

    Returns
    -------
    Nodes
        The nodes in the order in which they were made: the root, then both children of each split.
    """
    if threads.count > 1:
        return _GrowthOnThreads(counted, rules, memory, threads).run()
    n_nodes = grow_loop(counted, rules, memory.nodes, memory.histograms, memory.space, memory.max_leaf_nodes)
    return Nodes._make(array[:n_nodes] for array in memory.nodes)


class _GrowthOnThreads:
    """The growth of a tree whose leaves are expanded by several threads."""

    def __init__(self, counted: CountedRows, rules: SplitRules, memory: GrowthMemory, threads: Threads) -> None:
        self._counted, self._rules, self._memory, self._threads = counted, rules, memory, threads
        self._n_columns = len(counted.columns)
        self._n_nodes = self._n_slots = 1

    def run(self) -> Nodes:
        """Return the nodes."""
        memory, nodes = self._memory, self._memory.nodes
        n_most = 2 * memory.max_leaf_nodes - 1
        order, left, wanted = (np.empty(n_most, dtype=np.intp) for _ in range(3))
        self._count_root()
        while True:
            n_nodes, n_wanted, n_certain = plan_loop(nodes, memory.max_leaf_nodes, order, left, wanted)
            if n_wanted == 0:
                return nodes.take(order[:n_nodes])._replace(left=left[:n_nodes].copy())
            n_ahead = memory.n_ahead - (self._n_nodes // 2 - n_certain)
            # The last split of the tree: nobody asks for the splits of its children.
            last = int(wanted[n_wanted - 1]) if n_nodes == n_most and order[n_most - 1] < 0 else -1
            self._expand(self._batch(wanted[:n_wanted], n_ahead), last)

    def _batch(self, wanted: IntArray, n_ahead: int) -> IntArray:
        """Return the leaves to expand next: the first ones that are wanted, until there is enough to share."""
        cells = np.cumsum(self._n_rows(wanted) * self._n_columns)
        enough = int(np.searchsorted(cells, self._threads.count * SHARED_CELLS)) + 1
        return wanted[: min(enough, 1 + max(n_ahead, 0))].copy()

    def _n_rows(self, nodes: IntArray) -> IntArray:
        """Return the number of rows of some nodes."""
        rows = self._memory.nodes.rows[nodes]
        return rows[:, 1] - rows[:, 0]

    def _count_root(self) -> None:
        """Count the root, and find its best split."""
        counted, rules, nodes = self._counted, self._rules, self._memory.nodes
        histogram, space = self._memory.histograms[0], self._memory.space

        def count(first: int, last: int) -> None:
            fill_loop(
                counted.bins, counted.columns, counted.rows, counted.g, counted.h, counted.weights, counted.n_values,
                histogram, first, last,
            )  # fmt: skip

        self._share_columns(count)
        start_loop(histogram, len(counted.rows), nodes)
        self._share_columns(lambda first, last: scan_node_loop(histogram, 0, rules, nodes, space, 0, first, last))
        choose_split_loop(histogram, 0, rules, nodes, space, 0)

    def _expand(self, leaves: IntArray, last: int) -> None:
        """Split some leaves, and find the best splits of their children, but for those of the leaf `last`."""
        rules, memory = self._rules, self._memory
        nodes, space, histograms = memory.nodes, memory.space, memory.histograms
        for leaf, middle in zip(leaves.tolist(), self._middles(leaves).tolist()):
            make_children_loop(leaf, self._n_nodes, middle, rules, nodes)
            self._n_nodes += 2
        parents = leaves[(leaves != last) & (nodes.depth[leaves] + 1 < rules.max_depth)]
        small = np.empty(len(parents), dtype=np.intp)
        for number, parent in enumerate(parents.tolist()):
            small[number] = give_slots_loop(parent, self._n_slots, nodes)
            self._n_slots += 1

        def work(first: int, last: int) -> None:
            expand_loop(parents, small, self._counted, rules, nodes, histograms, space, first, last)

        if self._n_rows(small).sum() * self._n_columns < LEAST_CELLS:
            work(0, self._n_columns)
        else:
            self._share_columns(work)
        choose_splits_loop(parents, rules, nodes, histograms, space)

    def _middles(self, leaves: IntArray) -> IntArray:
        """Put the rows of some leaves that go left before the others, and return where these begin."""
        counted, nodes, n_threads = self._counted, self._memory.nodes, self._threads.count
        middles, n_rows = np.empty(len(leaves), dtype=np.intp), self._n_rows(leaves)
        n_first = 0
        if n_rows[0] >= n_threads * LEAST_ROWS:  # all threads share a large one
            leaf = int(leaves[0])
            start, stop = nodes.rows[leaf]
            column = counted.bins[counted.columns[nodes.place[leaf]]]
            rows, scratch = counted.rows[start:stop], counted.scratch[start:stop]
            middles[0] = start + split_rows(rows, scratch, column, nodes.goes_left[leaf], self._threads)
            n_first = 1
        total = np.cumsum(n_rows[n_first:])
        if len(total):
            n_parts = max(1, min(n_threads, int(total[-1]) // LEAST_ROWS))
            cuts = n_first + np.searchsorted(total, total[-1] * np.arange(n_parts + 1) / n_parts, side="left")
            cuts[0], cuts[-1] = n_first, len(leaves)
            parts = [part for part in pairwise(cuts.tolist()) if part[0] < part[1]]
            self._threads.map(lambda part: part_leaves_loop(leaves, counted, nodes, middles, *part), parts)
        return middles

    def _share_columns(self, work: Callable[[int, int], None]) -> None:
        """Call ``work(first, last)`` on ranges of columns, one a thread; columns are counted two at a time."""
        n_pairs = (self._n_columns + 1) // 2
        self._threads.share(n_pairs, lambda first, last: work(2 * first, min(2 * last, self._n_columns)))


@compiled()
def plan_loop(
    nodes: Nodes, max_leaf_nodes: int, order: IntArray, left: IntArray, wanted: IntArray
) -> tuple[int, int, int]:
    """Plan the tree as far as it is known.

    A leaf that is to be split, and whose children are not known, is wanted: it takes two numbers for them.

    Parameters
    ----------
    nodes : Nodes
        The nodes so far.
    max_leaf_nodes : int
        Most leaves.
    order : intp ndarray of shape (2 * max_leaf_nodes - 1,)
        Filled with the nodes in the order in which they join the tree; -1 for those that are not known.
    left : intp ndarray of shape (2 * max_leaf_nodes - 1,)
        Filled with the left child of each in this order; -1 in a leaf.
    wanted : intp ndarray of shape (2 * max_leaf_nodes - 1,)
        Filled with the leaves that are wanted, the first one first.

    Returns
    -------
    n_nodes, n_wanted, n_certain : int
        Nodes of the tree, leaves that are wanted, and splits before the first of these.
    """
    order[0], left[0] = 0, -1
    n_nodes, n_wanted, n_certain = 1, 0, 0
    while n_nodes < 2 * max_leaf_nodes - 1:
        largest = -np.inf
        for number in range(n_nodes):
            if left[number] < 0 and order[number] >= 0:
                largest = max(largest, nodes.gain[order[number]])
        if largest == -np.inf:
            break
        best = 0
        while left[best] >= 0 or order[best] < 0 or nodes.gain[order[best]] < largest * (1 - TIE_SHARE):
            best += 1
        left[best] = n_nodes
        child = nodes.left[order[best]]
        if child < 0:
            wanted[n_wanted] = order[best]
            n_wanted += 1
        elif n_wanted == 0:
            n_certain += 1
        for k in range(2):
            order[n_nodes + k] = child + k if child >= 0 else -1
            left[n_nodes + k] = -1
        n_nodes += 2
    return n_nodes, n_wanted, n_certain
