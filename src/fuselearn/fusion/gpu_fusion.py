"""A fusion on many rows on a GPU: a block of rows that answers there, and predictions of rows there.

Columns, features of ridges and out-of-fold values stay on the GPU; labels, weights, folds and the views that rows have
are on the host, too, as far as they were read there. Whatever asks little of the rows is answered on the host, by what
it needs of them: questions about a subsample, the judging of labels, and models that only the host can predict with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from fuselearn.backends.gpu.arrays import GpuArray
from fuselearn.backends.gpu.cuda_kernels import fused_kernels
from fuselearn.backends.gpu.fold_sums import (
    FoldedRows,
    GpuFeatures,
    LossTerms,
    column_moments,
    ridge_sums,
)
from fuselearn.backends.gpu.gpu_outliers import ordinary_gpu_values, without_gross_outliers
from fuselearn.backends.gpu.gpu_table import (
    GpuTable,
    check_gpu_table,
    gpu_view_blocks,
    labels_to_host,
    read_gpu_table,
    row_blocks,
)
from fuselearn.backends.gpu.gpu_tree_scores import gpu_tree_scores
from fuselearn.backends.partitioned.partitions import Answer
from fuselearn.boosting.gradient.raw_scores import packed_trees
from fuselearn.data.training_data import TableReader, targets_of
from fuselearn.data.view_table import check_same_features
from fuselearn.fusion.base_models import FittedModel
from fuselearn.fusion.base_models.boosted_trees import BoostedTreesModel
from fuselearn.fusion.base_models.kernel_machines import LARGEST_VALUE
from fuselearn.fusion.base_models.ridge_features import (
    ColumnMoments,
    RidgeFeatures,
    RidgeModel,
    RidgeSums,
    whole_sums,
)
from fuselearn.fusion.fusion_rows import (
    ArmValues,
    FittedArm,
    FusionBlock,
    FusionFrame,
    pattern_numbers,
    votes_of,
)
from fuselearn.fusion.log_loss_weights import MOST_DENSE, LossSums, MeanSquares, PatternSums, Stack
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.typing import ArrayLike, BoolArray, FloatArray, IntArray

GPU_READER = TableReader(read_gpu_table, labels_to_host, gpu_view_blocks, without_gross_outliers)
"""Reads a table on a GPU, of which gross outliers are cut off."""


def labels_on_host(X: GpuArray, y: ArrayLike, *others: ArrayLike) -> tuple[ArrayLike, ...]:
    """Check a table on a GPU; return its labels, weights, view labels and groups, which may be there too, in memory."""
    table = check_gpu_table(X)
    names = "sample_weight", "view_labels", "groups"
    return labels_to_host(y, table, "y"), *(labels_to_host(values, table, name) for name, values in zip(names, others))


class RowsOnDemand:
    """A table on a GPU whose rows come to the host when they are asked for, as if it were an array."""

    def __init__(self, table: GpuTable) -> None:
        self._table = table
        self.shape = table.shape

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, rows: IntArray | slice) -> FloatArray:
        """Return some rows, on the host."""
        arrays = self._table.arrays
        with arrays.current():
            if isinstance(rows, slice):
                start, stop, _ = rows.indices(len(self))
                return np.asarray(arrays.to_host(self._table.values[start:stop, :]))
            return np.asarray(arrays.to_host(arrays.take(self._table.values, arrays.from_host(rows))))


class GpuFusionBlock(FusionBlock):
    """All rows of a fit on a GPU; see `FusionBlock`.

    Parameters
    ----------
    frame : FusionFrame
        What a fit says of its rows.
    table : GpuTable
        All columns of X, without gross outliers.
    present, codes, weights, fold_of : ndarray
        See `FusionBlock`.
    """

    def __init__(
        self,
        frame: FusionFrame,
        table: GpuTable,
        present: BoolArray,
        codes: IntArray,
        weights: FloatArray,
        fold_of: IntArray,
    ) -> None:
        super().__init__(frame, cast(FloatArray, RowsOnDemand(table)), present, codes, weights, fold_of, 0)
        self._predictor = GpuPredictor(table)
        self._rows = FoldedRows(self._predictor.table, fold_of, frame.n_folds, weights)
        shares = votes_of(codes, frame.n_classes)
        self._shares = self._rows.upload(shares)
        self._posterior: GpuArray | None = None
        self._ridge_targets = self._rows.upload(targets_of(shares))
        self._having = self._rows.upload(np.column_stack([present, np.ones(len(present))]))
        self._values: dict[int, GpuArray] = {}
        self._on_host: dict[int, FloatArray] = {}

    def update(self, updates: Sequence[Any], first: int, threads: Threads = SERIAL) -> None:
        """Make those of the updates, the first of them numbered `first`, that were not made yet."""
        for update in updates[self.n_updates - first :]:
            if isinstance(update, ArmValues) and self._predictor.knows(update.arm.fold_models):
                self._add_arm(update.number, update.arm)
            else:
                update.apply(self)
            self.n_updates += 1

    def answer(self, questions: Sequence[Any], threads: Threads = SERIAL) -> list[Answer]:
        """Return the answer to each question."""
        return [self._answer(question) for question in questions]

    def keep_values(self, arm: int, values: FloatArray) -> None:
        """Keep the out-of-fold values of an arm, of shape (n_rows, n_targets); 0 where it has none."""
        self._values[arm] = self._rows.upload(values)
        self._on_host[arm] = values

    def values(self, arm: int) -> FloatArray:
        """Return the out-of-fold values of an arm, of shape (n_rows, n_targets), on the host."""
        if arm not in self._on_host:
            self._on_host[arm] = self._rows.download(self._values[arm])
        return self._on_host[arm]

    def keep_posterior(self, posterior: FloatArray) -> None:
        """Keep p(true class | values, labels), of shape (n_rows, n_classes)."""
        super().keep_posterior(posterior)
        self._posterior = self._rows.upload(posterior)

    def _add_arm(self, number: int, arm: FittedArm) -> None:
        """Predict the rows of each fold by the model that was fitted without it."""
        rows, arrays = self._rows, self._rows.arrays
        with arrays.current():
            offset = arrays.from_host(arm.offset)[None, :]
            by_fold = []
            for fold, model in enumerate(arm.fold_models):
                start, stop = int(rows.ends[fold]), int(rows.ends[fold + 1])
                if model is None or start == stop:
                    by_fold.append(arrays.full((stop - start, self.frame.n_targets), 0.0))
                else:
                    by_fold.append(self._predictor.predict(model, arm.columns, rows.numbers[start:stop]) - offset)
            values = arrays.concatenate(by_fold)
            having = arm.having(self.present)
            if not having.all():
                values = arrays.where(rows.upload(having)[:, None], values, arrays.xp.zeros_like(values))
        self._values[number] = values
        self._on_host.pop(number, None)

    def _answer(self, question: Any) -> Answer:
        """Return the answer to a question."""
        if isinstance(question, ColumnMoments):
            return (column_moments(self._rows, self.frame.used_columns, LARGEST_VALUE, question.centre),)
        if isinstance(question, RidgeSums):
            features = gpu_features(question.features, self._rows.table)
            columns = self.frame.used_columns
            sums = ridge_sums(self._rows, features, columns, self._ridge_targets, self._having)
            return whole_sums(sums, question.bits)
        with self._rows.arrays.current():
            if isinstance(question, MeanSquares):
                return self._mean_squares(question)
            if isinstance(question, LossSums):
                return self._loss_sums(question)
            if isinstance(question, PatternSums):
                return self._pattern_sums(question)
        return cast(Answer, question(self))

    def _mean_squares(self, question: MeanSquares) -> Answer:
        """Return Σ u v² of each arm, and Σ u."""
        arrays, weights = self._rows.arrays, self._rows.weights
        sums = []
        for arm in question.arms:
            squares = arrays.sum(self._values[arm] * self._values[arm], axis=1)
            sums.append(float(arrays.matmul(weights, squares)))
        return np.array(sums), np.array([self.weights.sum()])

    def _targets(self, judged: bool) -> GpuArray:
        """Return the class probabilities that weights are fitted to; see `FusionBlock.targets`."""
        if not judged:
            return self._shares
        assert self._posterior is not None
        return self._posterior

    def _loss_sums(self, question: LossSums) -> Answer:
        """Return the log loss and its derivatives, by fold."""
        stack, n_folds = question.stack, self.frame.n_folds
        sums = _empty_sums(n_folds, len(stack.point))
        values = [self._values[arm] for arm in stack.arms]
        terms = LossTerms(self._rows.arrays, values, self._targets(question.judged), self._rows.weights)
        width = 4 * len(stack.point) * self.frame.n_targets
        for fold in range(n_folds) if question.only_fold is None else [question.only_fold]:
            for part in self._rows.parts(fold, width):
                _add(sums, fold, terms.part(part).derivatives(stack.weights, stack.intercepts, MOST_DENSE))
        return sums

    def _pattern_sums(self, question: PatternSums) -> Answer:
        """Return the derivatives of the log loss by slope and intercepts, by pattern of views."""
        arrays, n_patterns = self._rows.arrays, len(question.points)
        sums = _empty_sums(n_patterns, question.points.shape[1])
        scores = self._scores(question.stack)
        terms = LossTerms(arrays, [scores], self._targets(question.judged), self._rows.weights)
        numbers = pattern_numbers(self.present, question.patterns)
        if question.only_fold is not None:
            numbers[self.fold_of != question.only_fold] = -1
        numbers = numbers[self._rows.order]
        for number, point in enumerate(question.points):
            rows = np.flatnonzero(numbers == number)
            if len(rows):
                of_pattern = terms if len(rows) == len(numbers) else terms.some(arrays.from_host(rows))
                _add(sums, number, of_pattern.derivatives(point[:1], point[1:], MOST_DENSE))
        return sums

    def _scores(self, stack: Stack) -> GpuArray:
        """Return Σ weight · value of the arms, or matrices in place of weights, without intercepts."""
        arrays = self._rows.arrays
        scores = arrays.full((self.n_rows, self.frame.n_targets), 0.0)
        for place, arm in enumerate(stack.arms):
            if stack.matrices is None:
                scores = scores + float(stack.weights[place]) * self._values[arm]
            else:
                matrix = arrays.from_host(np.ascontiguousarray(stack.matrices[place]))
                scores = scores + arrays.matmul(self._values[arm], matrix)
        return scores


def _empty_sums(count: int, d: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return losses, gradients and curvatures of nothing."""
    return np.zeros(count), np.zeros((count, d)), np.zeros((count, d, d))


def _add(
    sums: tuple[FloatArray, FloatArray, FloatArray], number: int, more: tuple[float, FloatArray, FloatArray]
) -> None:
    """Add loss, gradient and curvature to those of a fold or pattern."""
    for totals, of_rows in zip(sums, more):
        totals[number] += of_rows


def gpu_features(features: RidgeFeatures, table: GpuTable) -> GpuFeatures:
    """Return the features of a ridge for rows on the GPU of a table."""
    scale = features.scale
    parts = scale.centre, scale.divisor, scale.size
    with table.arrays.current():
        return GpuFeatures(table.arrays, parts, scale.largest, features.marked, features.landmarks, features.gamma)


class GpuPredictor:
    """Predicts rows of a table on a GPU by fitted models.

    Parameters
    ----------
    table : GpuTable
        All columns of X.

    Attributes
    ----------
    table : GpuTable
        The same; one of CuPy where kernels can be used.
    """

    def __init__(self, table: GpuTable) -> None:
        kernels = fused_kernels(table.arrays)
        self._fused = kernels is not None
        self.table = table if kernels is None else kernels.table(table)

    def knows(self, models: Sequence[FittedModel | None]) -> bool:
        """Return whether all of the models can predict on a GPU."""
        return all(
            model is None
            or isinstance(model, RidgeModel)
            or (isinstance(model, BoostedTreesModel) and not len(model.trees.categories_left))
            for model in models
        )

    def predict(self, model: FittedModel, columns: IntArray, rows: GpuArray | None = None) -> GpuArray:
        """Return the values of rows, by default of all, by a model of some columns; of shape (n_rows, n_targets)."""
        with self.table.arrays.current():
            if isinstance(model, RidgeModel):
                return self._by_ridge(model, columns, rows)
            assert isinstance(model, BoostedTreesModel)
            return self._by_trees(model, rows)

    def _by_ridge(self, model: RidgeModel, columns: IntArray, rows: GpuArray | None) -> GpuArray:
        """Return the values of a ridge; the rows are worked on some at a time."""
        arrays, features = self.table.arrays, gpu_features(model.features, self.table)
        coefficients = arrays.from_host(np.ascontiguousarray(model.coefficients))
        n_rows, values = len(self.table) if rows is None else int(rows.shape[0]), []
        for start, stop in row_blocks(n_rows, features.n_values + len(columns)):
            if rows is None:
                cells = GpuTable(self.table.values[start:stop, :]).columns(columns)
            else:
                cells = self.table.columns(columns, rows[start:stop])
            values.append(arrays.matmul(features(arrays.to_double(cells)), coefficients))
        return arrays.concatenate(values)

    def _by_trees(self, model: BoostedTreesModel, rows: GpuArray | None) -> GpuArray:
        """Return the scores of boosted trees, centred over more than two classes."""
        packed = packed_trees(model.trees)
        scores = gpu_tree_scores(packed, model.trees.output, model.baseline, self.table, rows, fused=self._fused)
        n_outputs = len(model.baseline)
        return scores if n_outputs == 1 else scores - (self.table.arrays.sum(scores, axis=1) / n_outputs)[:, None]


class GpuNewRows:
    """Rows on a GPU that a fusion is to predict; see `fuselearn.fusion.fused_arms.NewRows`.

    Parameters
    ----------
    table : GpuTable
        The rows, without gross outliers.
    present : bool ndarray of shape (n_rows, n_views)
        Views that they have.
    """

    def __init__(self, table: GpuTable, present: BoolArray) -> None:
        self._predictor, self.present = GpuPredictor(table), present

    @classmethod
    def read(cls, model: Any, X: GpuArray) -> GpuNewRows:
        """Check rows against the columns that a fusion was fitted on."""
        table = check_gpu_table(X)
        check_same_features(model, {"n_features_in_": table.shape[1]})
        table = ordinary_gpu_values(table, model._ranges)
        return cls(table, gpu_view_blocks(table, model.view_names_, model.view_columns_).present)

    def mean_values(self, models: Sequence[FittedModel], columns: IntArray, rows: IntArray) -> FloatArray:
        """Return the mean of what models of some columns say of some rows, of shape (n_rows, n_targets)."""
        table = self._predictor.table
        arrays, everything = table.arrays, len(rows) == len(table)
        if not self._predictor.knows(models):
            on_demand = RowsOnDemand(table)
            blocks = [rows[start:stop] for start, stop in row_blocks(len(rows), table.shape[1])]
            cells = ((on_demand[block][:, columns]).astype(np.float64) for block in blocks)
            return np.concatenate([np.mean([model.predict(block) for model in models], axis=0) for block in cells])
        with arrays.current():
            numbers = None if everything else arrays.from_host(rows)
            total = self._predictor.predict(models[0], columns, numbers)
            for model in models[1:]:
                total = total + self._predictor.predict(model, columns, numbers)
            return np.asarray(arrays.to_host(total)) / len(models)
