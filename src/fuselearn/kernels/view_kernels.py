"""What kernel a view has: a name that scikit-learn knows, a function of two tables, or a matrix that is given.

Refuse what is not a kernel matrix, before any work is done.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigvalsh
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from fuselearn.numeric.pairs import KERNEL_ROUNDING

ALWAYS_POSITIVE = ("linear", "rbf", "poly", "polynomial", "laplacian", "cosine", "chi2")
"""Kernels that are positive semi-definite whatever the data, so that it need not be tested."""

WITH_GAMMA = ("rbf", "poly", "polynomial", "laplacian", "sigmoid")
"""Kernels whose width is set to the data's scale, as in scikit-learn's SVC."""


class GramLookup:
    """A kernel that was computed before, as a function of object numbers.

    The view is then one column that holds the number of each object, its row in the matrix. So cross-validation and
    everything else that takes rows works as with any other view.

    Parameters
    ----------
    gram : array of shape (n_objects, n_objects)

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

    def __init__(self, gram):
        gram = np.asarray(gram, dtype=np.float64)
        if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
            raise ValueError(f"gram must be a square matrix; got shape {gram.shape}.")
        self.gram = gram

    def __call__(self, A, B):
        return self.gram[np.ix_(self._numbers(A), self._numbers(B))]

    def __deepcopy__(self, memo):
        """Itself: scikit-learn copies the settings of every clone, and a matrix need not be there many times."""
        return self

    def __repr__(self):
        return f"GramLookup({len(self.gram)} objects)"

    def _numbers(self, rows):
        rows = np.asarray(rows)
        if rows.ndim != 2 or rows.shape[1] != 1:
            raise ValueError(
                f"A view with a GramLookup kernel is one column of object numbers; got {rows.shape[-1]} columns."
            )
        numbers = rows[:, 0]
        whole = numbers.astype(np.intp)
        if (whole != numbers).any() or whole.min(initial=0) < 0 or whole.max(initial=0) >= len(self.gram):
            wrong = numbers[(whole != numbers) | (whole < 0) | (whole >= len(self.gram))][0]
            raise ValueError(f"A GramLookup of {len(self.gram)} objects was asked for object {wrong}.")
        return whole


@dataclass(frozen=True)
class ViewKernel:
    """The kernel of one view, its width settled by the training rows.

    Attributes
    ----------
    name : str
        Of the view.
    kernel : str or callable
    gamma : float or None
    """

    name: str
    kernel: object
    gamma: float | None

    @classmethod
    def fitted(cls, name, kernel, rows):
        """Settle the kernel of a view on its training rows."""
        if isinstance(kernel, str):
            if kernel not in PAIRWISE_KERNEL_FUNCTIONS:
                raise ValueError(
                    f"kernel for the view {name!r} is {kernel!r}; it must be one of "
                    f"{sorted(PAIRWISE_KERNEL_FUNCTIONS)}, a function of two tables, or a GramLookup."
                )
        elif not callable(kernel):
            given = f"a matrix of shape {kernel.shape}" if isinstance(kernel, np.ndarray) else repr(kernel)
            raise TypeError(
                f"kernel for the view {name!r} is {given}; it must be the name of a kernel, a function that returns "
                "the kernel matrix of two tables, or GramLookup(matrix)."
            )
        gamma = None
        if kernel in WITH_GAMMA:
            variance = rows.var()
            gamma = 1.0 / (rows.shape[1] * variance) if variance > 0 else 1.0
        return cls(name, kernel, gamma)

    def gram(self, rows):
        """Kernel matrix of the training rows, checked where its kind does not guarantee what a kernel is."""
        gram = self.between(rows, rows)
        return gram if self.kernel in ALWAYS_POSITIVE else check_kernel(gram, f"The kernel of the view {self.name!r}")

    def between(self, rows, others):
        """Kernel of each row with each of the others, as an array that nobody else has."""
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._values(rows, others)
        if not np.isfinite(values).all():
            raise ValueError(
                f"The kernel of the view {self.name!r} has NaN or infinite values; are its columns too large, or is a "
                "matrix given that has gaps?"
            )
        return values

    def _values(self, rows, others):
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
    tolerance = KERNEL_ROUNDING * max(np.abs(np.diagonal(kernel)).max(), np.finfo(float).tiny)
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
