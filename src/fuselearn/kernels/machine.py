"""Support vector machines on a kernel between items, one for each pair of classes as in LIBSVM."""

import warnings
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from fuselearn.numeric.decisions import pairs_of_classes
from fuselearn.numeric.support_vectors import solve_svm


class Problem(NamedTuple):
    """Two classes to tell apart.

    Attributes
    ----------
    items : intp ndarray of shape (n_own,)
        Those of the two classes.
    signs : ndarray of shape (n_own,)
        -1 for the first class, 1 for the second.
    """

    items: np.ndarray
    signs: np.ndarray


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
    intercepts: np.ndarray
    objective: float
    alphas: list


def problems_of(codes, n_classes):
    """One problem for each pair of classes."""
    problems = []
    for a, b in pairs_of_classes(n_classes):
        items = np.flatnonzero((codes == a) | (codes == b))
        problems.append(Problem(items, np.where(codes[items] == b, 1.0, -1.0)))
    return problems


def fit_machines(gram, problems, upper, *, start=None, tolerance=1e-3, n_jobs=None):
    """Solve every problem.

    Parameters
    ----------
    gram : ndarray of shape (n_items, n_items)
    problems : list of Problem
    upper : ndarray of shape (n_items,)
        Largest dual variable of each item: C times its weight.
    start : Machines, default=None
        Where to start from, such as the machines of a nearby kernel.
    tolerance : float, default=1e-3
        Of the optimality conditions, libsvm's ``tol``.
    n_jobs : int, default=None
        Threads; each problem is solved by one.
    """
    starts = [None] * len(problems) if start is None else start.alphas

    def solve(problem, alpha):
        items = problem.items
        own = gram if len(items) == len(gram) else gram[np.ix_(items, items)]
        return solve_svm(own, problem.signs, upper[items], tolerance=tolerance, alpha=alpha)

    solved = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(solve)(*each) for each in zip(problems, starts))
    if not all(solution.converged for solution in solved):
        warnings.warn(
            "A support vector machine has not converged: lower C, or bring the views to a common scale (the kernel's "
            f"largest value is {np.abs(np.diagonal(gram)).max():.3g}).",
            ConvergenceWarning,
            stacklevel=4,
        )
    rows = np.repeat(np.arange(len(problems)), [len(problem.items) for problem in problems])
    values = np.concatenate([solution.alpha * problem.signs for solution, problem in zip(solved, problems)])
    items = np.concatenate([problem.items for problem in problems])
    kept = values != 0
    coefficients = csr_array((values[kept], (rows[kept], items[kept])), shape=(len(problems), len(gram)))
    return Machines(
        coefficients,
        np.array([solution.intercept for solution in solved]),
        -sum(solution.objective for solution in solved),
        [solution.alpha for solution in solved],
    )
