"""Any scikit-learn classifier as an arm, fitted on all but one of five folds of the rows in turn.

Where rows belong together, it is cross-fitted once more, with folds of whole groups.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import expit, softmax

from fuselearn.classifiers.adapter import keep_sklearn_config, weight_parameter
from fuselearn.classifiers.cross_fitting import CrossFitting, as_folds, stratified_folds, target_codes
from fuselearn.classifiers.view_model import ViewModel
from fuselearn.data.training_data import targets_of
from fuselearn.fusion.base_models import ArmFit
from fuselearn.fusion.base_models.forests import column_means
from fuselearn.persistence.validation import check_array, check_equal, check_parts
from fuselearn.typing import AnyArray, Classifier, FloatArray, IntArray

FOLDS = 5
MOST_FITS = 2
LEAST_BELIEF = 1e-3
"""Weight of a row whose labels contradict each other: nothing at all would leave some classifiers without rows."""


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
    ) -> None:
        self._estimator, self._name = estimator, name
        self._rows, self._weights, self._groups, self._classes = rows, weights, groups, classes
        # Classifiers are fitted in other threads, under the configuration of this one.
        self._cross_fit = keep_sklearn_config(self._cross_fit_here)

    def prepared(self, seed: np.random.SeedSequence) -> Self:
        """Return the rows themselves: nothing of them is drawn."""
        return self

    def fit(self, targets: FloatArray, number: int, seed: np.random.SeedSequence) -> ArmFit:
        """Fit a clone for each fold; the model is their mean."""
        values, models = self._cross_fit(targets, seed, None)
        out_of_fold = values
        if self._groups is not None:
            out_of_fold, _ = self._cross_fit(targets, seed, self._groups)
        return ArmFit(out_of_fold, values, CrossFittedModel(models, column_means(self._rows)))

    def _cross_fit_here(
        self, targets: FloatArray, seed: np.random.SeedSequence, groups: IntArray | None
    ) -> tuple[FloatArray, list[ViewModel]]:
        """Return values of all rows by models of the other folds, and the models."""
        codes = target_codes(targets)
        fold_of = stratified_folds(codes, FOLDS, np.random.default_rng(seed), groups)
        used = np.unique(fold_of)
        folds = [fold for number, fold in enumerate(as_folds(fold_of, FOLDS)) if number in used]
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

        def seed_of(view: int, number: int) -> tuple[Any, ...]:
            return *seed.spawn_key, int(used[number]), seed.entropy

        [fitted], [values] = cross_fitting.run(codes[:, None], [folds], target_values, targets.shape[1], seed_of)
        models = [model for model in fitted if model is not None]  # every fold has training rows
        for model, (_, held_out) in zip(models, folds):
            if model.abstains:  # it learnt one class only, which is all that is known of these rows
                values[held_out] = target_values(model, self._rows[held_out])
        return values, models


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
