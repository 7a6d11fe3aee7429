"""Prediction sets: the classes that a row may have, so many that a given share of rows is covered.

Sets are conformal, calibrated by out-of-fold values of the training rows. The score of a class is 1 − p with p its
probability (times its class weight, if there are any), and 0 for the class that is predicted. A set has all classes
whose score is at most the threshold: it is never empty, and of all sets that cover as many rows the mean one is about
the smallest (the least ambiguous sets of Sadinle, Lei and Wasserman, 2019).

There is a threshold for every pattern of views that rows may have: the quantile of the scores of the true classes of
training rows with these views. Rows that have more views than that are predicted without them, and lend their scores
where rows with just these views are few. Where labels may be wrong, a row counts for each class as much as the class is
probable, by the targets that the probabilities are calibrated to.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from math import ceil
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from fuselearn.arguments import check_choice
from fuselearn.data.view_table import data_frame
from fuselearn.exceptions import UnattainableCoverageWarning, level_of_caller
from fuselearn.fusion.arm_weights import OutOfFoldLogits, OutOfFoldValues
from fuselearn.fusion.fusion_prediction import FusionPrediction
from fuselearn.fusion.pattern_calibration import PatternCalibration
from fuselearn.numeric.votes import ties_for_largest
from fuselearn.typing import BoolArray, FloatArray, IntArray, TableLike

ENOUGH_ROWS = 500
"""Rows of a pattern of views that need no others; fewer borrow as many as they lack."""
LEAST_ROWS = 20
"""Rows, their own and borrowed ones, that a threshold needs; a pattern with fewer takes that of fewer views."""
TIE_BREAK, TOLERANCE = 1e-10, 1e-11
"""Between classes of the same probability, the first one comes first; and rounding of scores."""


class Threshold(NamedTuple):
    """The largest score of a class in the set of a row with some views.

    Attributes
    ----------
    score : float
        Infinite where there are too few rows to leave any class out.
    n_own, n_borrowed : int
        Training rows with just these views, and those with more views that count beside them.
    n_independent : float
        How many independent rows of equal weight they all are.
    views : bool ndarray of shape (n_views,)
        Views whose rows these are: fewer than the row has, where there are too few rows.
    """

    score: float
    n_own: int
    n_borrowed: int
    n_independent: float
    views: BoolArray


class CalibrationRows(NamedTuple):
    """Training rows that a threshold follows from.

    Attributes
    ----------
    views : bool ndarray of shape (n_views,)
        Views that they count with.
    own : OutOfFoldLogits
        Rows that have just these views.
    borrowed : intp ndarray
        Numbers of rows that have more.
    weights : ndarray of shape (n_own + n_borrowed,)
    n_independent : float
        How many independent rows of equal weight they are.
    """

    views: BoolArray
    own: OutOfFoldLogits
    borrowed: IntArray
    weights: FloatArray
    n_independent: float


def set_scores(logits: FloatArray, class_weights: FloatArray) -> FloatArray:
    """Return the scores of the classes, of shape (n_rows, n_classes): 1 − p, and 0 for the class that is predicted."""
    decision = logits.astype(np.float64) + np.log(class_weights)
    scores: FloatArray = 1 - softmax(decision, axis=1) + TIE_BREAK * np.arange(decision.shape[1])
    predicted = ties_for_largest(decision).argmax(axis=1)
    scores[np.arange(len(scores)), predicted] = 0.0
    return scores


def conformal_quantile(scores: FloatArray, weights: FloatArray, coverage: float, n_independent: float) -> float:
    """Return the least score that a share of the weight does not exceed, a new row's own weight counted as above.

    Parameters
    ----------
    scores, weights : ndarray of shape (n,)
        Scores of what is true (or residuals), and how much each counts.
    coverage : float
        The share.
    n_independent : float
        Number of independent rows that the scores are of. The share asked of them is coverage · (1 + 1 / n).

    Returns
    -------
    float
        Infinite where there are too few rows.
    """
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(weights[order])
    wanted = coverage * (1 + 1 / n_independent) * reached[-1] if len(order) and n_independent > 0 else np.inf
    place = int(np.searchsorted(reached, wanted - TOLERANCE * reached[-1])) if len(order) else 0
    return float(scores[order[place]]) if place < len(order) else np.inf


def independent_rows(weights: FloatArray, units: IntArray) -> float:
    """Return how many rows of equal weight tell as much as some rows (Kish); those of one unit are one."""
    of_units = np.bincount(units, weights)
    squares = (of_units**2).sum()
    return float(of_units.sum() ** 2 / squares) if squares > 0 else 0.0


class SetThresholds:
    """Thresholds of the sets of a fitted fusion, for one coverage; those asked for are remembered.

    Parameters
    ----------
    values : OutOfFoldValues
    calibration : PatternCalibration
    class_weights : ndarray of shape (n_classes,)
    coverage : float
    """

    def __init__(
        self, values: OutOfFoldValues, calibration: PatternCalibration, class_weights: FloatArray, coverage: float
    ) -> None:
        self._values, self._calibration = values, calibration
        self._class_weights, self._coverage = class_weights, coverage
        self._known: dict[bytes, Threshold] = {}

    def __call__(self, views: BoolArray) -> Threshold:
        """Return the threshold of rows that have just these views."""
        key = views.tobytes()
        if key not in self._known:
            self._known[key] = self._threshold(views)
        return self._known[key]

    def sets(self, logits: FloatArray, present: BoolArray) -> BoolArray:
        """Return the sets of rows by their logits and views, of shape (n_rows, n_classes)."""
        distinct, pattern_of = np.unique(present, axis=0, return_inverse=True)
        thresholds = np.array([self(views).score for views in distinct])[np.ravel(pattern_of)]
        sets: BoolArray = set_scores(logits, self._class_weights) <= thresholds[:, None] + TOLERANCE
        return sets

    def warn_of_few_rows(self) -> None:
        """Warn if sets of some of the rows have all classes, for want of rows to leave any out."""
        scarce = [threshold.n_independent for threshold in self._known.values() if not threshold.score < np.inf]
        if scarce:
            needed = ceil(self._coverage / (1 - self._coverage) * (1 - TOLERANCE))
            warnings.warn(
                f"Sets of coverage {self._coverage:g} need {needed:,} training rows with the views of a row "
                f"(independent ones: a group counts as one); some rows have {min(scarce):.3g}. Their sets have all "
                "classes.",
                UnattainableCoverageWarning,
                stacklevel=level_of_caller(),
            )

    def own_rows(self) -> Iterator[tuple[BoolArray, OutOfFoldLogits]]:
        """Return the training rows of each pattern of views that some have, with out-of-fold logits."""
        rows = self._values.present if self._values.own is None else self._values.own.present
        for views in np.unique(rows, axis=0)[::-1]:
            yield views, self._own(views)

    def _threshold(self, views: BoolArray) -> Threshold:
        """Return the threshold for some views or, where too few rows have these, for fewer views."""
        chosen = self._rows(views)
        fewer = views
        while chosen.n_independent < LEAST_ROWS and fewer.sum() > 1:
            fewer = self._fewer(fewer)
            candidate = self._rows(fewer)
            if candidate.n_independent >= LEAST_ROWS or not chosen.n_independent > 0:
                chosen = candidate
        own, borrowed = chosen.own, chosen.borrowed
        logits = np.vstack([own.logits, self._values.logits(chosen.views, borrowed, self._calibration)])
        targets = np.vstack([own.targets, self._values.targets[borrowed]]).astype(np.float64)
        scores, counted = set_scores(logits, self._class_weights), targets > 0
        each = (chosen.weights[:, None] * targets)[counted]
        quantile = conformal_quantile(scores[counted], each, self._coverage, chosen.n_independent)
        return Threshold(quantile, len(own.weights), len(borrowed), chosen.n_independent, chosen.views)

    def _rows(self, views: BoolArray) -> CalibrationRows:
        """Return the rows that a threshold for just these views follows from."""
        values, own = self._values, self._own(views)
        borrowed = values.having(views) if values.knows(views) else np.empty(0, dtype=np.intp)
        borrowed = borrowed[(values.present[borrowed] != views).any(axis=1)]
        lacking, share = ENOUGH_ROWS - float(own.weights.sum()), 0.0
        if len(borrowed) and lacking > 0:
            share = min(1.0, lacking / float(values.weights[borrowed].sum()))
        else:
            borrowed = borrowed[:0]
        weights = np.concatenate([own.weights, share * values.weights[borrowed]])
        units = np.concatenate([own.units, values.units[borrowed]])
        return CalibrationRows(views, own, borrowed, weights, independent_rows(weights, units))

    def _own(self, views: BoolArray) -> OutOfFoldLogits:
        """Return the training rows that have just these views."""
        values, own = self._values, self._values.own
        if own is None:
            rows = np.flatnonzero((values.present == views).all(axis=1))
            logits = values.logits(views, rows, self._calibration)
            return OutOfFoldLogits(
                values.present[rows], logits, values.targets[rows], values.weights[rows], values.units[rows]
            )
        rows = np.flatnonzero((own.present == views).all(axis=1))
        return OutOfFoldLogits(
            own.present[rows], own.logits[rows], own.targets[rows], own.weights[rows], own.units[rows]
        )

    def _fewer(self, views: BoolArray) -> BoolArray:
        """Return views without the one whose absence leaves the most rows."""
        having = np.flatnonzero(views)
        without = np.repeat(views[None], len(having), axis=0)
        without[np.arange(len(having)), having] = False
        counts = [len(self._values.having(fewer)) for fewer in without]
        return without[int(np.argmax(counts))]


class PredictingSets(FusionPrediction):
    """A fusion that predicts sets of classes; see the module."""

    def predict_set(self, X: TableLike, coverage: float = 0.9) -> BoolArray:
        """Predict sets of classes that have the true class of a share of the rows.

        Sets are calibrated by out-of-fold values of all training rows, for each pattern of views that a row may have. A
        set always has the class that `predict` returns, and is never empty: where more rows than asked for are
        predicted right, sets are of one class and cover them all.

        Parameters
        ----------
        X : array, data frame, CUDA array, Dask collection or paths of Parquet files
            The rows. Those of files are read some at a time; their columns are found by name.
        coverage : float, default=0.9
            Share of rows whose true class is to be in their set, between 0 and 1.

        Returns
        -------
        bool ndarray of shape (n_samples, n_classes)
            Whether each of `classes_` is in the set. Of a Dask collection it is a collection like it, computed when it
            is asked for.

        See Also
        --------
        set_coverage : Coverage of the training rows, by class or by views.

        Examples
        --------
        >>> from fuselearn import FusionClassifier
        >>> from sklearn.datasets import load_wine
        >>> X, y = load_wine(return_X_y=True)
        >>> model = FusionClassifier(views={"first": slice(0, 6), "last": slice(6, 13)}, random_state=0).fit(X, y)
        >>> X[:, 6:] = float("nan")
        >>> model.predict_set(X, coverage=0.95).any(axis=1).all()
        np.True_
        """
        thresholds = self._thresholds(coverage)
        sets: BoolArray = self._of_rows(
            X, "predict_set", lambda rows: thresholds.sets(self._logits_of(rows), rows.present), coverage=coverage
        )
        thresholds.warn_of_few_rows()
        return sets

    def set_coverage(self, coverage: float = 0.9, *, by: str = "class") -> Any:
        """Return how well sets cover the training rows, out of fold: in each class, or with each pattern of views.

        Coverage is calibrated for each pattern of views, not for each class: classes that are hard to tell from others
        are covered less often than asked for, and others more often. This table says which.

        Parameters
        ----------
        coverage : float, default=0.9
            As for `predict_set`.
        by : "class" or "views", default="class"
            What a row of the table is.

        Returns
        -------
        data frame
            With pandas or polars, or else `Records`. Columns ``"class"`` or ``"views"`` (names joined by " + "),
            ``"rows"`` (training rows; of many, of a sample), ``"coverage"`` and ``"mean_size"`` of their sets; by views
            also ``"borrowed"``, the number of rows with more views that lent their scores, and ``"from"``, the views
            whose rows the threshold is from.

        Examples
        --------
        >>> from fuselearn import FusionClassifier
        >>> from sklearn.datasets import load_wine
        >>> X, y = load_wine(return_X_y=True)
        >>> model = FusionClassifier(views={"first": slice(0, 6), "last": slice(6, 13)}, random_state=0).fit(X, y)
        >>> model.set_coverage(0.95)["class"].tolist()
        [0, 1, 2]
        """
        check_choice("by", by, ("class", "views"))
        thresholds = self._thresholds(coverage)
        n_classes = len(self.classes_)
        totals, inside, sizes = np.zeros((3, n_classes))
        table: dict[str, list[Any]] = {
            name: [] for name in ("views", "rows", "coverage", "mean_size", "borrowed", "from")
        }
        for views, rows in thresholds.own_rows():
            sets = thresholds.sets(rows.logits, rows.present)
            shares = rows.weights[:, None] * rows.targets
            totals += shares.sum(axis=0)
            inside += (shares * sets).sum(axis=0)
            sizes += shares.T @ sets.sum(axis=1)
            threshold = thresholds(views)
            record = (
                self._named(views),
                len(rows.weights),
                float((shares * sets).sum() / shares.sum()),
                float(np.average(sets.sum(axis=1), weights=rows.weights)),
                threshold.n_borrowed,
                self._named(threshold.views),
            )
            for column, entry in zip(table.values(), record):
                column.append(entry)
        if by == "views":
            return data_frame(table)
        safe = np.where(totals > 0, totals, np.nan)
        return data_frame(
            {
                "class": self.classes_.tolist(),
                "rows": np.rint(totals).astype(int).tolist(),
                "coverage": (inside / safe).tolist(),
                "mean_size": (sizes / safe).tolist(),
            }
        )

    def _named(self, views: BoolArray) -> str:
        """Return the names of some views in one text."""
        return " + ".join(name for name, is_there in zip(self.view_names_, views) if is_there) or "no view"

    def _thresholds(self, coverage: float) -> SetThresholds:
        """Check the coverage, and return the thresholds for it."""
        check_is_fitted(self)
        if isinstance(coverage, bool) or not isinstance(coverage, Real) or not 0 < coverage < 1:
            raise ValueError(f"coverage must be a number between 0 and 1, such as 0.9; got {coverage!r}.")
        return SetThresholds(self._kept_values(), self._calibration, self.class_weights_, float(coverage))

    def _kept_values(self) -> OutOfFoldValues:
        """Return the out-of-fold values of the training rows; models of earlier versions have none."""
        if self._out_of_fold is None:
            raise AttributeError(
                f"This {type(self).__name__} has no out-of-fold values by view: it was saved by an earlier version of "
                "fuselearn. Fit it again to get sets of classes, or views to measure next."
            )
        return self._out_of_fold
