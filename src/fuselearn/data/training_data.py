"""The one reader of training data: `X`, `y`, `sample_weight`, `view_labels` and `groups` of every `fit`."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.base import is_classifier

from fuselearn.arguments import resolve_views
from fuselearn.data.class_weights import ClassWeight, given_class_weights
from fuselearn.data.folds import encode_groups
from fuselearn.data.labels import (
    NO_LABEL,
    check_known,
    check_sample_weight,
    check_target,
    check_two_classes,
    check_view_labels,
    encode_labels,
    encode_view_labels,
    majority_codes,
)
from fuselearn.data.outlier_warnings import warn_of_outliers_in
from fuselearn.data.view_table import (
    FEATURE_ATTRIBUTES,
    Features,
    ViewBlocks,
    check_presence,
    is_gpu_array,
    read_table,
)
from fuselearn.numeric.exact_sums import exact_mean
from fuselearn.numeric.gross_outliers import LARGEST, LEAST, ordinary_values, ranges_and_outliers
from fuselearn.typing import AnyArray, ArrayLike, BoolArray, Estimator, FloatArray, IntArray, TableLike, Views


class ViewEstimator(Estimator, Protocol):
    """An estimator with a `views` parameter."""

    views: Views


@dataclass(frozen=True)
class TrainingData:
    """The rows that an estimator learns from, with their views, labels, weights and groups.

    Attributes
    ----------
    blocks : ViewBlocks
        The views of the rows. Rows of weight 0 that were not dropped have no view.
    names : list of str
        Names of the views.
    columns : list of intp ndarray
        Columns of each view.
    classes : ndarray of shape (n_classes,)
        All classes of `y`, in sorted order.
    label_columns : list of str
        ``["y"]``, or the names of the views whose labels they are.
    has_view_labels : bool
        Whether the views have labels of their own.
    codes : int32 ndarray of shape (n_rows, n_label_columns)
        Class code by each label column; -1 where a column has no label.
    weights : ndarray of shape (n_rows,)
        The user's weights in units of their mean over the rows that count, or of the largest; ones where none were
        given.
    weighted : bool
        Whether the user gave weights.
    n_counted : int
        Number of rows with weight.
    groups : intp ndarray of shape (n_rows,) or None
        Rows of the same number, from 0, belong together.
    row_numbers : intp ndarray of shape (n_rows,)
        Numbers of the rows in `X`.
    n_rows_given : int
        Number of rows of `X`.
    features : dict
        ``n_features_in_`` and, for a data frame, ``feature_names_in_``.
    ranges : ndarray of shape (5, n_features) or None
        Ordinary ranges of the columns, as `fuselearn.numeric.gross_outliers` has them; None for a table on a GPU.
    index : ndarray of shape (n_rows_given,) or None
        Names of all rows of `X` where this is a pandas data frame that has some.
    """

    blocks: ViewBlocks
    names: list[str]
    columns: list[IntArray]
    classes: AnyArray
    label_columns: list[str]
    has_view_labels: bool
    codes: IntArray
    weights: FloatArray
    weighted: bool
    n_counted: int
    groups: IntArray | None
    row_numbers: IntArray
    n_rows_given: int
    features: Features
    ranges: FloatArray | None
    index: AnyArray | None = field(default=None, kw_only=True)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.codes)

    def view_codes(self) -> IntArray:
        """Return the class codes that each view learns from, of shape (n_rows, n_views); -1 where it is absent."""
        return np.where(self.blocks.present, self.codes, NO_LABEL).astype(np.int32, copy=False)

    def majority(self) -> IntArray:
        """Return one class code per row: that of `y`, or of the majority of the views' own labels."""
        return majority_codes(self.view_codes(), self.blocks.present, len(self.classes))

    def votes(self) -> FloatArray:
        """Return the share of a row's labels that name each class, of shape (n_rows, n_classes)."""
        counts = np.zeros((len(self), len(self.classes)))
        rows = np.arange(len(self))
        for column in self.codes.T:
            given = column >= 0
            counts[rows[given], column[given]] += 1
        return counts / counts.sum(axis=1, keepdims=True)

    def class_prior(self) -> FloatArray:
        """Return the weight of each class, with sum 1; a row on which its views disagree counts in parts."""
        present = self.blocks.present
        shares = self.weights / np.maximum(present.sum(axis=1), 1)
        prior = np.zeros(len(self.classes))
        for codes, view_present in zip(self.view_codes().T, present.T):
            prior += np.bincount(codes[view_present], shares[view_present], minlength=len(self.classes))
        return prior / prior.sum()

    def over_all_rows(self, values: AnyArray, fill: float = np.nan) -> AnyArray:
        """Return values of these rows at their places among all rows of `X`, with `fill` for the others."""
        return spread_over(values, self.row_numbers, self.n_rows_given, fill)


def spread_over(values: AnyArray, row_numbers: IntArray, n_rows: int, fill: float) -> AnyArray:
    """Return values of some rows at their places among `n_rows`, with `fill` for the others."""
    if len(values) == n_rows:
        return values
    spread = np.full((n_rows, *values.shape[1:]), fill, dtype=values.dtype)
    spread[row_numbers] = values
    return spread


def targets_of(shares: FloatArray) -> FloatArray:
    """Return class shares, such as votes, as targets of a regression: 2p − 1 for two classes, else p of each."""
    return 2 * shares[:, 1:] - 1 if shares.shape[1] == 2 else shares


class TableReader(NamedTuple):
    """Functions that read a table where it is, such as in memory or on a GPU.

    Attributes
    ----------
    read_table : callable
        As `fuselearn.data.view_table.read_table`.
    read_labels : callable
        Returns weights or labels in memory, given them, the table and the name of the argument.
    view_blocks : callable
        As `ViewBlocks.of`.
    without_outliers : callable or None, default=None
        Returns the ordinary ranges of the columns, with a warning of gross outliers, and the table without these, given
        the table, the rows that count and the columns. None does it in memory, and nothing elsewhere.
    """

    read_table: Callable[..., tuple[Any, AnyArray, Features]]
    read_labels: Callable[[ArrayLike, Any, str], ArrayLike]
    view_blocks: Callable[[Any, list[str], list[IntArray], BoolArray | None], ViewBlocks]
    without_outliers: Callable[[Any, BoolArray, Features], tuple[FloatArray, Any]] | None = None


IN_MEMORY = TableReader(read_table, lambda labels, table, name: labels, ViewBlocks.of)


def read_training_data(
    model: ViewEstimator,
    X: TableLike,
    y: ArrayLike,
    sample_weight: ArrayLike = None,
    view_labels: ArrayLike = None,
    groups: ArrayLike = None,
    *,
    reset: bool = True,
    reader: TableReader = IN_MEMORY,
    optional_labels: bool = False,
    negligible_weight: float = 0.0,
    drop_unused: bool = False,
    clip_outliers: bool = False,
    largest_weight_is_one: bool = False,
    class_weight: ClassWeight = None,
) -> TrainingData:
    """Check the arguments of `fit` and resolve the views of a model, which is not changed.

    Parameters
    ----------
    model : estimator
        Its `views` are resolved, and its name stands in messages.
    X, y, sample_weight, view_labels, groups : array or None
        As the user gave them to `fit`.
    reset : bool, default=True
        Whether the columns of `X` may differ from those that the model was fitted on.
    reader : TableReader
        Reads `X` where it is.
    optional_labels : bool, default=False
        Whether a view may have given no label of a row (NaN or None in `view_labels`).
    negligible_weight : float, default=0.0
        Share of the largest weight up to which a row counts as one of weight 0.
    drop_unused : bool, default=False
        Whether rows of weight 0 and rows without any label are dropped; else they stay, and those of weight 0 have no
        view.
    clip_outliers : bool, default=False
        Whether gross outliers get the nearest ordinary value of their column, and columns of a size such as 1e200 a
        factor. In any case there is a warning of gross outliers.
    largest_weight_is_one : bool, default=False
        Whether weights are in units of the largest one, as boosting on partitions has them; else of their mean.
    class_weight : None, "balanced" or dict of class to weight, default=None
        The model's weights of classes, which are checked.

    Returns
    -------
    TrainingData
        Everything that the fit needs to know.
    """
    index = index_of(X)
    rows = _read_rows(model, X, y, sample_weight, reset=reset, reader=reader, negligible_weight=negligible_weight)
    table, names, used = rows.table, rows.names, rows.used
    classes, y_codes = encode_labels(rows.y, type(model).__name__)
    given_class_weights(class_weight, classes)
    view_labels = reader.read_labels(view_labels, table, "view_labels")
    if view_labels is None:
        check_two_classes(y_codes[used], classes)
    else:
        view_labels = check_view_labels(view_labels, len(table), names)
    ranges = None
    if isinstance(table, np.ndarray):
        ranges, outliers = ranges_and_outliers(table, used)
        if len(outliers.rows):
            warn_of_outliers_in(table, outliers, rows.features, clipped=clip_outliers)
        table = ordinary_values(table, ranges) if clip_outliers else table
    elif clip_outliers and reader.without_outliers is not None:
        ranges, table = reader.without_outliers(table, used, rows.features)
    blocks = reader.view_blocks(table, names, rows.columns, None if used.all() else used)
    check_presence(blocks, used)
    if view_labels is None:
        label_columns, codes = ["y"], y_codes[:, None]
    else:
        label_columns = names
        codes = encode_view_labels(view_labels, classes, names, blocks.present, optional=optional_labels)
    row_numbers = np.arange(len(table))
    if drop_unused and not (used := used & (codes >= 0).any(axis=1)).all():
        row_numbers = np.flatnonzero(used)
        blocks = reader.view_blocks(table[row_numbers], names, rows.columns, None)
        codes = codes[row_numbers]
    weights = rows.weights[row_numbers]
    if rows.weighted and not largest_weight_is_one:
        # A model must not depend on the unit of the weights, and what it is passed to may take 1 for one row.
        weights = weights / exact_mean(weights[weights > 0])
    return TrainingData(
        blocks=blocks,
        names=names,
        columns=rows.columns,
        classes=classes,
        label_columns=label_columns,
        has_view_labels=view_labels is not None,
        codes=codes,
        weights=weights,
        weighted=rows.weighted,
        n_counted=int(np.count_nonzero(weights)),
        groups=None if groups is None else encode_groups(groups, len(table), row_numbers),
        row_numbers=row_numbers,
        n_rows_given=len(table),
        features=rows.features,
        ranges=ranges,
        index=index,
    )


def index_of(X: TableLike) -> AnyArray | None:
    """Return the index of a pandas data frame, as numbers or texts; None where it only counts the rows."""
    index = getattr(X, "index", None)
    if index is None or not hasattr(index, "to_numpy") or len(index) != len(X):
        return None
    names: AnyArray = index.to_numpy()
    if names.dtype.kind in "iu":
        return None if np.array_equal(names, np.arange(len(names))) else names.astype(np.int64)
    if names.dtype.kind == "f":
        return names.astype(np.float64)
    return np.array([str(name) for name in index], dtype=str)


@dataclass(frozen=True)
class RegressionData:
    """The rows that a regressor learns from, with their views, targets, weights and groups; see `TrainingData`.

    Attributes
    ----------
    target : float64 ndarray of shape (n_rows,)
        The finite numbers to predict.
    weights : ndarray of shape (n_rows,)
        The user's weights in units of the largest; ones where none were given.
    blocks, names, columns, weighted, groups, features, row_numbers, n_rows_given, ranges
        As in `TrainingData`.
    """

    blocks: ViewBlocks
    names: list[str]
    columns: list[IntArray]
    target: FloatArray
    weights: FloatArray
    weighted: bool
    groups: IntArray | None
    features: Features
    row_numbers: IntArray
    n_rows_given: int
    ranges: FloatArray | None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.target)

    @property
    def n_counted(self) -> int:
        """Number of rows with weight."""
        return int(np.count_nonzero(self.weights))

    def over_all_rows(self, values: FloatArray) -> FloatArray:
        """Return values of these rows at their places among all rows of `X`, with NaN for the others."""
        return spread_over(values, self.row_numbers, self.n_rows_given, np.nan)


def read_regression_data(
    model: ViewEstimator,
    X: TableLike,
    y: ArrayLike,
    sample_weight: ArrayLike = None,
    groups: ArrayLike = None,
    *,
    reset: bool = True,
    reader: TableReader = IN_MEMORY,
    negligible_weight: float = 0.0,
    drop_unused: bool = False,
    clip_outliers: bool = False,
) -> RegressionData:
    """Check the arguments of a regressor's `fit` and resolve its views; the model is not changed.

    Parameters
    ----------
    model : estimator
        Its `views` are resolved, and its name stands in messages.
    X, y, sample_weight, groups : array or None
        As the user gave them to `fit`. There is a warning of gross outliers in `X` and in `y`.
    reset : bool, default=True
        Whether the columns of `X` may differ from those that the model was fitted on.
    reader : TableReader
        Reads `X` where it is.
    negligible_weight, drop_unused, clip_outliers
        As for `read_training_data`; gross outliers of `y` are clipped, too.

    Returns
    -------
    RegressionData
        Everything that the fit needs to know.

    Raises
    ------
    ValueError
        For what `read_training_data` refuses as well, and for a target that is not a finite number.
    """
    if y is not None and not is_gpu_array(y):
        check_target(y, type(model).__name__)
    rows = _read_rows(model, X, y, sample_weight, reset=reset, reader=reader, negligible_weight=negligible_weight)
    target, table, used, ranges = np.asarray(rows.y, dtype=np.float64), rows.table, rows.used, None
    target_ranges, outliers = ranges_and_outliers(target[:, None], used)
    if isinstance(table, np.ndarray):
        ranges, outliers_of_table = ranges_and_outliers(table, used)
        if len(outliers_of_table.rows):
            warn_of_outliers_in(table, outliers_of_table, rows.features, clipped=clip_outliers)
        table = ordinary_values(table, ranges) if clip_outliers else table
    if len(outliers.rows):
        warn_of_outliers_in(target[:, None], outliers, None, clipped=clip_outliers)
        target = np.clip(target, *target_ranges[LEAST : LARGEST + 1, 0]) if clip_outliers else target
    blocks = reader.view_blocks(table, rows.names, rows.columns, None if used.all() else used)
    check_presence(blocks, used)
    row_numbers = np.arange(len(target))
    if drop_unused and not used.all():
        row_numbers = np.flatnonzero(used)
        blocks = reader.view_blocks(table[row_numbers], rows.names, rows.columns, None)
    return RegressionData(
        blocks=blocks,
        names=rows.names,
        columns=rows.columns,
        target=target[row_numbers],
        weights=rows.weights[row_numbers],
        weighted=rows.weighted,
        groups=None if groups is None else encode_groups(groups, len(target), row_numbers),
        features=rows.features,
        row_numbers=row_numbers,
        n_rows_given=len(target),
        ranges=ranges,
    )


class _CheckedRows(NamedTuple):
    """Rows whose table, columns and weights were checked, whatever is to be learned of them."""

    table: Any
    y: AnyArray
    features: Features
    names: list[str]
    columns: list[IntArray]
    weights: FloatArray
    weighted: bool
    used: BoolArray


def _read_rows(
    model: ViewEstimator,
    X: TableLike,
    y: ArrayLike,
    sample_weight: ArrayLike,
    *,
    reset: bool,
    reader: TableReader,
    negligible_weight: float = 0.0,
) -> _CheckedRows:
    """Check table and weights, and resolve the views; weights are in units of the largest."""
    if isinstance(y, list) and is_classifier(model):
        check_known(np.asarray(y, dtype=object))  # an array of text would have the class "nan"
    try:
        table, y, features = reader.read_table(model, X, y, reset=reset)
    except ValueError as error:
        if "contains NaN" in str(error) and is_classifier(model):  # in `y`: in X, NaN is a missing value
            check_known(np.asarray(y, dtype=object))
        raise
    names, columns = resolve_views(model.views, X, table.shape[1])
    weights = check_sample_weight(reader.read_labels(sample_weight, table, "sample_weight"), table)
    weighted = weights is not None
    # By the largest first: sums of very large weights overflow, and those of very small ones vanish.
    weights = np.ones(len(table)) if weights is None else weights / weights.max()
    return _CheckedRows(table, y, features, names, columns, weights, weighted, weights > negligible_weight)


def note_features(model: Estimator, features: Features) -> None:
    """Set the attributes of the columns on a fitted model, and delete those of an earlier fit."""
    for name in FEATURE_ATTRIBUTES:
        if name in features:
            setattr(model, name, features[name])
        elif hasattr(model, name):
            delattr(model, name)
