"""Kernel weights by a conic solver: the reference that S0 and S1 compare with (Lanckriet et al., JMLR 2004).

For weights μ ≥ 0 the semi-definite program becomes a quadratically constrained one,

    max over α and t  of  Σα − ½ t,    t ≥ (α·y)ᵀ K_m (α·y) for every m,    0 ≤ α ≤ C,  yᵀα = 0,

whose multipliers are the weights.
"""

import numpy as np
from scipy.linalg import eigh


def conic_weights(placed, signs, upper):
    """Weights of sum 1 for kernels of mean diagonal 1, by CVXPY and Clarabel.

    Parameters
    ----------
    placed : PlacedKernels
    signs : ndarray of shape (n_problems, n_items)
    upper : ndarray of shape (n_items,)
        Largest dual variable of each item.

    Returns
    -------
    ndarray of shape (n_views,)
    """
    try:
        import cvxpy
    except ImportError:
        raise ImportError(
            "weights='sdp' needs CVXPY and Clarabel: pip install 'fuselearn[sdp]', or use weights='mkl'."
        ) from None
    items = [np.flatnonzero(row) for row in signs]
    alphas = [cvxpy.Variable(len(here)) for here in items]
    bound = cvxpy.Variable()
    limits = []
    for view in range(len(placed.grams)):
        factor = _factor(placed.one_view(view))
        squares = [cvxpy.sum_squares((factor * row)[:, here] @ alpha) for row, here, alpha in zip(signs, items, alphas)]
        limits.append(sum(squares) <= bound)
    box = []
    for row, here, alpha in zip(signs, items, alphas):
        box += [alpha >= 0, alpha <= upper[here], row[here] @ alpha == 0]
    problem = cvxpy.Problem(cvxpy.Maximize(sum(cvxpy.sum(alpha) for alpha in alphas) - 0.5 * bound), [*limits, *box])
    problem.solve(solver="CLARABEL")
    if problem.status not in ("optimal", "optimal_inaccurate"):
        raise RuntimeError(f"The conic solver ended with status {problem.status!r}; weights='mkl' does without it.")
    weights = np.maximum([float(np.sum(limit.dual_value)) for limit in limits], 0.0)
    return weights / weights.sum()


def _factor(gram):
    """F with FᵀF = gram, of as many rows as the kernel has directions."""
    values, vectors = eigh(gram)
    kept = values > max(values[-1], 0.0) * len(gram) * np.finfo(float).eps
    return (vectors[:, kept] * np.sqrt(values[kept])).T
