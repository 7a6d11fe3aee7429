"""A trace that was read from a file: whether its numbers lead anywhere but where they should.

Compiled code walks trees and adds up votes without looking at bounds. A log has a checksum, which tells that it was
written whole, and not by whom. So what it holds is looked at before any of it meets the rows.
"""

import math

import numpy as np

from fuselearn.learners.adapter import AsGiven
from fuselearn.learners.binning import Binning
from fuselearn.learners.growing import TreeHypothesis
from fuselearn.learners.scoring import ScoreHypothesis
from fuselearn.learners.standardisation import Standardisation
from fuselearn.persistence.decision_trees import check_links
from fuselearn.persistence.votes import check_hypothesis, width_after

MOST_EDGES = 254
"""Between the bins of a column, which are numbered by a byte with one left for missing values."""
TREE_KINDS = {
    "feature": "i",
    "cut_bin": "i",
    "threshold": "f",
    "missing_left": "b",
    "left": "i",
    "right": "i",
    "code": "i",
}


def check_trace(trace, preprocessors, view_columns, n_classes):
    """Refuse a trace with arms, columns, classes or nodes that are not there.

    Parameters
    ----------
    trace : Trace
    preprocessors : list of transformer or None
    view_columns : list of int
        Number of columns of each view as it was given.
    n_classes : int
    """
    if type(trace.seed) is not int or type(trace.horizon) is not int or trace.horizon < 1:
        raise ValueError("its seed and number of rounds are not whole numbers")
    if len(preprocessors) != len(view_columns):
        raise ValueError(f"it has {len(preprocessors)} preprocessors for {len(view_columns)} views")
    widths = [width_after(transformer, n_columns) for transformer, n_columns in zip(preprocessors, view_columns)]
    for (view, *_), plan in trace.plans.items():
        if not _is_number(view, len(widths)):
            raise ValueError(f"it has a plan of the view {view!r:.20}")
        _check_plan(plan, widths[view])
    width_of_arm = np.repeat(widths, trace.settings.arms_of_views).tolist()
    for round_ in trace.rounds:
        _check_round(round_, width_of_arm, n_classes)


def _check_round(round_, width_of_arm, n_classes):
    n_arms = len(width_of_arm)
    for update in round_.updates:
        if not _is_number(update.arm, n_arms):
            raise ValueError(f"it has the arm {update.arm!r:.20}; there are {n_arms}")
        if type(update.alpha) not in (int, float) or not math.isfinite(update.alpha):
            raise ValueError(f"it has the vote {update.alpha!r:.20}")
        if update.hypothesis is not None:
            _check_hypothesis(update.hypothesis, width_of_arm[update.arm], n_classes)
    if not all(_is_number(arm, n_arms) for arm in round_.arm_errors):
        raise ValueError("it has errors of arms that there are not")
    if not all(type(value) in (int, float) for value in (round_.error, round_.normaliser, *round_.arm_errors.values())):
        raise ValueError("it has errors that are not numbers")
    if round_.probabilities is not None and np.shape(round_.probabilities) != (n_arms,):
        raise ValueError(f"it has other probabilities than one for each of {n_arms} arms")


def _check_hypothesis(hypothesis, n_columns, n_classes):
    _check_plan(hypothesis.plan, n_columns)
    if isinstance(hypothesis, TreeHypothesis):
        arrays = {name: getattr(hypothesis, name) for name in TREE_KINDS}
        if any(array.dtype.kind != TREE_KINDS[name] for name, array in arrays.items()):
            raise ValueError("it has a tree whose nodes are of another kind")
        if len({array.shape for array in arrays.values()}) > 1:
            raise ValueError("it has a tree of arrays that differ in length")
        try:
            check_links(arrays["feature"] >= 0, arrays["left"], arrays["right"], arrays["feature"], n_columns)
        except ValueError as error:
            raise ValueError(f"it {error}") from None
    if isinstance(hypothesis, ScoreHypothesis):
        _check_floats(hypothesis.squares, hypothesis.slopes, hypothesis.column_constants, hypothesis.constants)
    check_hypothesis(hypothesis, n_columns, n_classes)


def _check_plan(plan, n_columns):
    if not isinstance(plan, AsGiven | Binning | Standardisation) or plan.n_columns != n_columns:
        raise ValueError(f"it has a {type(plan).__name__} for the plan of a view of {n_columns} columns")
    if isinstance(plan, Binning):
        _check_floats(plan.edges)
        edges, n_edges = plan.edges, plan.n_edges
        if edges.ndim != 2 or n_edges.shape != (n_columns,) or len(edges) != n_columns or n_edges.dtype.kind != "i":
            raise ValueError("it has bins of other columns than the view")
        if edges.shape[1] > MOST_EDGES or np.any((n_edges < 0) | (n_edges > edges.shape[1])):
            raise ValueError("it has bins that are out of range")
    elif isinstance(plan, Standardisation):
        _check_floats(plan.means, plan.scales, plan.largest_variances)
        if not plan.means.shape == plan.scales.shape == plan.largest_variances.shape == (n_columns,):
            raise ValueError("it has means and spreads of other columns than the view")


def _check_floats(*arrays):
    if any(array.dtype != np.float64 for array in arrays):
        raise ValueError("it has numbers of another kind than a run makes")


def _is_number(value, limit):
    """Whether a value is a whole number from 0 to below a limit."""
    return type(value) is int and 0 <= value < limit
