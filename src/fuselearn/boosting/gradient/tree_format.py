"""Trees of gradient boosting as arrays: one tree, and all trees of a model one after the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuselearn.explanation.tree_values import TreeNodes
from fuselearn.numeric.tree_scores import CATEGORY_BINS as CATEGORY_BINS
from fuselearn.persistence.validation import check_array, check_children
from fuselearn.typing import BoolArray, FloatArray, IntArray

NODE_KINDS: dict[str, Any] = {
    "column": np.int32,
    "cut_bin": np.int32,
    "threshold": np.float64,
    "missing_left": np.bool_,
    "left": np.int32,
    "right": np.int32,
    "value": np.float64,
    "gain": np.float64,
    "weight": np.float64,
    "category_row": np.int32,
}
"""Arrays with an entry per node, and the type of their numbers."""


@dataclass(frozen=True, eq=False)
class _Nodes:
    """The arrays that one tree and many trees have alike."""

    column: IntArray
    cut_bin: IntArray
    threshold: FloatArray
    missing_left: BoolArray
    left: IntArray
    right: IntArray
    value: FloatArray
    gain: FloatArray
    weight: FloatArray
    category_row: IntArray
    categories_left: IntArray

    @property
    def is_leaf(self) -> BoolArray:
        """Mask of the nodes that are leaves."""
        return self.column < 0

    def check_columns(self, n_features: int) -> None:
        """Refuse splits on columns beyond those that the model was fitted on: compiled code would read beyond a row.

        Parameters
        ----------
        n_features : int
            Columns of the table.

        Raises
        ------
        ValueError
            If a node reads a column of a higher number.
        """
        if self.column.max(initial=-1) >= n_features:
            raise ValueError(f"it has a tree that reads columns beyond the {n_features} it was fitted on")

    def _check_nodes(self, starts: IntArray) -> None:
        """Refuse arrays that do not make a tree of the nodes from each start to the next."""
        n_nodes = int(starts[-1])
        for name, kind in NODE_KINDS.items():
            check_array(self, name, kind, (n_nodes,), finite=False)
        for name in ("value", "gain", "weight"):
            check_array(self, name, np.float64, (n_nodes,))
        check_array(self, "gain", np.float64, (n_nodes,), at_least=0.0)
        check_array(self, "weight", np.float64, (n_nodes,), at_least=0.0)
        categories_left = check_array(self, "categories_left", np.uint8, (None, CATEGORY_BINS), below=2)
        check_array(self, "column", np.int32, (n_nodes,), at_least=-1)
        check_array(self, "category_row", np.int32, (n_nodes,), at_least=-1, below=len(categories_left))
        inner = ~self.is_leaf
        self._check_families(inner, starts)
        by_category = self.category_row >= 0
        if np.any(by_category & ~inner) or np.any(inner & (by_category != (self.cut_bin < 0))):
            raise ValueError("it has a tree with leaves that are split, or nodes split in no way or in two")
        # Each split has a row, and the rows of a tree follow each other.
        rows = self.category_row[by_category]
        tree_of_row = np.full(len(categories_left), -1)
        tree_of_row[rows] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))[by_category]
        if len(rows) != len(categories_left) or np.any(np.diff(tree_of_row, prepend=0) < 0):
            raise ValueError("it has a tree with categories of no split, of several, or of another tree")
        if np.isnan(self.threshold[inner]).any() or self.cut_bin.max(initial=-1) >= CATEGORY_BINS:
            raise ValueError("it has a tree with thresholds or bins that no column has")

    def _check_families(self, inner: BoolArray, starts: IntArray) -> None:
        """Refuse nodes that are not children of one node before them in the same tree, but for the roots."""
        ends = np.repeat(starts[1:], np.diff(starts))
        for child in (self.left, self.right):
            if np.any(inner & (child >= ends)) or np.any(~inner & (child != -1)):
                raise ValueError("it has a tree whose nodes lead out of it, or leaves with children")
        # That children come after their parents. Its walk down the levels relies on one parent for each node,
        # which is what the counts show, but those need children in range.
        children = np.concatenate([self.left[inner], self.right[inner]])
        if np.any(children < 1):
            raise ValueError("it has a tree whose nodes lead out of it, or in a circle")
        n_parents = np.bincount(children, minlength=len(inner))
        is_root = np.zeros(len(inner), dtype=bool)
        is_root[starts[:-1]] = True
        if not np.array_equal(n_parents, ~is_root):
            raise ValueError("it has a tree with nodes that have no parent, or several")
        if len(inner):
            check_children(inner, self.left, self.right, self.column, np.iinfo(np.int32).max)


@dataclass(frozen=True, eq=False)
class GradientTree(_Nodes):
    """One regression tree, whose leaves hold what is added to a raw score.

    Nodes are numbered from the root, 0; children come after their parent.

    Attributes
    ----------
    column : int32 ndarray of shape (n_nodes,)
        Column of the table that a node looks at, -1 in a leaf.
    cut_bin : int32 ndarray of shape (n_nodes,)
        Last bin that goes left, -1 at a split by categories.
    threshold : float64 ndarray of shape (n_nodes,)
        Values up to it go left, as bins up to `cut_bin` do; infinity where all values go left.
    missing_left : bool ndarray of shape (n_nodes,)
        Whether missing values go left.
    left, right : int32 ndarray of shape (n_nodes,)
        Numbers of the children, -1 in a leaf.
    value : float64 ndarray of shape (n_nodes,)
        What a leaf adds to the raw score, with the learning rate; of an inner node, what it would add as a leaf.
    gain : float64 ndarray of shape (n_nodes,)
        By how much a split raises the sum of the scores of the leaves; 0 in a leaf.
    weight : float64 ndarray of shape (n_nodes,)
        Weight of the training rows in the node; an average row weighs 1.
    category_row : int32 ndarray of shape (n_nodes,)
        At a split by categories the row of `categories_left`, else -1.
    categories_left : uint8 ndarray of shape (n_category_splits, 256)
        1 for the categories, by bin, that go left, else 0.

    Examples
    --------
    A tree that adds 1 where column 0 is above 0.5, or missing, and -1 elsewhere:

    >>> import numpy as np
    >>> tree = GradientTree(
    ...     column=np.array([0, -1, -1], dtype=np.int32),
    ...     cut_bin=np.array([0, -1, -1], dtype=np.int32),
    ...     threshold=np.array([0.5, 0.0, 0.0]),
    ...     missing_left=np.array([False, False, False]),
    ...     left=np.array([1, -1, -1], dtype=np.int32),
    ...     right=np.array([2, -1, -1], dtype=np.int32),
    ...     value=np.array([0.0, -1.0, 1.0]),
    ...     gain=np.array([8.0, 0.0, 0.0]),
    ...     weight=np.array([8.0, 4.0, 4.0]),
    ...     category_row=np.full(3, -1, dtype=np.int32),
    ...     categories_left=np.zeros((0, 256), dtype=np.uint8),
    ... )
    >>> tree.validate()
    >>> len(tree), tree.n_leaves
    (3, 2)
    """

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.column)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.is_leaf))

    def validate(self) -> None:
        """Refuse a tree, read from a file, whose nodes lead out of it or do not fit together.

        Raises
        ------
        ValueError
            If arrays differ in length or type, or the nodes do not make one tree.
        """
        n_nodes = len(check_array(self, "column", np.int32, (None,)))
        if not n_nodes:
            raise ValueError("it has a tree without nodes")
        self._check_nodes(np.array([0, n_nodes]))


@dataclass(frozen=True, eq=False)
class BoostedTrees(_Nodes):
    """All trees of a model, one after the other in the same arrays.

    The arrays are those of :class:`GradientTree`; numbers of children are among all nodes, and numbers of rows of
    `categories_left` among the rows of all trees.

    Attributes
    ----------
    starts : intp ndarray of shape (n_trees + 1,)
        First node of each tree, and at last the number of nodes.
    output : int32 ndarray of shape (n_trees,)
        The raw score that a tree adds to: 0 for two classes and for regression, else the number of the class.
    view : int32 ndarray of shape (n_trees,)
        View whose columns a tree reads, and without which it abstains; -1 where trees read all views.

    Examples
    --------
    >>> import numpy as np
    >>> leaf = GradientTree(
    ...     *(np.full(1, -1, dtype=np.int32), np.full(1, -1, dtype=np.int32), np.zeros(1), np.zeros(1, dtype=bool)),
    ...     *(np.full(1, -1, dtype=np.int32), np.full(1, -1, dtype=np.int32), np.full(1, 0.25), np.zeros(1)),
    ...     *(np.ones(1), np.full(1, -1, dtype=np.int32), np.zeros((0, 256), dtype=np.uint8)),
    ... )
    >>> trees = BoostedTrees.of([leaf, leaf], output=[0, 1], view=[-1, -1])
    >>> trees.validate()
    >>> len(trees), trees.starts.tolist(), trees.tree(1).value.tolist()
    (2, [0, 1, 2], [0.25])
    """

    starts: IntArray
    output: IntArray
    view: IntArray

    @classmethod
    def of(cls, trees: Sequence[GradientTree], output: Sequence[int], view: Sequence[int]) -> "BoostedTrees":
        """Join trees, in their order.

        Parameters
        ----------
        trees : sequence of GradientTree
            The trees; there may be none.
        output : sequence of int
            Number of the raw score that each adds to.
        view : sequence of int
            View of each, -1 for all of them.

        Returns
        -------
        BoostedTrees
            All of them.
        """
        if not len(trees) == len(output) == len(view):
            raise ValueError(f"{len(trees)} trees need as many outputs and views; got {len(output)} and {len(view)}.")
        starts = np.zeros(len(trees) + 1, dtype=np.intp)
        np.cumsum([len(tree) for tree in trees], out=starts[1:])
        first_categories = np.zeros(len(trees) + 1, dtype=np.intp)
        np.cumsum([len(tree.categories_left) for tree in trees], out=first_categories[1:])
        arrays = {
            name: np.concatenate([np.zeros(0, dtype=kind), *(getattr(tree, name) for tree in trees)])
            for name, kind in NODE_KINDS.items()
        }
        tree_of_node = np.repeat(np.arange(len(trees)), np.diff(starts))
        for name, offsets in (("left", starts), ("right", starts), ("category_row", first_categories)):
            shifted = np.where(arrays[name] >= 0, arrays[name] + offsets[tree_of_node], -1)
            arrays[name] = shifted.astype(np.int32)
        no_categories = np.zeros((0, CATEGORY_BINS), dtype=np.uint8)
        return cls(
            **arrays,
            categories_left=np.concatenate([no_categories, *(tree.categories_left for tree in trees)]),
            starts=starts,
            output=np.array(output, dtype=np.int32),
            view=np.array(view, dtype=np.int32),
        )

    def __len__(self) -> int:
        """Return the number of trees."""
        return len(self.output)

    def tree(self, number: int) -> GradientTree:
        """Return one of the trees, with its own numbers of nodes.

        Parameters
        ----------
        number : int
            Which of them, from 0.

        Returns
        -------
        GradientTree
            A tree that equals the one that was joined.
        """
        if not 0 <= number < len(self):
            raise IndexError(f"number must be from 0 to {len(self) - 1}; got {number}.")
        start = int(self.starts[number])
        nodes = slice(start, int(self.starts[number + 1]))
        arrays = {name: getattr(self, name)[nodes].copy() for name in NODE_KINDS}
        for name in ("left", "right"):
            arrays[name][arrays[name] >= 0] -= start
        by_category = arrays["category_row"] >= 0
        rows = arrays["category_row"][by_category]
        first, last = (int(rows.min()), int(rows.max()) + 1) if len(rows) else (0, 0)
        arrays["category_row"][by_category] -= first
        return GradientTree(**arrays, categories_left=self.categories_left[first:last].copy())

    def nodes(self) -> TreeNodes:
        """Return the trees as explanations read them, whatever their views.

        Returns
        -------
        TreeNodes
            Trees that add to the raw scores.
        """
        return TreeNodes(
            roots=self.starts[:-1],
            column=self.column,
            threshold=self.threshold,
            missing_left=self.missing_left,
            left=self.left,
            right=self.right,
            weight=self.weight,
            values=self.value[:, None],
            output=self.output,
            category_row=self.category_row,
            categories_left=self.categories_left,
        )

    def leaf_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return the smallest and the largest leaf value of each tree.

        Returns
        -------
        smallest, largest : ndarray of shape (n_trees,)
            What a tree can add to a raw score, unless it abstains.
        """
        if not len(self):
            return np.zeros(0), np.zeros(0)
        is_leaf = self.is_leaf
        smallest = np.minimum.reduceat(np.where(is_leaf, self.value, np.inf), self.starts[:-1])
        largest = np.maximum.reduceat(np.where(is_leaf, self.value, -np.inf), self.starts[:-1])
        return smallest, largest

    def view_bounds(self, n_views: int, n_outputs: int) -> tuple[FloatArray, FloatArray]:
        """Return the bounds of what all trees of a view together add to each raw score of a row that has the view.

        Parameters
        ----------
        n_views, n_outputs : int
            Number of the views and of the raw scores.

        Returns
        -------
        lower, upper : ndarray of shape (n_views, n_outputs)
            Sums of the smallest and of the largest leaf values of the trees. They are rounded as sums are.
        """
        lower, upper = np.zeros((n_views, n_outputs)), np.zeros((n_views, n_outputs))
        of_view = self.view >= 0
        for bounds, leaf_values in zip((lower, upper), self.leaf_bounds()):
            np.add.at(bounds, (self.view[of_view], self.output[of_view]), leaf_values[of_view])
        return lower, upper

    def check_outputs(self, n_outputs: int, n_views: int) -> None:
        """Refuse trees that do not add to the raw scores in turn, or of views that the model has not.

        Compiled code would write beyond a row, and rounds could not be told from each other.

        Parameters
        ----------
        n_outputs, n_views : int
            Number of the raw scores and of the views.

        Raises
        ------
        ValueError
            If trees are not in rounds of one for each raw score, or a view has a higher number.
        """
        if len(self) % n_outputs or np.any(self.output != np.arange(len(self)) % n_outputs):
            raise ValueError(f"it has trees that are not in rounds of {n_outputs}, one for each raw score")
        if self.view.max(initial=-1) >= n_views:
            raise ValueError(f"it has trees of other views than its {n_views}")

    def validate(self) -> None:
        """Refuse trees, read from a file, whose nodes lead out of them or do not fit together.

        Columns, outputs and views have no upper bound here: see `check_columns` and `check_outputs`.

        Raises
        ------
        ValueError
            If arrays differ in length or type, or the nodes do not make these trees.
        """
        n_trees = len(check_array(self, "output", np.int32, (None,), at_least=0))
        view = check_array(self, "view", np.int32, (n_trees,), at_least=-1)
        starts = check_array(self, "starts", np.intp, (n_trees + 1,), at_least=0)
        n_nodes = len(check_array(self, "column", np.int32, (None,)))
        if starts[0] != 0 or starts[-1] != n_nodes or np.any(starts[1:] <= starts[:-1]):
            raise ValueError("it has trees that do not follow each other, or without nodes")
        if np.any(view < 0) and np.any(view >= 0):
            raise ValueError("it has trees of single views beside trees of all views")
        self._check_nodes(starts)
