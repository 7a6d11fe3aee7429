"""How much each view's kernel counts: given, all alike, or learnt (multiple kernel learning).

Learnt weights μ solve

    min over μ ≥ 0, ‖μ‖_p ≤ 1  of  max over α  Σα − ½ Σ_m μ_m (α·y)ᵀ K_m (α·y),    0 ≤ α ≤ C,  yᵀα = 0,

summed over the problems where there are several classes, with every K_m divided by its mean diagonal (its trace by
the number of items). For p = 1 this is what Lanckriet et al. (JMLR 2004), S0's and S1's reference, put as a
semi-definite program under a trace constraint.

Kernel weights by a conic solver: the reference that S0 and S1 compare with (Lanckriet et al., JMLR 2004).

For weights μ ≥ 0 the semi-definite program becomes a quadratically constrained one,

    max over α and t  of  Σα − ½ t,    t ≥ (α·y)ᵀ K_m (α·y) for every m,    0 ≤ α ≤ C,  yᵀα = 0,

whose multipliers are the weights.
"""

import warnings
from collections.abc import Mapping

import numpy as np
from scipy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning

from fuselearn.data import per_view
from fuselearn.kernels.machines import fit_machines

LEARNT = ("mkl", "sdp")
MOST_ROUNDS = 500
GAP = 1e-4
"""The alternation stops when the objective is within this part of its lower bound."""


def check_weights(weights, names):
    """`weights` as a setting: "uniform", "mkl", "sdp", or a number of at least 0 for each view."""
    if isinstance(weights, str):
        if weights not in ("uniform", *LEARNT):
            raise ValueError(
                f"weights must be 'uniform', 'mkl', 'sdp', or a number for each of the views {names}; got {weights!r}."
            )
        if weights == "sdp":
            conic_solver()  # missing it should not be noticed after the kernels are there
        return weights
    if isinstance(weights, Mapping):
        weights = per_view("weights", weights, names, complete=True)
    try:
        given = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.shape != (len(names),) or not np.isfinite(given).all() or (given < 0).any() or not given.any():
        raise ValueError(
            f"weights must be 'uniform', 'mkl', 'sdp', or a number of at least 0 for each of the views {names}, not "
            f"all of them 0; got {weights!r}."
        )
    return given


def learn_weights(kind, placed, problems, upper, norm, n_jobs=None):
    """Weights for kernels of mean diagonal 1, ‖μ‖ = 1.

    Parameters
    ----------
    kind : {"mkl", "sdp"}
    placed : PlacedKernels
        Of mean diagonal 1.
    problems : list of Problem
    upper : ndarray of shape (n_items,)
        Largest dual variable of each item.
    norm : float
    """
    if kind == "sdp":
        return conic_weights(placed, problems, upper)
    return alternated_weights(placed, problems, upper, norm, n_jobs)


def alternated_weights(placed, problems, upper, norm, n_jobs=None):
    """Solve the machines for the weights and the weights for the machines, in turns, until the two bounds meet.

    The weights that are best for given machines have a closed form, μ_m ∝ ‖w_m‖^(2/(p + 1)) with
    ‖w_m‖² = μ_m² (α·y)ᵀ K_m (α·y) (Kloft, Brefeld, Sonnenburg and Zien, JMLR 2011).

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn.kernels.machines import problems_of
    >>> from fuselearn.kernels.machines import PlacedKernels
    >>> useful, useless = np.array([-1.0, -1.0, 1.0, 1.0]), np.array([1.0, -1.0, 1.0, -1.0])
    >>> placed = PlacedKernels([np.outer(useful, useful), np.outer(useless, useless)], np.tile(np.arange(4), (2, 1)).T)
    >>> alternated_weights(placed, problems_of(np.array([0, 0, 1, 1]), 2), np.ones(4), 1.0).round(3)
    array([1., 0.])
    """
    weights = np.full(len(placed.grams), len(placed.grams) ** (-1.0 / norm))
    machines = None
    for _ in range(MOST_ROUNDS):
        gram = placed.combined(weights)
        machines = fit_machines(gram, problems, upper, start=machines, tolerance=1e-4, n_jobs=n_jobs)
        norms = placed.squared_norms(machines.coefficients)
        # The best that any weights could do for these machines: the dual norm of the squared norms.
        best = norms.max() if norm == 1 else np.linalg.norm(norms, norm / (norm - 1))
        if 0.5 * (best - weights @ norms) <= GAP * abs(machines.objective):
            break
        pulls = (weights**2 * norms) ** (1.0 / (norm + 1))
        weights = pulls / np.linalg.norm(pulls, norm)
    else:
        warnings.warn(
            f"Kernel weights have not converged in {MOST_ROUNDS} rounds: the objective may be off by more than {GAP:g} "
            "of it. A smaller C or a larger norm helps.",
            ConvergenceWarning,
            stacklevel=5,
        )
    return weights


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
