"""What views and columns contribute to the raw scores of gradient boosting."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fuselearn.boosting.gradient.raw_scores import RawScores
from fuselearn.boosting.gradient.tree_format import BoostedTrees
from fuselearn.explanation.column_terms import ColumnTerms, players_of
from fuselearn.explanation.explained_rows import MaskedRows
from fuselearn.explanation.tree_values import tree_shapley
from fuselearn.numeric.threads import Threads
from fuselearn.typing import BoolArray, FloatArray, IntArray


class TreeRowsToExplain(MaskedRows):
    """Rows in memory, and fitted trees.

    Parameters
    ----------
    raw : RawScores
        The trees as prediction needs them.
    trees : BoostedTrees
        The trees.
    baseline : ndarray of shape (n_outputs,)
        Scores before the first tree.
    table : ndarray of shape (n_rows, n_features)
        The rows; categories are codes.
    """

    def __init__(self, raw: RawScores, trees: BoostedTrees, baseline: FloatArray, table: FloatArray) -> None:
        super().__init__(table, raw.views_of(table), raw.view_columns)
        self._raw, self._trees, self._baseline = raw, trees, baseline

    def decisions(self, rows: IntArray, views: BoolArray) -> FloatArray:
        """Return the raw scores of some rows of which only some views are there, of shape (n_rows, n_outputs)."""
        return self._raw.of_rows(self.without_views(rows, views))

    def column_terms(self, threads: Threads) -> ColumnTerms:
        """Return the terms of the columns, given the views that the rows have: trees of other views abstain."""
        n_rows, n_columns = self.table.shape
        n_outputs = len(self._baseline)
        terms = ColumnTerms.zeros(n_rows, n_columns, n_outputs)
        nodes = self._trees.nodes()
        for views, rows in self.groups():
            speaks = np.append(views, True)[self._trees.view]  # the number of all views is -1
            of_rows = replace(nodes, roots=nodes.roots[speaks], output=nodes.output[speaks])
            players = players_of(np.arange(n_columns), self.known_columns(views))
            base, values = tree_shapley(of_rows, self.table[rows], players, n_columns, n_outputs, threads)
            terms.put(rows, ColumnTerms(base + self._baseline, values))
        return terms
