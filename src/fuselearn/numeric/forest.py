"""Regression trees whose cuts are drawn, not searched, and forests of them with out-of-bag values.

A node draws one cut for each column it looks at, between the least and the largest value of its rows, and keeps the one
that leaves the least squared error (Geurts et al., Extremely Randomized Trees, 2006). Squares are of the targets
themselves: labels that are flipped at random shrink a mean but do not move its sign, so leaves that are not too small
stand label noise.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from fuselearn.numeric.execution import compiled, is_loaded
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.persistence.validation import check_array, check_indices, check_integer
from fuselearn.typing import BoolArray, FloatArray, IntArray

CACHED_ROWS = 256
"""Rows that stay in the cache, row by row, while all trees pass by."""
FEW_ROWS = 256
"""Rows that NumPy walks down the trees in less time than it takes to load the compiled walk. Both agree to the bit."""
MOST_SKETCHED = 4
"""Targets that cuts are chosen by. More are projected on as many random directions: distances between the means of two
leaves survive that (Joly et al., Random forests with random projections of the output space, 2014)."""

Tree: TypeAlias = tuple[IntArray, FloatArray, IntArray, FloatArray, FloatArray]
"""Features, thresholds, left children, values and weights of the nodes."""


@dataclass(frozen=True)
class Forest:
    """Trees, one after the other in the same arrays.

    Attributes
    ----------
    roots : int32 ndarray of shape (n_trees,)
        First node of each tree.
    feature : int32 ndarray of shape (n_nodes,)
        Column of the cut; -1 in a leaf.
    threshold : float32 ndarray of shape (n_nodes,)
        A row goes left where its value is at most this.
    left : int32 ndarray of shape (n_nodes,)
        The right child is the next node.
    values : float32 ndarray of shape (n_nodes, n_targets)
        Means of the leaves.
    n_columns : int
        Of the rows that they were grown on.
    weight : float32 ndarray of shape (n_nodes,) or None
        Weight of the drawn rows in each node; None in files of earlier versions.
    """

    roots: IntArray
    feature: IntArray
    threshold: FloatArray
    left: IntArray
    values: FloatArray
    n_columns: int
    weight: FloatArray | None = None

    def validate(self) -> None:
        """Check what the compiled walk down the trees relies on: every way ends in a leaf of these arrays."""
        n_columns = check_integer(self, "n_columns", least=1)
        roots = check_array(self, "roots", np.int32, (None,))
        feature = check_array(self, "feature", np.int32, (None,))
        n_nodes = len(feature)
        check_array(self, "threshold", np.float32, (n_nodes,))
        left = check_array(self, "left", np.int32, (n_nodes,))
        values = check_array(self, "values", np.float32, (n_nodes, None))
        if self.weight is not None:
            check_array(self, "weight", np.float32, (n_nodes,), at_least=0.0)
        if not len(roots) or not values.shape[1]:
            raise ValueError(f"a Forest has {len(roots)} trees of {values.shape[1]} targets, but needs one of each")
        check_indices(self, "roots", roots, n_nodes)
        inner = np.flatnonzero(feature >= 0)
        check_indices(self, "feature", feature[inner], n_columns)
        # The right child is the next node. Children that come after their parent cannot lead back to it.
        check_indices(self, "left", left[inner], n_nodes - 1)
        if np.any(left[inner] <= inner):
            raise ValueError("left of a Forest leads from a node back to itself or to one before it")

    def predict(self, columns: FloatArray, *, threads: Threads = SERIAL) -> FloatArray:
        """Return the mean over the trees, of shape (n_rows, n_targets), for float32 columns (n_columns, n_rows)."""
        # Compiled code reads them without checking bounds.
        if len(columns) != self.n_columns:
            raise ValueError(f"The trees were grown on {self.n_columns} columns; columns has {len(columns)}.")
        totals, counts = self.sums(columns, np.zeros((0, columns.shape[1]), dtype=bool), threads)
        return totals / np.maximum(counts, 1)[:, None]

    def sums(self, columns: FloatArray, in_bag: BoolArray, threads: Threads) -> tuple[FloatArray, IntArray]:
        """Return the sums of the values of the trees that have not drawn a row, and the number of these trees.

        Parameters
        ----------
        columns : float32 ndarray of shape (n_columns, n_rows)
        in_bag : bool ndarray of shape (n_trees, n_rows)
            Drawn rows; of shape (0, n_rows) if nothing was drawn.
        threads : Threads
        """
        n_rows = columns.shape[1]
        totals = np.zeros((n_rows, self.values.shape[1]))
        if not len(in_bag) and n_rows <= FEW_ROWS and not is_loaded(_add_leaf_values):
            for values in self.values[self._leaves(columns)]:
                totals += values
            return totals, np.full(n_rows, len(self.roots), dtype=np.int32)
        counts = np.zeros(n_rows, dtype=np.int32)
        nodes = self.roots, self.feature, self.threshold, self.left, self.values

        def work(start: int, stop: int) -> None:
            _add_leaf_values(columns, *nodes, in_bag, totals, counts, start, stop)

        threads.share(n_rows, work)
        return totals, counts

    def _leaves(self, columns: FloatArray) -> IntArray:
        """Return the node of the leaf of each row in each tree, of shape (n_trees, n_rows), without compiled code."""
        rows = np.arange(columns.shape[1])
        nodes = np.repeat(self.roots[:, None], len(rows), axis=1)
        while True:
            feature = self.feature[nodes]
            if not (feature >= 0).any():
                return nodes
            beyond = columns[np.maximum(feature, 0), rows] > self.threshold[nodes]
            nodes = np.where(feature >= 0, self.left[nodes] + beyond, nodes)


def grow_forest(
    columns: FloatArray,
    targets: FloatArray,
    *,
    n_trees: int,
    leaf: int,
    share: float,
    n_drawn: int,
    seed: np.random.SeedSequence,
    weights: FloatArray | None = None,
    threads: Threads = SERIAL,
) -> tuple[Forest, FloatArray, IntArray]:
    """Grow trees on rows drawn with replacement.

    Parameters
    ----------
    columns : float32 ndarray of shape (n_columns, n_rows)
        Finite.
    targets : ndarray of shape (n_rows, n_targets)
    n_trees : int
    leaf : int
        Least number of distinct rows in a leaf.
    share : float in (0, 1]
        Share of the columns that a node looks at.
    n_drawn : int
        Rows that a tree draws.
    seed : SeedSequence
    weights : ndarray of shape (n_rows,) or None
        Weight of a row, each time it is drawn. Rows are drawn alike, so that each of them is left out often.

    Returns
    -------
    forest : Forest
    totals : ndarray of shape (n_rows, n_targets)
        Sums of the values of the trees that a row was not drawn for.
    counts : int32 ndarray of shape (n_rows,)
        Number of those trees.
    """
    n_columns, n_rows = columns.shape
    n_tried = max(1, round(share * n_columns))
    targets = np.ascontiguousarray(targets, dtype=np.float64)
    weights = np.ones(n_rows) if weights is None else weights
    in_bag = np.zeros((n_trees, n_rows), dtype=bool)

    def grow(number: int) -> Tree:
        generator = np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, number)))
        counts = np.bincount(generator.integers(0, n_rows, n_drawn), minlength=n_rows)
        in_bag[number] = counts > 0
        return _tree(columns, targets, counts, weights, n_tried, leaf, generator)

    trees = threads.map(grow, range(n_trees))
    sizes = np.array([len(tree[0]) for tree in trees])
    roots = (np.cumsum(sizes) - sizes).astype(np.int32)
    forest = Forest(
        roots,
        np.concatenate([tree[0] for tree in trees]),
        np.concatenate([tree[1] for tree in trees]),
        np.concatenate([tree[2] + root for tree, root in zip(trees, roots)]).astype(np.int32),
        np.concatenate([tree[3] for tree in trees]),
        n_columns,
        np.concatenate([tree[4] for tree in trees]),
    )
    return forest, *forest.sums(columns, in_bag, threads)


def _tree(
    columns: FloatArray,
    targets: FloatArray,
    counts: IntArray,
    weights: FloatArray,
    n_tried: int,
    leaf: int,
    generator: np.random.Generator,
) -> Tree:
    """Grow one tree on rows drawn so many times."""
    n_targets = targets.shape[1]
    sketch = targets
    if n_targets > MOST_SKETCHED:
        sketch = targets @ generator.standard_normal((n_targets, MOST_SKETCHED))
    rows = np.flatnonzero(counts)
    most_nodes = 2 * (len(rows) // leaf) + 1
    feature = np.full(most_nodes, -1, dtype=np.int32)
    threshold = np.zeros(most_nodes, dtype=np.float32)
    left = np.zeros(most_nodes, dtype=np.int32)
    values = np.zeros((most_nodes, n_targets), dtype=np.float32)
    weight = np.zeros(most_nodes, dtype=np.float32)
    used = _grow(
        columns.take(rows, axis=1),  # small enough for the cache, which the whole table may not be
        np.ascontiguousarray(sketch[rows], dtype=np.float64),
        targets[rows],
        counts[rows] * weights[rows],
        np.arange(len(rows), dtype=np.int32),
        n_tried,
        leaf,
        generator.integers(1, 2**63, dtype=np.uint64),
        feature,
        threshold,
        left,
        values,
        weight,
    )
    return feature[:used], threshold[:used], left[:used], values[:used], weight[:used]


@compiled(reassociate=True)
def _grow(
    columns: FloatArray,
    sketch: FloatArray,
    targets: FloatArray,
    counts: FloatArray,
    order: IntArray,
    n_tried: int,
    leaf: int,
    state: np.uint64,
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    values: FloatArray,
    node_weight: FloatArray,
) -> int:
    """Grow one tree on the rows in `order`, which is rearranged. Returns the number of nodes."""
    n_columns = columns.shape[0]
    n_sketched = sketch.shape[1]
    n_targets = targets.shape[1]
    n_rows = len(order)
    weight = np.empty(n_rows)
    weighted = np.empty((n_sketched, n_rows))
    goes_left = np.empty(n_rows)
    picked = np.empty(n_rows, dtype=np.float32)
    shuffled = np.arange(n_columns)
    starts = np.empty(len(feature), dtype=np.int32)
    stops = np.empty(len(feature), dtype=np.int32)
    starts[0], stops[0] = 0, n_rows
    n_nodes = 1
    node = 0
    while node < n_nodes:
        start, stop = starts[node], stops[node]
        size = stop - start
        total = 0.0
        for i in range(size):
            row = order[start + i]
            weight[i] = counts[row]
            total += weight[i]
        node_weight[node] = total
        spread = 0.0
        for s in range(n_sketched):
            mean = 0.0
            for i in range(size):
                mean += weight[i] * sketch[order[start + i], s]
            mean /= total
            for i in range(size):
                away = sketch[order[start + i], s] - mean
                weighted[s, i] = weight[i] * away
                spread += weight[i] * away * away
        best_gain = 0.0
        best_column = -1
        best_cut = np.float32(0)
        if size >= 2 * leaf and spread > 1e-12 * total:
            for tried in range(n_tried):
                # A partial shuffle (Fisher and Yates) draws columns without repeating one.
                state ^= state << np.uint64(13)
                state ^= state >> np.uint64(7)
                state ^= state << np.uint64(17)
                if n_tried < n_columns:
                    other = tried + np.int64((state >> np.uint64(20)) % np.uint64(n_columns - tried))
                    column = shuffled[other]
                    shuffled[other] = shuffled[tried]
                    shuffled[tried] = column
                else:
                    column = tried
                state ^= state << np.uint64(13)
                state ^= state >> np.uint64(7)
                state ^= state << np.uint64(17)
                low = high = columns[column, order[start]]
                for i in range(size):
                    value = columns[column, order[start + i]]
                    picked[i] = value
                    low = min(low, value)
                    high = max(high, value)
                if low == high:
                    continue
                part = np.float32((state >> np.uint64(40)) / 16777216.0)
                cut = low + part * (high - low)
                if cut >= high:  # rounding
                    cut = low
                on_left = 0.0
                n_left = 0.0
                if n_sketched == 1:
                    moved = 0.0
                    for i in range(size):
                        side = 1.0 if picked[i] <= cut else 0.0
                        n_left += side
                        on_left += side * weight[i]
                        moved += side * weighted[0, i]
                    squares = moved * moved
                else:
                    for i in range(size):
                        goes_left[i] = 1.0 if picked[i] <= cut else 0.0
                        n_left += goes_left[i]
                        on_left += goes_left[i] * weight[i]
                    squares = 0.0
                    for s in range(n_sketched):
                        moved = 0.0
                        for i in range(size):
                            moved += goes_left[i] * weighted[s, i]
                        squares += moved * moved
                if n_left < leaf or size - n_left < leaf:
                    continue
                # Targets are centred in the node: what the right side sums to is what the left lacks.
                gain = squares / on_left + squares / (total - on_left)
                if gain > best_gain:
                    best_gain, best_column, best_cut = gain, column, cut
        if best_column < 0:
            for k in range(n_targets):
                mean = 0.0
                for i in range(size):
                    mean += weight[i] * targets[order[start + i], k]
                values[node, k] = mean / total
        else:
            low_end, high_end = start, stop - 1
            while low_end <= high_end:
                row = order[low_end]
                if columns[best_column, row] <= best_cut:
                    low_end += 1
                else:
                    order[low_end] = order[high_end]
                    order[high_end] = row
                    high_end -= 1
            feature[node], threshold[node], left[node] = best_column, best_cut, n_nodes
            starts[n_nodes], stops[n_nodes] = start, low_end
            starts[n_nodes + 1], stops[n_nodes + 1] = low_end, stop
            n_nodes += 2
        node += 1
    return n_nodes


@compiled()
def _add_leaf_values(
    columns: FloatArray,
    roots: IntArray,
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    values: FloatArray,
    in_bag: BoolArray,
    totals: FloatArray,
    n_trees: IntArray,
    first: int,
    stop: int,
) -> None:
    """Add the value of each tree's leaf to each of the rows from `first` to `stop` that the tree was not grown on."""
    # Slices of rows would be arrays of another layout, for which the loop would be compiled again.
    n_columns = len(columns)
    block = np.empty((CACHED_ROWS, n_columns), dtype=np.float32)
    for start in range(first, stop, CACHED_ROWS):
        size = min(CACHED_ROWS, stop - start)
        for j in range(n_columns):
            for i in range(size):
                block[i, j] = columns[j, start + i]
        for tree in range(len(roots)):
            for i in range(size):
                if len(in_bag) and in_bag[tree, start + i]:
                    continue
                node = roots[tree]
                while feature[node] >= 0:
                    node = left[node] + (block[i, feature[node]] > threshold[node])
                n_trees[start + i] += 1
                for k in range(values.shape[1]):
                    totals[start + i, k] += values[node, k]
