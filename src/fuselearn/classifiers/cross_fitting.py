"""Cross-fitting: outputs of models for rows that the models were not fitted on.

There are the folds for it, and the shares of several fits in an average, by their out-of-fold losses.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from fuselearn.classifiers.adapter import array_for, seeded_clone
from fuselearn.classifiers.view_model import Output, ViewModel, fit_view_model, model_output
from fuselearn.data import TrainingData
from fuselearn.typing import AnyArray, ArrayLike, BoolArray, Classifier, FloatArray, IntArray

DEFAULT_FOLDS = 5
NO_FOLD = -1
"""Fold of a row whose group is not in the subsample."""

Fold: TypeAlias = tuple[IntArray, IntArray]
"""Numbers of the training rows, and of the rows that are held out."""
Report: TypeAlias = Callable[[int, int, str], None]
"""Is told of a step: how many are done, of how many, and a description."""


@dataclass(frozen=True)
class CrossFitting:
    """The views of some rows, for models that are fitted on a part of the rows and applied to the others.

    Attributes
    ----------
    names : list of str
        How messages call the models, such as ``the view 'rna'``.
    estimators : list of classifier
        One per view; clones are fitted.
    tables : list of ndarray of shape (n_rows_v, n_columns_v)
        The rows that have each view.
    present : bool ndarray of shape (n_rows, n_views)
        True where a row has a view.
    classes : ndarray of shape (n_classes,)
        Labels of all classes.
    weights : ndarray of shape (n_rows,) or None
        Weights of the rows.
    encoded : bool
        Whether classifiers are given the classes as 0, 1, … instead of their labels; see `fit_view_model`.
    n_jobs : int or None
        Number of threads, over views and folds.
    """

    names: list[str]
    estimators: Sequence[Classifier]
    tables: list[FloatArray]
    present: BoolArray
    classes: AnyArray
    weights: FloatArray | None = None
    encoded: bool = False
    n_jobs: int | None = None

    @classmethod
    def of(
        cls, data: TrainingData, estimators: Sequence[Classifier], *, encoded: bool = False, n_jobs: int | None = None
    ) -> "CrossFitting":
        """Return the views of training data, refused where they have gaps that their classifier does not take."""
        return cls(
            [f"the view {name!r}" for name in data.names],
            estimators,
            [array_for(view, estimator) for view, estimator in zip(data.blocks, estimators)],
            data.blocks.present,
            data.classes,
            data.weights if data.weighted else None,
            encoded,
            n_jobs,
        )

    def run(
        self,
        codes: IntArray,
        folds: Sequence[Sequence[Fold]],
        output: Output,
        width: int,
        seed_of: Callable[[int, int], tuple[int, ...]],
        report: Report | None = None,
    ) -> tuple[list[list[ViewModel | None]], list[FloatArray]]:
        """Fit a model of each view and fold, and apply it to the rows that the fold holds out.

        Parameters
        ----------
        codes : int ndarray of shape (n_rows, n_views)
            Class that each view learns for each row; -1 for a row that it does not learn from.
        folds : list of list of (training rows, held-out rows)
            Folds of each view. A fold may hold out no row, where only its model is wanted.
        output : callable
            Takes a model and rows, and returns an array of shape (n_rows, width).
        width : int
            Number of columns of an output.
        seed_of : callable
            Takes the numbers of a view and of its fold, and returns the seed of the model.
        report : callable, default=None
            Is told of each fit that is done: how many there are, of how many, and which one it was.

        Returns
        -------
        models : list of list of ViewModel
            Of each view and fold; None where no training row has the view.
        outputs : list of ndarray of shape (n_rows, width)
            Of each view; NaN where the view is absent, the model abstains or no fold holds out the row.
        """
        tasks = [(view, number) for view, view_folds in enumerate(folds) for number in range(len(view_folds))]
        # All folds of all views in one go, so that threads are busy to the end.
        results = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(
            delayed(self._fit_fold)(view, codes[:, view], folds[view][number], seed_of(view, number), output)
            for view, number in tasks
        )
        models: list[list[ViewModel | None]] = [[] for _ in self.tables]
        outputs = [np.full((len(codes), width), np.nan) for _ in self.tables]
        for done, ((view, number), (model, rows, values)) in enumerate(zip(tasks, results), start=1):
            models[view].append(model)
            outputs[view][rows] = values
            if report is not None:
                part = f"fold {number + 1} of {len(folds[view])}" if len(folds[view]) > 1 else "all rows"
                report(done, len(tasks), f"{self.names[view]}: {part}")
        return models, outputs

    def _fit_fold(
        self, view: int, codes: IntArray, fold: Fold, seed: tuple[int, ...], output: Output
    ) -> tuple[ViewModel | None, IntArray, FloatArray | float]:
        """Return the model of a view and fold, the held-out rows that have the view, and the outputs for them."""
        present = self.present[:, view]
        train, test = fold
        train, test = train[present[train] & (codes[train] >= 0)], test[present[test]]
        if len(train) == 0:
            return None, test, np.nan
        position = np.cumsum(present) - 1
        table = self.tables[view]
        model = fit_view_model(
            self.names[view],
            seeded_clone(self.estimators[view], seed),
            table[position[train]],
            codes[train],
            self.classes,
            None if self.weights is None else self.weights[train],
            encoded=self.encoded,
        )
        return model, test, model_output(model, table[position[test]], output)


def check_cv(cv: Any) -> None:
    """Refuse what scikit-learn would not take as `cv`, before any row is read."""
    is_count = isinstance(cv, Integral) and not isinstance(cv, bool) and int(cv) >= 2
    has_folds = (hasattr(cv, "split") or hasattr(cv, "__iter__")) and not isinstance(cv, str)
    if not (cv is None or is_count or has_folds):
        raise ValueError(
            f"cv must be an integer of at least 2, None for {DEFAULT_FOLDS}, a splitter such as StratifiedKFold(5), or "
            f"an iterable of (training rows, held-out rows); got {cv!r}."
        )


def read_cv(cv: Any, data: TrainingData, codes: IntArray) -> int | list[Fold]:
    """Return a number of folds, or the folds of a splitter or an iterable, checked; `codes` are what it stratifies by.

    Rows that a splitter sees are those of the training data; an iterable has numbers of rows of `X`.
    """
    if cv is None or isinstance(cv, Integral):
        return DEFAULT_FOLDS if cv is None else int(cv)
    if not hasattr(cv, "split"):
        folds = _folds_of_used_rows(_as_pairs(list(cv), data.n_rows_given), data)
    else:
        options = {} if data.groups is None else {"groups": data.groups}
        with warnings.catch_warnings():
            # A splitter that ignores the groups is found below, by its folds.
            warnings.filterwarnings("ignore", "The groups parameter is ignored", UserWarning)
            splits = list(cv.split(np.zeros((len(data), 1)), data.classes[codes], **options))
        folds = _as_pairs(splits, len(data))
    _check_folds(folds, data, cv)
    return folds


def shuffled_folds(n_folds: int, codes: IntArray, groups: IntArray | None, seed: int) -> list[Fold]:
    """Return folds in which classes have their shares, and whole groups are held out."""
    counts = np.bincount(codes)
    if groups is None and counts[counts > 0].min() >= n_folds:
        from sklearn.model_selection import StratifiedKFold

        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
        return list(splitter.split(np.zeros((len(codes), 1)), codes))
    return as_folds(stratified_folds(codes, n_folds, np.random.default_rng(seed), groups), n_folds)


def as_folds(fold_of: IntArray, n_folds: int) -> list[Fold]:
    """Return (training rows, held-out rows) of each fold, given the fold of each row."""
    return [(np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)) for fold in range(n_folds)]


def stratified_folds(
    codes: IntArray, n_folds: int, generator: np.random.Generator, groups: IntArray | None = None
) -> IntArray:
    """Return the fold of each row. Every class is dealt out in turn, so that its shares differ by one row at most.

    A class with fewer rows than folds is dealt out as well, which scikit-learn's splitter warns of.

    Parameters
    ----------
    codes : int ndarray of shape (n_rows,)
        Class codes; -1, for rows without a label, is dealt out like a class.
    n_folds : int
        Number of folds.
    generator : numpy.random.Generator
        Shuffles the rows, or the groups.
    groups : intp ndarray of shape (n_rows,), default=None
        Rows of the same number, from 0, stay in one fold. Classes then have their shares as far as that allows.

    Returns
    -------
    intp ndarray of shape (n_rows,)
        Number of the fold that holds out each row.
    """
    if groups is not None:
        return _folds_of_groups(codes, n_folds, generator, groups)[groups]
    fold_of = np.empty(len(codes), dtype=np.intp)
    n_dealt = 0
    for code in np.unique(codes):
        rows = generator.permutation(np.flatnonzero(codes == code))
        fold_of[rows] = (n_dealt + np.arange(len(rows))) % n_folds
        n_dealt += len(rows)  # the next class goes on where this one ended, so that folds are of equal size
    return fold_of


def deal_folds(n_rows: int, groups: IntArray | None = None, n_folds: int = DEFAULT_FOLDS) -> tuple[IntArray, IntArray]:
    """Deal rows, or whole groups of them, to folds; return the unit (group, or row) and the fold of each row."""
    unit_of = np.arange(n_rows) if groups is None else groups
    n_units = unit_of.max() + 1
    # The same rows in the same folds for whatever values: losses can be compared.
    return unit_of, (np.random.default_rng(n_units).permutation(n_units) % n_folds)[unit_of]


def folds_of_others(groups: IntArray, subsample: BoolArray, fold_of: IntArray) -> IntArray:
    """Return the fold of each row outside a subsample: that of its group, or `NO_FOLD` for a group outside it.

    Examples
    --------
    >>> groups, subsample = np.array([0, 0, 1, 1, 2]), np.array([True, False, True, False, False])
    >>> folds_of_others(groups, subsample, np.array([3, 4]))
    array([ 3,  4, -1])
    """
    fold_of_group = np.full(groups.max() + 1, NO_FOLD)
    fold_of_group[groups[subsample]] = fold_of
    return fold_of_group[groups[~subsample]]


def target_codes(targets: FloatArray) -> IntArray:
    """Return the class that the targets of each row are highest for, by which folds are stratified."""
    return (targets[:, 0] > 0).astype(np.intp) if targets.shape[1] == 1 else targets.argmax(axis=1)


def groups_among(groups: IntArray, rows: IntArray | BoolArray) -> IntArray:
    """Return the groups of some rows, numbered from 0 again."""
    return np.unique(groups[rows], return_inverse=True)[1]


def likelihood_shares(losses: FloatArray, n_rows: int, groups: IntArray | None = None) -> FloatArray:
    """Return the share of each fit in their average, by its out-of-fold loss: exp(−n/2 · loss / least loss).

    It is the Gaussian likelihood at the noise that the best fit leaves. With groups n is their number: rows of a group
    tell hardly more than one of them.

    Examples
    --------
    >>> likelihood_shares(np.array([10.0, 10.0, 20.0]), 100).round(3)
    array([0.5, 0.5, 0. ])
    """
    n = n_rows if groups is None else int(groups.max()) + 1
    least = losses.min()
    if not least > 0:
        shares = (losses <= 0).astype(float)
    else:
        shares = np.exp(-0.5 * n * (losses / least - 1))
    return shares / shares.sum()


def held_out_shares(losses: FloatArray, groups: IntArray | None = None) -> FloatArray:
    """Return the share of each fit in the average of every row, by the losses of the rows of other folds.

    With the shares of all rows a row's own error would decide which fits its value is taken from, and pure noise would
    look as if it could be predicted. It is for scores only: weights of arms were no better by such values.

    Parameters
    ----------
    losses : ndarray of shape (n_rows, n_fits)
        Out-of-fold loss of each row and fit.
    groups : intp ndarray of shape (n_rows,) or None
        Rows of the same number are in the same fold.

    Returns
    -------
    ndarray of shape (n_rows, n_fits)
    """
    unit_of, fold_of = deal_folds(len(losses), groups)
    total, n_units = losses.sum(axis=0), int(unit_of.max()) + 1
    shares = np.empty(losses.shape)
    for fold in np.unique(fold_of):
        rows = fold_of == fold
        n_others = n_units - len(np.unique(unit_of[rows]))
        shares[rows] = likelihood_shares(np.maximum(total - losses[rows].sum(axis=0), 0.0), n_others)
    return shares


def mean_shifts(targets: FloatArray, weights: FloatArray, unit_of: IntArray | None = None) -> FloatArray:
    """Return by how much the weighted mean of targets falls where a row, with its unit, is left out.

    A model that was fitted without a row has the mean of the other rows, which is lower the higher the target of this
    row is. Where all models of the others know little beyond the mean, their values order the rows by their labels, in
    reverse. If the mean is known beforehand, as it is where classes count alike, values are better with it.

    Parameters
    ----------
    targets : ndarray of shape (n_rows, n_targets)
    weights : ndarray of shape (n_rows,)
    unit_of : intp ndarray of shape (n_rows,), default=None
        Rows of the same number are left out together: those of a group or a fold. None is each row by itself.

    Returns
    -------
    ndarray of shape (n_rows, n_targets)
        To be added to the values; 0 where no other row has a weight.

    Examples
    --------
    >>> mean_shifts(np.array([[1.0], [1.0], [-1.0], [-1.0]]), np.ones(4)).round(2).ravel()
    array([ 0.33,  0.33, -0.33, -0.33])
    """
    total = weights.sum()
    moments = weights[:, None] * (targets - weights @ targets / total)
    others = total - weights
    if unit_of is not None:
        moments = np.column_stack([np.bincount(unit_of, column)[unit_of] for column in moments.T])
        others = total - np.bincount(unit_of, weights)[unit_of].astype(np.float64)
    others = others[:, None]
    return np.divide(moments, others, out=np.zeros_like(moments), where=others > 1e-9 * total)


def check_class_sizes(
    n_folds: int, codes: IntArray, classes: AnyArray, groups: IntArray | None, where: str = ""
) -> None:
    """Check that labels, those `where` the message says, are enough for a number of folds."""
    counts = np.bincount(codes[codes >= 0], minlength=len(classes))
    single = np.flatnonzero(counts == 1)
    if len(single):
        raise ValueError(
            f"cv={n_folds} needs at least 2 rows of each class{where}, one to learn from while the other is held out, "
            f"but the class {classes.tolist()[single[0]]!r} has 1; leave the class out."
        )
    if groups is None and counts.max() < n_folds:
        raise ValueError(
            f"cv={n_folds} needs at least {n_folds} rows of some class{where}, but the largest class has "
            f"{counts.max()}; lower cv."
        )
    if groups is not None and (n_groups := len(np.unique(groups))) < n_folds:
        raise ValueError(f"cv={n_folds} needs at least {n_folds} groups, but groups has {n_groups}; lower cv.")


def _folds_of_groups(codes: IntArray, n_folds: int, generator: np.random.Generator, groups: IntArray) -> IntArray:
    """Return the fold of each group: the largest first, each to where its most frequent class has the fewest rows."""
    codes = codes - min(codes.min(), 0)
    counts = np.zeros((groups.max() + 1, codes.max() + 1), dtype=np.intp)
    np.add.at(counts, (groups, codes), 1)
    sizes, main_class = counts.sum(axis=1), counts.argmax(axis=1)
    order = generator.permutation(len(sizes))
    fold_of = np.empty(len(sizes), dtype=np.intp)
    fold_counts = np.zeros((n_folds, counts.shape[1]), dtype=np.intp)
    for group in order[np.argsort(-sizes[order], kind="stable")]:
        fold_of[group] = np.lexsort((fold_counts.sum(axis=1), fold_counts[:, main_class[group]]))[0]
        fold_counts[fold_of[group]] += counts[group]
    return fold_of


def _as_pairs(splits: list[Any], n_rows: int) -> list[Fold]:
    """Return (training rows, held-out rows), given as numbers or masks in lists or arrays, as arrays of numbers."""
    try:
        pairs = [(train, test) for train, test in splits]
    except (TypeError, ValueError):
        raise ValueError(f"cv must have pairs (training rows, held-out rows); got {splits!r:.80}.") from None
    return [(_row_numbers(train, n_rows), _row_numbers(test, n_rows)) for train, test in pairs]


def _row_numbers(rows: ArrayLike, n_rows: int) -> IntArray:
    """Return the numbers of some of `n_rows` rows, given as numbers or as a mask."""
    given = np.asarray(rows)
    if given.size == 0 or (given.shape == (n_rows,) and given.dtype == bool):
        return np.flatnonzero(given)
    if given.ndim != 1 or given.dtype.kind not in "iu" or given.min() < -n_rows or given.max() >= n_rows:
        raise ValueError(
            f"cv must have numbers from 0 to {n_rows - 1}, or masks, of the {n_rows} rows; got {rows!r:.80}."
        )
    return given


def _folds_of_used_rows(folds: list[Fold], data: TrainingData) -> list[Fold]:
    """Return folds of rows of `X` as folds of the rows that are used."""
    position = np.full(data.n_rows_given, -1)
    position[data.row_numbers] = np.arange(len(data))

    def used(rows: IntArray) -> IntArray:
        positions = position[rows]
        return positions[positions >= 0]

    return [(used(train), used(test)) for train, test in folds]


def _check_folds(folds: list[Fold], data: TrainingData, cv: Any) -> None:
    """Check that every row is held out once, by models that saw neither the row nor its group."""
    held_out = np.concatenate([test for _, test in folds]) if folds else np.array([], dtype=np.intp)
    if not np.array_equal(np.sort(held_out), np.arange(len(data))):
        raise ValueError(f"cv must hold out every row of X exactly once; {cv!r:.80} does not.")
    groups = np.arange(len(data)) if data.groups is None else data.groups
    for train, test in folds:
        on_both_sides = np.intersect1d(groups[train], groups[test])
        if len(on_both_sides):
            shared = "rows" if data.groups is None else "rows of the same group"
            raise ValueError(
                f"cv has {shared} on both sides of a fold, among the training rows and among those held out; "
                f"{cv!r:.80} must keep them on one side, as an integer or GroupKFold does."
            )
