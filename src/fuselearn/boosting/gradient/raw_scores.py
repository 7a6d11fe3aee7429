"""Raw scores of rows by the trees of a model, and the classes that follow from as few views as decide them.

The raw scores of a row are the baseline plus the leaf values of the trees, added in their order: the same bits for any
number of threads and whatever rows come with it. A tree of one view abstains where a row lacks the view.

Where each tree reads one view, classes are found with early exit, as in `fuselearn.boosting.ensemble`: views are read
one after the other, the one whose trees differ most in their leaves first, and each with all its trees. What the views
to come can add is bounded by their smallest and largest leaves, so that a row whose class is out of their reach is
decided. Rounding is allowed for by a slack, and rows as near to a tie as that are summed in full.
"""

from collections.abc import Callable, Iterator

import numpy as np

from fuselearn.boosting.gradient.tree_format import BoostedTrees
from fuselearn.data import View, ViewBlocks
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.numeric.tree_scores import PackedTrees, add_tree_scores, pack_trees, settle_by_bounds
from fuselearn.numeric.votes import codes_of, rounding_slack
from fuselearn.typing import BoolArray, FloatArray, IntArray

CHUNK_ROWS, CHUNK_VALUES = 4096, 2**22
"""Rows that are scored in one call of the compiled loop, and that a thread takes at a time; fewer of wide tables, which
may have to be copied."""


class RawScores:
    """Trees of a model as prediction needs them.

    Parameters
    ----------
    trees : BoostedTrees
        The trees.
    baseline : ndarray of shape (n_outputs,)
        Scores before the first tree.
    view_names : list of str
        Names of the views.
    view_columns : list of intp ndarray
        Columns of each view.

    Attributes
    ----------
    view_columns : list of intp ndarray
        Columns of each view.
    of_views : bool
        Whether each tree reads one view.
    view_order : intp ndarray
        Views that have a tree, the one with the largest sum over its trees of the range of leaf values first, and of
        equal ones the one of lowest number; where trees read all views, those with a split, by number.
    """

    def __init__(
        self, trees: BoostedTrees, baseline: FloatArray, view_names: list[str], view_columns: list[IntArray]
    ) -> None:
        self._trees, self._baseline = trees, np.asarray(baseline, dtype=np.float64)
        self._names, self.view_columns = view_names, view_columns
        self._packed = packed_trees(trees)
        self.of_views = bool(np.any(trees.view >= 0))
        self._smallest, self._largest = trees.leaf_bounds()
        self.view_order = self._order_of_views()
        self._lower, self._upper, self._slack = self._bounds()

    @property
    def n_outputs(self) -> int:
        """Number of raw scores of a row."""
        return len(self._baseline)

    def of_rows(self, X: FloatArray, threads: Threads = SERIAL) -> FloatArray:
        """Return the raw scores of rows.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            The rows; categories are codes.
        threads : Threads, default=SERIAL
            Threads that share the rows.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
            Baseline and trees in their order.
        """
        scores = np.empty((len(X), self.n_outputs))

        def receive(rows: slice, block: FloatArray) -> None:
            scores[rows] = self.of_block(block)

        in_chunks(X, receive, threads)
        return scores

    def staged(self, X: FloatArray, threads: Threads = SERIAL) -> Iterator[FloatArray]:
        """Yield the raw scores after each round, in an array that is used again.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            The rows; categories are codes.
        threads : Threads, default=SERIAL
            Threads that share the rows.

        Yields
        ------
        ndarray of shape (n_rows, n_outputs)
            Baseline and trees of the rounds so far; a round has one tree for each output.
        """
        scores, present = np.tile(self._baseline, (len(X), 1)), self.present(X)
        block = _whole_table(X).block(0, len(X))
        for first in range(0, len(self._trees), self.n_outputs):
            trees = np.arange(first, first + self.n_outputs)

            def work(first: int, last: int, trees: IntArray = trees) -> None:
                self._add(trees, block, np.arange(first, last), present, scores)

            threads.share(len(X), work)
            yield scores

    def present(self, X: FloatArray) -> BoolArray:
        """Return which views the rows have, where trees abstain without; else an array without columns."""
        return self.views_of(X) if self.of_views else np.zeros((len(X), 0), dtype=bool)

    def views_of(self, X: FloatArray) -> BoolArray:
        """Return which views the rows have, of shape (n_rows, n_views)."""
        return ViewBlocks.of(X, self._names, self.view_columns).present

    def classes_of_block(self, X: FloatArray, used: BoolArray | None = None) -> IntArray:
        """Return the class codes of rows, from as few views as decide them where each tree reads one.

        Parameters
        ----------
        X : float64 ndarray of shape (n_rows, n_features)
            The rows, C-contiguous.
        used : bool ndarray of shape (n_rows, n_views), default=None
            All False; set to True where a view was read, in trees of single views.

        Returns
        -------
        intp ndarray of shape (n_rows,)
            What :func:`fuselearn.numeric.votes.codes_of` says about the decision values of the raw scores.
        """
        if not self.of_views:
            return codes_of(decision_values(self.of_block(X)))
        codes = np.empty(len(X), dtype=np.intp)
        present, scores = self.present(X), np.tile(self._baseline, (len(X), 1))
        open_rows = np.arange(len(X))
        for place in range(len(self.view_order) + 1):
            if place:
                number = self.view_order[place - 1]
                rows = open_rows[present[open_rows, number]]
                if used is not None:
                    used[rows, number] = True
                self._add(np.flatnonzero(self._trees.view == number), X, rows, present, scores)
            # The baseline alone may be more than all views can turn.
            to_come = self.view_order[place:]
            bounds = self._lower, self._upper, self._slack
            open_rows = open_rows[: settle_by_bounds(scores, open_rows, present, to_come, *bounds, codes)]
            if not len(open_rows):
                return codes
        codes[open_rows] = codes_of(decision_values(self.of_block(X[open_rows])))
        return codes

    def of_block(self, X: FloatArray) -> FloatArray:
        """Return the raw scores of some rows, C-contiguous."""
        scores = np.tile(self._baseline, (len(X), 1))
        self._add(np.arange(len(self._trees)), X, np.arange(len(X)), self.present(X), scores)
        return scores

    def _add(self, trees: IntArray, X: FloatArray, rows: IntArray, present: BoolArray, scores: FloatArray) -> None:
        """Add the values of some trees to the scores of some rows, but for trees that abstain."""
        add_tree_scores(self._packed, trees, self._trees.output, self._trees.view, X, rows, present, scores)

    def _bounds(self) -> tuple[FloatArray, FloatArray, float]:
        """Return the least and the most that each view adds to each score, and what rounding can make of it."""
        lower, upper = self._trees.view_bounds(len(self._names), self.n_outputs)
        finite = self._baseline[np.isfinite(self._baseline)]
        slack = rounding_slack(np.concatenate([finite, np.maximum(np.abs(self._smallest), np.abs(self._largest))]))
        # A view that is not read may as well be absent, and then it adds nothing.
        return np.minimum(lower, 0.0), np.maximum(upper, 0.0), slack

    def _order_of_views(self) -> IntArray:
        """Return the views that are read, in the order in which they are."""
        if not self.of_views:
            split = np.unique(self._trees.column)
            with_split = [number for number, columns in enumerate(self.view_columns) if np.isin(columns, split).any()]
            return np.array(with_split, dtype=np.intp)
        strengths = np.bincount(self._trees.view, self._largest - self._smallest, minlength=len(self._names))
        order = np.argsort(-strengths, kind="stable")
        return order[np.isin(order, self._trees.view)]


def packed_trees(trees: BoostedTrees) -> PackedTrees:
    """Return trees as a walk down them reads them."""
    return pack_trees(
        trees.column,
        trees.threshold,
        trees.missing_left,
        trees.left,
        trees.right,
        trees.value,
        trees.category_row,
        trees.categories_left,
        trees.starts,
    )


def decision_values(scores: FloatArray) -> FloatArray:
    """Return raw scores, of which a single column as one dimension."""
    return scores[:, 0] if scores.shape[1] == 1 else scores


def in_chunks(X: FloatArray, receive: Callable[[slice, FloatArray], None], threads: Threads) -> None:
    """Call ``receive(rows, block)`` for some rows at a time, a slice, and these rows as C-contiguous float64."""
    table, n_rows = _whole_table(X), len(X)
    at_a_time = max(1, min(CHUNK_ROWS, CHUNK_VALUES // X.shape[1]))

    def work(first: int, last: int) -> None:
        for start in range(first * at_a_time, min(last * at_a_time, n_rows), at_a_time):
            stop = min(start + at_a_time, n_rows)
            receive(slice(start, stop), table.block(start, stop))

    threads.share(-(-n_rows // at_a_time), work)


def _whole_table(X: FloatArray) -> View:
    """Return all columns of a table as one view, which gives its rows in blocks."""
    return View("X", X, np.arange(X.shape[1]), None)
