"""Any scikit-learn regressor as an arm, fitted on all but one of five folds of the rows in turn."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from fuselearn.classifiers.adapter import keep_sklearn_config
from fuselearn.classifiers.cross_fitting import stratified_folds, target_codes
from fuselearn.classifiers.regressors import fit_regressor
from fuselearn.fusion.base_models import ArmFit
from fuselearn.fusion.base_models.forests import column_means
from fuselearn.persistence.validation import check_array
from fuselearn.typing import FloatArray, IntArray

FOLDS = 5
MOST_FITS = 2


class RegressorRows:
    """Training rows of a view for a regressor of the user's.

    Parameters
    ----------
    estimator : regressor
    rows : ndarray of shape (n_rows, n_columns)
    weights : ndarray of shape (n_rows,)
    groups : intp ndarray of shape (n_rows,) or None
        Rows of the same number belong together.
    """

    n_fits = MOST_FITS

    def __init__(self, estimator: Any, rows: FloatArray, weights: FloatArray, groups: IntArray | None) -> None:
        self._estimator, self._rows, self._weights, self._groups = estimator, rows, weights, groups
        # Regressors are fitted in other threads, under the configuration of this one.
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
        return ArmFit(out_of_fold, values, CrossFittedRegressors(models, column_means(self._rows)))

    def _cross_fit_here(
        self, targets: FloatArray, seed: np.random.SeedSequence, groups: IntArray | None
    ) -> tuple[FloatArray, list[Any]]:
        """Return values of all rows by models of the other folds, and the models."""
        fold_of = stratified_folds(target_codes(targets), FOLDS, np.random.default_rng(seed), groups)
        values, models = np.empty(targets.shape), []
        for fold in np.unique(fold_of).tolist():
            held_out = fold_of == fold
            key = (*seed.spawn_key, fold, seed.entropy)
            used = ~held_out if not held_out.all() else held_out
            models.append(fit_regressor(self._estimator, self._rows, targets[:, 0], self._weights, used, key))
            values[held_out] = _predicted(models[-1:], self._rows[held_out])
        return values, models


@dataclass(frozen=True)
class CrossFittedRegressors:
    """The mean of the models of all folds.

    Attributes
    ----------
    models : list of regressors
    reference : ndarray of shape (n_columns,)
        Means of the columns, which stand for unknown values in explanations.
    """

    models: list[Any]
    reference: FloatArray

    def validate(self) -> None:
        """Check that there are models; they are not ours."""
        if type(self.models) is not list or not self.models:
            raise ValueError("it has cross-fitted regressors without models")
        if not all(hasattr(model, "predict") for model in self.models):
            raise ValueError("it has a cross-fitted regressor that does not predict")
        check_array(self, "reference", np.float64, (None,))

    def predict(self, X: FloatArray) -> FloatArray:
        """Return values of shape (n_rows, 1)."""
        return _predicted(self.models, X)


def _predicted(models: list[Any], X: FloatArray) -> FloatArray:
    """Return the mean of what regressors predict, of shape (n_rows, 1)."""
    return np.mean([np.asarray(model.predict(X), dtype=np.float64).reshape(-1, 1) for model in models], axis=0)
