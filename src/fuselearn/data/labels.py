"""Labels and targets of rows, class codes of one column `y` or of a column per view; weights of rows and of classes.

What a class weighs is known from the sums of weights of all classes. These are exact (`numeric.exact_sums`), so that
rows in partitions, whose sums are added up, get the same weights as rows in one place, to the last bit.
"""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self, TypeAlias

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from fuselearn.data.table_columns import padded_text
from fuselearn.exceptions import level_of_caller
from fuselearn.numeric.exact_sums import limb_sums, sums_of_limbs
from fuselearn.typing import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray, TableLike

NO_LABEL = -1
"""Class code of a row without a label."""
BALANCED = "balanced"
ClassWeight: TypeAlias = str | Mapping[Any, float] | None
"""The `class_weight` argument of an estimator."""
UNEQUAL = 1.5
"""Ratio of the largest to the smallest class from which on accuracy is not the whole story."""


def encode_labels(y: AnyArray) -> tuple[AnyArray, IntArray]:
    """Return the classes in sorted order, and the class code of each row."""
    if y.dtype.kind == "O":
        check_labels(y)
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    check_classes(classes)
    _warn_of_white_space(classes)
    return classes, codes.astype(np.int32)


def _warn_of_white_space(classes: AnyArray) -> None:
    """Warn of classes that differ in the white space around them only; they stay as they are."""
    padded = padded_text(classes.tolist())
    if padded is not None:
        message = f"y has the class {padded!r} beside {padded.strip()!r}; strip the labels if it means nothing."
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
            f"y has no class in {len(missing)} of {len(y)} rows ({labels[missing[0]]!r} in row {missing[0]}); leave "
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


@dataclass(frozen=True)
class ClassWeights:
    """Factors by which the weights of rows are multiplied, so that the largest of all is 1.

    Parameters
    ----------
    factors : ndarray of shape (n_classes,)
        What a row of each class weighs, as :func:`sklearn.utils.class_weight.compute_class_weight` has it.
    largest : float
        The largest weight of a row after it was multiplied by the factor of its class: the new unit.

    Examples
    --------
    >>> classes = np.array(["common", "rare"])
    >>> balanced = ClassWeights.of("balanced", classes, totals=np.array([9.0, 1.0]), largest=np.ones(2))
    >>> balanced.of_rows(np.array([0, 0, 1]), np.ones(3)).round(3)
    array([0.111, 0.111, 1.   ])
    """

    factors: FloatArray
    largest: float

    @classmethod
    def of(cls, class_weight: ClassWeight, classes: AnyArray, totals: FloatArray, largest: FloatArray) -> Self:
        """Return the factors of the classes.

        Parameters
        ----------
        class_weight : None, "balanced" or dict of class to weight
            None: 1 for each. "balanced": such that all classes have the same weight together, and the weight of all
            rows stays what it is. Classes that a dict leaves out have 1.
        classes : ndarray of shape (n_classes,)
            The classes.
        totals : ndarray of shape (n_classes,)
            Sum of the weights of the rows of each class, in all partitions.
        largest : ndarray of shape (n_classes,)
            Largest weight of a row of each class, in all partitions.

        Returns
        -------
        ClassWeights
            The factors.

        Raises
        ------
        ValueError
            If `class_weight` is something else, names a class that is not there, or has a weight that is not above 0.
        """
        factors = given_class_weights(class_weight, classes)
        if factors is None:
            factors, weighted = np.ones(len(classes)), totals > 0
            factors[weighted] = totals.sum() / (np.count_nonzero(weighted) * totals[weighted])
        return cls(factors, float((factors * largest).max()))

    def of_rows(self, codes: IntArray, weights: FloatArray) -> FloatArray:
        """Return the weights of rows of these class codes, in units of the largest; a code of -1 is of no class.

        Parameters
        ----------
        codes : integer ndarray of shape (n_rows,)
            Class codes of rows, of all of them or of those of a partition.
        weights : ndarray of shape (n_rows,)
            Their weights by `sample_weight`.

        Returns
        -------
        ndarray of shape (n_rows,)
            New weights.
        """
        return weights * np.append(self.factors, 1.0)[codes] / self.largest


def given_class_weights(class_weight: ClassWeight, classes: AnyArray) -> FloatArray | None:
    """Return the weight of each class; None for "balanced", which depends on how large the classes are.

    Parameters
    ----------
    class_weight : None, "balanced" or dict of class to weight
        None: 1 for each. Classes that a dict leaves out have 1.
    classes : ndarray of shape (n_classes,)
        The classes.

    Returns
    -------
    ndarray of shape (n_classes,) or None
        The weights.

    Raises
    ------
    ValueError
        If `class_weight` is something else, names a class that is not there, or has a weight that is not above 0.

    Examples
    --------
    >>> given_class_weights({"b": 4}, np.array(["a", "b"]))
    array([1., 4.])
    """
    if isinstance(class_weight, str) and class_weight == BALANCED:
        return None
    weights = np.ones(len(classes))
    if isinstance(class_weight, Mapping):
        for label, weight in _checked_weights(class_weight, classes).items():
            weights[classes.tolist().index(label)] = weight
    elif class_weight is not None:
        raise ValueError(
            f"class_weight must be None, {BALANCED!r} or a dict of class to weight; got {class_weight!r:.60}."
        )
    return weights


def class_weighted(
    codes: IntArray, classes: AnyArray, weights: FloatArray, class_weight: ClassWeight
) -> tuple[FloatArray, float]:
    """Return the weights of all rows with those of their classes, and what 1 of them is; see `ClassWeights.of`.

    Parameters
    ----------
    codes : integer ndarray of shape (n_rows,)
        Class codes; -1 for a row of no class.
    classes : ndarray of shape (n_classes,)
        The classes.
    weights : ndarray of shape (n_rows,)
        Weights by `sample_weight`, of which the largest is 1.
    class_weight : None, "balanced" or dict of class to weight
        What the user gave.

    Returns
    -------
    weights : ndarray of shape (n_rows,)
        New weights, of which the largest is 1; the same array for None.
    largest : float
        The largest product of a row's weight and that of its class, which is 1 of the new weights.

    Examples
    --------
    >>> class_weighted(np.array([0, 1, 1]), np.array(["a", "b"]), np.ones(3), {"b": 4})
    (array([0.25, 1.  , 1.  ]), 4.0)
    """
    if class_weight is None:
        return weights, 1.0
    counted = (codes >= 0) & (weights > 0)
    totals = np.array(sums_of_limbs(limb_sums(weights[counted], codes[counted], len(classes))))
    largest = np.zeros(len(classes))
    np.maximum.at(largest, codes[counted], weights[counted])
    of_classes = ClassWeights.of(class_weight, classes, totals, largest)
    return of_classes.of_rows(codes, weights), of_classes.largest


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


def _checked_weights(class_weight: Mapping[Any, float], classes: AnyArray) -> dict[Any, float]:
    """Return the weights of a dict, whose keys must be classes and whose values numbers above 0."""
    known = classes.tolist()
    if unknown := [label for label in class_weight if label not in known]:
        raise ValueError(
            f"class_weight names classes that y does not have: {', '.join(map(repr, unknown[:5]))}; the classes are "
            f"{known[:20]}."
        )
    for label, weight in class_weight.items():
        if isinstance(weight, bool) or not (isinstance(weight, Real) and 0 < float(weight) < np.inf):
            raise ValueError(
                f"class_weight gives the class {label!r} the weight {weight!r}; a number above 0 is needed. Leave the "
                "rows of a class that is not to count out of fit."
            )
    return {label: float(weight) for label, weight in class_weight.items()}
