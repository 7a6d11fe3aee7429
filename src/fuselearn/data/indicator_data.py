"""Labels of which a row may have several: an indicator matrix, and the reader of the data of multi-label estimators."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from fuselearn.arguments import resolve_views
from fuselearn.data.labels import check_classes
from fuselearn.data.outlier_warnings import warn_of_outliers_in
from fuselearn.data.training_data import ViewEstimator
from fuselearn.data.view_table import Features, read_table
from fuselearn.numeric.gross_outliers import ranges_and_outliers
from fuselearn.typing import AnyArray, ArrayLike, BoolArray, IntArray, TableLike


@dataclass(frozen=True)
class IndicatorLabels:
    """Labels of which a row may have several.

    Attributes
    ----------
    signs : int8 ndarray of shape (n_labels, n_rows)
        +1 where a row has a label, -1 where not.
    names : list of str
        Columns of a data frame, else "label0", "label1", …
    classes : ndarray, or list of ndarray
        See `label_classes`; for a 1-D target its two classes.
    one_column : bool
        Whether the target was 1-D: one label, which is the second class.
    """

    signs: IntArray
    names: list[str]
    classes: AnyArray | list[AnyArray]
    one_column: bool


@dataclass(frozen=True)
class IndicatorData:
    """The rows that a multi-label estimator learns from.

    Attributes
    ----------
    table : ndarray or sparse array of shape (n_rows, n_features)
        The rows.
    names : list of str
        Names of the views.
    columns : list of intp ndarray
        Columns of each view.
    labels : IndicatorLabels
        Labels of the rows.
    features : dict
        ``n_features_in_`` and, for a data frame, ``feature_names_in_``.
    """

    table: Any
    names: list[str]
    columns: list[IntArray]
    labels: IndicatorLabels
    features: Features


def read_indicator_data(
    model: ViewEstimator, X: TableLike, y: ArrayLike, *, ensure_all_finite: bool | str
) -> IndicatorData:
    """Check `X` and the indicator labels `y` of `fit`, and resolve the views of a model, which is not changed."""
    check_indicator(y)
    label_names = None if (columns := getattr(y, "columns", None)) is None else [str(name) for name in columns]
    table, y, features = read_table(
        model,
        X,
        y,
        reset=True,
        accept_sparse=["csr", "csc"],
        multi_output=True,
        ensure_all_finite=ensure_all_finite,
    )
    labels = encode_indicator(y, label_names)
    if isinstance(table, np.ndarray):
        _, outliers = ranges_and_outliers(table, np.ones(len(table), dtype=bool))
        if len(outliers.rows):
            warn_of_outliers_in(table, outliers, features, clipped=False)
    view_names, view_columns = resolve_views(model.views, X, table.shape[1])
    return IndicatorData(table, view_names, view_columns, labels, features)


def check_indicator(y: ArrayLike) -> None:
    """Check that `y` is neither a list of label sets nor a matrix without columns."""
    if _is_list_of_label_sets(y):
        raise ValueError(
            "y must be an indicator matrix of shape (n_samples, n_labels) that holds 0 and 1; got a list of label "
            "sets. sklearn.preprocessing.MultiLabelBinarizer().fit_transform(y) turns it into one."
        )
    if len(getattr(y, "shape", ())) == 2 and y.shape[1] == 0:
        raise ValueError(f"y must have at least one label; got shape {y.shape}.")


def encode_indicator(y: ArrayLike, names: list[str] | None = None, *, complete: bool = True) -> IndicatorLabels:
    """Return the labels of a target of two classes or of an indicator matrix, dense or sparse.

    With `complete`, every label must have a positive and a negative row.
    """
    if y.ndim == 1:
        return _encode_two_classes(y)
    dense = y.toarray() if issparse(y) else y
    is_one = dense == 1
    unexpected = ~(is_one | (dense == 0))
    if unexpected.any():
        row, column = np.argwhere(unexpected)[0]
        raise ValueError(
            f"y must be an indicator matrix that holds 0 and 1 only; got {dense[row, column]!r} in row {row}, "
            f"column {column}."
        )
    signs = np.where(is_one.T, 1, -1).astype(np.int8, order="C")
    if names is None or len(names) != len(signs):
        names = [f"label{number}" for number in range(len(signs))]
    if complete:
        _check_both_signs(is_one, names)
    return IndicatorLabels(signs, names, label_classes(len(signs)), one_column=False)


def label_classes(n_labels: int) -> AnyArray | list[AnyArray]:
    """Return `classes_` for an indicator matrix: the numbers of the labels; a list of 0 and 1 each for one or two.

    scikit-learn has both forms. Its scorers tell by `classes_` what a model predicts, and take the numbers 0, or 0 and
    1, for two classes: they turn scores round or drop a column. Its checks of estimators want numbers for three labels.
    """
    return np.arange(n_labels) if n_labels > 2 else [np.array([0, 1]) for _ in range(n_labels)]


def _encode_two_classes(y: AnyArray) -> IndicatorLabels:
    """Return a 1-D target of two classes as one label."""
    check_classification_targets(y)
    kind = type_of_target(y, input_name="y")
    classes, codes = np.unique(y, return_inverse=True)
    if kind != "binary":
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}. For {len(classes)} classes, "
            "pass an indicator matrix with a column for each."
        )
    check_classes(classes)
    signs = np.where(codes == 1, 1, -1).astype(np.int8)[None, :]
    return IndicatorLabels(signs, ["label0"], classes, one_column=True)


def _check_both_signs(is_one: BoolArray, names: list[str]) -> None:
    """Check that every label has a row with it and one without."""
    n_positive = np.count_nonzero(is_one, axis=0)
    for sign, labels in (("positive", n_positive == 0), ("negative", n_positive == len(is_one))):
        if labels.any():
            shown = [f"{names[label]!r} (column {label})" for label in np.flatnonzero(labels)[:5]]
            raise ValueError(
                f"y must have positive and negative rows for every label; {np.count_nonzero(labels)} of {len(names)} "
                f"have no {sign} row: {', '.join(shown)}. Leave such labels out."
            )


def _is_list_of_label_sets(y: ArrayLike) -> bool:
    """Return whether rows are sets, or lists that differ in length or hold words."""
    if not isinstance(y, list | tuple) or not len(y):
        return False
    if any(isinstance(row, set | frozenset) for row in y):
        return True
    rows = [row for row in y if isinstance(row, list | tuple)]
    if not rows:
        return False
    return len({len(row) for row in rows}) > 1 or any(isinstance(value, str) for row in rows for value in row)
