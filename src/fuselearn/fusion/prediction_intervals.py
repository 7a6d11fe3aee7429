"""Intervals of a regression from out-of-fold residuals: split conformal prediction without a split.

A residual is divided by the spread that is expected of its row, which follows from the predicted number, from how much
the arms differ on the row, from how much the views matter that it lacks, and from what a fusion of its own predicts of
the size of residuals, where that makes intervals shorter. Each pattern of views has its own residuals, of rows that
have these views (`pattern_fits`). The interval of a new row is what is predicted, and the quantiles of the residuals of
its pattern times its spread, by the shares of the weight that make coverage hold for rows that are exchangeable with
the training rows or, of groups, for a row of a new group (Lee, Barber and Willett, Distribution-free inference with
hierarchical data, 2023).
"""

import warnings
from collections.abc import Collection
from dataclasses import dataclass
from math import ceil, floor
from typing import NamedTuple

import numpy as np

from fuselearn.exceptions import UnattainableCoverageWarning, level_of_caller
from fuselearn.persistence.validation import check_array, check_part
from fuselearn.typing import BoolArray, FloatArray, IntArray

MOST_RESIDUALS = 1_000
"""Residuals that are kept of a pattern; of more, as many quantiles, the densest at the ends."""
NARROWEST, WIDEST = 0.02, 50.0
"""Least and largest spread of a row, in units of the median; nor is it out of the range of the training rows."""
RIDGE = 1e-3
N_FEATURES = 6
LEAST_ROWS = 30
"""Rows below which spreads are taken for equal."""
LEAST_DISAGREEMENT = 1e-6
"""Disagreement of arms, in units of the spread of the target, that is told from 0."""
TOLERANCE = 1e-11
"""Rounding of shares."""
USUAL_COVERAGE = 0.9
"""Coverage at which the widths of intervals are compared."""


@dataclass(frozen=True)
class RowSpread:
    """Spread of residuals that is expected of a row: exp(coefficients · features), within limits.

    Attributes
    ----------
    coefficients : ndarray of shape (6,)
        Of 1, the predicted number, its square, the logarithm of the arms' disagreement, the importance of the views
        that are missing, and the expected size of residuals; all 0 but the first where spreads are equal.
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

    @property
    def reads_sizes(self) -> bool:
        """Whether the spread follows from the expected size of residuals."""
        return bool(self.coefficients[-1] != 0)

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
    sizes : ndarray
        Logarithm of the size of residuals that is expected of the row, whatever its unit; 0 where nothing tells of it.
    """

    predicted: FloatArray
    disagreement: FloatArray
    missing: FloatArray
    sizes: FloatArray

    def among(self, rows: BoolArray) -> "SpreadRows":
        """Return some of the rows."""
        return SpreadRows(*(values[rows] for values in self))

    def features(self, centre: float, unit: float) -> FloatArray:
        """Return features of shape (n_rows, 6)."""
        away = np.clip((self.predicted - centre) / unit, -10, 10)
        differing = np.log(np.maximum(self.disagreement / unit, LEAST_DISAGREEMENT))
        return np.column_stack([np.ones(len(away)), away, away**2, differing, self.missing, self.sizes])


def fit_spread(rows: SpreadRows, residuals: FloatArray, weights: FloatArray, unit: float) -> RowSpread:
    """Fit the spread of rows to out-of-fold residuals; equal spreads, unless others make intervals shorter."""
    unit = float(unit) if unit > 0 else 1.0
    centre, sizes = float(np.average(rows.predicted, weights=weights)), np.abs(residuals)
    typical = float(weighted_quantiles(sizes, weights, np.array([0.5]))[0])
    typical = max(typical, 1e-9 * unit, np.finfo(float).tiny)
    equal = RowSpread(np.log(typical) * np.eye(N_FEATURES)[0], centre, unit, typical, typical)
    if len(residuals) < LEAST_ROWS:
        return equal
    # In units of the target's spread: the ridge holds coefficients near 0, and would pull on a unit in the logarithms.
    features, logs = rows.features(centre, unit), log_sizes(sizes / unit, typical / unit)
    level = np.array([USUAL_COVERAGE])
    candidates = [equal]
    for used in ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5]):
        scaled = features[:, used] * weights[:, None]
        ridge = weights.sum() * np.diag([1e-9, *[RIDGE] * (len(used) - 1)])
        coefficients = np.zeros(N_FEATURES)
        coefficients[used] = np.linalg.solve(scaled.T @ features[:, used] + ridge, scaled.T @ logs)
        spreads = np.exp(features @ coefficients)
        middle = float(np.median(spreads))
        least, largest = max(float(spreads.min()), NARROWEST * middle), min(float(spreads.max()), WIDEST * middle)
        coefficients[0] += np.log(unit)
        candidates.append(RowSpread(coefficients, centre, unit, unit * least, unit * largest))
    widths = []
    for candidate in candidates:
        spreads = candidate(rows)
        quantile = weighted_quantiles(sizes / spreads, weights, level)[0]
        widths.append(quantile * np.average(spreads, weights=weights))
    return candidates[int(np.argmin(widths))]


def log_sizes(sizes: FloatArray, typical: float) -> FloatArray:
    """Return logarithms of sizes of residuals; those next to 0, which would be far away, tell next to nothing."""
    logs: FloatArray = np.log(sizes + 0.1 * typical)
    return logs


def weighted_quantiles(values: FloatArray, weights: FloatArray, levels: FloatArray) -> FloatArray:
    """Return the least values that have at least the asked shares of the weight at or below them."""
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(weights[order])
    places = np.searchsorted(ends, levels * ends[-1] * (1 - 1e-12))
    quantiles: FloatArray = values[order][np.minimum(places, len(order) - 1)]
    return quantiles


@dataclass(frozen=True)
class ResidualQuantiles:
    """Residuals of the rows of a pattern of views or, of many, quantiles of them.

    Attributes
    ----------
    residuals : ndarray of shape (n_kept,)
        In ascending order; the first and the last are the least and the largest of all.
    below, above : ndarray of shape (n_kept,)
        Share of the weight of residuals that are smaller, and larger.
    n_independent : float
        How many independent rows of equal weight they are of.
    """

    residuals: FloatArray
    below: FloatArray
    above: FloatArray
    n_independent: float

    @classmethod
    def of(cls, residuals: FloatArray, weights: FloatArray, n_independent: float) -> "ResidualQuantiles":
        """Return the residuals of rows with weights."""
        order = np.argsort(residuals, kind="stable")
        ordered, ends = residuals[order], np.cumsum(weights[order])
        ends /= ends[-1]
        places = np.arange(len(ordered))
        if len(ordered) > MOST_RESIDUALS:
            levels = np.sin(np.linspace(0, np.pi / 2, MOST_RESIDUALS)) ** 2
            places = np.unique(np.clip(np.searchsorted(ends, levels), 0, len(ordered) - 1))
            places[-1] = len(ordered) - 1
        kept = ordered[places]
        starts = np.concatenate([[0.0], ends])
        below = starts[np.searchsorted(ordered, kept, side="left")]
        above = 1 - starts[np.searchsorted(ordered, kept, side="right")]
        return cls(kept, below, above, max(float(n_independent), 1.0))

    def limits(self, coverage: float) -> tuple[float, float]:
        """Return residuals below and above which, each, new ones are in at most half of the cases not covered.

        A new row, or group, is one among those that are known, and may be below all of them or above.
        """
        beyond = self._share_beyond(coverage)
        # With too few residuals for so high a coverage, the most extreme ones are the best known limits.
        lower = np.flatnonzero(self.below <= beyond)
        upper = np.flatnonzero(self.above <= beyond)
        first = self.residuals[lower[-1] if len(lower) else 0]
        last = self.residuals[upper[0] if len(upper) else -1]
        return float(min(first, last)), float(max(first, last))

    def attains(self, coverage: float) -> bool:
        """Return whether there are enough residuals for a coverage: of fewer, the most extreme ones are the limits."""
        return self._share_beyond(coverage) >= 0

    def _share_beyond(self, coverage: float) -> float:
        """Return the share of the known residuals that may be beyond a limit, beside that of a new row."""
        n = self.n_independent
        return ((n + 1) * (1 - coverage) / 2 - 1) / n + TOLERANCE

    def validate(self) -> None:
        """Check that there are residuals in ascending order, and their shares."""
        n_kept = len(check_array(self, "residuals", np.float64, (None,)))
        check_array(self, "below", np.float64, (n_kept,))
        check_array(self, "above", np.float64, (n_kept,))
        if not n_kept or (np.diff(self.residuals) < 0).any():
            raise ValueError("residuals of a ResidualQuantiles are none, or not in ascending order")
        if not (type(self.n_independent) is float and np.isfinite(self.n_independent) and self.n_independent > 0):
            raise ValueError("n_independent of a ResidualQuantiles is no positive number")


@dataclass(frozen=True)
class PredictionIntervals:
    """Residuals of each pattern of views, over the spreads of their rows.

    Attributes
    ----------
    spread : RowSpread
        Spread of a row.
    residuals : list of ResidualQuantiles
        For each pattern of the calibration; after them, those of a row without any view about the mean of the target,
        not divided.
    """

    spread: RowSpread
    residuals: list[ResidualQuantiles]

    def validate(self) -> None:
        """Check the spread, and that there are residuals of each pattern."""
        check_part(self, "spread", RowSpread).validate()
        if type(self.residuals) is not list or not self.residuals:
            raise ValueError("residuals of a PredictionIntervals is no list")
        for of_pattern in self.residuals:
            if type(of_pattern) is not ResidualQuantiles:
                raise ValueError("residuals of a PredictionIntervals has entries that are no residuals")
            of_pattern.validate()

    def __call__(self, rows: SpreadRows, pattern_of: IntArray, coverage: float) -> FloatArray:
        """Return lower and upper ends, of shape (n_rows, 2); a row of pattern -1 has no view."""
        limits = np.array([of_pattern.limits(coverage) for of_pattern in self.residuals])
        spreads = np.where(pattern_of < 0, 1.0, self.spread(rows))
        return rows.predicted[:, None] + spreads[:, None] * limits[pattern_of]

    def warn_of_few_rows(self, patterns: Collection[int], coverage: float) -> None:
        """Warn if the residuals of some of the patterns are too few for a coverage."""
        scarce = [of for of in map(self.residuals.__getitem__, patterns) if not of.attains(coverage)]
        if scarce:
            needed, known = ceil(2 / (1 - coverage) * (1 - TOLERANCE) - 1), min(of.n_independent for of in scarce)
            covered = floor(1000 * (known - 1) / (known + 1)) / 1000
            warnings.warn(
                f"Intervals of coverage {coverage:g} need {needed:,} training rows with the views of a row "
                f"(independent ones: a group counts as one); some rows have {known:.3g}. Their intervals reach to the "
                f"most extreme residuals that are known, and cover about {covered:g}.",
                UnattainableCoverageWarning,
                stacklevel=level_of_caller(),
            )
