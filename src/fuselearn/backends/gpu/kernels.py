"""Kernel distances and composite kernels for matrices on a device; the results stay there."""

from functools import wraps

import numpy as np

from fuselearn.backends.gpu.arrays import arrays_of, is_device_array
from fuselearn.numeric.pairs import KERNEL_ROUNDING
from fuselearn.numeric.pairs import mean_squared_distance as mean_on_host
from fuselearn.numeric.pairs import squared_distances as distances_on_host
from fuselearn.numeric.weights import TIE

VALUES_AT_A_TIME = 2**25
"""Entries of a composite kernel that one step makes."""


def _on_their_device(function):
    """Let a function of a matrix, or of a list of them, run with their device as the library's current one."""

    @wraps(function)
    def call(kernels, *arguments):
        first = kernels[0] if isinstance(kernels, list | tuple) else kernels
        with arrays_of(first).current():
            return function(kernels, *arguments)

    return call


def any_on_device(kernels):
    """Whether some of the kernels are on a device."""
    return isinstance(kernels, list | tuple) and any(map(is_device_array, kernels))


@_on_their_device
def check_device_matrices(kernels):
    """Matrices on one device, in double precision and without gaps; an error where they are something else."""
    kinds = {repr(arrays_of(kernel)) if is_device_array(kernel) else "the host" for kernel in kernels}
    if len(kinds) > 1:
        raise ValueError(f"kernels must be on one device; they are on {', '.join(sorted(kinds))}.")
    arrays, checked = arrays_of(kernels[0]), []
    for number, kernel in enumerate(kernels):
        if arrays.kind(kernel) not in ("float32", "float64"):
            raise ValueError(f"kernels[{number}] must be float32 or float64; got {arrays.kind(kernel)}.")
        if len(kernel.shape) != 2:
            raise ValueError(f"kernels[{number}] must be a matrix; got shape {tuple(kernel.shape)}.")
        kernel = arrays.double(arrays.detached(kernel))
        if bool(arrays.any(arrays.isnan(kernel) | arrays.isinf(kernel))):
            raise ValueError(
                f"kernels[{number}] holds NaN or infinity; a kernel has a value for every pair of objects."
            )
        checked.append(kernel)
    return checked


@_on_their_device
def check_device_kernels(kernels):
    """Kernel matrices on one device, each square and symmetric; see `validation.check_kernels`.

    That they are positive semi-definite is not tested: on a device it would take longer than all else.
    """
    kernels = check_device_matrices(kernels)
    arrays = arrays_of(kernels[0])
    for number, kernel in enumerate(kernels):
        if kernel.shape[0] != kernel.shape[1] or kernel.shape[0] == 0:
            raise ValueError(f"kernels[{number}] must be a square matrix; got shape {tuple(kernel.shape)}.")
        largest = float(np.abs(arrays.to_host(diagonal(arrays, kernel))).max())
        tolerance = KERNEL_ROUNDING * max(largest, np.finfo(float).tiny)
        if bool(arrays.any(arrays.xp.abs(kernel - arrays.transposed(kernel)) > tolerance)):
            raise ValueError(f"kernels[{number}] must be symmetric; it differs from its transpose.")
    return kernels


def diagonal(arrays, kernel):
    """Diagonal of a square matrix."""
    n = kernel.shape[0]
    flat = arrays.xp.reshape(kernel, (n * n,))
    return arrays.take(flat, arrays.from_host(np.arange(n) * (n + 1)))


@_on_their_device
def squared_distances(gram):
    """Squared kernel distances K_ii + K_jj − K_ij − K_ji, wherever the matrix is; they stay there.

    See `fuselearn.numeric.pairs.squared_distances`.
    """
    if not is_device_array(gram):
        return distances_on_host(gram)
    arrays = arrays_of(gram)
    norms, n = diagonal(arrays, gram), gram.shape[0]
    distances = norms[:, None] + norms[None, :] - gram - arrays.transposed(gram)
    numbers = arrays.from_host(np.arange(n))
    apart = numbers[:, None] != numbers[None, :]
    return arrays.where(apart, arrays.at_least(distances, 0.0), arrays.xp.zeros_like(distances))


@_on_their_device
def mean_squared_distance(gram):
    """Mean of the squared distances, a number; see `fuselearn.numeric.pairs.mean_squared_distance`."""
    if not is_device_array(gram):
        return mean_on_host(gram)
    arrays, n = arrays_of(gram), gram.shape[0]
    if n < 2:
        return 0.0
    whole = n * float(arrays.total(diagonal(arrays, gram)))
    spread = whole - float(arrays.total(gram))
    return 2.0 * spread / (n * (n - 1)) if spread > TIE * whole else 0.0


@_on_their_device
def some_objects(gram, objects):
    """Rows and columns of some objects, wherever the matrix is."""
    if not is_device_array(gram):
        return gram[np.ix_(objects, objects)]
    arrays = arrays_of(gram)
    numbers = arrays.from_host(objects)
    return arrays.take(arrays.take(gram, numbers), numbers, axis=1)


@_on_their_device
def sum_over_device_views(kernels, places, weights):
    """Σ over the views of weight × kernel[rows, columns]; see `composition.sum_over_views`. On the device."""
    arrays = arrays_of(kernels[0])
    n_rows, n_columns = map(len, places[0])
    if n_rows == 0:
        return arrays.full((0, n_columns), 0.0)
    step = max(1, VALUES_AT_A_TIME // max(1, n_columns))
    parts = []
    for start in range(0, n_rows, step):
        stop = min(start + step, n_rows)
        total = 0.0
        for kernel, (rows, columns), weight in zip(kernels, places, weights):
            some = arrays.take(kernel, arrays.from_host(rows[start:stop]))
            total = total + float(weight) * arrays.take(some, arrays.from_host(columns), axis=1)
        parts.append(total)
    return arrays.joined(parts)


@_on_their_device
def direct_sum(kernels):
    """Each view's kernel on the diagonal, and 0 between views; on the device."""
    arrays = arrays_of(kernels[0])
    sizes = [kernel.shape[0] for kernel in kernels]
    whole = arrays.full((sum(sizes), sum(sizes)), 0.0)
    start = 0
    for kernel, size in zip(kernels, sizes):
        whole[start : start + size, start : start + size] = kernel
        start += size
    return whole
