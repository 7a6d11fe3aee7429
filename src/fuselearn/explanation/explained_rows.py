"""The method `explain` of all models that have it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.validation import check_is_fitted

from fuselearn.data.view_table import row_location
from fuselearn.explanation.column_terms import ColumnTerms
from fuselearn.explanation.explanation import Explanation
from fuselearn.explanation.games import shapley_values, shapley_values_of_rows
from fuselearn.numeric.execution import single_threaded_blas
from fuselearn.numeric.threads import Threads
from fuselearn.typing import BoolArray, FloatArray, IntArray, TableLike

MOST_EXACT_VIEWS = 10
"""Views of a row up to which all sets of them are tried."""
PAIRS_OF_VIEWS = 32
"""Orders of more views that are drawn, each walked forwards and backwards."""


class ExplainedRows(ABC):
    """Rows and a fitted model, with what an explanation needs of both.

    Attributes
    ----------
    present : bool ndarray of shape (n_rows, n_views)
        Views that the rows have.
    notes : list of str
        What is to be known about the values.
    """

    present: BoolArray
    notes: list[str]

    @abstractmethod
    def decisions(self, rows: IntArray, views: BoolArray) -> FloatArray:
        """Return the decisions on some rows of which only some views are there, of shape (n_rows, n_outputs)."""

    @abstractmethod
    def column_terms(self, threads: Threads) -> ColumnTerms | None:
        """Return the terms of the columns, given the views that the rows have; None where they are not known."""


class MaskedRows(ExplainedRows):
    """Rows whose views are taken away by putting NaN in their place.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_features)
        The rows.
    present : bool ndarray of shape (n_rows, n_views)
        Views that they have.
    view_columns : list of intp ndarray
        Columns of the views.
    """

    def __init__(self, table: FloatArray, present: BoolArray, view_columns: list[IntArray]) -> None:
        self.table = np.asarray(table, dtype=np.float64)
        self.present, self.view_columns = present, view_columns
        self.notes: list[str] = []

    def without_views(self, rows: IntArray, views: BoolArray) -> FloatArray:
        """Return some rows with NaN in the columns of all views but some."""
        cells: FloatArray = self.table[rows]
        for columns, kept in zip(self.view_columns, views):
            if not kept:
                cells[:, columns] = np.nan
        return cells

    def known_columns(self, views: BoolArray) -> BoolArray:
        """Return the columns of views that are there; the others are fixed: it is known that they are missing."""
        known = np.zeros(self.table.shape[1], dtype=bool)
        for columns, there in zip(self.view_columns, views):
            known[columns] |= there
        return known

    def groups(self) -> list[tuple[BoolArray, IntArray]]:
        """Return the different sets of views that rows have, and the numbers of the rows."""
        return rows_by_views(self.present)


def rows_by_views(present: BoolArray) -> list[tuple[BoolArray, IntArray]]:
    """Return the different rows of a mask, and the numbers of the rows that are so.

    Examples
    --------
    >>> [(views.tolist(), rows.tolist()) for views, rows in rows_by_views(np.array([[True], [False], [True]]))]
    [([False], [1]), ([True], [0, 2])]
    """
    patterns, pattern_of = np.unique(present, axis=0, return_inverse=True)
    pattern_of = np.ravel(pattern_of)
    return [(pattern, np.flatnonzero(pattern_of == number)) for number, pattern in enumerate(patterns)]


class ExplainsRows:
    """Mixin of a fitted model that explains its decisions."""

    view_names_: list[str]
    view_columns_: list[IntArray]
    n_features_in_: int

    def explain(self, X: TableLike) -> Explanation:
        """Explain the decisions on rows by their views, and by their columns.

        Views: Shapley values of the game in which a set of views is worth the decision on the row with all other views
        missing. They are exact up to ten views; of more, orders are drawn, and `view_errors` has standard errors.
        Columns: Shapley values given the views that the row has. In trees, an unknown column sends a row both ways, in
        proportion to the training rows; in linear machines it is at its mean; in Gaussian kernels its factor is 1.
        What has no closed form, such as a classifier of the user's, is sampled, with standard errors in
        `column_errors`. Both kinds of values add up to the decision.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The rows, in memory.

        Returns
        -------
        fuselearn.explanation.Explanation
            Contributions to `decision_function`, or to `predict` of a regressor: `view_values` with `base`, and
            `column_values` with `column_base`; with `to_frame` and `plot`.
        """
        check_is_fitted(self)
        if row_location(X) in ("dask", "files"):
            raise TypeError(
                f"explain takes rows in memory; got {type(X).__name__}. Read or compute the rows to explain first."
            )
        rows = self._rows_to_explain(X)
        with single_threaded_blas(), Threads(effective_n_jobs(getattr(self, "n_jobs", None))) as threads:
            game = _view_values(rows)
            terms = rows.column_terms(threads)
        notes = list(rows.notes)
        for name, errors in (("views", game.errors), ("columns", None if terms is None else terms.errors)):
            if errors is not None:
                notes.append(
                    f"Contributions of {name} are partly from drawn orders; their largest standard error is "
                    f"{float(errors.max()):.2g}."
                )
        return Explanation(
            view_values=_squeezed(game.values),
            base=float(game.base[0, 0]) if game.base.shape[1] == 1 else game.base[0],
            column_values=None if terms is None else _squeezed(terms.values),
            column_base=None if terms is None else _squeezed(terms.base),
            decision=_squeezed(game.total),
            view_names=list(self.view_names_),
            column_names=[str(name) for name in self._column_names()],
            view_columns=list(self.view_columns_),
            classes=getattr(self, "classes_", None),
            view_errors=None if game.errors is None else _squeezed(game.errors),
            column_errors=None if terms is None or terms.errors is None else _squeezed(terms.errors),
            notes=notes,
        )

    def _rows_to_explain(self, X: TableLike) -> ExplainedRows:
        """Return the rows and the model as an explanation needs them."""
        raise NotImplementedError

    def _column_names(self) -> list[Any]:
        """Return the names of the columns of X."""
        names = getattr(self, "feature_names_in_", None)
        return [f"x{number}" for number in range(self.n_features_in_)] if names is None else list(names)


def _view_values(rows: ExplainedRows) -> ColumnTerms:
    """Return the terms of the views; those that a row lacks have none."""
    n_rows, n_views = rows.present.shape
    few = rows.present.sum(axis=1) <= MOST_EXACT_VIEWS
    exact, terms = np.flatnonzero(few), None
    if len(exact):
        game = shapley_values_of_rows(lambda numbers, views: rows.decisions(exact[numbers], views), rows.present[exact])
        terms = ColumnTerms.zeros(n_rows, n_views, game.empty.shape[1])
        terms.put(exact, ColumnTerms(game.empty, game.values))
    many = np.flatnonzero(~few)
    for pattern, places in rows_by_views(rows.present[many]) if len(many) else ():
        of_group = _sampled_view_values(rows, many[places], pattern)
        if terms is None:
            terms = ColumnTerms.zeros(n_rows, n_views, of_group.base.shape[1])
        terms.put(many[places], of_group)
    assert terms is not None  # there is at least one row
    return terms


def _sampled_view_values(rows: ExplainedRows, numbers: IntArray, pattern: BoolArray) -> ColumnTerms:
    """Return the terms of the views of rows that have the same ones, more than can be tried in all sets."""
    there = np.flatnonzero(pattern)

    def value_of(members: BoolArray) -> FloatArray:
        views = np.zeros(len(pattern), dtype=bool)
        views[there[members]] = True
        return rows.decisions(numbers, views)

    game = shapley_values(value_of, len(there), most_exact=MOST_EXACT_VIEWS, n_pairs=PAIRS_OF_VIEWS)
    assert game.errors is not None
    terms = ColumnTerms.zeros(len(numbers), len(pattern), game.empty.shape[1])
    terms.base[:], terms.values[:, there] = game.empty, game.values
    terms.errors = np.zeros(terms.values.shape)
    terms.errors[:, there] = game.errors
    return terms


def _squeezed(values: FloatArray) -> FloatArray:
    """Return values without their last axis if that is of one output."""
    return values[..., 0] if values.shape[-1] == 1 else values
