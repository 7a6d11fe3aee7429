"""Rows of a view on a GPU as learners read them, and the weights of all rows, in plain array operations.

Learners that standardise read the values as they were given, sorted by class, and standardised in double precision
whenever they are read. So sums are those of `fuselearn.numeric` but for the order of their additions, also for tables
in single precision. Learners that bin read bytes. `cuda_kernels` does the same by fused kernels.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np

from fuselearn.backends.gpu.arrays import Arrays, GpuArray
from fuselearn.backends.gpu.gpu_table import GpuTable
from fuselearn.data import View
from fuselearn.learners.binning import Binning
from fuselearn.learners.protocol import Hypothesis, Plan, Statistic
from fuselearn.learners.score_learners import ClassMoments, CrossProducts, ScoreHypothesis, Standardisation
from fuselearn.learners.tree_growth import ClassHistograms, NodeHistograms, RowCount, TreeHypothesis
from fuselearn.numeric.votes import ABSENT, RIGHT, TIE, WRONG
from fuselearn.typing import FloatArray, IntArray

VALUES_AT_A_TIME = 2**23
"""Values that are standardised at a time, in double precision."""
ONES_AT_A_TIME = 2**24
"""Entries of the table of zeros and ones by which weights are sorted into bins."""


class PreparedRows(ABC):
    """Rows of a view on a GPU, sorted by class; `starts` has the first row of each class, and the number of rows."""

    arrays: Arrays
    n_rows: int
    n_columns: int
    starts: IntArray

    @abstractmethod
    def total(self, plan: Plan, statistic: Statistic, weights: GpuArray) -> GpuArray:
        """Return a statistic that a learner asks for, under weights of the rows; on the GPU."""

    @abstractmethod
    def predict(self, hypothesis: Hypothesis) -> GpuArray:
        """Return the class code of each row, on the GPU."""

    def _class_borders(self) -> Iterator[tuple[int, int]]:
        """Yield the first row of each class, and that behind its last."""
        return zip(self.starts[:-1].tolist(), self.starts[1:].tolist())


class GpuColumns(PreparedRows):
    """Rows of a view as they were given; `rows` are those of the table, sorted by class."""

    def __init__(self, table: GpuTable, view: View, rows: IntArray, starts: IntArray) -> None:
        self.arrays = table.arrays
        self.n_rows, self.n_columns = len(rows), view.n_columns
        self.starts = starts
        self.gaps = self._store(table, view.columns, rows)

    def column_sums(self, centres: FloatArray) -> FloatArray:
        """Return the number of values, Σ (x - centre) and Σ (x - centre)² of each column, as NumPy arrays."""
        weights = self.arrays.full(self.n_rows, 1.0)
        with np.errstate(over="ignore", invalid="ignore"):  # whoever asks checks the result
            moments = self.arrays.to_host(self._moments(centres, np.ones(self.n_columns), weights)).sum(axis=0)
        return moments[1:].reshape(3, self.n_columns)

    def total(self, plan: Plan, statistic: Statistic, weights: GpuArray) -> GpuArray:
        """Return moments or cross products; see `PreparedRows.total`."""
        if isinstance(plan, Standardisation):
            if isinstance(statistic, ClassMoments):
                return self._moments(plan.means, plan.scales, weights)
            if isinstance(statistic, CrossProducts):
                return self._products(plan, statistic.n_classes, weights)
        raise cannot_run_on_gpu(f"The statistic {type(statistic).__name__}")

    def predict(self, hypothesis: Hypothesis) -> GpuArray:
        """Return the class codes, by the rule of `fuselearn.numeric.moments`."""
        if not isinstance(hypothesis, ScoreHypothesis):
            raise cannot_run_on_gpu(f"A {type(hypothesis).__name__}")
        arrays, codes = self.arrays, []
        squares, slopes, column_constants = (
            arrays.from_host(np.ascontiguousarray(coefficients.T))
            for coefficients in (hypothesis.squares, hypothesis.slopes, hypothesis.column_constants)
        )
        constants = hypothesis.constants + (0.0 if self.gaps else hypothesis.column_constants.sum(axis=1))
        constants = arrays.from_host(constants)
        for start, stop in self._blocks(0, self.n_rows):
            z, observed = self._standardised(hypothesis.plan.means, hypothesis.plan.scales, start, stop)
            scores = arrays.matmul(z * z, squares) + arrays.matmul(z, slopes)
            if self.gaps:
                scores = scores + arrays.matmul(observed, column_constants)
            codes.append(codes_of_largest(arrays, scores + constants))
        return arrays.concatenate(codes)

    def _store(self, table: GpuTable, columns: IntArray, rows: IntArray) -> bool:
        """Copy the values; returns whether some of them are NaN."""
        arrays = self.arrays
        self._values = table.columns(columns, arrays.from_host(rows))
        return any(
            bool(arrays.any(arrays.isnan(self._given(start, stop)))) for start, stop in self._blocks(0, self.n_rows)
        )

    def _given(self, start: int, stop: int) -> GpuArray:
        """Return some rows as they were given."""
        return self._values[start:stop, :]

    def _blocks(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield the borders of some rows at a time."""
        step = max(1, VALUES_AT_A_TIME // self.n_columns)
        for start in range(first, last, step):
            yield start, min(start + step, last)

    def _standardised(
        self, means: FloatArray, scales: FloatArray, start: int, stop: int
    ) -> tuple[GpuArray, GpuArray | None]:
        """Return standardised values, 0 in gaps, and 1.0 where there is no gap; None where there is none at all."""
        arrays = self.arrays
        z = (arrays.to_double(self._given(start, stop)) - arrays.from_host(means)) / arrays.from_host(scales)
        if not self.gaps:
            return z, None
        gap = arrays.isnan(z)
        return arrays.where(gap, arrays.xp.zeros_like(z), z), arrays.to_double(~gap)

    def _moments(self, means: FloatArray, scales: FloatArray, weights: GpuArray) -> GpuArray:
        """Return the moments of each class, as `fuselearn.numeric.moments.weighted_moments` does."""
        arrays, rows = self.arrays, []
        for first, last in self._class_borders():
            sums = arrays.full(1 + 3 * self.n_columns, 0.0)
            for start, stop in self._blocks(first, last):
                z, observed = self._standardised(means, scales, start, stop)
                w = weights[start:stop]
                whole = arrays.sum(w)[None]
                here = arrays.matmul(w, observed) if self.gaps else whole * arrays.full(self.n_columns, 1.0)
                sums = sums + arrays.concatenate([whole, here, arrays.matmul(w, z), arrays.matmul(w, z * z)])
            rows.append(sums[None, :])
        return arrays.concatenate(rows)

    def _products(self, plan: Standardisation, n_classes: int, weights: GpuArray) -> GpuArray:
        """Return products of the rows behind a 1, as `fuselearn.numeric.least_squares.cross_products` does."""
        arrays = self.arrays
        targets = np.arange(1 if n_classes == 2 else 0, n_classes)
        width = 1 + self.n_columns
        products = arrays.full((width, width + len(targets)), 0.0)
        for code, (first, last) in enumerate(self._class_borders()):
            signs = arrays.from_host(np.where(targets == code, 1.0, -1.0))
            for start, stop in self._blocks(first, last):
                z, _ = self._standardised(plan.means, plan.scales, start, stop)
                ones = arrays.full((stop - start, 1), 1.0)
                left = arrays.transpose(arrays.concatenate([arrays.transpose(ones), arrays.transpose(z)]))
                # Columns, one after the other.
                right = arrays.concatenate([arrays.transpose(left), arrays.transpose(ones * signs[None, :])])
                weighted = arrays.transpose(left * weights[start:stop][:, None])
                products = products + arrays.matmul(weighted, arrays.transpose(right))
        return products


def codes_of_largest(arrays: Arrays, scores: GpuArray) -> GpuArray:
    """Return the code of the largest score in each row; a single score is that of class 1 against class 0."""
    if scores.shape[1] == 1:
        return arrays.to_codes(scores[:, 0] > TIE)
    best, code = scores[:, 0], arrays.full(scores.shape[0], 0, "int32")
    for k in range(1, scores.shape[1]):
        larger = scores[:, k] > best + TIE
        best = arrays.where(larger, scores[:, k], best)
        code = arrays.where(larger, arrays.to_codes(larger) * k, code)
    return code


class GpuBins(PreparedRows):
    """Rows of a view as bins; `rows` are those of the table, sorted by class."""

    def __init__(self, table: GpuTable, view: View, plan: Binning, rows: IntArray, starts: IntArray) -> None:
        self.arrays = arrays = table.arrays
        self.n_rows, self.n_columns = len(rows), plan.n_columns
        self.n_bins, self.missing_bin = plan.n_bins, plan.missing_bin
        self.starts = starts
        numbers = arrays.from_host(rows)
        columns = []
        for number, column in enumerate(view.columns.tolist()):
            values = arrays.to_double(arrays.take(table.values[:, column], numbers))
            edges = arrays.from_host(np.ascontiguousarray(plan.edges[number]))
            missing = arrays.isnan(values)
            observed = arrays.where(missing, arrays.xp.zeros_like(values), values)
            bins = arrays.to_codes(arrays.count_below(edges, observed))
            columns.append(arrays.to_bytes(arrays.where(missing, arrays.to_codes(missing) * plan.missing_bin, bins)))
        self._store(columns)

    def total(self, plan: Plan, statistic: Statistic, weights: GpuArray) -> GpuArray:
        """Return histograms; see `PreparedRows.total`."""
        if isinstance(statistic, ClassHistograms):
            return self._histograms(weights)
        if isinstance(statistic, NodeHistograms):
            return self._node_histograms(statistic.tree, statistic.nodes, weights)
        if isinstance(statistic, RowCount):
            return self.arrays.from_host(np.array([self.n_rows]))
        raise cannot_run_on_gpu(f"The statistic {type(statistic).__name__}")

    def predict(self, hypothesis: Hypothesis) -> GpuArray:
        """Return the class codes of the leaves that the rows end in."""
        if not isinstance(hypothesis, TreeHypothesis):
            raise cannot_run_on_gpu(f"A {type(hypothesis).__name__}")
        return self._leaf_values(hypothesis, hypothesis.code)

    def _leaf_values(self, tree: TreeHypothesis, values: IntArray) -> GpuArray:
        """Return the value of the leaf that each row ends in, where each node has a value."""
        return self.arrays.take(self.arrays.from_host(values), self._leaves(tree))

    def _store(self, columns: Sequence[GpuArray]) -> None:
        self._columns = columns

    def _histograms(self, weights: GpuArray) -> GpuArray:
        """Return an array of shape (n_columns, n_classes, n_bins), as `numeric.tree_rows.class_histograms`."""
        return self._sorted_into_bins(self._by_class(weights))

    def _node_histograms(self, tree: TreeHypothesis, nodes: Sequence[int], weights: GpuArray) -> GpuArray:
        """Return an array of shape (n_nodes, n_columns, n_classes, n_bins), as `numeric.tree_rows` does."""
        leaves = self._leaves(tree)
        zeros = self.arrays.xp.zeros_like(weights)
        return self.arrays.concatenate(
            [
                self._sorted_into_bins(self._by_class(self.arrays.where(leaves == node, weights, zeros)))[None, ...]
                for node in nodes
            ]
        )

    def _by_class(self, weights: GpuArray) -> GpuArray:
        """Return the weights as one column per class, 0 in the rows of others."""
        arrays, columns = self.arrays, []
        for first, last in self._class_borders():
            column = [arrays.full(first, 0.0), weights[first:last], arrays.full(self.n_rows - last, 0.0)]
            columns.append(arrays.concatenate(column)[None, :])
        return arrays.transpose(arrays.concatenate(columns))

    def _sorted_into_bins(self, class_weights: GpuArray) -> GpuArray:
        """Return Σ of the class weights in each bin of each column, by a product with a table of zeros and ones.

        Libraries count into bins by additions in no fixed order, and the standard has none.
        """
        arrays = self.arrays
        numbers = arrays.from_host(np.arange(self.n_bins, dtype=np.int32))[:, None]
        step = max(1, ONES_AT_A_TIME // self.n_bins)
        histograms = []
        for column in self._columns:
            histogram: GpuArray = 0.0
            for start in range(0, self.n_rows, step):
                stop = min(start + step, self.n_rows)
                ones = arrays.to_double(arrays.to_codes(column[start:stop])[None, :] == numbers)
                histogram = histogram + arrays.matmul(ones, class_weights[start:stop, :])
            histograms.append(arrays.transpose(histogram)[None, ...])
        return arrays.concatenate(histograms)

    def _leaves(self, tree: TreeHypothesis) -> GpuArray:
        """Return the number of the leaf that each row ends in. Children have higher numbers than their parent."""
        arrays = self.arrays
        leaves = arrays.full(self.n_rows, 0, "int32")
        for node in np.flatnonzero(tree.feature >= 0).tolist():
            bins = arrays.to_codes(self._columns[int(tree.feature[node])])
            goes_left = bins <= int(tree.cut_bin[node])
            if tree.missing_left[node]:
                goes_left = goes_left | (bins == self.missing_bin)
            else:
                goes_left = goes_left & (bins != self.missing_bin)
            child = arrays.where(
                goes_left,
                arrays.to_codes(goes_left) * int(tree.left[node]),
                arrays.to_codes(~goes_left) * int(tree.right[node]),
            )
            leaves = arrays.where(leaves == node, child, leaves)
        return leaves


class GpuWeights:
    """Operations on the weights of all rows on a GPU; see `fuselearn.numeric.votes`."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays

    def outcomes(
        self,
        predicted: GpuArray,
        codes: GpuArray,
        places: GpuArray | None,
        excluded: GpuArray | None,
        weights: GpuArray,
    ) -> tuple[GpuArray, GpuArray]:
        """Return the outcome of each row, and the weight of the rows that are right, wrong and absent.

        `predicted` and `codes` are the classes of the rows that have the arm's view. `places` has the place of each row
        among those, -1 where the view is absent; None for all rows in their order. Excluded rows count as absent.
        """
        arrays = self.arrays
        right = arrays.to_codes(predicted == codes)
        outcome = RIGHT * right + WRONG * (1 - right)
        if places is not None:
            here = arrays.to_codes(places >= 0)
            outcome = arrays.take(outcome, arrays.where(places >= 0, places, places * 0)) * here
        if excluded is not None:
            outcome = arrays.where(excluded, outcome * ABSENT, outcome)
        zeros = arrays.xp.zeros_like(weights)
        sums = [arrays.sum(arrays.where(outcome == kind, weights, zeros)) for kind in (RIGHT, WRONG, ABSENT)]
        return outcome, arrays.concatenate([outcome_sum[None] for outcome_sum in sums])

    def multiplied(self, weights: GpuArray, outcome: GpuArray, right: float, wrong: float, absent: float) -> GpuArray:
        """Return weights times the factor of their outcome."""
        arrays = self.arrays
        return arrays.where(
            outcome == RIGHT, weights * right, arrays.where(outcome == WRONG, weights * wrong, weights * absent)
        )


def cannot_run_on_gpu(subject: str) -> TypeError:
    """Return the error for a learner or a part of one that only runs on the host."""
    return TypeError(
        f"{subject} cannot be fitted on a GPU; only 'gaussian_nb', 'stump', 'tree' and 'linear' can be. Pass X as a "
        "NumPy array for other learners."
    )
