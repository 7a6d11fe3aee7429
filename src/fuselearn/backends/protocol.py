"""What the boosting loop may ask of the rows.

The loop sees three numbers per arm and round, and never a row. So the rows can be anywhere: in this process,
spread over a cluster, or on a GPU.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from fuselearn.views import View


class Tally(NamedTuple):
    """Weight of the rows that a hypothesis gets right, gets wrong, and abstains on: W₊, W₋, W₀."""

    right: float
    wrong: float
    absent: float


class Trial(NamedTuple):
    """A hypothesis that was fitted in a round, and how it did.

    The hypothesis is None when no row with weight has the arm's view: it abstains everywhere.
    """

    hypothesis: object
    tally: Tally


@dataclass(frozen=True)
class Arm:
    """A view together with a learner, and the labels it believes.

    Attributes
    ----------
    view : View
    view_number : int
    learner : learner, see `fuselearn.learners.protocol`
    codes : int32 ndarray of shape (n_rows,)
        Class of each row, by this view's own labels.
    """

    view: View
    view_number: int
    learner: object
    codes: np.ndarray


class Rows(Protocol):
    """The rows of a run and their weights.

    Arms share one weight per row, or each has its own; only the rows know.
    """

    def try_arms(self, arms, round_number):
        """Fit each of the arms under its weights. Returns a list of `Trial`."""

    def judge(self, arm, hypothesis, round_number):
        """Weigh a hypothesis that was fitted before. Returns its `Tally`."""

    def reweight(self, arm, right, wrong, absent):
        """Multiply the arm's weights by what its last judged hypothesis made of each row, and normalise."""
