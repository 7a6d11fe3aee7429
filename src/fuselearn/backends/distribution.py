"""Weights of the rows, and what follows from how they change.

Reweighting multiplies all right rows by one constant. So a statistic that is linear in the weights shrinks by that
constant, but for the rows that were not right: T(w') = c·T(w) + T(w' - c·w), where w' - c·w is zero on the right rows.
For a winner that beats chance all terms are positive, so nothing cancels, and the rounding error grows no faster than
the rounds.
"""

import numpy as np

from fuselearn.numeric.threads import BLOCK_ROWS
from fuselearn.numeric.weights import multiply_by_outcome, weights_beyond_shrinking

WORTHWHILE = 0.7
"""Largest part of the rows for which an update is quicker than a full pass."""
REFRESH_ROUNDS = 16
"""A full pass is made in every so many rounds, against drift, and so that a run can be taken up again from there."""


class Distribution:
    """Weights of the rows, normalised.

    Attributes
    ----------
    weights : ndarray of shape (n_rows,)
    """

    def __init__(self, weights):
        self.weights = weights / weights.sum()
        self._version = 0
        self._shrinking = None
        self._beyond = None
        self._totals = {}

    def reweight(self, outcome, right, wrong, absent):
        """Multiply the weights by the factor of their row's outcome, and normalise."""
        total = multiply_by_outcome(outcome, self.weights, right, wrong, absent, BLOCK_ROWS)
        self._version += 1
        self._shrinking = None
        if 0 < right < min(wrong, absent):
            if self._beyond is None:
                self._beyond = np.empty_like(self.weights)
            changed = weights_beyond_shrinking(outcome, self.weights, wrong / right, absent / right, self._beyond)
            if changed <= WORTHWHILE * len(outcome):
                self._shrinking = right / total

    def total(self, key, statistic_of, refresh):
        """A statistic under the current weights.

        Parameters
        ----------
        key : hashable
            Names the statistic from round to round.
        statistic_of : callable
            Computes it from weights.
        refresh : bool
            Whether to make a full pass in any case.
        """
        version, total = self._totals.get(key, (None, None))
        if version == self._version - 1 and self._shrinking is not None and not refresh:
            total = self._shrinking * total + statistic_of(self._beyond)
        elif version != self._version:
            total = statistic_of(self.weights)
        self._totals[key] = (self._version, total)
        return total
