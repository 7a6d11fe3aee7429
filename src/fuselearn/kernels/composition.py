"""One kernel from those of several views."""

import numpy as np
from scipy.linalg import block_diag

from fuselearn.backends.gpu.arrays import is_device_array, on_host
from fuselearn.backends.gpu.kernels import (
    any_on_device,
    check_device_kernels,
    check_device_matrices,
    direct_sum,
    sum_over_device_views,
)
from fuselearn.kernels.view_kernels import check_kernels

VALUES_AT_A_TIME = 2**16


def composite_kernel(kernels, meta_objects, *, weights=None):
    """Kernel between meta-objects: the sum of their objects' kernels over the views (S4 step 24).

    Parameters
    ----------
    kernels : list of array of shape (n_objects of the view, n_objects of the view)
        Kernel matrix of each view. All of them arrays of CuPy, or of torch on a GPU, are worked on there; that they
        are positive semi-definite is tested on the host only.
    meta_objects : int array of shape (n_meta, n_views)
    weights : array of shape (n_views,), default=None
        Factor on each view's kernel, 1 by default.

    Returns
    -------
    array of shape (n_meta, n_meta)
        Where the kernels are.

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn.kernels import composite_kernel
    >>> composite_kernel([np.eye(2), np.full((3, 3), 0.5)], [[0, 2], [0, 1], [1, 0]])
    array([[1.5, 1.5, 0.5],
           [1.5, 1.5, 0.5],
           [0.5, 0.5, 1.5]])
    """
    kernels = check_device_kernels(kernels) if any_on_device(kernels) else check_kernels(kernels)
    meta_objects = _checked_meta_objects(meta_objects, kernels)
    return sum_over_views(kernels, [(column, column) for column in meta_objects.T], _checked_weights(weights, kernels))


def composite_test_kernel(kernels, meta_objects, *, weights=None):
    """Kernel between test objects that all views saw, and meta-objects (S4 step 25).

    Parameters
    ----------
    kernels : list of array of shape (n_test, n_objects of the view)
        Each view's kernel between the test objects and its own objects; on the host, or all of them on one device.
    meta_objects : int array of shape (n_meta, n_views)
    weights : array of shape (n_views,), default=None

    Returns
    -------
    array of shape (n_test, n_meta)
        Where the kernels are.
    """
    on_device = any_on_device(kernels)
    kernels = check_device_matrices(kernels) if on_device else [np.asarray(kernel, float) for kernel in kernels]
    if len({kernel.shape[0] for kernel in kernels if len(kernel.shape) == 2}) != 1 or any(
        len(kernel.shape) != 2 for kernel in kernels
    ):
        raise ValueError(
            "kernels must be matrices with a row for each test object, the same in all views; got shapes "
            f"{[kernel.shape for kernel in kernels]}."
        )
    if not on_device and not all(np.isfinite(kernel).all() for kernel in kernels):
        raise ValueError("kernels hold NaN or infinity; a kernel has a value for every pair of objects.")
    meta_objects = _checked_meta_objects(meta_objects, kernels)
    everyone = np.arange(kernels[0].shape[0])
    return sum_over_views(
        kernels, [(everyone, column) for column in meta_objects.T], _checked_weights(weights, kernels)
    )


def augmented_kernel(kernels):
    """Direct sum of kernels: each view's objects beside the others', with no kernel between views.

    Parameters
    ----------
    kernels : list of array of shape (n_objects of the view, n_objects of the view)
        As in :func:`composite_kernel`.

    Returns
    -------
    array of shape (n_objects of all views, n_objects of all views)
        Where the kernels are.

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn.kernels import augmented_kernel
    >>> augmented_kernel([np.eye(1), np.ones((2, 2))])
    array([[1., 0., 0.],
           [0., 1., 1.],
           [0., 1., 1.]])
    """
    if any_on_device(kernels):
        return direct_sum(check_device_kernels(kernels))
    return block_diag(*check_kernels(kernels))


def sum_over_views(kernels, places, weights):
    """Σ over the views of weight × kernel[rows, columns], with (rows, columns) in `places`.

    One matrix is made, and of each view a block of rows at a time.
    """
    if is_device_array(kernels[0]):
        return sum_over_device_views(kernels, places, weights)
    n_rows, n_columns = map(len, places[0])
    total = np.zeros((n_rows, n_columns))
    block = max(1, VALUES_AT_A_TIME // max(1, n_columns))
    buffer = np.empty((min(block, n_rows), n_columns))
    for kernel, (rows, columns), weight in zip(kernels, places, weights):
        whole = _counts_up(columns, kernel.shape[1]) and _counts_up(rows, kernel.shape[0])
        for start in range(0, n_rows, block):
            some = slice(start, start + block)
            # Rows of a matched table are there as they are; picking values here and there takes ten times as long.
            values = kernel[some] if whole else kernel[np.ix_(rows[some], columns)]
            total[some] += np.multiply(values, weight, out=buffer[: len(values)])
    return total


def _counts_up(numbers, count):
    """Whether the numbers are 0, 1, …, count − 1."""
    return len(numbers) == count and np.array_equal(numbers, np.arange(count))


def _checked_weights(weights, kernels):
    weights = np.ones(len(kernels)) if weights is None else np.asarray(on_host(weights), dtype=np.float64)
    if weights.shape != (len(kernels),) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(
            f"weights must be {len(kernels)} numbers of at least 0, one per kernel; got {weights.tolist()}."
        )
    return weights


def _checked_meta_objects(meta_objects, kernels):
    meta_objects = np.asarray(on_host(meta_objects))
    if meta_objects.ndim != 2 or meta_objects.shape[1] != len(kernels) or meta_objects.dtype.kind not in "iu":
        raise ValueError(
            f"meta_objects must be an integer array of shape (n_meta, {len(kernels)}), an object number for each "
            f"kernel; got {meta_objects.dtype} of shape {meta_objects.shape}."
        )
    for view, kernel in enumerate(kernels):
        n_objects = kernel.shape[1]
        if meta_objects[:, view].min(initial=0) < 0 or meta_objects[:, view].max(initial=0) >= n_objects:
            raise ValueError(f"meta_objects names an object of kernels[{view}] that is not among its {n_objects}.")
    return meta_objects
