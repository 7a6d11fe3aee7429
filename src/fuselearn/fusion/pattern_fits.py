"""Lines from combined values to numbers, and out-of-fold predictions, for each pattern of views of a regression.

What is predicted of a row that has just some views follows from training rows that have just these and, where they are
few, from rows with more views, as if they had no others: those are borrowed, with as much weight as is lacking. Where
even they are too few for an interval, rows with fewer views stand for them, whose intervals are wider.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np

from fuselearn.fusion.pattern_calibration import PatternCalibration
from fuselearn.fusion.pattern_values import MOST_LISTED_VIEWS, listed_patterns
from fuselearn.fusion.prediction_intervals import PredictionIntervals, ResidualQuantiles, RowSpread, SpreadRows
from fuselearn.fusion.prediction_sets import ENOUGH_ROWS, LEAST_ROWS, independent_rows
from fuselearn.persistence.validation import check_array
from fuselearn.typing import BoolArray, FloatArray, IntArray

LINE_PRIOR = 20.0
"""Rows that slope 1 and intercept 0 of a pattern of views count for."""
DRAWN_PATTERNS = 32
"""Patterns of many views that are drawn, beside frequent and simple ones."""


class PatternValues(NamedTuple):
    """Out-of-fold values of training rows as if they had just some views.

    Attributes
    ----------
    rows : intp ndarray
        Numbers of rows that have these views.
    sums : ndarray
        Combined values, in units of the target's spread and about its mean.
    disagreement : ndarray
        Weighted standard deviation of the values of the arms, in the same units.
    """

    rows: IntArray
    sums: FloatArray
    disagreement: FloatArray


ValuesOf: TypeAlias = Callable[[BoolArray], PatternValues | None]
"""Returns values for some views; None where no arm has any."""


class PatternFit(NamedTuple):
    """The line of a pattern of views, and what it predicts of training rows out of fold.

    Attributes
    ----------
    views : bool ndarray of shape (n_views,)
    slope, intercept : float
    rows, disagreement : as for `PatternValues`
    predicted : ndarray
        By a line of the rows of other folds.
    weights : ndarray
        Of the rows: less for borrowed ones.
    """

    views: BoolArray
    slope: float
    intercept: float
    rows: IntArray
    predicted: FloatArray
    disagreement: FloatArray
    weights: FloatArray


@dataclass(frozen=True)
class NearestCalibration(PatternCalibration):
    """Lines of patterns of views; a pattern without one has that of the pattern that differs in the least views.

    Attributes
    ----------
    view_weights : ndarray of shape (n_views,)
        How much each view counts in that.
    """

    view_weights: FloatArray = field(kw_only=True)

    def validate(self) -> None:
        """Check the lines, and that each view has a weight."""
        super().validate()
        check_array(self, "view_weights", np.float64, (self.patterns.shape[1],), at_least=0.0)

    def pattern_of(self, present: BoolArray) -> IntArray:
        """Return the number of each row's pattern, or of the nearest; -1 for rows without views."""
        distinct, distinct_of = np.unique(present, axis=0, return_inverse=True)
        # Views of no weight break ties, and slopes do where these differ in as much: the most cautious one is taken.
        weights = self.view_weights + 1e-9
        usable = np.flatnonzero(self.patterns.any(axis=1))
        differing = (distinct[:, None] != self.patterns[usable]) @ weights
        order = np.lexsort((self.slopes[usable], -self.patterns[usable].sum(axis=1)))
        chosen = usable[order[np.argmin(differing[:, order], axis=1)]]
        numbers: IntArray = np.where(distinct.any(axis=1), chosen, -1)[np.ravel(distinct_of)]
        return numbers

    def contained_pattern_of(self, present: BoolArray) -> IntArray:
        """Return the number of the pattern that counts most among the views of each row, -1 where there is none.

        Its intervals are not narrower than those of the row, which has more views.
        """
        distinct, distinct_of = np.unique(present, axis=0, return_inverse=True)
        counts = np.where(self.patterns.any(axis=1), self.patterns @ (self.view_weights + 1e-9), -np.inf)
        inside = ~(self.patterns & ~distinct[:, None]).any(axis=2)
        counts = np.where(inside, counts, -np.inf)
        chosen = np.where(np.isfinite(counts).any(axis=1), counts.argmax(axis=1), -1)
        numbers: IntArray = chosen[np.ravel(distinct_of)]
        return numbers


class PatternFits:
    """Fits lines of patterns of views; those asked for are remembered.

    Parameters
    ----------
    values_of : callable
        Returns values of rows with some views.
    present : bool ndarray of shape (n_rows, n_views)
        Views that the rows have.
    targets : ndarray of shape (n_rows,)
        In the units of the values.
    weights : ndarray of shape (n_rows,)
        Of rows as far as their targets are believed.
    fold_of : intp ndarray of shape (n_rows,)
    groups : intp ndarray of shape (n_rows,) or None
        Rows that belong together.
    all_fit : bool
        Whether values of rows with all views need no line.
    """

    def __init__(
        self,
        values_of: ValuesOf,
        present: BoolArray,
        targets: FloatArray,
        weights: FloatArray,
        fold_of: IntArray,
        groups: IntArray | None,
        all_fit: bool,
    ) -> None:
        self._values_of, self._present, self._targets = values_of, present, targets
        self._weights, self._fold_of, self._all_fit = weights, fold_of, all_fit
        self.units = np.arange(len(targets)) if groups is None else groups
        self._known: dict[bytes, PatternFit | None] = {}

    def __call__(self, views: BoolArray) -> PatternFit | None:
        """Return the fit of some views; None where no training row has them, or no arm."""
        key = views.tobytes()
        if key not in self._known:
            self._known[key] = self._fit(views)
        return self._known[key]

    def listed(self) -> list[PatternFit]:
        """Return the fits of all patterns of few views or, of many views, of frequent, simple and drawn ones."""
        patterns = listed_patterns(self._present)
        n_views = self._present.shape[1]
        if n_views > MOST_LISTED_VIEWS:
            draws = np.random.default_rng(n_views)
            drawn = draws.random((DRAWN_PATTERNS, n_views)) < np.linspace(0.2, 0.8, DRAWN_PATTERNS)[:, None]
            patterns = np.unique(np.vstack([patterns, drawn[drawn.any(axis=1)]]), axis=0)
        fits = (self(views) for views in patterns if not views.all())
        return [fit for fit in fits if fit is not None]

    def with_enough_rows(self, views: BoolArray) -> PatternFit | None:
        """Return the fit of some views or, where too few independent rows have them, of fewer."""
        chosen, fewer = self(views), views
        while self.n_independent(chosen) < LEAST_ROWS and fewer.sum() > 1:
            fewer = self._fewer(fewer)
            candidate = self(fewer)
            if self.n_independent(candidate) > self.n_independent(chosen):
                chosen = candidate
        return chosen

    def counted(self, rows: IntArray, weights: FloatArray) -> FloatArray:
        """Return weights by which every group counts as one row, the mean of its own."""
        return weights / np.bincount(self.units[rows])[self.units[rows]]

    def n_independent(self, fit: PatternFit | None) -> float:
        """Return how many independent rows a fit has; groups are one each."""
        if fit is None:
            return 0.0
        return independent_rows(self.counted(fit.rows, fit.weights), self.units[fit.rows])

    def _fit(self, views: BoolArray) -> PatternFit | None:
        """Fit the line of some views."""
        values = self._values_of(views)
        if values is None:
            return None
        weights = self._weights[values.rows].copy()
        borrowed = (self._present[values.rows] != views).any(axis=1)
        if weights[borrowed].sum() > 0:
            lacking = max(ENOUGH_ROWS - float(weights[~borrowed].sum()), 0.0)
            weights[borrowed] *= min(1.0, lacking / float(weights[borrowed].sum()))
        among = weights > 0
        rows, weights = values.rows[among], weights[among]
        sums, disagreement = values.sums[among], values.disagreement[among]
        if not len(rows):
            return None
        if views.all() and self._all_fit:
            return PatternFit(views, 1.0, 0.0, rows, sums, disagreement, weights)
        targets, folds = self._targets[rows], self._fold_of[rows]
        predicted = np.empty(len(rows))
        for fold in np.unique(folds):
            own = folds == fold
            others = ~own if not own.all() else own
            slope, intercept = fit_line(sums[others], targets[others], weights[others])
            predicted[own] = slope * sums[own] + intercept
        slope, intercept = fit_line(sums, targets, weights)
        return PatternFit(views, slope, intercept, rows, predicted, disagreement, weights)

    def _fewer(self, views: BoolArray) -> BoolArray:
        """Return views without the one whose absence leaves the most rows."""
        having = np.flatnonzero(views)
        without = np.repeat(views[None], len(having), axis=0)
        without[np.arange(len(having)), having] = False
        counts = [np.count_nonzero((self._present | ~fewer).all(axis=1)) for fewer in without]
        return without[int(np.argmax(counts))]


def fit_line(values: FloatArray, targets: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Return slope and intercept of the least squares line from values to targets, with slope 1 and 0 as prior."""
    spread = float(weights @ values**2 / weights.sum()) if len(values) and weights.sum() > 0 else 1.0
    design = np.column_stack([values, np.ones(len(values))])
    prior = LINE_PRIOR * np.diag([spread or 1.0, 1.0])
    moments = (design * weights[:, None]).T @ targets + prior @ [1.0, 0.0]
    slope, intercept = np.linalg.solve((design * weights[:, None]).T @ design + prior, moments)
    return max(float(slope), 0.0), float(intercept)


def calibration_of(
    fits: Sequence[PatternFit], mean: float, unit: float, offset: float, importances: FloatArray
) -> NearestCalibration:
    """Return lines of patterns, the first of all views, in units of the target; a row without any gets its mean.

    Values have an `offset`, in units of the target's spread, which their sums in new rows do not have.
    """
    slopes = np.array([fit.slope for fit in fits])
    intercepts = np.array([fit.intercept for fit in fits])
    return NearestCalibration(
        np.array([fit.views for fit in fits]),
        unit * slopes,
        (mean + unit * (intercepts + slopes * offset))[:, None],
        np.array([mean]),
        view_weights=np.maximum(importances, 0.0),
    )


def intervals_of(
    patterns: BoolArray,
    fits: PatternFits,
    spread: RowSpread,
    spread_rows_of: Callable[[PatternFit], SpreadRows],
    target: FloatArray,
    without_views: tuple[FloatArray, FloatArray],
    fallback: tuple[FloatArray, FloatArray],
) -> PredictionIntervals:
    """Return intervals of patterns of views.

    Parameters
    ----------
    patterns : bool ndarray of shape (n_patterns, n_views)
    fits : PatternFits
    spread : RowSpread
    spread_rows_of : callable
        Returns what the spread of the rows of a fit follows from, in units of the target.
    target : ndarray of shape (n_rows,)
        The target in its own units.
    without_views : tuple of ndarray of shape (n_rows,)
        Residuals of rows about the mean of the target, and weights.
    fallback : tuple of ndarray of shape (n_rows,)
        Scaled residuals of rows as they are, and weights, for patterns that no row has.
    """
    everything = np.arange(len(target))

    def kept(residuals: FloatArray, weights: FloatArray, rows: IntArray) -> ResidualQuantiles:
        counted = fits.counted(rows, weights)
        return ResidualQuantiles.of(residuals, counted, independent_rows(counted, fits.units[rows]))

    residuals = []
    for views in patterns:
        fit = fits.with_enough_rows(views)
        if fit is None:
            believed = fallback[1] > 0
            residuals.append(kept(fallback[0][believed], fallback[1][believed], everything[believed]))
            continue
        of_fit = spread_rows_of(fit)
        residuals.append(kept((target[fit.rows] - of_fit.predicted) / spread(of_fit), fit.weights, fit.rows))
    believed = without_views[1] > 0
    residuals.append(kept(without_views[0][believed], without_views[1][believed], everything[believed]))
    return PredictionIntervals(spread, residuals)
