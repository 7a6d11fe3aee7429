"""What an ensemble says of rows: the votes of its hypotheses, in the order of the rounds."""

import numpy as np
from sklearn import config_context, get_config

from fuselearn.numeric.decisions import prior_votes
from fuselearn.numeric.threads import SERIAL
from fuselearn.numeric.weights import add_votes
from fuselearn.views import ViewBlocks, transformed

CHUNK_ROWS = 4096
"""Rows that are prepared and voted on together: their views stay in the cache for all hypotheses."""


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
    """

    def __init__(self, view_names, view_columns, transformers, hypotheses, alphas, winning_views, class_prior):
        self._view_names = view_names
        self._view_columns = view_columns
        self._transformers = transformers
        self._hypotheses = hypotheses
        self._alphas = alphas
        self._winning_views = winning_views
        self._class_prior = class_prior

    def votes(self, X, threads=SERIAL):
        """Sum of α over the hypotheses that name a class; of shape (n_rows, n_classes).

        Returns
        -------
        votes : ndarray of shape (n_rows, n_classes)
        heard : bool ndarray of shape (n_rows,)
            Whether any hypothesis saw the row.
        """
        votes = np.zeros((len(X), len(self._class_prior)))
        heard = np.zeros(len(X), dtype=bool)

        config = get_config()  # scikit-learn keeps it per thread

        def work(first, last):
            with config_context(**config):
                for start in range(first * CHUNK_ROWS, min(last * CHUNK_ROWS, len(X)), CHUNK_ROWS):
                    rows = slice(start, start + CHUNK_ROWS)
                    for _ in self._vote(X[rows], votes[rows], heard[rows]):
                        pass

        threads.share(-(-len(X) // CHUNK_ROWS), work)
        return votes, heard

    def staged_votes(self, X):
        """Yield (votes, heard) after each round. The arrays are reused: copy what is to be kept."""
        votes = np.zeros((len(X), len(self._class_prior)))
        heard = np.zeros(len(X), dtype=bool)
        for _ in self._vote(X, votes, heard):
            yield votes, heard

    def _vote(self, X, votes, heard):
        views = ViewBlocks.of(X, self._view_names, self._view_columns).views
        views = [transformed(view, transformer) for view, transformer in zip(views, self._transformers)]
        rows_of = [np.arange(len(X)) if view.rows is None else view.rows for view in views]
        # Hypotheses of an arm share their plan, so rows are read once per arm.
        read = {}
        for hypothesis, alpha, number in zip(self._hypotheses, self._alphas, self._winning_views):
            rows = rows_of[number]
            if hypothesis is not None and len(rows):
                key = (number, id(hypothesis.plan))
                if key not in read:
                    read[key] = hypothesis.plan.read(views[number])
                add_votes(votes, hypothesis.predict_read(read[key]), rows, alpha)
                heard[rows] = True
            yield

    def decision(self, votes, heard):
        """Votes, with the prior's where nobody voted: binary as one column, its sign meaning class 1."""
        if not heard.all():
            votes = votes.copy()
            votes[~heard] = prior_votes(self._class_prior)
        return votes[:, 1] - votes[:, 0] if votes.shape[1] == 2 else votes
