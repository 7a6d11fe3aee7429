"""The user's rows and label columns, checked and taken apart."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fuselearn.data import (
    ViewBlocks,
    check_presence,
    check_view_labels,
    encode_known,
    encode_labels,
    per_view,
    read_table,
    resolve_views,
)
from fuselearn.learners.sklearn_learner import check_classifier, takes_nan


@dataclass(frozen=True)
class LabelledRows:
    """The rows and the labels that were given to them.

    Attributes
    ----------
    blocks : ViewBlocks
    columns : list of intp ndarray
    classes : ndarray of shape (n_classes,)
    column_names : list of str
        ``["y"]``, or the names of the views whose labels they are.
    codes : int32 ndarray of shape (n_rows, n_label_columns)
        -1 where a column has no label.
    features : dict
    """

    blocks: ViewBlocks
    columns: list
    classes: np.ndarray
    column_names: list
    codes: np.ndarray
    features: dict

    @property
    def names(self):
        return [view.name for view in self.blocks]

    def codes_of_views(self):
        """The labels that each view learns from, of shape (n_rows, n_views); -1 where it is absent."""
        return np.where(self.blocks.present, self.codes, -1)

    def first_labels(self):
        """One label of each row, for splitters that stratify; 0 where there is none."""
        first = (self.codes >= 0).argmax(axis=1)
        return np.maximum(self.codes[np.arange(len(self.codes)), first], 0)


def read_labelled_rows(model, X, y, view_labels, counted=None):
    """Check `fit`'s arguments and resolve the views of `model`, which is not changed.

    `counted`, a function of the number of rows, gives a mask of those that count; None is all of them.
    """
    table, y, features = read_table(model, X, y, reset=True)
    names, columns = resolve_views(model.views, X, table.shape[1])
    classes, codes = encode_labels(y)
    blocks = ViewBlocks.of(table, names, columns)
    check_presence(blocks.present, names, np.ones(len(table), dtype=bool) if counted is None else counted(len(table)))
    if view_labels is None:
        column_names, codes = ["y"], codes[:, None]
    else:
        column_names, codes = names, _encoded_view_labels(view_labels, classes, names, blocks.present)
    return LabelledRows(blocks, columns, classes, column_names, codes, features)


def check_rows_per_class(data, cv):
    """Refuse a number of folds that a class of some view's labels is too rare for."""
    if not isinstance(cv, Integral):
        return
    own = data.codes_of_views()
    for number, name in enumerate(data.names):
        counts = np.bincount(own[own[:, number] >= 0, number], minlength=len(data.classes))
        rare = np.flatnonzero((counts > 0) & (counts < cv))
        if len(rare):
            raise ValueError(
                f"cv={cv} needs at least {cv} objects of each class in every view, but the view {name!r} has "
                f"{counts[rare[0]]} of the class {data.classes.tolist()[rare[0]]!r}; lower cv, or leave the class out."
            )
        if np.count_nonzero(counts) < 2:
            raise ValueError(
                f"The labels of the view {name!r} must be of at least two classes, where it is present; there is "
                f"{np.count_nonzero(counts)}."
            )


def estimators_of_views(estimator, names, n_classes):
    """The classifier of each view, checked: one that says how sure it is."""
    estimators = [
        default_estimator() if chosen is None else chosen
        for chosen in per_view("estimator", estimator, names, complete=True)
    ]
    for name, chosen in zip(names, estimators):
        check_classifier(chosen)
        if not hasattr(chosen, "decision_function") and not hasattr(chosen, "predict_proba"):
            raise TypeError(
                f"estimator must have decision_function or predict_proba, since a label is judged by how sure the "
                f"views are; got {chosen!r} for the view {name!r}, which has neither."
            )
        for parameter, value in chosen.get_params(deep=True).items():
            if parameter.split("__")[-1] == "decision_function_shape" and value != "ovr" and n_classes > 2:
                raise ValueError(
                    f"estimator has {parameter}={value!r} for the view {name!r}, whose decision values are of pairs of "
                    "classes; set it to 'ovr'."
                )
    return estimators


def default_estimator():
    """An RBF support vector machine on standardised columns, means in gaps, with classes of equal weight."""
    return make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler(), SVC(class_weight="balanced"))


def view_tables(blocks, estimators):
    """The rows that have each view; an error where they have gaps that the classifier does not take."""
    tables = []
    for view, estimator in zip(blocks, estimators):
        tables.append(view.array())
        if not takes_nan(estimator) and np.isnan(tables[-1]).any():
            raise ValueError(
                f"The view {view.name!r} has NaN inside rows in which it is present, which {estimator!r} does not take."
                " Put an imputer before it, e.g. estimator=make_pipeline(SimpleImputer(), StandardScaler(), SVC())."
            )
    return tables


def _encoded_view_labels(view_labels, classes, view_names, present):
    """Class codes by each view's own labels; -1 where a view is absent or has given no label (NaN or None)."""
    labels = check_view_labels(view_labels, len(present), view_names)
    codes = np.full(labels.shape, -1, dtype=np.int32)
    for number, name in enumerate(view_names):
        given = present[:, number] & ~_no_label(labels[:, number])
        if not given.any():
            raise ValueError(f"view_labels has no label for any row of the view {name!r}; leave the view out.")
        codes[given, number] = encode_known(labels[given, number], classes, f"view_labels of the view {name!r}")
    return codes


def _no_label(column):
    if column.dtype.kind == "f":
        return np.isnan(column)
    if column.dtype.kind != "O":
        return np.zeros(len(column), dtype=bool)
    return np.array([label is None or _is_unknown(label) for label in column], dtype=bool)


def _is_unknown(label):
    """Whether it is NaN, or the missing value of a data frame: neither is equal to itself."""
    same = label == label
    return not (isinstance(same, bool | np.bool_) and same)
