"""Tests of whether a target depends on a column beyond all others, with any model that predicts it.

See `conditional_columns` for what a column is given the others. There are two tests:

1. Trends. Out-of-fold predictions in which the column is replaced by what the others let expect of it leave errors. If
   the target does not depend on the column given the others, these are uncorrelated with what the others leave of it
   (the generalised covariance measure of Shah and Peters, 2020). So the better the model predicts, the more is found,
   and where it predicts badly, less is found but nothing wrong.
2. Gains. In subsamples, held-out rows are predicted with the column as it is and as it could be, drawn given the
   others. If predictions are right no more often with the true values, the column does not matter to the model (the
   holdout randomisation test of Tansey et al., 2022). This finds what has no trend, such as columns that count together
   only, but needs a stronger dependence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.base import is_classifier
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils.validation import has_fit_parameter

from fuselearn.classifiers.adapter import seeded_clone
from fuselearn.classifiers.calibration import fit_calibration
from fuselearn.classifiers.cross_fitting import shuffled_folds
from fuselearn.inspection.conditional_columns import ConditionalColumns, dependence_chance, gain_chance
from fuselearn.typing import AnyArray, FloatArray, IntArray

FOLDS, REPETITIONS = 5, 2
"""Folds that predictions are out of, and how often rows are dealt to them."""
MOST_TESTED, MOST_REDRAWN = 5000, 500
"""Rows of all, and held-out ones of each subsample, that are predicted anew for each column."""
DRAWS = 4
"""Draws of each column there."""
MOST_CELLS = 2**22
"""Numbers in a table that is predicted at once."""


class LabelledRows(NamedTuple):
    """Rows with their target and groups, and a model to fit on some of them."""

    model: Any
    table: FloatArray
    target: AnyArray
    units: IntArray
    seed: int
    grouped: bool

    def halves(self, count: int) -> list[tuple[IntArray, IntArray]]:
        """Return subsamples of half of the rows, by class or by group, and those outside of them, in a drawn order."""
        settings = {"n_splits": count, "train_size": 0.5, "random_state": self.seed}
        if self.grouped:
            generator = np.random.default_rng([self.seed, 4])
            halves = GroupShuffleSplit(**settings).split(self.table, self.target, self.units)
            return [(rows, generator.permutation(others)) for rows, others in halves]
        if is_classifier(self.model):
            return list(StratifiedShuffleSplit(**settings).split(self.table, self.target))
        return list(ShuffleSplit(**settings).split(self.table))

    def folds(self) -> list[tuple[IntArray, IntArray]]:
        """Return the rows of each fold of each repetition: those to fit on, and those held out."""
        codes = self.codes() if is_classifier(self.model) else np.zeros(len(self.table), dtype=np.intp)
        groups = self.units if self.grouped else None
        n_folds = min(FOLDS, int(self.units.max()) + 1)
        return [
            pair for turn in range(REPETITIONS) for pair in shuffled_folds(n_folds, codes, groups, self.seed + turn)
        ]

    def codes(self) -> IntArray:
        """Return the number of the class of each row."""
        codes: IntArray = np.unique(self.target, return_inverse=True)[1]
        return codes

    def targets(self) -> FloatArray:
        """Return the target as a column, or a column for each class."""
        if not is_classifier(self.model):
            return np.asarray(self.target, dtype=np.float64)[:, None]
        codes = self.codes()
        return np.eye(int(codes.max()) + 1)[codes]

    def fit(self, number: int, rows: IntArray) -> Any:
        """Return a clone of the model fitted on some rows."""
        clone = seeded_clone(self.model, (self.seed, number), only_unset=False)
        # Half of two or three groups may be one, of which nothing can be held out.
        grouped = self.grouped and has_fit_parameter(clone, "groups") and np.ptp(self.units[rows]) > 0
        groups = {"groups": self.units[rows]} if grouped else {}
        return clone.fit(self.table[rows], self.target[rows], **groups)

    def decisions(self, fitted: Any, rows: FloatArray) -> FloatArray:
        """Return decisions of shape (n_rows, n_classes), or predicted numbers of shape (n_rows, 1)."""
        if not is_classifier(fitted):
            return np.asarray(fitted.predict(rows), dtype=np.float64)[:, None]
        values = fitted.decision_function(rows)
        values = np.column_stack([-values / 2, values / 2]) if values.ndim == 1 else values
        classes = np.unique(self.target)
        if len(classes) == values.shape[1]:
            return np.asarray(values)
        # Classes that no row of a fold has are less likely than all others.
        decisions = np.repeat(values.min(axis=1, keepdims=True), len(classes), axis=1)
        decisions[:, np.searchsorted(classes, fitted.classes_)] = values
        return decisions

    def replaced_decisions(self, fitted: Any, rows: IntArray, columns: IntArray, values: FloatArray) -> FloatArray:
        """Return decisions on some rows with one column replaced, of shape (n_columns, n_rows, n_classes).

        `values` has the shape (n_columns, n_rows).
        """
        tables = np.repeat(self.table[rows][None], len(columns), axis=0)
        tables[np.arange(len(columns)), :, columns] = values
        decisions = self.decisions(fitted, tables.reshape(-1, self.table.shape[1]))
        return decisions.reshape(len(columns), len(rows), -1)


def _expectations(decisions: FloatArray, targets: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return what tells the expected target of decisions, calibrated on those of rows that were held out."""
    if targets.shape[1] > 1:
        calibration = fit_calibration(decisions, targets, np.ones(len(targets)))
        return lambda values: softmax(
            calibration.slope * (values + calibration.shifts) + calibration.log_shares, axis=-1
        )
    centre, mean = decisions.mean(), targets.mean()
    variance = float(np.mean((decisions - centre) ** 2))
    slope = float(np.mean((decisions - centre) * (targets - mean))) / variance if variance > 0 else 0.0
    return lambda values: mean + slope * (values - centre)


class TrendTest:
    """Test of whether errors go with what the others leave of a column; see the module.

    Parameters
    ----------
    data : LabelledRows
    conditional : ConditionalColumns
        Of the columns that are used.
    used : intp ndarray
        Numbers of these columns.
    models : list of estimators
        Fitted without each fold of each repetition.
    folds : list of (intp ndarray, intp ndarray)
        Their rows, and those held out.

    Attributes
    ----------
    n_cells : int
        Numbers in the largest table that is predicted for one column.
    """

    def __init__(
        self,
        data: LabelledRows,
        conditional: ConditionalColumns,
        used: IntArray,
        models: list[Any],
        folds: list[tuple[IntArray, IntArray]],
    ) -> None:
        self._data, self._conditional, self._used = data, conditional, used
        self._targets, n_rows = data.targets(), len(data.table)
        tested = np.sort(np.random.default_rng([data.seed, 2]).permutation(n_rows)[:MOST_TESTED])
        self._tested = tested
        self._parts: list[tuple[Any, IntArray, Callable[[FloatArray], FloatArray]]] = []
        n_folds = len(folds) // REPETITIONS
        for start in range(0, len(folds), n_folds):
            decisions = np.zeros(self._targets.shape)
            turn = list(zip(models, folds))[start : start + n_folds]
            for model, (_, held_out) in turn:
                decisions[held_out] = data.decisions(model, data.table[held_out])
            expected = _expectations(decisions, self._targets)
            self._parts += [(model, np.intersect1d(held_out, tested), expected) for model, (_, held_out) in turn]
        self.n_cells = max(len(rows) for _, rows, _ in self._parts) * data.table.shape[1]

    def chances(self, places: IntArray) -> FloatArray:
        """Return the p-values of some columns, by their places among those that are used."""
        data, conditional = self._data, self._conditional
        errors = np.repeat(self._targets[None], len(places), axis=0)
        for model, rows, expected in self._parts:
            if len(rows):
                means = np.array([conditional.means(rows, place) for place in places.tolist()])
                decisions = data.replaced_decisions(model, rows, self._used[places], means)
                errors[:, rows] -= expected(decisions) / REPETITIONS
        chances = np.ones(len(places))
        for number, place in enumerate(places.tolist()):
            rows = self._tested[conditional.known[self._tested, place]]
            remainders = conditional.remainders[rows, place]
            chances[number] = dependence_chance(remainders, errors[number, rows], data.units[rows])
        return chances


def gain_chances(
    data: LabelledRows,
    conditional: ConditionalColumns,
    used: IntArray,
    model: Any,
    held_out: IntArray,
    number: int,
) -> FloatArray:
    """Return the p-value of each column by gains in one subsample."""
    rows = held_out[:MOST_REDRAWN]
    targets, generator = data.targets()[rows], np.random.default_rng([data.seed, 3, number])
    before = data.decisions(model, data.table[rows])
    expected = _expectations(before, targets)
    chances = np.ones(len(used))
    for places in batches(len(used), len(rows) * data.table.shape[1]):
        without: FloatArray = np.zeros((len(places), *before.shape))
        for _ in range(DRAWS):
            draws = np.array([conditional.draws(rows, place, generator) for place in places.tolist()])
            without += data.replaced_decisions(model, rows, used[places], draws) / DRAWS
        gains = ((before - without) * (targets - expected(without))).sum(axis=2)
        for place, of_column in zip(places.tolist(), gains):
            known = conditional.known[rows, place]
            chances[place] = gain_chance(of_column[known], data.units[rows][known])
    return chances


def changes_by_shuffling(data: LabelledRows, model: Any, rows: IntArray, number: int) -> FloatArray:
    """Return by how much decisions change, in root mean square, when each column is shuffled between some rows."""
    generator, n_columns = np.random.default_rng([data.seed, 1, number]), data.table.shape[1]
    before, changes = data.decisions(model, data.table[rows]), np.zeros(n_columns)
    for columns in batches(n_columns, len(rows) * n_columns):
        shuffled = data.table[np.ix_(rows, columns)].T
        for cells in shuffled:
            known = np.flatnonzero(~np.isnan(cells))
            cells[known] = cells[generator.permutation(known)]
        after = data.replaced_decisions(model, rows, columns, shuffled)
        changes[columns] = np.sqrt(np.mean((after - before) ** 2, axis=(1, 2)))
    return changes


def batches(n_columns: int, n_cells: int) -> list[IntArray]:
    """Return the numbers of columns in parts, so that tables of `n_cells` numbers for each are not too large."""
    return np.array_split(np.arange(n_columns), -(-n_columns * n_cells // MOST_CELLS))
