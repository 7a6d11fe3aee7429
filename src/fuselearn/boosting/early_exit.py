"""Prediction that stops reading views once the rest of the ensemble cannot change the outcome.

Views are read one after the other, the one with the most votes first, and each with all its hypotheses: what a view
costs is its measurement. After each view the rows whose leading class is out of reach of the rest are settled; only the
others get the next view prepared. The outcome is that of the full sum in the order of the rounds. Rounding is allowed
for by a slack, and rows that are as near to a tie as that are summed in full, which then decides as it always does.
"""

import numpy as np

from fuselearn.boosting.voting import CHUNK_ROWS, share_rows
from fuselearn.numeric.execution import SERIAL
from fuselearn.numeric.votes import codes_of, rounding_slack, settle

ROWS_AT_A_TIME = 4 * CHUNK_ROWS
"""Rows whose votes are kept at a time. More than a chunk, so that the few rows that need the last views are read
together."""


def predict_early(ensemble, X, threads=SERIAL, used=None):
    """Class codes of rows, from as few views as settle them.

    Parameters
    ----------
    ensemble : Ensemble
    X : ndarray of shape (n_rows, n_features)
    threads : Threads
    used : bool ndarray of shape (n_rows, n_views), default=None
        Filled, where given, with which views were read.

    Returns
    -------
    intp ndarray of shape (n_rows,)
        ``codes_of`` the ensemble's decision, for every row.
    """
    codes = np.empty(len(X), dtype=np.intp)

    def work(first, last):
        for start in range(first, last, ROWS_AT_A_TIME):
            rows = slice(start, min(start + ROWS_AT_A_TIME, last))
            reading = Reading(ensemble, X[rows], codes[rows])
            reading.run()
            if used is not None:
                used[rows] = reading.used

    share_rows(threads, len(X), work)
    return codes


class Reading:
    """A block of rows, while its views are read.

    Parameters
    ----------
    ensemble : Ensemble
    X : ndarray of shape (n_rows, n_features)
    codes : intp ndarray of shape (n_rows,)
        Filled by `run`.

    Attributes
    ----------
    used : bool ndarray of shape (n_rows, n_views)
        Views that were present and were read.
    """

    def __init__(self, ensemble, X, codes):
        self._ensemble, self._X, self._codes = ensemble, X, codes
        self._slack = rounding_slack(ensemble.alphas)
        self._votes = np.zeros((len(X), ensemble.n_classes))
        self._open = np.arange(len(X))
        self._present = np.ones((len(X), len(ensemble.view_columns)), dtype=bool)
        self._complete = True
        self.used = np.zeros_like(self._present)

    def run(self):
        """Read views until every row is settled."""
        order = self._ensemble.view_order
        strengths = self._ensemble.view_strengths[order]
        so_far = np.cumsum(strengths).tolist()
        self._look_for(order[:1])
        for place, number in enumerate(order, start=1):
            self._read(number)
            # No lead is larger than all votes so far; until they outweigh the rest, nothing need be asked.
            rest = so_far[-1] - so_far[place - 1]
            if so_far[place - 1] > rest:
                self._settle(np.full(len(self._open), rest))
            if place == 1:
                # Which of the other views a row lacks matters only where the first did not settle it.
                self._look_for(order[1:])
            if not self._complete:
                # A view that is absent cannot change the outcome either.
                self._settle(self._present[self._open][:, order[place:]] @ strengths[place:])
            if not len(self._open):
                return
        self._sum_in_full()

    def _look_for(self, numbers):
        """Note which of some views the open rows have."""
        for number in numbers if len(self._open) else ():
            lacking = _lacking(self._X, self._ensemble.view_columns[number], self._open)
            if len(lacking):
                self._present[self._open[lacking], number] = False
                self._complete = False

    def _read(self, number):
        rows = self._open if self._complete else self._open[self._present[self._open, number]]
        self.used[rows, number] = True
        for start in range(0, len(rows), CHUNK_ROWS):
            self._ensemble.let_view_vote(number, self._X, rows[start : start + CHUNK_ROWS], self._votes)

    def _settle(self, rest):
        self._open = self._open[: settle(self._votes, self._open, rest, self._slack, self._codes)]

    def _sum_in_full(self):
        """Rows that are near a tie when all is read, and rows that nobody sees: the full decision says."""
        for start in range(0, len(self._open), CHUNK_ROWS):
            rows = self._open[start : start + CHUNK_ROWS]

            def receive(part, votes, heard, rows=rows):
                self._codes[rows[part]] = codes_of(self._ensemble.decision(votes, heard))

            self._ensemble.vote_in_blocks(self._X[rows], receive)


def _lacking(X, columns, rows):
    """Places among some rows in which every one of the columns is NaN."""
    suspects = np.isnan(X[:, columns[0]] if len(rows) == len(X) else X[rows, columns[0]]).nonzero()[0]
    lacking = []
    for start in range(0, len(suspects), CHUNK_ROWS):
        places = suspects[start : start + CHUNK_ROWS]
        lacking.append(places[np.isnan(X[np.ix_(rows[places], columns)]).all(axis=1)])
    return np.concatenate(lacking) if lacking else suspects
