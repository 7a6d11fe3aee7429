"""The next view to measure: the one that is expected to make a prediction right more often, for its cost.

What a view would bring is learnt from training rows that have it, out of fold: with the views S that a row has so far,
a training row has the class probabilities p, and with the views T besides, p'. The expected rise of the largest
probability, E[max p' − max p | p], is the gain in the probability of being right, since probabilities are calibrated.
It is a ridge regression on the doubt 1 − max p, for every S and T: nothing is to be gained where a class is certain.
Half a standard error is added: with few training rows gains are uncertain, and what was not measured is not known.

One view alone may bring nothing where two together do. So sets of views are considered: the one of the largest gain per
cost is the plan, and the view of it that brings the most for its cost is measured first. Then the plan is made again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy.linalg import inv
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from fuselearn.fusion.arm_weights import OutOfFoldValues
from fuselearn.fusion.fused_arms import NewRows
from fuselearn.fusion.pattern_calibration import PatternCalibration
from fuselearn.fusion.prediction_sets import PredictingSets
from fuselearn.typing import AnyArray, BoolArray, FloatArray, IntArray, TableLike

LEAST_ROWS = 20
"""Training rows with a set of views from which its gain can be learnt."""
RIDGE = 1e-3
"""Of the regression, in units of the mean square of its features."""
BENEFIT = 0.5
"""Standard errors by which a gain may be larger than estimated."""
MOST_PLANNED = 6
"""Missing views up to which all sets of them are considered; of more, single ones, pairs, and all together."""


class ExpectedGains:
    """Expected gains in the probability of being right, by out-of-fold values of training rows.

    Parameters
    ----------
    values : OutOfFoldValues
    calibration : PatternCalibration
    class_weights : ndarray of shape (n_classes,)
        Weights of the classes in decisions, which the probabilities are multiplied by.
    """

    def __init__(self, values: OutOfFoldValues, calibration: PatternCalibration, class_weights: FloatArray) -> None:
        self._values, self._calibration = values, calibration
        self._log_weights = np.log(class_weights)
        self._learnt: dict[tuple[bytes, bytes], tuple[FloatArray, FloatArray] | None] = {}
        self._predicted: dict[bytes, tuple[IntArray, FloatArray]] = {}

    def probabilities(self, logits: FloatArray) -> FloatArray:
        """Return probabilities of the classes, weighted as in decisions."""
        shares: FloatArray = softmax(logits + self._log_weights, axis=1)
        return shares

    def of_views(self, views: BoolArray, more: BoolArray, probabilities: FloatArray) -> FloatArray | None:
        """Return the gain of measuring more views for rows that have some, and half a standard error of it.

        Parameters
        ----------
        views, more : bool ndarray of shape (n_views,)
            Views that the rows have, and those to be measured besides.
        probabilities : ndarray of shape (n_rows, n_classes)

        Returns
        -------
        ndarray of shape (n_rows,) or None
            None where too few training rows have all these views.
        """
        key = views.tobytes(), more.tobytes()
        if key not in self._learnt:
            self._learnt[key] = self._learn(self._known(views), more)
        learnt = self._learnt[key]
        if learnt is None:
            return None
        features, (coefficients, covariance) = gain_features(probabilities), learnt
        variances = np.einsum("ij,jk,ik->i", features, covariance, features)
        gain: FloatArray = features @ coefficients + BENEFIT * np.sqrt(np.maximum(variances, 0.0))
        return gain

    def _learn(self, views: BoolArray, more: BoolArray) -> tuple[FloatArray, FloatArray] | None:
        """Return the coefficients of a gain, and their covariance (the sandwich, whatever the variances of rows)."""
        values, together = self._values, views | more
        if not values.knows(together):
            return None
        rows, after = self._training(together)
        if len(rows) < LEAST_ROWS:
            return None
        having, before = self._training(views)
        before = before[np.searchsorted(having, rows)]
        gains = after.max(axis=1) - before.max(axis=1)
        features = gain_features(before)
        weighted = features.T * values.weights[rows]
        products = weighted @ features
        penalty = RIDGE * np.trace(products) / len(products) or 1.0
        inverse = inv(products + penalty * np.eye(len(products)))
        coefficients = inverse @ (weighted @ gains)
        influences = inverse @ (weighted * (gains - features @ coefficients))
        return coefficients, influences @ influences.T

    def _training(self, views: BoolArray) -> tuple[IntArray, FloatArray]:
        """Return training rows that have some views, and their probabilities with just these."""
        key = views.tobytes()
        if key not in self._predicted:
            rows = self._values.having(views)
            self._predicted[key] = rows, self.probabilities(self._values.logits(views, rows, self._calibration))
        return self._predicted[key]

    def _known(self, views: BoolArray) -> BoolArray:
        """Return as many of the views as values are known for."""
        while not self._values.knows(views):
            views = views.copy()
            views[np.flatnonzero(views)[-1]] = False
        return views


def gain_features(probabilities: FloatArray) -> FloatArray:
    """Return u, u², √u and u·(1 − margin) with u = 1 − max p: all 0 where a class is certain."""
    ordered = np.sort(probabilities, axis=1)
    doubt = np.maximum(1 - ordered[:, -1:], 0.0)
    margin = ordered[:, -1:] - ordered[:, -2:-1]
    return np.hstack([doubt, doubt**2, np.sqrt(doubt), doubt * (1 - margin)])


def next_views(
    gains: ExpectedGains, views: BoolArray, probabilities: FloatArray, costs: FloatArray, min_gain: float
) -> IntArray:
    """Return the number of the next view of rows that have some views; -1 where none is worth it.

    Parameters
    ----------
    gains : ExpectedGains
    views : bool ndarray of shape (n_views,)
    probabilities : ndarray of shape (n_rows, n_classes)
    costs : ndarray of shape (n_views,)
    min_gain : float
        Least gain of a set of views, for each of them.
    """
    n_rows, missing = len(probabilities), np.flatnonzero(~views)
    chosen, best = np.full(n_rows, -1), np.full(n_rows, -np.inf)
    alone = np.full((len(views), n_rows), -np.inf)
    for plan in plans(missing):
        more = np.zeros(len(views), dtype=bool)
        more[plan] = True
        gain = gains.of_views(views, more, probabilities)
        if gain is None:
            continue
        if len(plan) == 1:
            alone[plan[0]] = gain / costs[plan[0]]
        rate = gain / costs[plan].sum()
        better = (gain >= min_gain * len(plan)) & (rate > best)
        # Of the plan, what brings the most for its cost comes first; single views were looked at before.
        first = np.asarray(plan)[alone[plan].argmax(axis=0)]
        chosen, best = np.where(better, first, chosen), np.where(better, rate, best)
    return chosen


def plans(missing: IntArray) -> Iterator[list[int]]:
    """Return sets of missing views that may be measured, single ones first."""
    sizes: Sequence[int] = range(1, len(missing) + 1)
    if len(missing) > MOST_PLANNED:
        sizes = (1, 2, len(missing))
    for size in sizes:
        for plan in combinations(missing.tolist(), size):
            yield list(plan)


def check_costs(costs: Any, view_names: Sequence[str]) -> FloatArray:
    """Return the cost of each view."""
    if costs is None:
        return np.ones(len(view_names))
    if not isinstance(costs, Mapping):
        raise TypeError(f"costs must be a dict of view to cost, or None; got {type(costs).__name__}.")
    for name, cost in costs.items():
        if name not in view_names:
            raise ValueError(f"costs names the view {name!r}; the model has {list(view_names)}.")
        if isinstance(cost, bool) or not isinstance(cost, int | float | np.number) or not 0 < cost < np.inf:
            raise ValueError(f"costs must be numbers above 0; got {cost!r} for the view {name!r}.")
    return np.array([float(costs.get(name, 1.0)) for name in view_names])


def check_min_gain(name: str, min_gain: Any) -> float:
    """Return a least gain, checked to be a probability."""
    if isinstance(min_gain, bool) or not isinstance(min_gain, int | float | np.number) or not 0 <= min_gain <= 1:
        raise ValueError(f"{name} must be a probability from 0 to 1, such as 0.005; got {min_gain!r}.")
    return float(min_gain)


class AcquiringViews(PredictingSets):
    """A fusion that says which view to measure next; see the module."""

    def next_view(self, X: TableLike, *, costs: Mapping[str, float] | None = None, min_gain: float = 0.005) -> AnyArray:
        """Return the view of each row to measure next, or None where no further view is worth it.

        It is the view of the largest expected gain in the probability that `predict` is right, for its cost. Views are
        also considered together: a view that helps only beside another one is proposed, too.

        Parameters
        ----------
        X : array, data frame, CUDA array, Dask collection or paths of Parquet files
            The rows. Views that were not measured are NaN; a row may have none so far.
        costs : dict of view to cost, default=None
            Costs of the views, above 0, in any unit. Views that it leaves out cost 1. None is 1 for all.
        min_gain : float, default=0.005
            Least expected gain, as a probability, for each view that is measured.

        Returns
        -------
        object ndarray of shape (n_samples,)
            Names of views; None for rows that are complete, or would hardly gain. Of a Dask collection it is a
            collection like it, computed when it is asked for.

        See Also
        --------
        fuselearn.inspection.acquisition_curve : Accuracy against the number, or cost, of views measured.

        Notes
        -----
        Gains are learnt from out-of-fold values of training rows that have the views in question. A view that fewer
        than 20 training rows have beside those of a row is not proposed.

        Examples
        --------
        >>> from fuselearn import FusionClassifier
        >>> from sklearn.datasets import load_wine
        >>> X, y = load_wine(return_X_y=True)
        >>> model = FusionClassifier(views={"first": slice(0, 6), "last": slice(6, 13)}, random_state=0).fit(X, y)
        >>> X[:, :6] = float("nan")
        >>> model.next_view(X[:2], min_gain=0.5).tolist()
        [None, None]
        >>> X[:, 6:] = float("nan")
        >>> model.next_view(X[:2]).tolist()
        ['last', 'last']
        """
        check_is_fitted(self)
        prices = check_costs(costs, self.view_names_)
        check_min_gain("min_gain", min_gain)
        gains = ExpectedGains(self._kept_values(), self._calibration, self.class_weights_)
        names = np.array([*self.view_names_, None], dtype=object)

        def of_rows(rows: NewRows) -> AnyArray:
            probabilities = gains.probabilities(self._logits_of(rows))
            chosen = np.full(len(probabilities), -1)
            distinct, pattern_of = np.unique(rows.present, axis=0, return_inverse=True)
            for place, views in enumerate(distinct):
                some = np.flatnonzero(np.ravel(pattern_of) == place)
                chosen[some] = next_views(gains, views, probabilities[some], prices, float(min_gain))
            return names[chosen]

        return self._of_rows(X, "next_view", of_rows, costs=costs, min_gain=min_gain)
