"""The part that the kernel classifiers share: kernels per view, machines on items, and decisions without absent views.

Machines are support vector machines on a kernel between items, one for each pair of classes as in LIBSVM.
"""

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from fuselearn.arguments import check_jobs, check_positive
from fuselearn.backends.protocol import PredictsByDecision
from fuselearn.data import TrainingData, View, ViewBlocks, note_features, per_view, read_new_rows, read_training_data
from fuselearn.kernels.composition import ItemKernels
from fuselearn.kernels.view_kernels import Kernel, ViewKernel, blurred_columns
from fuselearn.numeric.svm import Solution, solve_svm
from fuselearn.numeric.votes import one_against_one, pairs_of_classes, prior_votes
from fuselearn.persistence.validation import check_array, check_classes, check_parts, check_views
from fuselearn.typing import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray, TableLike, Views


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
    gram: FloatArray,
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
        gram_of_items = gram if len(items) == len(gram) else gram[np.ix_(items, items)]
        return solve_svm(gram_of_items, problem.signs, upper[items], tolerance=tolerance, alpha=alpha)

    solutions = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(solve)(problem, alpha) for problem, alpha in zip(problems, starts)
    )
    if not all(solution.converged for solution in solutions):
        warnings.warn(
            "A support vector machine has not converged: lower C, or bring the views to a common scale (the kernel's "
            f"largest value is {np.abs(np.diagonal(gram)).max():.3g}).",
            ConvergenceWarning,
            stacklevel=4,
        )
    rows = np.repeat(np.arange(len(problems)), [len(problem.items) for problem in problems])
    values = np.concatenate([solution.alpha * problem.signs for solution, problem in zip(solutions, problems)])
    items = np.concatenate([problem.items for problem in problems])
    kept = values != 0
    coefficients = csr_array((values[kept], (rows[kept], items[kept])), shape=(len(problems), len(gram)))
    return Machines(
        coefficients,
        np.array([solution.intercept for solution in solutions]),
        -sum(solution.objective for solution in solutions),
        [solution.alpha for solution in solutions],
    )


CHUNK_ROWS = 2048
"""Rows whose kernels with the support vectors are there at the same time."""
LEARNT = ("mkl", "sdp")
"""Settings of `weights` that ask for learning them."""


class Items(NamedTuple):
    """The items that a machine is trained on.

    Attributes
    ----------
    objects : intp ndarray of shape (n_items, n_views)
        Number of each item's object in each view, -1 where it has none.
    codes : int ndarray of shape (n_items,)
        Class code of each item.
    weights : ndarray of shape (n_items,)
        How much each item counts.
    attributes : dict
        Fitted attributes to set on the classifier.
    """

    objects: IntArray
    codes: IntArray
    weights: FloatArray
    attributes: dict[str, AnyArray]


class BaseKernelFusion(PredictsByDecision, ClassifierMixin, BaseEstimator):
    """Template of a support vector machine on kernels of several views.

    A subclass chooses the items that the machine is trained on (`_items`), the scale that each kernel is divided by
    (`_scale`), and the weight of each view's kernel (`_view_weights`).
    """

    views: Views
    kernel: Kernel | Mapping[str, Kernel]
    weights: str | Mapping[str, float] | Sequence[float] | FloatArray
    C: float
    n_jobs: int | None

    _items_have_all_views = True
    """True if an item has as many views as a test object, so that a sum over fewer has to be scaled up."""

    def fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Training rows. A view of a row is absent when all its columns are NaN there.
        y : array of shape (n_samples,)
            Class of each row.

        Returns
        -------
        self
            The fitted classifier.
        """
        self._check_settings()
        data = read_training_data(self, X, y)
        weights = check_weights(self.weights, data.names)
        kernel_of_views = per_view("kernel", self.kernel, data.names, complete=True)
        for view in data.blocks:
            _check_no_gaps(view)
        kernels = [
            ViewKernel.fitted(view.name, kernel, view.array()) for view, kernel in zip(data.blocks, kernel_of_views)
        ]
        self._check_rows(data)
        grams = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(kernel.gram)(view.array()) for kernel, view in zip(kernels, data.blocks)
        )
        _warn_of_lost_precision(data, kernels, grams)
        scales = np.array([self._scale(gram) for gram in grams])
        for gram, scale in zip(grams, scales):
            gram /= scale
        items = self._items(data, grams)
        item_kernels, problems = ItemKernels(grams, items.objects), problems_of(items.codes, len(data.classes))
        upper = self.C * items.weights
        view_weights = self._view_weights(weights, item_kernels, problems, upper)
        machines = fit_machines(item_kernels.combined(view_weights), problems, upper, n_jobs=self.n_jobs)
        self._publish(data, item_kernels, view_weights, machines)
        self.kernels_, self.kernel_scales_ = kernels, scales
        for name, value in items.attributes.items():
            setattr(self, name, value)
        return self

    def decision_function(self, X: TableLike) -> FloatArray:
        """Return the signed distance to the separating surface, in the scale of the margin.

        A view that a row lacks drops out of the sum over the views, and those that are there are scaled up by the
        share of the weights that is missing. A row without any view gets the prior.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows to decide on.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes
            Positive means ``classes_[1]``. With more classes of shape (n_samples, n_classes): how many of the others
            each class beats, and how clearly.
        """
        check_is_fitted(self)
        table = read_new_rows(self, X)
        starts = range(0, len(table), CHUNK_ROWS)
        return np.concatenate([self._decision_values(table[start : start + CHUNK_ROWS], start) for start in starts])

    def validate(self) -> None:
        """Refuse a classifier, read from a file, whose kernels, support vectors and classes do not fit together.

        :func:`fuselearn.load` calls it.

        Raises
        ------
        ValueError
            The numbers of views, columns, support vectors or classes do not agree.
        """
        check_views(self)
        if "classes_" not in vars(self):
            return
        n_classes, n_views = check_classes(self), len(self.view_names_)
        if n_classes < 2 or "class_prior_" not in vars(self):
            raise ValueError("it has less than two classes, or no prior of them")
        n_problems = len(pairs_of_classes(n_classes))
        check_array(self, "intercept_", np.float64, (n_problems,))
        check_array(self, "kernel_weights_", np.float64, (n_views,), at_least=0.0)
        if not (check_array(self, "kernel_scales_", np.float64, (n_views,)) > 0).all():
            raise ValueError("it has kernels that are divided by 0 or less")
        parts = [
            check_parts(self, "kernels_", (ViewKernel,)),
            *(check_parts(self, name, (np.ndarray,)) for name in ("support_", "support_rows_", "dual_coef_")),
        ]
        if any(len(part) != n_views for part in parts):
            raise ValueError("it has other kernels or support vectors than views")
        for columns, kernel, places, rows, coefficients in zip(self.view_columns_, *parts):
            n_columns, n_support = len(columns), len(places)
            if places.ndim != 1 or places.dtype.kind != "i" or (n_support and places.min() < 0):
                raise ValueError("it has support vectors that are not rows of a table")
            if rows.shape != (n_support, n_columns) or rows.dtype not in (np.float64, np.float32):
                raise ValueError("it has support vectors of other columns than their view")
            if coefficients.shape != (n_problems, n_support) or coefficients.dtype != np.float64:
                raise ValueError("it has other coefficients than support vectors and pairs of classes")
            if kernel.centre is not None and len(kernel.centre) != n_columns:
                raise ValueError("it has a kernel of other columns than its view")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # A row whose only view is absent has nothing left.
        tags.input_tags.allow_nan = self.views is not None
        return tags

    def _check_settings(self) -> None:
        """Check the settings that do not depend on the data."""
        check_positive("C", self.C)
        check_jobs(self.n_jobs)

    def _check_rows(self, data: TrainingData) -> None:
        """Refuse rows that this kind of fusion cannot work on, before any kernel is computed."""

    @abstractmethod
    def _items(self, data: TrainingData, grams: list[FloatArray]) -> Items:
        """Return the items that the machine is trained on; `grams` are kernels between the rows that have a view."""

    def _scale(self, gram: FloatArray) -> float:
        """Return the number that a kernel matrix is divided by."""
        return 1.0

    @abstractmethod
    def _view_weights(
        self, weights: str | FloatArray, kernels: ItemKernels, problems: list[Problem], upper: FloatArray
    ) -> FloatArray:
        """Return the weight of each view's scaled kernel, from the checked setting."""

    def _publish(self, data: TrainingData, kernels: ItemKernels, view_weights: FloatArray, machines: Machines) -> None:
        """Set the fitted attributes."""
        note_features(self, data.features)
        self.classes_, self.view_names_, self.view_columns_ = data.classes, data.names, data.columns
        self.class_prior_ = np.bincount(data.codes[:, 0]) / len(data)
        self.kernel_weights_ = view_weights
        self.intercept_ = machines.intercepts
        self.support_: list[IntArray] = []
        self.support_rows_: list[FloatArray] = []
        self.dual_coef_: list[FloatArray] = []
        for view, coefficients in zip(data.blocks, kernels.sums_on_objects(machines.coefficients)):
            # Sums over items: an object of a view whose coefficients are all 0 is not kept.
            kept = np.flatnonzero(coefficients.any(axis=0))
            values = view.array()
            self.support_.append(kept if view.rows is None else view.rows[kept])
            self.support_rows_.append(np.ascontiguousarray(values[kept]))
            self.dual_coef_.append(coefficients[:, kept])

    def _decision_values(self, table: FloatArray, start: int) -> FloatArray:
        """Return the decision values of a chunk of rows, the first being row `start` of `X`."""
        blocks = ViewBlocks.of(table, self.view_names_, self.view_columns_)
        sums = np.zeros((len(table), len(self.intercept_)))
        for number, view in enumerate(blocks):
            _check_no_gaps(view, start)
            if len(view) and len(self.support_[number]):
                values = self.kernels_[number].between(view.array(), self.support_rows_[number])
                factor = self.kernel_weights_[number] / self.kernel_scales_[number]
                rows = slice(None) if view.rows is None else view.rows
                sums[rows] += factor * (values @ self.dual_coef_[number].T)
        weight_present = blocks.present @ self.kernel_weights_
        undecided: BoolArray = weight_present == 0
        if self._items_have_all_views:
            sums *= (self.kernel_weights_.sum() / np.where(undecided, 1.0, weight_present))[:, None]
        decisions = sums + self.intercept_
        votes = prior_votes(self.class_prior_)
        if len(votes) == 2:
            return np.where(undecided, votes[1] - votes[0], decisions[:, 0])
        decided: FloatArray = one_against_one(decisions, len(votes))
        return np.where(undecided[:, None], votes, decided)


def object_numbers(present: BoolArray) -> IntArray:
    """Number the rows that have each view, from 0; -1 where a row lacks it, of the shape of `present`."""
    return np.where(present, np.cumsum(present, axis=0) - 1, -1)


def uses_learning(weights: Any) -> bool:
    """Return whether the setting `weights` asks for learning them."""
    return isinstance(weights, str) and weights in LEARNT


def check_weights(weights: Any, names: list[str]) -> str | FloatArray:
    """Check the setting `weights`: "uniform", "mkl", "sdp", or a number of at least 0 for each view."""
    if isinstance(weights, str):
        if weights not in ("uniform", *LEARNT):
            raise ValueError(
                f"weights must be 'uniform', 'mkl', 'sdp', or a number for each of the views {names}; got {weights!r}."
            )
        return weights
    if isinstance(weights, Mapping):
        weights = per_view("weights", weights, names, complete=True)
    try:
        numbers = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape != (len(names),) or not np.isfinite(numbers).all() or (numbers < 0).any() or not numbers.any():
        raise ValueError(
            f"weights must be 'uniform', 'mkl', 'sdp', or a number of at least 0 for each of the views {names}, not "
            f"all of them 0; got {weights!r}."
        )
    return numbers


def _warn_of_lost_precision(data: TrainingData, kernels: list[ViewKernel], grams: list[FloatArray]) -> None:
    """Warn once of columns and kernels whose numbers are too large for the differences between them."""
    names = data.features.get("feature_names_in_")
    losses = []
    for view, kernel, gram in zip(data.blocks, kernels, grams):
        values = view.array()
        blurred = blurred_columns(values)
        if len(blurred):
            columns = view.columns[blurred]
            shown = ", ".join(map(repr, (columns if names is None else names[columns]).tolist()[:5]))
            more = f" and {len(columns) - 5} more" if len(columns) > 5 else ""
            noun, verbs = ("column", ("has", "varies")) if len(columns) == 1 else ("columns", ("have", "vary"))
            losses.append(
                f"{noun} {shown}{more} of the view {view.name!r} {verbs[0]} values of about "
                f"{np.abs(values[:, blurred]).max():.3g}, and {verbs[1]} by less than {values.dtype} holds beside them"
            )
        elif kernel.loses_distances(gram):
            losses.append(
                f"the kernel of the view {view.name!r} has values of about {np.abs(np.diagonal(gram)).max():.3g}, and "
                "differs between rows by little more than their rounding"
            )
    if losses:
        warnings.warn(
            f"Rounding hides how rows differ: {'; '.join(losses)}. Subtract a number near the values of the columns; "
            "where they come as text or whole numbers, before they are turned into floating-point numbers.",
            UserWarning,
            stacklevel=3,
        )


def _check_no_gaps(view: View, start: int = 0) -> None:
    """Refuse a row that has some columns of a view only, since a kernel needs all; the first row is `start` of `X`."""
    values = view.array()
    with_gaps = np.isnan(values).any(axis=1)
    if with_gaps.any():
        row = np.flatnonzero(with_gaps)[0]
        row = start + (row if view.rows is None else view.rows[row])
        raise ValueError(
            f"The view {view.name!r} has NaN among its columns in row {row} of X. A kernel needs all of them; "
            "impute them, or set all of them to NaN where the view is absent."
        )
