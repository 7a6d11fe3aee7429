"""The growth of whole trees of gradient boosting on a GPU; the source of its kernels is in ``tree_growth.cu``.

A split of a leaf takes some ten kernels. Where rows are few, the host takes longer to learn of the leaves, to decide on
the next one and to start these than they run. So the decision is made on the GPU, too: the host starts the kernels of
as many splits as a tree may have, one after the other, waits once, and gets the nodes of the tree. It is the same tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fuselearn.backends.gpu.arrays import GpuArray, on_its_gpu
from fuselearn.backends.gpu.cuda_kernels import FusedKernels
from fuselearn.backends.gpu.gpu_gradients import GradientInputs
from fuselearn.backends.gpu.gradient_kernels import (
    CHUNK,
    MOST_BINS,
    PART,
    RECORD,
    SEGMENTS,
    THREADS,
    FusedGradients,
    SplitRules,
)
from fuselearn.backends.gpu.gradient_tiles import LANES, ColumnTiles, gradient_kernel
from fuselearn.typing import IntArray

MOST_ROWS = 2**20
"""Rows above which leaves are rather split many at a time."""
MOST_LEAVES = 64
"""Leaves of a tree above which they are, too."""
CONTROL, NODE = 4, 18
"""Numbers of the state of a tree, and of one of its nodes, as in ``tree_growth.cu``; so are the next ones."""
SUMS, DEPTH, LEFT, SPLIT = 2, 6, 7, 9
PARTS, CHUNKS, NEW_SLOT, PARENT_SLOT, SIBLING_SLOT, N_SIZES = 1, 3, 5, 6, 7, 8


@dataclass(frozen=True)
class Launch:
    """A kernel with all that it is started with."""

    kernel: Any
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[Any, ...]
    shared_bytes: int = 0

    def start(self) -> None:
        """Start the kernel."""
        self.kernel(self.grid, self.block, self.arguments, shared_mem=self.shared_bytes)


@dataclass(frozen=True)
class GrowthPlan:
    """The kernels that grow a tree, and the memory that they work in.

    Attributes
    ----------
    state : int64 array
        State of the tree and its nodes.
    root, split, last_split : list of Launch
        What looks at the root, splits a leaf and looks at its children, and splits the last one.
    """

    state: GpuArray
    root: list[Launch]
    split: list[Launch]
    last_split: list[Launch]


class GrowingGradients(FusedGradients):
    """Rows on a GPU, by CUDA kernels, which also grow whole trees; see `FusedGradients`.

    Columns are numbers, and not monotonic.
    """

    def __init__(
        self, kernels: FusedKernels, inputs: GradientInputs, rules: SplitRules, tiles: ColumnTiles | None = None
    ) -> None:
        super().__init__(kernels, inputs, rules, tiles)
        self._plans: dict[tuple[int, ...], GrowthPlan] = {}

    @on_its_gpu
    def grow(self, output: int, max_leaf_nodes: int, max_depth: int) -> IntArray:
        """Grow a tree from all rows that are in its root; return its nodes, of shape (n_nodes, 18), on the host."""
        if len(self._histograms) <= max_leaf_nodes:  # one is for what is counted in vain
            self._new_slots(max_leaf_nodes + 1)
            self._free_slots = list(range(len(self._histograms)))
            self._plans = {}
        self.count([0], output)
        key = self._view, output, max_leaf_nodes, max_depth
        if key not in self._plans:
            self._plans[key] = self._plan(*key[1:])
        plan = self._plans[key]
        # All at once: one for each split would be as many kernels more.
        self._histograms[: max_leaf_nodes - 1].fill(0)
        for launch in plan.root:
            launch.start()
        for _ in range(max_leaf_nodes - 2):
            for launch in plan.split:
                launch.start()
        for launch in plan.last_split if max_leaf_nodes > 1 else []:
            launch.start()
        state = self._cupy.asnumpy(plan.state)
        return state[CONTROL:].reshape(-1, NODE)[: int(state[0])]

    def _plan(self, output: int, max_leaf_nodes: int, max_depth: int) -> GrowthPlan:
        """Return the kernels that grow a tree of the current view."""
        cupy, view, rules = self._cupy, self.tiles.of_view(self._view), self._rules
        n_root = self._ranges[0][1]
        n_parts, n_chunks = max(1, -(-n_root // PART)), max(1, -(-n_root // CHUNK))
        n_rows, one, chunk_rows = np.int64(self.n_rows), np.int32(1), np.int32(CHUNK)
        tiles = np.int32(self.tiles.n_tiles), np.int32(self._n_bins)
        unit_g, unit_h, l2 = (np.float64(number) for number in (*rules.units[:2], rules.l2))
        state = cupy.zeros(CONTROL + NODE * (2 * max_leaf_nodes - 1), dtype=cupy.int64)
        control, nodes = state[:CONTROL], state[CONTROL:]
        # What is to be split, and what is to be counted.
        tasks, sizes = cupy.zeros((2, 2), dtype=cupy.int64), cupy.zeros((2, N_SIZES), dtype=cupy.int32)
        position, goes_left = cupy.zeros(1, dtype=cupy.int32), cupy.zeros(MOST_BINS, dtype=cupy.uint8)
        marks, n_left = cupy.empty(n_parts * (PART // 32), dtype=cupy.uint32), cupy.zeros(n_parts, dtype=cupy.int32)
        on_left, slots = cupy.zeros(1, dtype=cupy.int32), cupy.zeros(2, dtype=cupy.int32)
        root_sums, sums = cupy.zeros(3, dtype=cupy.int64), cupy.zeros((2, 3), dtype=cupy.int64)
        bounds = cupy.asarray(np.array([[-np.inf, np.inf]] * 2))
        no_orders, n_ordered = cupy.zeros(8, dtype=cupy.uint8), cupy.zeros(1, dtype=cupy.int32)
        places = 2, self.tiles.n_tiles * LANES
        scores, cuts = cupy.empty(places), cupy.empty((*places, 2), dtype=cupy.int32)
        left_sums = cupy.empty((*places, 3), dtype=cupy.int64)
        records = cupy.zeros((2, RECORD), dtype=cupy.int64)

        def look_at(n_nodes: int) -> list[Launch]:
            scan = (
                self._histograms, slots, view.tiles, *tiles, sums, bounds, self.tiles.n_values, self.tiles.monotonic,
                self.tiles.order_of, no_orders, n_ordered, np.int32(0), unit_g, unit_h, l2,
                np.int64(rules.least_weight), np.int64(rules.least_hessian), scores, cuts, left_sums,
            )  # fmt: skip
            choose = (
                self._histograms, slots, *tiles, view.positions, np.int32(view.n_columns), scores, cuts, left_sums,
                self.tiles.order_of, no_orders, n_ordered, np.int32(0), records,
            )  # fmt: skip
            return [
                Launch(gradient_kernel("scan"), (n_nodes, view.n_tiles), (SEGMENTS * LANES,), scan),
                Launch(gradient_kernel("choose"), (n_nodes,), (256,), choose),
            ]

        root_slot = np.int32(self._slots[0])
        root = [
            Launch(gradient_kernel("leaf_sums"), (1,), (32,),
                   (self._histograms, root_slot, tiles[0], np.int32(view.first), tiles[1], root_sums)),
            Launch(gradient_kernel("plant_tree"), (1,), (1,),
                   (np.int64(n_root), root_slot, root_sums, nodes, control, slots, sums)),
            *look_at(1),
        ]  # fmt: skip
        choose_leaf = Launch(
            gradient_kernel("choose_leaf"), (1,), (MOST_BINS,),
            (nodes, control, records, unit_g, unit_h, l2, np.int64(rules.least_weight), np.int32(max_depth),
             np.int32(self._n_bins - 1), view.positions, tasks[0], sizes[0], position, goes_left),
        )  # fmt: skip
        start, size, parts = tasks[0, :1], sizes[0, :1], sizes[0, PARTS:]
        add_children = Launch(
            gradient_kernel("add_children"), (1,), (1,),
            (n_rows, nodes, control, on_left, chunk_rows, np.int32(max_leaf_nodes - 1), tasks[1], sizes[1], slots,
             sums),
        )  # fmt: skip
        new, parent, sibling = (sizes[1, place:] for place in (NEW_SLOT, PARENT_SLOT, SIBLING_SLOT))
        counted = self._rows, tasks[1, :1], sizes[1, :1], tasks[1, 1:]
        count = gradient_kernel(f"count_{self._counting}")
        count.max_dynamic_shared_size_bytes = max(self._count_bytes, count.max_dynamic_shared_size_bytes)
        split = [
            choose_leaf,
            Launch(gradient_kernel("mark_left"), (n_parts,), (256,),
                   (self.tiles.bins, n_rows, self._rows, start, size, position, goes_left, parts, one, marks, n_left)),
            Launch(gradient_kernel("add_parts"), (1,), (1024,), (parts, n_left, on_left)),
            Launch(gradient_kernel("move_rows"), (n_parts,), (256,),
                   (n_rows, self._rows, start, size, parts, one, marks, n_left, on_left)),
            add_children,
            Launch(gradient_kernel(f"pack_{self._counting}"), (n_parts,), (256,),
                   (*counted, sizes[1, PARTS:], one, self._g[output], self._h[output], self._whole_weights,
                    self._words)),
            Launch(count, (n_chunks, view.n_tiles), (THREADS,),
                   (self.tiles.bins, n_rows, *counted, sizes[1, CHUNKS:], one, chunk_rows, view.tiles, tiles[0], new,
                    tiles[1], self._words, self._histograms), self._count_bytes),
            Launch(gradient_kernel("subtract"), (-(-self._n_bins * 3 * LANES // 256), view.n_tiles, 1), (256,),
                   (self._histograms, parent, sibling, view.tiles, *tiles)),
            *look_at(2),
        ]  # fmt: skip
        return GrowthPlan(state, root, split, [choose_leaf, add_children])

    @property
    def fits(self) -> bool:
        """Whether histograms fit into the shared memory of the GPU, which growing whole trees relies on."""
        return self._count_bytes <= self._shared_bytes
