"""What the kernel classifiers share: kernels per view, machines on items, and decisions without absent views."""

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from fuselearn import progress
from fuselearn.arguments import check_choice, check_count, check_jobs, check_positive
from fuselearn.backends.protocol import PredictsByDecision
from fuselearn.data import TrainingData, View, ViewBlocks, note_features, per_view, read_new_rows, read_training_data
from fuselearn.explanation.explained_rows import ExplainedRows, ExplainsRows
from fuselearn.kernels.composition import ItemKernels
from fuselearn.kernels.kernel_explanation import KernelRowsToExplain
from fuselearn.kernels.machines import Machines, Problem, fit_machines, problems_of
from fuselearn.kernels.view_kernels import Kernel, ViewKernel, blurred_columns
from fuselearn.numeric.votes import one_against_one, pairs_of_classes, prior_votes
from fuselearn.persistence.validation import check_array, check_classes, check_parts, check_views
from fuselearn.typing import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray, TableLike, Views

CHUNK_ROWS = 2048
"""Rows whose kernels with the support vectors are there at the same time."""
ABSENT_VIEWS = ("scale", "neutral")
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


class BaseKernelFusion(ExplainsRows, PredictsByDecision, ClassifierMixin, BaseEstimator):
    """Template of a support vector machine on kernels of several views.

    A subclass chooses the items that the machine is trained on (`_items`), the scale that each kernel is divided by
    (`_scale`), and the weight of each view's kernel (`_view_weights`); its `fit` calls `_fit`.
    """

    views: Views
    kernel: Kernel | Mapping[str, Kernel]
    weights: str | Mapping[str, float] | Sequence[float] | FloatArray
    C: float
    n_jobs: int | None
    verbose: int | None = None  # models in files of earlier versions have none

    absent_views: str

    _items_have_all_views = True
    """True if an item has as many views as a test object, so that a sum over fewer has to be scaled up."""

    def _fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike = None, view_labels: ArrayLike = None) -> Self:
        """Fit the machine, for a subclass whose `fit` takes all or some of the arguments."""
        self._check_settings()
        data = read_training_data(self, X, y, sample_weight, view_labels)
        weights = check_weights(self.weights, data.names)
        kernel_of_views = per_view("kernel", self.kernel, data.names, complete=True)
        for view in data.blocks:
            _check_no_gaps(view)
        weights_of_views = [data.weights if view.rows is None else data.weights[view.rows] for view in data.blocks]
        kernels = [
            ViewKernel.fitted(view.name, kernel, view.array(), own if data.weighted else None)
            for view, kernel, own in zip(data.blocks, kernel_of_views, weights_of_views)
        ]
        self._check_rows(data)
        grams = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(kernel.gram)(view.array()) for kernel, view in zip(kernels, data.blocks)
        )
        self._report(1, f"kernels of {', '.join(data.names)}")
        _warn_of_lost_precision(data, kernels, grams)
        scales = np.array([self._scale(gram, own) for gram, own in zip(grams, weights_of_views)])
        for gram, scale in zip(grams, scales):
            gram /= scale
        items = self._items(data, grams)
        self._report(2, f"{len(items.codes)} items to learn from")
        item_kernels, problems = ItemKernels(grams, items.objects), problems_of(items.codes, len(data.classes))
        view_weights = self._view_weights(weights, item_kernels, problems, self.C * items.weights)
        shares = ", ".join(f"{name} {weight:.3g}" for name, weight in zip(data.names, view_weights))
        self._report(3, f"weights of the kernels: {shares}")
        self._learn(data, items, item_kernels, view_weights, problems)
        self._report(4, f"machines for {len(problems)} pairs of classes")
        note_features(self, data.features)
        self.classes_, self.view_names_, self.view_columns_ = data.classes, data.names, data.columns
        self.class_prior_ = data.class_prior()
        self.kernel_weights_ = view_weights
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
        embedded = "estimator_" in vars(self)  # a classifier of the user has other outputs than pairs of classes
        if not embedded:
            check_array(self, "intercept_", np.float64, (n_problems,))
        if self._absent_views == "neutral" and not embedded:
            check_array(self, "neutral_values_", np.float64, (n_views, n_problems))
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
            n_outputs = len(coefficients) if embedded else n_problems
            if coefficients.shape != (n_outputs, n_support) or coefficients.dtype != np.float64:
                raise ValueError("it has other coefficients than support vectors and pairs of classes")
            if kernel.centre is not None and len(kernel.centre) != n_columns:
                raise ValueError("it has a kernel of other columns than its view")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # A row whose only view is absent has nothing left.
        tags.input_tags.allow_nan = self.views is not None
        return tags

    @property
    def _absent_views(self) -> str:
        """The setting `absent_views`, of models that have it."""
        return getattr(self, "absent_views", "scale")

    def _check_settings(self) -> None:
        """Check the settings that do not depend on the data."""
        check_choice("absent_views", self._absent_views, ABSENT_VIEWS)
        check_positive("C", self.C)
        check_jobs(self.n_jobs)
        check_count("verbose", self.verbose or 0, least=0)

    def _report(self, done: int, text: str) -> None:
        """Report one of the four steps of a fit."""
        progress.report(self, done, 4, f"step {done} of 4 done: {text}", printed=bool(self.verbose))

    def _check_rows(self, data: TrainingData) -> None:
        """Refuse rows that this kind of fusion cannot work on, before any kernel is computed."""

    @abstractmethod
    def _items(self, data: TrainingData, grams: list[FloatArray]) -> Items:
        """Return the items that the machine is trained on; `grams` are kernels between the rows that have a view."""

    def _scale(self, gram: FloatArray, weights: FloatArray) -> float:
        """Return the number that a kernel matrix is divided by."""
        return 1.0

    @abstractmethod
    def _view_weights(
        self, weights: str | FloatArray, kernels: ItemKernels, problems: list[Problem], upper: FloatArray
    ) -> FloatArray:
        """Return the weight of each view's scaled kernel, from the checked setting."""

    def _learn(
        self,
        data: TrainingData,
        items: Items,
        kernels: ItemKernels,
        view_weights: FloatArray,
        problems: list[Problem],
    ) -> None:
        """Fit the machines on the items, and set what they decide by."""
        machines = fit_machines(kernels.matrix(view_weights), problems, self.C * items.weights, n_jobs=self.n_jobs)
        sums = kernels.sums_on_objects(machines.coefficients)
        self.intercept_ = machines.intercepts
        self._keep_support(data, sums)
        if self._absent_views == "neutral":
            self.neutral_values_ = np.array(
                [
                    weight * _neutral_values(own @ gram, column, problems, items.weights)
                    for weight, own, gram, column in zip(view_weights, sums, kernels.grams, kernels.objects.T)
                ]
            )
        self._note_machines(machines)

    def _note_machines(self, machines: Machines) -> None:
        """Set what a subclass tells of the machines."""

    def _keep_support(self, data: TrainingData, coefficients_of_views: list[FloatArray]) -> None:
        """Set the rows of each view that have a coefficient, and their coefficients, of shape (n_outputs, n_rows)."""
        self.support_: list[IntArray] = []
        self.support_rows_: list[FloatArray] = []
        self.dual_coef_: list[FloatArray] = []
        for view, coefficients in zip(data.blocks, coefficients_of_views):
            # Sums over items: an object of a view whose coefficients are all 0 is not kept.
            kept = np.flatnonzero(coefficients.any(axis=0))
            values = view.array()
            self.support_.append(kept if view.rows is None else view.rows[kept])
            self.support_rows_.append(np.ascontiguousarray(values[kept]))
            self.dual_coef_.append(coefficients[:, kept])

    def _parts(self, blocks: ViewBlocks, start: int) -> list[FloatArray]:
        """Return what each view adds to the outputs, of shape (n_rows, n_outputs): 0 where it is absent."""
        parts: list[FloatArray] = []
        for number, view in enumerate(blocks):
            _check_no_gaps(view, start)
            part = np.zeros((len(blocks), len(self.dual_coef_[number])))
            if len(view) and len(self.support_[number]):
                values = self.kernels_[number].between(view.array(), self.support_rows_[number])
                factor = self.kernel_weights_[number] / self.kernel_scales_[number]
                part[slice(None) if view.rows is None else view.rows] = factor * (values @ self.dual_coef_[number].T)
            parts.append(part)
        return parts

    def _rows_to_explain(self, X: TableLike) -> ExplainedRows:
        """Return rows and machines as an explanation needs them."""
        table = read_new_rows(self, X)
        return KernelRowsToExplain(self, table, ViewBlocks.of(table, self.view_names_, self.view_columns_).present)

    def _decision_values(self, table: FloatArray, start: int) -> FloatArray:
        """Return the decision values of a chunk of rows, the first being row `start` of `X`."""
        blocks = ViewBlocks.of(table, self.view_names_, self.view_columns_)
        weight_present = blocks.present @ self.kernel_weights_
        undecided: BoolArray = weight_present == 0
        decided = self._decided(blocks, start, weight_present)
        votes = prior_votes(self.class_prior_)
        if len(votes) == 2:
            return np.where(undecided, votes[1] - votes[0], decided)
        return np.where(undecided[:, None], votes, decided)

    def _decided(self, blocks: ViewBlocks, start: int, weight_present: FloatArray) -> FloatArray:
        """Return the decisions of the machines, given the weight of the views that each row has."""
        sums: FloatArray = np.zeros((len(blocks), len(self.intercept_)))
        for part in self._parts(blocks, start):
            sums += part
        if self._absent_views == "neutral":
            sums += ~blocks.present @ self.neutral_values_
        elif self._items_have_all_views:
            sums *= (self.kernel_weights_.sum() / np.where(weight_present == 0, 1.0, weight_present))[:, None]
        decisions = sums + self.intercept_
        return decisions[:, 0] if len(self.classes_) == 2 else one_against_one(decisions, len(self.classes_))


def _neutral_values(parts: FloatArray, objects: IntArray, problems: list[Problem], weights: FloatArray) -> FloatArray:
    """Return the value of each problem half-way between its classes, of parts of shape (n_problems, n_objects).

    Means of the two classes are over items that have the view, by weight.
    """
    neutral = np.zeros(len(problems))
    for number, problem in enumerate(problems):
        seen = objects[problem.items] >= 0
        items, signs = problem.items[seen], problem.signs[seen]
        values = parts[number, objects[items]]
        if len(np.unique(signs)) == 2:
            means = [np.average(values[signs == sign], weights=weights[items][signs == sign]) for sign in (-1, 1)]
            neutral[number] = 0.5 * sum(means)
    return neutral


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
