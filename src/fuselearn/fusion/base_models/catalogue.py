"""Which arms a fusion has: every view, and all views side by side, with every learner."""

from collections.abc import Mapping
from functools import partial
from itertools import pairwise

import numpy as np

from fuselearn.classifiers.checks import (
    check_classifier,
    check_one_column_per_class,
    check_values,
    check_weights_taken,
    is_frozen,
)
from fuselearn.fusion.base_models.cross_fitted import CrossFittedRows
from fuselearn.fusion.base_models.forests import ForestRows
from fuselearn.fusion.base_models.kernel_machines import MachineRows
from fuselearn.fusion.base_models.protocol import Arm
from fuselearn.fusion.base_models.scaling import among, own_units, standardised, units_matter
from fuselearn.fusion.base_models.support_vector_machines import MOST_ROWS as MARGIN_ROWS
from fuselearn.fusion.base_models.support_vector_machines import MarginRows
from fuselearn.learners.sklearn_learner import takes_nan

BUILT_IN = ("svm", "rbf", "linear", "trees")
ALL_VIEWS = "all views"
LEAST_ROWS = 10
"""Rows that an arm needs; one that fewer rows have is left out, unless nothing else would be left."""


def resolve_learners(learners, n_classes, n_rows):
    """Learners by name, checked; a built-in one is its own name, the others are classifiers.

    Parameters
    ----------
    learners : "default", name, classifier, list of these, or dict of name to classifier
    n_classes, n_rows : int

    Returns
    -------
    dict of name to classifier, or to the name of a built-in learner
    """
    if isinstance(learners, str) and learners == "default":
        machine = "svm" if n_classes == 2 and n_rows <= MARGIN_ROWS else "rbf"
        return {name: name for name in (machine, "linear", "trees")}
    if isinstance(learners, Mapping):
        given = [(str(name), learner) for name, learner in learners.items()]
    else:
        several = learners if isinstance(learners, list | tuple) else [learners]
        given = [(one if isinstance(one, str) else _name_of(one), one) for one in several]
    if not given:
        raise ValueError(f"learners is empty; name at least one of {list(BUILT_IN)}, or give classifiers.")
    resolved = {}
    for name, learner in given:
        if isinstance(learner, str):
            if learner not in BUILT_IN:
                raise ValueError(
                    f"learners has {learner!r}, which is not known; known are {list(BUILT_IN)}, and any scikit-learn "
                    "classifier may be given."
                )
            if learner == "svm" and n_classes > 2:
                raise ValueError(
                    f"learners has 'svm', which is for two classes; there are {n_classes}. 'rbf' is for any number."
                )
        else:
            what = f"learner {name!r} in learners"
            check_classifier(learner, what)
            check_values(learner, what, "FusionClassifier")
            if is_frozen(learner):
                raise TypeError(
                    f"The {what} is frozen; values of rows that it was not fitted on need new fits. Pass it without "
                    "FrozenEstimator."
                )
        if name in resolved:
            raise ValueError(f"learners has two of the name {name!r}; give a dict of name to classifier.")
        resolved[name] = learner
    return resolved


def check_learners_take_weights(learners):
    """Refuse classifiers that take no row weights, where the user gave some."""
    for name, learner in learners.items():
        if not isinstance(learner, str):
            check_weights_taken(learner, f"learner {name!r} in learners")


def make_arms(blocks, learners, weights, groups, classes, seed):
    """The arms of a fusion, on the rows that have their view.

    Parameters
    ----------
    blocks : ViewBlocks
    learners : dict
        As :func:`resolve_learners` returns it.
    weights : ndarray of shape (n_rows,)
    groups : intp ndarray of shape (n_rows,) or None
        Rows of the same number are left out together.
    classes : ndarray of shape (n_classes,)
    seed : int

    Returns
    -------
    list of Arm
    """
    for name, learner in learners.items():
        if not isinstance(learner, str):
            check_one_column_per_class(learner, f"learner {name!r} in learners", len(classes))
    sources = [(number, view.name, view.columns, here, None) for number, (view, here) in enumerate(_views(blocks))]
    if len(sources) > 1:
        widths = np.cumsum([0, *(len(columns) for _, _, columns, _, _ in sources)])
        parts = [np.arange(start, stop) for start, stop in pairwise(widths)]
        columns = np.concatenate([columns for _, _, columns, _, _ in sources])
        sources.append((None, ALL_VIEWS, columns, np.flatnonzero(blocks.present.all(axis=1)), parts))
    table = blocks.views[0].table
    names = [view.name for view in blocks]
    if ALL_VIEWS in names and len(names) > 1:
        raise ValueError(
            f"views has one of the name {ALL_VIEWS!r}, which stands for all of them; give it another name."
        )
    judged = [source for source in sources if groups is None or len(np.unique(groups[source[3]])) > 1]
    if not any(view is not None for view, *_ in judged):
        raise ValueError(
            "groups: every view is present in the rows of one group only, so that none can be judged by another group. "
            "Leave groups out, or give them so that some view is in several."
        )
    enough = [source for source in judged if len(source[3]) >= LEAST_ROWS]
    arms = []
    for view, view_name, columns, rows, parts in enough or [source for source in judged if source[0] is not None]:
        values = np.ascontiguousarray(table[np.ix_(rows, columns)], dtype=np.float64)
        own = among(groups, rows)
        made = _preparations(learners, values, weights[rows], own, parts, classes, view_name)
        for name, preparations in made.items():
            number = len(arms)
            prepare = partial(preparations, np.random.SeedSequence(seed, spawn_key=(number,)))
            arms.append(Arm(view, view_name, name, rows, columns, prepare))
    return arms


def _views(blocks):
    for number, view in enumerate(blocks):
        yield view, np.flatnonzero(blocks.present[:, number])


def _preparations(learners, values, weights, groups, parts, classes, view_name):
    """Callables from a seed to `Prepared` rows, by the name of the learner."""
    scales = [own_units(values, parts)]
    if units_matter(values):
        scales.append(standardised(values, parts))
    made = {}
    for name, learner in learners.items():
        if not isinstance(learner, str):
            _check_gaps(values, learner, name, view_name)
            made[name] = lambda seed, learner=learner, name=name: CrossFittedRows(
                learner, f"{name} of the view {view_name!r}", values, weights, groups, classes
            )
        elif learner == "svm":
            made[name] = partial(MarginRows, scales, values, weights, groups)
        elif learner == "trees":
            made[name] = lambda seed: ForestRows(values, weights, groups)
        else:
            made[name] = partial(MachineRows, learner, scales, values, weights, groups)
    return made


def _name_of(learner):
    return (learner if isinstance(learner, type) else type(learner)).__name__.lower()


def _check_gaps(values, learner, name, view_name):
    if not takes_nan(learner) and np.isnan(values).any():
        raise ValueError(
            f"The view {view_name!r} has NaN among its columns in rows that have it, which the learner {name!r} does "
            "not take. Impute it, e.g. with make_pipeline(SimpleImputer(), …)."
        )
