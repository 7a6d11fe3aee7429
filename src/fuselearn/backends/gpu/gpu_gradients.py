"""Rows of gradient boosting on a GPU in plain array operations: bins, scores, gradients, and sums over leaves.

Gradients are whole numbers with the units of the host (`fuselearn.numeric.gradients`), so that sums of them are exact.
`gradient_kernels` does the same by CUDA kernels, which also look for the splits; here histograms come to the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import Protocol

import numpy as np

from fuselearn.backends.gpu.arrays import Arrays, GpuArray, on_its_gpu
from fuselearn.backends.gpu.gpu_table import GpuTable
from fuselearn.learners.binning import Binning
from fuselearn.numeric.gradients import (
    ALL_VIEWS,
    HESSIAN_UNIT,
    LOSS_LIMIT,
    N_ROLES,
    TRAINING,
    UNUSED,
    value_of_digits,
)
from fuselearn.typing import AnyArray, BoolArray, FloatArray, IntArray

LIMB_BITS, N_LIMBS = 21, 3
"""Bits of the limbs that whole numbers are cut into, whose sums over 2³¹ rows are exact in double precision."""
ONES_AT_A_TIME = 2**24
"""Entries of the table of zeros and ones by which rows are sorted into bins."""
KEY_BITS = 64


@dataclass(frozen=True)
class WholeLoss:
    """A loss and its units; see `fuselearn.numeric.gradients`.

    Attributes
    ----------
    n_outputs : int
        Scores of a row.
    bits : int
        Bits of a whole number.
    scale : float or None
        Power of two above which no residual is expected; None for the log loss.
    quantile : float or None
        Quantile of a regression; None for the squared error, and for classes.
    """

    n_outputs: int
    bits: int
    scale: float | None
    quantile: float | None

    @property
    def steps(self) -> tuple[float, float, float]:
        """Units in 1 of g, h and losses."""
        return 2.0**self.bits, 1 / HESSIAN_UNIT, 2.0**self.bits / LOSS_LIMIT


@dataclass(frozen=True)
class GradientInputs:
    """What rows on a GPU are made of.

    Attributes
    ----------
    table : GpuTable
        The table.
    columns : intp ndarray of shape (n_columns,)
        Columns of the table that are in a view. Elsewhere, columns are numbered by their places among these.
    view_columns : list of intp ndarray
        Columns of each view.
    binning : Binning
        Edges between the bins of the columns.
    categorical : bool ndarray of shape (n_columns,)
        Whether the bins of a column are categories.
    loss : WholeLoss
        The loss.
    baseline : ndarray of shape (n_outputs,)
        Scores before the first tree.
    labels : list of ndarray of shape (n_rows,)
        Class codes (int32) or targets by each label column.
    weights : ndarray of shape (n_rows,) or None
        Weights between 0 and 1; None where each row counts 1.
    whole_weights : int32 ndarray of shape (n_rows,) or None
        The same in units.
    roles : int8 ndarray of shape (n_rows,)
        Whether a row is trained on, held out, or not used.
    present : bool ndarray of shape (n_rows, n_views)
        Rows that have each view.
    """

    table: GpuTable
    columns: IntArray
    view_columns: list[IntArray]
    binning: Binning
    categorical: BoolArray
    loss: WholeLoss
    baseline: FloatArray
    labels: Sequence[AnyArray]
    weights: FloatArray | None
    whole_weights: IntArray | None
    roles: IntArray
    present: BoolArray

    def columns_of(self, view: int) -> IntArray:
        """Return the columns that a tree of a view, or of all of them, may split on."""
        return np.arange(len(self.columns)) if view == ALL_VIEWS else self.view_columns[view]

    def presence(self, view: int) -> BoolArray | None:
        """Return the rows that have a view; None where all of them have, and for all views together."""
        if view == ALL_VIEWS or self.present[:, view].all():
            return None
        return self.present[:, view]

    def training_rows(self, view: int) -> BoolArray:
        """Return the rows that a tree of a view is grown on."""
        training, present = self.roles == TRAINING, self.presence(view)
        return training if present is None else training & present


class TreeNodes(Protocol):
    """The nodes of a finished tree, as `fuselearn.boosting.gradient.tree_format.GradientTree` has them."""

    @property
    def column(self) -> IntArray:
        """Column of each node, -1 in a leaf."""

    @property
    def cut_bin(self) -> IntArray:
        """Last bin that goes left."""

    @property
    def missing_left(self) -> BoolArray:
        """Whether missing values go left."""

    @property
    def left(self) -> IntArray:
        """Left child of each node."""

    @property
    def right(self) -> IntArray:
        """Right child of each node."""

    @property
    def value(self) -> FloatArray:
        """Value of each node."""

    @property
    def category_row(self) -> IntArray:
        """Row of `categories_left` of a split by categories, else -1."""

    @property
    def categories_left(self) -> IntArray:
        """1 for the bins that go left."""


class NodeRows(Protocol):
    """A split of a node, as the rows need it: see `fuselearn.boosting.gradient.gradient_rows.NodeSplit`."""

    @property
    def node(self) -> int:
        """Number of the node."""

    @property
    def left(self) -> int:
        """Number of the left child."""

    @property
    def right(self) -> int:
        """Number of the right child."""

    @property
    def column(self) -> int:
        """Column of the split."""

    @property
    def goes_left(self) -> IntArray:
        """1 for the bins that go left, of shape (256,)."""


class GpuGradients:
    """Rows on a GPU, in plain array operations.

    Parameters
    ----------
    inputs : GradientInputs
        What the rows are made of.
    bins : list of arrays, default=None
        Bins of the columns, where the rows were binned before.
    """

    def __init__(self, inputs: GradientInputs, bins: list[GpuArray] | None = None) -> None:
        self.inputs = inputs
        self.arrays: Arrays = inputs.table.arrays
        self.n_rows = len(inputs.table)
        self._start(bins)

    @on_its_gpu
    def _start(self, bins: list[GpuArray] | None) -> None:
        """Bin the rows, and set their scores to those before the first tree."""
        inputs, arrays = self.inputs, self.arrays
        self.bins = [self._binned(place) for place in range(len(inputs.columns))] if bins is None else bins
        self._labels = [arrays.from_host(labels) for labels in inputs.labels]
        self._roles = arrays.from_host(inputs.roles.astype(np.int32))
        self._weights: GpuArray = 1.0 if inputs.weights is None else arrays.from_host(inputs.weights)
        self._counts = (
            arrays.full(self.n_rows, 1, "int64")
            if inputs.whole_weights is None
            else arrays.from_host(inputs.whole_weights.astype(np.int64))
        )
        self._scores = [arrays.full(self.n_rows, float(score)) for score in inputs.baseline]
        self._g: list[GpuArray] = []
        self._h: list[GpuArray] = []
        self._nodes: GpuArray = None
        self._view = ALL_VIEWS

    def _binned(self, place: int) -> GpuArray:
        """Return the bins of a column."""
        arrays, binning = self.arrays, self.inputs.binning
        values = arrays.to_double(self.inputs.table.values[:, int(self.inputs.columns[place])])
        missing = arrays.isnan(values)
        observed = arrays.where(missing, arrays.xp.zeros_like(values), values)
        bins = arrays.to_codes(arrays.count_below(arrays.from_host(binning.edges[place].copy()), observed))
        return arrays.to_bytes(arrays.where(missing, arrays.to_codes(missing) * binning.missing_bin, bins))

    @on_its_gpu
    def fill_gradients(self, label_column: int, view: int) -> IntArray:
        """Compute the gradients by some labels, and return the sums of losses by role.

        Rows without the view, unless it is that of all, add to no sum.
        """
        arrays, xp = self.arrays, self.arrays.xp
        loss = self.inputs.loss
        labels, w = self._labels[label_column], self._weights
        g_steps, h_steps, loss_steps = loss.steps
        roles, present = self._roles, self.inputs.presence(view)
        if present is not None:
            roles = roles * arrays.to_codes(arrays.from_host(present))
        if loss.scale is None and loss.n_outputs == 1:
            score = self._scores[0]
            e = xp.exp(-xp.abs(score))
            likely, unlikely = 1.0 / (1.0 + e), e / (1.0 + e)
            right = (score >= 0) == (labels == 1)
            distance = arrays.where(right, unlikely, likely)
            slopes, curvatures = [arrays.where(labels == 1, -distance, distance) * w], [w * likely * unlikely]
            losses = arrays.where(right, xp.log1p(e), xp.log1p(e) + xp.abs(score))
        elif loss.scale is None:
            largest = self._scores[0]
            for score in self._scores[1:]:
                largest = arrays.where(score > largest, score, largest)
            exponentials = [xp.exp(score - largest) for score in self._scores]
            total, own = sum(exponentials[1:], exponentials[0]), xp.zeros_like(largest)
            slopes, curvatures = [], []
            for k, exponential in enumerate(exponentials):
                p = exponential / total
                slopes.append(arrays.where(labels == k, p - 1.0, p) * w)
                curvatures.append(w * p * (1.0 - p))
                own = arrays.where(labels == k, self._scores[k], own)
            losses = xp.log(total) + largest - own
        else:
            excess = self._scores[0] - labels
            relative = excess / loss.scale
            if loss.quantile is None:
                slope = self._at_most(arrays.at_least(relative, -1.0), 1.0)
                losses = relative * relative
            else:
                above, below = arrays.to_double(excess > 0), arrays.to_double(excess < 0)
                slope = above * (1.0 - loss.quantile) - below * loss.quantile
                losses = slope * excess / loss.scale
            slopes, curvatures = [w * slope], [w * arrays.full(self.n_rows, 1.0)]
        self._g = [arrays.to_whole(xp.round(slope * g_steps)) for slope in slopes]
        self._h = [arrays.to_whole(xp.ceil(curvature * h_steps)) for curvature in curvatures]
        steps = w * self._at_most(losses, LOSS_LIMIT) * loss_steps
        words = [arrays.to_whole(xp.floor(steps)), arrays.to_whole(xp.round((steps - xp.floor(steps)) * g_steps))]
        sums = [[arrays.sum(word * arrays.to_whole(roles == role)) for role in range(N_ROLES)] for word in words]
        return np.array([[int(total) for total in of_word] for of_word in sums], dtype=np.int64)

    def _at_most(self, values: GpuArray, most: float) -> GpuArray:
        """Return min(value, most)."""
        return -self.arrays.at_least(-values, -most)

    @on_its_gpu
    def start_tree(self, view: int) -> None:
        """Put all rows that a tree of a view is grown on into its root, node 0."""
        self._nodes = self.arrays.from_host(np.where(self.inputs.training_rows(view), 0, -1).astype(np.int32))
        self._children: dict[int, tuple[int, int]] = {}
        self._view = view

    @on_its_gpu
    def split(self, splits: Sequence[NodeRows]) -> None:
        """Move the rows of nodes to their children."""
        arrays = self.arrays
        for split in splits:
            bins = arrays.to_codes(self.bins[split.column])
            left = arrays.to_codes(arrays.take(arrays.from_host(split.goes_left.astype(np.int32)), bins))
            child = left * split.left + (1 - left) * split.right
            self._nodes = arrays.where(self._nodes == split.node, child, self._nodes)
            self._children[split.node] = split.left, split.right

    def _rows_below(self, node: int) -> GpuArray:
        """Return 1 for the rows that are in a node or below it, else 0."""
        if node in self._children:
            left, right = self._children[node]
            return self._rows_below(left) + self._rows_below(right)
        return self.arrays.to_whole(self._nodes == node)

    @on_its_gpu
    def histogram(self, node: int, output: int) -> IntArray:
        """Return the histogram of a node, of shape (n_columns, 3, n_bins), on the host.

        Rows are sorted into bins by a product with a table of zeros and ones: libraries count by additions in no fixed
        order, and the standard has none. Limbs of whole numbers add up exactly in double precision.
        """
        arrays, n_bins = self.arrays, self.inputs.binning.n_bins
        here = arrays.to_whole(self._nodes == node)
        limbs = []
        for values in (self._g[output], self._h[output], self._counts):
            rest = values * here
            for limb in range(N_LIMBS):
                low = rest if limb == N_LIMBS - 1 else rest & (2**LIMB_BITS - 1)
                limbs.append(arrays.to_double(low)[None, :])
                rest = rest >> LIMB_BITS
        table = arrays.transpose(arrays.concatenate(limbs))
        numbers = arrays.from_host(np.arange(n_bins, dtype=np.int32))[:, None]
        columns = self.inputs.columns_of(self._view)
        histogram = np.empty((len(columns), 3, n_bins), dtype=np.int64)
        step = max(1, ONES_AT_A_TIME // n_bins)
        for place, column in enumerate(columns.tolist()):
            sums: GpuArray = 0.0
            for start in range(0, self.n_rows, step):
                stop = min(start + step, self.n_rows)
                ones = arrays.to_double(arrays.to_codes(self.bins[column][start:stop])[None, :] == numbers)
                sums = sums + arrays.matmul(ones, table[start:stop, :])
            whole = np.asarray(arrays.to_host(sums)).astype(np.int64).T.reshape(3, N_LIMBS, n_bins)
            histogram[place] = sum(whole[:, limb] << (LIMB_BITS * limb) for limb in range(N_LIMBS))
        return histogram

    @on_its_gpu
    def quantiles(self, nodes: Sequence[int], ranks: Sequence[int]) -> list[float]:
        """Return for each node the smallest residual up to which its residuals have a weight of at least its rank."""
        arrays, found = self.arrays, []
        residuals = self._labels[0] - self._scores[0] + 0.0
        for node, rank in zip(nodes, ranks):
            counts = self._counts * self._rows_below(node)
            lower, upper = 0, 2**KEY_BITS - 1
            while lower < upper:
                middle = (lower + upper) // 2
                value = value_of_digits(middle)
                if isnan(value):  # bits that are no number stand before and behind those of all numbers
                    is_enough = middle >= 2 ** (KEY_BITS - 1)
                else:
                    is_enough = int(arrays.sum(counts * arrays.to_whole(residuals <= value))) >= rank
                lower, upper = (lower, middle) if is_enough else (middle + 1, upper)
            found.append(value_of_digits(lower) + 0.0)  # of the two zeros the other one
        return found

    @on_its_gpu
    def add_tree(self, tree: TreeNodes, output: int, view: int) -> None:
        """Add the values of the leaves of a tree to the scores of all rows that it reads."""
        arrays, missing_bin = self.arrays, self.inputs.binning.missing_bin
        seen = self.inputs.roles != UNUSED
        if (present := self.inputs.presence(view)) is not None:
            seen = seen & present
        nodes = arrays.from_host(np.where(seen, 0, len(tree.column)).astype(np.int32))
        for node in np.flatnonzero(tree.column >= 0).tolist():
            goes_left = np.arange(256) <= tree.cut_bin[node]
            if tree.category_row[node] >= 0:
                goes_left = tree.categories_left[tree.category_row[node]] != 0
            goes_left[missing_bin] = tree.missing_left[node]
            bins = arrays.to_codes(self.bins[int(tree.column[node])])
            left = arrays.to_codes(arrays.take(arrays.from_host(goes_left.astype(np.int32)), bins))
            child = left * int(tree.left[node]) + (1 - left) * int(tree.right[node])
            nodes = arrays.where(nodes == node, child, nodes)
        values = arrays.from_host(np.append(tree.value, 0.0))
        self._scores[output] = self._scores[output] + arrays.take(values, nodes)
