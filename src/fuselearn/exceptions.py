"""Warnings and errors with names of their own, so that a program can tell each of them."""

import sys
from types import FrameType


def level_of_caller() -> int:
    """Return the `stacklevel` at which a warning names the line that called fuselearn, however deep it arose."""
    level = 1
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "fuselearn":
        frame, level = frame.f_back, level + 1
    return level


class InterruptedFitWarning(UserWarning):
    """A fit was interrupted, or its time limit was too short for all of it; the model has what was done by then."""


class NoEdgeWarning(UserWarning):
    """No view beats chance in the first round; the model predicts the class prior."""


class SavedByOtherVersionWarning(UserWarning):
    """A saved model was written with another version of scikit-learn than the one that reads it."""


class UnattainableCoverageWarning(UserWarning):
    """Too few training rows tell of an asked coverage: intervals cover less, and sets have all classes."""


class UntrustedTypeError(ValueError):
    """A saved model holds types of other packages that the caller does not trust.

    Parameters
    ----------
    names : list of str
        Names of the types, as `fuselearn.load` takes them for `trusted`.
    message : str
        What was refused.

    Attributes
    ----------
    names : list of str
        Names of the types.
    """

    def __init__(self, names: list[str], message: str) -> None:
        super().__init__(message)
        self.names = names
