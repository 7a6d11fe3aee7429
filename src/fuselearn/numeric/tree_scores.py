"""Scores of rows by many trees, and the leaves of binned rows in one tree.

A step down a tree waits for a node, then for the value of its column: what it costs is the latency of two loads. So
some rows take it together, one level after the other: their steps do not wait for each other. None of them ends before
the others: a leaf leads to itself, and all take as many steps as the tree has levels, without a branch that could be
predicted wrongly. These rows stay in the cache while all trees pass by. A row's scores are sums in the order of the
trees, whatever rows come with it.
"""

from dataclasses import dataclass

import numpy as np

from fuselearn.numeric.execution import BLOCK_ROWS, compiled, n_blocks
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.typing import AnyArray, BoolArray, FloatArray, IntArray

CACHED_ROWS = 64
"""Rows that walk down a tree together, and stay in the cache while all trees pass by."""
CATEGORY_BINS = 256
"""Categories of a split, numbered by a byte."""
CODES = CATEGORY_BINS + 1
"""The same with a last one for values that are no category."""


@dataclass(frozen=True, eq=False)
class PackedTrees:
    """Trees as a walk reads them: what a step needs of a node stands together, and siblings follow each other.

    Attributes
    ----------
    cuts : float64 ndarray of shape (2 · n_nodes,)
        Every other number is the threshold of a node, infinity in a leaf.
    steps : uint32 ndarray of shape (4 · n_nodes,)
        The same memory. The third number of a node is its column, 0 in a leaf. The fourth is 4 · c + 2 · b + m, where
        c is the left child, which the right one follows, or in a leaf the leaf itself; b is 1 at a split by categories,
        where the first number is the row of `goes_right`; m is 1 if missing values go right.
    values : float64 ndarray of shape (n_nodes,)
        Value of each node.
    roots, n_levels : ndarray of shape (n_trees,)
        First node of each tree, and the number of splits on the longest way down.
    by_category : bool ndarray of shape (n_trees,)
        Whether a tree has a split by categories.
    goes_right : uint8 ndarray of shape (n_category_splits + 1, 257)
        1 for the codes of a split that go right; the last column is for values that are no code.
    """

    cuts: FloatArray
    steps: IntArray
    values: FloatArray
    roots: IntArray
    n_levels: IntArray
    by_category: BoolArray
    goes_right: IntArray


def pack_trees(
    column: IntArray,
    threshold: FloatArray,
    missing_left: BoolArray,
    left: IntArray,
    right: IntArray,
    value: FloatArray,
    category_row: IntArray,
    categories_left: IntArray,
    starts: IntArray,
) -> PackedTrees:
    """Pack trees for :func:`add_tree_scores`.

    Parameters
    ----------
    column : int32 ndarray of shape (n_nodes,)
        -1 in a leaf.
    threshold : ndarray of shape (n_nodes,)
        Values up to it go left.
    missing_left : bool ndarray of shape (n_nodes,)
    left, right : int32 ndarray of shape (n_nodes,)
        Numbers of the children among all nodes, above that of their parent.
    value : ndarray of shape (n_nodes,)
    category_row : int32 ndarray of shape (n_nodes,)
        Row of `categories_left`, -1 where a split has none.
    categories_left : uint8 ndarray of shape (n_category_splits, 256)
        1 for the categories that go left.
    starts : intp ndarray of shape (n_trees + 1,)
        First node of each tree, and the number of nodes.

    Returns
    -------
    PackedTrees
    """
    n_nodes, n_trees = len(column), len(starts) - 1
    cuts = np.empty(2 * n_nodes)
    packed = PackedTrees(
        cuts,
        cuts.view(np.uint32),
        np.empty(n_nodes),
        np.ascontiguousarray(starts[:-1]),
        np.zeros(n_trees, dtype=np.intp),
        np.zeros(n_trees, dtype=np.bool_),
        np.zeros((len(categories_left) + 1, CODES), dtype=np.uint8),
    )
    packed.goes_right[:-1, :CATEGORY_BINS] = 1 - categories_left
    by_category = category_row >= 0
    packed.goes_right[category_row[by_category], CATEGORY_BINS] = ~missing_left[by_category]
    _pack(
        _writable(column),
        _writable(threshold),
        _writable(missing_left),
        _writable(left),
        _writable(right),
        _writable(value),
        _writable(category_row),
        _writable(starts),
        packed.cuts,
        packed.steps,
        packed.values,
        packed.n_levels,
        packed.by_category,
    )
    return packed


def _writable(array: AnyArray) -> AnyArray:
    """Return an array that can be written to: for one that cannot, as joblib shares them, a loop is compiled again."""
    return np.require(array, requirements=["C", "W"])


@compiled()
def _pack(
    column: IntArray,
    threshold: FloatArray,
    missing_left: BoolArray,
    left: IntArray,
    right: IntArray,
    value: FloatArray,
    category_row: IntArray,
    starts: IntArray,
    cuts: FloatArray,
    steps: IntArray,
    values: FloatArray,
    n_levels: IntArray,
    by_category: BoolArray,
) -> None:
    place_of = np.empty(len(column), dtype=np.intp)
    level_of = np.zeros(len(column), dtype=np.intp)
    for t in range(len(starts) - 1):
        start, stop = starts[t], starts[t + 1]
        place_of[start] = start
        free = start + 1
        for node in range(start, stop):
            place = place_of[node]
            values[place] = value[node]
            cuts[2 * place] = np.inf
            steps[4 * place + 2] = 0
            steps[4 * place + 3] = 4 * place
            if column[node] >= 0:
                place_of[left[node]], place_of[right[node]] = free, free + 1
                level = level_of[node] + 1
                level_of[left[node]] = level_of[right[node]] = level
                n_levels[t] = max(n_levels[t], level)
                steps[4 * place + 2] = column[node]
                steps[4 * place + 3] = 4 * free + (0 if missing_left[node] else 1)
                if category_row[node] >= 0:
                    by_category[t] = True
                    cuts[2 * place] = 0.0
                    steps[4 * place] = category_row[node]
                    steps[4 * place + 3] += 2
                else:
                    cuts[2 * place] = threshold[node]
                free += 2


def add_tree_scores(
    packed: PackedTrees,
    trees: IntArray,
    output: IntArray,
    view: IntArray,
    X: FloatArray,
    rows: IntArray,
    present: BoolArray,
    scores: FloatArray,
) -> None:
    """Add the leaf values of some trees to the scores of some rows, in place.

    Parameters
    ----------
    packed : PackedTrees
        All trees.
    trees : intp ndarray
        Numbers of the trees that count, in the order in which they are added.
    output, view : int32 ndarray of shape (n_trees,)
        Score that each tree adds to, and view without which it abstains, or -1.
    X : float64 ndarray of shape (n_rows, n_columns)
        C-contiguous. Its columns are those that the trees name: no bounds are checked.
    rows : intp ndarray
        Numbers of the rows that count, each once.
    present : bool ndarray of shape (n_rows, n_views)
        Whether a row has a view; not read for trees of all views, and where no row lacks any view it may have the
        shape (n_rows, 0).
    scores : float64 ndarray of shape (n_rows, n_outputs)
        Row i belongs to row i of `X`.
    """
    _add_scores(
        packed.cuts,
        packed.steps,
        packed.values,
        packed.roots,
        packed.n_levels,
        packed.by_category,
        packed.goes_right.reshape(-1),
        trees,
        output,
        view,
        X,
        rows,
        present,
        CACHED_ROWS,
        scores,
    )


@compiled()
def _add_scores(
    cuts: FloatArray,
    steps: IntArray,
    values: FloatArray,
    roots: IntArray,
    n_levels: IntArray,
    by_category: BoolArray,
    goes_right: IntArray,
    trees: IntArray,
    output: IntArray,
    view: IntArray,
    X: FloatArray,
    rows: IntArray,
    present: BoolArray,
    cached_rows: int,
    scores: FloatArray,
) -> None:
    # Numbers without a sign: a negative index would count from the end, which is looked for at every access.
    zero, one, two, three, four = np.uintp(0), np.uintp(1), np.uintp(2), np.uintp(3), np.uintp(4)
    n_codes = np.uintp(CODES)
    n_columns = np.uintp(X.shape[1])
    n_views = present.shape[1]
    x = X.reshape(-1)
    # Rows of the block that have each view, and at last all of them.
    members = np.empty((n_views + 1, cached_rows), dtype=np.uintp)
    n_members = np.empty(n_views + 1, dtype=np.intp)
    nodes = np.empty(cached_rows, dtype=np.uint32)
    for start in range(0, len(rows), cached_rows):
        stop = min(start + cached_rows, len(rows))
        for list_number in range(n_views + 1):
            count = 0
            for place in range(start, stop):
                if list_number == n_views or present[rows[place], list_number]:
                    members[list_number, count] = rows[place]
                    count += 1
            n_members[list_number] = count
        for t in trees:
            list_number = view[t] if n_views > 0 and view[t] >= 0 else n_views
            walkers, count = members[list_number], n_members[list_number]
            nodes[:count] = roots[t]
            for _ in range(n_levels[t]):
                if not by_category[t]:
                    for i in range(count):
                        node = np.uintp(nodes[i])
                        link = np.uintp(steps[four * node + three])
                        v = x[walkers[i] * n_columns + np.uintp(steps[four * node + two])]
                        # A comparison with NaN is false: missing values go left, unless the node says otherwise.
                        right = (v > cuts[two * node]) | ((v != v) & ((link & one) != zero))
                        nodes[i] = (link >> two) + np.uintp(right)
                else:
                    for i in range(count):
                        node = np.uintp(nodes[i])
                        link = np.uintp(steps[four * node + three])
                        v = x[walkers[i] * n_columns + np.uintp(steps[four * node + two])]
                        right = (v > cuts[two * node]) | ((v != v) & ((link & one) != zero))
                        # Where the split may be by categories both answers are found, and one is chosen.
                        is_category = (link >> one) & one
                        code = np.uintp(np.intp(v if (v >= 0.0) & (v < CATEGORY_BINS) else CATEGORY_BINS))
                        split = np.uintp(steps[four * node]) * is_category
                        right_by_category = np.uintp(goes_right[split * n_codes + code])
                        chosen = np.uintp(right) ^ ((np.uintp(right) ^ right_by_category) & is_category)
                        nodes[i] = (link >> two) + chosen
            for i in range(count):
                scores[walkers[i], output[t]] += values[nodes[i]]


def leaves_of_binned_rows(
    bins: IntArray,
    rows: IntArray,
    column: IntArray,
    cut_bin: IntArray,
    missing_left: BoolArray,
    left: IntArray,
    right: IntArray,
    category_row: IntArray,
    categories_left: IntArray,
    missing_bin: int,
    *,
    threads: Threads = SERIAL,
) -> IntArray:
    """Return the leaf of one tree that each of some binned rows ends in.

    Parameters
    ----------
    bins : uint8 ndarray of shape (n_columns, n_rows)
        Bin of each value.
    rows : intp ndarray
        Numbers of the rows that count; best in increasing order.
    column, cut_bin, missing_left, left, right, category_row, categories_left
        Arrays of one tree; `column` is -1 in a leaf, `category_row` is -1 but at splits by categories.
    missing_bin : int
        Bin of missing values.
    threads : Threads, default=SERIAL
        Threads that share the rows.

    Returns
    -------
    int32 ndarray of the length of `rows`
        Numbers of nodes.
    """
    leaves = np.empty(len(rows), dtype=np.int32)
    nodes = column, cut_bin, missing_left, left, right, category_row, categories_left

    def work(start: int, stop: int) -> None:
        part = slice(start * BLOCK_ROWS, stop * BLOCK_ROWS)
        _walk_binned_rows(bins, rows[part], *nodes, missing_bin, leaves[part])

    threads.share(n_blocks(len(rows)), work)
    return leaves


@compiled()
def _walk_binned_rows(
    bins: IntArray,
    rows: IntArray,
    column: IntArray,
    cut_bin: IntArray,
    missing_left: BoolArray,
    left: IntArray,
    right: IntArray,
    category_row: IntArray,
    categories_left: IntArray,
    missing_bin: int,
    leaves: IntArray,
) -> None:
    for i in range(len(rows)):
        node = 0
        while column[node] >= 0:
            bin_ = bins[column[node], rows[i]]
            if bin_ == missing_bin:
                goes_left = missing_left[node]
            elif category_row[node] >= 0:
                goes_left = categories_left[category_row[node], bin_] != 0
            else:
                goes_left = bin_ <= cut_bin[node]
            node = left[node] if goes_left else right[node]
        leaves[i] = node


@compiled()
def settle_by_bounds(
    scores: FloatArray,
    rows: IntArray,
    present: BoolArray,
    views: IntArray,
    lower: FloatArray,
    upper: FloatArray,
    slack: float,
    codes: IntArray,
) -> int:
    """Settle rows whose class stays the same whatever the views to come add, and keep the others.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_outputs)
        Scores so far: with one output, class 1 is ahead above 0; else the class with the largest.
    rows : intp ndarray of shape (n_open,)
        Open rows. Those that stay open are moved to the front, in their order.
    present : bool ndarray of shape (n_rows, n_views)
        Whether a row has a view.
    views : intp ndarray
        Views to come.
    lower, upper : ndarray of shape (n_views, n_outputs)
        Bounds of what a view adds to the scores of a row that has it.
    slack : float
        A lead up to this may be due to rounding, and settles nothing.
    codes : intp ndarray of shape (n_rows,)
        Filled with the class of the rows that are settled.

    Returns
    -------
    int
        Number of rows that stay open.
    """
    n_outputs = scores.shape[1]
    lowest, highest = np.empty(n_outputs), np.empty(n_outputs)
    n_left = 0
    for place in range(len(rows)):
        row = rows[place]
        for k in range(n_outputs):
            lowest[k] = highest[k] = scores[row, k]
        for view in views:
            if present[row, view]:
                for k in range(n_outputs):
                    lowest[k] += lower[view, k]
                    highest[k] += upper[view, k]
        # NaN settles nothing: the comparisons are false.
        code = -1
        if n_outputs == 1:
            if lowest[0] > slack:
                code = 1
            elif highest[0] < -slack:
                code = 0
        else:
            leader = 0
            for k in range(1, n_outputs):
                if lowest[k] > lowest[leader]:
                    leader = k
            code = leader
            for k in range(n_outputs):
                if k != leader and not lowest[leader] - highest[k] > slack:
                    code = -1
        if code >= 0:
            codes[row] = code
        else:
            rows[n_left] = row
            n_left += 1
    return n_left
