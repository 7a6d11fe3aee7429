"""The ensemble: votes of its hypotheses on rows, in full or only of as many views as decide.

With early exit, views are read one after the other, the one with the most votes first, and each with all its
hypotheses: what a view costs is its measurement. After each view the rows whose leading class is out of reach of the
rest are decided; only the others get the next view prepared. The outcome is that of the full sum in the order of the
rounds. Rounding is allowed for by a slack, and rows as near to a tie as that are summed in full, which decides them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from sklearn import config_context, get_config

from fuselearn.data import View, ViewBlocks, transformed
from fuselearn.learners.protocol import Hypothesis, Plan, PreparedRows
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.numeric.votes import add_all_votes, add_votes, codes_of, prior_votes, rounding_slack, settle
from fuselearn.typing import AnyArray, BoolArray, FloatArray, IntArray, Transformer

CHUNK_ROWS = 4096
"""Rows that are prepared and voted on together: their views stay in the cache for all hypotheses."""
BLOCK_ROWS = 4 * CHUNK_ROWS
"""Rows that exit early together. More than a chunk, so that the few rows that need the last views are read at once."""
VOTERS_AT_A_TIME = 64
"""Hypotheses of a view whose answers are added up in one pass."""


class Ensemble:
    """Hypotheses with their votes, and how to find their columns.

    Parameters
    ----------
    view_names : list of str
        Names of the views.
    view_columns : list of intp ndarray
        Columns of each view.
    transformers : list of fitted transformer or None
        Transformer of each view.
    hypotheses : list of Hypothesis or None
        Winner of each round.
    alphas : ndarray of shape (n_rounds,)
        Vote of each.
    winning_views : int ndarray of shape (n_rounds,)
        View of each.
    class_prior : ndarray of shape (n_classes,)
        Decides rows that no hypothesis sees.

    Attributes
    ----------
    view_strengths : ndarray of shape (n_views,)
        Σ|α| of the hypotheses of each view.
    view_order : intp ndarray
        The views that have a hypothesis, strongest first; of equal ones the first comes first.
    """

    def __init__(
        self,
        view_names: list[str],
        view_columns: list[IntArray],
        transformers: Sequence[Transformer | None],
        hypotheses: Sequence[Hypothesis | None],
        alphas: FloatArray,
        winning_views: IntArray,
        class_prior: FloatArray,
    ) -> None:
        self.alphas = np.asarray(alphas, dtype=np.float64)
        self.class_prior = class_prior
        self.view_columns = view_columns
        self._view_names = view_names
        self._transformers = transformers
        self._rounds = list(zip(hypotheses, self.alphas.tolist(), np.asarray(winning_views).tolist()))
        # By view, and within it by plan: hypotheses of an arm share theirs, so rows are read once per arm.
        self._voters: list[dict[int, list[tuple[Hypothesis, float]]]] = [{} for _ in view_names]
        strengths = [0.0] * len(view_names)
        for hypothesis, alpha, number in self._rounds:
            if hypothesis is not None:
                self._voters[number].setdefault(id(hypothesis.plan), []).append((hypothesis, alpha))
                strengths[number] += abs(alpha)
        self.view_strengths = np.array(strengths)
        voting = [number for number, voters in enumerate(self._voters) if voters]
        self.view_order = np.array(sorted(voting, key=lambda number: -strengths[number]), dtype=np.intp)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_prior)

    def voters_of(self, view: int) -> list[tuple[Hypothesis, float]]:
        """Return the hypotheses of a view, with their votes."""
        return [voter for voters in self._voters[view].values() for voter in voters]

    def has_transformer(self, view: int) -> bool:
        """Return whether the columns of a view are transformed before hypotheses read them."""
        return self._transformers[view] is not None

    def vote_in_blocks(
        self, X: FloatArray, receive: Callable[[slice, FloatArray, BoolArray], None], threads: Threads = SERIAL
    ) -> None:
        """Sum the votes of some rows at a time, and pass each block on, so that no memory grows with the rows.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            The rows.
        receive : callable
            Called as ``receive(rows, votes, has_vote)`` for each block, in any order: a slice of the rows; Σ α over the
            hypotheses that name a class, of shape (n_block, n_classes); and whether any hypothesis saw the row.
        threads : Threads, default=SERIAL
            Threads that share the rows.
        """

        def work(first: int, last: int) -> None:
            for start in range(first, last, CHUNK_ROWS):
                rows = slice(start, min(start + CHUNK_ROWS, last))
                *_, (votes, has_vote) = self.staged_votes(X[rows])
                receive(rows, votes, has_vote)

        _share_rows(threads, len(X), work)

    def staged_votes(self, X: FloatArray) -> Iterator[tuple[FloatArray, BoolArray]]:
        """Yield (votes, has_vote) before the first round and after each, in arrays that are used again."""
        votes, has_vote = np.zeros((len(X), self.n_classes)), np.zeros(len(X), dtype=bool)
        yield votes, has_vote
        views = list(ViewBlocks.of(X, self._view_names, self.view_columns))
        views = [transformed(view, transformer) for view, transformer in zip(views, self._transformers)]
        rows_of = [np.arange(len(X)) if view.rows is None else view.rows for view in views]
        read: dict[tuple[int, int], list[tuple[IntArray, PreparedRows]]] = {}
        for hypothesis, alpha, number in self._rounds:
            rows = rows_of[number]
            if hypothesis is not None and len(rows):
                key = (number, id(hypothesis.plan))
                if key not in read:
                    batches = _read_by_gaps(hypothesis.plan, views[number])
                    read[key] = [(rows if places is None else rows[places], batch) for places, batch in batches]
                for batch_rows, batch in read[key]:
                    add_votes(votes, hypothesis.predict_read(batch), batch_rows, alpha)
                has_vote[rows] = True
            yield votes, has_vote

    def decision(self, votes: FloatArray, has_vote: BoolArray) -> FloatArray:
        """Return the votes, or the prior's where there are none; of two classes as one column, positive for class 1."""
        if not has_vote.all():
            votes = votes.copy()
            votes[~has_vote] = prior_votes(self.class_prior)
        return votes[:, 1] - votes[:, 0] if votes.shape[1] == 2 else votes

    def add_view_votes(self, number: int, X: FloatArray, rows: IntArray, votes: FloatArray) -> None:
        """Add the votes of all hypotheses of one view, arm by arm, to those of rows that have it (increasing)."""
        view = _present_only(View(self._view_names[number], X, self.view_columns[number], rows))
        view = transformed(view, self._transformers[number])
        for voters in self._voters[number].values():
            for places, batch in _read_by_gaps(voters[0][0].plan, view):
                batch_rows = rows if places is None else rows[places]
                for first in range(0, len(voters), VOTERS_AT_A_TIME):
                    hypotheses, alphas = zip(*voters[first : first + VOTERS_AT_A_TIME])
                    codes = np.array([hypothesis.predict_read(batch) for hypothesis in hypotheses])
                    add_all_votes(votes, codes, batch_rows, np.array(alphas))


def predict_early(
    ensemble: Ensemble, X: FloatArray, threads: Threads = SERIAL, used: BoolArray | None = None
) -> IntArray:
    """Return the class codes of rows, from as few views as decide them.

    They are ``codes_of`` the ensemble's decision. Of shape (n_rows, n_views), `used` is filled with which views were
    read, where it is given.
    """
    codes = np.empty(len(X), dtype=np.intp)

    def work(first: int, last: int) -> None:
        for start in range(first, last, BLOCK_ROWS):
            rows = slice(start, min(start + BLOCK_ROWS, last))
            block = _EarlyExit(ensemble, X[rows], codes[rows])
            block.run()
            if used is not None:
                used[rows] = block.used

    _share_rows(threads, len(X), work)
    return codes


class _EarlyExit:
    """A block of rows while its views are read; `codes` are filled by `run`, `used` marks the views that were read."""

    def __init__(self, ensemble: Ensemble, X: FloatArray, codes: IntArray) -> None:
        self._ensemble, self._X, self._codes = ensemble, X, codes
        self._slack = rounding_slack(ensemble.alphas)
        self._votes = np.zeros((len(X), ensemble.n_classes))
        self._open = np.arange(len(X))
        self._present = np.ones((len(X), len(ensemble.view_columns)), dtype=bool)
        self._complete = True
        self.used = np.zeros_like(self._present)

    def run(self) -> None:
        """Read views until every row is decided."""
        order = self._ensemble.view_order
        strengths = self._ensemble.view_strengths[order]
        so_far = np.cumsum(strengths).tolist()
        self._find_absent(order[:1])
        for place, number in enumerate(order, start=1):
            self._read(number)
            # No lead is larger than all votes so far; until they outweigh the rest, nothing can be decided.
            rest = so_far[-1] - so_far[place - 1]
            if so_far[place - 1] > rest:
                self._settle(np.full(len(self._open), rest))
            if place == 1:
                # Which of the other views a row lacks matters only where the first did not decide it.
                self._find_absent(order[1:])
            if not self._complete:
                # A view that is absent cannot change the outcome either.
                self._settle(self._present[self._open][:, order[place:]] @ strengths[place:])
            if not len(self._open):
                return
        self._sum_in_full()

    def _find_absent(self, numbers: IntArray) -> None:
        """Note which of some views the open rows have."""
        for number in numbers if len(self._open) else ():
            absent = _absent_places(self._X, self._ensemble.view_columns[number], self._open)
            if len(absent):
                self._present[self._open[absent], number] = False
                self._complete = False

    def _read(self, number: int) -> None:
        """Add the votes of a view to the open rows that have it."""
        rows = self._open if self._complete else self._open[self._present[self._open, number]]
        self.used[rows, number] = True
        for start in range(0, len(rows), CHUNK_ROWS):
            self._ensemble.add_view_votes(number, self._X, rows[start : start + CHUNK_ROWS], self._votes)

    def _settle(self, rest: FloatArray) -> None:
        """Decide the open rows whose lead is larger than the votes to come."""
        self._open = self._open[: settle(self._votes, self._open, rest, self._slack, self._codes)]

    def _sum_in_full(self) -> None:
        """Decide rows that are near a tie when all is read, and rows without a vote, by the full decision."""
        for start in range(0, len(self._open), CHUNK_ROWS):
            rows = self._open[start : start + CHUNK_ROWS]

            def receive(block: slice, votes: FloatArray, has_vote: BoolArray, rows: IntArray = rows) -> None:
                self._codes[rows[block]] = codes_of(self._ensemble.decision(votes, has_vote))

            self._ensemble.vote_in_blocks(self._X[rows], receive)


def _share_rows(threads: Threads, n_rows: int, work: Callable[[int, int], None]) -> None:
    """Call ``work(first, last)`` on ranges of rows, one a thread, cut between chunks."""
    config = get_config()  # scikit-learn keeps it per thread

    def configured(first: int, last: int) -> None:
        with config_context(**config):
            work(first * CHUNK_ROWS, min(last * CHUNK_ROWS, n_rows))

    threads.share(-(-n_rows // CHUNK_ROWS), configured)


def _present_only(view: View) -> View:
    """Return the present rows of a view as a view of their own: a window where they are consecutive, else a copy."""
    rows, columns = view.rows, view.columns
    if rows is None:
        return view
    values: AnyArray
    if rows[-1] - rows[0] + 1 == len(rows):
        return View(view.name, view.table[rows[0] : rows[-1] + 1], columns, None)
    if columns[-1] - columns[0] + 1 == len(columns) and (columns[1:] > columns[:-1]).all():
        # To take the columns first makes the copy by up to a third faster.
        values = view.table[:, columns[0] : columns[-1] + 1][rows]
    else:
        values = view.array()
    return View(view.name, values, np.arange(len(columns)), None)


def _read_by_gaps(plan: Plan, view: View) -> list[tuple[IntArray | None, PreparedRows]]:
    """Return one or two pairs (places among the present rows or None for all, these rows as the plan reads them).

    A score that leaves out gaps rounds differently from one that has none to leave out. So rows with gaps are read
    separately from those without: the prediction of a row must not depend on the rows that are predicted with it.
    """
    if len(view.columns) != plan.n_columns:  # compiled code would read beyond the columns, or not all of them
        raise ValueError(
            f"The view {view.name!r} has {len(view.columns)} columns after preprocessing; the model was fitted on "
            f"{plan.n_columns}."
        )
    batch = plan.read(view)
    if not getattr(batch, "gaps", False):
        return [(None, batch)]
    gaps = np.isnan(view.array()).any(axis=1)
    if gaps.all():
        return [(None, batch)]
    both_places = np.flatnonzero(~gaps), np.flatnonzero(gaps)
    both_rows = both_places if view.rows is None else tuple(view.rows[places] for places in both_places)
    return [
        (places, plan.read(_present_only(replace(view, rows=rows)))) for places, rows in zip(both_places, both_rows)
    ]


def _absent_places(X: FloatArray, columns: IntArray, rows: IntArray) -> IntArray:
    """Return the places among some rows in which every one of the columns is NaN."""
    suspects = np.isnan(X[:, columns[0]] if len(rows) == len(X) else X[rows, columns[0]]).nonzero()[0]
    absent = []
    for start in range(0, len(suspects), CHUNK_ROWS):
        places = suspects[start : start + CHUNK_ROWS]
        absent.append(places[np.isnan(X[np.ix_(rows[places], columns)]).all(axis=1)])
    return np.concatenate(absent) if absent else suspects
