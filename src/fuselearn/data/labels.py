"""Labels, targets, weights and groups of rows: class codes of one column `y` or of a column per view."""

import math
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
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
    labels: AnyArray,
    classes: AnyArray,
    view_names: list[str],
    present: BoolArray,
    *,
    optional: bool = False,
    all_rows: bool = True,
) -> IntArray:
    """Return the class codes of each view's own labels; -1 where the view is absent, whose label is not read.

    With `optional`, NaN or None stands for a label that a view has not given, which is -1 as well; of `all_rows`, each
    view must have given some.
    """
    codes = np.full(labels.shape, NO_LABEL, dtype=np.int32)
    for number, name in enumerate(view_names):
        given = present[:, number]
        if optional:
            given = given & ~_is_missing(labels[:, number])
        codes[given, number] = encode_known(labels[given, number], classes, f"view_labels of the view {name!r}")
    if optional and all_rows:
        check_views_labelled(np.logical_or.reduce(codes >= 0, axis=0), view_names)
    return codes


def check_views_labelled(has_labels: BoolArray, view_names: list[str]) -> None:
    """Refuse views that have not given a label of any row."""
    for name, has_label in zip(view_names, has_labels):
        if not has_label:
            raise ValueError(f"view_labels has no label for any row of the view {name!r}; leave the view out.")


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


def check_target(y: ArrayLike, model_name: str) -> None:
    """Refuse a target of regression that holds anything else than finite numbers, naming the first such row.

    Its shape and length are left to the check of the table. `model_name` is that of the regressor.
    """
    values = np.asarray(y)
    if values.dtype.kind in "biuc":
        return
    n_columns = int(np.prod(values.shape[1:], dtype=np.intp))
    if values.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(values.ravel()))[:1].tolist()
    else:
        values = values.astype(object)
        bad = [place for place, value in enumerate(values.ravel().tolist()) if not _is_finite_number(value)][:1]
    if not bad:
        return
    value, where = values.ravel()[bad[0]], f"in row {bad[0] // max(n_columns, 1)}"
    if isinstance(value, str | bytes):
        classifier = model_name.replace("Regressor", "Classifier")
        named = classifier if classifier != model_name else "a classifier"
        raise ValueError(
            f"y must hold numbers; got the text {value!r:.60} {where}. For labels that are classes, use {named}."
        )
    raise ValueError(f"y must hold finite numbers; got {value!s:.60} {where}. Leave rows without a target out of fit.")


def group_names(groups: ArrayLike, n_rows: int) -> AnyArray:
    """Return the name of the group of each row, checked: no row may lack one, whether it counts or not."""
    # Names that are not whole numbers as objects: in an array of text, NaN would be the name "nan".
    names = np.asarray(groups, dtype=None if hasattr(groups, "dtype") else object)
    names = names if names.dtype.kind in "biu" else np.asarray(groups, dtype=object)
    if names.shape != (n_rows,):
        raise ValueError(f"groups must have one entry for each of the {n_rows} rows of X; got shape {names.shape}.")
    if names.dtype.kind == "O":
        missing = next((row for row, name in enumerate(names) if _is_missing_name(name)), None)
        if missing is not None:
            raise ValueError(
                f"groups has no value for row {missing}; give a row that belongs to no other a group of its own."
            )
    return names


def encode_groups(groups: ArrayLike, n_rows: int, rows: IntArray) -> IntArray:
    """Return the group of each of some rows, numbered from 0 in the order of their first row."""
    names = group_names(groups, n_rows)
    numbers = numbered_groups(names[rows])[1]
    if numbers.max(initial=0) < 1:
        raise ValueError(
            "groups puts all rows of X that count into one group, so that none can be held out; at least two groups "
            "are needed. Leave groups out where rows are independent."
        )
    return numbers


def numbered_groups(names: AnyArray) -> tuple[list[Any], IntArray]:
    """Return the names of groups in the order of their first row, and for each row the number of its group.

    Examples
    --------
    >>> numbered_groups(np.array([7, 3, 7]))
    ([7, 3], array([0, 1, 0]))
    """
    if names.dtype.kind != "O":
        distinct, first, inverse = np.unique(names, return_index=True, return_inverse=True)
        by_row = np.argsort(first)
        order = np.empty(len(first), dtype=np.intp)
        order[by_row] = np.arange(len(first))
        return distinct[by_row].tolist(), order[inverse]
    number_of: dict[Any, int] = {}
    try:
        numbers = np.array([number_of.setdefault(name, len(number_of)) for name in names], dtype=np.intp)
    except TypeError as error:
        raise ValueError(f"groups must hold numbers or names: {error}.") from None
    return list(number_of), numbers


def is_missing_value(value: Any) -> bool:
    """Return whether a value is None, NaN or the missing value of a data frame, which are not equal to themselves."""
    same = value == value
    return value is None or not (isinstance(same, bool | np.bool_) and same)


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
    return np.array([is_missing_value(label) for label in column], dtype=bool)


def _is_finite_number(value: Any) -> bool:
    """Return whether a value is a finite number, or can be taken for one; text never is."""
    if isinstance(value, str | bytes):
        return False
    try:
        return math.isfinite(value)
    except (TypeError, ValueError, OverflowError):
        return False


def _is_missing_name(name: Any) -> bool:
    """Return whether the name of a group is None, NaN or a data frame's missing value."""
    return name is None or (not isinstance(name, str) and str(name) in ("nan", "NaT", "<NA>"))
