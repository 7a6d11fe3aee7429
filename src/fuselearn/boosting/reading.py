"""The user's training data, checked and taken apart."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import validate_data

from fuselearn.boosting import validation
from fuselearn.views import ViewBlocks, resolve_views

FEATURE_ATTRIBUTES = ("n_features_in_", "feature_names_in_")


@dataclass(frozen=True)
class TrainingRows:
    """The rows that count, with what is said of them.

    Attributes
    ----------
    blocks : ViewBlocks
    columns : list of intp ndarray
    classes : ndarray of shape (n_classes,)
    codes : list of int32 ndarray of shape (n_rows,)
        Class of each row by each view's own labels; the same array for all views that share them.
    weights : ndarray of shape (n_rows,)
    numbers : intp ndarray of shape (n_rows,)
        Where the rows stand in what the user gave; rows of weight 0 are left out.
    n_given : int
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
    numbers: np.ndarray
    n_given: int
    one_label_column: bool
    features: dict

    @property
    def names(self):
        return [view.name for view in self.blocks]

    def labels_of(self, view_number):
        """Labels of the rows in which a view is present."""
        return self.classes[self.codes[view_number][self.blocks.present[:, view_number]]]

    def class_prior(self):
        """Weight of each class; a row on which its views disagree counts in parts."""
        present = self.blocks.present
        shares = self.weights / present.sum(axis=1)
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
    # scikit-learn notes the columns on whom it checks for; a stand-in keeps a failed fit from changing the model.
    bearer = type(model)() if reset else model
    table, y = validate_data(bearer, X, y, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
    features = {name: getattr(bearer, name) for name in FEATURE_ATTRIBUTES if hasattr(bearer, name)}
    names, columns = resolve_views(model.views, X, table.shape[1])
    classes, codes = validation.encode_labels(y)
    weights = validation.check_sample_weight(sample_weight, table)
    numbers = np.flatnonzero(weights > 0)
    n_given = len(table)
    if view_labels is not None:
        view_labels = validation.check_view_labels(view_labels, n_given, names)
    if len(numbers) < n_given:
        table, codes, weights = table[numbers], codes[numbers], weights[numbers]
        view_labels = None if view_labels is None else view_labels[numbers]
    blocks = ViewBlocks.of(table, names, columns)
    validation.check_presence(blocks.present, names, numbers)
    if view_labels is None:
        if len(np.unique(codes)) < 2:
            raise ValueError("The rows with a positive sample_weight are all of one class; y needs two.")
        codes = [codes] * len(names)
    else:
        codes = validation.encode_view_labels(view_labels, classes, names, blocks.present)
    return TrainingRows(
        blocks,
        columns,
        classes,
        codes,
        weights,
        numbers,
        n_given,
        one_label_column=view_labels is None,
        features=features,
    )
