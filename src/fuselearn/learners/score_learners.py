"""Learners that score each class by a polynomial of standardised columns: Gaussian naive Bayes and least squares.

A view is centred and scaled once, for all learners that share it. Raw weighted moments cancel: columns around 1e8 with
unit spread gave a variance of -22. Around zero little is lost, however the weights move later; what is left of a spread
that is lost all the same counts as none (`numeric.moments.class_forms`).
"""

from dataclasses import dataclass
from numbers import Real

import numpy as np

from fuselearn.data import View
from fuselearn.learners.protocol import Hypothesis, Learner, Plan, Planning, Sums
from fuselearn.numeric.execution import BLOCK_ROWS, n_blocks
from fuselearn.numeric.least_squares import cross_products, solve_least_norm
from fuselearn.numeric.moments import (
    add_column_sums,
    class_forms,
    largest_quadratic,
    standardise_columns,
    weighted_moments,
)
from fuselearn.numeric.threads import SERIAL, Threads
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


LEAST_VARIANCE = 1e-30
"""Variance of a column that never varies, when the user asks for no smoothing."""


class GaussianNB(StandardisingLearner):
    """Gaussian naive Bayes under weights, one pass to fit and one to predict.

    The log-posterior of a class is a quadratic form without cross terms, so fitting needs weighted moments only.
    A NaN inside a present view is marginalised: it is left out of its column's moments, and its column is left
    out of that row's posterior. A column that some class never shows is left out altogether.

    Parameters
    ----------
    var_smoothing : float, default=1e-9
        Part of the largest variance of all columns that is added to every variance, as in
        :class:`sklearn.naive_bayes.GaussianNB`. Below about 1e-15 what is added drowns in rounding.

    References
    ----------
    S0: Barbu, Peng, Seetharaman. Boosting Information Fusion. FUSION 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import ShareBoostClassifier
    >>> from fuselearn.learners import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> ShareBoostClassifier(GaussianNB(var_smoothing=1e-6), n_estimators=5).fit(X, y).score(X, y) > 0.9
    True
    """

    def __init__(self, var_smoothing: float = 1e-9) -> None:
        self.var_smoothing = var_smoothing

    def check(self) -> None:
        """Refuse settings that mean nothing; see `Learner.check`."""
        if not (isinstance(self.var_smoothing, Real) and 0 <= self.var_smoothing < np.inf):
            raise ValueError(f"var_smoothing must be a number of at least 0; got {self.var_smoothing!r}.")

    def sums(self, plan: Standardisation, n_classes: int) -> Sums:
        """Fit the quadratic form of each class from its moments; see `Learner.sums`."""
        moments = yield ClassMoments(n_classes)
        return ScoreHypothesis(plan, *class_forms(moments, self.var_smoothing * plan.largest_variances, LEAST_VARIANCE))

    def vc_dimension(self, n_columns: int) -> int:
        """Return the VC dimension; see `Learner.vc_dimension`."""
        # Signs of a·x² + b·x + c are half-spaces in 2·n_columns dimensions.
        return 2 * n_columns + 1


@dataclass(frozen=True)
class ClassMoments:
    """Statistic: weighted moments per class and column."""

    n_classes: int

    def __call__(
        self, prepared: Standardised, codes: IntArray, weights: FloatArray, threads: Threads = SERIAL
    ) -> FloatArray:
        return weighted_moments(
            prepared.values, prepared.n_columns, codes, weights, self.n_classes, gaps=prepared.gaps, threads=threads
        )


LEAST_PIVOT = 1e-12
"""Directions in which the standardised rows vary less than this, as part of the largest, are rounding noise."""


class LeastSquares(StandardisingLearner):
    """Linear classifier fitted by weighted least squares to targets +1 and -1, as in S0's illustration.

    With more than two classes, one target column per class against the rest; the largest value wins. A NaN inside a
    present view counts as its column's mean.

    Parameters
    ----------
    ridge : float, default=0.0
        Penalty on the squared coefficients of the columns, standardised under the weights. With 0 the solution is the
        one of least norm where several fit equally well.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import ShareBoostClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ShareBoostClassifier("linear", views={"sepal": [0, 1], "petal": [2, 3]}, n_estimators=10)
    >>> model.fit(X[50:], y[50:]).score(X[50:], y[50:]) > 0.9
    True
    """

    def __init__(self, ridge: float = 0.0) -> None:
        self.ridge = ridge

    def check(self) -> None:
        """Refuse settings that mean nothing; see `Learner.check`."""
        if not (isinstance(self.ridge, Real) and 0 <= self.ridge < np.inf):
            raise ValueError(f"ridge must be a number of at least 0; got {self.ridge!r}.")

    def sums(self, plan: Standardisation, n_classes: int) -> Sums:
        """Solve the normal equations; see `Learner.sums`."""
        products = yield CrossProducts(n_classes)
        # Standardise again, under the weights of the round: the solution of least norm must not depend on whether a
        # row has twice the weight or occurs twice.
        n_unknowns = 1 + len(plan.means)
        products = products / products[0, 0]
        means, target_means = products[0, 1:n_unknowns], products[0, n_unknowns:]
        covariance = products[1:, 1:n_unknowns] - np.outer(means, means)
        with_targets = products[1:, n_unknowns:] - np.outer(means, target_means)
        spread = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        varies = spread > 1e-7 * np.abs(means) + 1e-13
        scales = np.where(varies, spread, np.inf)  # a column that does not vary gets no coefficient
        correlation = covariance / np.outer(scales, scales)
        correlation[np.diag_indices_from(correlation)] += self.ridge
        solution = solve_least_norm(correlation, with_targets / scales[:, None], LEAST_PIVOT)
        slopes = (solution / scales[:, None]).T
        nothing = np.zeros_like(slopes)
        return ScoreHypothesis(plan, nothing, slopes, nothing, target_means - (slopes * means).sum(axis=1))

    def vc_dimension(self, n_columns: int) -> int:
        """Return the VC dimension; see `Learner.vc_dimension`."""
        return n_columns + 1


@dataclass(frozen=True)
class CrossProducts:
    """Statistic: weighted products of the rows, behind a 1, with themselves and with the targets."""

    n_classes: int

    def __call__(
        self, prepared: Standardised, codes: IntArray, weights: FloatArray, threads: Threads = SERIAL
    ) -> FloatArray:
        # Two classes need one target, which is +1 for class 1.
        target_classes = np.arange(1 if self.n_classes == 2 else 0, self.n_classes, dtype=np.int32)
        return cross_products(prepared.values, prepared.n_columns, codes, weights, target_classes, threads=threads)
