"""The arms of a fusion: every view, and all views side by side, with every learner."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from fuselearn.boosting.gradient.classifier import ShareGradientBoostingClassifier
from fuselearn.boosting.gradient.regressor import ShareGradientBoostingRegressor
from fuselearn.classifiers.adapter import (
    check_classifier,
    check_one_column_per_class,
    check_takes_weights,
    check_values,
    is_frozen,
    takes_nan,
)
from fuselearn.classifiers.cross_fitting import groups_among
from fuselearn.classifiers.regressors import check_regressor
from fuselearn.data import ViewBlocks
from fuselearn.fusion.base_models import Arm, FittedModel, PreparedRows
from fuselearn.fusion.base_models.absent_views import ViewImputer
from fuselearn.fusion.base_models.boosted_trees import BoostedTreesModel
from fuselearn.fusion.base_models.cross_fitted import CrossFittedModel, CrossFittedRows
from fuselearn.fusion.base_models.cross_fitted_regressors import CrossFittedRegressors, RegressorRows
from fuselearn.fusion.base_models.forests import ForestModel, ForestRows
from fuselearn.fusion.base_models.kernel_machines import MOST_ROWS as MOST_KERNEL_ROWS
from fuselearn.fusion.base_models.kernel_machines import WIDE, KernelMachine, KernelMachineRows, possible_scales
from fuselearn.fusion.base_models.ridge_features import RidgeModel
from fuselearn.fusion.base_models.support_vector_machines import MOST_ROWS as MOST_SVM_ROWS
from fuselearn.fusion.base_models.support_vector_machines import SupportVectorMachines, SupportVectorRows
from fuselearn.fusion.budget import FewRowsPlan
from fuselearn.numeric.gross_outliers import N_RANGES
from fuselearn.persistence.validation import check_array, check_part, described
from fuselearn.typing import AnyArray, Classifier, FloatArray, IntArray

BY_TIME = ("linear", "trees", "rbf", "svm", "boosting")
"""Built-in learners, those that take least time on few rows first; classifiers of the user's may take any."""
BUILT_IN = ("svm", "rbf", "linear", "trees", "boosting")
ALL_VIEWS = "all views"
LEAST_ROWS = 10
"""Rows that an arm needs; a view that fewer rows have is left out, unless nothing else would be left."""

MANY_ROWS = 3_000
"""Rows from which on a fusion is fitted by sums. At 3,000 and 4,500 rows of movies and diamonds, clean and with 30 %
wrong labels, that is 0.8 to 7.7 points of AUC better than the fit of few rows. On synthetic rows it depends: 4.1 better
to 0.6 worse where two views interact; 2.3 worse, at several times the cost, on clusters in 200 columns."""
FEW_ROWS_ROUNDS = 60
"""Rounds of boosting on few rows, which are not enough to stop early by."""
ROWS_TO_BOOST = 500
"""Rows from which on boosting is among the learners of numbers: 1.5 points of R² better where views interact (600
rows), 0.1 on diamonds (1,000 rows), but 0.3 worse on diabetes (331 rows)."""

Learners: TypeAlias = dict[str, "str | Classifier"]
"""Learners by name; a built-in one is its own name."""


def are_many(n_rows: int) -> bool:
    """Return whether a fusion of so many rows is fitted by sums."""
    return n_rows >= MANY_ROWS


def resolve_learners(learners: Any, n_classes: int, n_rows: int, *, by_sums: bool = False) -> Learners:
    """Check the `learners` argument and return the learners by name; `by_sums` is for a fit on many rows.

    Without classes, learners are regressors.
    """
    if isinstance(learners, str) and learners == "default":
        if by_sums:
            return {name: name for name in ("boosting", "linear", "rbf")}
        if not n_classes:
            names = ("rbf", "linear", "trees", "boosting")
            return {name: name for name in names[: 4 if n_rows >= ROWS_TO_BOOST else 3]}
        machine = "svm" if n_classes == 2 and n_rows <= MOST_SVM_ROWS else "rbf"
        return {name: name for name in (machine, "linear", "trees")}
    if isinstance(learners, Mapping):
        named = [(str(name), learner) for name, learner in learners.items()]
    else:
        listed = learners if isinstance(learners, list | tuple) else [learners]
        named = [(learner if isinstance(learner, str) else _name_of(learner), learner) for learner in listed]
    kind, built_in = ("classifier", BUILT_IN) if n_classes else ("regressor", BUILT_IN[1:])
    if not named:
        raise ValueError(f"learners is empty; name at least one of {list(built_in)}, or give {kind}s.")
    resolved: Learners = {}
    for name, learner in named:
        if isinstance(learner, str):
            if learner not in built_in:
                raise ValueError(
                    f"learners has {learner!r}, which is not known; known are {list(built_in)}, and any scikit-learn "
                    f"{kind} may be given."
                )
            if learner == "svm" and n_classes > 2:
                raise ValueError(
                    f"learners has 'svm', which is for two classes, but there are {n_classes}; 'rbf' is for any number."
                )
        else:
            what = f"learner {name!r} in learners"
            if n_classes:
                check_classifier(learner, what)
                check_values(learner, what, "FusionClassifier")
                check_one_column_per_class(learner, what, n_classes)
            else:
                check_regressor(learner, what)
            if is_frozen(learner):
                raise TypeError(
                    f"The {what} is frozen, but out-of-fold values need new fits; pass it without FrozenEstimator."
                )
        if name in resolved:
            raise ValueError(f"learners has two of the name {name!r}; give a dict of name to {kind}.")
        if isinstance(learner, str) and learner in resolved.values():
            raise ValueError(f"learners has {learner!r} twice; name a built-in learner once.")
        resolved[name] = learner
    return resolved


def check_view_names(names: Sequence[str]) -> None:
    """Refuse a view whose name stands for all views."""
    if ALL_VIEWS in names and len(names) > 1:
        raise ValueError(
            f"views has one of the name {ALL_VIEWS!r}, which stands for all of them; give it another name."
        )


def check_learners_take_weights(learners: Learners) -> None:
    """Refuse classifiers that take no row weights, where the user gave some."""
    for name, learner in learners.items():
        if not isinstance(learner, str):
            check_takes_weights(learner, f"learner {name!r} in learners")


class _Source(NamedTuple):
    """A view, or all views side by side (number None), and the rows that have it."""

    view: int | None
    name: str
    columns: IntArray
    rows: IntArray
    view_columns: list[IntArray] | None


def make_arms(
    blocks: ViewBlocks,
    learners: Learners,
    weights: FloatArray,
    groups: IntArray | None,
    classes: AnyArray | None,
    seed: int,
    imputer: ViewImputer | None = None,
    plan: FewRowsPlan | None = None,
) -> list[Arm]:
    """Return the arms of a fusion, each on the rows that have its view; rows of a group are held out together.

    `classes` is None where numbers are predicted. Arms of all views take the rows that have all of them; with an
    imputer all rows, absent views filled in. Where a plan limits the time, cross-fitting ends when it is short.
    """
    sources = _sources(blocks, with_gaps=imputer is not None)
    if groups is not None:
        sources = [source for source in sources if len(np.unique(groups[source.rows])) > 1]
    if all(source.view is None for source in sources):
        raise ValueError(
            "groups: every view is present in the rows of one group only, so that no group can be held out. Leave "
            "groups out, or give groups so that some view is present in several of them."
        )
    large = [source for source in sources if len(source.rows) >= LEAST_ROWS]
    costs = {name: _cost(learner) for name, learner in learners.items()}
    table = blocks.views[0].table
    filled = table if imputer is None else imputer.filled(table, blocks.present)
    arms: list[Arm] = []
    for source in large or [source for source in sources if source.view is not None]:
        table = filled if source.view is None else blocks.views[0].table
        values = np.ascontiguousarray(table[np.ix_(source.rows, source.columns)], dtype=np.float64)
        n_learnt = {name: _n_learnt(learner, *values.shape) for name, learner in learners.items()}
        prepares = _preparations(learners, source, values, weights[source.rows], groups, classes, plan)
        for name, prepare in prepares.items():
            arm_seed = np.random.SeedSequence(seed, spawn_key=(len(arms),))
            prepared = partial(prepare, arm_seed)
            about = source.view, source.name, name, source.rows, source.columns
            arms.append(Arm(*about, prepared, n_learnt[name], costs[name]))
    return arms


def _cost(learner: str | Classifier) -> int:
    """Return the place of a learner among all by the time that it takes."""
    return BY_TIME.index(learner) if isinstance(learner, str) else len(BY_TIME)


def _n_learnt(learner: str | Classifier, n_rows: int, n_columns: int) -> int:
    """Return the number of rows that a learner takes of few rows; some take a subsample."""
    if learner == "svm":
        return min(n_rows, MOST_SVM_ROWS)
    if learner == "rbf" or learner == "linear":
        return min(n_rows, WIDE if learner == "linear" and n_columns > WIDE else MOST_KERNEL_ROWS)
    return n_rows


def check_arms(model: Any, n_targets: int) -> int:
    """Refuse arms of a fusion, read from a file, that do not fit together; return their number."""
    n_arms = len(check_array(model, "arm_weights_", np.float64, (None,), at_least=0.0))
    if not len(model.estimators_) == len(model._arm_columns) == len(model.arms_) == n_arms:
        raise ValueError("it has other base models than arms")
    check_array(model, "_arm_offsets", np.float64, (n_arms, n_targets))
    check_array(model, "_arm_rows", np.integer, (n_arms,))
    if model._arm_fits is not None:
        check_array(model, "_arm_fits", np.integer, (n_arms,), at_least=0)
    check_array(model, "_complete_only", np.bool_, (n_arms,))
    if type(vars(model).get("_by_sums")) is not bool:
        raise ValueError("it does not tell whether it was fitted by sums")
    check_array(model, "_ranges", np.float64, (N_RANGES, model.n_features_in_), finite=False)
    check_array(model, "_arm_scores", np.float64, (n_arms,), finite=False)
    if model._imputer is not None:
        check_part(model, "_imputer", ViewImputer).check(model.view_columns_, model.n_features_in_)
    check_models(model._arm_columns, model.estimators_, model.n_features_in_, len(model.view_names_))
    return n_arms


def check_models(
    arm_columns: Sequence[tuple[int | None, IntArray]],
    models_of_arms: Sequence[Sequence[FittedModel]],
    n_columns: int,
    n_views: int,
) -> None:
    """Refuse base models, read from a file, of other columns than those of their arm, or arms of no view."""
    for (view, columns), models in zip(arm_columns, models_of_arms):
        if view is not None and not (type(view) is int and 0 <= view < n_views):
            raise ValueError(f"it has an arm of the view {described(view)}; there are {n_views} views")
        if type(columns) is not np.ndarray or columns.ndim != 1 or columns.dtype.kind != "i" or not len(columns):
            raise ValueError("it has an arm whose columns are no list of whole numbers")
        if columns.min() < 0 or columns.max() >= n_columns:
            raise ValueError(f"it has an arm that reads columns beyond the {n_columns} it was fitted on")
        for model in models:
            if isinstance(model, ForestModel):
                width = len(model.fill)
            elif isinstance(model, KernelMachine | SupportVectorMachines):
                width = len(model.parts[0].scale.centre)
            elif isinstance(model, RidgeModel):
                width = model.n_columns
            elif isinstance(model, BoostedTreesModel):
                width = model.n_features
            elif isinstance(model, CrossFittedModel | CrossFittedRegressors):  # scikit-learn counts the columns itself
                width = len(columns)
            else:
                raise ValueError(f"it has a {type(model).__name__} for a base model")
            if width != len(columns):
                raise ValueError(f"it has a {type(model).__name__} of {width} columns in an arm of {len(columns)}")


def _sources(blocks: ViewBlocks, *, with_gaps: bool) -> list[_Source]:
    """Return the views and, if there are several, all of them side by side: of rows that have all, or any of them."""
    sources = [
        _Source(number, view.name, view.columns, np.flatnonzero(blocks.present[:, number]), None)
        for number, view in enumerate(blocks.views)
    ]
    if len(sources) > 1:
        ends = np.cumsum([0, *(len(source.columns) for source in sources)])
        view_columns = [np.arange(start, stop) for start, stop in pairwise(ends)]
        columns = np.concatenate([source.columns for source in sources])
        rows = np.flatnonzero(blocks.has_view if with_gaps else blocks.present.all(axis=1))
        sources.append(_Source(None, ALL_VIEWS, columns, rows, view_columns))
    return sources


_Prepare: TypeAlias = Callable[[np.random.SeedSequence], PreparedRows]


def _preparations(
    learners: Learners,
    source: _Source,
    values: FloatArray,
    weights: FloatArray,
    groups: IntArray | None,
    classes: AnyArray | None,
    plan: FewRowsPlan | None,
) -> dict[str, _Prepare]:
    """Return functions from a seed to prepared rows, by the name of the learner."""
    scales = possible_scales(values, source.view_columns)
    groups = None if groups is None else groups_among(groups, source.rows)
    preparations: dict[str, _Prepare] = {}
    # Classes count alike, so that the mean of their targets is known; that of numbers is not.
    mean_known = classes is not None
    for name, learner in learners.items():
        if learner == "boosting":
            boosting = ShareGradientBoostingRegressor if classes is None else ShareGradientBoostingClassifier
            learner = boosting(n_estimators=FEW_ROWS_ROUNDS, max_leaf_nodes=15, random_state=0)
        if not isinstance(learner, str):
            _check_gaps(values, learner, name, source.name)
            what = f"{name} of the view {source.name!r}"
            if classes is None:
                preparations[name] = RegressorRows(learner, values, weights, groups, plan).prepared
            else:
                preparations[name] = CrossFittedRows(learner, what, values, weights, groups, classes, plan).prepared
        elif learner == "svm":
            preparations[name] = partial(SupportVectorRows, scales, values, weights, groups)
        elif learner == "trees":
            preparations[name] = lambda seed: ForestRows(values, weights, groups, mean_known)
        else:
            kernel: Literal["rbf", "linear"] = "rbf" if learner == "rbf" else "linear"
            preparations[name] = partial(
                KernelMachineRows, kernel, scales, values, weights, groups, mean_known=mean_known
            )
    return preparations


def _name_of(learner: Any) -> str:
    return (learner if isinstance(learner, type) else type(learner)).__name__.lower()


def _check_gaps(values: FloatArray, learner: Classifier, name: str, view_name: str) -> None:
    if not takes_nan(learner) and np.isnan(values).any():
        raise ValueError(
            f"The view {view_name!r} has NaN in some columns of rows that have it, which the learner {name!r} does not "
            "take. Impute it, e.g. with make_pipeline(SimpleImputer(), …)."
        )
