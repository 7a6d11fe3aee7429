"""Learners that cannot work by sums, fitted on a subsample of many rows: forests, support vector machines, classifiers.

A model is fitted without each fold of the fit, so that its values of the rows of that fold are out-of-fold ones,
whether a row is in the subsample or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fuselearn.backends.partitioned.partitions import Answer
from fuselearn.classifiers.adapter import takes_nan, weight_parameter
from fuselearn.classifiers.cross_fitting import CrossFitting
from fuselearn.fusion.base_models import FittedModel
from fuselearn.fusion.base_models.catalogue import Learners
from fuselearn.fusion.base_models.cross_fitted import CrossFittedModel, seed_of_one, target_values
from fuselearn.fusion.base_models.forests import ForestRows, column_means
from fuselearn.fusion.base_models.kernel_machines import possible_scales
from fuselearn.fusion.base_models.support_vector_machines import SupportVectorRows
from fuselearn.fusion.fusion_rows import FusionBlock, FusionFrame, TakenRows, learnt_labels
from fuselearn.typing import AnyArray, Classifier, FloatArray, IntArray


@dataclass(frozen=True)
class ArmRows:
    """Rows of a subsample that an arm learns from.

    Attributes
    ----------
    what : str
        The learner and its view, for messages.
    rows : intp ndarray of shape (n_rows,)
        Numbers of those that have the view, among the subsample.
    table : ndarray of shape (n_rows, n_columns)
        Their columns of the view.
    taken : TakenRows
        The subsample.
    n_folds_of_rows : int
        Number of folds that rows have.
    n_folds : int
        Number of folds to fit without; where there are fewer, each is of several folds of the rows.
    """

    what: str
    rows: IntArray
    table: FloatArray
    taken: TakenRows
    n_folds_of_rows: int
    n_folds: int

    @property
    def folds(self) -> IntArray:
        """The folds to fit without."""
        return self.taken.folds[self.rows].astype(np.intp) * self.n_folds // self.n_folds_of_rows


def fit_without_folds(
    learner: str | Classifier, some: ArmRows, classes: AnyArray, seed: int
) -> Iterator[FittedModel | None]:
    """Fit a learner on the rows of all folds but one, for each of them, one after the other.

    Parameters
    ----------
    learner : str or classifier
        "trees", "svm" or a classifier.
    some : ArmRows
        Rows that have the view.
    classes : ndarray
        All classes.
    seed : int
        Seed of all draws.

    Yields
    ------
    FittedModel or None
        The model without each fold; None where there are no rows of other folds.
    """
    rows, folds = some.table, some.folds
    codes, weights = learnt_labels(some.taken.codes[some.rows], some.taken.weights[some.rows], len(classes))
    if not isinstance(learner, str):
        yield from _fit_classifiers(learner, some, codes, weights, classes, seed)
        return
    shares = np.eye(len(classes))[codes]
    targets = 2 * shares[:, 1:] - 1 if len(classes) == 2 else shares
    for fold in range(some.n_folds):
        others = np.flatnonzero(folds != fold)
        draws = np.random.SeedSequence(seed, spawn_key=(fold,))
        if not len(others):
            yield None
            continue
        prepared: Any
        if learner == "svm":
            scales = possible_scales(rows[others])
            prepared = SupportVectorRows(scales, rows[others], weights[others], None, draws)
        else:
            prepared = ForestRows(rows[others], weights[others], None)
        yield prepared.fit(targets[others], 0, draws).model


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
    learner: Classifier, some: ArmRows, codes: IntArray, weights: FloatArray, classes: AnyArray, seed: int
) -> Iterator[FittedModel | None]:
    """Fit clones of a classifier of the user's."""
    rows, folds = some.table, some.folds
    cross_fitting = CrossFitting(
        [some.what],
        [learner],
        [rows],
        np.ones((len(rows), 1), dtype=bool),
        classes,
        weights if weight_parameter(learner) else None,
        n_jobs=1,
    )
    no_rows = np.empty(0, dtype=np.intp)
    width = 1 if len(classes) == 2 else len(classes)
    for fold in range(some.n_folds):
        train = np.flatnonzero(folds != fold), no_rows
        [[model]], _ = cross_fitting.run(
            codes[:, None], [[train]], target_values, width, partial(seed_of_one, (fold, seed))
        )
        yield None if model is None else CrossFittedModel([model], column_means(rows))
