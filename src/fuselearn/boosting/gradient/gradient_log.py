"""The log of a run of gradient boosting, from which a run that was killed goes on.

The scores of the rows follow from the data and the trees so far, so a round is its view, its trees and the losses after
it: about five kilobytes for a tree of 31 leaves. Bins and first scores follow from the data. The file is that of
`fuselearn.boosting.checkpoint`.
"""

import math
import os
from dataclasses import fields
from typing import Any

import numpy as np

from fuselearn._version import __version__
from fuselearn.boosting.checkpoint import RunLog, described_setting
from fuselearn.boosting.gradient.gradient_data import GradientData
from fuselearn.boosting.gradient.gradient_plan import GradientPlan
from fuselearn.boosting.gradient.gradient_rounds import GradientRound, GradientTrace, RunSettings
from fuselearn.boosting.gradient.stored_trees import check_splits, earlier_trees, joined_trees
from fuselearn.boosting.gradient.tree_format import GradientTree
from fuselearn.boosting.trace_format import check_start, read_array, written_array
from fuselearn.numeric.gradients import ALL_VIEWS
from fuselearn.typing import IntArray

EVERY = 10
"""Rounds after which the log is written. The first is written at once."""
TREE_ARRAYS = tuple(field.name for field in fields(GradientTree))


class GradientLog(RunLog[GradientTrace, bool]):
    """The log of a run of gradient boosting.

    Parameters
    ----------
    path : str or path-like
        The file. One that is there must be the log of some run.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # What is remembered of the lines so far is whether the losses before the first round are among them.
        super().__init__(path, EVERY, False)
        self._found = self._stored()

    @property
    def seed(self) -> int | None:
        """Seed of the run whose log was there; None where there was none."""
        if self._found is None:
            return None
        with self._reading():
            check_start(self._found.start["seed"], self._found.start["horizon"])
            return int(self._found.start["seed"])

    def open(
        self, identity: dict[str, Any], trace: GradientTrace, data: GradientData, plan: GradientPlan, run: RunSettings
    ) -> tuple[GradientTrace, bool]:
        """Return the trace of the log that was there, or begin one for a new trace; and whether it is exhausted.

        Parameters
        ----------
        identity : dict of str to JSON value
            Settings and data of the run. A log of another run is refused.
        trace : GradientTrace
            A run that has not begun.
        data, plan, run
            Data, plan and settings of the run, whose views, bins and scores the trees must fit.
        """
        stored = self._found
        if stored is None:
            self._begin(identity, {"seed": trace.seed, "horizon": trace.horizon}, False)
            return trace, False
        self._check_identity(stored, identity)
        with self._reading():
            trace = GradientTrace(stored.start["seed"], stored.start["horizon"])
            for value in stored.values:
                if "losses" in value:
                    if trace.initial_losses is not None:
                        raise ValueError("it has the losses before the first round twice")
                    trace.initial_losses = _read_losses(value["losses"], run)
                else:
                    trace.rounds.append(_read_round(value["round"], len(trace), data, run))
            if trace.initial_losses is None and (trace.rounds or stored.exhausted):
                raise ValueError("it does not have the losses before the first round")
            check_splits(joined_trees(trace), data.view_places, plan.binning, data.categorical)
            self._continue(stored, trace, trace.initial_losses is not None)
        return trace, stored.exhausted

    def _new_values(self, trace: GradientTrace, n_rounds: int, written: bool) -> tuple[list[Any], bool]:
        """Return the losses before the first round and new rounds as JSON values."""
        values: list[Any] = []
        if trace.initial_losses is not None and not written:
            values.append({"losses": _written_losses(*trace.initial_losses)})
        values += [{"round": _written_round(round_)} for round_ in trace.rounds[n_rounds:]]
        return values, trace.initial_losses is not None


def gradient_identity(
    model: Any, data: GradientData, settings: RunSettings, monotonic: IntArray, drawn_seed: int
) -> dict[str, Any]:
    """Return the settings and data that make a run this run, as JSON values that can be kept and compared.

    The number of rounds is not among them, since a run may be made longer. Rows that early stopping holds out are among
    the data.

    Parameters
    ----------
    model : BaseGradientBoosting
        The estimator.
    data : GradientData
        The rows, of which a plan was made.
    settings : RunSettings
        Settings of the run.
    monotonic : int8 ndarray of shape (n_features,)
        Sign of each column of X by `monotonic_cst`.
    drawn_seed : int
        Seed by `random_state`.
    """
    names, categories, growth = data.features.get("feature_names_in_"), data.categories, settings.growth
    in_categories = {} if categories is None else dict(zip(categories.columns.tolist(), map(list, categories.values)))
    loss = {name: described_setting(getattr(model, name)) for name in ("loss", "class_weight") if hasattr(model, name)}
    return {
        "fuselearn": __version__,
        "model": type(model).__name__,
        **loss,
        "quantile": growth.leaf_quantile,
        "trees": model.trees,
        "view_policy": described_setting(settings.view_policy),
        "learning_rate": growth.learning_rate,
        "max_leaf_nodes": growth.max_leaf_nodes,
        "min_samples_leaf": growth.min_samples_leaf,
        "l2_regularization": growth.l2_regularization,
        "max_bins": int(model.max_bins),
        "monotonic_cst": monotonic.tolist(),
        "early_stopping": settings.n_iter_no_change is not None,
        "validation_fraction": None if settings.n_iter_no_change is None else float(model.validation_fraction),
        "n_iter_no_change": settings.n_iter_no_change,
        "random_state": None if model.random_state is None else drawn_seed,
        "views": {name: columns.tolist() for name, columns in zip(data.names, data.columns)},
        "feature names": None if names is None else [str(name) for name in names],
        "categorical_features": {str(column): values for column, values in in_categories.items()},
        "classes": None if data.classes is None else [repr(label) for label in data.classes.tolist()],
        "view_labels": data.n_label_columns > 1,
        "weight of a row": data.weight_scale.largest,
        **data.fingerprint(),
    }


def _written_round(round_: GradientRound) -> dict[str, Any]:
    """Return a round as a JSON value."""
    return {
        "view": int(round_.view),
        "trees": [
            {name: written_array(getattr(finished.tree, name)) for name in TREE_ARRAYS} for finished in round_.trees
        ],
        "losses": _written_losses(round_.training_loss, round_.held_out_loss),
    }


def _read_round(written: dict[str, Any], number: int, data: GradientData, settings: RunSettings) -> GradientRound:
    """Return a round whose trees are sound, read columns that there are, and are as many as a row has scores."""
    view, n_trees = written["view"], len(written["trees"])
    n_views = 0 if settings.view_policy is None else settings.n_views
    if type(view) is not int or not (view == ALL_VIEWS if n_views == 0 else 0 <= view < n_views):
        raise ValueError(f"it has trees of the view {view!r:.60}; there are {n_views} views that trees are of")
    if n_trees != settings.n_outputs:
        raise ValueError(f"it has a round of {n_trees} trees; a round has {settings.n_outputs}")
    trees = [_read_tree(tree, data.used_columns) for tree in written["trees"]]
    return GradientRound(view, earlier_trees(number, view, trees), *_read_losses(written["losses"], settings))


def _read_tree(written: dict[str, Any], used_columns: IntArray) -> GradientTree:
    """Return a tree that is sound, and reads columns by their places among the used ones."""
    tree = GradientTree(**{name: read_array(written[name]) for name in TREE_ARRAYS})
    tree.validate()
    tree.check_columns(len(used_columns))
    return tree


def _written_losses(training: float, held_out: float) -> list[float | None]:
    """Return the losses of training and held-out rows as a JSON value; None where no rows are held out."""
    return [float(training), None if np.isnan(held_out) else float(held_out)]


def _read_losses(written: list[Any], settings: RunSettings) -> tuple[float, float]:
    """Return the losses of training and held-out rows; NaN where no rows are held out."""
    training, held_out = written
    expected = [training] if settings.n_iter_no_change is None else [training, held_out]
    if not all(type(loss) is float and math.isfinite(loss) for loss in expected):
        raise ValueError(f"it has the losses {written!r:.60}, which are not finite numbers")
    if len(expected) == 1 and held_out is not None:
        raise ValueError(f"it has the loss {held_out!r:.60} of held-out rows; none are held out")
    return training, np.nan if held_out is None else held_out
