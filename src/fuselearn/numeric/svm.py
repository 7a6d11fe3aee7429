"""The dual of a support vector machine on a given Gram matrix, by sequential minimal optimisation.

With signed coefficients β_i = y_i·a_i the dual is

    min ½ βᵀKβ - yᵀβ    subject to    Σ β_i = 0,    0 ≤ y_i·β_i ≤ upper_i,

and a step moves one coefficient up and another one down by as much. The pair is chosen by the second-order rule of Fan,
Chen and Lin, "Working Set Selection Using Second Order Information for Training Support Vector Machines", JMLR 2005,
and the run ends by their criterion. Both are libsvm's, and so are the tolerance and the intercept. What differs is what
small machines need: the whole matrix is in memory, so nothing is cached or shrunk; a row that occurs c times in a
sample is one row with the upper bound c·C, which has the same optimum.

Where many items are put together from few objects, the matrix is a sum over views of small matrices between objects
(`SumOfGrams`), and its rows are made as they are needed. There may be a hundred thousand items then, most of which end
at a bound, and a step for each of them would take the time of a look at all. From `SAMPLED_FROM` on, a machine on some
items that are drawn tells which ones these are, and items that no longer look like moving are set aside, as libsvm
does.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fuselearn.numeric.execution import compiled
from fuselearn.typing import ArrayLike, BoolArray, FloatArray, IntArray

FLAT = 1e-12
"""Curvature of a pair of rows that are equal under the kernel (libsvm's value)."""
EDGE = 1e-12
"""A coefficient nearer to a bound than this share of its value, or of its step, is at the bound: the rest is
rounding."""
SAMPLED_FROM, EVERY = 5_000, 8
"""Items of a sum of matrices from which on a machine on an eighth of them comes first."""
STEPS_BETWEEN = 1_000
"""Steps after which items are set aside anew (libsvm's value)."""


class SumOfGrams(NamedTuple):
    """A Gram matrix between items that is a sum over views: Σ over m of K_m[o_m(i), o_m(j)].

    Attributes
    ----------
    values : float64 ndarray of shape (n_values,)
        The matrices between the objects of each view, row after row, one view after the other.
    starts, sizes : int64 ndarray of shape (n_views,)
        Where each view's matrix starts in `values`, and the number of its objects.
    objects : int64 ndarray of shape (n_views, n_items)
        Object of each item in each view.
    """

    values: FloatArray
    starts: IntArray
    sizes: IntArray
    objects: IntArray

    @classmethod
    def of(cls, grams: Sequence[FloatArray], objects: IntArray) -> "SumOfGrams":
        """Return the sum of matrices between the objects of each view, for items of shape (n_items, n_views)."""
        sizes = np.array([len(gram) for gram in grams])
        starts = np.cumsum(sizes**2) - sizes**2
        values = np.concatenate([np.ravel(gram) for gram in grams]).astype(np.float64, copy=False)
        return cls(values, starts, sizes, np.ascontiguousarray(objects.T, dtype=np.int64))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of items, twice."""
        n_items = self.objects.shape[1]
        return n_items, n_items

    def some_items(self, items: IntArray) -> "SumOfGrams":
        """Return the matrix between some of the items."""
        return self._replace(objects=np.ascontiguousarray(self.objects[:, items]))

    def diagonal(self) -> FloatArray:
        """Return the diagonal of the matrix."""
        places = self.starts[:, None] + self.objects * (self.sizes[:, None] + 1)
        return self.values[places].sum(axis=0)

    def times(self, coefficients: FloatArray) -> FloatArray:
        """Return the product of the matrix and a vector, by sums on the objects."""
        product = np.zeros(self.objects.shape[1])
        for start, size, own in zip(self.starts, self.sizes, self.objects):
            gram = self.values[start : start + size**2].reshape(size, size)
            product += (gram @ np.bincount(own, coefficients, minlength=size))[own]
        return product


class Solution(NamedTuple):
    """The optimum of the dual.

    Attributes
    ----------
    alpha : float64 ndarray of shape (n_rows,)
        Dual variables, between 0 and `upper`.
    intercept : float
        b of the decision value Σ alpha_i·y_i·k(x_i, x) + b.
    objective : float
        ½ aᵀQa - Σ a, with Q = y yᵀ ∘ K. It is negative, and least at the optimum.
    n_iter : int
        Number of steps.
    converged : bool
        Whether the run ended by the tolerance rather than by `max_iter`.
    """

    alpha: FloatArray
    intercept: float
    objective: float
    n_iter: int
    converged: bool


NO_MATRIX: FloatArray = np.empty((0, 0))
NO_SUM = SumOfGrams(np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, 0), np.int64))
"""What the loop gets in the place of the kind of matrix that it does not work on."""


def solve_svm(
    gram: ArrayLike | SumOfGrams,
    signs: ArrayLike,
    upper: ArrayLike,
    *,
    tolerance: float = 0.001,
    alpha: ArrayLike = None,
    max_iter: int | None = None,
) -> Solution:
    """Solve the dual of a support vector classifier.

    Parameters
    ----------
    gram : float64 ndarray of shape (n_rows, n_rows), or SumOfGrams
        Symmetric and positive semi-definite; C-contiguous, so that a row is read in one run. As a sum over views it
        takes memory for the objects of the views only, and gives the same solution.
    signs : ndarray of shape (n_rows,)
        +1 or -1; both must occur.
    upper : float or ndarray of shape (n_rows,)
        Upper bound of each dual variable: C, or C times the weight of the row.
    tolerance : float, default=1e-3
        Largest violation of the optimality conditions, libsvm's ``tol``.
    alpha : ndarray of shape (n_rows,), default=None
        Start, such as the optimum for a nearby Gram matrix. It is brought inside the constraints. None starts at 0.
    max_iter : int, default=None
        Most steps; None is the larger of 10 million and 100 times the number of rows.

    Returns
    -------
    Solution

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([-2.0, -1.0, 1.0, 2.0])
    >>> solution = solve_svm(np.outer(points, points), [-1, -1, 1, 1], 10.0)
    >>> solution.alpha.round(3)  # the two points next to the gap
    array([0. , 0.5, 0.5, 0. ])
    >>> abs(round(solution.intercept, 3))
    0.0
    """
    gram = gram if isinstance(gram, SumOfGrams) else np.ascontiguousarray(gram, dtype=np.float64)
    signs = np.ascontiguousarray(signs, dtype=np.float64)
    n_rows = len(signs)
    if gram.shape != (n_rows, n_rows):
        raise ValueError(f"gram must have shape {(n_rows, n_rows)}, a row for each of signs; got {gram.shape}.")
    if not np.isfinite(gram.values if isinstance(gram, SumOfGrams) else gram).all():
        raise ValueError("gram holds NaN or infinity; a kernel has a value for every pair of rows.")
    if not (np.abs(signs) == 1).all() or abs(signs.sum()) == n_rows:
        raise ValueError("signs must hold +1 and -1, each at least once.")
    upper = np.array(np.broadcast_to(np.asarray(upper, dtype=np.float64), n_rows))
    if not (upper > 0).all():
        raise ValueError(f"upper must be above 0 for every row; the least is {upper.min()}.")
    start = None if alpha is None else np.asarray(alpha, dtype=np.float64)
    return solve_checked(gram, signs, upper, tolerance, start, max_iter)


def solve_checked(
    gram: FloatArray | SumOfGrams,
    signs: FloatArray,
    upper: FloatArray,
    tolerance: float,
    alpha: FloatArray | None = None,
    max_iter: int | None = None,
) -> Solution:
    """Solve the dual for float64 arrays that need no checks, which for a hundred rows take longer than the steps."""
    positive, n_rows = signs > 0, len(signs)
    low, high = np.where(positive, 0.0, -upper), np.where(positive, upper, 0.0)
    if alpha is None and isinstance(gram, SumOfGrams) and n_rows >= SAMPLED_FROM:
        alpha = _start_from_sample(gram, signs, upper, tolerance)
    beta = _feasible(alpha, positive, low, high)
    diagonal: FloatArray
    if isinstance(gram, SumOfGrams):
        matrix, parts, diagonal = NO_MATRIX, gram, gram.diagonal()
        product = gram.times(beta) if alpha is not None else None
    else:
        matrix, parts, diagonal = gram, NO_SUM, gram.diagonal().copy()
        product = gram @ beta if alpha is not None else None
    gradient = -signs if product is None else product - signs
    most = max(10_000_000, 100 * n_rows) if max_iter is None else int(max_iter)
    if parts.shape[0] >= SAMPLED_FROM:
        n_iter, converged = _minimise_shrinking(parts, signs, low, high, float(tolerance), most, beta, gradient)
    else:
        n_iter, converged = _minimise(matrix, *parts, diagonal, low, high, float(tolerance), most, beta, gradient)
    return Solution(
        alpha=np.abs(beta),
        intercept=_intercept(beta, gradient, low, high),
        objective=0.5 * float(beta @ (gradient - signs)),
        n_iter=int(n_iter),
        converged=bool(converged),
    )


def _feasible(alpha: FloatArray | None, positive: BoolArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return signed coefficients that meet the constraints: 0, or clipped with the heavier class scaled down."""
    if alpha is None:
        return np.zeros(len(low))
    upper = high - low
    alpha = np.minimum(np.maximum(alpha, 0.0), upper)
    total, of_positive = alpha.sum(), alpha @ positive
    of_negative = total - of_positive
    least = min(of_positive, of_negative)
    if not least > 0:
        return np.zeros_like(alpha)
    alpha *= np.where(positive, least / of_positive, least / of_negative)
    # The scaling leaves what was at its bound next to it.
    alpha = np.where(upper - alpha <= EDGE * upper, upper, alpha)
    return np.where(positive, alpha, -alpha)


def _start_from_sample(parts: SumOfGrams, signs: FloatArray, upper: FloatArray, tolerance: float) -> FloatArray | None:
    """Return dual variables at their bounds: those inside the margin of a machine on some items at the upper one.

    None where a class has no item among these.
    """
    n_items = len(signs)
    some = np.sort(np.random.default_rng(n_items).choice(n_items, -(-n_items // EVERY), replace=False, shuffle=False))
    if abs(signs[some].sum()) == len(some):
        return None
    # As many times the weight as there are items for each of them, so that the margin is about that of all items.
    sample = solve_checked(parts.some_items(some), signs[some], EVERY * upper[some], tolerance)
    coefficients = np.zeros(n_items)
    coefficients[some] = sample.alpha * signs[some]
    margins = signs * (parts.times(coefficients) + sample.intercept)
    alpha = np.where(margins < 1.0, upper, 0.0)
    # The classes must have the same sum: in the heavier one, items leave that are nearest to the margin's end.
    excess = float(alpha @ signs)
    leaving = np.flatnonzero((signs * excess > 0) & (alpha > 0))
    leaving = leaving[np.argsort(-margins[leaving], kind="stable")]
    before = np.concatenate([[0.0], np.cumsum(alpha[leaving])[:-1]])
    alpha[leaving] -= np.clip(abs(excess) - before, 0.0, alpha[leaving])
    return alpha


def _minimise_shrinking(
    parts: SumOfGrams,
    signs: FloatArray,
    low: FloatArray,
    high: FloatArray,
    tolerance: float,
    max_iter: int,
    beta: FloatArray,
    gradient: FloatArray,
) -> tuple[int, bool]:
    """Take steps as `_minimise` does, among the items that may still move; all are looked at before the end.

    Gradients of items that are set aside are out of date until the others have converged; then they follow from the
    coefficients.
    """
    diagonal, everything, n_iter = parts.diagonal(), np.arange(len(beta)), 0
    moving = everything
    while n_iter < max_iter:
        of_moving = parts if len(moving) == len(beta) else parts.some_items(moving)
        own_beta, own_gradient = beta[moving], gradient[moving]
        bounds, most = (low[moving], high[moving]), min(STEPS_BETWEEN, max_iter - n_iter)
        steps, converged = _minimise(
            NO_MATRIX, *of_moving, diagonal[moving], *bounds, tolerance, most, own_beta, own_gradient
        )
        n_iter += int(steps)
        beta[moving], gradient[moving] = own_beta, own_gradient
        if not converged:
            moving = moving[_may_move(own_beta, own_gradient, *bounds)]
        elif len(moving) == len(beta):
            return n_iter, True
        else:
            gradient[:] = parts.times(beta) - signs
            moving = everything
    gradient[:] = parts.times(beta) - signs
    return n_iter, False


def _may_move(beta: FloatArray, gradient: FloatArray, low: FloatArray, high: FloatArray) -> BoolArray:
    """Return which items are inside their box, or at a bound from which some pair would move them."""
    may_rise, may_fall = beta < high, beta > low
    least, largest = gradient[may_rise].min(initial=np.inf), gradient[may_fall].max(initial=-np.inf)
    return (may_rise & (gradient <= largest)) | (may_fall & (gradient >= least))


def _intercept(beta: FloatArray, gradient: FloatArray, low: FloatArray, high: FloatArray) -> float:
    """Return the mean of -gradient at coefficients inside their box; where there is none, the middle of both sides."""
    at_low, at_high = beta <= low, beta >= high
    free = ~(at_low | at_high)
    if free.any():
        return float(-gradient[free].mean())
    return float(-0.5 * (gradient[at_low].min(initial=np.inf) + gradient[at_high].max(initial=-np.inf)))


@compiled()
def _row(
    gram: FloatArray,
    values: FloatArray,
    starts: IntArray,
    sizes: IntArray,
    objects: IntArray,
    i: int,
    buffer: FloatArray,
) -> FloatArray:
    """Return a row of the matrix, in the buffer where it has to be added up."""
    if len(starts) == 0:
        return gram[i]
    for view in range(len(starts)):
        own = objects[view]
        start = starts[view] + own[i] * sizes[view]
        part = values[start : start + sizes[view]]
        if view == 0:
            for k in range(len(buffer)):
                buffer[k] = part[own[k]]
        else:
            for k in range(len(buffer)):
                buffer[k] += part[own[k]]
    return buffer


@compiled()
def _minimise(
    gram: FloatArray,
    values: FloatArray,
    starts: IntArray,
    sizes: IntArray,
    objects: IntArray,
    diagonal: FloatArray,
    low: FloatArray,
    high: FloatArray,
    tolerance: float,
    max_iter: int,
    beta: FloatArray,
    gradient: FloatArray,
) -> tuple[int, bool]:
    """Take steps until no pair violates the conditions by more than `tolerance`. Works in place."""
    n_rows = len(beta)
    buffers = np.empty((2, n_rows if len(starts) else 0))
    # Gradients that are infinite where a coefficient cannot move that way: one comparison a row, no branch.
    rising = np.empty(n_rows)  # may go up: beta < high
    falling = np.empty(n_rows)  # may go down: beta > low
    for k in range(n_rows):
        rising[k] = gradient[k] if beta[k] < high[k] else np.inf
        falling[k] = gradient[k] if beta[k] > low[k] else -np.inf
    for step in range(max_iter):
        i, least = 0, np.inf
        for k in range(n_rows):
            if rising[k] < least:
                least, i = rising[k], k
        row_i, k_ii = _row(gram, values, starts, sizes, objects, i, buffers[0]), diagonal[i]
        # Second order: of those that may go down, the one whose step lowers the objective most.
        j, best, largest = -1, 0.0, -np.inf
        for k in range(n_rows):
            f = falling[k]
            if f > largest:
                largest = f
            gap = f - least
            if gap > 0.0:
                curvature = k_ii + diagonal[k] - 2.0 * row_i[k]
                if curvature <= 0.0:
                    curvature = FLAT
                gain = gap * gap / curvature
                if gain > best:
                    best, j = gain, k
        if largest - least < tolerance or j < 0:
            return step, True
        row_j = _row(gram, values, starts, sizes, objects, j, buffers[1])
        curvature = k_ii + diagonal[j] - 2.0 * row_i[j]
        if curvature <= 0.0:
            curvature = FLAT
        move = (gradient[j] - gradient[i]) / curvature
        move = min(move, high[i] - beta[i], beta[j] - low[j])
        near_i, near_j = EDGE * max(abs(beta[i]), move), EDGE * max(abs(beta[j]), move)
        beta[i] += move
        beta[j] -= move
        if high[i] - beta[i] <= near_i:
            beta[i] = high[i]
        if beta[j] - low[j] <= near_j:
            beta[j] = low[j]
        for k in range(n_rows):
            change = move * (row_i[k] - row_j[k])
            gradient[k] += change
            rising[k] += change  # infinities stay what they are
            falling[k] += change
        rising[i] = gradient[i] if beta[i] < high[i] else np.inf
        falling[i] = gradient[i] if beta[i] > low[i] else -np.inf
        rising[j] = gradient[j] if beta[j] < high[j] else np.inf
        falling[j] = gradient[j] if beta[j] > low[j] else -np.inf
    return max_iter, False
