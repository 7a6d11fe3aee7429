"""Refuse what is not a kernel matrix, before any work is done."""

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigvalsh

ROUNDING = 1e-6
"""How far a kernel may be from symmetric or positive semi-definite, relative to its largest value on the diagonal and,
for its eigenvalues, to the root of its size: kernels are often saved in single precision."""


def check_kernels(kernels):
    """Kernel matrices of several views as arrays of floats, each checked."""
    if not isinstance(kernels, list | tuple | np.ndarray) or len(kernels) == 0:
        raise ValueError(f"kernels must be a list of square matrices, one per view; got {kernels!r:.80}.")
    return [check_kernel(kernel, f"kernels[{number}]") for number, kernel in enumerate(kernels)]


def check_kernel(kernel, name):
    """A kernel matrix as an array of floats; an error where it is not square, symmetric, finite and positive
    semi-definite up to rounding."""
    try:
        kernel = np.asarray(kernel, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a matrix of numbers; got {kernel!r:.60}.") from None
    if kernel.ndim != 2 or kernel.shape[0] != kernel.shape[1]:
        raise ValueError(f"{name} must be a square matrix; got shape {kernel.shape}.")
    if len(kernel) == 0:
        raise ValueError(f"{name} has no objects.")
    if not np.isfinite(kernel).all():
        raise ValueError(f"{name} holds NaN or infinity; a kernel has a value for every pair of objects.")
    tolerance = ROUNDING * max(np.abs(np.diagonal(kernel)).max(), np.finfo(float).tiny)
    asymmetry = np.abs(kernel - kernel.T)
    if asymmetry.max() > tolerance:
        row, column = np.unravel_index(np.argmax(asymmetry), kernel.shape)
        raise ValueError(
            f"{name} must be symmetric; entry ({row}, {column}) is {kernel[row, column]:.6g} and ({column}, {row}) is "
            f"{kernel[column, row]:.6g}."
        )
    tolerance *= np.sqrt(len(kernel))
    try:
        cholesky(kernel + tolerance * np.eye(len(kernel)), check_finite=False)
    except LinAlgError:
        least = eigvalsh(kernel, subset_by_index=[0, 0])[0]
        if least < -tolerance:
            raise ValueError(
                f"{name} must be positive semi-definite; its least eigenvalue is {least:.3g}, beside a largest value "
                f"of {np.diagonal(kernel).max():.3g} on the diagonal."
            ) from None
    return kernel
