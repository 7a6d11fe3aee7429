"""Where the fits go: every arm is tried, then the ones whose further fits pay are fitted again.

It is S1's idea, a bandit over arms that is rewarded by what the ensemble gains, put on learners that cost more than a
stump: the gain of an arm's last fit is what the next one is expected to bring, and the run ends when no arm is expected
to bring anything.
"""

import time
from dataclasses import dataclass, field

import numpy as np

PULLS_AT_ONCE = 4
"""Arms that are fitted side by side between two looks at the gain: a constant, or the model would depend on n_jobs."""
WORTH_WHILE = 2e-3
"""Share of the loss that a fit must take off to be called a gain."""
OPTIMISM = 0.05
"""Share of the loss that a first repeat is taken to bring, for an arm that has all the weight."""


@dataclass
class Budget:
    """How much may still be fitted.

    Attributes
    ----------
    max_fits : int or None
    time_limit : float or None
        Seconds.
    """

    max_fits: int | None = None
    time_limit: float | None = None
    used: int = 0
    started: float = field(default_factory=time.monotonic)

    def grant(self, wanted):
        """How many of the wanted fits may be made now; they are then taken as made."""
        if self.seconds_left() <= 0:
            return 0
        granted = min(wanted, self.fits_left())
        self.used += granted
        return granted

    def fits_left(self):
        return np.inf if self.max_fits is None else max(0, self.max_fits - self.used)

    def seconds_used(self):
        return time.monotonic() - self.started

    def seconds_left(self):
        return np.inf if self.time_limit is None else self.time_limit - self.seconds_used()


class Repeats:
    """Which arms to fit again.

    Parameters
    ----------
    left : list of int
        Further fits that each arm can make.
    weights : ndarray of shape (n_arms,)
        Of the arms in the ensemble so far.
    """

    def __init__(self, left, weights):
        self._left = np.array(left)
        total = weights.sum()
        self._expected = OPTIMISM * weights / total if total > 0 else np.zeros(len(weights))

    def choose(self):
        """Numbers of the arms to fit now, at most `PULLS_AT_ONCE`; none when nothing is to be gained."""
        expected = np.where(self._left > 0, self._expected, 0.0)
        order = np.argsort(-expected, kind="stable")[:PULLS_AT_ONCE]
        return [int(arm) for arm in order if expected[arm] > WORTH_WHILE]

    def reward(self, arms, gain):
        """Note the share of the loss that fitting these arms took off, which they share."""
        for arm in arms:
            self._left[arm] -= 1
            self._expected[arm] = min(self._expected[arm], max(gain, 0.0) / len(arms))
