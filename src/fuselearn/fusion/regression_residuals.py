"""What out-of-fold values say of the rows of a regression: residuals and their sizes, gross outliers, and intervals."""

from dataclasses import dataclass, replace

import numpy as np

from fuselearn.data.training_data import RegressionData
from fuselearn.fusion.pattern_fits import (
    LINE_PRIOR,
    NearestCalibration,
    PatternFit,
    PatternFits,
    calibration_of,
    intervals_of,
)
from fuselearn.fusion.prediction_intervals import (
    PredictionIntervals,
    SpreadRows,
    fit_spread,
    log_sizes,
    weighted_quantiles,
)
from fuselearn.fusion.target_outliers import LEAST_ROWS, TargetOutliers, judge_targets
from fuselearn.typing import BoolArray, FloatArray, IntArray

LEAST_BELIEF = 1e-6
"""Weight of a row whose target is an outlier for certain."""
WORSE = 0.5
"""Standard errors by which squared errors may be larger after a second pass."""


@dataclass(frozen=True)
class TargetScale:
    """Mean of a target, and its standard deviation, by the weights of rows."""

    mean: float
    unit: float

    @classmethod
    def of(cls, target: FloatArray, weights: FloatArray) -> "TargetScale":
        """Return the scale of a target; the unit of one that does not vary is 1."""
        size = float(np.abs(target).max()) or 1.0  # squares of very large or small numbers are none
        scaled = target / size
        mean = float(weights @ scaled / weights.sum())
        unit = float(np.sqrt(weights @ (scaled - mean) ** 2 / weights.sum()))
        return cls(mean * size, unit * size if unit > 1e-12 else 1.0)


@dataclass(frozen=True)
class OutOfFold:
    """What is predicted of the training rows out of fold, in units of the target; all of shape (n_rows,).

    Attributes
    ----------
    predicted : ndarray
        By weights that were found on the rows of other folds.
    disagreement : ndarray
        Weighted standard deviation of the values of the arms.
    missing : ndarray
        Sum of the importances of the views that a row lacks.
    known : bool ndarray
        Rows that have a view that is used.
    sizes : ndarray
        Expected logarithm of the size of the residual, in units of the target's spread; 0 where it was not looked for.
    """

    predicted: FloatArray
    disagreement: FloatArray
    missing: FloatArray
    known: BoolArray
    sizes: FloatArray

    @property
    def spread_rows(self) -> SpreadRows:
        """What the spread of the rows follows from."""
        return SpreadRows(self.predicted, self.disagreement, self.missing, self.sizes)


def with_sizes(rows: OutOfFold, sizes: OutOfFold | None) -> OutOfFold:
    """Return rows with the sizes of residuals that are expected of them."""
    return rows if sizes is None else replace(rows, sizes=sizes.predicted)


def sizes_of(rows: OutOfFold, target: FloatArray, weights: FloatArray) -> FloatArray:
    """Return logarithms of the sizes of out-of-fold residuals, what is learnt of the spread of rows.

    Sizes are in units of the target's spread: what depends on their logarithms must not depend on its unit.
    """
    sizes = np.where(rows.known, np.abs(target - rows.predicted), 0.0) / TargetScale.of(target, weights).unit
    known = rows.known if rows.known.any() else np.ones(len(target), dtype=bool)
    typical = float(weighted_quantiles(sizes[known], weights[known], np.array([0.5]))[0])
    logs = log_sizes(sizes, max(typical, 1e-9))
    return np.where(known, logs, np.average(logs[known], weights=weights[known]))


def judge_residuals(
    target: FloatArray, rows: OutOfFold, weights: FloatArray, present: BoolArray, groups: IntArray | None
) -> TargetOutliers:
    """Judge targets by the residuals of rows, each over the spread that is expected of it by its views and value.

    Of a row without any view that is used, the mean is predicted. How targets lie about their mean is no law of errors,
    so there a target is an outlier if it is farther outside of the range of those that are believed than that is wide.
    """
    residuals, known, probabilities = target - rows.predicted, rows.known, np.zeros(len(target))
    if not known.any():
        return TargetOutliers(0.0, probabilities)
    of_rows, unit = rows.spread_rows.among(known), TargetScale.of(target, weights).unit
    scaled = residuals[known] / fit_spread(of_rows, residuals[known], weights[known], unit)(of_rows)
    # Rows that lack views are predicted less well; theirs are no outliers.
    _, pattern_of = np.unique(present[known], axis=0, return_inverse=True)
    typical = np.median(np.abs(scaled)) or 1.0
    for pattern in np.unique(pattern_of):
        own = np.ravel(pattern_of) == pattern
        n_own = np.count_nonzero(own)
        scaled[own] /= (n_own * np.median(np.abs(scaled[own])) + LINE_PRIOR * typical) / (n_own + LINE_PRIOR)

    judged = judge_targets(scaled, weights[known], None if groups is None else groups[known])
    probabilities[known] = judged.probabilities
    believed = target[known & (probabilities < 0.5)]
    if len(believed) >= LEAST_ROWS:
        least, largest = believed.min(), believed.max()
        outside = np.maximum(least - target, target - largest)
        probabilities[~known & (outside > largest - least)] = 1.0
    return TargetOutliers(float(weights @ probabilities / weights.sum()), probabilities)


def is_no_worse(
    target: FloatArray,
    second: FloatArray,
    first: FloatArray,
    weights: FloatArray,
    suspected: FloatArray,
    groups: IntArray | None,
) -> bool:
    """Return whether squared errors are not clearly larger after a second pass than after the first.

    Targets in the tail of an honest distribution are predicted better by a first pass, which learnt from them. Outliers
    are not: they pull all predictions towards their mean. So the errors of suspected rows (their probabilities to be
    outliers) are taken about the mean of these errors, which forgives a pass that is not pulled.
    """
    unit = TargetScale.of(target, weights).unit
    losses = []
    for predicted in (second, first):
        errors = (target - predicted) / unit
        shift = np.average(errors, weights=weights * suspected) if np.any(weights * suspected > 0) else 0.0
        losses.append(weights * ((1 - suspected) * errors**2 + suspected * (errors - shift) ** 2))
    of_rows = losses[0] - losses[1]
    excess = of_rows if groups is None else np.bincount(groups, of_rows)
    return bool(excess.mean() <= WORSE * excess.std() / np.sqrt(len(excess)))


def explained_share(targets: FloatArray, values: FloatArray, weights: FloatArray) -> float:
    """Return R² of values of shape (n_rows, 1), on the rows that have one; NaN where none has."""
    known = ~np.isnan(values[:, 0])
    if not known.any():
        return np.nan
    t, v, u = targets[known, 0], values[known, 0], weights[known]
    mean = u @ t / u.sum()
    total = float(u @ (t - mean) ** 2)
    return 1 - float(u @ (t - v) ** 2) / total if total > 0 else 0.0


def disagreement_of(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted standard deviation of values of arms, of shape (n_arms, n_rows); NaN where one abstains."""
    shares = np.where(np.isnan(values), 0.0, weights[:, None])
    totals = np.maximum(shares.sum(axis=0), np.finfo(float).tiny)
    known = np.nan_to_num(values)
    means = (shares * known).sum(axis=0) / totals
    return np.sqrt((shares * (known - means) ** 2).sum(axis=0) / totals)


def calibrated(
    data: RegressionData,
    rows: OutOfFold,
    fits: PatternFits,
    scale: TargetScale,
    offset: float,
    importances: FloatArray,
    clean: FloatArray,
    size_fits: PatternFits | None,
    size_scale: TargetScale | None,
) -> tuple[NearestCalibration, PredictionIntervals]:
    """Return lines and intervals of patterns of views, the first of all views.

    Parameters
    ----------
    data : RegressionData
    rows : OutOfFold
    fits, size_fits : PatternFits
        Of the target, and of the sizes of residuals.
    scale, size_scale : TargetScale
        Of these two.
    offset : float
        See `calibration_of`.
    importances : ndarray of shape (n_views,)
    clean : ndarray of shape (n_rows,)
        Weights of rows as far as their targets are believed.
    """
    known = rows.known & (clean > 0)
    everything = np.ones(data.blocks.present.shape[1], dtype=bool)
    residuals = data.target - rows.predicted
    if known.any():
        counted = fits.counted(np.flatnonzero(known), clean[known])
        spread = fit_spread(rows.spread_rows.among(known), residuals[known], counted, scale.unit)
    else:
        spread = fit_spread(rows.spread_rows, residuals, clean, scale.unit)

    def spread_rows_of(fit: PatternFit) -> SpreadRows:
        sizes = np.zeros(len(fit.rows))
        if size_fits is not None and size_scale is not None and spread.reads_sizes:
            of_sizes = size_fits(fit.views)
            sizes += size_scale.mean
            if of_sizes is not None:
                sizes += size_scale.unit * of_sizes.predicted
        return SpreadRows(
            scale.mean + scale.unit * fit.predicted,
            scale.unit * fit.disagreement,
            np.full(len(fit.rows), float(importances[~fit.views].sum())),
            sizes,
        )

    first = fits(everything)
    if first is None:
        nothing = np.empty(0)
        first = PatternFit(everything, 1.0, 0.0, np.empty(0, dtype=np.intp), nothing, nothing, nothing)
    listed = [first, *fits.listed()]
    calibration = calibration_of(listed, scale.mean, scale.unit, offset, importances)
    about_mean = data.target - scale.mean
    scaled = np.where(known if known.any() else True, residuals / spread(rows.spread_rows), 0.0)
    intervals = intervals_of(
        calibration.patterns,
        fits,
        spread,
        spread_rows_of,
        data.target,
        (about_mean, clean),
        (scaled, np.where(known, clean, 0.0) if known.any() else clean),
    )
    return calibration, intervals
