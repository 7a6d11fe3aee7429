"""The rows of an arm, in the order that serves its learner best."""

from dataclasses import dataclass, replace

import numpy as np

from fuselearn.views import View


@dataclass(frozen=True)
class PlacedArm:
    """An arm whose rows have been put in order.

    Attributes
    ----------
    as_given : View
    view : View
        The same with its `rows` in that order.
    view_number : int
    learner : learner
    rows : intp ndarray
        The same rows, also where all of them are the view's.
    codes : int32 ndarray
        Classes of those rows.
    """

    as_given: View
    view: View
    view_number: int
    learner: object
    rows: np.ndarray
    codes: np.ndarray

    @classmethod
    def of(cls, arm, orders):
        """Put the rows of an arm in order; `orders` holds those of other arms, which may be the same."""
        by_class = arm.learner.rows_by_class
        key = (id(arm.codes), id(arm.view.rows), by_class)
        if key not in orders:
            rows = np.arange(len(arm.codes)) if arm.view.rows is None else arm.view.rows
            if by_class:
                rows = rows[np.argsort(arm.codes[rows], kind="stable")]
            orders[key] = rows, arm.codes[rows]
        rows, codes = orders[key]
        view = replace(arm.view, rows=rows) if by_class else arm.view
        return cls(arm.view, view, arm.view_number, arm.learner, rows, codes)
