"""Fused kernels for rows on a GPU, through CuPy.

Naive Bayes reads its rows twice a round: once for the weighted moments, once for scores and predicted classes, with no
temporaries in between. Arrays of torch are read where they are, without a copy of the table.
"""

import warnings
from functools import cache
from importlib import import_module

import numpy as np

from fuselearn.backends.gpu.arrays import CupyArrays, TorchArrays
from fuselearn.backends.gpu.cuda_source import BLOCK_ROWS, HISTOGRAM_ROWS, LANES, SOURCE, TALLY_ROWS
from fuselearn.backends.gpu.prepared_views import DeviceBins, DeviceColumns, DeviceWeights
from fuselearn.backends.gpu.table import DeviceTable
from fuselearn.numeric.weights import TIE

FORMS_AT_A_TIME = 4
"""Scores of a row that one pass computes, where there are more classes than two."""
MOST_PIECES = 1024
"""Partial histograms of a column, but for those at the borders of classes and nodes."""
MOST_GROUP_SUMS = 2**24
"""Sums of the histograms of one pass over some nodes; more nodes are taken in parts."""
MOST_GROUPS = 65535
"""Groups of pieces that one start of a kernel adds up; a grid is no higher."""
CTYPES = {"float32": ("float", 4), "float64": ("double", 2)}


def fused(arrays):
    """The fused kernels for a library's arrays, or None where there are none: the arrays are not on a GPU, or CuPy is
    not installed. One that is, but that can compile nothing, is told of by a warning."""
    if not isinstance(arrays, CupyArrays | TorchArrays) or "cpu" in str(arrays.device):
        return None
    try:
        cupy = import_module("cupy")
        cupy.RawKernel('extern "C" __global__ void nothing() {}', "nothing").compile()
    except Exception as error:  # whatever a CUDA library that does not fit the driver says
        if not (isinstance(error, ModuleNotFoundError) and error.name == "cupy"):
            warnings.warn(
                f"CuPy is installed but does not work here ({type(error).__name__}: {error}), so plain array "
                "operations are used, which are several times slower. pip install 'fuselearn[cuda]' brings one for "
                "CUDA 12, cupy-cuda13x is for CUDA 13.",
                RuntimeWarning,
                stacklevel=2,
            )
        return None
    return FusedKernels(cupy)


class FusedKernels:
    """What rows on a GPU are worked on with.

    Parameters
    ----------
    cupy : module
    """

    def __init__(self, cupy):
        self._cupy = cupy

    def table(self, table):
        """The table as one of CuPy, in the same memory."""
        values = table.values
        if isinstance(values, self._cupy.ndarray):
            return table
        return DeviceTable(self._cupy.from_dlpack(values.detach()))

    def arrays(self, arrays):
        """Operations on arrays of CuPy on the device of those that are given."""
        if isinstance(arrays, CupyArrays):
            return arrays
        return CupyArrays(self._cupy, self._cupy.cuda.Device(arrays.device.index))

    def weights(self, arrays):
        return FusedWeights(arrays)

    def columns(self, table, view, rows, starts):
        return FusedColumns(table, view, rows, starts)

    def bins(self, table, view, plan, rows, starts):
        room = self._cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
        kind = FusedBins if _histogram_bytes(plan.n_bins) <= room else DeviceBins
        return kind(table, view, plan, rows, starts)


@cache
def _module(kind, gaps):
    """The kernels for one number format, compiled on first use and kept on disk by CuPy."""
    cupy = import_module("cupy")
    value, width = CTYPES[kind]
    settings = {"VALUE": value, "WIDTH": width, "GAPS": int(gaps), "RESIDENT": width // 2 + 1}
    options = (*(f"-D{name}={setting}" for name, setting in settings.items()), "--std=c++14")
    return cupy.RawModule(code=SOURCE, options=options)


@cache
def _kernel(name, kind="float32", gaps=False):
    return _module(kind, gaps).get_function(name)


def _added(cupy, partial, width, starts, n_groups):
    """Sums over the pieces of each group, of shape (n_groups, width)."""
    out = cupy.empty((n_groups, width))
    for first in range(0, n_groups, MOST_GROUPS):
        grid = -(-width // 32), min(MOST_GROUPS, n_groups - first)
        _kernel("add_pieces")(grid, (32, 32), (partial, np.int64(width), starts[first:], out[first:]))
    return out


def _histogram_bytes(n_bins):
    """Shared memory of one warp's histograms."""
    return 8 * n_bins * LANES


def _pieces(starts, size):
    """Cut each group of rows where the whole is cut into pieces of `size` rows.

    Returns
    -------
    first, last : int64 ndarray
        Rows of each piece, group by group.
    piece_starts : int32 ndarray of shape (n_groups + 1,)
        Where the pieces of each group start.
    """
    first, last, counts = [], [], [0]
    for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist()):
        cuts = np.arange(start // size * size, stop, size) if stop > start else np.empty(0, dtype=np.int64)
        first.append(np.maximum(cuts, start))
        last.append(np.minimum(cuts + size, stop))
        counts.append(len(cuts))
    return np.concatenate(first), np.concatenate(last), np.cumsum(counts).astype(np.int32)


def _packed(hypothesis, at_a_time, gaps):
    """Forms of a hypothesis as the kernel reads them, some at a time; forms that fill up the last group are 0.

    Returns
    -------
    coefficients : ndarray of shape (n_groups, n_columns, 2 + 3 * at_a_time)
        Mean and factor of each column, and then a, b and c of each form of the group.
    constants : ndarray of shape (n_groups * at_a_time,)
        Those of the columns are in them where there are no gaps.
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


class FusedWeights(DeviceWeights):
    """`DeviceWeights` by kernels."""

    def judged(self, predicted, codes, places, excluded, weights):
        cupy, n_rows = self.arrays.xp, len(weights)
        n_pieces = -(-n_rows // TALLY_ROWS)
        outcome, partial = cupy.empty(n_rows, dtype=cupy.int8), cupy.empty((n_pieces, 3))
        nothing = np.uintp(0)
        places, excluded = (nothing if array is None else array for array in (places, excluded))
        arguments = predicted, codes, places, excluded, np.int64(n_rows), weights, outcome, partial
        _kernel("judge")((n_pieces,), (256,), arguments)
        starts = cupy.asarray(np.array([0, n_pieces], dtype=np.int32))
        return outcome, _added(cupy, partial, 3, starts, 1)[0]

    def multiplied(self, weights, outcome, right, wrong, absent):
        out = self.arrays.xp.empty_like(weights)
        factors = np.float64(right), np.float64(wrong), np.float64(absent)
        _kernel("multiply")(
            (-(-len(weights) // 256),), (256,), (weights, outcome, np.int64(len(weights)), *factors, out)
        )
        return out


class FusedColumns(DeviceColumns):
    """`DeviceColumns` in blocks of rows, and within a block column after column."""

    def _hold(self, table, columns, rows):
        cupy = self._cupy = table.arrays.xp
        values = table.values
        self._kind = table.arrays.kind(values)
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
        _kernel("lay_out", self._kind)((self._n_blocks * BLOCK_ROWS // 256,), (256,), arguments)
        self.gaps = bool(gaps[0])
        first, last, piece_starts = _pieces(self.starts, BLOCK_ROWS)
        blocks = first // BLOCK_ROWS
        places = blocks, first - blocks * BLOCK_ROWS, last - blocks * BLOCK_ROWS
        self._places = [cupy.asarray(place.astype(np.int32)) for place in places]
        self._piece_starts = cupy.asarray(piece_starts)

    def _moments(self, means, scales, weights):
        cupy, width = self._cupy, 1 + 3 * self.n_columns
        n_pieces = len(self._places[0])
        partial = cupy.empty((n_pieces, width))
        both = cupy.asarray(np.stack([means, 1.0 / scales]))
        arguments = self._values, np.int32(self.n_columns), weights, *self._places, both[0], both[1], partial
        _kernel("moments", self._kind, self.gaps)((n_pieces,), (256,), arguments)
        return _added(cupy, partial, width, self._piece_starts, len(self.starts) - 1)

    def predict(self, hypothesis):
        cupy, n_forms = self._cupy, len(hypothesis.constants)
        at_a_time = 1 if n_forms == 1 else FORMS_AT_A_TIME
        coefficients, constants = _packed(hypothesis, at_a_time, self.gaps)
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
        threads = BLOCK_ROWS // CTYPES[self._kind][1]
        _kernel(f"largest_{at_a_time}", self._kind, self.gaps)((self._n_blocks,), (threads,), arguments)
        return codes

    def _given(self, start, stop):
        first, last = start // BLOCK_ROWS, -(-stop // BLOCK_ROWS)
        blocks = self._values.reshape(self._n_blocks, self.n_columns, BLOCK_ROWS)[first:last]
        rows = blocks.transpose(0, 2, 1).reshape(-1, self.n_columns)
        return rows[start - first * BLOCK_ROWS : stop - first * BLOCK_ROWS]


class FusedBins(DeviceBins):
    """`DeviceBins` by kernels; histograms without a race, one column a lane."""

    def _hold(self, columns):
        cupy = self._cupy = self.arrays.xp
        self._stride = -(-self.n_rows // 16) * 16
        self._bins = cupy.zeros((self.n_columns, self._stride), dtype=cupy.uint8)
        for own, column in zip(self._bins, columns):
            own[: self.n_rows] = column
        self._n_tiles = -(-self.n_columns // LANES)
        self._tile_columns = -(-self.n_columns // self._n_tiles)
        # More rows a piece where there are many, so that partial histograms stay a small part of the rows.
        self._piece_rows = max(HISTOGRAM_ROWS, 16 * -(-self.n_rows // (16 * MOST_PIECES)))
        self._uploaded_pieces = self._upload(_pieces(self.starts, self._piece_rows))

    def _upload(self, pieces):
        first, last, piece_starts = pieces
        cupy = self._cupy
        return cupy.asarray(first.astype(np.int64)), cupy.asarray(last.astype(np.int64)), cupy.asarray(piece_starts)

    def _histograms(self, weights):
        n_classes = len(self.starts) - 1
        summed = self._summed(None, weights, *self._uploaded_pieces, n_classes)
        return self._cupy.moveaxis(summed, 0, -1)

    def _node_histograms(self, tree, nodes, weights):
        cupy, n_classes = self._cupy, len(self.starts) - 1
        most = max(1, MOST_GROUP_SUMS // (n_classes * self._n_tiles * self.n_bins * LANES))
        if len(nodes) > most:
            parts = [nodes[first : first + most] for first in range(0, len(nodes), most)]
            return cupy.concatenate([self._node_histograms(tree, part, weights) for part in parts])
        slot_of_node = np.full(len(tree.feature), len(nodes), dtype=np.int32)
        slot_of_node[list(nodes)] = np.arange(len(nodes))
        slots = self._walk(tree, slot_of_node)
        codes = cupy.searchsorted(cupy.asarray(self.starts[1:]), cupy.arange(self.n_rows), side="right")
        # Rows by node and class, and within these in their order: numbers that all differ sort in one way only.
        keys = cupy.sort((slots.astype(cupy.int64) * n_classes + codes) * self.n_rows + cupy.arange(self.n_rows))
        order = keys % self.n_rows
        n_groups = len(nodes) * n_classes
        group_starts = cupy.asnumpy(cupy.searchsorted(keys, cupy.arange(n_groups + 1) * self.n_rows))
        pieces = self._upload(_pieces(group_starts, self._piece_rows))
        sorted_weights = weights[order]
        summed = self._summed(order.astype(cupy.int32), sorted_weights, *pieces, n_groups)
        summed = summed.reshape(len(nodes), n_classes, self.n_columns, self.n_bins)
        return cupy.moveaxis(summed, 1, -1)

    def _summed(self, rows, weights, first, last, piece_starts, n_groups):
        """Histograms of each group, of shape (n_groups, n_columns, n_bins)."""
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
        summed = _added(cupy, partial, width, piece_starts, n_groups)
        summed = summed.reshape(n_groups, self._n_tiles, self.n_bins, LANES)[..., : self._tile_columns]
        columns = summed.transpose(0, 1, 3, 2).reshape(n_groups, self._n_tiles * self._tile_columns, self.n_bins)
        return columns[:, : self.n_columns]

    def predict(self, hypothesis):
        return self._walk(hypothesis, hypothesis.code)

    def _walk(self, tree, of_leaf):
        cupy = self._cupy
        parts = (tree.feature, tree.cut_bin, tree.missing_left, tree.left, tree.right)
        out = cupy.empty(self.n_rows, dtype=cupy.int32)
        arguments = (
            self._bins,
            np.int64(self._stride),
            np.int64(self.n_rows),
            *map(cupy.asarray, parts),
            np.int32(self.missing_bin),
            cupy.asarray(of_leaf),
            out,
        )
        _kernel("walk")((-(-self.n_rows // 256),), (256,), arguments)
        return out
