"""The best split of a leaf, from its histogram, and the settings that decide what is best."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, log2
from typing import NamedTuple, TypeAlias

import numpy as np

from fuselearn.boosting.gradient.tree_format import CATEGORY_BINS
from fuselearn.numeric.gradient_histograms import best_splits, first_of_largest, least_whole, ordered_categories
from fuselearn.numeric.gradient_loops import LEAST_GAIN, LEAST_HESSIAN, SCORE, WEIGHT, G, H
from fuselearn.numeric.growth_arrays import SplitRules
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.typing import BoolArray, FloatArray, IntArray

LEAST_DEPTH = 10
"""Depth that every tree may have. A deeper one would be a chain, and cost a round trip for each link on a cluster."""
Sums: TypeAlias = tuple[int, int, int]
"""Sums of g, h and weights, in units."""


@dataclass(frozen=True)
class GrowthSettings:
    """Settings and units by which trees grow.

    Attributes
    ----------
    max_leaf_nodes : int
        Most leaves.
    min_samples_leaf : float
        Least weight of a leaf.
    l2_regularization : float
        Added to the sum of h.
    learning_rate : float
        Factor on every value.
    units : tuple of float
        Units of g, h and weights.
    leaf_quantile : float or None
        Quantile of the residuals of a leaf that is its value; None for a Newton step.
    edges : ndarray of shape (n_features, most edges)
        Edges between the bins of all columns of X.
    n_values : intp ndarray of shape (n_features,)
        Bins that each column uses, without that of missing values.
    categorical : bool ndarray of shape (n_features,)
        Whether the bins of a column are categories.
    monotonic : int8 ndarray of shape (n_features,)
        Sign in which scores follow a column; 0 for any.
    """

    max_leaf_nodes: int
    min_samples_leaf: float
    l2_regularization: float
    learning_rate: float
    units: tuple[float, float, float]
    leaf_quantile: float | None
    edges: FloatArray
    n_values: IntArray
    categorical: BoolArray
    monotonic: IntArray

    @cached_property
    def max_depth(self) -> int:
        """Most splits between the root and a leaf."""
        return max(LEAST_DEPTH, 2 * ceil(log2(self.max_leaf_nodes)))

    @cached_property
    def least_weight(self) -> int:
        """Least weight of a leaf, in units."""
        return least_whole(self.min_samples_leaf, self.units[WEIGHT])

    @cached_property
    def least_hessian(self) -> int:
        """Least sum of h of a leaf, in units."""
        return least_whole(LEAST_HESSIAN, self.units[H])

    @cached_property
    def missing_bin(self) -> int:
        """Bin of missing values."""
        return self.edges.shape[1] + 1

    def rules(self, columns: IntArray) -> SplitRules:
        """Return what the splits of a tree on some columns have to keep to, for its compiled loops."""
        categorical = np.flatnonzero(self.categorical[columns])
        order_of_column = np.full(len(columns), -1, dtype=np.intp)
        order_of_column[categorical] = np.arange(len(categorical))
        return SplitRules(
            self.n_values[columns],
            self.monotonic[columns],
            order_of_column,
            categorical,
            float(self.units[G]),
            float(self.units[H]),
            float(self.l2_regularization),
            self.least_weight,
            self.least_hessian,
            self.max_depth,
        )

    def value(self, sums: Sums, bounds: tuple[float, float]) -> float:
        """Return the value of a leaf, without the learning rate."""
        g, h = sums[G] * self.units[G], sums[H] * self.units[H] + self.l2_regularization
        return min(max(-g / h, bounds[0]), bounds[1]) if h > 0 else 0.0

    def score(self, sums: Sums, bounds: tuple[float, float]) -> float:
        """Return twice what a leaf lowers the regularised loss by."""
        g, h = sums[G] * self.units[G], sums[H] * self.units[H] + self.l2_regularization
        value = self.value(sums, bounds)
        return -value * (2 * g + h * value)


@dataclass(frozen=True)
class Split:
    """The best split of a leaf.

    Attributes
    ----------
    gain : float
        What it adds to the scores of the leaves.
    column : int
        Column of X.
    cut_bin : int
        Last bin that goes left; -1 for a set of categories.
    goes_left : uint8 ndarray of shape (256,)
        1 for the bins that go left.
    left_sums, right_sums : tuple of int
        Sums of both sides.
    """

    gain: float
    column: int
    cut_bin: int
    goes_left: IntArray
    left_sums: Sums
    right_sums: Sums


class BestCut(NamedTuple):
    """The best cut of a leaf, on whatever column it is.

    Attributes
    ----------
    score : float
        Score of both sides.
    place : int
        Place of the column among those that a tree may split on.
    cut : int
        Last bin that goes left, or place of the last category that does; -1 where there is no cut.
    missing_left : bool
        Whether missing values go left.
    left_sums : tuple of int
        Sums of the left side.
    has_missing : bool
        Whether some row of the leaf has no value in the column.
    order : intp ndarray or None
        Categories of the leaf in their order; None for a column of numbers.
    """

    score: float
    place: int
    cut: int
    missing_left: bool
    left_sums: Sums
    has_missing: bool
    order: IntArray | None


class SplitFinder:
    """Looks for the best splits of the leaves of trees that read some columns.

    Parameters
    ----------
    settings : GrowthSettings
        Settings and units.
    columns : intp ndarray of shape (n_columns,)
        Columns that a tree may split on.
    threads : Threads, default=SERIAL
        Threads that share the columns.
    """

    def __init__(self, settings: GrowthSettings, columns: IntArray, threads: Threads = SERIAL) -> None:
        self._settings, self._columns, self._threads = settings, columns, threads
        self._n_values, self._monotonic = settings.n_values[columns], settings.monotonic[columns]
        self._categorical = np.flatnonzero(settings.categorical[columns])
        self._order_of_column = np.full(len(columns), -1, dtype=np.intp)
        self._order_of_column[self._categorical] = np.arange(len(self._categorical))
        self._splits = np.empty((len(columns), 3))
        self._left_sums = np.empty((len(columns), 3), dtype=np.int64)

    def best_split(self, histogram: IntArray, sums: Sums, bounds: tuple[float, float]) -> Split | None:
        """Return the best split of a leaf with this histogram, these sums and bounds; None where none is worth it."""
        settings = self._settings
        if sums[WEIGHT] < 2 * settings.least_weight:
            return None
        orders = [ordered_categories(histogram[place], settings.units) for place in self._categorical]
        best_splits(
            histogram,
            self._n_values,
            sums,
            settings.units,
            bounds,
            self._monotonic,
            self._order_of_column,
            orders,
            settings.l2_regularization,
            (settings.least_weight, settings.least_hessian),
            self._splits,
            self._left_sums,
            self._threads,
        )
        place = first_of_largest(self._splits[:, SCORE])
        score, cut, direction = self._splits[place].tolist()
        order = self._order_of_column[place]
        return self.worthwhile(
            BestCut(
                score,
                place,
                int(cut),
                direction > 0,
                tuple(self._left_sums[place].tolist()),
                bool(histogram[place, WEIGHT, settings.missing_bin] > 0),
                orders[order] if order >= 0 else None,
            ),
            sums,
            bounds,
        )

    def worthwhile(self, best: BestCut, sums: Sums, bounds: tuple[float, float]) -> Split | None:
        """Return the split of a leaf with these sums and bounds at its best cut; None where it gains nothing."""
        settings, cut = self._settings, best.cut
        gain = best.score - settings.score(sums, bounds)
        if cut < 0 or not gain > LEAST_GAIN * abs(best.score):
            return None
        left_g, left_h, left_weight = best.left_sums
        g, h, weight = sums
        # Bins that the leaf has no rows of go with the heavier side.
        goes_left = np.full(CATEGORY_BINS, left_weight >= weight - left_weight, dtype=np.uint8)
        if best.order is not None:
            goes_left[best.order[: cut + 1]], goes_left[best.order[cut + 1 :]] = 1, 0
        else:
            goes_left[: cut + 1], goes_left[cut + 1 : settings.missing_bin] = 1, 0
            if best.has_missing:
                goes_left[settings.missing_bin] = best.missing_left
        return Split(
            gain,
            int(self._columns[best.place]),
            cut if best.order is None else -1,
            goes_left,
            best.left_sums,
            (g - left_g, h - left_h, weight - left_weight),
        )
