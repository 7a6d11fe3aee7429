"""The growth of a whole tree in one call, best leaf first, on rows in memory.

It makes the splits that `fuselearn.boosting.gradient.growth` makes leaf by leaf, wherever the rows are. A small leaf
takes less time than the way to it and back through the interpreter: on tables of few columns that is most of the time.
"""

import numpy as np

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
from fuselearn.numeric.team import all_done, finish_chunk, next_step, publish_step, take_chunk
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.typing import IntArray

KIND, N_CHUNKS, NODE, SMALL = range(4)
"""What the leader tells the others of a step: what is to be done, in how many chunks, for which node, and which one
of its children is counted."""
COUNT_LEFT, MOVE_ROWS, COPY_ROWS, COUNT_ROOT, SCAN_ROOT, LOOK_AT_CHILDREN = range(6)
"""Kinds of steps: the rows of a large leaf are split in three."""
LEAST_ROWS = 2**12
"""Rows of a leaf for each thread below which the leader splits it alone."""


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
    step, n_left = np.zeros(4, dtype=np.intp), np.zeros(threads.count, dtype=np.intp)
    arrays = counted, rules, memory.nodes, memory.histograms, memory.space, step, n_left
    n_nodes = 0

    def lead(team: IntArray) -> None:
        nonlocal n_nodes
        n_nodes = _grow(*arrays, memory.max_leaf_nodes, threads.count, team)

    threads.lead(lead, lambda team: _help(*arrays, team))
    return memory.nodes.first(n_nodes)


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
def _start_root(n_rows: int, nodes: Nodes) -> None:
    """Set what is known of the root before it is counted."""
    nodes.rows[0, 0], nodes.rows[0, 1] = 0, n_rows
    nodes.bounds[0, 0], nodes.bounds[0, 1] = -np.inf, np.inf
    nodes.left[0], nodes.slot[0], nodes.depth[0] = -1, 0, 0


@compiled()
def _sum_root(histogram: IntArray, nodes: Nodes) -> None:
    """Set the sums of the root: every row is in some bin of the first column."""
    for i in range(3):
        nodes.sums[0, i] = 0
        for b in range(histogram.shape[2]):
            nodes.sums[0, i] += histogram[0, i, b]


@compiled()
def _part_rows(node: int, counted: CountedRows, nodes: Nodes) -> int:
    """Put rows of a node that go left before the others, and return where the others begin."""
    start, stop = nodes.rows[node, 0], nodes.rows[node, 1]
    column = counted.bins[counted.columns[nodes.place[node]]]
    return start + split_loop(counted.rows[start:stop], counted.scratch[start:stop], column, nodes.goes_left[node])


@compiled()
def _part_some_rows(
    kind: int, node: int, counted: CountedRows, nodes: Nodes, n_left: IntArray, chunk: int, n_chunks: int
) -> None:
    """Do the same for some rows, in three steps: count those that go left, move all to where they belong in other
    memory, where all threads know how many come before, and copy them back."""
    start, stop = nodes.rows[node, 0], nodes.rows[node, 1]
    first, last = start + (stop - start) * chunk // n_chunks, start + (stop - start) * (chunk + 1) // n_chunks
    column, goes_left = counted.bins[counted.columns[nodes.place[node]]], nodes.goes_left[node]
    rows, scratch = counted.rows, counted.scratch
    if kind == COUNT_LEFT:
        n_left[chunk] = 0
        for i in range(first, last):
            n_left[chunk] += goes_left[column[rows[i]]]
    elif kind == MOVE_ROWS:
        left = start + n_left[:chunk].sum()
        right = start + n_left[:n_chunks].sum() + (first - left)
        for i in range(first, last):
            is_left = np.int64(goes_left[column[rows[i]]])
            scratch[left if is_left else right] = rows[i]
            left += is_left
            right += 1 - is_left
    else:
        for i in range(first, last):
            rows[i] = scratch[i]


@compiled()
def _make_children(node: int, left: int, middle: int, rules: SplitRules, nodes: Nodes) -> int:
    """Make the children of a node, numbered `left` and one more, and return the number of nodes; the rows from `middle`
    on go right."""
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
    return left + 2


@compiled()
def _is_open(n_nodes: int, nodes: Nodes, rules: SplitRules, max_leaf_nodes: int) -> bool:
    """Return whether the last two nodes may be split."""
    return bool(n_nodes < 2 * max_leaf_nodes - 1 and nodes.depth[n_nodes - 1] < rules.max_depth)


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
def _take_chunks(
    counted: CountedRows,
    rules: SplitRules,
    nodes: Nodes,
    histograms: IntArray,
    space: SplitSpace,
    step: IntArray,
    n_left: IntArray,
    team: IntArray,
) -> None:
    """Do chunks of a step, for some of the columns or of the rows, as long as there are any that nobody has taken.

    Each loop is called in one place: the compiler copies it to wherever it is called.
    """
    n_pairs = (len(counted.columns) + 1) // 2  # columns are counted two at a time
    chunk = take_chunk(team)
    while chunk >= 0:
        kind, n_chunks, node, small = step[KIND], step[N_CHUNKS], step[NODE], step[SMALL]
        first, last = 2 * (n_pairs * chunk // n_chunks), 2 * (n_pairs * (chunk + 1) // n_chunks)
        last = min(last, len(counted.columns))
        if kind <= COPY_ROWS:
            _part_some_rows(kind, node, counted, nodes, n_left, chunk, n_chunks)
        if kind in (COUNT_ROOT, LOOK_AT_CHILDREN):
            rows = counted.rows[nodes.rows[small, 0] : nodes.rows[small, 1]]
            fill_loop(counted, rows, histograms[nodes.slot[small]], first, last)
        if kind == LOOK_AT_CHILDREN:
            rest = histograms[nodes.slot[2 * nodes.left[node] + 1 - small]]
            subtract_loop(rest[first:last], histograms[nodes.slot[small], first:last])
        if kind >= SCAN_ROOT:
            first_node, n_nodes = (0, 1) if kind == SCAN_ROOT else (nodes.left[node], 2)
            for k in range(n_nodes):
                histogram = histograms[nodes.slot[first_node + k]]
                _scan_node(histogram, first_node + k, rules, nodes, space, k, first, last)
        finish_chunk(team)
        chunk = take_chunk(team)


@compiled()
def _help(
    counted: CountedRows,
    rules: SplitRules,
    nodes: Nodes,
    histograms: IntArray,
    space: SplitSpace,
    step: IntArray,
    n_left: IntArray,
    team: IntArray,
) -> None:
    """Take chunks of all steps until the tree has grown."""
    current = next_step(team, int(np.intp(0)))
    while current >= 0:
        _take_chunks(counted, rules, nodes, histograms, space, step, n_left, team)
        current = next_step(team, current)


@compiled()
def _next_split(
    n_nodes: int,
    counted: CountedRows,
    rules: SplitRules,
    nodes: Nodes,
    step: IntArray,
    max_leaf_nodes: int,
    n_threads: int,
) -> tuple[int, int]:
    """Split leaves, best first, until there is something to share; return the next step, -1 for none, and the nodes."""
    while n_nodes < 2 * max_leaf_nodes - 1:
        best = _best_leaf(n_nodes, nodes)
        if best < 0:
            break
        step[NODE] = best
        if n_threads > 1 and nodes.rows[best, 1] - nodes.rows[best, 0] >= LEAST_ROWS * n_threads:
            return COUNT_LEFT, n_nodes
        n_nodes = _make_children(best, n_nodes, _part_rows(best, counted, nodes), rules, nodes)
        if _is_open(n_nodes, nodes, rules, max_leaf_nodes):
            step[SMALL] = _give_slots(best, n_nodes // 2, nodes)
            return LOOK_AT_CHILDREN, n_nodes
    return -1, n_nodes


@compiled()
def _grow(
    counted: CountedRows,
    rules: SplitRules,
    nodes: Nodes,
    histograms: IntArray,
    space: SplitSpace,
    step: IntArray,
    n_left: IntArray,
    max_leaf_nodes: int,
    n_threads: int,
    team: IntArray,
) -> int:
    """Grow a tree with the help of other threads; return the number of its nodes, 0 where one of these has failed."""
    n_column_chunks = min(n_threads, (len(counted.columns) + 1) // 2)
    _start_root(len(counted.rows), nodes)
    step[NODE], step[SMALL] = 0, 0
    # Literals would be types of their own, for which loops are compiled once more.
    kind, n_nodes, root = int(np.intp(COUNT_ROOT)), int(np.intp(1)), int(np.intp(0))
    while kind >= 0:
        n_chunks = n_threads if kind <= COPY_ROWS else n_column_chunks
        step[KIND], step[N_CHUNKS] = kind, n_chunks
        publish_step(team, n_chunks)
        _take_chunks(counted, rules, nodes, histograms, space, step, n_left, team)
        if not all_done(team, n_chunks):
            return 0
        node = step[NODE]
        if kind < COPY_ROWS:
            kind += 1
            continue
        if kind == COUNT_ROOT:
            _sum_root(histograms[0], nodes)
            kind = SCAN_ROOT
            continue
        if kind == COPY_ROWS:
            n_nodes = _make_children(node, n_nodes, nodes.rows[node, 0] + n_left[:n_threads].sum(), rules, nodes)
            if _is_open(n_nodes, nodes, rules, max_leaf_nodes):
                step[SMALL] = _give_slots(node, n_nodes // 2, nodes)
                kind = LOOK_AT_CHILDREN
                continue
        else:
            first_node = root if kind == SCAN_ROOT else nodes.left[node]
            for k in range(1 if kind == SCAN_ROOT else 2):
                _choose_split(histograms[nodes.slot[first_node + k]], first_node + k, rules, nodes, space, k)
        kind, n_nodes = _next_split(n_nodes, counted, rules, nodes, step, max_leaf_nodes, n_threads)
    return n_nodes
