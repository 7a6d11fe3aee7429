"""Any scikit-learn classifier as an arm, fitted on all but one of five folds of the rows in turn.

Where rows belong together, it is cross-fitted once more, with folds of whole groups.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import expit, softmax

from fuselearn.classifiers.adapter import keep_sklearn_config, weight_parameter
from fuselearn.classifiers.cross_fitting import CrossFitting, as_folds, stratified_folds, target_codes
from fuselearn.classifiers.view_model import ViewModel
from fuselearn.data.training_data import targets_of
from fuselearn.fusion.base_models import ArmFit
from fuselearn.fusion.base_models.forests import column_means
from fuselearn.fusion.budget import Budget, FewRowsPlan, OutOfTime
from fuselearn.persistence.validation import check_array, check_equal, check_parts
from fuselearn.typing import AnyArray, Classifier, FloatArray, IntArray

FOLDS = 5
MOST_FITS = 2
LEAST_BELIEF = 1e-3
"""Weight of a row whose labels contradict each other: nothing at all would leave some classifiers without rows."""


class CrossFit(NamedTuple):
    """Values of all rows by models of other folds, of which none has rows of their group or some may, and models."""

    out_of_fold: FloatArray
    within_groups: FloatArray
    models: list[Any]


FitsOf = Callable[[IntArray | None, int], Iterator[tuple[IntArray, FloatArray, Any]]]


def cross_fit_in_groups(
    fits_of: FitsOf, shape: tuple[int, ...], groups: IntArray | None, plan: FewRowsPlan
) -> CrossFit:
    """Cross-fit an arm in folds of rows and, where these belong together, in folds of whole groups, too.

    Parameters
    ----------
    fits_of : callable
        Takes groups and a number of folds, and returns an iterator over the rows of each fold, their values and the
        model.
    shape : tuple of int
        Numbers of rows and targets.
    groups : intp ndarray of shape (n_rows,) or None
    plan : FewRowsPlan
        What may be begun. `OutOfTime` is raised where there is no time for all folds, unless there is no arm yet: then
        there are two folds, of whole groups.
    """
    in_time = True

    def fits_in(n_folds: int) -> Iterator[tuple[IntArray, FloatArray, Any]]:
        nonlocal in_time
        in_time = n_folds == FOLDS
        return fits_of(None if in_time else groups, n_folds)

    def collected(fits: list[tuple[IntArray, FloatArray, Any]]) -> FloatArray:
        values = np.full(shape, np.nan)
        for rows, of_rows, _ in fits:
            values[rows] = of_rows
        return values

    fits = plan.cross_fit(fits_in, FOLDS, n_rounds=1 if groups is None else 2, needed=not plan.has_fit)
    if fits is None:
        raise OutOfTime(FOLDS if groups is None else 2 * FOLDS)
    values = out_of_fold = collected(fits)
    if groups is not None and in_time:
        out_of_fold = collected(list(fits_of(groups, FOLDS)))
    return CrossFit(out_of_fold, values, [model for *_, model in fits])


class CrossFittedRows:
    """Training rows of a view for a classifier of the user's.

    Parameters
    ----------
    estimator : classifier
    name : str
        Of the classifier and its view, for messages.
    rows : ndarray of shape (n_rows, n_columns)
    weights : ndarray of shape (n_rows,)
    groups : intp ndarray of shape (n_rows,) or None
        Rows of the same number belong together.
    classes : ndarray of shape (n_classes,)
    plan : FewRowsPlan, default=None
        What may be begun within a time limit, if there is one.
    """

    n_fits = MOST_FITS

    def __init__(
        self,
        estimator: Classifier,
        name: str,
        rows: FloatArray,
        weights: FloatArray,
        groups: IntArray | None,
        classes: AnyArray,
        plan: FewRowsPlan | None = None,
    ) -> None:
        self._estimator, self._name = estimator, name
        self._rows, self._weights, self._groups, self._classes = rows, weights, groups, classes
        self._plan = FewRowsPlan(Budget()) if plan is None else plan
        # Classifiers are fitted in other threads, under the configuration of this one.
        self._run = keep_sklearn_config(CrossFitting.run)

    def prepared(self, seed: np.random.SeedSequence) -> Self:
        """Return the rows themselves: nothing of them is drawn."""
        return self

    def fit(self, targets: FloatArray, number: int, seed: np.random.SeedSequence) -> ArmFit:
        """Fit a clone for each fold; the model is their mean. `OutOfTime` where there is no time for all folds."""
        fit = cross_fit_in_groups(partial(self._fits, targets, seed), targets.shape, self._groups, self._plan)
        return ArmFit(fit.out_of_fold, fit.within_groups, CrossFittedModel(fit.models, column_means(self._rows)))

    def _fits(
        self, targets: FloatArray, seed: np.random.SeedSequence, groups: IntArray | None, n_folds: int
    ) -> Iterator[tuple[IntArray, FloatArray, ViewModel]]:
        """Yield the rows of each fold, their values, and the model of the other folds by which they are."""
        codes = target_codes(targets)
        fold_of = stratified_folds(codes, n_folds, np.random.default_rng(seed), groups)
        # Labels that are hardly believed hardly count.
        weights = self._weights * np.maximum(_margins(targets), LEAST_BELIEF)
        cross_fitting = CrossFitting(
            [self._name],
            [self._estimator],
            [self._rows],
            np.ones((len(codes), 1), dtype=bool),
            self._classes,
            weights if weight_parameter(self._estimator) else None,
            n_jobs=1,
        )
        folds = as_folds(fold_of, n_folds)
        for number in np.unique(fold_of).tolist():
            key: tuple[Any, ...] = *seed.spawn_key, number, seed.entropy
            seed_of = partial(seed_of_one, key)
            [[model]], [values] = self._run(
                cross_fitting, codes[:, None], [[folds[number]]], target_values, targets.shape[1], seed_of
            )
            assert model is not None  # every fold has training rows
            held_out = folds[number][1]
            # Where it learnt one class only, that is all that is known of these rows.
            yield held_out, target_values(model, self._rows[held_out]) if model.abstains else values[held_out], model


@dataclass(frozen=True)
class CrossFittedModel:
    """The mean of the models of all folds.

    Attributes
    ----------
    models : list of ViewModel
    reference : ndarray of shape (n_columns,) or None
        Means of the columns, which stand for unknown values in explanations; None in files of earlier versions.
    """

    models: list[ViewModel]
    reference: FloatArray | None = None

    def validate(self) -> None:
        """Check the classes of the models; their classifiers are not ours."""
        models: list[ViewModel] = check_parts(self, "models", [ViewModel])
        for model in models:
            model.validate()
        check_equal(self, "classes", [model.n_classes for model in models])
        if self.reference is not None:
            check_array(self, "reference", np.float64, (None,))

    def predict(self, X: FloatArray) -> FloatArray:
        """Return values of shape (n_rows, n_targets)."""
        return np.mean([target_values(model, X) for model in self.models], axis=0)


def seed_of_one(key: tuple[Any, ...], view: int, fold: int) -> tuple[Any, ...]:
    """Return the seed of a fold that is fitted by itself."""
    return key


def target_values(model: ViewModel, rows: FloatArray) -> FloatArray:
    """Return probabilities on the scale of the targets: 2p − 1 for two classes, else p of each."""
    if hasattr(model.estimator, "predict_proba"):
        shares = model.probabilities(rows)
    else:
        values = model.values(rows)
        if values.shape[1] > 2:
            shares = softmax(2 * values, axis=1)
        else:
            p = expit(values[:, 1] - values[:, 0])
            shares = np.column_stack([1 - p, p])
    return targets_of(shares)


def _margins(targets: FloatArray) -> FloatArray:
    """Return how much more a row's class is believed than the next one, from 0 to 1."""
    if targets.shape[1] == 1:
        return np.abs(targets[:, 0])
    ordered = np.sort(targets, axis=1)
    return ordered[:, -1] - ordered[:, -2]
