"""Support vector machines on a kernel between items, one for each pair of classes as in LIBSVM."""

from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from fuselearn.numeric.decisions import pairs_of_classes
from fuselearn.numeric.support_vectors import solve_svm


class Machines(NamedTuple):
    """Fitted machines that share their kernel.

    Attributes
    ----------
    coefficients : ndarray of shape (n_problems, n_items)
        α·y of each item, 0 where it is not of the problem.
    intercepts : ndarray of shape (n_problems,)
    objective : float
        Sum of the dual objectives, Σα − ½ Σ α·y K α·y, at their maximum.
    """

    coefficients: np.ndarray
    intercepts: np.ndarray
    objective: float


def signs_of(codes, n_classes):
    """-1 and 1 for the items of the two classes of each problem, 0 for those of others."""
    return np.stack([(codes == b) * 1.0 - (codes == a) for a, b in pairs_of_classes(n_classes)])


def fit_machines(gram, signs, upper, *, start=None, tolerance=1e-3, n_jobs=None):
    """Solve every problem.

    Parameters
    ----------
    gram : ndarray of shape (n_items, n_items)
    signs : ndarray of shape (n_problems, n_items)
    upper : ndarray of shape (n_items,)
        Largest dual variable of each item: C times its weight.
    start : Machines, default=None
        Where to start from, such as the machines of a nearby kernel.
    tolerance : float, default=1e-3
        Of the optimality conditions, libsvm's ``tol``.
    n_jobs : int, default=None
        Threads; each problem is solved by one.
    """
    starts = [None] * len(signs) if start is None else np.abs(start.coefficients)

    def solve(row, alpha):
        here = np.flatnonzero(row)
        own = gram if len(here) == len(row) else gram[np.ix_(here, here)]
        alpha = None if alpha is None else alpha[here]
        solution = solve_svm(own, row[here], upper[here], tolerance=tolerance, alpha=alpha)
        coefficients = np.zeros(len(row))
        coefficients[here] = solution.alpha * row[here]
        return coefficients, solution.intercept, solution.objective

    solved = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(solve)(*problem) for problem in zip(signs, starts))
    coefficients, intercepts, objectives = zip(*solved)
    return Machines(np.stack(coefficients), np.array(intercepts), -sum(objectives))
