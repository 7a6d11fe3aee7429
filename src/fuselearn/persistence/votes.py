"""Ensembles whose hypotheses vote for classes that there are, and read columns that there are.

Compiled code adds up the votes without looking at bounds: a class of too high a number would be written to foreign
memory, a column of too high a number read from it. How many of both there are is known to the ensemble only, and a
hypothesis may be in several, so these are looked at once the model is built, before it predicts anything.
"""

import warnings
from types import FunctionType, ModuleType

import numpy as np

ENSEMBLE = {"estimators_", "winning_views_", "view_columns_", "preprocessors_", "class_prior_"}
"""Attributes of an ensemble that predicts by votes."""


def check_votes(model):
    """Refuse a model that holds an ensemble with classes or columns out of range.

    Parameters
    ----------
    model : estimator
        Built from a file, and not used yet.
    """
    for part in _parts(model):
        kept = getattr(part, "__dict__", {})
        try:
            if "view_columns_" in kept and type(kept.get("n_features_in_")) is int:
                _check_columns(kept["view_columns_"], kept["n_features_in_"])
            if kept.keys() >= ENSEMBLE:
                _check_ensemble(kept)
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise ValueError(
                f"it has a {type(part).__name__} that is not whole ({type(error).__name__}: {error})"
            ) from None


def _parts(model):
    """Everything that a model holds, itself included."""
    waiting, seen = [model], {}
    while waiting:
        part = waiting.pop()
        if isinstance(part, type | FunctionType | ModuleType | str | bytes | int | float | None) or id(part) in seen:
            continue
        seen[id(part)] = part  # kept, so that no other gets its number
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list | tuple | set | frozenset):
            waiting.extend(part)
        elif isinstance(part, np.ndarray):
            waiting.extend(part.ravel().tolist() if part.dtype == object else ())
        if hasattr(part, "__dict__"):
            yield part
            waiting.extend(vars(part).values())


def _check_columns(view_columns, n_columns):
    for columns in view_columns:
        columns = np.asarray(columns)
        if columns.ndim != 1 or columns.dtype.kind != "i" or np.any((columns < 0) | (columns >= n_columns)):
            raise ValueError(f"it has a view with columns beyond the {n_columns} it was fitted on")


def _check_ensemble(kept):
    n_classes = len(kept["classes_"])
    if np.shape(kept["class_prior_"]) != (n_classes,):
        raise ValueError("it has an ensemble of another number of classes than it names")
    hypotheses, views = list(kept["estimators_"]), np.asarray(kept["winning_views_"])
    if views.shape != (len(hypotheses),) or np.shape(kept["estimator_weights_"]) != views.shape:
        raise ValueError("it has an ensemble of other rounds than hypotheses")
    widths = {}
    for hypothesis, view in zip(hypotheses, views.tolist()):
        # What is not ours was trusted by the caller.
        if hypothesis is None or not type(hypothesis).__module__.startswith("fuselearn."):
            continue
        if type(view) is not int or not 0 <= view < len(kept["view_columns_"]):
            raise ValueError(f"it has a hypothesis of the view {view!r:.20}, which it has not")
        if view not in widths:
            widths[view] = width_after(kept["preprocessors_"][view], len(kept["view_columns_"][view]))
        check_hypothesis(hypothesis, widths[view], n_classes)


def check_hypothesis(hypothesis, n_columns, n_classes):
    """Refuse a hypothesis that reads other columns than its view has, or votes for other classes than there are."""
    name = type(hypothesis).__name__
    if name not in CHECKS:
        raise ValueError(f"it has a {name} for a hypothesis")
    if hypothesis.plan.n_columns != n_columns:
        raise ValueError(f"it has a {name} of {hypothesis.plan.n_columns} columns on a view of {n_columns}")
    CHECKS[name](hypothesis, n_columns, n_classes)


def width_after(transformer, n_columns):
    """Columns of a view as its hypotheses get it."""
    if transformer is None:
        return n_columns
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return np.shape(transformer.transform(np.ones((1, n_columns))))[1]
        except Exception:  # a row of ones need not be one that it takes
            pass
        try:
            return len(transformer.get_feature_names_out())
        except Exception:
            raise ValueError(
                f"it has a {type(transformer).__name__} for preprocessing that does not say how many columns it makes"
            ) from None


def _check_tree(tree, n_columns, n_classes):
    _check_codes(tree.code, n_classes)
    if np.any(tree.feature >= n_columns):
        raise ValueError(f"it has a tree that looks at columns beyond the {n_columns} of its view")
    edges, n_edges = tree.plan.edges, tree.plan.n_edges
    if edges.shape[:1] != n_edges.shape or edges.ndim != 2 or np.any((n_edges < 0) | (n_edges > edges.shape[1])):
        raise ValueError("it has a tree whose bins are out of range")


def _check_scores(scores, n_columns, n_classes):
    n_forms = 1 if n_classes == 2 else n_classes
    for form in (scores.squares, scores.slopes, scores.column_constants):
        if form.shape != (n_forms, n_columns):
            raise ValueError(f"it has scores of shape {form.shape} for {n_classes} classes and {n_columns} columns")
    plan = scores.plan
    if scores.constants.shape != (n_forms,) or not plan.scales.shape == plan.means.shape == (n_columns,):
        raise ValueError(f"it has scores that are not of {n_classes} classes and {n_columns} columns")


def _check_estimator(hypothesis, n_columns, n_classes):
    _check_codes(hypothesis.codes, n_classes)


def _check_constant(hypothesis, n_columns, n_classes):
    _check_codes(np.array([hypothesis.code]), n_classes)


def _check_codes(codes, n_classes):
    if codes.ndim != 1 or codes.dtype.kind != "i" or np.any((codes < 0) | (codes >= n_classes)):
        raise ValueError(f"it has a hypothesis that votes for other classes than the {n_classes} there are")


CHECKS = {
    "TreeHypothesis": _check_tree,
    "ScoreHypothesis": _check_scores,
    "EstimatorHypothesis": _check_estimator,
    "ConstantHypothesis": _check_constant,
}
