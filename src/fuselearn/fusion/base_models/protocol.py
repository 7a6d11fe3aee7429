"""What the arms of a fusion have in common."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np


class ArmFit(NamedTuple):
    """One fit of an arm.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_targets)
        Of the training rows, each by a model that was not fitted on it: the judge of its label.
    apart : ndarray of shape (n_rows, n_targets)
        The same by models that have seen no row of its group either: what the arm is worth on new groups. Without
        groups, the very same array.
    model : object
        ``model.predict(X)`` gives values of other rows, of shape (n_rows, n_targets), from the columns of the view.
    """

    values: np.ndarray
    apart: np.ndarray
    model: object


def codes_of_targets(targets):
    """The class that the targets of each row are highest for, by which folds are stratified."""
    return (targets[:, 0] > 0).astype(np.intp) if targets.shape[1] == 1 else targets.argmax(axis=1)


class Prepared(Protocol):
    """The training rows of a view as a learner wants them, made once and fitted many times.

    Attributes
    ----------
    n_fits : int
        How many fits differ: further ones would repeat the first.
    """

    n_fits: int

    def fit(self, targets, number, seed):
        """Fit number `number` (0, 1, …) on targets of shape (n_rows, n_targets). Returns an `ArmFit`."""


@dataclass(frozen=True)
class Arm:
    """A view together with a learner.

    Attributes
    ----------
    view : int or None
        Number of the view; None for all views side by side.
    view_name, learner : str
        What the user calls them.
    rows : intp ndarray
        Training rows that have the view.
    columns : intp ndarray
        Of `X`.
    prepare : callable
        Without arguments, returns the `Prepared` rows.
    """

    view: int | None
    view_name: str
    learner: str
    rows: np.ndarray
    columns: np.ndarray
    prepare: object
