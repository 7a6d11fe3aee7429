"""Support vector machines on a kernel between items, one for each pair of classes as in LIBSVM.

Kernels of views, placed on what a machine is trained on.

A machine is trained on *items*: rows of a table (matched views), meta-objects (unmatched ones), or single observations
of single views (the augmented kernel). An item has an object in some views and none in others, and the kernel between
two items is the weighted sum of their objects' kernels over the views that both have. This is all that the three
classifiers differ in.
"""

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from fuselearn.kernels.composition import sum_over_views
from fuselearn.numeric.svm import solve_svm
from fuselearn.numeric.votes import pairs_of_classes


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


@dataclass(frozen=True)
class PlacedKernels:
    """Kernel matrices between the objects of each view, and the object of each item in each view.

    Attributes
    ----------
    grams : list of ndarray of shape (n_objects of the view, n_objects of the view)
    places : intp ndarray of shape (n_items, n_views)
        Number of the item's object in each view, -1 where it has none.
    """

    grams: list
    places: np.ndarray

    def __len__(self):
        """Number of items."""
        return len(self.places)

    @property
    def complete(self):
        """Whether every item has an object in every view."""
        return bool((self.places >= 0).all())

    def combined(self, weights):
        """Kernel between items under weights of the views, of shape (n_items, n_items)."""
        if self.complete:
            return sum_over_views(self.grams, [(column, column) for column in self.places.T], weights)
        total = np.zeros((len(self), len(self)))
        for gram, column, weight in zip(self.grams, self.places.T, weights):
            here = np.flatnonzero(column >= 0)
            total[np.ix_(here, here)] += weight * gram[np.ix_(column[here], column[here])]
        return total

    def one_view(self, view):
        """Kernel between items by one view alone."""
        return self.combined(np.eye(len(self.grams))[view])

    def on_objects(self, coefficients):
        """Coefficients of items summed up on the objects of each view.

        Parameters
        ----------
        coefficients : sparse array of shape (n_problems, n_items)

        Returns
        -------
        list of ndarray of shape (n_problems, n_objects of the view)
        """
        sums = []
        for gram, column in zip(self.grams, self.places.T):
            items = np.flatnonzero(column >= 0)
            held = csr_array((np.ones(len(items)), (items, column[items])), shape=(len(column), len(gram)))
            sums.append((coefficients @ held).toarray())
        return sums

    def squared_norms(self, coefficients):
        """Σ over problems of cᵀ K_m c for each view m, from coefficients of items."""
        return np.array(
            [np.einsum("ki,ki->", sums @ gram, sums) for gram, sums in zip(self.grams, self.on_objects(coefficients))]
        )
