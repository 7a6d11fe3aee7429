"""Labels and targets of rows, class codes of one column `y` or of a column per view; weights of rows."""

import math
import unicodedata
import warnings
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from fuselearn.data.table_columns import padded_text
from fuselearn.exceptions import level_of_caller
from fuselearn.typing import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray, TableLike

NO_LABEL = -1
"""Class code of a row without a label."""
UNKNOWN_LABELS = "Unknown label type"
"""Begins what scikit-learn says of a `y` that does not hold classes, and looks for in such errors of others."""
REGRESSORS = {"ShareGradientBoostingClassifier": "ShareGradientBoostingRegressor"}
"""Classifiers to regressors of the same kind, where that is not `FusionRegressor`."""
UNEQUAL = 1.5
"""Ratio of the largest to the smallest class from which on accuracy is not the whole story."""


def encode_labels(y: AnyArray, model_name: str = "") -> tuple[AnyArray, IntArray]:
    """Return the classes in sorted order, and the class code of each row; `model_name` is that of the classifier."""
    if y.dtype.kind == "O":
        check_labels(y)
        y = typed_labels(y)
    check_are_classes(y, model_name)
    classes, codes = np.unique(y, return_inverse=True)
    check_classes(classes)
    _warn_of_spellings(classes)
    return classes, codes.astype(np.int32)


def typed_labels(y: AnyArray) -> AnyArray:
    """Return objects that are all true or false, or all whole numbers, as an array of that type; any other as it is."""
    if y.dtype.kind != "O":
        return y
    kinds = {type(label) for label in y.ravel().tolist()}
    are_truth = all(issubclass(kind, bool | np.bool_) for kind in kinds)
    are_whole = all(issubclass(kind, int | np.integer) for kind in kinds) and bool not in kinds
    typed = np.array(y.tolist()) if kinds and (are_truth or are_whole) else y
    return typed if typed.dtype.kind in "biu" else y  # whole numbers beyond 64 bits are of no such type


def check_are_classes(y: AnyArray, model_name: str = "") -> None:
    """Refuse numbers with fractions, and what else cannot be classes; `model_name` is that of the classifier."""
    try:
        check_classification_targets(y)
    except ValueError as error:
        if not str(error).startswith(UNKNOWN_LABELS) or y.dtype.kind not in "fO":
            raise
        if y.dtype.kind == "O":
            raise ValueError(
                f"{UNKNOWN_LABELS}: unknown. y holds objects of the type {type(y.ravel()[0]).__name__}, such as "
                f"{y.ravel()[0]!r:.60}; classes are text, whole numbers, or true and false."
            ) from None
        fraction = y[y != np.round(y)].ravel()[0]
        regressor = REGRESSORS.get(model_name, "FusionRegressor")
        raise ValueError(
            f"{UNKNOWN_LABELS}: continuous. y holds numbers with fractions, such as {fraction:.6g}, and "
            f"{model_name or 'a classifier'} predicts classes. To predict numbers use {regressor}, or for a table "
            "with text TableRegressor."
        ) from None


def _warn_of_spellings(classes: AnyArray) -> None:
    """Warn of classes that differ in the white space around them, or in their Unicode, only; they stay as they are."""
    labels = classes.tolist()
    padded = padded_text(labels)
    if padded is not None:
        message = f"y has the class {padded!r} beside {padded.strip()!r}; strip the labels if it means nothing."
        warnings.warn(message, stacklevel=level_of_caller())
    texts = {label for label in labels if isinstance(label, str) and not label.isascii()}
    decomposed = min((text for text in texts if unicodedata.normalize("NFC", text) in texts - {text}), default=None)
    if decomposed is not None:
        message = (
            f"y has the class {decomposed!a} beside {unicodedata.normalize('NFC', decomposed)!a}, which looks "
            "the same; normalise the labels, as unicodedata.normalize('NFC', …) does, if they are one."
        )
        warnings.warn(message, stacklevel=level_of_caller())


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
    elif values.dtype.kind in "mM":  # as objects, nanoseconds would be whole numbers
        bad = [0][: values.size]
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


def is_missing_value(value: Any) -> bool:
    """Return whether a value is None, NaN or the missing value of a data frame, which are not equal to themselves."""
    same = value == value
    return value is None or not (isinstance(same, bool | np.bool_) and same)


def check_known(y: AnyArray) -> None:
    """Refuse labels in one column of which one is missing."""
    labels = y.ravel()
    missing = np.flatnonzero(_is_missing(labels))
    if len(missing) and len(labels) == len(y):
        raise ValueError(
            f"y has no class in {len(missing)} of {len(y)} rows ({labels[missing[0]]!s} in row {missing[0]}); leave "
            "such rows out of fit, or give them a class."
        )


def check_labels(y: AnyArray) -> None:
    """Refuse labels of which one is missing, or which cannot be sorted."""
    check_known(y)
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


def are_unequal(counts: ArrayLike) -> bool:
    """Return True if classes differ so much in size that accuracy hides how the small ones fare.

    Parameters
    ----------
    counts : array of shape (n_classes,)
        Rows of each class; those without rows do not count.

    Returns
    -------
    bool
        Whether the largest class has 1.5 times the rows of the smallest, or more.

    Examples
    --------
    >>> are_unequal([50, 45]), are_unequal([90, 10, 0])
    (False, True)
    """
    counts = np.asarray(counts, dtype=float)
    counts = counts[counts > 0]
    return bool(len(counts) > 1 and counts.max() >= UNEQUAL * counts.min())
