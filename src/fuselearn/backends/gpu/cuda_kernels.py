"""Fused kernels for rows on a GPU, through CuPy; their CUDA source is in ``boosting.cu``.

Naive Bayes reads its rows twice a round: once for the weighted moments, once for scores and predicted classes, with no
temporaries in between. Arrays of torch are read where they are, without a copy of the table.
"""

import warnings
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.resources import files
from types import ModuleType
from typing import Any

import numpy as np

from fuselearn.backends.gpu.arrays import Arrays, CupyArrays, GpuArray, TorchArrays
from fuselearn.backends.gpu.gpu_table import GpuTable
from fuselearn.backends.gpu.prepared_rows import GpuBins, GpuColumns, GpuWeights, cannot_run_on_gpu
from fuselearn.data import View
from fuselearn.learners.binning import Binning
from fuselearn.learners.protocol import Hypothesis
from fuselearn.learners.score_learners import ScoreHypothesis
from fuselearn.learners.tree_growth import TreeHypothesis
from fuselearn.numeric.votes import TIE
from fuselearn.typing import FloatArray, IntArray

BLOCK_ROWS = 1024
"""Rows of a block, BLOCK in ``boosting.cu``. Within a block values stand column after column: a thread block reads
memory from end to end, both when it sums over the rows of a column and when it sums over the columns of a row."""
TALLY_ROWS = 4096
"""Rows of one partial tally, as in ``boosting.cu``."""
HISTOGRAM_ROWS = 8192
"""Rows of one partial histogram."""
LANES = 32
"""Columns of one warp's histograms: each lane has one of its own, so that no two ever add to the same number."""
FORMS_AT_A_TIME = 4
"""Scores of a row that one pass computes, where there are more classes than two."""
MAX_PIECES = 1024
"""Partial histograms of a column, but for those at the borders of classes and nodes."""
MAX_GROUP_SUMS = 2**24
"""Sums of the histograms of one pass over some nodes; more nodes take several passes."""
MAX_GROUPS = 65535
"""Groups of pieces that one start of a kernel adds up; a grid is no higher."""
CTYPES = {"float32": ("float", 4), "float64": ("double", 2)}
"""C type of a number format, and how many of its numbers are 16 bytes."""


def fused_kernels(arrays: Arrays) -> "FusedKernels | None":
    """Return the fused kernels for a library's arrays, or None where the arrays are not on a GPU or CuPy is missing.

    A CuPy that is installed but cannot compile is warned of.
    """
    if not isinstance(arrays, CupyArrays | TorchArrays) or "cpu" in str(arrays.device):
        return None
    try:
        cupy = import_module("cupy")
        cupy.RawKernel('extern "C" __global__ void nothing() {}', "nothing").compile()
    except Exception as error:  # whatever a CUDA library that does not fit the driver raises
        if not (isinstance(error, ModuleNotFoundError) and error.name == "cupy"):
            warnings.warn(
                f"CuPy is installed but does not work here ({type(error).__name__}: {error}), so plain array "
                "operations are used, which are several times slower. pip install 'fuselearn[cuda]' installs CuPy for "
                "CUDA 12; for CUDA 13 install cupy-cuda13x.",
                RuntimeWarning,
                stacklevel=2,
            )
        return None
    return FusedKernels(cupy)


def cuda_source(name: str) -> str:
    """Return the CUDA source of a file of this package."""
    return files("fuselearn.backends.gpu").joinpath(name).read_text(encoding="utf-8")


class FusedKernels:
    """Makes prepared rows and weights that use the fused kernels."""

    def __init__(self, cupy: ModuleType) -> None:
        self._cupy: Any = cupy

    def table(self, table: GpuTable) -> GpuTable:
        """Return the table as one of CuPy, in the same memory."""
        values = table.values
        if isinstance(values, self._cupy.ndarray):
            return table
        return GpuTable(self._cupy.from_dlpack(values.detach()))

    def arrays(self, arrays: Arrays) -> Arrays:
        """Return the operations on arrays of CuPy on the GPU of those that are given."""
        if isinstance(arrays, CupyArrays):
            return arrays
        return CupyArrays(self._cupy, self._cupy.cuda.Device(arrays.device.index))

    def weights(self, arrays: Arrays) -> "FusedWeights":
        """Return the operations on weights."""
        return FusedWeights(arrays)

    def columns(self, table: GpuTable, view: View, rows: IntArray, starts: IntArray) -> "FusedColumns":
        """Return the rows of a view as they were given."""
        return FusedColumns(table, view, rows, starts)

    def bins(self, table: GpuTable, view: View, plan: Binning, rows: IntArray, starts: IntArray) -> GpuBins:
        """Return the rows of a view as bins; counted plainly where the histograms do not fit the shared memory."""
        shared_memory = self._cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
        bins_class = FusedBins if _histogram_bytes(plan.n_bins) <= shared_memory else GpuBins
        return bins_class(table, view, plan, rows, starts)


class FusedWeights(GpuWeights):
    """`GpuWeights` by kernels."""

    def outcomes(
        self,
        predicted: GpuArray,
        codes: GpuArray,
        places: GpuArray | None,
        excluded: GpuArray | None,
        weights: GpuArray,
    ) -> tuple[GpuArray, GpuArray]:
        """Return the outcome of each row, and the weight by outcome; see `GpuWeights.outcomes`."""
        cupy, n_rows = self.arrays.xp, len(weights)
        n_pieces = -(-n_rows // TALLY_ROWS)
        outcome, partial = cupy.empty(n_rows, dtype=cupy.int8), cupy.empty((n_pieces, 3))
        null = np.uintp(0)
        places, excluded = (null if array is None else array for array in (places, excluded))
        arguments = predicted, codes, places, excluded, np.int64(n_rows), weights, outcome, partial
        _kernel("judge")((n_pieces,), (256,), arguments)
        starts = cupy.asarray(np.array([0, n_pieces], dtype=np.int32))
        return outcome, _add_pieces(cupy, partial, 3, starts, 1)[0]

    def multiplied(self, weights: GpuArray, outcome: GpuArray, right: float, wrong: float, absent: float) -> GpuArray:
        """Return weights times the factor of their outcome."""
        out = self.arrays.xp.empty_like(weights)
        factors = np.float64(right), np.float64(wrong), np.float64(absent)
        _kernel("multiply")(
            (-(-len(weights) // 256),), (256,), (weights, outcome, np.int64(len(weights)), *factors, out)
        )
        return out


class FusedColumns(GpuColumns):
    """`GpuColumns` in blocks of rows, and within a block column after column."""

    def predict(self, hypothesis: Hypothesis) -> GpuArray:
        """Return the class code of each row, on the GPU."""
        if not isinstance(hypothesis, ScoreHypothesis):
            raise cannot_run_on_gpu(f"A {type(hypothesis).__name__}")
        cupy, n_forms = self._cupy, len(hypothesis.constants)
        at_a_time = 1 if n_forms == 1 else FORMS_AT_A_TIME
        coefficients, constants = pack_forms(hypothesis, at_a_time, self.gaps)
        uploaded = cupy.asarray(np.concatenate([coefficients.ravel(), constants]))
        codes = cupy.empty(self.n_rows, dtype=cupy.int32)
        arguments = (
            self._values,
            np.int32(self.n_columns),
            np.int64(self.n_rows),
            np.int32(n_forms),
            uploaded[: coefficients.size],
            uploaded[coefficients.size :],
            np.float64(TIE),
            codes,
        )
        threads = BLOCK_ROWS // CTYPES[self._dtype][1]
        _kernel(f"largest_{at_a_time}", self._dtype, self.gaps)((self._n_blocks,), (threads,), arguments)
        return codes

    def _store(self, table: GpuTable, columns: IntArray, rows: IntArray) -> bool:
        cupy = self._cupy = table.arrays.xp
        values = table.values
        self._dtype = table.dtype
        self._n_blocks = -(-self.n_rows // BLOCK_ROWS)
        self._values = cupy.empty(self._n_blocks * BLOCK_ROWS * self.n_columns, dtype=values.dtype)
        gaps = cupy.zeros(1, dtype=cupy.int32)
        row_step, column_step = (step // values.itemsize for step in values.strides)
        arguments = (
            values,
            np.int64(row_step),
            np.int64(column_step),
            cupy.asarray(rows.astype(np.int64)),
            np.int64(self.n_rows),
            cupy.asarray(columns.astype(np.int64)),
            np.int32(self.n_columns),
            self._values,
            gaps,
        )
        _kernel("lay_out", self._dtype)((self._n_blocks * BLOCK_ROWS // 256,), (256,), arguments)
        first, last, piece_starts = cut_into_pieces(self.starts, BLOCK_ROWS)
        blocks = first // BLOCK_ROWS
        places = blocks, first - blocks * BLOCK_ROWS, last - blocks * BLOCK_ROWS
        self._places = [cupy.asarray(place.astype(np.int32)) for place in places]
        self._piece_starts = cupy.asarray(piece_starts)
        return bool(gaps[0])

    def _moments(self, means: FloatArray, scales: FloatArray, weights: GpuArray) -> GpuArray:
        cupy, width = self._cupy, 1 + 3 * self.n_columns
        n_pieces = len(self._places[0])
        partial = cupy.empty((n_pieces, width))
        both = cupy.asarray(np.stack([means, 1.0 / scales]))
        arguments = self._values, np.int32(self.n_columns), weights, *self._places, both[0], both[1], partial
        _kernel("moments", self._dtype, self.gaps)((n_pieces,), (256,), arguments)
        return _add_pieces(cupy, partial, width, self._piece_starts, len(self.starts) - 1)

    def _given(self, start: int, stop: int) -> GpuArray:
        first, last = start // BLOCK_ROWS, -(-stop // BLOCK_ROWS)
        blocks = self._values.reshape(self._n_blocks, self.n_columns, BLOCK_ROWS)[first:last]
        rows = blocks.transpose(0, 2, 1).reshape(-1, self.n_columns)
        return rows[start - first * BLOCK_ROWS : stop - first * BLOCK_ROWS]


class FusedBins(GpuBins):
    """`GpuBins` by kernels; histograms without a race, one column a lane."""

    def _store(self, columns: Sequence[GpuArray]) -> None:
        cupy = self._cupy = self.arrays.xp
        self._stride = -(-self.n_rows // 16) * 16
        self._bins = cupy.zeros((self.n_columns, self._stride), dtype=cupy.uint8)
        for stored, column in zip(self._bins, columns):
            stored[: self.n_rows] = column
        self._n_tiles = -(-self.n_columns // LANES)
        self._tile_columns = -(-self.n_columns // self._n_tiles)
        # More rows a piece where there are many, so that partial histograms stay a small part of the rows.
        self._piece_rows = max(HISTOGRAM_ROWS, 16 * -(-self.n_rows // (16 * MAX_PIECES)))
        self._class_pieces = self._upload(cut_into_pieces(self.starts, self._piece_rows))

    def _upload(self, pieces: tuple[IntArray, IntArray, IntArray]) -> tuple[GpuArray, GpuArray, GpuArray]:
        first, last, piece_starts = pieces
        cupy = self._cupy
        return cupy.asarray(first.astype(np.int64)), cupy.asarray(last.astype(np.int64)), cupy.asarray(piece_starts)

    def _histograms(self, weights: GpuArray) -> GpuArray:
        n_classes = len(self.starts) - 1
        summed = self._group_histograms(None, weights, *self._class_pieces, n_classes)
        return self._cupy.moveaxis(summed, 0, 1)

    def _node_histograms(self, tree: TreeHypothesis, nodes: Sequence[int], weights: GpuArray) -> GpuArray:
        cupy, n_classes = self._cupy, len(self.starts) - 1
        at_a_time = max(1, MAX_GROUP_SUMS // (n_classes * self._n_tiles * self.n_bins * LANES))
        if len(nodes) > at_a_time:
            batches = [nodes[first : first + at_a_time] for first in range(0, len(nodes), at_a_time)]
            return cupy.concatenate([self._node_histograms(tree, batch, weights) for batch in batches])
        slot_of_node = np.full(len(tree.feature), len(nodes), dtype=np.int32)
        slot_of_node[list(nodes)] = np.arange(len(nodes))
        slots = self._leaf_values(tree, slot_of_node)
        codes = cupy.searchsorted(cupy.asarray(self.starts[1:]), cupy.arange(self.n_rows), side="right")
        # Rows by node and class, and within these in their order: numbers that all differ sort in one way only.
        keys = cupy.sort((slots.astype(cupy.int64) * n_classes + codes) * self.n_rows + cupy.arange(self.n_rows))
        order = keys % self.n_rows
        n_groups = len(nodes) * n_classes
        group_starts = cupy.asnumpy(cupy.searchsorted(keys, cupy.arange(n_groups + 1) * self.n_rows))
        pieces = self._upload(cut_into_pieces(group_starts, self._piece_rows))
        summed = self._group_histograms(order.astype(cupy.int32), weights[order], *pieces, n_groups)
        summed = summed.reshape(len(nodes), n_classes, self.n_columns, self.n_bins)
        return cupy.moveaxis(summed, 1, 2)

    def _group_histograms(
        self,
        rows: GpuArray | None,
        weights: GpuArray,
        first: GpuArray,
        last: GpuArray,
        piece_starts: GpuArray,
        n_groups: int,
    ) -> GpuArray:
        """Return the histograms of each group of pieces, of shape (n_groups, n_columns, n_bins)."""
        cupy, n_pieces = self._cupy, len(first)
        width = self._n_tiles * self.n_bins * LANES
        partial = cupy.empty((max(n_pieces, 1), width))
        kernel = _kernel("histograms")
        shared_bytes = _histogram_bytes(self.n_bins)
        kernel.max_dynamic_shared_size_bytes = max(shared_bytes, kernel.max_dynamic_shared_size_bytes)
        arguments = (
            self._bins,
            np.int64(self._stride),
            np.uintp(0) if rows is None else rows,
            weights,
            np.int32(self.n_columns),
            np.int32(self._tile_columns),
            np.int32(self.n_bins),
            first,
            last,
            partial,
        )
        if n_pieces:
            kernel((n_pieces, self._n_tiles), (LANES,), arguments, shared_mem=shared_bytes)
        summed = _add_pieces(cupy, partial, width, piece_starts, n_groups)
        summed = summed.reshape(n_groups, self._n_tiles, self.n_bins, LANES)[..., : self._tile_columns]
        columns = summed.transpose(0, 1, 3, 2).reshape(n_groups, self._n_tiles * self._tile_columns, self.n_bins)
        return columns[:, : self.n_columns]

    def _leaf_values(self, tree: TreeHypothesis, values: IntArray) -> GpuArray:
        cupy = self._cupy
        node_arrays = (tree.feature, tree.cut_bin, tree.missing_left, tree.left, tree.right)
        out = cupy.empty(self.n_rows, dtype=cupy.int32)
        arguments = (
            self._bins,
            np.int64(self._stride),
            np.int64(self.n_rows),
            *map(cupy.asarray, node_arrays),
            np.int32(self.missing_bin),
            cupy.asarray(values),
            out,
        )
        _kernel("walk")((-(-self.n_rows // 256),), (256,), arguments)
        return out


@cache
def _module(dtype: str, gaps: bool) -> Any:
    """Return the kernels for one number format, compiled on first use and kept on disk by CuPy."""
    cupy = import_module("cupy")
    value, width = CTYPES[dtype]
    settings = {"VALUE": value, "WIDTH": width, "GAPS": int(gaps), "RESIDENT": width // 2 + 1}
    options = (*(f"-D{name}={setting}" for name, setting in settings.items()), "--std=c++14")
    return cupy.RawModule(code=cuda_source("boosting.cu"), options=options)


@cache
def _kernel(name: str, dtype: str = "float32", gaps: bool = False) -> Any:
    return _module(dtype, gaps).get_function(name)


def _add_pieces(cupy: Any, partial: GpuArray, width: int, starts: GpuArray, n_groups: int) -> GpuArray:
    """Return the sums over the pieces of each group, of shape (n_groups, width)."""
    out = cupy.empty((n_groups, width))
    for first in range(0, n_groups, MAX_GROUPS):
        grid = -(-width // 32), min(MAX_GROUPS, n_groups - first)
        _kernel("add_pieces")(grid, (32, 32), (partial, np.int64(width), starts[first:], out[first:]))
    return out


def _histogram_bytes(n_bins: int) -> int:
    """Return the shared memory of one warp's histograms."""
    return 8 * n_bins * LANES


def cut_into_pieces(starts: IntArray, size: int) -> tuple[IntArray, IntArray, IntArray]:
    """Cut each group of rows where the whole is cut into pieces of `size` rows.

    Returns the first row of each piece and that behind its last, group by group, and where the pieces of each group
    start, of shape (n_groups + 1,).
    """
    first, last, counts = [], [], [0]
    for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist()):
        cuts = np.arange(start // size * size, stop, size) if stop > start else np.empty(0, dtype=np.int64)
        first.append(np.maximum(cuts, start))
        last.append(np.minimum(cuts + size, stop))
        counts.append(len(cuts))
    return np.concatenate(first), np.concatenate(last), np.cumsum(counts).astype(np.int32)


def pack_forms(hypothesis: ScoreHypothesis, at_a_time: int, gaps: bool) -> tuple[FloatArray, FloatArray]:
    """Return the forms of a hypothesis as the kernel reads them, in groups; forms that fill up the last group are 0.

    The coefficients, of shape (n_groups, n_columns, 2 + 3 * at_a_time), are the mean and factor of each column, and
    then a, b and c of each form of the group. The constants, one a form, include those of the columns without gaps.
    """
    plan, (n_forms, n_columns) = hypothesis.plan, hypothesis.squares.shape
    n_groups = -(-n_forms // at_a_time)
    padded = np.zeros((3, n_groups * at_a_time, n_columns))
    padded[:, :n_forms] = hypothesis.squares, hypothesis.slopes, hypothesis.column_constants
    coefficients = np.empty((n_groups, n_columns, 2 + 3 * at_a_time))
    coefficients[:, :, 0], coefficients[:, :, 1] = plan.means, 1.0 / plan.scales
    forms = padded.reshape(3, n_groups, at_a_time, n_columns).transpose(1, 3, 2, 0)
    coefficients[:, :, 2:] = forms.reshape(n_groups, n_columns, 3 * at_a_time)
    constants = np.zeros(n_groups * at_a_time)
    constants[:n_forms] = hypothesis.constants + (0.0 if gaps else hypothesis.column_constants.sum(axis=1))
    return coefficients, constants
