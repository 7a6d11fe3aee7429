"""What a fitted fusion of classes or numbers has in common: arms, their values of new rows, and their sum."""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any, Protocol

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fuselearn.data import ViewBlocks
from fuselearn.data.view_table import data_frame, read_new_rows, to_host
from fuselearn.explanation.explained_rows import ExplainedRows, ExplainsRows
from fuselearn.fusion.arm_weights import weighted_sum
from fuselearn.fusion.base_models import FittedModel
from fuselearn.fusion.base_models.absent_views import ViewImputer
from fuselearn.fusion.fusion_rows import having_of, rows_of
from fuselearn.fusion.log_loss_weights import plain_sum
from fuselearn.fusion.pattern_calibration import PatternCalibration
from fuselearn.numeric.execution import single_threaded_blas
from fuselearn.numeric.gross_outliers import ordinary_values
from fuselearn.numeric.threads import Threads
from fuselearn.typing import BoolArray, FloatArray, IntArray, TableLike

ROWS_TO_PREDICT = 2**13
"""Rows in memory that a thread predicts at a time; a constant, so that predictions do not depend on n_jobs."""


class NewRows(Protocol):
    """Rows to predict, without gross outliers.

    Attributes
    ----------
    present : bool ndarray of shape (n_rows, n_views)
        Views that they have.
    """

    present: BoolArray

    def mean_values(self, models: Sequence[FittedModel], columns: IntArray, rows: IntArray) -> FloatArray:
        """Return the mean of what models of some columns say of some rows, of shape (n_rows, n_targets)."""


class LocalNewRows:
    """Rows in memory; see `NewRows`.

    Parameters
    ----------
    model : FusionClassifier
        The fitted fusion, which knows the views and the ordinary ranges of the columns.
    table : ndarray of shape (n_rows, n_features)
        The rows as they were read.
    """

    def __init__(self, model: Any, table: FloatArray) -> None:
        self.table = ordinary_values(table, model._ranges)
        self._filled: LocalNewRows | None = None
        self.present = ViewBlocks.of(self.table, model.view_names_, model.view_columns_).present

    def mean_values(self, models: Sequence[FittedModel], columns: IntArray, rows: IntArray) -> FloatArray:
        """Return the mean of what models of some columns say of some rows, of shape (n_rows, n_targets)."""
        cells = rows_of(self.table, slice(None) if len(rows) == len(self.table) else rows, columns)
        mean: FloatArray = np.mean([model.predict(cells) for model in models], axis=0)
        return mean

    def filled(self, imputer: ViewImputer) -> "LocalNewRows":
        """Return the same rows with absent views filled in, which is done once."""
        if self._filled is None:
            self._filled = copy(self)
            self._filled.table = imputer.filled(self.table, self.present)
        return self._filled


class FusedArms(ExplainsRows, BaseEstimator):
    """Base of a fusion: `estimators_` with `arm_weights_`, whose values of a row are added up."""

    n_jobs: int | None
    arms_: list[tuple[str, str]]
    arm_weights_: FloatArray
    arm_matrices_: FloatArray | None = None  # models in files of earlier versions have none
    _imputer: ViewImputer | None = None  # likewise
    estimators_: list[list[FittedModel]]
    view_names_: list[str]
    view_columns_: list[IntArray]
    view_importances_: FloatArray
    out_of_sample_metric_: str
    n_features_in_: int
    _arm_columns: list[tuple[int | None, IntArray]]
    _arm_offsets: FloatArray
    _arm_rows: IntArray
    _arm_fits: IntArray | None = None  # models in files of earlier versions have none
    _arm_scores: FloatArray
    _calibration: PatternCalibration
    _complete_only: BoolArray
    _by_sums: bool
    _ranges: FloatArray

    @property
    def leaderboard_(self) -> Any:
        """The arms, the best first: a data frame of pandas or polars, or else `Records`."""
        check_is_fitted(self)
        order = np.lexsort((-self.arm_weights_, -self._arm_scores))
        # On many rows, models of arms without weight are not kept.
        fits = np.array([len(models) for models in self.estimators_]) if self._arm_fits is None else self._arm_fits
        return data_frame(
            {
                "view": [self.arms_[arm][0] for arm in order],
                "learner": [self.arms_[arm][1] for arm in order],
                self.out_of_sample_metric_: self._arm_scores[order].tolist(),
                "weight": self.arm_weights_[order].tolist(),
                "fits": fits[order].tolist(),
                "rows": self._arm_rows[order].tolist(),
            }
        )

    def _in_parts(self, table: FloatArray, work: Callable[[NewRows], FloatArray]) -> FloatArray:
        """Return what follows from rows in memory, some of them at a time, in threads."""
        parts = [table[start : start + ROWS_TO_PREDICT] for start in range(0, len(table), ROWS_TO_PREDICT)]
        if len(parts) < 2:
            return work(LocalNewRows(self, table))
        with single_threaded_blas(), Threads(min(effective_n_jobs(self.n_jobs), len(parts))) as threads:
            return np.concatenate(threads.map(lambda part: work(LocalNewRows(self, part)), parts))

    def _combined(self, rows: NewRows) -> tuple[FloatArray, BoolArray]:
        """Return the sum of the arms' values of rows, of shape (n_rows, n_targets), and the rows with some value."""
        used = np.flatnonzero(self.arm_weights_ > 0)
        return self._sum_of_arms((self._arm_values(rows, arm) for arm in used.tolist()), rows.present)

    def _sum_of_arms(self, arm_values: Iterable[FloatArray], present: BoolArray) -> tuple[FloatArray, BoolArray]:
        """Return the sum of the values of arms with weight, and the rows with some value; see `_combined`."""
        used = np.flatnonzero(self.arm_weights_ > 0)
        weights = (self.arm_weights_ if self.arm_matrices_ is None else self.arm_matrices_)[used]
        if self._by_sums:
            values, covered = plain_sum(arm_values, weights, (len(present), self._arm_offsets.shape[1]))
        else:
            factors = self._calibration.joint_factors_of(present)
            of_arms = [factors if self._arm_columns[arm][0] is None else 1.0 for arm in used]
            values, covered = weighted_sum(arm_values, weights, of_arms)
        # Trees of all views have a value even for a row without any, of which nothing is known.
        return values, covered & present.any(axis=1)

    def _decision_of_sum(self, values: FloatArray, covered: BoolArray, present: BoolArray) -> FloatArray:
        """Return decision values, or predicted numbers, from sums of the arms' values."""
        raise NotImplementedError

    def _rows_to_explain(self, X: TableLike) -> ExplainedRows:
        """Return rows in memory and the fusion as an explanation needs them."""
        from fuselearn.fusion.fusion_explanation import FusionRowsToExplain

        return FusionRowsToExplain(self, read_new_rows(self, to_host(X)))

    def _arm_values(self, rows: NewRows, arm: int) -> FloatArray:
        """Return the values of an arm about their mean; NaN for rows that lack its view."""
        view, columns = self._arm_columns[arm]
        having = np.flatnonzero(having_of(view, bool(self._complete_only[arm]), rows.present))
        values = np.full((len(rows.present), self._arm_offsets.shape[1]), np.nan)
        if len(having):
            if isinstance(rows, LocalNewRows):
                rows = self._rows_of_arm(rows, arm)
            values[having] = rows.mean_values(self.estimators_[arm], columns, having) - self._arm_offsets[arm]
        return values

    def _rows_of_arm(self, rows: LocalNewRows, arm: int) -> LocalNewRows:
        """Return rows as an arm takes them: with absent views filled in, where it learnt so."""
        view, _ = self._arm_columns[arm]
        if self._imputer is None or view is not None or self._complete_only[arm]:
            return rows
        return rows.filled(self._imputer)
