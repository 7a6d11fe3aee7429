"""From a table to a fitted model."""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight

from fuselearn.cli.columns import check_view_columns, id_like
from fuselearn.cli.errors import refuse, refusing
from fuselearn.cli.methods import BALANCES_ITSELF, FUSION, make_estimator, takes
from fuselearn.cli.progress import rounds_shown
from fuselearn.cli.targets import check_target, class_counts, classes_of, rows_with_target
from fuselearn.exceptions import InterruptedFitWarning
from fuselearn.tables.table_classifier import TableClassifier
from fuselearn.tables.view_columns import ViewColumns

FEW_IN_FOLDS = "The least populated class"
"""Begins a warning of scikit-learn: a class with fewer rows than folds is cross-fitted as well as it can be."""


@dataclass(frozen=True)
class TrainingRows:
    """Rows that have a class.

    Attributes
    ----------
    table : Arrow table
    y : ndarray of shape (n_rows,)
    view_labels : ndarray of shape (n_rows, n_views) or None
    groups : intp ndarray of shape (n_rows,) or None
        Rows of the same number belong together.
    left_out : int
        Rows that have no class.
    """

    table: object
    y: np.ndarray
    view_labels: np.ndarray | None
    groups: np.ndarray | None
    left_out: int

    def of(self, seen):
        """Classes, labels of the views and groups of some rows."""
        return tuple(None if part is None else part[seen] for part in (self.y, self.view_labels, self.groups))


@dataclass(frozen=True)
class HowToFit:
    """What the user chose.

    Attributes
    ----------
    method : fuselearn.registry.Method
    choices : dict of view name to ViewChoice
    categorical : str
    settings : list of str
        ``key=value``.
    class_weight : {"auto", "balanced", "none"}
    seed : int
    jobs : int or None
    """

    method: object
    choices: dict
    categorical: str
    settings: list
    class_weight: str
    seed: int
    jobs: int | None


def training_rows(table, how, target, label_names, group, path, notes):
    """Rows to learn from, checked; those without a class are left out, and that is said.

    Parameters
    ----------
    table : Arrow table
    how : HowToFit
    target : str
    label_names : list of str
        A column of labels for each view, or none.
    group : str or None
        Column of what rows belong to.
    path : str
        For messages.
    notes : Notes
    """
    check_view_columns(table, how.choices, how.categorical, path)
    total, table = table.num_rows, table.filter(rows_with_target(table.column(target)))
    y = classes_of(table.column(target), target, path)
    check_target(y, target, path)
    if table.num_rows < total:
        notes.tell(f"{total - table.num_rows} of {total} rows have no {target!r} and are left out.")
    for name in id_like(table, [column for one in how.choices.values() for column in one.columns])[:1]:
        notes.tell(
            f"The column {name!r} has another whole number in each row: if it names the objects, add --id {name}."
        )
    view_labels = None
    if label_names:
        columns = [table.column(name) for name in label_names]
        gaps = next((name for name, column in zip(label_names, columns) if column.null_count), None)
        if gaps is not None:
            refuse(f"{path} has rows without a value in the label column {gaps!r}; fill or drop them.")
        view_labels = np.column_stack([classes_of(column, name, path) for name, column in zip(label_names, columns)])
    groups = None if group is None else _groups(table.column(group), group, path)
    return TrainingRows(table, y, view_labels, groups, total - table.num_rows)


def _groups(column, name, path):
    """What the rows belong to, as numbers."""
    values = column.to_pylist()
    if None in values:
        refuse(
            f"{path} has rows without a value in the group column {name!r}, such as row {values.index(None) + 1} of "
            "those with a class; give a row that belongs to no other a group of its own."
        )
    groups = np.unique([str(value) for value in values], return_inverse=True)[1]
    if groups.max() == 0:
        refuse(f"{path} has one group only in the column {name!r}; rows are judged by those of other groups.")
    return groups


def fit_rows(rows, how, notes):
    """Fit a model.

    Returns
    -------
    model : TableClassifier
    told : dict
        What there is to tell of it, in plain types.
    """
    columns = ViewColumns(
        {name: one.columns for name, one in how.choices.items()},
        categorical={name: one.categorical or how.categorical for name, one in how.choices.items()},
        preprocess={name: list(one.preprocess) for name, one in how.choices.items()},
        fill_gaps=how.method.whole_views,
        random_state=how.seed,
    )
    with warnings.catch_warnings(), refusing(ValueError, TypeError):
        warnings.filterwarnings("ignore", message=FEW_IN_FOLDS)
        X = columns.fit_transform(rows.table, rows.y)
    seen = ~np.isnan(X).all(axis=1)
    if not seen.all():
        notes.tell(f"{np.sum(~seen)} of {len(seen)} rows have no value in any view and are left out.")
        X = X[seen]
    y, view_labels, groups = rows.of(seen)
    learners = {name: one.learner for name, one in how.choices.items() if one.learner}
    estimator = make_estimator(how.method, columns.views_, learners, how.settings, seed=how.seed, jobs=how.jobs)
    arguments, weighted = _fit_arguments(estimator, how, y, view_labels, groups, notes)
    with warnings.catch_warnings(record=True) as caught, refusing(ValueError, TypeError, MemoryError):
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", message=FEW_IN_FOLDS)
        with rounds_shown(estimator, how.method.name):
            estimator.fit(X, y, **arguments)
    for warning in caught:
        if not issubclass(warning.category, DeprecationWarning | PendingDeprecationWarning | FutureWarning):
            notes.tell(f"Warning: {warning.message}")
    told = {
        "rows": len(y),
        "rows_left_out": rows.left_out + int(np.sum(~seen)),
        "classes": class_counts(y),
        "class_weight": weighted,
        "rounds": getattr(estimator, "n_iter_", None),
        "view_importances": _importances(estimator),
        "out_of_sample_score": _number(getattr(estimator, "out_of_sample_score_", None)),
        "out_of_sample_metric": "balanced accuracy" if how.method.name == FUSION else "score",
        "interrupted": any(issubclass(warning.category, InterruptedFitWarning) for warning in caught),
    }
    return TableClassifier.of(columns, estimator), told


def _fit_arguments(estimator, how, y, view_labels, groups, notes):
    """Arguments of `fit` beside X and y, and how classes are weighted."""
    name, arguments = how.method.name, {}
    if view_labels is not None:
        if not takes(estimator, "view_labels"):
            refuse(f"--label-columns: {name} takes one column of labels; shareboost takes each view's own.")
        arguments["view_labels"] = view_labels
    if groups is not None:
        if not takes(estimator, "groups"):
            refuse(f"--group: {name} does not judge by rows left out; leave the option out, or add --method {FUSION}.")
        arguments["groups"] = groups
    can = takes(estimator, "sample_weight")
    if how.class_weight == "balanced" and not can:
        refuse(f"--class-weight balanced: {name} takes no weights; use none, or another method.")
    if how.class_weight == "none":
        return arguments, "none"
    if how.class_weight == "auto":
        if name in BALANCES_ITSELF:
            return arguments, "by the method"
        if view_labels is not None:
            # Weights of the target's classes would tell of the target, which is not to be learnt from here.
            return arguments, "none"
        if not can:
            notes.tell(f"Classes count by their number of rows: {name} takes no weights.")
            return arguments, "none"
    weights = compute_sample_weight("balanced", y)
    if weights.max() > weights.min():
        arguments["sample_weight"] = weights
        notes.tell("Rows are weighted so that each class counts alike; --class-weight none turns it off.")
    return arguments, "balanced"


def _importances(estimator):
    values = getattr(estimator, "view_importances_", None)
    if values is None:
        return None
    return {name: round(float(value), 4) for name, value in zip(estimator.view_names_, values)}


def _number(value):
    return None if value is None else float(value)
