"""What a learner, its plan of a view, and its hypotheses have in common.

Fitting is written as a generator that asks for sums over the rows and is sent the totals:

    def sums(self, plan, n_classes):
        moments = yield ClassMoments(n_classes)
        return ...  # a hypothesis

So a learner never holds rows. Who drives it decides where they are: in this process, cut into blocks for
threads, or spread over a cluster whose workers each send their part of the sum. A learner that cannot be fitted
from sums (any scikit-learn classifier) is given the rows instead, and says so by `needs_rows`. What a learner has to
know of a view before the first round is asked for in the same way (`planning`).

A statistic is called with prepared rows, their class codes and their weights. One that only adds up weights says so by
`adds_weights`: it may be given whole numbers in their place. Where rows are in a form of their own, as on a device, it
is known by its `kind`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator

from fuselearn.data import View
from fuselearn.numeric.execution import SERIAL
from fuselearn.reductions import drive


class Learner(ABC, BaseEstimator):
    """Settings for fitting one view under weights. Fitting never changes them.

    Attributes
    ----------
    needs_rows : bool
        Whether it is fitted from rows instead of sums.
    rows_by_class : bool
        Whether its sums are quicker over rows that are sorted by class. The same for learners that share a preparation.
    """

    needs_rows = False
    rows_by_class = False

    def check(self, view):
        """Refuse settings that mean nothing, and a view that cannot be fitted, before any round is run."""

    def plan(self, view, seed):
        """Look at a view once, and return what is needed to prepare any rows of it."""
        planning = self.planning(view.name, view.n_columns, len(view), seed)
        return drive(planning, lambda question: question.merged([question(view, 0)]))

    def planning(self, name, n_columns, n_rows, seed):
        """Generator: yields questions about a view, is sent the answers, returns its plan.

        A question is answered for each part of the rows, ``question(view, first)``, where `first` is the number of rows
        before it in which the view is present; ``question.merged`` puts the answers together, in the order of the
        parts. Learners that have to see all rows at once override `plan` instead.
        """
        raise TypeError(f"{type(self).__name__} looks at all rows of a view at once.")

    @property
    @abstractmethod
    def preparation(self):
        """Hashable; learners with equal preparations share the prepared rows of a view."""

    def sums(self, plan, n_classes):
        """Generator: yields statistics of the rows, is sent their totals, returns a hypothesis."""
        raise TypeError(f"{type(self).__name__} is fitted from rows, not from sums.")

    def fit_rows(self, plan, prepared, codes, weights, n_classes, *, seed, drawn):
        """Fit on the rows themselves. `drawn` holds their numbers where the round resamples, else None."""
        raise TypeError(f"{type(self).__name__} is fitted from sums, not from rows.")

    def vc_dimension(self, n_columns):
        """VC dimension of the hypotheses on `n_columns` columns, two classes; None where it is not known."""
        return


class Plan(ABC):
    """What is known of a view since it was first looked at.

    Attributes
    ----------
    n_columns : int
        Number of columns of the view.
    kind : str
        What becomes of the rows, the first word of the learner's `preparation`; "rows" where they stay as they are.
    """

    kind = "rows"

    n_columns: int

    @abstractmethod
    def prepare(self, view, threads=SERIAL):
        """The rows of a view as the learner's statistics read them."""

    def read(self, view):
        """The rows of a view as a hypothesis reads them when it predicts."""
        return self.prepare(view)


class Hypothesis(ABC):
    """A fitted weak learner. It predicts class codes, 0 to n_classes - 1, from the columns of its view.

    Attributes
    ----------
    plan : Plan
        Shared by all hypotheses of an arm.
    """

    @abstractmethod
    def predict_prepared(self, prepared, threads=SERIAL):
        """Class code of each of the rows that `plan.prepare` returned."""

    def predict_read(self, rows):
        """Class code of each of the rows that `plan.read` returned."""
        return self.predict_prepared(rows)

    def predict(self, X):
        """Class code of each row of `X`, which holds the columns of the view, preprocessed where the view is."""
        X = np.asarray(X)
        if X.ndim != 2 or X.shape[1] != self.plan.n_columns:
            raise ValueError(
                f"X must be 2-D with the {self.plan.n_columns} columns of the view that this hypothesis was fitted on, "
                f"preprocessed where the view is; got shape {X.shape}."
            )
        return self.predict_read(self.plan.read(View("", X, np.arange(X.shape[1]), None)))


@dataclass(frozen=True, eq=False)
class ConstantHypothesis(Hypothesis):
    """One class for all: what is left to say when all weight is on one class."""

    plan: Plan
    code: int

    def predict_prepared(self, prepared, threads=SERIAL):
        return np.full(len(prepared), self.code, dtype=np.int32)
