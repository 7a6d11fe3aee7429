"""Rows of a fusion in blocks, which answer the questions that a fit on many rows asks of them.

All that such a fit learns of its rows are sums over blocks of them: rows in memory, Dask partitions and files run the
same code. What was found out so far changes the state of a block by updates. The first of them are the fitted arms: a
block that gets one keeps the out-of-fold values of its rows, which never leave it. A block that was lost is made again
from its rows and all updates (see `fuselearn.backends.partitioned.partitions`).

Questions and updates are objects that are called with a block. Those about rows as they are stand here; those about the
features of a ridge in `base_models.ridge_features`, and those about the values of arms in `log_loss_weights`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fuselearn.backends.partitioned.partitions import Answer
from fuselearn.backends.partitioned.storage import ArrayStore
from fuselearn.fusion.base_models import FittedModel
from fuselearn.fusion.base_models.cross_fitted import LEAST_BELIEF
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.typing import BoolArray, FloatArray, IntArray

ROWS_AT_A_TIME = 4096
"""Rows of a block that are worked on together, so that what is computed of them stays small, and in the cache."""


@dataclass(frozen=True)
class FusionFrame:
    """What all blocks of a fit have in common.

    Attributes
    ----------
    names : list of str
        Names of the views.
    columns : list of intp ndarray
        Columns of each view.
    n_classes : int
        Number of classes; 1 where numbers are predicted.
    n_rows : int
        Number of the rows that count, in all blocks.
    n_folds : int
        Number of folds.
    n_features : int
        Number of columns of X.
    """

    names: list[str]
    columns: list[IntArray]
    n_classes: int
    n_rows: int
    n_folds: int
    n_features: int

    @property
    def n_views(self) -> int:
        """Number of views."""
        return len(self.columns)

    @property
    def n_targets(self) -> int:
        """Number of values that an arm has for a row: one for two classes or a number, else one for each class."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def used_columns(self) -> IntArray:
        """Columns that are in a view, increasing."""
        return np.unique(np.concatenate(self.columns))


class Question(Protocol):
    """Asks for sums over the rows of a block."""

    def __call__(self, block: FusionBlock) -> Answer:
        """Return arrays that are added to those of the other blocks."""


class Update(Protocol):
    """Changes the state of a block."""

    def apply(self, block: FusionBlock) -> None:
        """Change the state of a block."""


class FusionBlock:
    """Some of the rows of a fit, one after the other; see `fuselearn.backends.partitioned.partitions.AnsweringRows`.

    Parameters
    ----------
    frame : FusionFrame
        What all blocks have in common.
    table : ndarray of shape (n_rows, n_features)
        All columns of X, without gross outliers.
    present : bool ndarray of shape (n_rows, n_views)
        Views that the rows have.
    codes : int32 ndarray of shape (n_rows, n_label_columns)
        Class by each label column; -1 where it has no label. Every row has some label.
    weights : ndarray of shape (n_rows,)
        All above 0, with a mean of 1 over the rows of all blocks.
    fold_of : int8 ndarray of shape (n_rows,)
        Folds; rows that belong together have the same.
    first_row : int
        Number of rows that count before this block.
    store : ArrayStore, default=None
        Keeps the arrays; None keeps them in memory.
    """

    def __init__(
        self,
        frame: FusionFrame,
        table: FloatArray,
        present: BoolArray,
        codes: IntArray,
        weights: FloatArray,
        fold_of: IntArray,
        first_row: int,
        store: ArrayStore | None = None,
    ) -> None:
        self.frame, self.first_row = frame, first_row
        self.n_rows = len(table)
        self.n_updates = 0
        self._store = ArrayStore() if store is None else store
        arrays = {"table": table, "present": present, "codes": codes, "weights": weights, "folds": fold_of}
        for name, array in arrays.items():
            self._store.put(name, array)

    @property
    def table(self) -> FloatArray:
        """All columns of X, of shape (n_rows, n_features)."""
        return self._store.get("table")

    @property
    def present(self) -> BoolArray:
        """Views that the rows have, of shape (n_rows, n_views)."""
        return self._store.get("present")

    @property
    def codes(self) -> IntArray:
        """Class by each label column, of shape (n_rows, n_label_columns); -1 where it has no label."""
        return self._store.get("codes")

    @property
    def weights(self) -> FloatArray:
        """Weights of the rows."""
        return self._store.get("weights")

    @property
    def fold_of(self) -> IntArray:
        """Folds of the rows."""
        return self._store.get("folds")

    def update(self, updates: Sequence[Any], first: int, threads: Threads = SERIAL) -> None:
        """Make those of the updates, the first of them numbered `first`, that were not made yet."""
        with self._store.mapped():
            for update in updates[self.n_updates - first :]:
                update.apply(self)
                self.n_updates += 1

    def answer(self, questions: Sequence[Any], threads: Threads = SERIAL) -> list[Answer]:
        """Return the answer to each question, to be added to those of the other blocks."""
        with self._store.mapped():
            return [question(self) for question in questions]

    def parts(self) -> Iterator[slice]:
        """Return consecutive rows to be worked on together."""
        for start in range(0, self.n_rows, ROWS_AT_A_TIME):
            yield slice(start, min(start + ROWS_AT_A_TIME, self.n_rows))

    def votes(self, rows: slice) -> FloatArray:
        """Return the share of the labels of some rows that name each class, of shape (n_rows, n_classes)."""
        return votes_of(self.codes[rows], self.frame.n_classes)

    def targets(self, rows: slice, *, judged: bool = False) -> FloatArray:
        """Return the class probabilities that weights are fitted to: shares of labels or, judged, their posterior."""
        return self._store.get("posterior")[rows] if judged else self.votes(rows)

    def keep_values(self, arm: int, values: FloatArray) -> None:
        """Keep the out-of-fold values of an arm, of shape (n_rows, n_targets); 0 where it has none."""
        self._store.put(f"arm{arm}", values)

    def values(self, arm: int) -> FloatArray:
        """Return the out-of-fold values of an arm, of shape (n_rows, n_targets)."""
        return self._store.get(f"arm{arm}")

    def keep_posterior(self, posterior: FloatArray) -> None:
        """Keep p(true class | values, labels), of shape (n_rows, n_classes)."""
        self._store.put("posterior", posterior)

    @property
    def posterior(self) -> FloatArray:
        """The probabilities p(true class | values, labels), of shape (n_rows, n_classes)."""
        return self._store.get("posterior")


@dataclass(frozen=True)
class FittedArm:
    """A view, or all of them, together with a learner that was fitted without each of the folds.

    Attributes
    ----------
    view : int or None
        Number of the view; None for all views.
    view_name, learner : str
        Their names.
    columns : intp ndarray
        Columns of X that the models read.
    fold_models : list of FittedModel or None
        The model that was fitted without each fold; None for a fold that it was not fitted for.
    models : list of FittedModel
        Models for new rows, whose mean counts: those of the folds, or one of all rows.
    offset : ndarray of shape (n_targets,)
        What a model says of a row of which nothing is known; it is taken off, so that an absent arm counts as 0.
    n_learnt : int
        Number of rows that it learnt from.
    complete_only : bool
        Whether an arm of all views has a value for rows with all views only, instead of any row.
    """

    view: int | None
    view_name: str
    learner: str
    columns: IntArray
    fold_models: list[FittedModel | None]
    models: list[FittedModel]
    offset: FloatArray
    n_learnt: int
    complete_only: bool = False

    def having(self, present: BoolArray) -> BoolArray:
        """Return the rows that the arm has a value for."""
        return having_of(self.view, self.complete_only, present)


def having_of(view: int | None, complete_only: bool, present: BoolArray) -> BoolArray:
    """Return the rows that an arm of a view, or of all of them, has a value for; none has one for a row without any."""
    if view is not None:
        return present[:, view]
    having: BoolArray = np.asarray(present.all(axis=1) if complete_only else present.any(axis=1))
    return having


@dataclass(frozen=True)
class ArmValues:
    """Has the out-of-fold values of an arm computed and kept; an earlier arm of that number is replaced."""

    number: int
    arm: FittedArm

    def apply(self, block: FusionBlock) -> None:
        """Predict the rows of each fold by the model that was fitted without it."""
        values = np.zeros((block.n_rows, block.frame.n_targets))
        table, folds, having = block.table, block.fold_of, self.arm.having(block.present)
        for fold, model in enumerate(self.arm.fold_models):
            rows = np.flatnonzero(having & (folds == fold))
            for start in range(0, len(rows) if model is not None else 0, ROWS_AT_A_TIME):
                some = rows[start : start + ROWS_AT_A_TIME]
                assert model is not None
                values[some] = model.predict(rows_of(table, some, self.arm.columns)) - self.arm.offset
        block.keep_values(self.number, values)


def votes_of(codes: IntArray, n_classes: int) -> FloatArray:
    """Return the share of each row's labels that name each class, of shape (n_rows, n_classes)."""
    shares = np.zeros((len(codes), n_classes))
    numbers = np.arange(len(codes))
    for column in codes.T:
        given = column >= 0
        shares[numbers[given], column[given]] += 1
    return shares / shares.sum(axis=1, keepdims=True)


def learnt_labels(codes: IntArray, weights: FloatArray, n_classes: int) -> tuple[IntArray, FloatArray]:
    """Return the one class of each row that classifiers learn, and its weight: less where labels disagree."""
    if codes.shape[1] == 1:
        return codes[:, 0], weights
    shares = votes_of(codes, n_classes)
    ordered = np.sort(shares, axis=1)
    agreement = np.maximum(ordered[:, -1] - ordered[:, -2], LEAST_BELIEF)
    return shares.argmax(axis=1).astype(np.int32), weights * agreement


def rows_of(table: FloatArray, rows: IntArray | slice, columns: IntArray) -> FloatArray:
    """Return some rows and columns of a table as a C-contiguous float64 array."""
    taken = table[rows]
    if len(columns) != taken.shape[1] or not np.array_equal(columns, np.arange(len(columns))):
        taken = taken[:, columns]
    return np.ascontiguousarray(taken, dtype=np.float64)


@dataclass(frozen=True)
class Overview:
    """Asks for the weight of each class by label shares, the rows of each view, and the rows of patterns of views.

    A pattern is a number whose bit v says whether view v is present.
    """

    patterns: tuple[int, ...]

    def __call__(self, block: FusionBlock) -> Answer:
        """Return weights of shape (n_classes,), rows with each view, and rows of each pattern, and of all others."""
        numbers = pattern_numbers(block.present, self.patterns)
        weights = np.zeros(block.frame.n_classes)
        for part in block.parts():
            weights += block.weights[part] @ block.votes(part)
        rows_of_views = block.present.sum(axis=0, dtype=np.int64)
        return weights, rows_of_views, np.bincount(numbers, minlength=len(self.patterns) + 1)


def pattern_numbers(present: BoolArray, patterns: Sequence[int]) -> IntArray:
    """Return the place of each row's pattern of views among some patterns, or their number for any other one."""
    packed = pattern_bits(present)
    places = np.full(len(present), len(patterns))
    for place, pattern in enumerate(patterns):
        places[packed == pattern] = place
    return places


def pattern_bits(present: BoolArray) -> IntArray:
    """Return patterns of at most 62 views as numbers; views beyond these are not told apart."""
    n_views = min(present.shape[1], 62)
    return present[:, :n_views] @ (1 << np.arange(n_views, dtype=np.int64))


@dataclass(frozen=True)
class TakeRows:
    """Asks for rows by their numbers: table, codes, weights and folds, and values of arms.

    The answers are whole numbers, the bits of floats: they are added up exactly, whoever has which rows.

    Attributes
    ----------
    numbers : intp ndarray
        Numbers among the rows that count, increasing.
    with_table : bool
        Whether the columns that are in a view are wanted.
    arms : tuple of int
        Arms whose values are wanted.
    """

    numbers: IntArray
    with_table: bool = True
    arms: tuple[int, ...] = ()

    def __call__(self, block: FusionBlock) -> Answer:
        """Return table, values (n_arms, n_rows, n_targets), weights as bits; codes + 1, presence, folds as numbers."""
        start, stop = np.searchsorted(self.numbers, [block.first_row, block.first_row + block.n_rows])
        places, rows = slice(start, stop), self.numbers[start:stop] - block.first_row
        frame, n_taken = block.frame, len(self.numbers)
        columns = frame.used_columns if self.with_table else np.empty(0, dtype=np.intp)
        table = np.zeros((n_taken, len(columns)))
        values = np.zeros((len(self.arms), n_taken, frame.n_targets))
        weights = np.zeros(n_taken)
        codes = np.zeros((n_taken, block.codes.shape[1]), dtype=np.int64)
        present = np.zeros((n_taken, frame.n_views), dtype=np.int64)
        folds = np.zeros(n_taken, dtype=np.int64)
        if len(rows):
            table[places] = rows_of(block.table, rows, columns) if len(columns) else 0.0
            weights[places] = block.weights[rows]
            codes[places] = block.codes[rows] + 1
            present[places] = block.present[rows]
            folds[places] = block.fold_of[rows]
            for place, arm in enumerate(self.arms):
                values[place, places] = block.values(arm)[rows]
        return _bits(table), _bits(values), _bits(weights), codes, present, folds


@dataclass(frozen=True)
class TakenRows:
    """Rows that were taken out of all blocks; `table` has the columns that are in a view only."""

    table: FloatArray
    values: FloatArray
    weights: FloatArray
    codes: IntArray
    present: BoolArray
    folds: IntArray

    @classmethod
    def of(cls, answer: Answer) -> TakenRows:
        """Return the rows from the sums over the answers of all blocks."""
        table, values, weights, codes, present, folds = answer
        return cls(
            _floats(table),
            _floats(values),
            _floats(weights),
            (codes - 1).astype(np.int32),
            present.astype(bool),
            folds.astype(np.int8),
        )


def draw_rows(n_rows: int, most: int, seed: int) -> IntArray:
    """Return the numbers of all rows or, of more than `most`, of that many drawn without replacement; increasing."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).choice(n_rows, most, replace=False, shuffle=False))


def _bits(array: FloatArray) -> IntArray:
    """Return the bits of floats as whole numbers; those of 0 are 0."""
    return np.ascontiguousarray(array, dtype=np.float64).view(np.int64)


def _floats(bits: IntArray) -> FloatArray:
    """Return the floats that bits stand for."""
    return np.ascontiguousarray(bits).view(np.float64)
