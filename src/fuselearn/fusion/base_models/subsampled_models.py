"""Learners that cannot work by sums, fitted on a subsample of many rows: forests, support vector machines, classifiers.

A model is fitted without each fold of the fit, so that its values of the rows of that fold are out-of-fold ones,
whether a row is in the subsample or not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuselearn.backends.partitioned.partitions import Answer
from fuselearn.classifiers.adapter import takes_nan, weight_parameter
from fuselearn.classifiers.cross_fitting import CrossFitting
from fuselearn.fusion.base_models import FittedModel
from fuselearn.fusion.base_models.catalogue import Learners
from fuselearn.fusion.base_models.cross_fitted import CrossFittedModel, target_values
from fuselearn.fusion.base_models.forests import ForestRows, column_means
from fuselearn.fusion.base_models.kernel_machines import possible_scales
from fuselearn.fusion.base_models.support_vector_machines import SupportVectorRows
from fuselearn.fusion.fusion_rows import FusionBlock, FusionFrame
from fuselearn.typing import AnyArray, Classifier, FloatArray, IntArray


def fit_without_folds(
    learner: str | Classifier,
    what: str,
    rows: FloatArray,
    codes: IntArray,
    weights: FloatArray,
    folds: IntArray,
    n_folds: int,
    classes: AnyArray,
    seed: int,
) -> list[FittedModel | None]:
    """Fit a learner on the rows of all folds but one, for each of them.

    Parameters
    ----------
    learner : str or classifier
        "trees", "svm" or a classifier.
    what : str
        The learner and its view, for messages.
    rows : ndarray of shape (n_rows, n_columns)
        Rows that have the view.
    codes : int ndarray of shape (n_rows,)
        Their classes.
    weights : ndarray of shape (n_rows,)
        Their weights.
    folds : int ndarray of shape (n_rows,)
        Their folds.
    n_folds : int
        Number of folds.
    classes : ndarray
        All classes.
    seed : int
        Seed of all draws.

    Returns
    -------
    list of FittedModel or None
        The model without each fold; None where there are no rows of other folds.
    """
    if not isinstance(learner, str):
        return _fit_classifiers(learner, what, rows, codes, weights, folds, n_folds, classes, seed)
    shares = np.eye(len(classes))[codes]
    targets = 2 * shares[:, 1:] - 1 if len(classes) == 2 else shares
    models: list[FittedModel | None] = []
    for fold in range(n_folds):
        others = np.flatnonzero(folds != fold)
        draws = np.random.SeedSequence(seed, spawn_key=(fold,))
        if not len(others):
            models.append(None)
            continue
        prepared: Any
        if learner == "svm":
            scales = possible_scales(rows[others])
            prepared = SupportVectorRows(scales, rows[others], weights[others], None, draws)
        else:
            prepared = ForestRows(rows[others], weights[others], None)
        models.append(prepared.fit(targets[others], 0, draws).model)
    return models


@dataclass(frozen=True)
class MissingCells:
    """Asks how many rows that have a view have no value in each of its columns."""

    def __call__(self, block: FusionBlock) -> Answer:
        """Return counts by view and column, of shape (n_views, n_features)."""
        frame = block.frame
        counts = np.zeros((frame.n_views, frame.n_features), dtype=np.int64)
        for part in block.parts():
            missing = np.isnan(block.table[part])
            for view, columns in enumerate(frame.columns):
                counts[view, columns] += missing[block.present[part, view]][:, columns].sum(axis=0)
        return (counts,)


def check_classifiers(learners: Learners, frame: FusionFrame, ask: Callable[[MissingCells], list[Answer]]) -> None:
    """Refuse NaN, in whatever row, if there is a classifier of the user's that does not take it."""
    strict = [name for name, learner in learners.items() if not isinstance(learner, str) and not takes_nan(learner)]
    [(counts,)] = ask(MissingCells()) if strict else [(np.zeros((0, 0), dtype=np.int64),)]
    for view, of_columns in enumerate(counts):
        if of_columns.any():
            column = int(of_columns.argmax())
            raise ValueError(
                f"The learner {strict[0]!r} does not take NaN, but column {column} of X, of the view "
                f"{frame.names[view]!r}, has it in {of_columns[column]} of the rows that have the view. Impute it, "
                "e.g. with make_pipeline(SimpleImputer(), …)."
            )


def _fit_classifiers(
    learner: Classifier,
    what: str,
    rows: FloatArray,
    codes: IntArray,
    weights: FloatArray,
    folds: IntArray,
    n_folds: int,
    classes: AnyArray,
    seed: int,
) -> list[FittedModel | None]:
    """Fit clones of a classifier of the user's."""
    cross_fitting = CrossFitting(
        [what],
        [learner],
        [rows],
        np.ones((len(rows), 1), dtype=bool),
        classes,
        weights if weight_parameter(learner) else None,
        n_jobs=1,
    )
    no_rows = np.empty(0, dtype=np.intp)
    train = [(np.flatnonzero(folds != fold), no_rows) for fold in range(n_folds)]
    width = 1 if len(classes) == 2 else len(classes)
    [fitted], _ = cross_fitting.run(codes[:, None], [train], target_values, width, lambda view, fold: (fold, seed))
    return [None if model is None else CrossFittedModel([model], column_means(rows)) for model in fitted]
