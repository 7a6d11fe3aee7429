"""Multiple kernel learning: weights of the views' kernels that are learnt together with the machine.

Learnt weights μ solve

    min over μ ≥ 0, ‖μ‖_p ≤ 1  of  max over α  Σα − ½ Σ_m μ_m (α·y)ᵀ K_m (α·y),    0 ≤ α ≤ C,  yᵀα = 0,

summed over the problems where there are several classes, with every K_m divided by its mean diagonal (its trace by
the number of items). For p = 1 this is what Lanckriet et al. (JMLR 2004), S0's and S1's reference, put as a
semi-definite program under a trace constraint.
"""

import warnings
from collections.abc import Mapping, Sequence
from numbers import Real
from types import ModuleType
from typing import Any, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning

from fuselearn.data import TrainingData
from fuselearn.kernels.base import BaseKernelFusion, Items, object_numbers, uses_learning
from fuselearn.kernels.composition import ItemKernels
from fuselearn.kernels.machines import Machines, Problem, fit_machines
from fuselearn.kernels.view_kernels import Kernel
from fuselearn.typing import ArrayLike, FloatArray, TableLike, Views

MOST_ROUNDS = 500
GAP = 1e-4
"""The alternation stops when the objective is within this part of its lower bound."""


class MKLClassifier(BaseKernelFusion):
    """Support vector machine on a weighted sum of the views' kernels.

    Kernels are divided by their mean diagonal (trace normalisation), and their weights are all alike, given, or learnt
    together with the machine: they solve the problem of Lanckriet et al. [1]_, for `norm` above 1 that of Kloft et
    al. [2]_.

    Parameters
    ----------
    views : dict, list or None, default=None
        Views of the columns of `X`: a dict of name to selector, or a list of selectors.
    kernel : str, callable, GramLookup or dict, default="rbf"
        Kernel of each view, see :class:`TomographicClassifier`.
    weights : {"uniform", "mkl", "sdp"}, dict or array, default="uniform"
        Weight of each view's kernel: all alike, learnt, or given. "mkl" alternates a support vector machine and weights
        in closed form. "sdp" solves the same problem for ``norm=1`` by a conic solver: slow, and there to compare with
        (``pip install 'fuselearn[sdp]'``).
    norm : float, default=1.0
        Norm p ≥ 1 of the learnt weights: 1 chooses few kernels, larger ones keep more of them.
    C : float, default=1.0
        Penalty of the support vector machine.
    absent_views : {"scale", "neutral"}, default="scale"
        How to decide on a row that lacks a view: scale up the sum over the others, or put the absent view at its
        neutral point [3]_, which speaks for neither class.
    n_jobs : int, default=None
        Threads for kernels and classes. The model is the same for any number.
    verbose : int, default=0
        1 prints a line for each of the steps: kernels, items, weights, machines.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    class_prior_ : ndarray of shape (n_classes,)
        Share of each class among the training rows: the decision on a row without any view.
    kernel_weights_ : ndarray of shape (n_views,)
        Weight of each view's kernel: of norm 1, on kernels of mean diagonal 1, unless they were given.
    kernel_scales_ : ndarray of shape (n_views,)
        Mean diagonal of each kernel, which it was divided by.
    kernels_ : list of object
        Kernel of each view, with its width.
    objective_ : float
        Dual objective of the machine, which learnt weights minimise.
    view_names_ : list of str
        Names of the views.
    view_columns_ : list of ndarray
        Columns of `X` that each view has.
    support_ : list of ndarray
        Rows of `X` that the decision depends on, for each view.
    support_rows_ : list of ndarray of shape (n_support, n_columns of the view)
        Values of these rows in the view.
    dual_coef_ : list of ndarray of shape (n_problems, n_support)
        Coefficients of these rows, for each pair of classes.
    intercept_ : ndarray of shape (n_problems,)
        Intercept for each pair of classes.
    neutral_values_ : ndarray of shape (n_views, n_problems)
        What an absent view adds to the decision of each pair of classes with ``absent_views="neutral"``: the value
        half-way between the means of the two classes' items.
    n_features_in_ : int
        Number of columns of `X`.
    feature_names_in_ : ndarray of str
        Names of the columns, if `X` was a data frame.

    See Also
    --------
    TomographicClassifier : For views whose objects are not matched.

    Notes
    -----
    A row that lacks a view at fit time has no kernel values in it. More than two classes are separated one against
    one, with the same weights.

    References
    ----------
    .. [1] G. Lanckriet, N. Cristianini, P. Bartlett, L. El Ghaoui and M. Jordan, Learning the kernel matrix with
       semidefinite programming, JMLR 5 (2004).
    .. [2] M. Kloft, U. Brefeld, S. Sonnenburg and A. Zien, ℓp-norm multiple kernel learning, JMLR 12 (2011).
    .. [3] N. Poh, D. Windridge, V. Mottl, A. Tatarchuk and A. Eliseyev, Addressing missing values in kernel-based
       multimodal biometric fusion using neutral point substitution, IEEE Trans. Inf. Forensics Security 5 (2010).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import MKLClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MKLClassifier(views={"sepal": [0, 1], "petal": [2, 3]}, weights="mkl").fit(X, y)
    >>> dict(zip(model.view_names_, model.kernel_weights_.round(1).tolist()))
    {'sepal': 0.1, 'petal': 0.9}
    """

    def __init__(
        self,
        *,
        views: Views = None,
        kernel: Kernel | Mapping[str, Kernel] = "rbf",
        weights: str | Mapping[str, float] | Sequence[float] | FloatArray = "uniform",
        norm: float = 1.0,
        C: float = 1.0,
        absent_views: str = "scale",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.views = views
        self.kernel = kernel
        self.weights = weights
        self.norm = norm
        self.C = C
        self.absent_views = absent_views
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike = None, view_labels: ArrayLike = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Training rows. A view of a row is absent when all its columns are NaN there.
        y : array of shape (n_samples,)
            Class of each row.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows. C times the weight, in units of the mean over rows that have one, is the penalty of a
            row: twice the weights are the same weights. Rows of weight 0 are left out.
        view_labels : array of shape (n_samples, n_views), default=None
            Label of each row by each view, where they disagree; `y` then supplies `classes_` only. A row is of
            the class that most of its views name, since they share one machine.

        Returns
        -------
        self
            The fitted classifier.
        """
        return self._fit(X, y, sample_weight, view_labels)

    def _check_settings(self) -> None:
        super()._check_settings()
        if isinstance(self.norm, bool) or not (isinstance(self.norm, Real) and 1 <= self.norm < np.inf):
            raise ValueError(f"norm must be a number of at least 1; got {self.norm!r}.")
        if isinstance(self.weights, str) and self.weights == "sdp" and self.norm != 1:
            raise ValueError(f"weights='sdp' is defined for norm=1; got norm={self.norm!r}. Use weights='mkl'.")
        check_solver(self.weights)

    def _scale(self, gram: FloatArray, weights: FloatArray) -> float:
        return float(np.average(np.diagonal(gram), weights=weights)) or 1.0

    def _items(self, data: TrainingData, grams: list[FloatArray]) -> Items:
        counted = data.weights > 0
        objects = object_numbers(data.blocks.present)
        return Items(objects[counted], data.majority()[counted], data.weights[counted], {})

    def _view_weights(
        self, weights: str | FloatArray, kernels: ItemKernels, problems: list[Problem], upper: FloatArray
    ) -> FloatArray:
        if not isinstance(weights, str):
            return weights
        if uses_learning(weights):
            return learn_weights(weights, kernels, problems, upper, float(self.norm), self.n_jobs)
        n_views = len(kernels.grams)
        return np.full(n_views, n_views ** (-1.0 / self.norm))

    def _note_machines(self, machines: Machines) -> None:
        self.objective_ = machines.objective


def check_solver(weights: Any) -> None:
    """Refuse ``weights="sdp"`` where its solver is missing, before the kernels are computed."""
    if isinstance(weights, str) and weights == "sdp":
        _conic_solver()


def learn_weights(
    kind: str,
    kernels: ItemKernels,
    problems: list[Problem],
    upper: FloatArray,
    norm: float,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return weights of norm 1 for kernels of mean diagonal 1; `kind` is "mkl" or "sdp"."""
    if kind == "sdp":
        return conic_weights(kernels, problems, upper)
    return alternated_weights(kernels, problems, upper, norm, n_jobs)


def alternated_weights(
    kernels: ItemKernels, problems: list[Problem], upper: FloatArray, norm: float, n_jobs: int | None = None
) -> FloatArray:
    """Solve the machines for the weights and the weights for the machines, in turns, until the two bounds meet.

    The weights that are best for given machines have a closed form, μ_m ∝ ‖w_m‖^(2/(p + 1)) with
    ‖w_m‖² = μ_m² (α·y)ᵀ K_m (α·y) (Kloft, Brefeld, Sonnenburg and Zien, JMLR 2011).
    """
    weights: FloatArray = np.full(len(kernels.grams), len(kernels.grams) ** (-1.0 / norm))
    machines = None
    for _ in range(MOST_ROUNDS):
        gram = kernels.matrix(weights)
        machines = fit_machines(gram, problems, upper, start=machines, tolerance=1e-4, n_jobs=n_jobs)
        norms = kernels.squared_norms(machines.coefficients)
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


def conic_weights(kernels: ItemKernels, problems: list[Problem], upper: FloatArray) -> FloatArray:
    """Return weights of sum 1 for kernels of mean diagonal 1, by a conic solver.

    For weights μ ≥ 0 the semi-definite program of Lanckriet et al. becomes a quadratically constrained one,

        max over α and t  of  Σα − ½ t,    t ≥ (α·y)ᵀ K_m (α·y) for every m,    0 ≤ α ≤ C,  yᵀα = 0,

    whose multipliers are the weights.
    """
    cvxpy = _conic_solver()
    alphas = [cvxpy.Variable(len(problem.items)) for problem in problems]
    bound = cvxpy.Variable()
    limits, box = [], []
    for view in range(len(kernels.grams)):
        factor = _factor(kernels.of_view(view))
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


def _conic_solver() -> ModuleType:
    """Import CVXPY, or raise an error that names the extra that brings it."""
    try:
        import cvxpy
    except ImportError:
        raise ImportError(
            "weights='sdp' needs CVXPY and Clarabel: pip install 'fuselearn[sdp]', or use weights='mkl'."
        ) from None
    return cvxpy


def _factor(gram: FloatArray) -> FloatArray:
    """Return F with FᵀF = gram, of as many rows as the kernel has directions."""
    values, vectors = eigh(gram)
    kept = values > max(values[-1], 0.0) * len(gram) * np.finfo(float).eps
    return (vectors[:, kept] * np.sqrt(values[kept])).T
