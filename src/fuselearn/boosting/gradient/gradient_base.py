"""The base of the gradient boosting estimators: `fit`, which reads data, runs the rounds and publishes the model."""

from __future__ import annotations

import os
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from fuselearn import progress
from fuselearn.arguments import check_choice, check_count, check_flag, check_jobs, check_positive, check_random_state
from fuselearn.bandits.protocol import Policy
from fuselearn.boosting.checkpoint import CannotBeKeptError, check_checkpoint
from fuselearn.boosting.gradient.gradient_data import GradientData
from fuselearn.boosting.gradient.gradient_log import GradientLog, gradient_identity
from fuselearn.boosting.gradient.gradient_plan import FirstScores, GradientPlan
from fuselearn.boosting.gradient.gradient_rounds import (
    GradientRun,
    GradientTrace,
    RunSettings,
)
from fuselearn.boosting.gradient.splitting import GrowthSettings
from fuselearn.boosting.gradient.stored_trees import joined_trees
from fuselearn.boosting.gradient.tree_format import BoostedTrees
from fuselearn.boosting.gradient.warm_start import check_same_run, recorded_trace, renumbered
from fuselearn.boosting.share import as_policy
from fuselearn.data import note_features
from fuselearn.data.categories import Categories
from fuselearn.data.held_out import check_fraction
from fuselearn.exceptions import InterruptedFitWarning, level_of_caller
from fuselearn.learners.binning import Binning
from fuselearn.numeric.gradients import ALL_VIEWS, TRAINING, WEIGHT_UNIT
from fuselearn.numeric.threads import Threads
from fuselearn.typing import ArrayLike, FloatArray, IntArray, RandomState, TableLike, Views

TREES = ("joint", "per_view")
LARGEST_SUM = 2.0**62
"""More than any sum of whole numbers over the rows of a run."""
EARLY_STOPPING_ROWS = 10_000
"""Rows above which ``early_stopping="auto"`` holds some out."""


class BaseGradientBoosting(BaseEstimator):
    """Template of gradient boosting over views. A subclass reads its labels and predicts."""

    views: Views
    trees: str
    view_policy: str | Policy
    n_estimators: int
    learning_rate: float
    max_leaf_nodes: int
    min_samples_leaf: int
    l2_regularization: float
    max_bins: int
    categorical_features: Any
    monotonic_cst: Any
    early_stopping: bool | Literal["auto"]
    validation_fraction: float
    n_iter_no_change: int
    warm_start: bool
    n_jobs: int | None
    random_state: RandomState
    verbose: int
    trees_: BoostedTrees
    baseline_: FloatArray
    binning_: Binning
    categories_: Categories | None
    view_names_: list[str]
    view_columns_: list[IntArray]

    def _fit(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike,
        view_labels: ArrayLike,
        groups: ArrayLike,
        checkpoint: str | os.PathLike[str] | None,
    ) -> Self:
        """Fit the model; the arguments are those of `fit`."""
        self._check_parameters()
        if view_labels is not None and self.trees == "joint":
            raise ValueError(
                "view_labels needs trees='per_view': a tree that reads all views (trees='joint') has one label a row."
            )
        continued = self.warm_start and hasattr(self, "trees_")
        if checkpoint is not None:
            check_checkpoint(checkpoint)
            if continued:
                raise ValueError(
                    "checkpoint cannot be used with warm_start=True on a model that is fitted: both name the run to "
                    "continue. To make the run of a log longer, set warm_start=False and a larger n_estimators."
                )
        log = None if checkpoint is None else GradientLog(checkpoint)
        data = self._read(X, y, sample_weight, view_labels, groups, reset=not continued)
        stops_early = self._stops_early(data)
        if continued:
            check_same_run(self, data, self._run_arguments(data), stops_early)
            trace = recorded_trace(self)
        else:
            seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
            # A run without a seed of its own goes on with the one it drew.
            in_log = None if log is None else log.seed
            trace = GradientTrace(seed if in_log is None else in_log, horizon=int(self.n_estimators))
        plan = data.plan(
            int(self.max_bins),
            float(self.validation_fraction) if stops_early else None,
            self._quantile(),
            trace.seed,
            self.binning_ if continued else None,
            self._first_scores() if continued else None,
        )
        check_weights(plan)
        self._warn_of_weights(plan, data.n_counted)
        settings = self._run_settings(data, plan, stops_early)
        complete = False
        if log is not None:
            signs = monotonic_signs(self.monotonic_cst, data.features)
            identity = gradient_identity(self, data, settings, signs, seed)
            trace, exhausted = log.open(identity, trace, data, plan, settings)
            if self.n_estimators < len(trace):
                raise ValueError(
                    f"n_estimators={self.n_estimators} must be at least the {len(trace)} rounds that the log "
                    f"{checkpoint} has."
                )
            # A log that is complete needs no rows any more.
            complete = exhausted or len(trace) == self.n_estimators
        if not complete:
            with (
                Threads(effective_n_jobs(self.n_jobs)) as threads,
                data.rows(plan, settings.growth, threads) as rows,
            ):
                self._run(GradientRun(rows, settings, trace), trace, log, data.names)
        # Nothing of the model is touched before this: a fit that fails leaves the last one as it was.
        self._publish(data, plan, trace, stops_early)
        return self

    @abstractmethod
    def _read(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike,
        view_labels: ArrayLike,
        groups: ArrayLike,
        *,
        reset: bool,
    ) -> GradientData:
        """Check the arguments of `fit`, and return the rows."""

    def _quantile(self) -> float | None:
        """Return the quantile that is predicted; None for the squared error, and for classes."""
        return None

    def _loss_factor(self) -> float:
        """Return the factor of the loss that scores report."""
        return 1.0

    def _check_parameters(self) -> None:
        """Refuse settings that mean nothing, before any row is read."""
        check_choice("trees", self.trees, TREES)
        as_policy(self.view_policy).check()
        check_count("n_estimators", self.n_estimators)
        check_positive("learning_rate", self.learning_rate)
        check_count("max_leaf_nodes", self.max_leaf_nodes, least=2)
        check_count("min_samples_leaf", self.min_samples_leaf)
        check_number("l2_regularization", self.l2_regularization)
        if isinstance(self.max_bins, bool) or not (isinstance(self.max_bins, Integral) and 2 <= self.max_bins <= 255):
            raise ValueError(f"max_bins must be an integer from 2 to 255; got {self.max_bins!r}.")
        if self.early_stopping != "auto" and not isinstance(self.early_stopping, bool | np.bool_):
            raise ValueError(f"early_stopping must be 'auto', True or False; got {self.early_stopping!r}.")
        check_fraction(self.validation_fraction)
        check_count("n_iter_no_change", self.n_iter_no_change)
        check_flag("warm_start", self.warm_start)
        check_jobs(self.n_jobs)
        check_count("verbose", self.verbose, least=0)

    def _stops_early(self, data: GradientData) -> bool:
        """Return whether rows are held out."""
        return data.n_counted > EARLY_STOPPING_ROWS if self.early_stopping == "auto" else bool(self.early_stopping)

    def _run_settings(self, data: GradientData, plan: GradientPlan, stops_early: bool) -> RunSettings:
        """Return the settings of the run."""
        monotonic = monotonic_signs(self.monotonic_cst, data.features)
        categorical = np.zeros(len(monotonic), dtype=bool)
        categorical[data.used_columns] = data.categorical
        if np.any(monotonic[categorical] != 0):
            column = int(np.flatnonzero(categorical & (monotonic != 0))[0])
            raise ValueError(
                f"monotonic_cst constrains column {column}, which is categorical: it has no order. Make its entry "
                "0, or give the column as numbers."
            )
        if np.any(monotonic != 0) and plan.loss.n_outputs > 1:
            raise ValueError(
                f"monotonic_cst needs two classes or a regression; got {plan.loss.n_outputs} classes, each with a "
                "score of its own. Set it to None."
            )
        growth = GrowthSettings(
            int(self.max_leaf_nodes),
            float(self.min_samples_leaf),
            float(self.l2_regularization),
            float(self.learning_rate),
            plan.units,
            plan.loss.leaf_quantile,
            plan.binning.edges,
            plan.binning.n_edges + 1,
            data.categorical,
            monotonic[data.used_columns],
        )
        return RunSettings(
            None
            if self.trees == "joint"
            else as_policy(self.view_policy).with_costs(data.names, [1] * len(data.names)),
            len(data.names),
            data.n_label_columns,
            growth,
            plan.loss.n_outputs,
            np.array(plan.loss_units) * self._loss_factor(),
            plan.role_weights,
            int(self.n_iter_no_change) if stops_early else None,
        )

    def _warn_of_weights(self, plan: GradientPlan, n_counted: int) -> None:
        """Warn of weights that vanish beside others, and where no leaf can be split, as each side would weigh less."""
        if plan.n_vanishing:
            warnings.warn(
                f"{plan.n_vanishing:,} of {n_counted:,} rows weigh less than {WEIGHT_UNIT:.1g} of the largest weight, "
                "by sample_weight and class_weight, and count as 0. Make the largest weights smaller, or leave these "
                "rows out.",
                UserWarning,
                stacklevel=level_of_caller(),
            )
        weight = float(plan.role_weights[:, TRAINING].max())
        if weight < 2 * self.min_samples_leaf:
            warnings.warn(
                f"min_samples_leaf={self.min_samples_leaf} asks for leaves of at least that weight, and the training "
                f"rows weigh {weight:.6g} in all, so that no tree can be split and the model is constant. Lower "
                "min_samples_leaf"
                f"{'' if plan.largest_weight == 1 else ', or give weights of about 1 a row'}.",
                UserWarning,
                stacklevel=level_of_caller(),
            )

    def _run(self, run: GradientRun, trace: GradientTrace, log: GradientLog | None, names: list[str]) -> None:
        """Add rounds to the trace. An interrupt ends it with the rounds that were done."""

        def after_round() -> None:
            self._report(trace, names)
            if log is not None:
                log.note(trace)

        try:
            run.run(int(self.n_estimators), after_round)
            if log is not None:
                log.write(trace, exhausted=len(trace) < self.n_estimators)
        except BaseException as error:
            if log is not None and not isinstance(error, CannotBeKeptError):
                log.write(trace)
            if not isinstance(error, KeyboardInterrupt) or not trace.rounds:
                raise
            warnings.warn(
                f"Interrupted: the model has the {len(trace)} of {self.n_estimators} rounds that were done.",
                InterruptedFitWarning,
                stacklevel=level_of_caller(),
            )

    def _report(self, trace: GradientTrace, names: list[str]) -> None:
        """Report the last round to whoever listens, and print it where `verbose` asks for it."""
        every = max(1, self.n_estimators // 10) if self.verbose == 1 else 1
        printed = bool(self.verbose) and (len(trace) % every == 0 or len(trace) == self.n_estimators)
        last = trace.rounds[-1]
        text = f"round {len(trace)} of {self.n_estimators}: loss {last.training_loss:.4f}"
        if np.isfinite(last.held_out_loss):
            text += f", on held-out rows {last.held_out_loss:.4f}"
        if last.view != ALL_VIEWS:
            text += f", {names[last.view]!r}"
        progress.report(self, len(trace), self.n_estimators, text, printed=printed)

    def _publish(self, data: GradientData, plan: GradientPlan, trace: GradientTrace, stops_early: bool) -> None:
        """Set the fitted attributes."""
        note_features(self, data.features)
        self.view_names_, self.view_columns_ = data.names, data.columns
        self.categories_ = data.categories
        self.binning_ = plan.binning
        self.baseline_ = plan.baseline
        self.trees_ = renumbered(joined_trees(trace), data.used_columns)
        self.n_iter_ = len(trace)
        self.winning_views_ = np.array([round_.view for round_ in trace.rounds], dtype=np.intp)
        self.train_score_ = -trace.training_losses
        self.validation_score_ = -trace.held_out_losses if stops_early else np.empty(0)
        self.feature_importances_ = shares(gains_of_columns(self.trees_, self.n_features_in_))
        self.view_importances_ = shares(gains_of_views(self.trees_, data.columns))
        self.n_samples_fit_ = data.n_counted
        self._seed, self._horizon = trace.seed, trace.horizon
        self._arguments = self._run_arguments(data)

    def _first_scores(self) -> FirstScores:
        """Return the scores before the first tree of the last fit, and how far its trees may move them."""
        return FirstScores(self.baseline_, float(np.abs(np.stack(self.trees_.leaf_bounds())).max(axis=0).sum()))

    def _run_arguments(self, data: GradientData) -> dict[str, Any]:
        """Return the arguments that a warm start may not change, and that nothing else of a model tells of."""
        return {"max_bins": int(self.max_bins), "view_labels": data.n_label_columns > 1}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def check_number(name: str, value: object) -> None:
    """Refuse a value that is not a finite number of at least 0."""
    if isinstance(value, bool) or not (isinstance(value, Real) and 0 <= float(value) < np.inf):
        raise ValueError(f"{name} must be a number of at least 0; got {value!r}.")


def check_weights(plan: GradientPlan) -> None:
    """Refuse weights by which losses become so large that their sum may be beyond the largest number."""
    with np.errstate(over="ignore"):
        largest_sums = np.array([*plan.units, plan.loss_unit]) * LARGEST_SUM
    if not np.isfinite(largest_sums).all():
        raise ValueError(
            f"sample_weight holds weights up to {plan.largest_weight:.3g}, and sums of losses that they multiply are "
            "not finite. Divide them by a number."
        )


def monotonic_signs(monotonic_cst: Any, features: Mapping[str, Any]) -> IntArray:
    """Return the sign of each column of X that `monotonic_cst` means: -1, 0 or 1."""
    n_features = features["n_features_in_"]
    signs = np.zeros(n_features, dtype=np.int8)
    if monotonic_cst is None:
        return signs
    if isinstance(monotonic_cst, Mapping):
        names = features.get("feature_names_in_")
        if names is None:
            raise ValueError("monotonic_cst is a dict of column names, but X has no column names; pass a sequence.")
        places = {name: place for place, name in enumerate(names)}
        unknown = [name for name in monotonic_cst if name not in places]
        if unknown:
            raise ValueError(
                f"monotonic_cst names the column {unknown[0]!r}, which X does not have; its columns are "
                f"{list(names[:20])}."
            )
        for name, sign in monotonic_cst.items():
            signs[places[name]] = _sign(sign)
        return signs
    if not isinstance(monotonic_cst, Sequence | np.ndarray) or isinstance(monotonic_cst, str):
        raise ValueError(
            "monotonic_cst must be None, a sequence of -1, 0 and 1 for the columns, or a dict of column names; got "
            f"{monotonic_cst!r:.60}."
        )
    values: Sequence[Any] = list(monotonic_cst)
    if len(values) != n_features:
        raise ValueError(
            f"monotonic_cst must have an entry for each of the {n_features} columns, 0 for those without a constraint; "
            f"got {len(values)}."
        )
    return np.array([_sign(value) for value in values], dtype=np.int8)


def _sign(value: Any) -> int:
    """Return a monotonic constraint that means something."""
    if isinstance(value, bool) or not (isinstance(value, Real) and float(value) in (-1, 0, 1)):
        raise ValueError(f"monotonic_cst must hold -1, 0 and 1 only; got {value!r}.")
    return round(float(value))


def gains_of_columns(trees: BoostedTrees, n_features: int) -> FloatArray:
    """Return the sum of the gains of the splits on each column."""
    inner = trees.column >= 0
    return np.bincount(trees.column[inner], trees.gain[inner], minlength=n_features).astype(np.float64)


def gains_of_views(trees: BoostedTrees, view_columns: Sequence[IntArray]) -> FloatArray:
    """Return the sum of the gains of the splits of each view; that on a column of several views counts in parts."""
    if len(trees) and trees.view[0] >= 0:
        tree_of_node = np.repeat(np.arange(len(trees)), np.diff(trees.starts))
        return np.bincount(trees.view[tree_of_node], trees.gain, minlength=len(view_columns)).astype(np.float64)
    n_features = max((int(columns.max()) for columns in view_columns), default=-1) + 1
    gains = gains_of_columns(trees, n_features)[:n_features]
    n_views = np.bincount(np.concatenate(view_columns), minlength=n_features)
    return np.array([np.sum(gains[columns] / n_views[columns]) for columns in view_columns])


def shares(gains: FloatArray) -> FloatArray:
    """Return parts of a whole; zeros where there is nothing to share."""
    total = gains.sum()
    return gains / total if total > 0 else np.zeros(len(gains))
