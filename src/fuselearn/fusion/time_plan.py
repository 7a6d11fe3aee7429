"""The time of a fit on many rows: what may still be begun, and what is kept for the steps that must follow.

Weights, the judging of labels, calibration, scores and the values of rows with fewer views come after the fits of the
arms, whatever time is left. What they will take is measured on the way: by a pass over the values of the arms so far,
by judging few of the labels, and by the time in which arms predict their out-of-fold values.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from fuselearn.consensus.expectation_maximisation import agree
from fuselearn.fusion.budget import MOST_RESERVED, Budget, Item, Plan
from fuselearn.fusion.passes import CONSENSUS_ROWS
from fuselearn.fusion.pattern_values import LEAST_MASKED_ROWS
from fuselearn.typing import FloatArray, IntArray

PASSES, PASSES_AFTER_WEIGHTS = 25, 10
"""Passes over the values of the arms that follow the last fit, and those that follow the weights."""
TRIED_ROWS = 500
"""Rows whose labels are judged to see how long it takes."""
BOOSTING_SHARE = 0.8
"""Share of the time left that boosted trees of a view, or of all views, may take."""


class TimePlan(Plan):
    """What may be begun on many rows.

    Parameters
    ----------
    budget : Budget
        Fits and time.
    n_views : int, default=1
        Number of views.
    """

    def __init__(self, budget: Budget, n_views: int = 1) -> None:
        super().__init__(budget)
        # Rows of all views, and of each alone, that arms of all views predict again after the fit, at least.
        self._n_masked = LEAST_MASKED_ROWS * (n_views + 1)
        self._pass_seconds = self._judging_seconds = self._row_seconds = 0.0

    def measure_pass(self, work: Callable[[], object]) -> None:
        """Measure a pass over the values of the arms so far."""
        if self.is_limited:
            self._pass_seconds = self.seconds_of(work)

    def measure_judging(self, logits: FloatArray, codes: IntArray) -> None:
        """Measure the judging of few labels; all of them take as much longer as they are more."""
        rows = slice(0, TRIED_ROWS)
        n_rows = len(codes[rows])
        seconds = self.seconds_of(lambda: agree(logits[rows, None, :], codes[rows]))
        self._judging_seconds = seconds * CONSENSUS_ROWS / max(n_rows, 1)

    def measured_prediction(self, work: Callable[[], Item], n_rows: int, *, again: bool) -> Item:
        """Return the result of work that predicts so many rows, and note how long it took.

        It counts if the arm is to predict rows `again`, with fewer views.
        """
        started = self.budget.seconds_used()
        result = work()
        if again:
            self._row_seconds += (self.budget.seconds_used() - started) / n_rows
        return result

    def seconds_left(self) -> float:
        """Return the time that further fits may take."""
        limit = self.budget.time_limit
        if limit is None:
            return np.inf
        # Matrices between classes take about half as long as the judging.
        reserved = PASSES * self._pass_seconds + 1.5 * self._judging_seconds + self._n_masked * self._row_seconds
        return self.budget.seconds_left() - min(MOST_RESERVED * limit, reserved)

    def may_fit(self, description: str, seconds: float = 0.0, *, is_first: bool = False) -> bool:
        """Return whether a fit that takes so long may be made, and count it as made; note it where time is short.

        The first one may be made in any case.
        """
        if is_first:
            self.budget.grant(1)
            return True
        if self.seconds_left() <= seconds:
            self.budget.leave_out(description)
            return False
        return self.budget.grant(1) > 0

    def may_improve(self) -> bool:
        """Return whether there is time for more than has to follow the weights."""
        needed = PASSES_AFTER_WEIGHTS * self._pass_seconds + self._judging_seconds
        needed += self._n_masked * self._row_seconds
        return not self.is_limited or self.budget.seconds_left() > needed

    def most_masked(self, most: int, least: int) -> int:
        """Return how many rows, times patterns of views, there is time to predict with fewer views."""
        if not self.is_limited or not self._row_seconds:
            return most
        return int(np.clip(self.budget.seconds_left() / self._row_seconds, least, most))

    def deadline_of_boosting(self) -> float:
        """Return the time of `time.monotonic` by which boosted trees of a view, in all folds, have to end."""
        return time.monotonic() + BOOSTING_SHARE * max(0.0, self.seconds_left())
