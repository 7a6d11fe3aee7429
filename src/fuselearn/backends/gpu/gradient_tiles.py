"""Columns of a table on a GPU in tiles, as the CUDA kernels of gradient boosting read them.

The bins of a row in a tile of 32 columns are 32 bytes, which a GPU reads at once, whatever rows a leaf has.
"""

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from fuselearn.backends.gpu.arrays import GpuArray
from fuselearn.backends.gpu.cuda_kernels import cuda_source
from fuselearn.backends.gpu.gpu_gradients import GradientInputs
from fuselearn.backends.gpu.gpu_table import GpuTable
from fuselearn.typing import AnyArray, IntArray

SOURCES = ("gradient_tiles.cu", "gradient_rows.cu", "gradient_histograms.cu", "tree_growth.cu")
"""Files of the CUDA source, in the order in which they make one."""
LANES = 32
"""Columns of a tile, as in ``gradient_tiles.cu``; so are the next ones."""
BIN_ROWS = 4096


@dataclass(frozen=True)
class ViewColumns:
    """Where the columns of a view are: their tiles, their positions, and those of the categorical ones.

    Attributes
    ----------
    tiles : int32 array on the GPU
        Tiles that have one of them.
    n_tiles : int
        Number of these.
    positions : int32 array on the GPU
        Position of each column.
    first : int
        Position of the first one.
    n_columns : int
        Number of columns.
    categorical, numbers : int32 array on the GPU
        Positions of the categorical columns, and their numbers among all categorical ones.
    n_categorical : int
        Number of these.
    is_set : list of bool
        Whether each column is categorical.
    """

    tiles: GpuArray
    n_tiles: int
    positions: GpuArray
    first: int
    n_columns: int
    categorical: GpuArray
    numbers: GpuArray
    n_categorical: int
    is_set: list[bool]


class ColumnTiles:
    """Columns in tiles, and their bins; the GPU must be the current one.

    Parameters
    ----------
    inputs : GradientInputs
        What the rows are made of.
    table : GpuTable
        The table, as one of CuPy.
    monotonic : int8 ndarray of shape (n_columns,)
        Sign in which values have to follow a column; 0 for any.

    Attributes
    ----------
    positions : int32 ndarray of shape (n_columns,)
        Position of each column among all places of all tiles. Columns of a view stand together, where views do not
        overlap.
    n_tiles, n_bins, n_categorical : int
        Number of tiles, of bins and of categorical columns.
    bins : uint8 array of shape (n_tiles, n_rows, 32)
        Bins of all rows, on the GPU.
    n_values, monotonic, order_of : int32 array of shape (n_tiles · 32,)
        By position, on the GPU: bins that the column uses, without that of missing values, and 0 where there is none;
        its sign; its number among the categorical ones, or -1.
    """

    def __init__(self, inputs: GradientInputs, table: GpuTable, monotonic: IntArray) -> None:
        self._inputs = inputs
        self._cupy: Any = table.arrays.xp
        n_columns = len(inputs.columns)
        first_view = np.full(n_columns, len(inputs.view_columns))
        for view in reversed(range(len(inputs.view_columns))):
            first_view[inputs.view_columns[view]] = view
        self.positions = np.empty(n_columns, dtype=np.int32)
        self.positions[np.argsort(first_view, kind="stable")] = np.arange(n_columns)
        self.n_tiles, self.n_bins = -(-n_columns // LANES), inputs.binning.n_bins
        self._categorical = np.flatnonzero(inputs.categorical)
        self.n_categorical = len(self._categorical)
        order_of = np.full(n_columns, -1)
        order_of[self._categorical] = np.arange(self.n_categorical)
        self.n_values = self._by_position(inputs.binning.n_edges + 1, 0)
        self.monotonic = self._by_position(monotonic, 0)
        self.order_of = self._by_position(order_of, -1)
        self.bins = self._binned(table)
        self._views: dict[int, ViewColumns] = {}

    def _by_position(self, values: AnyArray, fill: int) -> GpuArray:
        """Return values of columns by position, on the GPU; another one where there is no column."""
        spread = np.full(self.n_tiles * LANES, fill, dtype=np.int32)
        spread[self.positions] = values
        return self._cupy.asarray(spread)

    def _binned(self, table: GpuTable) -> GpuArray:
        """Return the bins of all rows."""
        cupy, binning, values = self._cupy, self._inputs.binning, table.values
        n_edges, n_rows = binning.edges.shape[1], len(table)
        edges = np.full((self.n_tiles * LANES, n_edges), np.inf)
        edges[self.positions] = binning.edges
        bins = cupy.empty((self.n_tiles, n_rows, LANES), dtype=cupy.uint8)
        row_step, column_step = (step // values.itemsize for step in values.strides)
        shared_bytes = 8 * n_edges * LANES
        kernel = gradient_kernel(f"fill_bins_{table.dtype}")
        kernel.max_dynamic_shared_size_bytes = max(shared_bytes, kernel.max_dynamic_shared_size_bytes)
        arguments = (
            values, np.int64(row_step), np.int64(column_step), np.int64(n_rows),
            self._by_position(self._inputs.columns, -1), cupy.asarray(edges), np.int32(n_edges),
            np.int32(binning.missing_bin), bins,
        )  # fmt: skip
        kernel((-(-n_rows // BIN_ROWS), self.n_tiles), (256,), arguments, shared_mem=shared_bytes)
        return bins

    def of_view(self, view: int) -> ViewColumns:
        """Return where the columns of a view, or of all of them, are."""
        if view not in self._views:
            cupy, columns = self._cupy, self._inputs.columns_of(view)
            positions = self.positions[columns]
            tiles = np.unique(positions // LANES).astype(np.int32)
            categorical = np.flatnonzero(np.isin(self._categorical, columns)).astype(np.int32)
            self._views[view] = ViewColumns(
                cupy.asarray(tiles),
                len(tiles),
                cupy.asarray(positions),
                int(positions[0]),
                len(positions),
                cupy.asarray(self.positions[self._categorical[categorical]]),
                cupy.asarray(categorical),
                len(categorical),
                self._inputs.categorical[columns].tolist(),
            )
        return self._views[view]


@cache
def _module() -> Any:
    """Return the kernels, compiled on first use and kept on disk by CuPy."""
    # Products are not fused with sums, so that scores of splits round as they do on the host.
    return import_module("cupy").RawModule(
        code="\n".join(map(cuda_source, SOURCES)), options=("--std=c++14", "--fmad=false")
    )


@cache
def gradient_kernel(name: str) -> Any:
    """Return a kernel of gradient boosting by its name."""
    return _module().get_function(name)
