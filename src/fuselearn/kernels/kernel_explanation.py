"""What views and columns contribute to the decisions of the kernel classifiers.

With two classes the decision is a sum over the views of kernels with support vectors. A linear kernel is explained by
the terms of its columns, a Gaussian or Laplacian one as a product. In other kernels a column that is not known is at
the mean of the support vectors. With more classes the decision counts how
many of the others a class beats: it is explained by views only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuselearn.explanation.column_terms import ColumnTerms, function_terms, linear_terms, players_of
from fuselearn.explanation.explained_rows import MaskedRows
from fuselearn.explanation.kernel_values import kernel_shapley
from fuselearn.kernels.view_kernels import GramLookup
from fuselearn.numeric.threads import Threads
from fuselearn.numeric.votes import prior_votes
from fuselearn.typing import BoolArray, FloatArray, IntArray

VIEWS_ONLY = "Columns are not explained: {}."


class KernelRowsToExplain(MaskedRows):
    """Rows in memory, and a fitted kernel classifier.

    Parameters
    ----------
    model : BaseKernelFusion
        The classifier.
    table : ndarray of shape (n_rows, n_features)
        The rows.
    present : bool ndarray of shape (n_rows, n_views)
        Views that they have.
    """

    def __init__(self, model: Any, table: FloatArray, present: BoolArray) -> None:
        super().__init__(table, present, model.view_columns_)
        columns = np.concatenate(model.view_columns_)
        if len(np.unique(columns)) < len(columns):
            raise ValueError(
                f"views of {type(model).__name__} overlap, so that no view can be taken away without a gap in another, "
                "which a kernel does not take: explain needs views without common columns."
            )
        self._model = model
        if len(model.classes_) > 2:
            self.notes = [VIEWS_ONLY.format("with more than two classes decisions count pairs of classes")]
        elif hasattr(model, "estimator_"):
            self.notes = [VIEWS_ONLY.format("the classifier given as `estimator` decides on composite objects")]

    def decisions(self, rows: IntArray, views: BoolArray) -> FloatArray:
        """Return the decisions on some rows of which only some views are there, of shape (n_rows, n_outputs)."""
        decision: FloatArray = self._model._decision_values(self.without_views(rows, views), 0)
        return decision.reshape(len(rows), -1)

    def column_terms(self, threads: Threads) -> ColumnTerms | None:
        """Return the terms of the columns, given the views that the rows have; None with more than two classes."""
        if self.notes:
            return None
        model, (n_rows, n_columns) = self._model, self.table.shape
        terms = ColumnTerms.zeros(n_rows, n_columns, 1)
        for views, rows in self.groups():
            of_rows = ColumnTerms.zeros(len(rows), n_columns, 1)
            there = float(model.kernel_weights_ @ views)
            if there == 0:
                votes = prior_votes(model.class_prior_)
                of_rows.base += votes[1] - votes[0]
            else:
                scale = 1.0
                if model._absent_views == "neutral":
                    of_rows.base += ~views @ model.neutral_values_
                elif model._items_have_all_views:
                    scale = float(model.kernel_weights_.sum() / there)
                for view in np.flatnonzero(views).tolist():
                    of_rows.add(self._view_terms(view, rows, threads), scale)
                of_rows.base += model.intercept_
            terms.put(rows, of_rows)
        return terms

    def _view_terms(self, view: int, rows: IntArray, threads: Threads) -> ColumnTerms:
        """Return the terms of what a view adds to the decision."""
        model, columns, n_columns = self._model, self.view_columns[view], self.table.shape[1]
        kernel, support = model.kernels_[view], model.support_rows_[view].astype(np.float64)
        factor = model.kernel_weights_[view] / model.kernel_scales_[view]
        coefficients = factor * model.dual_coef_[view].T
        cells = np.ascontiguousarray(self.table[np.ix_(rows, columns)])
        players = players_of(columns, np.ones(n_columns, dtype=bool))
        if not len(support):
            return ColumnTerms.zeros(len(rows), n_columns, 1)
        if kernel.kernel == "linear":
            centre = np.zeros(len(columns)) if kernel.centre is None else kernel.centre
            slopes = (support - centre).T @ coefficients
            return linear_terms(cells - centre, slopes, np.zeros(1), players, n_columns)
        if kernel.kernel in ("rbf", "laplacian"):
            absolute = kernel.kernel == "laplacian"
            explained = kernel_shapley(
                cells, support, kernel.gamma, coefficients, players, n_columns, threads, absolute=absolute
            )
            return ColumnTerms(*explained)

        def values(of_rows: FloatArray) -> FloatArray:
            between: FloatArray = kernel.between(of_rows, support) @ coefficients
            return between

        if isinstance(kernel.kernel, GramLookup):  # a number of an object: all that the view says is of this column
            terms = ColumnTerms.zeros(len(rows), n_columns, 1)
            terms.values[:, columns[0]] = values(cells)
            return terms
        reference = support.mean(axis=0) if kernel.centre is None else kernel.centre
        return function_terms(values, cells, reference, players, n_columns)
