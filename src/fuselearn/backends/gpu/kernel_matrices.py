"""Kernel distances and composite kernels for matrices on a GPU; the results stay there."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Concatenate, ParamSpec, TypeAlias, TypeVar

import numpy as np

from fuselearn.backends.gpu.arrays import Arrays, GpuArray, arrays_of
from fuselearn.data import is_gpu_array
from fuselearn.numeric.pairs import KERNEL_ROUNDING
from fuselearn.numeric.pairs import mean_squared_distance as mean_on_host
from fuselearn.numeric.pairs import squared_distances as distances_on_host
from fuselearn.numeric.votes import TIE
from fuselearn.typing import FloatArray, IntArray

VALUES_AT_A_TIME = 2**25
"""Entries of a composite kernel that one step makes."""

Kernels: TypeAlias = Sequence[GpuArray]
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
KernelsT = TypeVar("KernelsT")


def _on_their_gpu(
    function: Callable[Concatenate[KernelsT, Parameters], Result],
) -> Callable[Concatenate[KernelsT, Parameters], Result]:
    """Let a function of a matrix, or of a list of them, run with their GPU as the library's current one."""

    @wraps(function)
    def call(kernels: KernelsT, /, *arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
        first = kernels[0] if isinstance(kernels, list | tuple) else kernels
        with arrays_of(first).current():
            return function(kernels, *arguments, **options)

    return call


def any_on_gpu(kernels: object) -> bool:
    """Return whether some of the kernels are on a GPU."""
    return isinstance(kernels, list | tuple) and any(map(is_gpu_array, kernels))


@_on_their_gpu
def check_gpu_matrices(kernels: Kernels) -> list[GpuArray]:
    """Return matrices on one GPU in double precision; an error where they are elsewhere or have gaps."""
    places = {repr(arrays_of(kernel)) if is_gpu_array(kernel) else "the host" for kernel in kernels}
    if len(places) > 1:
        raise ValueError(f"kernels must be on the same GPU; they are on {', '.join(sorted(places))}.")
    arrays, checked = arrays_of(kernels[0]), []
    for number, kernel in enumerate(kernels):
        if arrays.dtype_name(kernel) not in ("float32", "float64"):
            raise ValueError(f"kernels[{number}] must be float32 or float64; got {arrays.dtype_name(kernel)}.")
        if len(kernel.shape) != 2:
            raise ValueError(f"kernels[{number}] must be a matrix; got shape {tuple(kernel.shape)}.")
        matrix = arrays.to_double(arrays.detach(kernel))
        if bool(arrays.any(arrays.isnan(matrix) | arrays.isinf(matrix))):
            raise ValueError(
                f"kernels[{number}] holds NaN or infinity; a kernel has a finite value for every pair of objects."
            )
        checked.append(matrix)
    return checked


@_on_their_gpu
def check_gpu_kernels(kernels: Kernels) -> list[GpuArray]:
    """Return kernel matrices on one GPU, each square and symmetric; see `fuselearn.kernels.view_kernels.check_kernels`.

    That they are positive semi-definite is not tested: on a GPU it would take longer than all else.
    """
    checked = check_gpu_matrices(kernels)
    arrays = arrays_of(checked[0])
    for number, kernel in enumerate(checked):
        if kernel.shape[0] != kernel.shape[1] or kernel.shape[0] == 0:
            raise ValueError(f"kernels[{number}] must be a square matrix; got shape {tuple(kernel.shape)}.")
        largest = float(np.abs(arrays.to_host(_diagonal(arrays, kernel))).max())
        tolerance = KERNEL_ROUNDING * max(largest, np.finfo(float).tiny)
        if bool(arrays.any(arrays.xp.abs(kernel - arrays.transpose(kernel)) > tolerance)):
            raise ValueError(f"kernels[{number}] must be symmetric; it differs from its transpose.")
    return checked


@_on_their_gpu
def squared_distances(gram: GpuArray) -> GpuArray:
    """Return squared kernel distances K_ii + K_jj − K_ij − K_ji, wherever the matrix is; they stay there.

    See `fuselearn.numeric.pairs.squared_distances`.
    """
    if not is_gpu_array(gram):
        return distances_on_host(gram)
    arrays = arrays_of(gram)
    norms, n = _diagonal(arrays, gram), gram.shape[0]
    distances = norms[:, None] + norms[None, :] - gram - arrays.transpose(gram)
    numbers = arrays.from_host(np.arange(n))
    off_diagonal = numbers[:, None] != numbers[None, :]
    return arrays.where(off_diagonal, arrays.at_least(distances, 0.0), arrays.xp.zeros_like(distances))


@_on_their_gpu
def mean_squared_distance(gram: GpuArray) -> float:
    """Return the mean of the squared distances; see `fuselearn.numeric.pairs.mean_squared_distance`."""
    if not is_gpu_array(gram):
        return mean_on_host(gram)
    arrays, n = arrays_of(gram), gram.shape[0]
    if n < 2:
        return 0.0
    whole = n * float(arrays.sum(_diagonal(arrays, gram)))
    spread = whole - float(arrays.sum(gram))
    return 2.0 * spread / (n * (n - 1)) if spread > TIE * whole else 0.0


@_on_their_gpu
def some_objects(gram: GpuArray, objects: IntArray) -> GpuArray:
    """Return the rows and columns of some objects, wherever the matrix is."""
    if not is_gpu_array(gram):
        return gram[np.ix_(objects, objects)]
    arrays = arrays_of(gram)
    numbers = arrays.from_host(objects)
    return arrays.take(arrays.take(gram, numbers), numbers, axis=1)


@_on_their_gpu
def sum_over_gpu_views(kernels: Kernels, places: Sequence[tuple[IntArray, IntArray]], weights: FloatArray) -> GpuArray:
    """Return Σ over the views of weight × kernel[rows, columns], on the GPU."""
    arrays = arrays_of(kernels[0])
    n_rows, n_columns = map(len, places[0])
    if n_rows == 0:
        return arrays.full((0, n_columns), 0.0)
    step = max(1, VALUES_AT_A_TIME // max(1, n_columns))
    blocks = []
    for start in range(0, n_rows, step):
        stop = min(start + step, n_rows)
        total = 0.0
        for kernel, (rows, columns), weight in zip(kernels, places, weights):
            of_rows = arrays.take(kernel, arrays.from_host(rows[start:stop]))
            total = total + float(weight) * arrays.take(of_rows, arrays.from_host(columns), axis=1)
        blocks.append(total)
    return arrays.concatenate(blocks)


@_on_their_gpu
def direct_sum(kernels: Kernels) -> GpuArray:
    """Return a matrix with each view's kernel on the diagonal, and 0 between views; on the GPU."""
    arrays = arrays_of(kernels[0])
    sizes = [kernel.shape[0] for kernel in kernels]
    whole = arrays.full((sum(sizes), sum(sizes)), 0.0)
    start = 0
    for kernel, size in zip(kernels, sizes):
        whole[start : start + size, start : start + size] = kernel
        start += size
    return whole


def _diagonal(arrays: Arrays, kernel: GpuArray) -> GpuArray:
    """Return the diagonal of a square matrix."""
    n = kernel.shape[0]
    flat = arrays.xp.reshape(kernel, (n * n,))
    return arrays.take(flat, arrays.from_host(np.arange(n) * (n + 1)))
