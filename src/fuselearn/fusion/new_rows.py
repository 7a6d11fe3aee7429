"""Rows that a fitted fusion is to predict, wherever they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from fuselearn.data import ViewBlocks
from fuselearn.fusion.base_models.preparation import FittedModel
from fuselearn.fusion.fusion_rows import rows_of
from fuselearn.numeric.gross_outliers import ordinary_values
from fuselearn.typing import BoolArray, FloatArray, IntArray


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
        self._table = ordinary_values(table, model._ranges)
        self.present = ViewBlocks.of(self._table, model.view_names_, model.view_columns_).present

    def mean_values(self, models: Sequence[FittedModel], columns: IntArray, rows: IntArray) -> FloatArray:
        """Return the mean of what models of some columns say of some rows, of shape (n_rows, n_targets)."""
        cells = rows_of(self._table, slice(None) if len(rows) == len(self._table) else rows, columns)
        mean: FloatArray = np.mean([model.predict(cells) for model in models], axis=0)
        return mean
