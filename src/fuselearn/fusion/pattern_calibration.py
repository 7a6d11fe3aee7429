"""Slope and intercepts of the logits of a fusion, for each pattern of views that a row may have."""

from dataclasses import dataclass

import numpy as np

from fuselearn.persistence.validation import check_array
from fuselearn.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class PatternCalibration:
    """Slope and intercepts of the logits, for each pattern of views that may be present.

    Attributes
    ----------
    patterns : bool ndarray of shape (n_patterns, n_views)
        The first has all views.
    slopes : ndarray of shape (n_patterns,)
    intercepts : ndarray of shape (n_patterns, n_classes)
        They include the logarithms of the prior.
    log_prior : ndarray of shape (n_classes,)
        Logarithms of the shares of the classes that the probabilities are calibrated for: logits of a row without any
        view.
    joint_factors : ndarray of shape (n_patterns,) or None
        What the weights of arms of all views are multiplied by for each pattern, where these have absent views filled
        in; None is 1 for all.
    """

    patterns: BoolArray
    slopes: FloatArray
    intercepts: FloatArray
    log_prior: FloatArray
    joint_factors: FloatArray | None = None

    def validate(self) -> None:
        """Check that patterns, slopes and intercepts are as many, and that the first pattern has all views."""
        patterns = check_array(self, "patterns", np.bool_, (None, None))
        n_classes = len(check_array(self, "log_prior", np.float64, (None,)))
        check_array(self, "slopes", np.float64, (len(patterns),))
        check_array(self, "intercepts", np.float64, (len(patterns), n_classes))
        if not len(patterns) or not patterns.shape[1] or not patterns[0].all():
            raise ValueError("patterns of a PatternCalibration does not begin with all views")
        if self.joint_factors is not None:
            check_array(self, "joint_factors", np.float64, (len(patterns),), at_least=0.0)

    def logits(self, values: FloatArray, covered: BoolArray, present: BoolArray) -> FloatArray:
        """Return z of each row and class, by the largest known pattern among the views that a row has.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_classes)
            Combined values of the arms.
        covered : bool ndarray of shape (n_rows,)
            Rows of which some arm has a value.
        present : bool ndarray of shape (n_rows, n_views)
            Views that the rows have.
        """
        pattern_of = self.pattern_of(present)
        logits = self.slopes[pattern_of, None] * values + self.intercepts[pattern_of]
        return np.where((covered & (pattern_of >= 0))[:, None], logits, self.log_prior)

    def line(self, present: BoolArray, covered: bool) -> tuple[float, FloatArray]:
        """Return slope and intercepts of the logits of rows that have the views of a mask; see `logits`."""
        pattern = int(self.pattern_of(present[None])[0])
        if not covered or pattern < 0:
            return 0.0, self.log_prior
        return float(self.slopes[pattern]), self.intercepts[pattern]

    def joint_factors_of(self, present: BoolArray) -> FloatArray:
        """Return by what the arms of all views count in each row."""
        if self.joint_factors is None:
            return np.ones(len(present))
        # A row of which no pattern is known has the logits of the prior, whatever its value.
        return np.append(self.joint_factors, 1.0)[self.pattern_of(present)]

    def pattern_of(self, present: BoolArray) -> IntArray:
        """Return the number of each row's pattern, -1 where none is known."""
        pattern_of = np.zeros(len(present), dtype=np.intp)
        incomplete = np.flatnonzero(~present.all(axis=1))
        if len(incomplete):
            distinct, distinct_of = np.unique(present[incomplete], axis=0, return_inverse=True)
            sizes = self.patterns.sum(axis=1)
            chosen = []
            for views in distinct:
                inside = np.flatnonzero(~(self.patterns & ~views).any(axis=1))
                # Of several as large, the most cautious one.
                chosen.append(min(inside, key=lambda number: (-sizes[number], self.slopes[number]), default=-1))
            pattern_of[incomplete] = np.array(chosen)[np.ravel(distinct_of)]
        return pattern_of
