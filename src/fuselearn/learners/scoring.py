"""Hypotheses that score each class by a polynomial of the standardised columns."""

from dataclasses import dataclass

import numpy as np

from fuselearn.learners.protocol import Hypothesis
from fuselearn.learners.standardisation import Standardisation
from fuselearn.numeric.quadratic import largest_quadratic
from fuselearn.numeric.threads import SERIAL


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
