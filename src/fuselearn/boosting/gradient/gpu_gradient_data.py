"""Training data of gradient boosting on a GPU. What is as long as the rows stays there.

Where CuPy is installed, CUDA kernels count rows and look for splits, and of each leaf its best split comes to the host;
else histograms do, which plain operations of the array's own library count. The trees are those of rows in memory, but
for the rounding of exponentials and logarithms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from typing import Any, cast

import numpy as np

from fuselearn.backends.gpu.arrays import GpuArray
from fuselearn.backends.gpu.cuda_kernels import fused_kernels
from fuselearn.backends.gpu.fused_growth import (
    DEPTH,
    LEFT,
    MOST_LEAVES,
    MOST_ROWS,
    SPLIT,
    SUMS,
    GrowingGradients,
)
from fuselearn.backends.gpu.gpu_gradients import GpuGradients, GradientInputs, WholeLoss
from fuselearn.backends.gpu.gpu_table import GpuView, check_gpu_table
from fuselearn.backends.gpu.gradient_kernels import FusedGradients, SplitRules
from fuselearn.boosting.gradient.gradient_data import FoldPlan, FoldRuns, LocalGradientData
from fuselearn.boosting.gradient.gradient_folds import FoldOfView
from fuselearn.boosting.gradient.gradient_plan import ContentHashes, GradientPart, GradientPlan, PlanQuestion
from fuselearn.boosting.gradient.gradient_rounds import GradientRows
from fuselearn.boosting.gradient.gradient_rows import (
    FinishedTree,
    LeafHistograms,
    LossSums,
    NodeSplit,
    Question,
    TreeRequest,
)
from fuselearn.boosting.gradient.growth import Growth, HistogramLeaves, WholeTreeLeaves
from fuselearn.boosting.gradient.losses import Loss, RegressionLoss, quantile_rank
from fuselearn.boosting.gradient.open_leaves import Leaf
from fuselearn.boosting.gradient.splitting import BestCut, GrowthSettings
from fuselearn.data import TrainingData, View
from fuselearn.data.categories import Categories, categorical_columns, distinct_values
from fuselearn.data.training_data import RegressionData
from fuselearn.learners.binning import Binning
from fuselearn.numeric.gradient_loops import WEIGHT
from fuselearn.numeric.gradients import ALL_VIEWS
from fuselearn.numeric.threads import Threads
from fuselearn.typing import ArrayLike, IntArray

LEAVES_AT_A_TIME = 1024
"""Leaves whose histograms are made together."""


class GpuGradientData(LocalGradientData):
    """Rows on a GPU; labels and weights were read on the host.

    Parameters
    ----------
    data : TrainingData or RegressionData
        The rows as they were read, in units of the largest weight.
    largest_weight : float
        Largest weight that the user gave.
    categories : Categories or None
        Categories of the categorical columns, which are encoded in `data`.
    """

    def __init__(
        self, data: TrainingData | RegressionData, largest_weight: float, categories: Categories | None
    ) -> None:
        super().__init__(data, largest_weight, categories)
        self._table = cast(GpuView, data.blocks.views[0]).gpu_table
        view = GpuView("", cast(Any, self._table), self.used_columns, None, self._table.arrays)
        self._part = replace(self._part, view=view)
        self._in_bins: GpuGradients | FusedGradients | None = None

    @contextmanager
    def rows(self, plan: GradientPlan, growth: GrowthSettings, threads: Threads) -> Iterator[GradientRows]:
        """Yield the rows at the scores before the first round; see `GradientData.rows`."""
        yield self.start(self._part, plan, growth)

    @contextmanager
    def fold_runs(self, plan: FoldPlan, threads: Threads) -> Iterator[FoldRuns]:
        """Yield the rows in their bins; see `GradientData.fold_runs`."""
        yield GpuFoldRuns(self, plan)

    def _known_binning(self) -> Binning | None:
        """Return the bins of rows that were binned before; None where they were not."""
        return None if self._in_bins is None else self._in_bins.inputs.binning

    def start(
        self, part: GradientPart, plan: GradientPlan, growth: GrowthSettings, *, keep_bins: bool = False
    ) -> GpuGradientRows:
        """Return rows at the scores before the first round of a run; with `keep_bins` in those of the last run."""
        inputs = GradientInputs(
            self._table,
            self.used_columns,
            self.view_places,
            plan.binning,
            growth.categorical,
            _whole_loss(plan.loss),
            plan.baseline,
            part.labels,
            part.weights,
            part.whole_weights,
            part.roles,
            part.present,
        )
        kernels = fused_kernels(self._table.arrays)
        gradients: GpuGradients | FusedGradients
        if kernels is None:
            bins = self._in_bins.bins if isinstance(self._in_bins, GpuGradients) else None
            gradients = GpuGradients(inputs, bins)
        else:
            rules = SplitRules(
                growth.units, growth.l2_regularization, growth.least_weight, growth.least_hessian, growth.monotonic
            )
            tiles = self._in_bins.tiles if isinstance(self._in_bins, FusedGradients) else None
            gradients = (GrowingGradients if _grows_whole_trees(inputs, growth) else FusedGradients)(
                kernels, inputs, rules, tiles
            )
        if keep_bins:
            self._in_bins = gradients
        return GpuGradientRows(gradients, growth, self.n_label_columns)

    def _answers(self, questions: Mapping[str, PlanQuestion]) -> dict[str, Any]:
        """Return the answers to questions about all rows; see `GradientData._answers`."""
        answers = {}
        for name, question in questions.items():
            part = self._part
            if isinstance(question, ContentHashes):
                arrays = self._table.arrays
                with arrays.current():
                    part = replace(part, view=View("", arrays.to_host(self._table.values), self.used_columns, None))
            answers[name] = question.merged([question(part)])
        return answers


class GpuFoldRuns:
    """Rows on a GPU, whose bins stay there; see `fuselearn.boosting.gradient.gradient_data.FoldRuns`."""

    side_by_side = False

    def __init__(self, data: GpuGradientData, plan: FoldPlan) -> None:
        self._data, self._plan = data, plan

    def start(self, rows: FoldOfView, growth: GrowthSettings, threads: Threads) -> GradientRows:
        """Return the rows at the scores before the first round of a run; see `FoldRuns.start`."""
        return self._data.start(self._data.part_of(rows), self._plan.plan(rows), growth, keep_bins=True)


def _grows_whole_trees(inputs: GradientInputs, growth: GrowthSettings) -> bool:
    """Return whether the GPU is to grow whole trees, which pays where rows are few and leaves not many."""
    of_numbers = not growth.categorical.any() and not growth.monotonic.any() and growth.leaf_quantile is None
    return of_numbers and len(inputs.table) <= MOST_ROWS and 2 <= growth.max_leaf_nodes <= MOST_LEAVES


def _whole_loss(loss: Loss) -> WholeLoss:
    """Return a loss as rows on a GPU know it."""
    scale = loss.scale if isinstance(loss, RegressionLoss) else None
    return WholeLoss(loss.n_outputs, loss.bits, scale, loss.leaf_quantile)


def encoded_on_gpu(
    X: GpuArray,
    categories: Categories | None,
    categorical_features: Any,
    max_categories: int,
    in_views: IntArray | None = None,
    weights: ArrayLike = None,
) -> tuple[Categories | None, GpuArray]:
    """Return the categories of a table on a GPU, new ones where None are given, and the table in codes.

    The categorical columns come to the host to be encoded, and the table is copied, unless it has no such column.
    """
    table = check_gpu_table(X)
    arrays, n_columns = table.arrays, table.shape[1]
    columns = (
        categorical_columns(categorical_features, X, n_columns) if categories is None else categories.columns.copy()
    )
    columns = columns[columns < n_columns]  # whoever reads X says that it lacks some
    if not len(columns):
        return categories, X
    with arrays.current():
        on_host = arrays.to_host(table.columns(columns))
        places = np.arange(len(columns))
        if categories is None:
            names = [str(column) for column in columns.tolist()]
            used = None if in_views is None else np.flatnonzero(np.isin(columns, in_views))
            distinct = distinct_values(on_host, places, weights, used)
            categories = Categories.from_distinct(columns, distinct, max_categories, names)
        codes = np.asarray(Categories(places, categories.values[: len(places)]).encode(on_host))
        encoded = arrays.copy(table.values)
        for place, column in enumerate(columns.tolist()):
            encoded[:, column] = arrays.from_host(np.ascontiguousarray(codes[:, place]))
    return categories, encoded


class GpuGradientRows:
    """Rows on a GPU; see `fuselearn.boosting.gradient.gradient_rounds.GradientRows`.

    Parameters
    ----------
    gradients : GpuGradients or FusedGradients
        The rows, at the scores before the first round.
    growth : GrowthSettings
        How trees grow.
    n_label_columns : int
        Number of label columns: one, or one for each view.
    """

    def __init__(self, gradients: GpuGradients | FusedGradients, growth: GrowthSettings, n_label_columns: int) -> None:
        self.gradients, self._growth = gradients, growth
        self._has_view_labels = n_label_columns > 1
        self._n_updates = 0
        self._gradients_of: tuple[int, int] | None = None
        self._growing: int | None = None
        self._n_splits = 0

    def ask(
        self,
        rounds: Sequence[Sequence[FinishedTree]],
        questions: Sequence[Question],
        next_tree: TreeRequest | None = None,
    ) -> list[tuple[IntArray, ...]]:
        """Add the trees of all rounds so far to the scores, and answer questions; see `GradientRows.ask`."""
        self._update(rounds)
        return [self._answer(question) for question in questions]

    def leaves(self, request: TreeRequest, rounds: Sequence[Sequence[FinishedTree]]) -> HistogramLeaves:
        """Return the leaves of a new tree; see `GradientRows.leaves`."""
        self._update(rounds)
        columns = self.gradients.inputs.columns_of(request.view)
        if isinstance(self.gradients, GrowingGradients) and self.gradients.fits:
            return FusedTree(request, columns, self._growth, self, self.gradients)
        if isinstance(self.gradients, FusedGradients):
            return FusedLeaves(request, columns, self._growth, self, self.gradients)
        return GpuLeaves(request, columns, self._growth, self, expands_ahead=False)

    def advance(self, tree: TreeRequest, splits: Sequence[NodeSplit]) -> None:
        """Move the rows by the splits of a tree that were not made yet, from the beginning where it is another tree."""
        if self._gradients_of != (tree.round, tree.label_column):
            self._fill_gradients(tree.round, tree.label_column)
        if self._growing != tree.token:
            self.gradients.start_tree(tree.view)
            self._growing, self._n_splits = tree.token, 0
        self.gradients.split(splits[self._n_splits :])
        self._n_splits = len(splits)

    def quantiles(
        self, tree: TreeRequest, splits: Sequence[NodeSplit], nodes: Sequence[int], ranks: Sequence[int]
    ) -> list[float]:
        """Return the residual of a rank, by weight, in each of some nodes."""
        self.advance(tree, splits)
        return self.gradients.quantiles(nodes, ranks)

    def _update(self, rounds: Sequence[Sequence[FinishedTree]]) -> None:
        """Add the trees of rounds to the scores that were not added yet."""
        for trees in rounds[self._n_updates :]:
            for finished in trees:
                self.gradients.add_tree(finished.tree, finished.request.output, finished.request.view)
            self._n_updates += 1

    def _answer(self, question: Question) -> tuple[IntArray, ...]:
        """Return the answer to a question."""
        if isinstance(question, LossSums):
            return (self._fill_gradients(question.round, question.label_column),)
        if isinstance(question, LeafHistograms) and isinstance(self.gradients, GpuGradients):
            self.advance(question.tree, question.splits)
            return tuple(self.gradients.histogram(node, question.tree.output) for node in question.nodes)
        raise TypeError(f"Rows on a GPU cannot answer the question {type(question).__name__}.")

    def _fill_gradients(self, round_number: int, label_column: int) -> IntArray:
        """Compute the gradients of a round by some labels, and return the sums of losses by role."""
        if round_number != self._n_updates:
            raise ValueError(
                f"The rows are after {self._n_updates} rounds; they were asked about round {round_number}."
            )
        self._gradients_of = (round_number, label_column)
        return self.gradients.fill_gradients(label_column, label_column if self._has_view_labels else ALL_VIEWS)


class GpuLeaves(HistogramLeaves):
    """Leaves of a tree on a GPU whose histograms come to the host; see `fuselearn.boosting.gradient.growth.Leaves`.

    Parameters
    ----------
    request : TreeRequest
        The tree.
    columns : intp ndarray of shape (n_columns,)
        Columns of X that it may split on.
    settings : GrowthSettings
        Settings and units.
    rows : GpuGradientRows
        All rows.
    expands_ahead : bool
        Whether to expand many leaves at once.
    """

    def __init__(
        self,
        request: TreeRequest,
        columns: IntArray,
        settings: GrowthSettings,
        rows: GpuGradientRows,
        expands_ahead: bool,
    ) -> None:
        super().__init__(request, columns, settings, lambda questions: rows.ask([], questions), expands_ahead)
        self._rows = rows

    def finish(self, finished: FinishedTree, numbers: dict[int, int]) -> None:
        """Do nothing: rows walk down the trees that join the model; see `Leaves.finish`."""

    def quantiles(self, leaves: Sequence[Leaf], quantile: float) -> list[float]:
        """Return a weighted quantile of the residuals in each of some leaves; see `Leaves.quantiles`."""
        nodes = [leaf.node for leaf in leaves]
        ranks = [quantile_rank(quantile, leaf.sums[WEIGHT]) for leaf in leaves]
        return self._rows.quantiles(self._request, self._splits, nodes, ranks)


class FusedLeaves(GpuLeaves):
    """Leaves of a tree on a GPU where histograms stay there, and splits are looked for.

    Parameters
    ----------
    request, columns, settings, rows
        See `GpuLeaves`.
    gradients : FusedGradients
        The same rows, by CUDA kernels.
    """

    def __init__(
        self,
        request: TreeRequest,
        columns: IntArray,
        settings: GrowthSettings,
        rows: GpuGradientRows,
        gradients: FusedGradients,
    ) -> None:
        super().__init__(request, columns, settings, rows, expands_ahead=True)
        self._gradients = gradients

    def root(self) -> Leaf:
        """Return the root, with its best split; see `Leaves.root`."""
        self._rows.advance(self._request, ())
        self._gradients.count([0], self._request.output)
        root = Leaf(0, 0, self._gradients.sums(0), (-inf, inf))
        self._find_splits([root])
        return root

    def expand(self, leaves: Sequence[Leaf], *, final: bool = False) -> None:
        """Make the splits of some leaves, and find the best splits of their children; see `Leaves.expand`."""
        for leaf in leaves:
            self._split(leaf)
        parents = [] if final else [leaf for leaf in leaves if leaf.depth + 1 < self._settings.max_depth]
        if not parents:
            return
        self._rows.advance(self._request, self._splits)
        for first in range(0, len(parents), LEAVES_AT_A_TIME):
            families = []
            for parent in parents[first : first + LEAVES_AT_A_TIME]:
                assert parent.children is not None
                left, right = parent.children
                # The child of less weight is counted; the other one's histogram is what is left of the parent's.
                by_weight = (left, right) if left.sums[WEIGHT] <= right.sums[WEIGHT] else (right, left)
                families.append((parent, *by_weight))
            self._gradients.count([lighter.node for _, lighter, _ in families], self._request.output)
            self._gradients.subtract([(parent.node, lighter.node, other.node) for parent, lighter, other in families])
            self._find_splits([child for _, lighter, other in families for child in (lighter, other)])

    def _find_splits(self, leaves: Sequence[Leaf]) -> None:
        """Find the best splits of leaves, and give up the histograms of those that have none."""
        large = [leaf for leaf in leaves if leaf.sums[WEIGHT] >= 2 * self._settings.least_weight]
        if large:
            sums, bounds = [leaf.sums for leaf in large], [leaf.bounds for leaf in large]
            found = self._gradients.best_splits([leaf.node for leaf in large], sums, bounds)
            for leaf, record in zip(large, found):
                leaf.split = self._finder.worthwhile(BestCut(*record), leaf.sums, leaf.bounds)
        for leaf in leaves:
            if leaf.split is None:
                self._gradients.release(leaf.node)


class FusedTree(WholeTreeLeaves):
    """Leaves of a tree that the GPU grows by itself; see `WholeTreeLeaves`.

    Parameters
    ----------
    request, columns, settings, rows
        See `GpuLeaves`.
    gradients : GrowingGradients
        The same rows, by CUDA kernels.
    """

    def __init__(
        self,
        request: TreeRequest,
        columns: IntArray,
        settings: GrowthSettings,
        rows: GpuGradientRows,
        gradients: GrowingGradients,
    ) -> None:
        HistogramLeaves.__init__(self, request, columns, settings, lambda questions: rows.ask([], questions), False)
        self._rows, self._gradients = rows, gradients

    def grow(self) -> Growth:
        """Return the nodes of the whole tree."""
        self._rows.advance(self._request, ())
        table = self._gradients.grow(self._request.output, self._settings.max_leaf_nodes, self._settings.max_depth)
        scores = np.ascontiguousarray(table[:, SPLIT]).view(np.float64).tolist()
        nodes, children = [], {}
        for number, (score, fields) in enumerate(zip(scores, table.tolist())):
            g, h, weight = fields[SUMS : SUMS + 3]
            leaf = Leaf(number, fields[DEPTH], (g, h, weight), (-inf, inf))
            nodes.append(leaf)
            if fields[LEFT] >= 0:
                place, cut, direction, left_g, left_h, left_weight, missing = fields[SPLIT + 1 : SPLIT + 8]
                left_sums = left_g, left_h, left_weight
                best = BestCut(score, place, cut, direction > 0, left_sums, missing > 0, None)
                leaf.split = self._finder.worthwhile(best, leaf.sums, leaf.bounds)
                children[number] = fields[LEFT]
        # In the order in which the splits were made.
        return Growth(nodes, dict(sorted(children.items(), key=lambda family: family[1])))

    def finish(self, finished: FinishedTree, numbers: dict[int, int]) -> None:
        """Do nothing: rows walk down the trees that join the model; see `Leaves.finish`."""
