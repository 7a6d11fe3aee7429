"""Gross outliers in the target of a regression, told by out-of-fold residuals: what wrong labels are to a classifier.

Residuals are taken for a mixture: with probability 1 − π of a skewed, heavy-tailed core, a Student t of 4 degrees of
freedom with a scale of its own on either side of its mode, and with probability π of a normal distribution many times
as wide. A skewed or moderately heavy-tailed target is all core; only what lies far outside of it is an outlier. Whether
there are any is decided by the Bayesian information criterion against the core alone.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from fuselearn.fusion.calibration_and_scores import design_effect
from fuselearn.typing import FloatArray, IntArray

DEGREES = 4.0
"""Degrees of freedom of the core by which it is decided whether there are outliers."""
LIGHTER_TAILS = (10.0, 30.0)
"""Degrees of freedom that are tried besides where there are some, so that these are told apart sharply."""
LEAST_WIDTH = 6.0
"""Standard deviation of outliers in units of the mean scale of the core, at least."""
MOST_STEPS = 200
TOLERANCE = 1e-7
"""Change of the mean log likelihood below which a fit has ended."""
FIRST_SHARE = 0.05
MOST_SHARE = 0.3
"""Share of outliers that a fit begins with, and the largest one: where more rows than that differ from the others, such
as all that are not 0, they are no outliers."""
MOST_ROWS = 20_000
"""Rows that a mixture is fitted to, at most."""
LEAST_ROWS = 20
"""Independent rows below which nothing is called an outlier."""


class ResidualMixture(NamedTuple):
    """A mixture of residuals: mode, scales below and above it, share and width of outliers, and its likelihood."""

    mode: float
    below: float
    above: float
    share: float
    width: float
    log_likelihood: float
    degrees: float = DEGREES

    def core_log_density(self, residuals: FloatArray) -> FloatArray:
        """Return the logarithm of the density of the core."""
        away = residuals - self.mode
        scales = np.where(away < 0, self.below, self.above)
        degrees = self.degrees
        constant = gammaln((degrees + 1) / 2) - gammaln(degrees / 2) - 0.5 * np.log(degrees * np.pi)
        log_density: FloatArray = -(degrees + 1) / 2 * np.log1p((away / scales) ** 2 / degrees)
        return log_density + constant + np.log(2 / (self.below + self.above))

    def outlier_log_density(self, residuals: FloatArray) -> FloatArray:
        """Return the logarithm of the density of outliers."""
        return -0.5 * ((residuals - self.mode) / self.width) ** 2 - np.log(self.width) - 0.5 * np.log(2 * np.pi)

    def outlier_probabilities(self, residuals: FloatArray) -> FloatArray:
        """Return the probability of each residual to be an outlier's."""
        if not self.share > 0:
            return np.zeros(len(residuals))
        odds = self.outlier_log_density(residuals) - self.core_log_density(residuals)
        odds += np.log(self.share) - np.log1p(-self.share)
        probabilities: FloatArray = 1 / (1 + np.exp(-np.clip(odds, -700, 700)))
        return probabilities


@dataclass(frozen=True)
class TargetOutliers:
    """Judgement of the targets of all rows.

    Attributes
    ----------
    share : float
        Estimated share of outliers; 0 where there is no evidence of any.
    probabilities : ndarray of shape (n_rows,)
        Probability of each row's target to be an outlier; all 0 without evidence.
    """

    share: float
    probabilities: FloatArray


def judge_targets(residuals: FloatArray, weights: FloatArray, groups: IntArray | None = None) -> TargetOutliers:
    """Judge targets by out-of-fold residuals, each in units of the spread that is expected of it.

    Parameters
    ----------
    residuals : ndarray of shape (n_rows,)
    weights : ndarray of shape (n_rows,)
        All above 0.
    groups : intp ndarray of shape (n_rows,), default=None
        Rows of the same number belong together: as far as outliers come in whole groups, these count instead of rows
        where it is decided whether there are outliers. None takes all rows for independent.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> residuals = np.append(generator.standard_normal(190), [40.0, -35.0, 28.0, 52.0, -61.0, 44.0, -30.0, 39.0])
    >>> outliers = judge_targets(residuals, np.ones(198))
    >>> round(outliers.share, 2), int(outliers.probabilities.argsort()[-8:].min())
    (0.04, 190)
    >>> judge_targets(generator.lognormal(size=500), np.ones(500)).share
    0.0
    """
    nothing = TargetOutliers(0.0, np.zeros(len(residuals)))
    if len(residuals) < LEAST_ROWS:
        return nothing
    rows = np.arange(len(residuals))
    if len(rows) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(len(rows)).choice(rows, MOST_ROWS, replace=False))
    r, u = residuals[rows], weights[rows] / weights[rows].mean()
    core = fit_mixture(r, u, with_outliers=False)
    mixture = fit_mixture(r, u, with_outliers=True)
    # The rows of a group have an error in common: one group that is far off is one outlier, not as many as it has rows.
    outlying = u * mixture.outlier_probabilities(r)
    effect = design_effect((outlying - outlying.mean())[:, None], None if groups is None else groups[rows])
    if len(residuals) / effect < LEAST_ROWS:
        return nothing
    # Two numbers more: a share and a width.
    n_rows = u.sum() ** 2 / (u**2).sum() / effect
    if not (mixture.log_likelihood - core.log_likelihood) / effect > np.log(n_rows):
        return nothing
    lighter = [fit_mixture(r, u, with_outliers=True, degrees=degrees) for degrees in LIGHTER_TAILS]
    mixture = max([mixture, *lighter], key=lambda fitted: fitted.log_likelihood)
    probabilities = mixture.outlier_probabilities(residuals)
    share = float(weights @ probabilities / weights.sum())
    return TargetOutliers(share, probabilities) if share < MOST_SHARE else nothing


def fit_mixture(
    residuals: FloatArray, weights: FloatArray, *, with_outliers: bool, degrees: float = DEGREES
) -> ResidualMixture:
    """Fit a mixture, or the core alone, by expectation maximisation; the better of two ends.

    It starts once from a share of wide residuals, and once from the largest one alone: that is not found from the other
    start, where a heavy tail explains it better than a normal distribution that is too narrow.
    """
    mode = float(np.median(residuals))
    away = residuals - mode
    if not away.any():
        return ResidualMixture(mode, 1.0, 1.0, 0.0, LEAST_WIDTH, 0.0, degrees)
    largest = max(float(np.abs(away).max()), 1e-300)
    least = largest * 1e-9
    below, above = (max(float(np.median(np.abs(side))) if len(side) else 0.0, least) for side in _sides(away))
    starts = [(0.0, largest)]
    if with_outliers:
        starts = [(FIRST_SHARE, float(np.sqrt(np.mean(away**2)))), (1 / len(residuals), largest)]
    fitted = []
    for share, width in starts:
        width = max(LEAST_WIDTH * (below + above) / 2, width)
        mixture = ResidualMixture(mode, below, above, share, width, -np.inf, degrees)
        for _ in range(MOST_STEPS):
            outlying = mixture.outlier_probabilities(residuals)
            log_likelihood = float(weights @ _log_density(mixture, residuals))
            gain = log_likelihood - mixture.log_likelihood
            mixture = mixture._replace(log_likelihood=log_likelihood)
            if not gain > TOLERANCE * weights.sum():
                break
            mixture = _maximised(mixture, residuals, weights, outlying, least, with_outliers)
        fitted.append(mixture)
    return max(fitted, key=lambda end: end.log_likelihood)


def _maximised(
    mixture: ResidualMixture,
    residuals: FloatArray,
    weights: FloatArray,
    outlying: FloatArray,
    least: float,
    with_outliers: bool,
) -> ResidualMixture:
    """Return the mixture that is most likely, given how much each row belongs to either part."""
    away = residuals - mixture.mode
    scales = np.where(away < 0, mixture.below, mixture.above)
    core = weights * (1 - outlying)
    # A Student t is a normal distribution whose variance differs from row to row; these are the expected precisions.
    precise = core * (mixture.degrees + 1) / (mixture.degrees + (away / scales) ** 2)
    pulls = precise / scales**2
    mode = float(pulls @ residuals / pulls.sum())
    away = residuals - mode
    lower, upper = (float((precise * side**2).sum()) ** (1 / 3) for side in (np.minimum(away, 0), np.maximum(away, 0)))
    total = float(core.sum())
    # Of a normal distribution in two pieces, with sums of squares L³ below and U³ above: σ² = L² (L + U) / n.
    below = max(np.sqrt(lower**2 * (lower + upper) / total), least)
    above = max(np.sqrt(upper**2 * (lower + upper) / total), least)
    if not with_outliers:
        return mixture._replace(mode=mode, below=below, above=above)
    weight = float(weights @ outlying)
    share = min(max(weight / float(weights.sum()), 1e-12), 0.5)
    squares = float((weights * outlying) @ away**2)
    width = max(np.sqrt(squares / max(weight, 1e-300)), LEAST_WIDTH * (below + above) / 2)
    return mixture._replace(mode=mode, below=below, above=above, share=share, width=width)


def _log_density(mixture: ResidualMixture, residuals: FloatArray) -> FloatArray:
    """Return the logarithm of the density of each residual."""
    core = mixture.core_log_density(residuals)
    if not mixture.share > 0:
        return core
    outlying = mixture.outlier_log_density(residuals) + np.log(mixture.share)
    return np.logaddexp(core + np.log1p(-mixture.share), outlying)


def _sides(away: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the deviations below and above 0."""
    return away[away < 0], away[away > 0]
