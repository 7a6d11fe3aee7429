"""The user's rows and labels, checked and taken apart."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from fuselearn.data import read_table, resolve_views
from fuselearn.learners.sklearn_learner import takes_nan

LIST_OF_LABELS = (
    "Y must be an indicator matrix of shape (n_samples, n_labels) that holds 0 and 1; got a list of label sets. "
    "sklearn.preprocessing.MultiLabelBinarizer().fit_transform(Y) makes one of it."
)


@dataclass(frozen=True)
class Labels:
    """The labels of the rows.

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

    signs: np.ndarray
    names: list
    classes: object
    one_column: bool


@dataclass(frozen=True)
class TrainingData:
    """Rows and labels.

    Attributes
    ----------
    X : ndarray or sparse array of shape (n_rows, n_features)
    labels : Labels
    view_names : list of str
    view_columns : list of intp ndarray
    features : dict
        ``n_features_in_`` and, for a data frame, ``feature_names_in_``.
    """

    X: object
    labels: Labels
    view_names: list
    view_columns: list
    features: dict


def read_training_data(model, X, Y, estimator):
    """Check `fit`'s arguments and resolve the views of `model`, which is not changed."""
    if _is_list_of_label_sets(Y):
        raise ValueError(LIST_OF_LABELS)
    if len(getattr(Y, "shape", ())) == 2 and Y.shape[1] == 0:
        raise ValueError(f"Y must have at least one label; got shape {Y.shape}.")
    names = _column_names(Y)
    table, Y, features = read_table(
        model,
        X,
        Y,
        reset=True,
        accept_sparse=["csr", "csc"],
        multi_output=True,
        ensure_all_finite=finite_rule(estimator),
    )
    labels = read_one_label(Y) if Y.ndim == 1 else read_indicator(Y, names)
    view_names, view_columns = resolve_views(model.views, X, table.shape[1])
    return TrainingData(table, labels, view_names, view_columns, features)


def finite_rule(estimator):
    """What `validate_data` asks of X: NaN passes where the base model takes it."""
    return "allow-nan" if takes_nan(estimator) else True


def read_one_label(y):
    """A 1-D target of two classes, as one label."""
    check_classification_targets(y)
    kind = type_of_target(y, input_name="y")
    classes, codes = np.unique(y, return_inverse=True)
    if kind != "binary":
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}. For {len(classes)} classes, "
            "pass an indicator matrix with a column for each."
        )
    if len(classes) < 2:
        raise ValueError(f"y must hold two classes; it has one class only, {classes.tolist()}.")
    signs = np.where(codes == 1, 1, -1).astype(np.int8)[None, :]
    return Labels(signs, ["label0"], classes, True)


def read_indicator(Y, names=None, *, mixed=True):
    """An indicator matrix, dense or sparse; `mixed` asks for a positive and a negative row for every label."""
    if issparse(Y):
        Y = Y.toarray()
    is_one = Y == 1
    strange = ~(is_one | (Y == 0))
    if strange.any():
        row, column = np.argwhere(strange)[0]
        raise ValueError(
            f"Y must be an indicator matrix that holds 0 and 1 only; got {Y[row, column]!r} in row {row}, "
            f"column {column}."
        )
    signs = np.where(is_one.T, 1, -1).astype(np.int8, order="C")
    if names is None or len(names) != len(signs):
        names = [f"label{number}" for number in range(len(signs))]
    n_positives = np.count_nonzero(is_one, axis=0)
    for lack, labels in (("positive", n_positives == 0), ("negative", n_positives == len(is_one))):
        if mixed and labels.any():
            shown = [f"{names[label]!r} (column {label})" for label in np.flatnonzero(labels)[:5]]
            raise ValueError(
                f"Y must have positive and negative rows for every label; {np.count_nonzero(labels)} of {len(signs)} "
                f"have no {lack} row: {', '.join(shown)}. Leave such labels out."
            )
    return Labels(signs, names, label_classes(len(signs)), False)


def label_classes(n_labels):
    """What `classes_` is for an indicator matrix: the numbers of the labels; a list of 0 and 1 each for one or two.

    scikit-learn has both forms. Its scorers tell by `classes_` what a model predicts, and take the numbers 0, or 0 and
    1, for two classes: they turn scores round or drop a column. Its checks of estimators want numbers for three labels.
    """
    return np.arange(n_labels) if n_labels > 2 else [np.array([0, 1]) for _ in range(n_labels)]


def _column_names(Y):
    names = getattr(Y, "columns", None)
    return None if names is None else [str(name) for name in names]


def _is_list_of_label_sets(Y):
    """Whether rows are sets, or lists that differ in length or hold words."""
    if not isinstance(Y, list | tuple) or not len(Y):
        return False
    if any(isinstance(row, set | frozenset) for row in Y):
        return True
    rows = [row for row in Y if isinstance(row, list | tuple)]
    if not rows:
        return False
    return len({len(row) for row in rows}) > 1 or any(isinstance(value, str) for row in rows for value in row)
