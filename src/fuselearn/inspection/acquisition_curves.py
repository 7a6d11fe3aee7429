"""Accuracy against the number, or the cost, of the views that are measured, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuselearn.arguments import check_random_state
from fuselearn.fusion.view_acquisition import check_costs, check_min_gain
from fuselearn.inspection.fitted_model import (
    FittedModel,
    check_has,
    fitted_views,
    read_labels,
    read_rows,
    without_feature_names,
)
from fuselearn.typing import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray, RandomState, TableLike

MIN_GAINS = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)


@dataclass(frozen=True)
class AcquisitionCurve:
    """Accuracy against views measured, for views chosen row by row and for the same views in every row.

    Its parameters are its attributes.

    Parameters
    ----------
    view_names : list of str
        Names of the views.
    min_gains : ndarray of shape (n_gains,)
        Least gains at which rows were measured, the largest first.
    n_views, costs, accuracies : ndarray of shape (n_gains,)
        Mean number of views that were measured, their mean cost, and the accuracy with them.
    order : list of str
        Views in the order of their importance.
    by_importance, importance_costs : ndarray of shape (n_views + 1,)
        Accuracy where every row has the first 0, 1, … views in this order, and the mean cost of these views.
    at_random, random_costs : ndarray of shape (n_views + 1,)
        The same with a random order for each row.
    """

    view_names: list[str]
    min_gains: FloatArray
    n_views: FloatArray
    costs: FloatArray
    accuracies: FloatArray
    order: list[str]
    by_importance: FloatArray
    importance_costs: FloatArray
    at_random: FloatArray
    random_costs: FloatArray

    def records(self) -> list[dict[str, Any]]:
        """Return one dict per point of the three curves.

        Returns
        -------
        list of dict
            ``"order"`` (``"next_view"``, ``"importance"`` or ``"random"``), ``"min_gain"`` (None for the last two),
            ``"n_views"``, ``"cost"`` and ``"accuracy"``.
        """
        chosen = zip(self.min_gains.tolist(), self.n_views.tolist(), self.costs.tolist(), self.accuracies.tolist())
        keys = ("order", "min_gain", "n_views", "cost", "accuracy")
        found = [dict(zip(keys, ("next_view", *point))) for point in chosen]
        fixed = (
            ("importance", self.importance_costs, self.by_importance),
            ("random", self.random_costs, self.at_random),
        )
        for order, costs, accuracies in fixed:
            points = enumerate(zip(costs.tolist(), accuracies.tolist()))
            found += [dict(zip(keys, (order, None, float(number), *point))) for number, point in points]
        return found


def acquisition_curve(
    model: FittedModel,
    X: TableLike,
    y: ArrayLike,
    *,
    costs: Mapping[str, float] | None = None,
    min_gains: Sequence[float] = MIN_GAINS,
    start: Sequence[str] = (),
    random_state: RandomState = None,
) -> AcquisitionCurve:
    """Measure views row by row as `next_view` says, and see how accurate the model is with them.

    Every row begins with the views of `start`, or with none. The model names the next view, which is then read from
    `X`, until it names none. A view that a row lacks in `X` cannot be measured: the row stays as it is.

    Parameters
    ----------
    model : fitted FusionClassifier
        The estimator itself, not a pipeline or search around it.
    X : array or data frame of shape (n_samples, n_features)
        Held-out rows, with all views that could be measured.
    y : array of shape (n_samples,)
        Their classes.
    costs : dict of view to cost, default=None
        As for `next_view`.
    min_gains : sequence of float, default=(0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
        Least gains, a point of the curve for each.
    start : sequence of str, default=()
        Views that every row has from the start, and which cost nothing.
    random_state : int, RandomState or None, default=None
        Seed of the random orders.

    Returns
    -------
    AcquisitionCurve
        Accuracy against number and cost, beside those of a fixed order by importance and of random orders.

    Examples
    --------
    >>> from fuselearn import FusionClassifier
    >>> from fuselearn.inspection import acquisition_curve
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = FusionClassifier(views={"first": slice(0, 6), "last": slice(6, 13)}, random_state=0)
    >>> curve = acquisition_curve(model.fit(X[::2], y[::2]), X[1::2], y[1::2], min_gains=[0.01], random_state=0)
    >>> bool(curve.n_views[0] < 2)
    True
    """
    check_has(model, "next_view", "acquisition_curve needs a fitted FusionClassifier.")
    names, columns = fitted_views(model)
    prices = check_costs(costs, names)
    gains = np.array(sorted(_checked_gains(min_gains), reverse=True))
    start = _checked_start(start, names)
    table = read_rows(model, X)
    y = read_labels(model, y, len(table))
    rows = _Rows(without_feature_names(model), table, y, columns, np.isin(names, start))
    points = np.array([rows.acquired(names, costs, gain, prices) for gain in gains]).reshape(-1, 3)
    importance = np.argsort(-np.asarray(model.view_importances_), kind="stable")
    generator = check_random_state(random_state)
    orders = np.array([generator.permutation(len(names)) for _ in range(len(table))])
    by_importance = rows.in_order(np.repeat(importance[None], len(table), axis=0), prices)
    at_random = rows.in_order(orders, prices)
    order = [names[view] for view in importance]
    n_views, spent, accuracies = points.T
    return AcquisitionCurve(names, gains, n_views, spent, accuracies, order, *by_importance, *at_random)


def _checked_gains(min_gains: Any) -> list[float]:
    """Return the least gains."""
    if isinstance(min_gains, str) or not isinstance(min_gains, Iterable):
        raise TypeError(f"min_gains must be a list of probabilities, such as [0.01, 0.005]; got {min_gains!r}.")
    return [check_min_gain("each of min_gains", gain) for gain in min_gains]


def _checked_start(start: Any, names: list[str]) -> list[str]:
    """Return the views that rows have from the start."""
    if isinstance(start, str) or not isinstance(start, Iterable):
        raise TypeError(f"start must be a list of views, such as [{names[0]!r}]; got {start!r}.")
    start = list(start)
    for name in start:
        if name not in names:
            raise ValueError(f"start names the view {name!r}; the model has {names}.")
    return start


class _Rows:
    """Rows of which some views were measured."""

    def __init__(
        self, model: FittedModel, table: FloatArray, y: AnyArray, columns: list[IntArray], start: BoolArray
    ) -> None:
        self._model, self._table, self._y, self._columns = model, table, y, columns
        self._start = np.repeat(start[None], len(table), axis=0)
        self._there = np.array([~np.isnan(table[:, view]).all(axis=1) for view in columns]).T

    def acquired(
        self, names: list[str], costs: Mapping[str, float] | None, min_gain: float, prices: FloatArray
    ) -> tuple[float, float, float]:
        """Return mean number and cost of the views that are measured, and the accuracy with them."""
        measured, active = self._start.copy(), np.arange(len(self._table))
        while len(active):
            chosen = self._model.next_view(self._masked(active, measured[active]), costs=costs, min_gain=min_gain)
            numbers = np.array([-1 if name is None else names.index(name) for name in chosen])
            going = (numbers >= 0) & self._there[active, numbers]
            active, numbers = active[going], numbers[going]
            measured[active, numbers] = True
        bought = measured & ~self._start
        return float(bought.sum(axis=1).mean()), float((bought @ prices).mean()), self._accuracy(measured)

    def in_order(self, orders: IntArray, prices: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return accuracies and mean costs where each row has the first 0, 1, … views of its order."""
        accuracies, costs = [], []
        for n_views in range(orders.shape[1] + 1):
            measured = self._start.copy()
            np.put_along_axis(measured, orders[:, :n_views], True, axis=1)
            accuracies.append(self._accuracy(measured))
            costs.append(float(((measured & ~self._start) @ prices).mean()))
        return np.array(accuracies), np.array(costs)

    def _accuracy(self, measured: BoolArray) -> float:
        """Return the accuracy of rows with just the views that were measured."""
        predicted = self._model.predict(self._masked(np.arange(len(self._table)), measured))
        return float(np.mean(predicted == self._y))

    def _masked(self, rows: IntArray, measured: BoolArray) -> FloatArray:
        """Return rows with just the views that were measured; a column of several views stays for any of them."""
        kept = np.zeros((len(rows), self._table.shape[1]), dtype=bool)
        for view, has_view in zip(self._columns, measured.T):
            kept[np.ix_(has_view, view)] = True
        return np.where(kept, self._table[rows], np.nan)
