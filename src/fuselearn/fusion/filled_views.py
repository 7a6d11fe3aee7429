"""Out-of-fold values of rows with some of their views, where arms of all views have absent ones filled in.

Such an arm is a good guess where most of a row is there, and a bad one where nearly all of it was filled in. So it
counts less the fewer views a row has: by the share of the views that are there, times the one of a few multiples by
which the training rows with as many views are predicted best, out of fold. For complete rows it counts in full.

A pattern of views is calibrated by what training rows would be predicted with just these views, out of fold. Arms of
one view say it. Those of all views have out-of-fold values of rows with the views that they have. With fewer views they
predict some rows again, by models that saw them. That is corrected by how much better than out of fold these models
predict the row with all its views, times the square root of the share of them that is left: where views are of one
size, the cosine of the angle between a row and what is left of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fuselearn.classifiers.calibration import fit_slope
from fuselearn.data import TrainingData, ViewBlocks
from fuselearn.fusion.arm_weights import by_class
from fuselearn.fusion.base_models import Arm
from fuselearn.fusion.base_models.absent_views import ViewImputer
from fuselearn.fusion.fusion_rows import rows_of
from fuselearn.numeric.threads import Threads
from fuselearn.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from fuselearn.fusion.passes import PassResult

FILLED_ROWS = 256
"""Rows that are predicted again with fewer views."""
ENOUGH_ROWS = 200.0
"""Rows of a pattern that need no others; to fewer, rows that have only some of the views add what is lacking."""
MULTIPLES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0)
"""Of the share of the views that a row has, by which arms of all views may count."""
DOUBT = 3.0
"""Log likelihood that a multiple of 2 or 1/2 must gain, and four times as much one of 1/4: a normal prior."""


@dataclass(frozen=True)
class FilledRows:
    """What arms of all views say of some training rows with fewer views, by models that saw these rows.

    Attributes
    ----------
    rows : intp ndarray of shape (n_some,)
        Their numbers, increasing.
    arms : intp ndarray of shape (n_joint,)
        Numbers of the arms.
    patterns : bool ndarray of shape (n_patterns, n_views)
    predicted : float32 ndarray of shape (n_patterns, n_joint, n_some, n_targets)
        With the views of each pattern; NaN for rows that lack some of them.
    in_sample : float32 ndarray of shape (n_joint, n_some, n_targets)
        With the views that the rows have.
    """

    rows: IntArray
    arms: IntArray
    patterns: BoolArray
    predicted: FloatArray
    in_sample: FloatArray

    def place(self, pattern: BoolArray) -> int | None:
        """Return the place of a pattern; None where it is not among them."""
        places = np.flatnonzero((self.patterns == pattern).all(axis=1))
        return int(places[0]) if len(places) else None

    def out_of_fold(self, place: int, arm_values: FloatArray, present: BoolArray) -> FloatArray:
        """Return about what models that have not seen the rows would say of them with the views of a pattern.

        Parameters
        ----------
        place : int
            Of the pattern.
        arm_values : ndarray of shape (n_arms, n_rows, n_targets)
            Out-of-fold values of all training rows, with the views that they have.
        present : bool ndarray of shape (n_rows, n_views)

        Returns
        -------
        ndarray of shape (n_joint, n_some, n_targets)
            NaN for rows that lack some of the views.
        """
        optimism = self.in_sample - arm_values[np.ix_(self.arms, self.rows)]
        alike = np.sqrt(self.patterns[place].sum() / present[self.rows].sum(axis=1))
        corrected: FloatArray = self.predicted[place] - alike[:, None] * optimism
        return corrected


def predict_filled_rows(
    result: "PassResult",
    arms: Sequence[Arm],
    data: TrainingData,
    patterns: BoolArray,
    imputer: ViewImputer,
    threads: Threads,
) -> FilledRows | None:
    """Predict some training rows with fewer views; None where no arm of all views was fitted.

    Parameters
    ----------
    result : PassResult
    arms : sequence of Arm
    data : TrainingData
    patterns : bool ndarray of shape (n_patterns, n_views)
    imputer : ViewImputer
    threads : Threads
    """
    joint = [number for number, arm in enumerate(arms) if arm.view is None and result.models[number]]
    if not joint:
        return None
    having = np.flatnonzero(data.blocks.has_view)
    rows = np.sort(np.random.default_rng(len(data)).permutation(having)[:FILLED_ROWS])
    there, used = data.blocks.present[rows], np.unique(np.concatenate(data.columns))
    table = np.asarray(data.blocks.views[0].table[rows], dtype=np.float64)
    whole = (there[None] | ~patterns[:, None]).all(axis=2)

    def predicted(place: int) -> FloatArray:
        """Return values with the views of a pattern; of the pattern -1, with all the views that there are."""
        some = np.arange(len(rows)) if place < 0 else np.flatnonzero(whole[place])
        values = np.full((len(joint), len(rows), len(result.target_means)), np.nan, dtype=np.float32)
        if len(some):
            masked = table[some]
            if place >= 0:
                kept = np.concatenate([data.columns[view] for view in np.flatnonzero(patterns[place]).tolist()])
                masked[:, np.setdiff1d(used, kept)] = np.nan
            filled = imputer.filled(masked, ViewBlocks.of(masked, data.names, data.columns).present)
            for number, arm in enumerate(joint):
                cells = rows_of(filled, slice(None), arms[arm].columns)
                mean: FloatArray = np.mean([model.predict(cells) for model in result.models[arm]], axis=0)
                values[number, some] = mean - result.target_means
        return values

    in_sample, *masked = threads.map(predicted, range(-1, len(patterns)))
    return FilledRows(rows, np.array(joint), patterns, np.array(masked), in_sample)


class CountedViews:
    """Values of training rows with some of their views, out of fold, and by what arms of all views count in them.

    Parameters
    ----------
    result : PassResult
    arms : sequence of Arm
    present : bool ndarray of shape (n_rows, n_views)
    filled : FilledRows
    weights : ndarray of shape (n_rows,)
        Rows of weight 0 have no part in it.
    rows_per_observation : float
        How many rows tell as much as one that depends on no other.

    Attributes
    ----------
    factors : ndarray of shape (n_views + 1,)
        By what arms of all views count for rows that have 0, 1, … views; 1 for rows that have all.
    """

    def __init__(
        self,
        result: "PassResult",
        arms: Sequence[Arm],
        present: BoolArray,
        filled: FilledRows,
        weights: FloatArray,
        rows_per_observation: float = 1.0,
    ) -> None:
        n_views = present.shape[1]
        view_of = np.array([n_views if arm.view is None else arm.view for arm in arms])
        self._present, self._filled, self._result, self._weights = present, filled, result, weights
        self._distinct, pattern_of = np.unique(present, axis=0, return_inverse=True)
        self._pattern_of = np.ravel(pattern_of)
        self._view_weights = np.bincount(view_of, result.weights, minlength=n_views + 1)
        self._total = float(self._view_weights.sum())
        weighted = result.weights[:, None, None] * np.nan_to_num(result.arm_values)
        self._view_sums = np.array([weighted[view_of == view].sum(axis=0) for view in range(n_views + 1)])
        self._known: dict[bytes, tuple[float, int | None]] = {}
        self._filled_sums: FloatArray | None = None
        self.factors = self._chosen_factors(rows_per_observation)

    def of_pattern(self, pattern: BoolArray) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return values of rows as if they had no other views than those of a pattern.

        Rows that have all of its views count as they are; those that have some of them make up for lacking ones.

        Returns
        -------
        values : ndarray of shape (n_some, n_targets)
        rows : intp ndarray of shape (n_some,)
        weights : ndarray of shape (n_some,)
        """
        left = self._distinct & pattern
        # In lexicographic order, as the bytes of packed bits have it, which are quicker to sort.
        packed = np.ascontiguousarray(np.packbits(left, axis=1))
        _, firsts, left_of = np.unique(packed.view(f"S{packed.shape[1]}")[:, 0], return_index=True, return_inverse=True)
        lefts, numbers = left[firsts], left_of[self._pattern_of]
        order = np.argsort(numbers, kind="stable")
        rows = order[(self._weights[order] > 0) & np.asarray(lefts.any(axis=1))[numbers[order]]]
        if not len(rows):
            return np.empty((0, self._view_sums.shape[2])), np.empty(0, dtype=np.intp), np.empty(0)
        values = self._with_views(lefts, numbers[rows], rows)
        there = ~np.isnan(values[:, 0])
        values, rows, weights = values[there], rows[there], self._weights[rows[there]]
        whole = (lefts == pattern).all(axis=1)[numbers[rows]]
        others = weights[~whole].sum()
        if others > 0:
            weights[~whole] *= min(1.0, max(0.0, ENOUGH_ROWS - weights[whole].sum()) / others)
        kept = weights > 0
        return values[kept], rows[kept], weights[kept]

    def _chosen_factors(self, rows_per_observation: float) -> FloatArray:
        """Return the factors; see the attribute."""
        n_views, n_present = self._present.shape[1], self._present.sum(axis=1)
        factors = np.arange(n_views + 1) / n_views
        for number in range(1, n_views if self._view_weights[-1] > 0 else 1):
            rows = np.flatnonzero((n_present == number) & (self._weights > 0))
            if len(rows):
                targets, weights, gains = self._result.class_targets[rows], self._weights[rows], []
                for multiple in MULTIPLES:
                    values = by_class(self._of_rows(rows, multiple * factors[number]))
                    logs = fit_slope(values, targets, weights).log_probabilities(values)
                    likelihood = float(weights @ (targets * logs).sum(axis=1))
                    gains.append(likelihood / rows_per_observation - DOUBT * np.log2(multiple) ** 2)
                factors[number] *= MULTIPLES[int(np.argmax(gains))]
        return factors

    def _of_rows(self, rows: IntArray, factor: float) -> FloatArray:
        """Return values of rows with the views that they have."""
        known = self._present[rows] @ self._view_weights[:-1] + factor * self._view_weights[-1]
        sums: FloatArray = self._view_sums[:-1, rows].sum(axis=0) + factor * self._view_sums[-1, rows]
        return sums * (self._total / known)[:, None]

    def _with_views(self, lefts: BoolArray, numbers: IntArray, rows: IntArray) -> FloatArray:
        """Return values of rows, each with just the views of one of `lefts`; NaN where they are not known."""
        keys = [views.tobytes() for views in lefts]
        for key, views in zip(keys, lefts):
            if key not in self._known:
                weight = self._view_weights[:-1][views].sum() + self.factors[views.sum()] * self._view_weights[-1]
                self._known[key] = float(weight), self._filled.place(views)
        known = np.array([self._known[key][0] for key in keys])
        sums = np.zeros((len(rows), self._view_sums.shape[2]))
        for view, of_view in enumerate(self._view_sums[:-1]):
            sums += np.where(lefts[numbers, view, None], of_view[rows], 0.0)
        if self._view_weights[-1] > 0:
            places = np.array([-1 if place is None else place for _, place in (self._known[key] for key in keys)])
            factors = self.factors[lefts.sum(axis=1)][numbers, None]
            sums = sums + factors * self._joint_sums(lefts[numbers], places[numbers], rows)
        scales = np.divide(self._total, known, out=np.full(len(known), np.nan), where=known > 0)
        return sums * scales[numbers, None]

    def _joint_sums(self, views: BoolArray, places: IntArray, rows: IntArray) -> FloatArray:
        """Return Σ weight · value of the arms of all views for rows with just these views; NaN where not known.

        The places are those of the views among the patterns of `filled`, or -1.
        """
        if self._filled_sums is None:
            n_patterns = len(self._filled.patterns)
            of_arms = (
                self._filled.out_of_fold(place, self._result.arm_values, self._present) for place in range(n_patterns)
            )
            weights = self._result.weights[self._filled.arms]
            self._filled_sums = np.array([np.tensordot(weights, values, axes=1) for values in of_arms])
        sums = np.full((len(rows), self._view_sums.shape[2]), np.nan)
        among = np.searchsorted(self._filled.rows, rows).clip(max=len(self._filled.rows) - 1)
        known = (self._filled.rows[among] == rows) & (places >= 0)
        sums[known] = self._filled_sums[places[known], among[known]]
        own = (self._present[rows] == views).all(axis=1)
        sums[own] = self._view_sums[-1, rows[own]]
        return sums
