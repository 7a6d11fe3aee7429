"""Intervals of a regression from out-of-fold residuals: split conformal prediction without a split.

A residual is divided by the spread that is expected of its row, which follows from the predicted number, from how much
the arms differ on the row, and from how much the views matter that it lacks, where that makes intervals shorter. Each
pattern of views has its own residuals, of all rows that have these views, as if they had no other ones. The interval of
a new row is what is predicted, and the quantiles of the residuals of its pattern times its spread, by the ranks that
make coverage hold for rows that are exchangeable with the training rows.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fuselearn.persistence.validation import check_array, check_part
from fuselearn.typing import BoolArray, FloatArray, IntArray

MOST_RESIDUALS = 2_000
"""Residuals that are kept of a pattern; of more, as many quantiles."""
NARROWEST, WIDEST = 0.2, 5.0
"""Least and largest spread of a row, in units of the median."""
RIDGE = 1e-3
N_FEATURES = 5
LEAST_ROWS = 30
"""Rows below which spreads are taken for equal."""
LEAST_DISAGREEMENT = 1e-6
"""Disagreement of arms, in units of the spread of the target, that is told from 0."""
USUAL_COVERAGE = 0.9
"""Coverage at which the widths of intervals are compared."""


@dataclass(frozen=True)
class RowSpread:
    """Spread of residuals that is expected of a row: exp(coefficients · features), within limits.

    Attributes
    ----------
    coefficients : ndarray of shape (5,)
        Of 1, the predicted number, its square, the logarithm of the arms' disagreement, and the importance of the views
        that are missing; all 0 but the first where spreads are equal.
    centre, unit : float
        Of predicted numbers.
    least, largest : float
        Limits of the spread.
    """

    coefficients: FloatArray
    centre: float
    unit: float
    least: float
    largest: float

    def validate(self) -> None:
        """Check the coefficients, and that the limits are positive."""
        check_array(self, "coefficients", np.float64, (N_FEATURES,))
        for name in ("centre", "unit", "least", "largest"):
            if not (type(vars(self)[name]) is float and np.isfinite(vars(self)[name])):
                raise ValueError(f"{name} of a RowSpread is no number")
        if not (0 < self.least <= self.largest and self.unit > 0):
            raise ValueError("a RowSpread has limits that are not positive")

    def __call__(self, rows: "SpreadRows") -> FloatArray:
        """Return the spread of rows, in units of the target."""
        features = rows.features(self.centre, self.unit)
        exponents = np.clip(features @ self.coefficients, np.log(self.least), np.log(self.largest))
        return np.exp(exponents)


class SpreadRows(NamedTuple):
    """What the spread of rows follows from; all of shape (n_rows,).

    Attributes
    ----------
    predicted : ndarray
        Predicted numbers.
    disagreement : ndarray
        Weighted standard deviation of the values of the arms, in units of the target.
    missing : ndarray
        Sum of the importances of the views that a row lacks.
    """

    predicted: FloatArray
    disagreement: FloatArray
    missing: FloatArray

    def among(self, rows: BoolArray) -> "SpreadRows":
        """Return some of the rows."""
        return SpreadRows(*(values[rows] for values in self))

    def features(self, centre: float, unit: float) -> FloatArray:
        """Return features of shape (n_rows, 5)."""
        away = np.clip((self.predicted - centre) / unit, -10, 10)
        differing = np.log(np.maximum(self.disagreement / unit, LEAST_DISAGREEMENT))
        return np.column_stack([np.ones(len(away)), away, away**2, differing, self.missing])


def fit_spread(rows: SpreadRows, residuals: FloatArray, weights: FloatArray, unit: float) -> RowSpread:
    """Fit the spread of rows to out-of-fold residuals; equal spreads, unless others make intervals shorter."""
    unit = float(unit) if unit > 0 else 1.0
    centre, sizes = float(np.average(rows.predicted, weights=weights)), np.abs(residuals)
    typical = float(weighted_quantiles(sizes, weights, np.array([0.5]))[0])
    typical = max(typical, 1e-9 * unit, np.finfo(float).tiny)
    equal = RowSpread(np.log(typical) * np.eye(N_FEATURES)[0], centre, unit, typical, typical)
    if len(residuals) < LEAST_ROWS:
        return equal
    features = rows.features(centre, unit)
    scaled = features * weights[:, None]
    # Residuals next to 0, whose logarithms are far away, tell next to nothing.
    logs = np.log(sizes + 0.1 * typical)
    ridge = weights.sum() * np.diag([1e-9, *[RIDGE] * (N_FEATURES - 1)])
    coefficients = np.linalg.solve(scaled.T @ features + ridge, scaled.T @ logs)
    middle = float(np.exp(np.median(features @ coefficients)))
    local = RowSpread(coefficients, centre, unit, NARROWEST * middle, WIDEST * middle)
    spreads = local(rows)
    level = np.array([USUAL_COVERAGE])
    width = weighted_quantiles(sizes / spreads, weights, level)[0] * np.average(spreads, weights=weights)
    return local if width < weighted_quantiles(sizes, weights, level)[0] else equal


def weighted_quantiles(values: FloatArray, weights: FloatArray, levels: FloatArray) -> FloatArray:
    """Return the least values that have at least the asked shares of the weight at or below them."""
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(weights[order])
    places = np.searchsorted(ends, levels * ends[-1] * (1 - 1e-12))
    quantiles: FloatArray = values[order][np.minimum(places, len(order) - 1)]
    return quantiles


@dataclass(frozen=True)
class PredictionIntervals:
    """Residuals of each pattern of views, over the spreads of their rows.

    Attributes
    ----------
    spread : RowSpread
        Spread of a row.
    residuals : list of ndarray
        For each pattern of the calibration, in ascending order; after them, those of a row without any view about the
        mean of the target, not divided.
    """

    spread: RowSpread
    residuals: list[FloatArray]

    def validate(self) -> None:
        """Check the spread, and that there are residuals of each pattern, in ascending order."""
        check_part(self, "spread", RowSpread).validate()
        if type(self.residuals) is not list or not self.residuals:
            raise ValueError("residuals of a PredictionIntervals is no list")
        for of_pattern in self.residuals:
            is_array = type(of_pattern) is np.ndarray and of_pattern.dtype == np.float64 and of_pattern.ndim == 1
            if not is_array or not len(of_pattern) or not np.isfinite(of_pattern).all():
                raise ValueError("residuals of a PredictionIntervals has entries that are no numbers")
            if (np.diff(of_pattern) < 0).any():
                raise ValueError("residuals of a PredictionIntervals are not in ascending order")

    def __call__(self, rows: SpreadRows, pattern_of: IntArray, coverage: float) -> FloatArray:
        """Return lower and upper ends, of shape (n_rows, 2); a row of pattern -1 has no view."""
        limits = np.array([_limits(of_pattern, coverage) for of_pattern in self.residuals])
        spreads = np.where(pattern_of < 0, 1.0, self.spread(rows))
        return rows.predicted[:, None] + spreads[:, None] * limits[pattern_of]


def kept_residuals(residuals: FloatArray, weights: FloatArray) -> FloatArray:
    """Return residuals in ascending order or, of many or with different weights, as many quantiles."""
    if len(residuals) <= MOST_RESIDUALS and (weights == weights[0]).all():
        return np.sort(residuals)
    # Weights other than one make up for fewer rows (Kish).
    n_kept = int(np.clip(weights.sum() ** 2 / (weights**2).sum(), 1, MOST_RESIDUALS))
    return weighted_quantiles(residuals, weights, np.arange(1, n_kept + 1) / (n_kept + 1))


def _limits(residuals: FloatArray, coverage: float) -> tuple[float, float]:
    """Return residuals below and above which, each, new ones are found in half of the cases that are not covered."""
    n = len(residuals)
    beyond = int(np.floor((n + 1) * (1 - coverage) / 2 + 1e-9))
    # With too few residuals for so high a coverage, the most extreme ones are the best known limits.
    return float(residuals[max(beyond, 1) - 1]), float(residuals[n - max(beyond, 1)])
