"""What views and columns contribute to the votes of a boosted ensemble.

Each hypothesis reads one view, so that the votes of a row are a sum over its views. Within a view, trees are explained
by the weight of the training rows that went each way. A naive Bayes or linear hypothesis leaves out the score of a
column that is missing: so an unknown column is a missing one, and, since votes are steps and not sums, orders of the
columns are drawn where there are many of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fuselearn.boosting.ensemble import Ensemble
from fuselearn.data import View, ViewBlocks
from fuselearn.explanation.column_terms import ColumnTerms, function_terms, players_of
from fuselearn.explanation.explained_rows import MaskedRows
from fuselearn.explanation.tree_values import TreeNodes, tree_shapley
from fuselearn.learners.protocol import ConstantHypothesis, Hypothesis
from fuselearn.learners.score_learners import ScoreHypothesis
from fuselearn.learners.tree_growth import TreeHypothesis
from fuselearn.numeric.threads import Threads
from fuselearn.numeric.votes import add_votes, prior_votes
from fuselearn.typing import AnyArray, BoolArray, FloatArray, IntArray

PAIRS = 12
"""Drawn orders of the columns of a view, each walked forwards and backwards."""


class VotesToExplain(MaskedRows):
    """Rows in memory, and a boosted ensemble.

    Parameters
    ----------
    ensemble : Ensemble
        Hypotheses and votes.
    view_names : list of str
        Names of the views.
    table : ndarray of shape (n_rows, n_features)
        The rows.
    """

    def __init__(self, ensemble: Ensemble, view_names: list[str], table: FloatArray) -> None:
        present = ViewBlocks.of(table, view_names, ensemble.view_columns).present
        super().__init__(table, present, ensemble.view_columns)
        self._ensemble, self._names = ensemble, view_names
        if reason := self._without_columns():
            self.notes = [f"Columns are not explained: {reason}."]

    def _without_columns(self) -> str | None:
        """Return why columns cannot be explained; None where they can."""
        for view, voters in enumerate(map(self._ensemble.voters_of, range(len(self._names)))):
            if voters and self._ensemble.has_transformer(view):
                return f"the view {self._names[view]!r} is preprocessed, and what its columns are without is not known"
            for hypothesis, _ in voters:
                if isinstance(hypothesis, TreeHypothesis) and hypothesis.weight is None:
                    return "the model is of an earlier version, which did not keep the weights of the nodes of trees"
                if not isinstance(hypothesis, TreeHypothesis | ScoreHypothesis | ConstantHypothesis):
                    name = getattr(hypothesis.plan, "estimator_name", type(hypothesis).__name__)
                    return f"of {name} it is not known what it says without some columns"
        return None

    def decisions(self, rows: IntArray, views: BoolArray) -> FloatArray:
        """Return the decisions on some rows of which only some views are there, of shape (n_rows, n_outputs)."""
        *_, (votes, has_vote) = self._ensemble.staged_votes(self.without_views(rows, views))
        return self._ensemble.decision(votes, has_vote).reshape(len(rows), -1)

    def column_terms(self, threads: Threads) -> ColumnTerms | None:
        """Return the terms of the columns, given the views that the rows have; None where they are not known."""
        if self.notes:
            return None
        ensemble, (n_rows, n_columns), n_classes = self._ensemble, self.table.shape, self._ensemble.n_classes
        terms = ColumnTerms.zeros(n_rows, n_columns, 1 if n_classes == 2 else n_classes)
        to_decision = np.array([[-1.0], [1.0]]) if n_classes == 2 else np.eye(n_classes)
        for views, rows in self.groups():
            votes = ColumnTerms.zeros(len(rows), n_columns, n_classes)
            voting = [view for view in np.flatnonzero(views).tolist() if ensemble.voters_of(view)]
            for view in voting:
                for part in self._view_terms(view, rows, threads):
                    votes.add(part)
            if not voting:
                votes.base += prior_votes(ensemble.class_prior)
            of_rows = ColumnTerms.zeros(len(rows), n_columns, terms.base.shape[1])
            of_rows.add(votes, to_decision)
            terms.put(rows, of_rows)
        return terms

    def _view_terms(self, view: int, rows: IntArray, threads: Threads) -> list[ColumnTerms]:
        """Return the terms of the votes of the hypotheses of a view, in parts."""
        columns, (_, n_columns) = self.view_columns[view], self.table.shape
        n_classes, voters = self._ensemble.n_classes, self._ensemble.voters_of(view)
        cells = np.ascontiguousarray(self.table[np.ix_(rows, columns)])
        players = players_of(columns, np.ones(n_columns, dtype=bool))
        trees = [(voter, alpha) for voter, alpha in voters if isinstance(voter, TreeHypothesis)]
        others = [(voter, alpha) for voter, alpha in voters if not isinstance(voter, TreeHypothesis)]
        parts = []
        if trees:
            nodes = _tree_nodes(trees, n_classes)
            parts.append(ColumnTerms(*tree_shapley(nodes, cells, players, n_columns, n_classes, threads)))
        if others:

            def votes_of(cells: FloatArray) -> FloatArray:
                return _votes(others, View(self._names[view], cells, np.arange(len(columns)), None), n_classes)

            unknown = np.full(len(columns), np.nan)
            parts.append(function_terms(votes_of, cells, unknown, players, n_columns, n_pairs=PAIRS))
        return parts


def _votes(voters: Sequence[tuple[Hypothesis, float]], view: View, n_classes: int) -> FloatArray:
    """Return the votes of hypotheses of a view, whatever its gaps."""
    votes, rows = np.zeros((len(view), n_classes)), np.arange(len(view))
    read = {id(hypothesis.plan): hypothesis.plan.read(view) for hypothesis, _ in voters}
    for hypothesis, alpha in voters:
        add_votes(votes, hypothesis.predict_read(read[id(hypothesis.plan)]), rows, alpha)
    return votes


def _tree_nodes(voters: Sequence[tuple[TreeHypothesis, float]], n_classes: int) -> TreeNodes:
    """Return trees that vote as explanations read them: a leaf gives its vote to its class."""
    sizes = np.array([len(tree.feature) for tree, _ in voters])
    roots = np.cumsum(sizes) - sizes
    trees = [tree for tree, _ in voters]

    def joined(name: str) -> AnyArray:
        return np.concatenate([getattr(tree, name) for tree in trees])

    def shifted(name: str) -> IntArray:
        children = joined(name)
        return np.where(children >= 0, children + np.repeat(roots, sizes), -1)

    values = [alpha * np.eye(n_classes)[tree.code] for tree, alpha in voters]
    n_nodes = int(sizes.sum())
    return TreeNodes(
        roots=roots,
        column=joined("feature"),
        threshold=joined("threshold"),
        missing_left=joined("missing_left"),
        left=shifted("left"),
        right=shifted("right"),
        weight=joined("weight"),
        values=np.concatenate(values),
        output=np.zeros(len(roots), dtype=np.intp),
        category_row=np.full(n_nodes, -1),
        categories_left=np.zeros((0, 1), dtype=np.uint8),
    )
