"""Kernels between items, composed of the kernels of several views.

An *item* is what a machine is trained on: a row of a table (matched views), a meta-object (unmatched ones), or a single
observation of a single view (the augmented kernel). An item has an object in some views and none in others, and the
kernel between two items is the weighted sum of their objects' kernels over the views that both have. This is all that
the three classifiers differ in.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag, eigh
from scipy.sparse import csr_array

from fuselearn.backends.gpu.kernel_matrices import any_on_gpu, check_gpu_matrices, direct_sum, sum_over_gpu_views
from fuselearn.data import is_gpu_array
from fuselearn.data.view_table import to_host
from fuselearn.kernels.view_kernels import check_kernels
from fuselearn.numeric.svm import SumOfGrams
from fuselearn.typing import ArrayLike, FloatArray, IntArray

LEAST_DIRECTION = 1e-10
"""Share of the largest eigenvalue of a kernel below which a direction is rounding."""
VALUES_AT_A_TIME = 2**16
"""Entries of a composite kernel that one step makes."""


def composite_kernel(
    kernels: Sequence[ArrayLike], meta_objects: ArrayLike, *, weights: ArrayLike | None = None
) -> ArrayLike:
    """Add up the kernels of the views to one between meta-objects (S4 step 24).

    Parameters
    ----------
    kernels : list of array of shape (n_objects of the view, n_objects of the view)
        Kernel matrix of each view. Arrays of CuPy, or of torch on a GPU, are added up there, if all of them are; that
        they are positive semi-definite is tested on the host only.
    meta_objects : int array of shape (n_meta, n_views)
        Number of the object of each view in each meta-object.
    weights : array of shape (n_views,), default=None
        Factor on each view's kernel; None is 1 for all.

    Returns
    -------
    array of shape (n_meta, n_meta)
        Kernel between meta-objects, on the host or on the GPU, as the kernels are.

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn.kernels import composite_kernel
    >>> composite_kernel([np.eye(2), np.full((3, 3), 0.5)], [[0, 2], [0, 1], [1, 0]])
    array([[1.5, 1.5, 0.5],
           [1.5, 1.5, 0.5],
           [0.5, 0.5, 1.5]])
    """
    kernels = check_kernels(kernels)
    numbers = _checked_meta_objects(meta_objects, kernels)
    return sum_over_views(kernels, [(column, column) for column in numbers.T], _checked_weights(weights, kernels))


def composite_test_kernel(
    kernels: Sequence[ArrayLike], meta_objects: ArrayLike, *, weights: ArrayLike | None = None
) -> ArrayLike:
    """Add up the kernels of the views to one between test objects that all views saw and meta-objects (S4 step 25).

    Parameters
    ----------
    kernels : list of array of shape (n_test, n_objects of the view)
        Each view's kernel between the test objects and its own objects; on the host, or all of them on one GPU.
    meta_objects : int array of shape (n_meta, n_views)
        Number of the object of each view in each meta-object.
    weights : array of shape (n_views,), default=None
        Factor on each view's kernel; None is 1 for all.

    Returns
    -------
    array of shape (n_test, n_meta)
        Kernel of test objects with meta-objects, on the host or on the GPU, as the kernels are.

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn.kernels import composite_test_kernel
    >>> composite_test_kernel([np.array([[1.0, 2.0]]), np.array([[0.0, 0.5]])], [[0, 0], [1, 1]])
    array([[1. , 2.5]])
    """
    on_gpu = any_on_gpu(kernels)
    kernels = check_gpu_matrices(kernels) if on_gpu else [np.asarray(kernel, float) for kernel in kernels]
    shapes = [tuple(kernel.shape) for kernel in kernels]
    if any(len(shape) != 2 for shape in shapes) or len({shape[0] for shape in shapes}) != 1:
        raise ValueError(
            f"kernels must be matrices with a row for each test object, the same in all views; got shapes {shapes}."
        )
    if not on_gpu and not all(np.isfinite(kernel).all() for kernel in kernels):
        raise ValueError("kernels hold NaN or infinity; a kernel has a value for every pair of objects.")
    numbers = _checked_meta_objects(meta_objects, kernels)
    test_objects = np.arange(shapes[0][0])
    return sum_over_views(kernels, [(test_objects, column) for column in numbers.T], _checked_weights(weights, kernels))


def augmented_kernel(kernels: Sequence[ArrayLike]) -> ArrayLike:
    """Return the direct sum of kernels: each view's objects beside the others', with no kernel between views.

    Parameters
    ----------
    kernels : list of array of shape (n_objects of the view, n_objects of the view)
        Kernel matrix of each view, on the host or all of them on one GPU, as in :func:`composite_kernel`.

    Returns
    -------
    array of shape (n_objects of all views, n_objects of all views)
        The direct sum, on the host or on the GPU, as the kernels are.

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn.kernels import augmented_kernel
    >>> augmented_kernel([np.eye(1), np.ones((2, 2))])
    array([[1., 0., 0.],
           [0., 1., 1.],
           [0., 1., 1.]])
    """
    kernels = check_kernels(kernels)
    return direct_sum(kernels) if is_gpu_array(kernels[0]) else block_diag(*kernels)


@dataclass(frozen=True)
class ItemKernels:
    """Kernel matrices between the objects of each view, and the object of each item in each view.

    Attributes
    ----------
    grams : list of ndarray of shape (n_objects of the view, n_objects of the view)
    objects : intp ndarray of shape (n_items, n_views)
        Number of the item's object in each view, -1 where it has none.
    """

    grams: list[FloatArray]
    objects: IntArray

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.objects)

    def combined(self, weights: FloatArray) -> FloatArray:
        """Return the kernel between items under weights of the views, of shape (n_items, n_items)."""
        if (self.objects >= 0).all():
            return sum_over_views(self.grams, [(column, column) for column in self.objects.T], weights)
        total = np.zeros((len(self), len(self)))
        for gram, column, weight in zip(self.grams, self.objects.T, weights):
            present = np.flatnonzero(column >= 0)
            total[np.ix_(present, present)] += weight * gram[np.ix_(column[present], column[present])]
        return total

    def matrix(self, weights: FloatArray) -> FloatArray | SumOfGrams:
        """Return the kernel between items for a solver: as a sum over views where that takes less memory."""
        n_values = sum(gram.size for gram in self.grams)
        if n_values < len(self) ** 2 and (self.objects >= 0).all():
            return SumOfGrams.of([weight * gram for weight, gram in zip(weights, self.grams)], self.objects)
        return self.combined(weights)

    def of_view(self, view: int) -> FloatArray:
        """Return the kernel between items by one view alone."""
        return self.combined(np.eye(len(self.grams))[view])

    def sums_on_objects(self, coefficients: csr_array) -> list[FloatArray]:
        """Sum coefficients of items, of shape (n_problems, n_items), on the objects of each view."""
        sums = []
        for gram, column in zip(self.grams, self.objects.T):
            items = np.flatnonzero(column >= 0)
            has_object = csr_array((np.ones(len(items)), (items, column[items])), shape=(len(column), len(gram)))
            sums.append((coefficients @ has_object).toarray())
        return sums

    def squared_norms(self, coefficients: csr_array) -> FloatArray:
        """Return Σ over problems of cᵀ K_m c for each view m, from coefficients of items."""
        sums_of_views = self.sums_on_objects(coefficients)
        return np.array([np.einsum("ki,ki->", sums @ gram, sums) for gram, sums in zip(self.grams, sums_of_views)])


def embedding(gram: FloatArray, weight: float) -> tuple[FloatArray, FloatArray]:
    """Return coordinates of objects whose products are `weight` times a kernel matrix, and what they follow from.

    With K = UΛUᵀ the coordinates are the rows of √weight·UΛ^½, the Mercer features of S4 §3. Those of any object, by
    its kernel values k with these ones, are weight·k·coefficientsᵀ.

    Returns
    -------
    coordinates : ndarray of shape (n_objects, n_directions)
    coefficients : ndarray of shape (n_directions, n_objects)
        0 directions for a weight of 0.
    """
    values, vectors = eigh(gram)
    kept = (values > LEAST_DIRECTION * max(values[-1], 0.0)) & (weight > 0)
    # The sign of an eigenvector is arbitrary: its largest entry is positive here, on every machine.
    vectors = vectors[:, kept] * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))])[kept]
    roots = np.sqrt(values[kept])
    return np.sqrt(weight) * vectors * roots, (vectors / roots).T / np.sqrt(weight or 1.0)


def sum_over_views(
    kernels: Sequence[ArrayLike], objects: Sequence[tuple[IntArray, IntArray]], weights: FloatArray
) -> ArrayLike:
    """Return Σ over the views of weight × kernel[rows, columns], with (rows, columns) of each view in `objects`."""
    if is_gpu_array(kernels[0]):
        return sum_over_gpu_views(kernels, objects, weights)
    n_rows, n_columns = map(len, objects[0])
    total = np.zeros((n_rows, n_columns))
    # One matrix is made, and of each view a block of rows at a time.
    block = max(1, VALUES_AT_A_TIME // max(1, n_columns))
    buffer = np.empty((min(block, n_rows), n_columns))
    for kernel, (rows, columns), weight in zip(kernels, objects, weights):
        whole = _counts_up(columns, kernel.shape[1]) and _counts_up(rows, kernel.shape[0])
        for start in range(0, n_rows, block):
            here = slice(start, start + block)
            # Rows of a matched table are there as they are; picking values here and there takes ten times as long.
            values = kernel[here] if whole else kernel[np.ix_(rows[here], columns)]
            total[here] += np.multiply(values, weight, out=buffer[: len(values)])
    return total


def _counts_up(numbers: IntArray, count: int) -> bool:
    """Return whether the numbers are 0, 1, …, count − 1."""
    return len(numbers) == count and np.array_equal(numbers, np.arange(count))


def _checked_weights(weights: ArrayLike | None, kernels: Sequence[ArrayLike]) -> FloatArray:
    """Check the weights of kernels, and return them as an array on the host."""
    checked: FloatArray = np.ones(len(kernels)) if weights is None else np.asarray(to_host(weights), dtype=np.float64)
    if checked.shape != (len(kernels),) or not (np.isfinite(checked) & (checked >= 0)).all():
        raise ValueError(
            f"weights must be {len(kernels)} numbers of at least 0, one per kernel; got {checked.tolist()}."
        )
    return checked


def _checked_meta_objects(meta_objects: ArrayLike, kernels: Sequence[ArrayLike]) -> IntArray:
    """Check that meta-objects name objects that the kernels have, and return them as an array on the host."""
    checked = np.asarray(to_host(meta_objects))
    if checked.ndim != 2 or checked.shape[1] != len(kernels) or checked.dtype.kind not in "iu":
        raise ValueError(
            f"meta_objects must be an integer array of shape (n_meta, {len(kernels)}), an object number for each "
            f"kernel; got {checked.dtype} of shape {checked.shape}."
        )
    for view, kernel in enumerate(kernels):
        n_objects = kernel.shape[1]
        if checked[:, view].min(initial=0) < 0 or checked[:, view].max(initial=0) >= n_objects:
            raise ValueError(
                f"meta_objects names an object of kernels[{view}] that is not among its {n_objects}, which are "
                f"numbered from 0."
            )
    return checked
