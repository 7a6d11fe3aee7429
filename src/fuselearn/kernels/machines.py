"""Support vector machines on a kernel between items, one for each pair of classes as in LIBSVM."""

import warnings
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from fuselearn.numeric.svm import Solution, SumOfGrams, solve_svm
from fuselearn.numeric.votes import pairs_of_classes
from fuselearn.typing import FloatArray, IntArray


class Problem(NamedTuple):
    """Two classes to separate.

    Attributes
    ----------
    items : intp ndarray of shape (n_own,)
        Items of the two classes.
    signs : ndarray of shape (n_own,)
        -1 for the first class, 1 for the second.
    """

    items: IntArray
    signs: FloatArray


class Machines(NamedTuple):
    """Fitted machines that share their kernel.

    Attributes
    ----------
    coefficients : sparse array of shape (n_problems, n_items)
        α·y of each item.
    intercepts : ndarray of shape (n_problems,)
    objective : float
        Sum of the dual objectives, Σα − ½ Σ α·y K α·y, at their maximum.
    alphas : list of ndarray
        α of the items of each problem.
    """

    coefficients: csr_array
    intercepts: FloatArray
    objective: float
    alphas: list[FloatArray]


def problems_of(codes: IntArray, n_classes: int) -> list[Problem]:
    """Return one problem for each pair of classes."""
    problems = []
    for a, b in pairs_of_classes(n_classes):
        items = np.flatnonzero((codes == a) | (codes == b))
        problems.append(Problem(items, np.where(codes[items] == b, 1.0, -1.0)))
    return problems


def fit_machines(
    gram: FloatArray | SumOfGrams,
    problems: list[Problem],
    upper: FloatArray,
    *,
    start: Machines | None = None,
    tolerance: float = 1e-3,
    n_jobs: int | None = None,
) -> Machines:
    """Solve every problem, each in one thread.

    `upper` is the largest dual variable of each item, C times its weight; `start` are the machines of a nearby kernel
    to start from; `tolerance` is that of the optimality conditions, libsvm's ``tol``.
    """
    starts = [None] * len(problems) if start is None else start.alphas

    def solve(problem: Problem, alpha: FloatArray | None) -> Solution:
        items = problem.items
        if abs(problem.signs.sum()) == len(items):  # a class without items, which never wins
            return Solution(np.zeros(len(items)), float(np.sign(problem.signs.sum())), 0.0, 0, True)
        gram_of_items = gram
        if len(items) < gram.shape[0]:
            gram_of_items = gram.some_items(items) if isinstance(gram, SumOfGrams) else gram[np.ix_(items, items)]
        return solve_svm(gram_of_items, problem.signs, upper[items], tolerance=tolerance, alpha=alpha)

    solutions = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(solve)(problem, alpha) for problem, alpha in zip(problems, starts)
    )
    if not all(solution.converged for solution in solutions):
        warnings.warn(
            "A support vector machine has not converged: lower C, or bring the views to a common scale (the kernel's "
            f"largest value is {np.abs(gram.diagonal()).max():.3g}).",
            ConvergenceWarning,
            stacklevel=4,
        )
    rows = np.repeat(np.arange(len(problems)), [len(problem.items) for problem in problems])
    values = np.concatenate([solution.alpha * problem.signs for solution, problem in zip(solutions, problems)])
    items = np.concatenate([problem.items for problem in problems])
    kept = values != 0
    coefficients = csr_array((values[kept], (rows[kept], items[kept])), shape=(len(problems), gram.shape[0]))
    return Machines(
        coefficients,
        np.array([solution.intercept for solution in solutions]),
        -sum(solution.objective for solution in solutions),
        [solution.alpha for solution in solutions],
    )
