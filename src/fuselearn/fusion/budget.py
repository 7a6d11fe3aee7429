"""The budget of a fit, in fits and in seconds, and plans of what may be begun within it.

What a time limit leaves no time for is noted in the budget, and one warning names it when the fit is done.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from fuselearn.exceptions import InterruptedFitWarning, level_of_caller

FEWEST_FOLDS = 2
"""Folds that an arm without which there would be no model is cross-fitted in, where there is no time for all."""
RESERVED, MOST_RESERVED = 0.15, 0.4
"""Shares of the time limit that are kept for what follows the fits of arms: besides what was measured, and at most."""
TRIED_STEPS = 3
"""How much longer it takes to weigh all arms, and once more without each fold, than to weigh the first one."""
IMPUTER_SHARE = 0.15
"""Share of the time limit in which views may be filled in."""

Item = TypeVar("Item")


@dataclass
class Budget:
    """The fits that may still be made, by number and by time in seconds; None is no limit."""

    max_fits: int | None = None
    time_limit: float | None = None
    used: int = 0
    started: float = field(default_factory=lambda: time.monotonic())
    left_out: list[str] = field(default_factory=list)

    def grant(self, wanted: int) -> int:
        """Return how many of the wanted fits may be made now, and count them as made."""
        if self.seconds_left() <= 0:
            return 0
        granted = int(min(wanted, self.fits_left()))
        self.used += granted
        return granted

    def fits_left(self) -> float:
        """Return the number of fits that may still be made."""
        return np.inf if self.max_fits is None else max(0, self.max_fits - self.used)

    def seconds_used(self) -> float:
        """Return the time since the start."""
        return time.monotonic() - self.started

    def seconds_left(self) -> float:
        """Return the time that is left."""
        return np.inf if self.time_limit is None else self.time_limit - self.seconds_used()

    def leave_out(self, description: str) -> None:
        """Note what there was no time for."""
        if description not in self.left_out:
            self.left_out.append(description)

    @contextmanager
    def about(self, what: str) -> Iterator[None]:
        """Say of what is left out meanwhile that it is about something else than the target."""
        before = len(self.left_out)
        yield
        self.left_out[before:] = [f"{description} ({what})" for description in self.left_out[before:]]

    def warn(self) -> None:
        """Warn of what was left out, if anything was."""
        if self.left_out:
            names = ", ".join(dict.fromkeys(self.left_out))
            warnings.warn(
                f"time_limit={self.time_limit:g}: there was no time for {names}. The model has the other base models "
                "of `leaderboard_`.",
                InterruptedFitWarning,
                stacklevel=level_of_caller(),
            )


class Plan:
    """What may be begun within a budget.

    Parameters
    ----------
    budget : Budget
        Fits and time.

    Attributes
    ----------
    budget : Budget
    is_limited : bool
        Whether there is a time limit.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.is_limited = budget.time_limit is not None

    def seconds_left(self) -> float:
        """Return the time that further fits may take."""
        return self.budget.seconds_left()

    def seconds_of(self, work: Callable[[], object]) -> float:
        """Return how long work takes."""
        started = self.budget.seconds_used()
        work()
        return self.budget.seconds_used() - started

    def cross_fit(
        self, fits_of: Callable[[int], Iterator[Item]], n_folds: int, *, n_rounds: int = 1, needed: bool = False
    ) -> list[Item] | None:
        """Return what is fitted without each fold; None where, by the first fold, there is no time for the others.

        Parameters
        ----------
        fits_of : callable
            Takes a number of folds, and returns an iterator over the fits without each of them.
        n_folds : int
            Number of folds.
        n_rounds : int, default=1
            How often an arm is cross-fitted, of which this is the first.
        needed : bool, default=False
            Whether there would be no model without it: where there is no time for all folds, it is fitted in two.
        """
        if not self.is_limited:
            return list(fits_of(n_folds))
        started = self.budget.seconds_used()
        if needed and n_folds > FEWEST_FOLDS:
            halves = fits_of(FEWEST_FOLDS)
            first = next(halves)
            if n_folds * n_rounds * (self.budget.seconds_used() - started) > self.seconds_left():
                return [first, *halves]
        if needed:
            return list(fits_of(n_folds))
        fits = fits_of(n_folds)
        first = next(fits)
        if (n_folds * n_rounds - 1) * (self.budget.seconds_used() - started) > self.seconds_left():
            return None
        return [first, *fits]


class OutOfTime(Exception):
    """There is no time for the other folds of an arm; all of them take `n_times` as long as what was fitted."""

    def __init__(self, n_times: int) -> None:
        super().__init__()
        self.n_times = n_times


class FewRowsPlan(Plan):
    """What may be begun on few rows.

    Attributes
    ----------
    has_fit : bool
        Whether there is an arm that the model can have.
    """

    def __init__(self, budget: Budget) -> None:
        super().__init__(budget)
        self.has_fit = False
        self._seconds: dict[str, float] = {}
        self._weighing_seconds = 0.0

    def seconds_left(self) -> float:
        """Return the time that further fits may take."""
        limit = self.budget.time_limit
        if limit is None:
            return np.inf
        reserved = RESERVED * limit + TRIED_STEPS * self._weighing_seconds
        return self.budget.seconds_left() - min(MOST_RESERVED * limit, reserved)

    def may_fill(self) -> bool:
        """Return whether there is time for another step towards what fills in absent views."""
        return self.budget.time_limit is None or self.budget.seconds_used() < IMPUTER_SHARE * self.budget.time_limit

    def may_fit(self, learner: str) -> bool:
        """Return whether there is time for a fit that takes as long as the longest of the learner so far, or of all."""
        longest = max(self._seconds.values(), default=0.0)
        return self.seconds_left() > self._seconds.get(learner, longest)

    def note_fit(self, learner: str, seconds: float) -> None:
        """Note how long a fit of a learner took."""
        self._seconds[learner] = max(seconds, self._seconds.get(learner, 0.0))

    def measure_weighing(self, work: Callable[[], object]) -> None:
        """Measure how long the first arms are weighed and judged, if there is time to try it."""
        if self.is_limited and self.seconds_left() > 0:
            self._weighing_seconds = self.seconds_of(work)

    def as_many(self, work: Callable[[int], Item], least: int, most: int, share: float) -> Item:
        """Return the result of work on as many items as a share of the time left is enough for, by that on the least.

        Without a time limit, these are the most.
        """
        if not self.is_limited or least >= most:
            return work(most)
        started = self.budget.seconds_used()
        result = work(least)
        seconds = max(self.budget.seconds_used() - started, np.finfo(float).tiny)
        n_items = min(share * self.budget.seconds_left() / seconds * least, float(most))
        return work(int(n_items)) if n_items > least else result
