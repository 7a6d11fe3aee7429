"""Kernel weights by a conic solver: the reference that S0 and S1 compare with (Lanckriet et al., JMLR 2004).

For weights μ ≥ 0 the semi-definite program becomes a quadratically constrained one,

    max over α and t  of  Σα − ½ t,    t ≥ (α·y)ᵀ K_m (α·y) for every m,    0 ≤ α ≤ C,  yᵀα = 0,

whose multipliers are the weights.
"""

import numpy as np
from scipy.linalg import eigh


def conic_solver():
    """CVXPY, or an error that names the extra that brings it."""
    try:
        import cvxpy
    except ImportError:
        raise ImportError(
            "weights='sdp' needs CVXPY and Clarabel: pip install 'fuselearn[sdp]', or use weights='mkl'."
        ) from None
    return cvxpy


def conic_weights(placed, problems, upper):
    """Weights of sum 1 for kernels of mean diagonal 1, by CVXPY and Clarabel.

    Parameters
    ----------
    placed : PlacedKernels
    problems : list of Problem
    upper : ndarray of shape (n_items,)
        Largest dual variable of each item.

    Returns
    -------
    ndarray of shape (n_views,)
    """
    cvxpy = conic_solver()
    alphas = [cvxpy.Variable(len(problem.items)) for problem in problems]
    bound = cvxpy.Variable()
    limits, box = [], []
    for view in range(len(placed.grams)):
        factor = _factor(placed.one_view(view))
        squares = [
            cvxpy.sum_squares((factor[:, problem.items] * problem.signs) @ alpha)
            for problem, alpha in zip(problems, alphas)
        ]
        limits.append(sum(squares) <= bound)
    for problem, alpha in zip(problems, alphas):
        box += [alpha >= 0, alpha <= upper[problem.items], problem.signs @ alpha == 0]
    program = cvxpy.Problem(cvxpy.Maximize(sum(cvxpy.sum(alpha) for alpha in alphas) - 0.5 * bound), [*limits, *box])
    program.solve(solver="CLARABEL")
    if program.status not in ("optimal", "optimal_inaccurate"):
        raise RuntimeError(f"The conic solver ended with status {program.status!r}; weights='mkl' does without it.")
    weights = np.maximum([float(np.sum(limit.dual_value)) for limit in limits], 0.0)
    return weights / weights.sum()


def _factor(gram):
    """F with FᵀF = gram, of as many rows as the kernel has directions."""
    values, vectors = eigh(gram)
    kept = values > max(values[-1], 0.0) * len(gram) * np.finfo(float).eps
    return (vectors[:, kept] * np.sqrt(values[kept])).T
