"""Rows of a run of gradient boosting that are in one place, and the questions that the growth of trees asks of them.

A `GradientBlock` is all rows in memory, or one partition of them. Every answer is an array of whole numbers, to be
added to those of other blocks: so it does not matter how the rows were partitioned. A question holds all that is needed
to answer it, the splits of the tree so far among it. What a block remembers between two questions only saves work, so a
partition that was lost and loaded again answers like the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fuselearn.backends.partitioned.storage import ArrayStore
from fuselearn.boosting.gradient.gradient_folds import StartRun
from fuselearn.boosting.gradient.losses import Loss
from fuselearn.boosting.gradient.splitting import GrowthSettings
from fuselearn.boosting.gradient.tree_format import GradientTree
from fuselearn.numeric.gradient_histograms import (
    THREAD_ROWS,
    add_leaf_values,
    fill_histogram,
    number_leaves,
    split_rows,
)
from fuselearn.numeric.gradients import HELD_OUT, N_DIGITS, TRAINING, UNUSED, add_digit_weights
from fuselearn.numeric.growth_arrays import CountedRows, GrowthMemory, Nodes
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.numeric.tree_scores import leaves_of_binned_rows
from fuselearn.numeric.whole_tree import grow_whole_tree
from fuselearn.typing import AnyArray, BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class NodeSplit:
    """A split of a node, as the rows need it.

    Attributes
    ----------
    node, left, right : int
        Number of the node and of its children.
    column : int
        Column of X.
    goes_left : uint8 ndarray of shape (256,)
        1 for the bins that go left.
    """

    node: int
    left: int
    right: int
    column: int
    goes_left: IntArray


@dataclass(frozen=True)
class TreeRequest:
    """The tree that a question is about.

    Attributes
    ----------
    token : int
        A number that no other tree of the run has.
    round : int
        Number of rounds before it, whose scores its gradients are of.
    output : int
        Score that it adds to.
    view : int
        Number of the view that it reads; -1 for all.
    label_column : int
        Number of the labels that its gradients are of.
    """

    token: int
    round: int
    output: int
    view: int
    label_column: int


@dataclass(frozen=True)
class FinishedTree:
    """A tree as it joins the model: with the number by which a block may know its rows by leaf."""

    request: TreeRequest
    tree: GradientTree


@dataclass(frozen=True)
class BlockSettings:
    """Settings that all blocks of a run share.

    Attributes
    ----------
    loss : Loss
        The loss.
    baseline : ndarray of shape (n_outputs,)
        Scores before the first tree.
    view_columns : list of intp ndarray
        Columns of each view.
    all_columns : intp ndarray
        Columns of all views together, increasing.
    n_values : intp ndarray of shape (n_features,)
        Bins that each column uses, without that of missing values.
    n_bins : int
        Number of bins, with that of missing values, which is the last.
    """

    loss: Loss
    baseline: FloatArray
    view_columns: list[IntArray]
    all_columns: IntArray
    n_values: IntArray
    n_bins: int

    def columns(self, view: int) -> IntArray:
        """Return the columns that a tree of a view, or of all of them (-1), may split on."""
        return self.all_columns if view < 0 else self.view_columns[view]


class Question(Protocol):
    """A question about the rows of a run."""

    def __call__(self, block: GradientBlock, threads: Threads = ...) -> tuple[IntArray, ...]:
        """Return the answer of a block: whole numbers, to be added to those of the others."""


@dataclass(frozen=True)
class LossSums:
    """Asks for the sums of losses by role, after some rounds, by some labels."""

    round: int
    label_column: int

    def __call__(self, block: GradientBlock, threads: Threads = SERIAL) -> tuple[IntArray, ...]:
        return (block.fill_gradients(self.round, self.label_column, threads),)


@dataclass(frozen=True)
class LeafHistograms:
    """Asks for the histograms of some nodes of a tree, of shape (n_columns, 3, n_bins) each."""

    tree: TreeRequest
    splits: tuple[NodeSplit, ...]
    nodes: tuple[int, ...]

    def __call__(self, block: GradientBlock, threads: Threads = SERIAL) -> tuple[IntArray, ...]:
        block.advance(self.tree, self.splits, threads)
        return tuple(block.histogram(self.tree, node, threads) for node in self.nodes)


@dataclass(frozen=True)
class DigitWeights:
    """Asks for the weights of the residuals in some nodes by a digit, given the earlier digits (see `gradients`)."""

    tree: TreeRequest
    splits: tuple[NodeSplit, ...]
    nodes: tuple[int, ...]
    prefixes: tuple[int, ...]
    digit: int

    def __call__(self, block: GradientBlock, threads: Threads = SERIAL) -> tuple[IntArray, ...]:
        block.advance(self.tree, self.splits, threads)
        sums = [block.digit_weights(node, prefix, self.digit) for node, prefix in zip(self.nodes, self.prefixes)]
        return (np.stack(sums),)


@dataclass(frozen=True)
class NumberLeaves:
    """Lets a block note the leaf of each row of a tree that is done, before the next tree takes its memory.

    `numbers` maps the nodes, as the splits number them, to those of the finished tree.
    """

    finished: FinishedTree
    splits: tuple[NodeSplit, ...]
    numbers: dict[int, int]

    def __call__(self, block: GradientBlock, threads: Threads = SERIAL) -> tuple[IntArray, ...]:
        block.advance(self.finished.request, self.splits, threads)
        block.number_leaves(self.finished, self.numbers, threads)
        return ()


class GradientBlock:
    """Rows in one place, with their bins, scores and gradients, sorted by leaf while a tree grows.

    Parameters
    ----------
    settings : BlockSettings
        What all blocks of the run share.
    store : ArrayStore
        Place of all arrays that are as long as the rows.
    bins : uint8 ndarray of shape (n_features, n_rows)
        Bins of all columns.
    labels : list of ndarray of shape (n_rows,)
        Class codes (int32) or targets by each label column.
    weights : ndarray of shape (n_rows,) or None
        Weights between 0 and 1; None where each row counts 1.
    whole_weights : int32 ndarray of shape (n_rows,) or None
        The same in units.
    roles : int8 ndarray of shape (n_rows,)
        Whether a row is trained on, held out, or not used.
    present : list of bool ndarray of shape (n_rows,) or None
        Rows that have each view; None where all of them have.
    folds : int8 ndarray of shape (n_rows,) or None
        Folds of the rows, where a cross-fitting starts several runs on them.
    """

    def __init__(
        self,
        settings: BlockSettings,
        store: ArrayStore,
        bins: IntArray,
        labels: Sequence[AnyArray],
        weights: FloatArray | None,
        whole_weights: IntArray | None,
        roles: IntArray,
        present: Sequence[BoolArray | None],
        folds: IntArray | None = None,
    ) -> None:
        self.settings = settings
        self.n_updates = 0
        self._n_earlier = 0
        self.n_rows = bins.shape[1]
        self._store = store
        n_outputs = settings.loss.n_outputs
        store.put("bins", bins)
        for number, column in enumerate(labels):
            store.put(f"labels{number}", column)
        store.put("weights", np.empty(0) if weights is None else weights)
        store.put("whole_weights", np.empty(0, dtype=np.int32) if whole_weights is None else whole_weights)
        store.put("roles", roles)
        if folds is not None:
            store.put("folds", folds)
            store.put("counted", roles)
        for number, rows in enumerate(present):
            if rows is not None:
                store.put(f"present{number}", rows)
        self._n_label_columns = len(labels)
        self._is_partial = [rows is not None for rows in present]
        store.put("g", np.zeros((n_outputs, self.n_rows), dtype=np.int64))
        store.put("h", np.zeros((n_outputs, self.n_rows), dtype=np.int32))
        store.put("rows", np.zeros(self.n_rows, dtype=np.int32))
        store.put("scratch", np.zeros(self.n_rows, dtype=np.int32))
        self._forget_trees(settings.baseline)

    def _forget_trees(self, baseline: FloatArray) -> None:
        """Set the scores to those before the first tree, and forget what was noted of trees."""
        self._store.put("scores", np.repeat(baseline[:, None], self.n_rows, axis=1))
        self._gradients_of: tuple[int, int] | None = None
        self._growing: int | None = None
        self._n_splits = 0
        self._ranges: dict[int, tuple[int, int]] = {}
        self._numbered: dict[tuple[int, int], int] = {}

    def start(self, run: StartRun) -> None:
        """Begin another run on the same bins: rows get the roles that they have in it."""
        present = None if run.rows.view < 0 else self._present(run.rows.view)
        self._store.put("roles", run.rows.roles(self._store.get("counted"), self._store.get("folds"), present))
        self._forget_trees(run.baseline)

    def update(
        self,
        updates: Sequence[Sequence[FinishedTree | NumberLeaves] | StartRun],
        first: int = 0,
        threads: Threads = SERIAL,
    ) -> None:
        """Add the trees of those rounds to the scores, the first of them numbered `first`, that were not added yet.

        A tree may come with the question that lets a block note its leaves, which is of use only where it has grown.
        Among the rounds there may be the start of another run.
        """
        with self._store.mapped():
            for trees in updates[self.n_updates - first :]:
                if isinstance(trees, StartRun):
                    self.start(trees)
                    self.n_updates += 1
                    self._n_earlier = self.n_updates
                    continue
                scores = self._store.get("scores")
                for tree in trees:
                    finished = tree.finished if isinstance(tree, NumberLeaves) else tree
                    if isinstance(tree, NumberLeaves) and self._growing == finished.request.token:
                        tree(self, threads)
                    self._add_tree(finished, scores[finished.request.output], threads)
                self.n_updates += 1

    def answer(self, questions: Sequence[Question], threads: Threads = SERIAL) -> list[tuple[IntArray, ...]]:
        """Return the answer to each question, to be added to those of other blocks."""
        with self._store.mapped():
            return [question(self, threads) for question in questions]

    def scores(self) -> FloatArray:
        """Return the scores so far, of shape (n_outputs, n_rows)."""
        return self._store.get("scores")

    def fill_gradients(self, round_number: int, label_column: int, threads: Threads = SERIAL) -> IntArray:
        """Compute the gradients of a round by some labels, and return the sums of losses by role."""
        n_rounds = self.n_updates - self._n_earlier
        if round_number != n_rounds:
            raise ValueError(f"The rows are after {n_rounds} rounds; they were asked about round {round_number}.")
        roles = self._store.get("roles")
        present = self._present(label_column) if self._n_label_columns > 1 else None
        if present is not None:
            roles = np.where(present, roles, np.int8(UNUSED))
        self._gradients_of = (round_number, label_column)
        return self.settings.loss.fill_gradients(
            self._store.get("scores"),
            self._store.get(f"labels{label_column}"),
            self._store.get("weights"),
            roles,
            self._store.get("g"),
            self._store.get("h"),
            threads,
        )

    def advance(self, tree: TreeRequest, splits: Sequence[NodeSplit], threads: Threads = SERIAL) -> None:
        """Sort the rows by the splits of a tree that were not made yet, from the beginning where it is another tree."""
        if self._gradients_of != (tree.round, tree.label_column):
            self.fill_gradients(tree.round, tree.label_column, threads)
        rows = self._store.get("rows")
        if self._growing != tree.token:
            training = self._store.get("roles") == TRAINING
            present = None if tree.view < 0 else self._present(tree.view)
            root = np.flatnonzero(training if present is None else training & present)
            rows[: len(root)] = root
            self._growing, self._n_splits, self._ranges = tree.token, 0, {0: (0, len(root))}
        bins, scratch = self._store.get("bins"), self._store.get("scratch")
        for split in splits[self._n_splits :]:
            start, stop = self._ranges[split.node]
            n_left = split_rows(rows[start:stop], scratch[start:stop], bins[split.column], split.goes_left, threads)
            self._ranges[split.left], self._ranges[split.right] = (start, start + n_left), (start + n_left, stop)
            self._n_splits += 1

    def grow(
        self, tree: TreeRequest, settings: GrowthSettings, memory: GrowthMemory, threads: Threads = SERIAL
    ) -> Nodes:
        """Grow a whole tree on these rows alone."""
        self.advance(tree, (), threads)
        columns, root = self.settings.columns(tree.view), self._rows_of(0)
        counted = CountedRows(
            self._store.get("bins"),
            columns,
            root,
            self._store.get("scratch")[: len(root)],
            self._store.get("g")[tree.output],
            self._store.get("h")[tree.output],
            self._store.get("whole_weights"),
            settings.n_values,
        )
        grown = grow_whole_tree(counted, settings.rules(columns), memory, threads)
        self._ranges = {node: (first, last) for node, (first, last) in enumerate(grown.rows.tolist())}
        self._n_splits = len(self._ranges) // 2
        return grown

    def histogram(self, tree: TreeRequest, node: int, threads: Threads = SERIAL) -> IntArray:
        """Return the histogram of a node of the tree that grows."""
        columns = self.settings.columns(tree.view)
        histogram = np.empty((len(columns), 3, self.settings.n_bins), dtype=np.int64)
        fill_histogram(
            self._store.get("bins"),
            columns,
            self._rows_of(node),
            self._store.get("g")[tree.output],
            self._store.get("h")[tree.output],
            self._store.get("whole_weights"),
            self.settings.n_values,
            histogram,
            threads,
        )
        return histogram

    def digit_weights(self, node: int, prefix: int, digit: int) -> IntArray:
        """Return the weights of the residuals in a node by one digit, given the earlier ones."""
        sums = np.zeros(N_DIGITS, dtype=np.int64)
        add_digit_weights(
            self._store.get("scores")[0],
            self._store.get("labels0"),
            self._store.get("whole_weights"),
            self._rows_of(node),
            prefix,
            digit,
            sums,
        )
        return sums

    def number_leaves(self, finished: FinishedTree, numbers: dict[int, int], threads: Threads = SERIAL) -> None:
        """Note the leaf of each row in the tree that has just grown; held-out rows walk down the finished tree."""
        request, tree = finished.request, finished.tree
        name = self._leaves_name(request)
        n_nodes = len(tree.column)
        leaves: IntArray = np.full(self.n_rows, n_nodes, dtype=np.min_scalar_type(n_nodes))
        for node, number in numbers.items():
            number_leaves(leaves, self._rows_of(node), number)
        held_out = self._store.get("roles") == HELD_OUT
        if request.view >= 0 and (present := self._present(request.view)) is not None:
            held_out &= present
        rows = np.flatnonzero(held_out)
        if len(rows):
            leaves[rows] = self._leaves(tree, rows, threads)
        self._store.put(name, leaves)
        self._numbered[request.output, request.view] = request.token

    def _add_tree(self, finished: FinishedTree, scores: FloatArray, threads: Threads) -> None:
        """Add the values of the leaves of a tree to the scores of all rows that it reads."""
        request, tree = finished.request, finished.tree
        # The value behind the last node is that of rows which the tree does not see.
        values = np.append(tree.value, 0.0)
        if self._numbered.get((request.output, request.view)) == request.token:
            add_leaf_values(scores, self._store.get(self._leaves_name(request)), values)
            return
        seen = self._store.get("roles") != UNUSED
        if request.view >= 0 and (present := self._present(request.view)) is not None:
            seen &= present
        rows = np.flatnonzero(seen)
        scores[rows] += values[self._leaves(tree, rows, threads)]

    def _leaves(self, tree: GradientTree, rows: IntArray, threads: Threads) -> IntArray:
        """Return the leaves of some rows, which walk down a tree."""
        return leaves_of_binned_rows(
            self._store.get("bins"),
            rows,
            tree.column,
            tree.cut_bin,
            tree.missing_left,
            tree.left,
            tree.right,
            tree.category_row,
            tree.categories_left,
            self.settings.n_bins - 1,
            threads=threads if len(rows) >= THREAD_ROWS else SERIAL,
        )

    def _rows_of(self, node: int) -> IntArray:
        """Return the rows of a node of the tree that grows."""
        start, stop = self._ranges[node]
        return self._store.get("rows")[start:stop]

    def _present(self, view: int) -> BoolArray | None:
        """Return the rows that have a view; None where all of them have."""
        return self._store.get(f"present{view}") if self._is_partial[view] else None

    @staticmethod
    def _leaves_name(request: TreeRequest) -> str:
        """Return the name of the array of leaves of a tree."""
        return f"leaves{request.output}_{request.view}"
