"""Any scikit-learn classifier as an arm, fitted on all but one of five parts of the rows in turn.

Rows that belong together are parted once more, whole groups at a time.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, softmax

from fuselearn.classifiers.checks import seeded_clone, weight_parameter
from fuselearn.classifiers.cross_fitting import stratified_folds
from fuselearn.classifiers.view_model import ViewModel, fit_view_model
from fuselearn.fusion.base_models.protocol import ArmFit

PARTS = 5
MOST_FITS = 2
LEAST_BELIEF = 1e-3
"""What a row counts whose labels contradict each other: nothing at all would leave some classifiers without rows."""


class CrossFittedRows:
    """Training rows of a view for a classifier of the user's.

    Parameters
    ----------
    estimator : classifier
    name : str
        What to call it in a message.
    rows : ndarray of shape (n_rows, n_columns)
    weights : ndarray of shape (n_rows,)
    groups : intp ndarray of shape (n_rows,) or None
        Rows of the same number belong together.
    classes : ndarray of shape (n_classes,)
    """

    n_fits = MOST_FITS

    def __init__(self, estimator, name, rows, weights, groups, classes):
        self._estimator, self._name = estimator, name
        self._rows, self._weights, self._groups, self._classes = rows, weights, groups, classes

    def fit(self, targets, number, seed):
        codes = (targets[:, 0] > 0).astype(np.int32) if targets.shape[1] == 1 else targets.argmax(axis=1)
        # Labels that are hardly believed hardly count.
        weights = self._weights * np.maximum(_margins(targets), LEAST_BELIEF)
        values, models = self._cross_fit(codes, weights, targets.shape, seed, None)
        apart = values
        if self._groups is not None:
            apart, _ = self._cross_fit(codes, weights, targets.shape, seed, self._groups)
        return ArmFit(values, apart, CrossFitted(models))

    def _cross_fit(self, codes, weights, shape, seed, groups):
        """Values of all rows by models of the other parts, and the models."""
        part_of = stratified_folds(codes, PARTS, np.random.default_rng(seed), groups)
        values = np.empty(shape)
        models = []
        for part in range(PARTS):
            held_out = part_of == part
            if not held_out.any():
                continue
            model = self._fit(~held_out, codes, weights, (*seed.spawn_key, part, seed.entropy))
            values[held_out] = _as_targets(model, self._rows[held_out])
            models.append(model)
        return values, models

    def _fit(self, rows, codes, weights, seed):
        estimator = seeded_clone(self._estimator, *seed)
        weights = weights[rows] if weight_parameter(estimator) else None
        return fit_view_model(self._name, estimator, self._rows[rows], codes[rows], self._classes, weights)


@dataclass(frozen=True)
class CrossFitted:
    """The mean of the models of all parts."""

    models: list

    def predict(self, X):
        return np.mean([_as_targets(model, X) for model in self.models], axis=0)


def _as_targets(model: ViewModel, rows):
    """Probabilities on the scale of the targets: 2p − 1 for two classes, else p of each."""
    if hasattr(model.estimator, "predict_proba"):
        shares = model.probabilities(rows)
    else:
        values = model.values(rows)
        shares = softmax(2 * values, axis=1) if values.shape[1] > 2 else _two(expit(values[:, 1] - values[:, 0]))
    return 2 * shares[:, 1:] - 1 if shares.shape[1] == 2 else shares


def _margins(targets):
    """How much more a row's class is believed than the next one, from 0 to 1."""
    if targets.shape[1] == 1:
        return np.abs(targets[:, 0])
    ordered = np.sort(targets, axis=1)
    return ordered[:, -1] - ordered[:, -2]


def _two(p):
    return np.column_stack([1 - p, p])
