"""Scores of rows on a GPU by many trees: by a CUDA kernel where CuPy is installed, else by plain operations.

A row's scores are sums in the order of the trees, as on the host: the same bits. The source of the kernel is in
``tree_walk.cu``.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from fuselearn.backends.gpu.arrays import CupyArrays, GpuArray
from fuselearn.backends.gpu.cuda_kernels import cuda_source
from fuselearn.backends.gpu.gpu_table import GpuTable
from fuselearn.numeric.tree_scores import PackedTrees
from fuselearn.typing import FloatArray, IntArray

WALKERS_AT_A_TIME = 2**24
"""Pairs of a row and a tree that plain operations work on together."""
THREADS = 128
NULL = np.uintp(0)
"""Stands for an array that there is none of."""


def gpu_tree_scores(
    packed: PackedTrees,
    outputs: IntArray,
    baseline: FloatArray,
    table: GpuTable,
    rows: GpuArray | None,
    *,
    fused: bool,
) -> GpuArray:
    """Return the scores of rows by trees without splits by categories.

    Parameters
    ----------
    packed : PackedTrees
        The trees, whose columns are those of the table.
    outputs : int32 ndarray of shape (n_trees,)
        Score that each tree adds to.
    baseline : ndarray of shape (n_outputs,)
        Scores before the first tree.
    table : GpuTable
        The table; with `fused`, one of CuPy.
    rows : int64 array on the GPU or None
        Numbers of the rows; None for all of them.
    fused : bool
        Whether to use the kernel.

    Returns
    -------
    float64 array of shape (n_rows, n_outputs)
        On the GPU.
    """
    if packed.by_category.any():
        raise ValueError("Trees with splits by categories are not walked on a GPU.")
    with table.arrays.current():
        if fused and isinstance(table.arrays, CupyArrays):
            return _by_kernel(packed, outputs, baseline, table, rows)
        return _by_operations(packed, outputs, baseline, table, rows)


def _by_kernel(
    packed: PackedTrees, outputs: IntArray, baseline: FloatArray, table: GpuTable, rows: GpuArray | None
) -> GpuArray:
    """Return scores by the kernel, a thread for each row."""
    cupy, values = table.arrays.xp, table.values
    n_rows = len(table) if rows is None else int(rows.shape[0])
    scores = cupy.empty((n_rows, len(baseline)))
    if not n_rows:
        return scores
    row_step, column_step = (step // values.itemsize for step in values.strides)
    _kernel(f"tree_scores_{table.dtype}")(
        (-(-n_rows // THREADS),), (THREADS,),
        (values, np.int64(row_step), np.int64(column_step), NULL if rows is None else rows, np.int64(n_rows),
         cupy.asarray(packed.cuts), cupy.asarray(packed.values), cupy.asarray(packed.roots.astype(np.int32)),
         cupy.asarray(outputs.astype(np.int32)), np.int32(len(packed.roots)), cupy.asarray(baseline),
         np.int32(len(baseline)), scores),
    )  # fmt: skip
    return scores


@cache
def _kernel(name: str) -> Any:
    """Return a kernel by its name; all are compiled on first use, and kept on disk by CuPy."""
    return _module().get_function(name)


@cache
def _module() -> Any:
    """Return the compiled kernels."""
    return import_module("cupy").RawModule(code=cuda_source("tree_walk.cu"), options=("--std=c++14", "--fmad=false"))


def _by_operations(
    packed: PackedTrees, outputs: IntArray, baseline: FloatArray, table: GpuTable, rows: GpuArray | None
) -> GpuArray:
    """Return scores by plain operations: all trees take a step down with some rows at a time."""
    arrays, n_trees = table.arrays, len(packed.roots)
    n_rows = len(table) if rows is None else int(rows.shape[0])
    steps = packed.steps.reshape(-1, 4)
    cuts = arrays.from_host(np.ascontiguousarray(packed.cuts[::2]))
    columns, lefts, defaults = (
        arrays.from_host(np.ascontiguousarray(part).astype(np.int64))
        for part in (steps[:, 2], steps[:, 3] >> 2, steps[:, 3] & 1)
    )
    values, roots = arrays.from_host(packed.values), arrays.from_host(packed.roots.astype(np.int64))
    n_columns, blocks = table.shape[1], []
    step = max(1, WALKERS_AT_A_TIME // max(1, n_trees))
    for start in range(0, n_rows, step):
        stop = min(start + step, n_rows)
        block = table.values[start:stop, :] if rows is None else arrays.take(table.values, rows[start:stop])
        flat = arrays.xp.reshape(arrays.to_double(block), (-1,))
        first_cells = arrays.from_host(np.repeat(np.arange(stop - start) * n_columns, n_trees))
        places = arrays.xp.reshape(
            roots[None, :] + arrays.full((stop - start, n_trees), 0, "int64"), ((stop - start) * n_trees,)
        )
        for _ in range(int(packed.n_levels.max(initial=0))):
            cells = arrays.take(flat, first_cells + arrays.take(columns, places))
            missing, right = arrays.isnan(cells), arrays.to_whole(cells > arrays.take(cuts, places))
            places = arrays.take(lefts, places) + arrays.where(missing, arrays.take(defaults, places), right)
        leaves = arrays.xp.reshape(arrays.take(values, places), (stop - start, n_trees))
        scores = [arrays.full(stop - start, float(score)) for score in baseline]
        for tree, output in enumerate(outputs.tolist()):
            scores[output] = scores[output] + leaves[:, tree]
        blocks.append(arrays.concatenate([score[:, None] for score in scores], axis=1))
    return arrays.concatenate(blocks) if blocks else arrays.full((0, len(baseline)), 0.0)
