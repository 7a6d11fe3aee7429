"""A view, centred and scaled once.

Raw weighted moments cancel: columns around 1e8 with unit spread gave a variance of -22. Around zero little is lost,
however the weights move later; what is left of a spread that is lost all the same counts as none
(`numeric.class_forms`).

Hypotheses that score each class by a polynomial of the standardised columns.
"""

from dataclasses import dataclass

import numpy as np

from fuselearn.learners.protocol import Hypothesis, Plan
from fuselearn.learners.view_questions import ColumnSums, own
from fuselearn.numeric.execution import BLOCK_ROWS, SERIAL, n_blocks
from fuselearn.numeric.moments import largest_quadratic, standardise_columns
from fuselearn.reductions import drive

ROUNDING = 1e-15
"""Part of its mean by which a constant column may seem to vary."""
LARGEST_VARIANCE = 1e100
"""What a variance in the units of a column that is next to nothing beside it is cut to, so as to stay finite."""


@dataclass(frozen=True)
class Standardised:
    """Rows of a view, centred and scaled.

    Attributes
    ----------
    values : ndarray of shape (n_rows * n_columns,)
        Rows in blocks of `BLOCK_ROWS`, and within a block column after column: memory is read from end to end, and
        every sum over the rows of a block is a run of neighbouring numbers.
    n_rows, n_columns : int
    gaps : bool
        Whether some value is NaN.
    """

    values: np.ndarray
    n_rows: int
    n_columns: int
    gaps: bool

    def __len__(self):
        return self.n_rows


@dataclass(frozen=True)
class Standardisation(Plan):
    """Mean, spread and variance of each column over the rows in which it was observed.

    Attributes
    ----------
    means, scales : ndarray of shape (n_columns,)
        The scale of a constant column is 1.
    largest_variances : ndarray of shape (n_columns,)
        Largest variance of all columns, in the standardised units of each.
    """

    kind = "standardised"

    means: np.ndarray
    scales: np.ndarray
    largest_variances: np.ndarray

    @property
    def n_columns(self):
        return len(self.means)

    @classmethod
    def of(cls, view):
        """Plan of a view whose rows are all here."""
        planning = cls.planning(view.name, view.n_columns)
        return drive(planning, lambda question: question.merged([question(view, 0)]))

    @classmethod
    def planning(cls, name, n_columns):
        """Generator with the protocol of `Learner.planning`: two passes over the view."""
        counts, means, _ = yield ColumnSums(np.zeros(n_columns))
        counts = np.maximum(counts, 1.0)
        means = means / counts
        _, rests, squares = yield ColumnSums(means)
        # What the rounding of the first sum left over belongs to the mean, not to the spread.
        rests = rests / counts
        with np.errstate(over="ignore", invalid="ignore"):
            means, variances = means + rests, np.maximum(squares / counts - rests**2, 0.0)
        if not (np.isfinite(means).all() and np.isfinite(variances).all()):
            raise ValueError(
                f"The view {name!r} holds values so large that their squares are not finite; scale it down first, "
                "e.g. with preprocess=StandardScaler()."
            )
        # A constant column leaves rounding noise behind; scaling that up would make a feature of it.
        constant = variances <= (ROUNDING * np.abs(means)) ** 2
        scales = np.where(constant, 1.0, np.sqrt(variances))
        largest = np.sqrt(variances[~constant].max(initial=0.0)) or 1.0
        with np.errstate(over="ignore"):
            largest_variances = np.minimum((largest / scales) ** 2, LARGEST_VARIANCE)
        return cls(means, scales, largest_variances)

    def prepare(self, view, threads=SERIAL):
        values = np.empty(len(view) * view.n_columns)
        blocks = n_blocks(len(view))
        gaps = np.zeros(max(blocks, 1), dtype=bool)

        def work(first, last):
            for number in range(first, last):
                start, stop = number * BLOCK_ROWS, min((number + 1) * BLOCK_ROWS, len(view))
                out = values[start * view.n_columns : stop * view.n_columns].reshape(view.n_columns, stop - start)
                gaps[number] = standardise_columns(own(view.block(start, stop)), self.means, self.scales, out)

        threads.share(blocks, work)
        return Standardised(values, len(view), view.n_columns, bool(gaps.any()))


@dataclass(frozen=True, eq=False)
class ScoreHypothesis(Hypothesis):
    """The class with the largest score Σ_j x_j·(slope_j + x_j·square_j) + constants of the standardised columns.

    A column that is NaN in a row is left out of that row's scores.

    Attributes
    ----------
    plan : Standardisation
    squares, slopes, column_constants : ndarray of shape (n_classes, n_columns)
        For two classes one row, whose score is positive for class 1.
    constants : ndarray of shape (n_classes,), or (1,) likewise
    """

    plan: Standardisation
    squares: np.ndarray
    slopes: np.ndarray
    column_constants: np.ndarray
    constants: np.ndarray

    def predict_prepared(self, prepared, threads=SERIAL):
        return largest_quadratic(
            prepared.values,
            len(prepared),
            self.squares,
            self.slopes,
            self.column_constants,
            self.constants,
            gaps=prepared.gaps,
            threads=threads,
        )
