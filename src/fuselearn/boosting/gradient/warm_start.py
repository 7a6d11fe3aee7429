"""A run that goes on where the last fit ended: its rounds, and what has to be as it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fuselearn.boosting.gradient.gradient_data import GradientData
from fuselearn.boosting.gradient.gradient_rounds import GradientRound, GradientTrace
from fuselearn.boosting.gradient.stored_trees import earlier_trees
from fuselearn.boosting.gradient.tree_format import BoostedTrees
from fuselearn.numeric.gradients import ALL_VIEWS
from fuselearn.typing import IntArray


def recorded_trace(model: Any) -> GradientTrace:
    """Return the rounds of the last fit of a model."""
    training, held_out = -model.train_score_, -model.validation_score_
    if not len(held_out):
        held_out = np.full(len(training), np.nan)
    trace = GradientTrace(model._seed, model._horizon, (float(training[0]), float(held_out[0])))
    places = np.full(model.n_features_in_ + 1, -1, dtype=np.int32)
    used = np.unique(np.concatenate(model.view_columns_))
    places[used] = np.arange(len(used))
    trees = renumbered(model.trees_, places)
    n_outputs = len(model.baseline_)
    for number in range(model.n_iter_):
        view = int(model.winning_views_[number])
        of_round = [trees.tree(number * n_outputs + output) for output in range(n_outputs)]
        losses = float(training[number + 1]), float(held_out[number + 1])
        trace.rounds.append(GradientRound(view, earlier_trees(number, view, of_round), *losses))
    return trace


def renumbered(trees: BoostedTrees, columns: IntArray) -> BoostedTrees:
    """Return trees that read other columns: `columns` maps the old numbers to new ones."""
    return replace(trees, column=np.where(trees.column >= 0, columns[trees.column], -1).astype(np.int32))


def check_same_run(model: Any, data: GradientData, arguments: Mapping[str, Any], stops_early: bool) -> None:
    """Refuse a warm start on other views or classes, of another kind of run, or with fewer rounds.

    `arguments` are those of the new run, which must be those of the last one.
    """
    classes = np.asarray(getattr(model, "classes_", ()))
    if data.classes is not None and not np.array_equal(data.classes, classes):
        raise ValueError(
            f"y must have the classes that the model was fitted on, {classes.tolist()}; got {data.classes.tolist()}."
        )
    same_columns = len(data.columns) == len(model.view_columns_) and all(
        map(np.array_equal, data.columns, model.view_columns_)
    )
    if data.names != model.view_names_ or not same_columns:
        raise ValueError(
            f"views must be those that the model was fitted on, {model.view_names_}; got {data.names}, or other "
            "columns of them."
        )
    is_joint = bool(np.all(model.winning_views_ == ALL_VIEWS))
    if model.n_iter_ and is_joint != (model.trees == "joint"):
        raise ValueError(_changed("trees", "joint" if is_joint else "per_view", model.trees))
    for name, before in model._arguments.items():
        if (now := arguments.get(name)) != before:
            if name == "view_labels":
                raise ValueError(
                    f"warm_start=True goes on with the run of the last fit, which was {'given' if before else 'not'}"
                    f"{'' if before else ' given'} view_labels; now they are {'missing' if before else 'given'}. Give "
                    "the same kind of labels, or set warm_start=False."
                )
            raise ValueError(_changed(name, before, now))
    if stops_early != bool(len(model.validation_score_)):
        raise ValueError(
            "warm_start=True goes on with the run of the last fit, which held "
            f"{'no' if stops_early else 'some'} rows out for early stopping; now early_stopping="
            f"{model.early_stopping!r} holds {'some' if stops_early else 'none'} out. Set it to {not stops_early}, "
            "or warm_start=False."
        )
    if model.n_estimators < model.n_iter_:
        raise ValueError(
            f"n_estimators={model.n_estimators} must be at least the {model.n_iter_} rounds that the model already "
            "has, since warm_start=True."
        )


def check_same_categorical(model: Any, columns: IntArray) -> None:
    """Refuse a warm start with other categorical columns than those of the last fit."""
    before = [] if model.categories_ is None else model.categories_.columns.tolist()
    if columns.tolist() != before:
        raise ValueError(
            "warm_start=True goes on with the run of the last fit, whose categorical columns were "
            f"{before or 'none'}; by categorical_features={model.categorical_features!r:.60} they are now "
            f"{columns.tolist() or 'none'}. Set it back, or warm_start=False."
        )


def _changed(name: str, before: object, now: object) -> str:
    """Return the message of an argument that changed."""
    return (
        f"warm_start=True goes on with the run of the last fit, whose {name} was {before!r}; it is now {now!r}. Set it "
        "back, or warm_start=False."
    )
