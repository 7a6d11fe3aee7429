"""Any scikit-learn regressor as an arm, fitted on all but one of five folds of the rows in turn."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from fuselearn.classifiers.adapter import keep_sklearn_config
from fuselearn.classifiers.cross_fitting import stratified_folds, target_codes
from fuselearn.classifiers.regressors import fit_regressor
from fuselearn.fusion.base_models import ArmFit
from fuselearn.fusion.base_models.cross_fitted import cross_fit_in_groups
from fuselearn.fusion.base_models.forests import column_means
from fuselearn.fusion.budget import Budget, FewRowsPlan
from fuselearn.persistence.validation import check_array
from fuselearn.typing import FloatArray, IntArray

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
    plan : FewRowsPlan, default=None
        What may be begun within a time limit, if there is one.
    """

    n_fits = MOST_FITS

    def __init__(
        self,
        estimator: Any,
        rows: FloatArray,
        weights: FloatArray,
        groups: IntArray | None,
        plan: FewRowsPlan | None = None,
    ) -> None:
        self._estimator, self._rows, self._weights, self._groups = estimator, rows, weights, groups
        # Regressors are fitted in other threads, under the configuration of this one.
        self._fit_regressor = keep_sklearn_config(fit_regressor)
        self._plan = FewRowsPlan(Budget()) if plan is None else plan

    def prepared(self, seed: np.random.SeedSequence) -> Self:
        """Return the rows themselves: nothing of them is drawn."""
        return self

    def fit(self, targets: FloatArray, number: int, seed: np.random.SeedSequence) -> ArmFit:
        """Fit a clone for each fold; the model is their mean. `OutOfTime` where there is no time for all folds."""
        fit = cross_fit_in_groups(partial(self._fits, targets, seed), targets.shape, self._groups, self._plan)
        return ArmFit(fit.out_of_fold, fit.within_groups, CrossFittedRegressors(fit.models, column_means(self._rows)))

    def _fits(
        self, targets: FloatArray, seed: np.random.SeedSequence, groups: IntArray | None, n_folds: int
    ) -> Iterator[tuple[IntArray, FloatArray, Any]]:
        """Yield the rows of each fold, their values, and the model of the other folds by which they are."""
        fold_of = stratified_folds(target_codes(targets), n_folds, np.random.default_rng(seed), groups)
        for fold in np.unique(fold_of).tolist():
            held_out = fold_of == fold
            key = (*seed.spawn_key, fold, seed.entropy)
            used = ~held_out if not held_out.all() else held_out
            model = self._fit_regressor(self._estimator, self._rows, targets[:, 0], self._weights, used, key)
            yield np.flatnonzero(held_out), _predicted([model], self._rows[held_out]), model


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
