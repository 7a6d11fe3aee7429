"""The growth of a whole tree in one call, best leaf first, on rows in memory.

It makes the splits that `fuselearn.boosting.gradient.growth` makes leaf by leaf, wherever the rows are. A small leaf
takes less time than the way to it and back through the interpreter: on tables of few columns that is most of the time.
"""

import numpy as np

from fuselearn.numeric.barrier import all_arrive
from fuselearn.numeric.execution import compiled
from fuselearn.numeric.gradient_loops import (
    CATEGORY_SMOOTHING,
    CUT,
    DIRECTION,
    LEAST_GAIN,
    SCORE,
    TIE_SHARE,
    WEIGHT,
    G,
    H,
    fill_loop,
    scan_loop,
    split_loop,
    subtract_loop,
)
from fuselearn.numeric.growth_arrays import CountedRows, GrowthMemory, Nodes, SplitRules, SplitSpace
from fuselearn.numeric.threads import SERIAL, AbandonedError, Threads
from fuselearn.typing import IntArray

BEST, SMALL = range(2)
"""What the first thread tells the others: the leaf to split, and its child that is counted."""
LEAST_ROWS = 2**12
"""Rows of a leaf for each thread below which one of them splits it."""


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
        Threads that share the columns, and the rows of large leaves; the tree is the same for any number of them.

    Returns
    -------
    Nodes
        The nodes in the order in which they were made: the root, then both children of each split.
    """
    step, n_left = np.zeros(2, dtype=np.intp), np.zeros(threads.count, dtype=np.intp)
    n_nodes = np.zeros(threads.count, dtype=np.intp)

    def work(thread: int, barrier: IntArray) -> None:
        n_nodes[thread] = _grow(
            counted, rules, memory.nodes, memory.histograms, memory.space, memory.max_leaf_nodes, step, n_left, thread,
            threads.count, barrier,
        )  # fmt: skip
        if n_nodes[thread] < 0:
            raise AbandonedError("A thread that grew a tree together with this one has given up.")

    threads.together(work)
    return memory.nodes.first(int(n_nodes[0]))


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
def _scan_node(
    histogram: IntArray, node: int, rules: SplitRules, nodes: Nodes, space: SplitSpace, k: int, first: int, last: int
) -> None:
    """Find the best split of a node on each of some columns, in row `k` of the memory."""
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
def _choose_split(histogram: IntArray, node: int, rules: SplitRules, nodes: Nodes, space: SplitSpace, k: int) -> None:
    """Choose the best of the splits on each column, in row `k`, for a node; see `SplitFinder.best_split`."""
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
def _start_root(histogram: IntArray, n_rows: int, nodes: Nodes) -> None:
    """Set the sums, bounds and rows of the root: every row is in some bin of the first column."""
    for i in range(3):
        nodes.sums[0, i] = 0
        for b in range(histogram.shape[2]):
            nodes.sums[0, i] += histogram[0, i, b]
    nodes.bounds[0, 0], nodes.bounds[0, 1] = -np.inf, np.inf
    nodes.rows[0, 0], nodes.rows[0, 1] = 0, n_rows
    nodes.left[0], nodes.slot[0], nodes.depth[0] = -1, 0, 0


@compiled()
def _part_rows(
    node: int, counted: CountedRows, nodes: Nodes, n_left: IntArray, thread: int, n_threads: int, barrier: IntArray
) -> int:
    """Put rows of a node that go left before the others, all in their order, and return where the others begin.

    A small node is split by the first thread; the others return -1, as does any that waits for one that has given up.
    """
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
    if not all_arrive(barrier, n_threads):
        return -1
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
    if not all_arrive(barrier, n_threads):
        return -1
    for i in range(first, last):
        rows[i] = scratch[i]
    return middle


@compiled()
def _make_children(node: int, left: int, middle: int, rules: SplitRules, nodes: Nodes) -> None:
    """Make the children of a node, numbered `left` and one more; the rows from `middle` on go right."""
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
def _give_slots(node: int, new_slot: int, nodes: Nodes) -> int:
    """Return the child of less weight, which is counted; the other one's histogram is what is left of the parent's."""
    left = nodes.left[node]
    small, large = (left, left + 1) if nodes.sums[left, WEIGHT] <= nodes.sums[left + 1, WEIGHT] else (left + 1, left)
    nodes.slot[small], nodes.slot[large] = new_slot, nodes.slot[node]
    return small


@compiled()
def _best_leaf(n_nodes: int, nodes: Nodes) -> int:
    """Return the leaf whose split gains most, of those that tie the first one; -1 where no leaf has a split."""
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
def _look_at_children(
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
    """Find histograms and best splits of two children, of which the smaller one is counted, on some of the columns."""
    histogram, rest = histograms[nodes.slot[small]], histograms[nodes.slot[2 * left + 1 - small]]
    fill_loop(counted, counted.rows[nodes.rows[small, 0] : nodes.rows[small, 1]], histogram, first, last)
    subtract_loop(rest[first:last], histogram[first:last])
    for k in range(2):
        _scan_node(histograms[nodes.slot[left + k]], left + k, rules, nodes, space, k, first, last)


@compiled()
def _grow(
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
    """Grow a tree, and return the number of its nodes; -1 where a thread has given up.

    All threads run this at the same time, and take the same steps. Each counts and scans some columns, and takes its
    part of the rows; the first one does all the rest.
    """
    n_pairs = (len(counted.columns) + 1) // 2  # columns are counted two at a time
    first = 2 * (n_pairs * thread // n_threads)
    last = min(2 * (n_pairs * (thread + 1) // n_threads), len(counted.columns))
    # Literals would be types of their own, for which loops are compiled once more.
    root, n_nodes, n_leaves = int(np.intp(0)), int(np.intp(1)), int(np.intp(1))
    fill_loop(counted, counted.rows, histograms[0], first, last)
    if not all_arrive(barrier, n_threads):
        return -1
    if thread == 0:
        _start_root(histograms[0], len(counted.rows), nodes)
    if not all_arrive(barrier, n_threads):
        return -1
    _scan_node(histograms[0], root, rules, nodes, space, root, first, last)
    if not all_arrive(barrier, n_threads):
        return -1
    if thread == 0:
        _choose_split(histograms[0], root, rules, nodes, space, root)
    while n_leaves < max_leaf_nodes:
        if thread == 0:
            step[BEST] = _best_leaf(n_nodes, nodes)
        if not all_arrive(barrier, n_threads):
            return -1
        best, left = step[BEST], n_nodes
        if best < 0:
            break
        middle = _part_rows(best, counted, nodes, n_left, thread, n_threads, barrier)
        n_nodes += 2
        n_leaves += 1
        is_last = n_leaves == max_leaf_nodes or nodes.depth[best] + 1 >= rules.max_depth
        if thread == 0:
            _make_children(best, left, middle, rules, nodes)
            if not is_last:
                step[SMALL] = _give_slots(best, n_leaves - 1, nodes)
        if not all_arrive(barrier, n_threads):
            return -1
        if is_last:
            continue
        _look_at_children(step[SMALL], left, counted, rules, nodes, histograms, space, first, last)
        if not all_arrive(barrier, n_threads):
            return -1
        if thread == 0:
            for k in range(2):
                _choose_split(histograms[nodes.slot[left + k]], left + k, rules, nodes, space, root + k)
    return n_nodes
