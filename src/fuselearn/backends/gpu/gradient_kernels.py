"""Rows of gradient boosting on a GPU by CUDA kernels, through CuPy; their source is in ``gradient_rows.cu`` and others.

Everything that is as long as the rows stays on the GPU, and so do the histograms: of each leaf the host gets its best
split. Rows are kept together by leaf, in one half of an array, and a split moves them into the other half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from fuselearn.backends.gpu.arrays import Arrays, GpuArray, on_its_gpu
from fuselearn.backends.gpu.cuda_kernels import FusedKernels
from fuselearn.backends.gpu.gpu_gradients import KEY_BITS, GradientInputs, NodeRows, TreeNodes
from fuselearn.backends.gpu.gpu_table import GpuTable
from fuselearn.backends.gpu.gradient_tiles import LANES, ColumnTiles, gradient_kernel
from fuselearn.numeric.gradients import ALL_VIEWS, N_ROLES, value_of_digits
from fuselearn.typing import AnyArray, BoolArray, IntArray

CHUNK = 2048
"""Rows whose sums have 32 bits, as in ``gradient_tiles.cu``; so are the next ones."""
THREADS = 512
SEGMENTS = 8
PART = 4096
RECORD = 41
MOST_BINS = 256
LIMB_BITS = 21
BLOCKS_OF_PROCESSOR = 4
"""Thread blocks that count rows, for each multiprocessor: enough that none waits for the slowest for long."""
MOST_CHUNK_ROWS = 2**16
"""Rows that one thread block counts, whose number has 17 bits."""
GRADIENT_BLOCKS = 16
"""Thread blocks that compute gradients, for each multiprocessor."""
NULL = np.uintp(0)
"""Stands for an array that there is none of."""


class SplitRecord(NamedTuple):
    """The best split of a leaf as the GPU found it.

    Attributes
    ----------
    score : float
        Score of both sides.
    place : int
        Place of the column among those that the tree may split on.
    cut : int
        Last bin that goes left, or how many ordered categories do, less one; -1 where there is no split.
    missing_left : bool
        Whether missing values go left.
    left_sums : tuple of int
        Sums of the left side, in units.
    has_missing : bool
        Whether some row of the leaf has no value in the column.
    order : intp ndarray or None
        Categories of the leaf in their order; None for a column of numbers.
    """

    score: float
    place: int
    cut: int
    missing_left: bool
    left_sums: tuple[int, int, int]
    has_missing: bool
    order: IntArray | None


@dataclass(frozen=True)
class SplitRules:
    """What splits are judged by; see `fuselearn.numeric.gradient_histograms.best_splits`.

    Attributes
    ----------
    units : tuple of float
        Units of g, h and weights.
    l2 : float
        Added to h.
    least_weight, least_hessian : int
        Least sums of a side, in units.
    monotonic : int8 ndarray of shape (n_columns,)
        Sign in which values have to follow a column; 0 for any.
    """

    units: tuple[float, float, float]
    l2: float
    least_weight: int
    least_hessian: int
    monotonic: IntArray


class FusedGradients:
    """Rows on a GPU, by CUDA kernels.

    Parameters
    ----------
    kernels : FusedKernels
        CuPy's, as `fuselearn.backends.gpu.cuda_kernels.fused_kernels` returned them.
    inputs : GradientInputs
        What the rows are made of.
    rules : SplitRules
        What splits are judged by.
    tiles : ColumnTiles, default=None
        The columns, where the rows were binned before.
    """

    def __init__(
        self, kernels: FusedKernels, inputs: GradientInputs, rules: SplitRules, tiles: ColumnTiles | None = None
    ) -> None:
        self.inputs, self._rules = inputs, rules
        table = kernels.table(inputs.table)
        self.arrays: Arrays = table.arrays
        self.n_rows = len(table)
        self._n_bins = inputs.binning.n_bins
        self._start(table, tiles)

    @on_its_gpu
    def _start(self, table: GpuTable, tiles: ColumnTiles | None) -> None:
        """Bin the rows, and set their scores to those before the first tree."""
        cupy, inputs = self.arrays.xp, self.inputs
        self._cupy: Any = cupy
        attributes = cupy.cuda.Device().attributes
        self._n_processors = int(attributes["MultiProcessorCount"])
        self._shared_bytes = int(attributes["MaxSharedMemoryPerBlockOptin"])
        self.tiles = ColumnTiles(inputs, table, self._rules.monotonic) if tiles is None else tiles
        self._labels = [cupy.asarray(labels) for labels in inputs.labels]
        self._roles = cupy.asarray(inputs.roles)
        self._weights = NULL if inputs.weights is None else cupy.asarray(inputs.weights)
        self._whole_weights = NULL if inputs.whole_weights is None else cupy.asarray(inputs.whole_weights)
        self._scores = cupy.repeat(cupy.asarray(inputs.baseline)[:, None], self.n_rows, axis=1)
        self._g = cupy.zeros((inputs.loss.n_outputs, self.n_rows), dtype=cupy.int64)
        self._h = cupy.zeros((inputs.loss.n_outputs, self.n_rows), dtype=cupy.int32)
        # Two halves: the rows of a leaf are in one of them, those of its children in the other.
        self._rows = cupy.empty(2 * self.n_rows, dtype=cupy.int32)
        n_limbs = 2 if inputs.loss.bits < 2 * LIMB_BITS - 1 else 3
        weighted = inputs.weights is not None
        self._counting = f"{n_limbs}{'_weighted' if weighted else ''}"
        n_words = n_limbs + 2 + 2 * weighted
        stride = 4 if n_words == 4 else 8
        self._words = cupy.empty((self.n_rows, stride), dtype=cupy.uint32)
        self._count_bytes = self._n_bins * n_words * LANES * 4 + (THREADS * stride * 4 if n_words < 7 else 0)
        self._roots: dict[int, GpuArray] = {}
        self._presences: dict[int, GpuArray] = {}
        self._histograms = cupy.empty((0, self.tiles.n_tiles, self._n_bins, 3, LANES), dtype=cupy.int64)
        self._free_slots: list[int] = []
        self._slots: dict[int, int] = {}
        self._ranges: dict[int, tuple[int, int]] = {}
        self._children: dict[int, tuple[int, int]] = {}
        self._view = ALL_VIEWS

    @on_its_gpu
    def fill_gradients(self, label_column: int, view: int) -> IntArray:
        """Compute the gradients by some labels, and return the sums of losses by role.

        Rows without the view, unless it is that of all, add to no sum.
        """
        cupy, loss = self._cupy, self.inputs.loss
        sums = cupy.zeros((2, N_ROLES), dtype=cupy.int64)
        steps = tuple(np.float64(step) for step in loss.steps)
        labels, n_rows = self._labels[label_column], np.int64(self.n_rows)
        arguments: tuple[Any, ...]
        if loss.scale is None:
            present, n_outputs = self._presence(view), np.int32(loss.n_outputs)
            name = "log_loss"
            arguments = self._scores, labels, self._weights, self._roles, present, n_rows, n_outputs, *steps
        else:
            name = "regression_loss"
            quantile = np.float64(-1.0 if loss.quantile is None else loss.quantile)
            scale = np.float64(loss.scale)
            arguments = self._scores, labels, self._weights, self._roles, n_rows, *steps, scale, quantile
        n_blocks = min(-(-self.n_rows // 256), GRADIENT_BLOCKS * self._n_processors)
        gradient_kernel(name)((n_blocks,), (256,), (*arguments, self._g, self._h, sums))
        return cupy.asnumpy(sums)

    @on_its_gpu
    def start_tree(self, view: int) -> None:
        """Put all rows that a tree of a view is grown on into its root, node 0."""
        if view not in self._roots:
            rows = np.flatnonzero(self.inputs.training_rows(view)).astype(np.int32)
            self._roots[view] = self._cupy.asarray(rows)
        root = self._roots[view]
        self._rows[: len(root)] = root
        self._view, self._ranges, self._children = view, {0: (0, len(root))}, {}
        self._free_slots, self._slots = list(range(len(self._histograms))), {}

    @on_its_gpu
    def split(self, splits: Sequence[NodeRows]) -> None:
        """Move the rows of nodes, none of which is below another, to their children."""
        if not splits:
            return
        cupy = self._cupy
        host_starts, host_sizes, host_parts = self._parts([split.node for split in splits], PART)
        n_parts, n_rows, n_splits = int(host_parts[-1]), np.int64(self.n_rows), np.int32(len(splits))
        starts, sizes, part_starts, positions, goes_left = self._upload(
            host_starts,
            host_sizes,
            host_parts,
            self.tiles.positions[[split.column for split in splits]],
            np.stack([split.goes_left for split in splits]),
        )
        marks = cupy.empty(n_parts * (PART // 32), dtype=cupy.uint32)
        n_left, totals = cupy.empty(n_parts, dtype=cupy.int32), cupy.empty(len(splits), dtype=cupy.int32)
        gradient_kernel("mark_left")(
            (n_parts,), (256,),
            (self.tiles.bins, n_rows, self._rows, starts, sizes, positions, goes_left, part_starts, n_splits, marks,
             n_left),
        )  # fmt: skip
        gradient_kernel("add_parts")((len(splits),), (1024,), (part_starts, n_left, totals))
        gradient_kernel("move_rows")(
            (n_parts,), (256,), (n_rows, self._rows, starts, sizes, part_starts, n_splits, marks, n_left, totals)
        )
        for split, on_left in zip(splits, cupy.asnumpy(totals).tolist()):
            start, size = self._ranges.pop(split.node)
            start = (start + self.n_rows) % (2 * self.n_rows)
            self._ranges[split.left] = start, on_left
            self._ranges[split.right] = start + on_left, size - on_left
            self._children[split.node] = split.left, split.right

    @on_its_gpu
    def count(self, nodes: Sequence[int], output: int) -> None:
        """Make the histograms of some nodes from their rows."""
        view, new = self.tiles.of_view(self._view), self._new_slots(len(nodes))
        self._slots.update(zip(nodes, new))
        host_starts, host_sizes, host_parts = self._parts(nodes, PART)
        before = np.cumsum(host_sizes, dtype=np.int64) - host_sizes
        n_blocks = BLOCKS_OF_PROCESSOR * self._n_processors
        chunk_rows = CHUNK * max(1, -(-int(host_sizes.sum(dtype=np.int64)) * view.n_tiles // (n_blocks * CHUNK)))
        chunk_rows = min(chunk_rows, MOST_CHUNK_ROWS)
        _, _, host_chunks = self._parts(nodes, chunk_rows)
        starts, sizes, part_starts, offsets, chunk_starts, slots = self._upload(
            host_starts, host_sizes, host_parts, before, host_chunks, np.array(new, dtype=np.int32)
        )
        n_parts, n_chunks, n_nodes = int(host_parts[-1]), int(host_chunks[-1]), np.int32(len(nodes))
        self._subtract(slots, NULL, len(nodes))
        if not n_parts:  # no row has the view
            return
        sizes_of_all = np.int32(self.tiles.n_tiles), slots, np.int32(self._n_bins)
        if self._count_bytes > self._shared_bytes:
            gradient_kernel("count_in_place")(
                (n_parts, view.n_tiles), (256,),
                (self.tiles.bins, np.int64(self.n_rows), self._rows, starts, sizes, part_starts, n_nodes, view.tiles,
                 *sizes_of_all, self._g[output], self._h[output], self._whole_weights, self._histograms),
            )  # fmt: skip
            return
        gradient_kernel(f"pack_{self._counting}")(
            (n_parts,), (256,),
            (self._rows, starts, sizes, offsets, part_starts, n_nodes, self._g[output], self._h[output],
             self._whole_weights, self._words),
        )  # fmt: skip
        kernel = gradient_kernel(f"count_{self._counting}")
        kernel.max_dynamic_shared_size_bytes = max(self._count_bytes, kernel.max_dynamic_shared_size_bytes)
        kernel(
            (n_chunks, view.n_tiles), (THREADS,),
            (self.tiles.bins, np.int64(self.n_rows), self._rows, starts, sizes, offsets, chunk_starts, n_nodes,
             np.int32(chunk_rows), view.tiles, *sizes_of_all, self._words, self._histograms),
            shared_mem=self._count_bytes,
        )  # fmt: skip

    @on_its_gpu
    def subtract(self, families: Sequence[tuple[int, int, int]]) -> None:
        """Make the histograms of nodes from those of their parents and siblings: (parent, sibling, node) of each."""
        parents, siblings = self._upload(
            self._slots_of([parent for parent, _, _ in families]), self._slots_of([node for _, node, _ in families])
        )
        self._subtract(parents, siblings, len(families))
        for parent, _, node in families:
            self._slots[node] = self._slots.pop(parent)

    def release(self, node: int) -> None:
        """Give up the histogram of a node."""
        self._free_slots.append(self._slots.pop(node))

    @on_its_gpu
    def sums(self, node: int) -> tuple[int, int, int]:
        """Return the sums of g, h and weights of a node, in units."""
        cupy, sums = self._cupy, self._cupy.empty(3, dtype=self._cupy.int64)
        sizes = np.int32(self.tiles.n_tiles), np.int32(self.tiles.of_view(self._view).first), np.int32(self._n_bins)
        gradient_kernel("leaf_sums")((1,), (32,), (self._histograms, np.int32(self._slots[node]), *sizes, sums))
        g, h, weight = cupy.asnumpy(sums).tolist()
        return g, h, weight

    @on_its_gpu
    def best_splits(
        self,
        nodes: Sequence[int],
        sums: Sequence[tuple[int, int, int]],
        bounds: Sequence[tuple[float, float]],
    ) -> list[SplitRecord]:
        """Return the best splits of some nodes, given their sums and the bounds of their values."""
        cupy, view, rules = self._cupy, self.tiles.of_view(self._view), self._rules
        n_nodes, n_categorical = len(nodes), self.tiles.n_categorical
        slots, gpu_sums, gpu_bounds = self._upload(
            self._slots_of(nodes), np.array(sums, dtype=np.int64), np.array(bounds, dtype=np.float64)
        )
        unit_g, unit_h = np.float64(rules.units[0]), np.float64(rules.units[1])
        orders = cupy.empty((n_nodes, max(1, n_categorical), MOST_BINS), dtype=cupy.uint8)
        n_ordered = cupy.empty((n_nodes, max(1, n_categorical)), dtype=cupy.int32)
        sizes = np.int32(self.tiles.n_tiles), np.int32(self._n_bins)
        if view.n_categorical:
            gradient_kernel("order_categories")(
                (n_nodes, view.n_categorical), (MOST_BINS,),
                (self._histograms, slots, *sizes, view.categorical, view.numbers, np.int32(n_categorical), unit_g,
                 unit_h, orders, n_ordered),
            )  # fmt: skip
        places = (n_nodes, self.tiles.n_tiles * LANES)
        scores, cuts = cupy.empty(places), cupy.empty((*places, 2), dtype=cupy.int32)
        left_sums = cupy.empty((*places, 3), dtype=cupy.int64)
        gradient_kernel("scan")(
            (n_nodes, view.n_tiles), (SEGMENTS * LANES,),
            (self._histograms, slots, view.tiles, *sizes, gpu_sums, gpu_bounds, self.tiles.n_values,
             self.tiles.monotonic, self.tiles.order_of, orders, n_ordered, np.int32(n_categorical), unit_g, unit_h,
             np.float64(rules.l2), np.int64(rules.least_weight), np.int64(rules.least_hessian), scores, cuts,
             left_sums),
        )  # fmt: skip
        records = cupy.empty((n_nodes, RECORD), dtype=cupy.int64)
        gradient_kernel("choose")(
            (n_nodes,), (256,),
            (self._histograms, slots, *sizes, view.positions, np.int32(view.n_columns), scores, cuts, left_sums,
             self.tiles.order_of, orders, n_ordered, np.int32(n_categorical), records),
        )  # fmt: skip
        on_host = cupy.asnumpy(records)
        score_bits = np.ascontiguousarray(on_host[:, 0]).view(np.float64)
        return [
            self._record(score, numbers, categories)
            for score, numbers, categories in zip(score_bits.tolist(), on_host[:, 1:9].tolist(), on_host[:, 9:])
        ]

    def _record(self, score: float, numbers: list[int], categories: IntArray) -> SplitRecord:
        """Return what the GPU wrote about the best split of a leaf."""
        place, cut, direction, g, h, weight, missing, n_ordered = numbers
        order = None
        if self.tiles.of_view(self._view).is_set[place]:
            order = categories.view(np.uint8)[:n_ordered].astype(np.intp)
        return SplitRecord(score, place, cut, direction > 0, (g, h, weight), missing > 0, order)

    @on_its_gpu
    def quantiles(self, nodes: Sequence[int], ranks: Sequence[int]) -> list[float]:
        """Return for each node the smallest residual up to which its residuals have a weight of at least its rank."""
        cupy, n_nodes = self._cupy, np.int32(len(nodes))
        # Rows of a node that was split ahead, but became a leaf, are with its children.
        below = [self._ends_below(node) for node in nodes]
        host_starts, host_sizes, host_parts = self._parts([end for ends in below for end in ends], PART)
        host_leaves = np.repeat(np.arange(len(nodes), dtype=np.int32), [len(ends) for ends in below])
        n_parts, n_ranges = int(host_parts[-1]), np.int32(len(host_starts))
        starts, sizes, part_starts, leaves, gpu_ranks = self._upload(
            host_starts, host_sizes, host_parts, host_leaves, np.array(ranks, dtype=np.int64)
        )
        lower = cupy.zeros(len(nodes), dtype=cupy.uint64)
        upper = cupy.asarray(np.full(len(nodes), 2**KEY_BITS - 1, dtype=np.uint64))
        totals = cupy.zeros(len(nodes), dtype=cupy.uint64)
        for _ in range(KEY_BITS):
            gradient_kernel("weigh")(
                (n_parts,), (256,),
                (self._rows, starts, sizes, part_starts, leaves, n_ranges, self._scores, self._labels[0],
                 self._whole_weights, lower, upper, totals),
            )  # fmt: skip
            gradient_kernel("halve")((-(-len(nodes) // 32),), (32,), (n_nodes, gpu_ranks, lower, upper, totals))
        return [value_of_digits(key) for key in cupy.asnumpy(lower).tolist()]

    @on_its_gpu
    def add_tree(self, tree: TreeNodes, output: int, view: int) -> None:
        """Add the values of the leaves of a tree to the scores of all rows that it reads."""
        cupy = self._cupy
        positions = np.where(tree.column >= 0, self.tiles.positions[tree.column], -1)
        parts = positions, tree.cut_bin, tree.missing_left, tree.left, tree.right, tree.category_row
        nodes = cupy.asarray(np.column_stack(parts).astype(np.int32))
        categories = cupy.asarray(tree.categories_left) if len(tree.categories_left) else NULL
        arguments = (
            self.tiles.bins, np.int64(self.n_rows), self._roles, self._presence(view), nodes, categories,
            cupy.asarray(tree.value), np.int32(self._n_bins - 1), self._scores[output],
        )  # fmt: skip
        gradient_kernel("add_tree")((-(-self.n_rows // 256),), (256,), arguments)

    def _presence(self, view: int) -> GpuArray:
        """Return the rows that have a view; a null pointer where all of them have."""
        if view not in self._presences:
            present: BoolArray | None = self.inputs.presence(view)
            self._presences[view] = NULL if present is None else self._cupy.asarray(present)
        return self._presences[view]

    def _parts(self, nodes: Sequence[int], size: int) -> tuple[IntArray, IntArray, IntArray]:
        """Cut the rows of nodes into parts: first row and number of rows of each node; its first part, then all."""
        ranges = np.array([self._ranges[node] for node in nodes], dtype=np.int64)
        part_starts = np.zeros(len(nodes) + 1, dtype=np.int32)
        np.cumsum(-(-ranges[:, 1] // size), out=part_starts[1:])
        return ranges[:, 0], ranges[:, 1].astype(np.int32), part_starts

    def _ends_below(self, node: int) -> list[int]:
        """Return the nodes that the rows of a node are in."""
        if node not in self._children:
            return [node]
        return [end for child in self._children[node] for end in self._ends_below(child)]

    def _upload(self, *arrays: AnyArray) -> list[np.uintp]:
        """Copy small arrays to the GPU, all together, and return where they are there, until the next call."""
        places = [0, *accumulate(-(-array.nbytes // 8) * 8 for array in arrays)]
        together = np.empty(places[-1], dtype=np.uint8)
        for place, array in zip(places, arrays):
            together[place : place + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        # Memory that is given back is used again by later kernels only.
        self._uploaded = self._cupy.empty(len(together), dtype=self._cupy.uint8)
        self._uploaded.data.copy_from_host_async(together.ctypes.data, len(together))
        return [np.uintp(self._uploaded.data.ptr + place) for place in places[:-1]]

    def _new_slots(self, count: int) -> list[int]:
        """Return places of histograms that nobody uses; there are more of them where they do not suffice."""
        missing = count - len(self._free_slots)
        if missing > 0:
            before, cupy = len(self._histograms), self._cupy
            n_slots = max(before + missing, 2 * before)
            larger = cupy.empty((n_slots, *self._histograms.shape[1:]), dtype=cupy.int64)
            larger[:before] = self._histograms
            self._histograms = larger
            self._free_slots += range(before, n_slots)
        return [self._free_slots.pop() for _ in range(count)]

    def _slots_of(self, nodes: Sequence[int]) -> IntArray:
        """Return the places of the histograms of nodes."""
        return np.array([self._slots[node] for node in nodes], dtype=np.int32)

    def _subtract(self, slots: GpuArray, others: GpuArray, count: int) -> None:
        """Subtract histograms from others, or set them to 0 where nothing is to be subtracted."""
        view = self.tiles.of_view(self._view)
        grid = -(-self._n_bins * 3 * LANES // 256), view.n_tiles, count
        sizes = np.int32(self.tiles.n_tiles), np.int32(self._n_bins)
        gradient_kernel("subtract")(grid, (256,), (self._histograms, slots, others, view.tiles, *sizes))
