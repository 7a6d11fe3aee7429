"""The user's training data, checked and taken apart."""

from dataclasses import dataclass

import numpy as np

from fuselearn.data import (
    ViewBlocks,
    check_presence,
    check_sample_weight,
    check_view_labels,
    encode_labels,
    encode_view_labels,
    read_table,
    resolve_views,
)
from fuselearn.data.training_data import majority_codes


@dataclass(frozen=True)
class TrainingRows:
    """The rows that count, and what is said of them.

    Attributes
    ----------
    blocks : ViewBlocks
    columns : list of intp ndarray
    classes : ndarray of shape (n_classes,)
    codes : list of int32 ndarray of shape (n_rows,)
        Class of each row by each view's own labels.
    agreed : int32 ndarray of shape (n_rows,)
        Class of each row for a model that sees all views: `y`, or the majority of the views' own labels.
    weights : ndarray of shape (n_rows,) or None
        As the user gave them: for a support vector machine, twice the weight is twice the C.
    features : dict
        ``n_features_in_`` and, for a data frame, ``feature_names_in_``.
    """

    blocks: ViewBlocks
    columns: list
    classes: np.ndarray
    codes: list
    agreed: np.ndarray
    weights: np.ndarray | None
    features: dict

    def __len__(self):
        return len(self.agreed)

    @property
    def names(self):
        return [view.name for view in self.blocks]

    def class_prior(self):
        """Weight of each class; a row on which its views disagree counts in parts."""
        present = self.blocks.present
        shares = (np.ones(len(self)) if self.weights is None else self.weights) / present.sum(axis=1)
        prior = sum(
            np.bincount(codes[here], shares[here], minlength=len(self.classes))
            for codes, here in zip(self.codes, present.T)
        )
        return prior / prior.sum()


def read_training_rows(model, X, y, sample_weight, view_labels):
    """Check `fit`'s arguments and resolve the views of `model`, which is not changed."""
    table, y, features = read_table(model, X, y, reset=True)
    names, columns = resolve_views(model.views, X, table.shape[1])
    classes, codes = encode_labels(y)
    weights = check_sample_weight(sample_weight, table)
    counted = np.ones(len(table), dtype=bool) if weights is None else weights > 0
    blocks = ViewBlocks.of(table, names, columns, counted)
    check_presence(blocks.present, names, counted)
    if view_labels is None:
        view_codes = np.repeat(codes[:, None], len(names), axis=1)
    else:
        view_labels = check_view_labels(view_labels, len(table), names)
        view_codes = np.column_stack(encode_view_labels(view_labels, classes, names, blocks.present))
    if not counted.all():
        # Rows of weight 0 are as if not there, whatever a classifier or a split makes of zeros.
        blocks = ViewBlocks.of(table[counted], names, columns)
        view_codes, weights = view_codes[counted], weights[counted]
    agreed = majority_codes(view_codes, blocks.present, len(classes))
    if (agreed == agreed[0]).all():
        what = "rows of X with a positive sample_weight" if view_labels is None else "majority labels of view_labels"
        raise ValueError(f"The {what} are all of one class, {classes.tolist()[agreed[0]]!r}; at least two are needed.")
    own = [np.ascontiguousarray(column) for column in view_codes.T]
    return TrainingRows(blocks, columns, classes, own, agreed, weights, features)
