"""Kernels of single views: a name that scikit-learn knows, a function of two tables, or a matrix that is given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigvalsh
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from fuselearn.backends.gpu.kernel_matrices import any_on_gpu, check_gpu_kernels
from fuselearn.numeric.pairs import KERNEL_ROUNDING
from fuselearn.persistence.validation import check_array, check_number, check_part
from fuselearn.typing import ArrayLike, FloatArray, IntArray

ALWAYS_POSITIVE = ("linear", "rbf", "poly", "polynomial", "laplacian", "cosine", "chi2")
"""Kernels that are positive semi-definite whatever the data, so that it need not be tested."""

WITH_GAMMA = ("rbf", "poly", "polynomial", "laplacian", "sigmoid")
"""Kernels whose width is set to the data's scale: γ = 1 / (number of columns · variance), as in scikit-learn's SVC,
but of centred kernels with the variance of the columns about their own means."""

CENTRED = ("linear", "rbf", "laplacian")
"""Kernels of rows about the means of the training rows. Distances do not depend on the origin, and a machine with an
intercept does not see it in a linear kernel; but far from it, the products that both are made of cancel. The other
kernels depend on the origin, so that it stays where the user has it."""

BY_DIFFERENCES = ("additive_chi2", "chi2")
"""Kernels that do not cancel far from the origin, although they are not centred."""

LEAST_SHARE = 1e4 * float(np.finfo(np.float64).eps)
"""Mean squared distance beside the largest value of a kernel, below which rounding leaves less than four digits of the
distances."""

LEAST_STEPS = 16
"""Steps of its number format that a column has to vary by: with fewer, rounding hides what it says."""

Kernel: TypeAlias = str | Callable[[Any, Any], ArrayLike]
"""The kernel of one view: a name, or a function that returns the kernel matrix of two tables."""


class GramLookup:
    """A precomputed kernel matrix, as a function of object numbers.

    The view is then one column that holds the number of each object, its row in the matrix. So cross-validation and
    everything else that selects rows works as with any other view.

    Parameters
    ----------
    gram : array of shape (n_objects, n_objects)
        Kernel matrix of all objects, those of training and those of testing.

    Attributes
    ----------
    gram : ndarray of shape (n_objects, n_objects)
        The kernel matrix, in double precision.

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn import MKLClassifier
    >>> from fuselearn.kernels import GramLookup
    >>> points = np.array([0.0, 1.0, 5.0, 6.0])
    >>> lookup = GramLookup(np.outer(points, points))
    >>> lookup([[3.0]], [[1.0], [2.0]])
    array([[ 6., 30.]])
    >>> X, y = np.arange(4.0)[:, None], [0, 0, 1, 1]
    >>> MKLClassifier(kernel=lookup).fit(X, y).predict(X)
    array([0, 0, 1, 1])
    """

    def __init__(self, gram: ArrayLike) -> None:
        gram = np.asarray(gram, dtype=np.float64)
        if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
            raise ValueError(f"gram must be a square matrix; got shape {gram.shape}.")
        self.gram: FloatArray = gram

    def __call__(self, A: ArrayLike, B: ArrayLike) -> FloatArray:
        """Return the kernel of two columns of object numbers.

        Parameters
        ----------
        A, B : array of shape (n_rows, 1)
            Object numbers.

        Returns
        -------
        ndarray of shape (n_rows of A, n_rows of B)
            Kernel of each object of `A` with each object of `B`.
        """
        return self.gram[np.ix_(self._object_numbers(A), self._object_numbers(B))]

    def validate(self) -> None:
        """Check that it holds a square matrix in double precision.

        Raises
        ------
        ValueError
            If it does not.
        """
        check_array(self, "gram", np.float64, (len(check_part(self, "gram", np.ndarray)), None))
        if self.gram.shape[0] != self.gram.shape[1]:
            raise ValueError(f"gram of a GramLookup is not square: it has the shape {self.gram.shape}")

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return itself: scikit-learn copies the settings of every clone, and one matrix serves all of them."""
        return self

    def __repr__(self) -> str:
        return f"GramLookup({len(self.gram)} objects)"

    def _object_numbers(self, rows: ArrayLike) -> IntArray:
        """Check a view's column of object numbers, and return them."""
        rows = np.asarray(rows)
        if rows.ndim != 2 or rows.shape[1] != 1:
            raise ValueError(
                f"A view with a GramLookup kernel is one column of object numbers; got {rows.shape[-1]} columns."
            )
        column = rows[:, 0]
        numbers = column.astype(np.intp)
        wrong = (numbers != column) | (numbers < 0) | (numbers >= len(self.gram))
        if wrong.any():
            raise ValueError(
                f"A GramLookup of {len(self.gram)} objects was asked for object {column[wrong][0]}; objects are "
                f"numbered from 0 to {len(self.gram) - 1}."
            )
        return numbers


@dataclass(frozen=True)
class ViewKernel:
    """The kernel of one view, with the width and the origin that the training rows gave it.

    Attributes
    ----------
    name : str
        Name of the view.
    kernel : str or callable
    gamma : float or None
    centre : ndarray of shape (n_columns,) or None
        Means of the training rows, which the kernel subtracts; None for one that depends on the origin.
    """

    name: str
    kernel: Kernel
    gamma: float | None
    centre: FloatArray | None = field(default=None, compare=False)

    @classmethod
    def fitted(cls, name: str, kernel: Kernel, rows: FloatArray, weights: FloatArray | None = None) -> Self:
        """Check the kernel of a view, and choose its width and origin by the training rows and their weights."""
        if isinstance(kernel, str):
            if kernel not in PAIRWISE_KERNEL_FUNCTIONS:
                raise ValueError(
                    f"kernel for the view {name!r} is {kernel!r}; it must be one of "
                    f"{sorted(PAIRWISE_KERNEL_FUNCTIONS)}, a function of two tables, or a GramLookup."
                )
        elif not callable(kernel):
            shown = f"a matrix of shape {kernel.shape}" if isinstance(kernel, np.ndarray) else repr(kernel)
            raise TypeError(
                f"kernel for the view {name!r} is {shown}; it must be the name of a kernel, a function that returns "
                "the kernel matrix of two tables, or GramLookup(matrix)."
            )
        rows = _in_double_precision(rows)
        gamma = centre = None
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused where the kernel is computed
            if kernel in CENTRED:
                centre = rows.mean(axis=0) if weights is None else np.average(rows, axis=0, weights=weights)
            if kernel in WITH_GAMMA:
                about = rows if centre is None else rows - centre
                variance = about.var() if weights is None else _variance(about, weights)
                gamma = float(1.0 / (rows.shape[1] * variance)) if variance > 0 else 1.0
        return cls(name, kernel, gamma, centre)

    def validate(self) -> None:
        """Check that the kernel has a name, a width and an origin that belong together.

        Raises
        ------
        ValueError
            If it has not.
        """
        check_part(self, "name", str)
        if isinstance(self.kernel, str) and self.kernel not in PAIRWISE_KERNEL_FUNCTIONS:
            raise ValueError(f"kernel of a ViewKernel is {self.kernel!r:.40}, which is not the name of a kernel")
        by_name = self.kernel if isinstance(self.kernel, str) else None
        if self.gamma is not None or by_name in WITH_GAMMA:
            check_number(self, "gamma", least=0.0)
        if self.centre is not None:
            check_array(self, "centre", np.float64, (None,))
            if by_name not in CENTRED:
                raise ValueError("centre of a ViewKernel is there for a kernel that has none")

    def gram(self, rows: FloatArray) -> FloatArray:
        """Return the kernel matrix of the training rows, checked where its kind does not guarantee a kernel."""
        gram = self.between(rows, rows)
        return gram if self.kernel in ALWAYS_POSITIVE else check_kernel(gram, f"The kernel of the view {self.name!r}")

    def between(self, rows: FloatArray, others: FloatArray) -> FloatArray:
        """Return the kernel of each row with each of the others, as an array that nothing else refers to."""
        with np.errstate(over="ignore", invalid="ignore"):
            same = others is rows
            rows = self._centred(rows)
            values = self._values(rows, rows if same else self._centred(others))
        if not np.isfinite(values).all():
            raise ValueError(
                f"The kernel of the view {self.name!r} has NaN or infinite values. Scale the columns of the view, or "
                "fill the gaps of its matrix."
            )
        return values

    def loses_distances(self, gram: FloatArray) -> bool:
        """Return whether the distances behind a kernel matrix are lost in the rounding of its values."""
        if self.kernel in CENTRED or self.kernel in BY_DIFFERENCES:
            return False
        size = np.abs(np.diagonal(gram)).max()
        # Against the first object: that all are equal is no loss.
        distances = np.diagonal(gram) + gram[0, 0] - 2.0 * gram[0]
        return bool(0 < np.abs(distances).max() < LEAST_SHARE * size)

    def _centred(self, rows: FloatArray) -> FloatArray:
        """Return rows about the centre, where the kernel has one, in double precision and row after row in memory."""
        rows = _in_double_precision(rows)
        return rows if self.centre is None else rows - self.centre

    def _values(self, rows: FloatArray, others: FloatArray) -> FloatArray:
        """Compute the kernel values, and check their shape."""
        if isinstance(self.kernel, str):
            settings = {} if self.gamma is None else {"gamma": self.gamma}
            return np.asarray(pairwise_kernels(rows, others, metric=self.kernel, **settings), dtype=np.float64)
        values = np.array(self.kernel(rows, others), dtype=np.float64)  # a copy: the function may keep its own
        if values.shape != (len(rows), len(others)):
            raise ValueError(
                f"kernel for the view {self.name!r} must return a matrix of shape {(len(rows), len(others))}, a value "
                f"for each row of one table with each of the other; it returned shape {values.shape}."
            )
        return values


def _variance(values: FloatArray, weights: FloatArray) -> float:
    """Return the variance of all values of a table about their mean, with weights of the rows."""
    mean = np.average(values.mean(axis=1), weights=weights)
    return float(np.average(((values - mean) ** 2).mean(axis=1), weights=weights))


def blurred_columns(rows: FloatArray) -> IntArray:
    """Return the columns that vary by few steps of their number format, or hold one number only, too large for 1s."""
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.spacing(np.abs(rows).max(axis=0, initial=0.0)).astype(np.float64)
        few = rows.std(axis=0, dtype=np.float64) < LEAST_STEPS * steps
        # A small number that is the same in all rows is what it is; a large one may be what rounding left of many.
        return np.flatnonzero(few & ((np.ptp(rows, axis=0) > 0) | (steps > 1)))


def check_kernels(kernels: Sequence[ArrayLike]) -> list[ArrayLike]:
    """Check the kernel matrices of several views, and return them in double precision, on the host or on the GPU."""
    if any_on_gpu(kernels):
        return check_gpu_kernels(kernels)
    if not isinstance(kernels, list | tuple | np.ndarray) or len(kernels) == 0:
        raise ValueError(f"kernels must be a list of square matrices, one per view; got {kernels!r:.80}.")
    return [check_kernel(kernel, f"kernels[{number}]") for number, kernel in enumerate(kernels)]


def check_kernel(kernel: ArrayLike, name: str) -> FloatArray:
    """Check that a matrix is square, symmetric, finite and positive semi-definite up to rounding, and return it."""
    try:
        matrix = np.asarray(kernel, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a matrix of numbers; got {kernel!r:.60}.") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name} must be a square matrix; got shape {matrix.shape}.")
    if len(matrix) == 0:
        raise ValueError(f"{name} has no objects; a kernel matrix needs at least one.")
    if not np.isfinite(matrix).all():
        raise ValueError(f"{name} holds NaN or infinity; a kernel has a value for every pair of objects.")
    tolerance = KERNEL_ROUNDING * max(np.abs(np.diagonal(matrix)).max(), np.finfo(float).tiny)
    asymmetry = np.abs(matrix - matrix.T)
    if asymmetry.max() > tolerance:
        row, column = np.unravel_index(np.argmax(asymmetry), matrix.shape)
        raise ValueError(
            f"{name} must be symmetric; entry ({row}, {column}) is {matrix[row, column]:.6g} and ({column}, {row}) is "
            f"{matrix[column, row]:.6g}."
        )
    tolerance *= np.sqrt(len(matrix))
    try:
        cholesky(matrix + tolerance * np.eye(len(matrix)), check_finite=False)
    except LinAlgError:
        least = eigvalsh(matrix, subset_by_index=[0, 0])[0]
        if least < -tolerance:
            raise ValueError(
                f"{name} must be positive semi-definite; its least eigenvalue is {least:.3g}, beside a largest value "
                f"of {np.diagonal(matrix).max():.3g} on the diagonal."
            ) from None
    return matrix


def _in_double_precision(rows: FloatArray) -> FloatArray:
    """Return rows in double precision, row after row in memory: the last bits of sums depend on their order."""
    return np.ascontiguousarray(rows, dtype=np.float64)
