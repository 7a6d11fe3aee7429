"""Labels and weights of rows: class codes of one column `y`, of a column per view or of an indicator matrix."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_consistent_length

from fuselearn.typing import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray, TableLike

NO_LABEL = -1
"""Class code of a row without a label."""


def encode_labels(y: AnyArray) -> tuple[AnyArray, IntArray]:
    """Return the classes in sorted order, and the class code of each row."""
    if y.dtype.kind == "O":
        _check_labels(y)
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    check_classes(classes)
    return classes, codes.astype(np.int32)


def check_classes(classes: AnyArray) -> None:
    """Check that `y` holds at least two classes."""
    if len(classes) < 2:
        raise ValueError(f"y must hold at least two classes; it has one class only, {classes.tolist()}.")


def check_two_classes(
    codes: IntArray, classes: AnyArray, rows: str = "rows of X with a positive sample_weight"
) -> None:
    """Check that the labels of the rows that count are of at least two classes; `rows` describes these rows."""
    if len(codes) == 0 or (codes == codes[0]).all():
        named = f", {classes.tolist()[codes[0]]!r}" if len(codes) else ""
        raise ValueError(f"The {rows} are all of one class{named}; at least two classes are needed.")


def encode_known(labels: AnyArray, classes: AnyArray, what: str) -> IntArray:
    """Return the class codes of labels that must be among the classes; `what` names the labels in the error."""
    code_of = {label: code for code, label in enumerate(classes.tolist())}
    distinct, positions = np.unique(labels, return_inverse=True) if labels.dtype.kind != "O" else (labels, None)
    codes = [code_of.get(label, NO_LABEL) for label in distinct.tolist()]
    unknown = [label for label, code in zip(distinct.tolist(), codes) if code < 0]
    if unknown:
        shown = list(dict.fromkeys(map(repr, unknown)))[:5]
        raise ValueError(
            f"{what} holds labels that are not among the classes: {', '.join(shown)}; the classes are "
            f"{classes.tolist()[:20]}."
        )
    code_array = np.array(codes, dtype=np.int32)
    return code_array if positions is None else code_array[positions]


def check_view_labels(view_labels: ArrayLike, n_rows: int, view_names: list[str]) -> AnyArray:
    """Return `view_labels` as an array with a column per view."""
    names = [str(name) for name in getattr(view_labels, "columns", [])]
    labels = np.asarray(view_labels)
    expected = (n_rows, len(view_names))
    if labels.shape != expected:
        raise ValueError(
            f"view_labels must have shape (n_samples, n_views) = {expected}, one column for each of the views "
            f"{view_names}; got shape {labels.shape}."
        )
    if sorted(names) == sorted(view_names):
        # Columns of a data frame that are named like the views belong to them, whatever their order.
        labels = labels[:, [names.index(name) for name in view_names]]
    return labels


def encode_view_labels(
    labels: AnyArray, classes: AnyArray, view_names: list[str], present: BoolArray, *, optional: bool = False
) -> IntArray:
    """Return the class codes of each view's own labels; -1 where the view is absent, whose label is not read.

    With `optional`, NaN or None stands for a label that a view has not given, which is -1 as well.
    """
    codes = np.full(labels.shape, NO_LABEL, dtype=np.int32)
    for number, name in enumerate(view_names):
        given = present[:, number]
        if optional:
            given = given & ~_is_missing(labels[:, number])
            if not given.any():
                raise ValueError(f"view_labels has no label for any row of the view {name!r}; leave the view out.")
        codes[given, number] = encode_known(labels[given, number], classes, f"view_labels of the view {name!r}")
    return codes


def majority_codes(codes: IntArray, present: BoolArray, n_classes: int) -> IntArray:
    """Return the class that most of a row's present views name, -1 where no view is present.

    A tie goes to the first view that names one of the tied classes; the lowest class would be favoured without reason.

    Parameters
    ----------
    codes : int ndarray of shape (n_rows, n_views)
        Class code of each row by each view.
    present : bool ndarray of shape (n_rows, n_views)
        Rows that have each view.
    n_classes : int
        Number of classes.

    Returns
    -------
    int32 ndarray of shape (n_rows,)
        Class codes.

    Examples
    --------
    >>> import numpy as np
    >>> majority_codes(np.array([[0, 1, 1], [1, 0, 0], [2, 0, 1]]), np.array([[1, 1, 1], [1, 1, 0], [1, 1, 1]]) > 0, 3)
    array([1, 1, 2], dtype=int32)
    """
    rows = np.arange(len(codes))
    counts = np.zeros((len(codes), n_classes), dtype=np.intp)
    for column, view_present in zip(codes.T, present.T):
        counts[rows[view_present], column[view_present]] += 1
    most = counts.max(axis=1)
    majority = np.full(len(codes), NO_LABEL, dtype=np.int32)
    for column, view_present in zip(codes.T, present.T):
        chosen = view_present & (majority < 0) & (counts[rows, column] == most)
        majority[chosen] = column[chosen]
    return majority


def check_sample_weight(sample_weight: ArrayLike, X: TableLike) -> FloatArray | None:
    """Return the weights as an array of floats, or None where none are given."""
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"sample_weight must hold numbers; got {sample_weight!r:.60}.") from None
    if weights.ndim == 0:
        weights = np.full(len(X), float(weights))
    if weights.ndim != 1:
        raise ValueError(f"sample_weight must be 1-D, a weight per row; got shape {weights.shape}.")
    check_consistent_length(X, weights)
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight holds NaN or infinity; weights must be finite numbers.")
    if (weights < 0).any():
        raise ValueError(
            f"sample_weight holds negative weights, the least {weights.min()}; weights must be at least 0."
        )
    check_some_weight(bool((weights > 0).any()))
    return weights


def check_some_weight(some_weight: bool) -> None:
    """Check that some row has a positive weight."""
    if not some_weight:
        raise ValueError("sample_weight is zero for every row; at least one row must count.")


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


def _check_labels(y: AnyArray) -> None:
    """Refuse labels of which one is missing, or which cannot be sorted."""
    missing = np.flatnonzero(_is_missing(y.ravel()))
    if len(missing) and y.ndim == 1:
        raise ValueError(
            f"y has no class in {len(missing)} of {len(y)} rows ({y[missing[0]]!r} in row {missing[0]}); leave such "
            "rows out of fit, or give them a class."
        )
    kinds = {type(label).__name__ for label in y.ravel()[:1000].tolist()}
    if "str" in kinds and len(kinds) > 1:
        raise TypeError(
            f"y must hold classes of one kind, such as text or whole numbers; got {' and '.join(sorted(kinds))}."
        )


def _is_missing(column: AnyArray) -> BoolArray:
    """Return a mask of the entries that are NaN, None or a data frame's missing value."""
    if column.dtype.kind == "f":
        return np.isnan(column)
    if column.dtype.kind != "O":
        return np.zeros(len(column), dtype=bool)
    return np.array([label is None or _is_unequal_to_itself(label) for label in column], dtype=bool)


def _is_unequal_to_itself(label: Any) -> bool:
    """Return whether a label is NaN or the missing value of a data frame: neither is equal to itself."""
    same = label == label
    return not (isinstance(same, bool | np.bool_) and same)


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
