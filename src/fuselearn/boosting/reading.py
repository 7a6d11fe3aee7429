"""The user's training data, checked and taken apart."""

from dataclasses import dataclass

import numpy as np

from fuselearn.views import (
    ViewBlocks,
    check_presence,
    check_sample_weight,
    check_view_labels,
    encode_labels,
    encode_view_labels,
    read_table,
    resolve_views,
)


@dataclass(frozen=True)
class TrainingRows:
    """The rows and what is said of them.

    Attributes
    ----------
    blocks : ViewBlocks
        Rows of weight 0 have no view.
    columns : list of intp ndarray
    classes : ndarray of shape (n_classes,)
    codes : list of int32 ndarray of shape (n_rows,)
        Class of each row by each view's own labels; the same array for all views that share them.
    weights : ndarray of shape (n_rows,)
    one_label_column : bool
        Whether all views have the same labels.
    features : dict
        ``n_features_in_`` and, for a data frame, ``feature_names_in_``.
    """

    blocks: ViewBlocks
    columns: list
    classes: np.ndarray
    codes: list
    weights: np.ndarray
    one_label_column: bool
    features: dict

    @property
    def names(self):
        return [view.name for view in self.blocks]

    @property
    def n_counted(self):
        """Number of rows with weight."""
        return int(np.count_nonzero(self.weights))

    @property
    def equal_weights(self):
        """Whether all rows count alike."""
        return bool(np.ptp(self.weights) == 0)

    def labels_of(self, view_number):
        """Labels of the rows in which a view is present."""
        return self.classes[self.codes[view_number][self.blocks.present[:, view_number]]]

    def class_prior(self):
        """Weight of each class; a row on which its views disagree counts in parts."""
        present = self.blocks.present
        shares = self.weights / np.maximum(present.sum(axis=1), 1)
        prior = sum(
            np.bincount(codes[here], shares[here], minlength=len(self.classes))
            for codes, here in zip(self.codes, present.T)
        )
        return prior / prior.sum()


def read_training_rows(model, X, y, sample_weight, view_labels, *, reset):
    """Check `fit`'s arguments and resolve the views of `model`.

    Parameters
    ----------
    model : estimator
        Its `views` are resolved. It is not changed.
    reset : bool
        Whether the columns of `X` may differ from those that the model was fitted on.
    """
    table, y, features = read_table(model, X, y, reset=reset)
    names, columns = resolve_views(model.views, X, table.shape[1])
    classes, codes = encode_labels(y)
    weights = check_sample_weight(sample_weight, table)
    # Sums of very large weights overflow, and those of very small ones vanish.
    weights = np.ones(len(table)) if weights is None else weights / weights.max()
    if view_labels is not None:
        view_labels = check_view_labels(view_labels, len(table), names)
    counted = weights > 0
    blocks = ViewBlocks.of(table, names, columns, None if counted.all() else counted)
    check_presence(blocks.present, names, counted)
    if view_labels is None:
        if len(np.unique(codes[counted])) < 2:
            raise ValueError("The rows with a positive sample_weight are all of one class; y needs two.")
        codes = [codes] * len(names)
    else:
        codes = encode_view_labels(view_labels, classes, names, blocks.present)
    return TrainingRows(blocks, columns, classes, codes, weights, view_labels is None, features)
