"""The time of a fit on many rows: what may still be begun, and what is kept for the steps that must follow.

Weights, the judging of labels, calibration and scores come after the fits of the arms, whatever time is left. What they
will take is measured on the way: by a pass over the values of the arms so far, and by judging few of the labels.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np

from fuselearn.consensus.expectation_maximisation import agree
from fuselearn.exceptions import InterruptedFitWarning, level_of_caller
from fuselearn.fusion.passes import CONSENSUS_ROWS, Budget
from fuselearn.typing import FloatArray, IntArray

PASSES, PASSES_AFTER_WEIGHTS = 25, 10
"""Passes over the values of the arms that follow the last fit, and those that follow the weights."""
TRIED_ROWS = 500
"""Rows whose labels are judged to see how long it takes."""
MOST_RESERVED = 0.4
"""Share of the time limit that is kept for what follows, at most."""
BOOSTING_SHARE = 0.8
"""Share of the time left that boosted trees of a view, or of all views, may take."""


class TimePlan:
    """What may be begun within the budget of a run.

    Parameters
    ----------
    budget : Budget
        Fits and time.

    Attributes
    ----------
    is_limited : bool
        Whether there is a time limit.
    left_out : list of str
        What there was no time for.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.is_limited = budget.time_limit is not None
        self.left_out: list[str] = []
        self._pass_seconds = self._judging_seconds = 0.0

    def measure_pass(self, work: Callable[[], object]) -> None:
        """Measure a pass over the values of the arms so far."""
        if self.is_limited:
            self._pass_seconds = self._seconds_of(work)

    def measure_judging(self, logits: FloatArray, codes: IntArray) -> None:
        """Measure the judging of few labels; all of them take as much longer as they are more."""
        rows = slice(0, TRIED_ROWS)
        n_rows = len(codes[rows])
        seconds = self._seconds_of(lambda: agree(logits[rows, None, :], codes[rows]))
        self._judging_seconds = seconds * CONSENSUS_ROWS / max(n_rows, 1)

    def seconds_left(self) -> float:
        """Return the time that further fits may take."""
        limit = self._budget.time_limit
        if limit is None:
            return np.inf
        # Matrices between classes take about half as long as the judging.
        reserved = PASSES * self._pass_seconds + 1.5 * self._judging_seconds
        return self._budget.seconds_left() - min(MOST_RESERVED * limit, reserved)

    def may_fit(self, description: str, seconds: float = 0.0, *, is_first: bool = False) -> bool:
        """Return whether a fit that takes so long may be made, and count it as made; note it where time is short.

        The first one may be made in any case.
        """
        if is_first:
            self._budget.grant(1)
            return True
        if self.seconds_left() <= seconds:
            self.left_out.append(description)
            return False
        return self._budget.grant(1) > 0

    def may_improve(self) -> bool:
        """Return whether there is time for more than has to follow the weights."""
        needed = PASSES_AFTER_WEIGHTS * self._pass_seconds + self._judging_seconds
        return not self.is_limited or self._budget.seconds_left() > needed

    def deadline_of_boosting(self) -> float:
        """Return the time of `time.monotonic` by which boosted trees of a view, in all folds, have to end."""
        return time.monotonic() + BOOSTING_SHARE * max(0.0, self.seconds_left())

    def warn(self) -> None:
        """Warn of what was left out."""
        if self.left_out:
            warnings.warn(
                f"time_limit={self._budget.time_limit:g}: there was no time for {', '.join(self.left_out)}. The model "
                "has the other base models of `leaderboard_`.",
                InterruptedFitWarning,
                stacklevel=level_of_caller(),
            )

    def _seconds_of(self, work: Callable[[], object]) -> float:
        """Return how long work takes."""
        started = time.monotonic()
        work()
        return time.monotonic() - started
