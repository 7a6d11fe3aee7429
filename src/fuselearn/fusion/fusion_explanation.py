"""What views and columns contribute to the decision of a fusion.

The decision is linear in what the base models say, given which views a row has. So the terms of the columns are those
of the base models, added up with the same weights, slopes and intercepts as the values. For the game of the views the
values of base models of one view are computed once; those of all views, for every set of views that they can do with.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuselearn.explanation.column_terms import ColumnTerms, players_of
from fuselearn.explanation.explained_rows import MaskedRows
from fuselearn.fusion.base_models.model_terms import mean_terms
from fuselearn.fusion.fused_arms import FusedArms, LocalNewRows
from fuselearn.fusion.fusion_rows import having_of, rows_of
from fuselearn.numeric.threads import Threads
from fuselearn.typing import BoolArray, FloatArray, IntArray


class FusionRowsToExplain(MaskedRows):
    """Rows in memory, and a fitted fusion.

    Parameters
    ----------
    model : FusedArms
        The fusion, of classes or of numbers.
    table : ndarray of shape (n_rows, n_features)
        The rows as they were read.
    """

    def __init__(self, model: FusedArms, table: FloatArray) -> None:
        self._model: Any = model
        self._rows = LocalNewRows(model, np.asarray(table, dtype=np.float64))
        super().__init__(table, self._rows.present, model.view_columns_)
        self._used = np.flatnonzero(model.arm_weights_ > 0).tolist()
        self._values = {arm: model._arm_values(self._rows, arm) for arm in self._used}
        columns = np.concatenate(model.view_columns_)
        self._views_overlap = len(np.unique(columns)) < len(columns)

    def decisions(self, rows: IntArray, views: BoolArray) -> FloatArray:
        """Return the decisions on some rows of which only some views are there, of shape (n_rows, n_outputs)."""
        model = self._model
        if self._views_overlap and not views.all():
            there = LocalNewRows(model, self.without_views(rows, views))
            values, covered = model._combined(there)
            present = there.present
        else:
            present = self.present[rows] & views
            values, covered = model._sum_of_arms((self._arm_values(arm, rows, views) for arm in self._used), present)
        decision: FloatArray = model._decision_of_sum(values, covered, present).reshape(len(rows), -1)
        return decision

    def _arm_values(self, arm: int, rows: IntArray, views: BoolArray) -> FloatArray:
        """Return the values of an arm about their mean where only some views are there; NaN where it has none."""
        model, (view, _) = self._model, self._model._arm_columns[arm]
        values, present = self._values[arm][rows], self.present[rows]
        if view is None and not model._complete_only[arm] and np.any(present & ~views):
            return model._arm_values(LocalNewRows(model, self.without_views(rows, views)), arm)
        having = having_of(view, bool(model._complete_only[arm]), present & views)
        return np.where(having[:, None], values, np.nan)

    def column_terms(self, threads: Threads) -> ColumnTerms:
        """Return the terms of the columns, given the views that the rows have."""
        n_rows, n_columns = self.table.shape
        terms = ColumnTerms.zeros(n_rows, n_columns, self._model._arm_offsets.shape[1])
        for views, rows in self.groups():
            terms.put(rows, self._terms_of_views(rows, views, threads))
        return terms

    def _terms_of_views(self, rows: IntArray, views: BoolArray, threads: Threads) -> ColumnTerms:
        """Return the terms of rows that have the same views."""
        model, n_columns = self._model, self.table.shape[1]
        weights = model.arm_weights_
        arms = [arm for arm in self._used if self._has_value(arm, views)]
        n_targets = model._arm_offsets.shape[1]
        slope, intercepts = model._calibration.line(views, covered=bool(arms) and bool(views.any()))
        combined = ColumnTerms.zeros(len(rows), n_columns, n_targets)
        if slope != 0:
            known = self.known_columns(views)
            of_joint = model._calibration.joint_factors_of(views[None])[0]
            spoken = weights.copy()
            spoken[[arm for arm in arms if model._arm_columns[arm][0] is None]] *= of_joint
            # After a fit on few rows, as if the arms that abstain agreed with the others.
            scale = 1.0 if model._by_sums else float(weights[self._used].sum() / spoken[arms].sum())
            for arm in arms:
                _, columns = model._arm_columns[arm]
                cells = rows_of(model._rows_of_arm(self._rows, arm).table, rows, columns)
                of_arm = mean_terms(model.estimators_[arm], cells, players_of(columns, known), n_columns, threads)
                of_arm.base -= model._arm_offsets[arm]
                factor = spoken[arm] if model.arm_matrices_ is None else model.arm_matrices_[arm]
                combined.add(of_arm, factor * scale)
        decision = ColumnTerms.zeros(len(rows), n_columns, n_targets)
        if not hasattr(model, "classes_"):
            decision.add(combined, slope)
            decision.base += intercepts
            return decision
        offsets = intercepts + np.log(model.class_weights_)
        # Values of two classes are minus and plus the combined one, and the decision is their difference.
        decision.add(combined, 2 * slope if n_targets == 1 else slope)
        decision.base += offsets[1] - offsets[0] if n_targets == 1 else offsets
        return decision

    def _has_value(self, arm: int, views: BoolArray) -> bool:
        """Return whether an arm has values of rows with some views."""
        view, _ = self._model._arm_columns[arm]
        return bool(having_of(view, bool(self._model._complete_only[arm]), views[None])[0])
