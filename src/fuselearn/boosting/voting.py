"""What an ensemble says of rows: the votes of its hypotheses, in the order of the rounds."""

from dataclasses import replace

import numpy as np
from sklearn import config_context, get_config

from fuselearn.data import View, ViewBlocks, transformed
from fuselearn.numeric.execution import SERIAL
from fuselearn.numeric.votes import prior_votes
from fuselearn.numeric.weights import add_all_votes, add_votes

CHUNK_ROWS = 4096
"""Rows that are prepared and voted on together: their views stay in the cache for all hypotheses."""
VOTERS_AT_A_TIME = 64
"""Hypotheses of a view whose answers are added up in one pass."""


class Ensemble:
    """Hypotheses with their votes, and how to find their columns.

    Parameters
    ----------
    view_names : list of str
    view_columns : list of intp ndarray
    transformers : list of fitted transformer or None
    hypotheses, alphas, winning_views : sequence
        One entry a round.
    class_prior : ndarray of shape (n_classes,)

    Attributes
    ----------
    alphas : ndarray of shape (n_rounds,)
    class_prior : ndarray of shape (n_classes,)
    view_columns : list of intp ndarray
    view_strengths : ndarray of shape (n_views,)
        Σ|α| of the hypotheses of each view.
    view_order : intp ndarray
        The views that have a hypothesis, strongest first; of equal ones the first comes first.
    """

    def __init__(self, view_names, view_columns, transformers, hypotheses, alphas, winning_views, class_prior):
        self.alphas = np.asarray(alphas, dtype=np.float64)
        self.class_prior = class_prior
        self.view_columns = view_columns
        self._view_names = view_names
        self._transformers = transformers
        self._rounds = list(zip(hypotheses, self.alphas.tolist(), np.asarray(winning_views).tolist()))
        # By view, and within it by plan: hypotheses of an arm share theirs, so rows are read once per arm.
        self._voters = [{} for _ in view_names]
        strengths = [0.0] * len(view_names)
        for hypothesis, alpha, number in self._rounds:
            if hypothesis is not None:
                self._voters[number].setdefault(id(hypothesis.plan), []).append((hypothesis, alpha))
                strengths[number] += abs(alpha)
        self.view_strengths = np.array(strengths)
        voting = [number for number, voters in enumerate(self._voters) if voters]
        self.view_order = np.array(sorted(voting, key=lambda number: -strengths[number]), dtype=np.intp)

    @property
    def n_classes(self):
        return len(self.class_prior)

    def vote_in_blocks(self, X, receive, threads=SERIAL):
        """Sum the votes, some rows at a time, and hand each block on, so that no memory grows with the rows.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
        receive : callable
            Called as ``receive(rows, votes, heard)`` for each block, in any order: a slice of the rows; Σ α over the
            hypotheses that name a class, of shape (n_block, n_classes); and whether any hypothesis saw the row.
        """

        def work(first, last):
            for start in range(first, last, CHUNK_ROWS):
                rows = slice(start, min(start + CHUNK_ROWS, last))
                votes, heard = self._silence(rows.stop - start)
                for _ in self._vote(X[rows], votes, heard):
                    pass
                receive(rows, votes, heard)

        share_rows(threads, len(X), work)

    def staged_votes(self, X):
        """Yield (votes, heard) after each round. The arrays are reused: copy what is to be kept."""
        votes, heard = self._silence(len(X))
        for _ in self._vote(X, votes, heard):
            yield votes, heard

    def let_view_vote(self, number, X, rows, votes):
        """Add the votes of all hypotheses of one view, arm by arm.

        Parameters
        ----------
        number : int
            Of the view.
        X : ndarray of shape (n_rows, n_features)
        rows : intp ndarray
            Rows that the view is read for, increasing; it is present in all of them.
        votes : ndarray of shape (n_rows, n_classes)
            Changed in place.
        """
        view = _only(View(self._view_names[number], X, self.view_columns[number], rows))
        view = transformed(view, self._transformers[number])
        for voters in self._voters[number].values():
            for places, reading in _readings(voters[0][0].plan, view):
                part = rows if places is None else rows[places]
                for first in range(0, len(voters), VOTERS_AT_A_TIME):
                    hypotheses, alphas = zip(*voters[first : first + VOTERS_AT_A_TIME])
                    codes = np.array([hypothesis.predict_read(reading) for hypothesis in hypotheses])
                    add_all_votes(votes, codes, part, np.array(alphas))

    def decision(self, votes, heard):
        """Votes, with the prior's where nobody voted: binary as one column, its sign meaning class 1."""
        if not heard.all():
            votes = votes.copy()
            votes[~heard] = prior_votes(self.class_prior)
        return votes[:, 1] - votes[:, 0] if votes.shape[1] == 2 else votes

    def _silence(self, n_rows):
        return np.zeros((n_rows, self.n_classes)), np.zeros(n_rows, dtype=bool)

    def _vote(self, X, votes, heard):
        views = ViewBlocks.of(X, self._view_names, self.view_columns).views
        views = [transformed(view, transformer) for view, transformer in zip(views, self._transformers)]
        rows_of = [np.arange(len(X)) if view.rows is None else view.rows for view in views]
        read = {}
        for hypothesis, alpha, number in self._rounds:
            rows = rows_of[number]
            if hypothesis is not None and len(rows):
                key = (number, id(hypothesis.plan))
                if key not in read:
                    parts = _readings(hypothesis.plan, views[number])
                    read[key] = [(rows if places is None else rows[places], part) for places, part in parts]
                for part_rows, part in read[key]:
                    add_votes(votes, hypothesis.predict_read(part), part_rows, alpha)
                heard[rows] = True
            yield


def share_rows(threads, n_rows, work):
    """Call ``work(first, last)`` on ranges of rows, one a thread, cut between chunks."""
    config = get_config()  # scikit-learn keeps it per thread

    def configured(first, last):
        with config_context(**config):
            work(first * CHUNK_ROWS, min(last * CHUNK_ROWS, n_rows))

    threads.share(-(-n_rows // CHUNK_ROWS), configured)


def _only(view):
    """The present rows of a view as a view of their own: a window where they follow each other, else a copy."""
    rows, columns = view.rows, view.columns
    if rows[-1] - rows[0] + 1 == len(rows):
        return View(view.name, view.table[rows[0] : rows[-1] + 1], columns, None)
    if columns[-1] - columns[0] + 1 == len(columns) and (columns[1:] > columns[:-1]).all():
        # To take the columns first makes the copy by up to a third faster.
        values = view.table[:, columns[0] : columns[-1] + 1][rows]
    else:
        values = view.array()
    return View(view.name, values, np.arange(len(columns)), None)


def _readings(plan, view):
    """(places among the present rows or None for all, these rows as hypotheses of the plan read them), one part or two.

    A score that leaves out gaps rounds differently from one that has none to leave out. So rows with gaps are read
    apart from those without: what a hypothesis says of a row must not depend on which rows are asked together.
    """
    reading = plan.read(view)
    if not getattr(reading, "gaps", False):
        return [(None, reading)]
    gaps = np.isnan(view.array()).any(axis=1)
    if gaps.all():
        return [(None, reading)]
    parts = np.flatnonzero(~gaps), np.flatnonzero(gaps)
    rows = parts if view.rows is None else (view.rows[part] for part in parts)
    return [(part, plan.read(_only(replace(view, rows=part_rows)))) for part, part_rows in zip(parts, rows)]
