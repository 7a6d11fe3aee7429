"""A view, centred and scaled once, and hypotheses that score each class by a polynomial of the standardised columns.

Raw weighted moments cancel: columns around 1e8 with unit spread gave a variance of -22. Around zero little is lost,
however the weights move later; what is left of a spread that is lost all the same counts as none
(`numeric.moments.class_forms`).
"""

from dataclasses import dataclass

import numpy as np

from fuselearn.data import View
from fuselearn.learners.protocol import Hypothesis, Learner, Plan, Planning
from fuselearn.numeric.execution import BLOCK_ROWS, SERIAL, Threads, n_blocks
from fuselearn.numeric.moments import add_column_sums, largest_quadratic, standardise_columns
from fuselearn.persistence.validation import check_array
from fuselearn.typing import FloatArray, IntArray

ROUNDING = 1e-15
"""Part of its mean by which a constant column may seem to vary."""
LARGEST_VARIANCE = 1e100
"""Largest variance in the units of a column that hardly varies beside the others, cut so as to stay finite."""


@dataclass(frozen=True)
class Standardised:
    """Rows of a view, centred and scaled.

    Attributes
    ----------
    values : ndarray of shape (n_rows * n_columns,)
        Rows in blocks of `BLOCK_ROWS`, and within a block column after column: memory is read from end to end, and
        every sum over the rows of a block is a run of neighbouring numbers.
    n_rows, n_columns : int
        Shape of the view.
    gaps : bool
        Whether some value is NaN.
    """

    values: FloatArray
    n_rows: int
    n_columns: int
    gaps: bool

    def __len__(self) -> int:
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

    means: FloatArray
    scales: FloatArray
    largest_variances: FloatArray

    def validate(self) -> None:
        """Refuse means and scales, read from a file, that differ in length."""
        n_columns = len(check_array(self, "means", np.float64, (None,), finite=False))
        check_array(self, "scales", np.float64, (n_columns,), finite=False)
        check_array(self, "largest_variances", np.float64, (n_columns,), finite=False)

    @property
    def n_columns(self) -> int:  # type: ignore[override]  # the base declares an attribute; here it follows from another
        return len(self.means)

    @classmethod
    def planning(cls, name: str, n_columns: int) -> Planning:
        """Return the generator of `Learner.planning`: two passes over the view."""
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
                f"The view {name!r} holds values so large that their squares are not finite; write them in a larger "
                "unit, so that they are below 1e150."
            )
        # A constant column leaves rounding noise behind; scaling that up would make a feature of it.
        constant = variances <= (ROUNDING * np.abs(means)) ** 2
        scales = np.where(constant, 1.0, np.sqrt(variances))
        largest = np.sqrt(variances[~constant].max(initial=0.0)) or 1.0
        with np.errstate(over="ignore"):
            largest_variances = np.minimum((largest / scales) ** 2, LARGEST_VARIANCE)
        return cls(means, scales, largest_variances)

    def prepare(self, view: View, threads: Threads = SERIAL) -> Standardised:
        """Return the rows of a view, centred and scaled."""
        n_rows, n_columns = len(view), self.n_columns
        values = np.empty(n_rows * n_columns)
        gaps = np.zeros(max(n_blocks(n_rows), 1), dtype=bool)

        def work(first: int, last: int) -> None:
            for number in range(first, last):
                start, stop = number * BLOCK_ROWS, min((number + 1) * BLOCK_ROWS, n_rows)
                out = values[start * n_columns : stop * n_columns].reshape(n_columns, stop - start)
                gaps[number] = standardise_columns(view.block(start, stop), self.means, self.scales, out)

        threads.share(n_blocks(n_rows), work)
        return Standardised(values, n_rows, n_columns, bool(gaps.any()))


@dataclass(frozen=True)
class ColumnSums:
    """Question: number of values, Σ (x - centre) and Σ (x - centre)² of each column; of shape (3, n_columns)."""

    centres: FloatArray

    def __call__(self, view: View, first: int) -> FloatArray:
        sums = np.zeros((3, len(self.centres)))
        for _, _, block in view.blocks():
            add_column_sums(block, self.centres, *sums)
        return sums

    def merged(self, answers: list[FloatArray]) -> FloatArray:
        """Return the sums over all partitions, added in their order."""
        return sum(answers[1:], start=answers[0])


class StandardisingLearner(Learner):
    """Base of learners whose statistics read standardised rows, which they share."""

    preparation = ("standardised",)
    plan_type = Standardisation
    rows_by_class = True

    def planning(self, name: str, n_columns: int, n_rows: int, seed: np.random.SeedSequence | None) -> Planning:
        """Find the mean and spread of each column; see `Learner.planning`."""
        return (yield from Standardisation.planning(name, n_columns))


@dataclass(frozen=True, eq=False)
class ScoreHypothesis(Hypothesis):
    """The class with the largest score Σ_j x_j·(slope_j + x_j·square_j) + constants of the standardised columns.

    A column that is NaN in a row is left out of that row's scores.

    Attributes
    ----------
    plan : Standardisation
        How the columns were standardised.
    squares, slopes, column_constants : ndarray of shape (n_classes, n_columns)
        For two classes one row, whose score is positive for class 1.
    constants : ndarray of shape (n_classes,), or (1,) likewise
        The rest of the score, whatever the columns.
    """

    plan: Standardisation
    squares: FloatArray
    slopes: FloatArray
    column_constants: FloatArray
    constants: FloatArray

    def validate(self) -> None:
        """Refuse scores, read from a file, of other columns than the plan's, or that differ in size."""
        n_columns = len(self.plan.means)
        n_forms = len(check_array(self, "constants", np.float64, (None,), finite=False))
        for name in ("squares", "slopes", "column_constants"):
            check_array(self, name, np.float64, (n_forms, n_columns), finite=False)

    def validate_votes(self, n_classes: int) -> None:
        """Refuse scores of other classes; see `Hypothesis.validate_votes`."""
        check_array(self, "constants", np.float64, (1 if n_classes == 2 else n_classes,), finite=False)

    def predict_prepared(self, prepared: Standardised, threads: Threads = SERIAL) -> IntArray:
        """Return the code of the class with the largest score in each row."""
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
