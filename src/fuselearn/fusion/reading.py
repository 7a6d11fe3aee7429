"""The user's training data, checked and taken apart."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_consistent_length

from fuselearn.fusion.majority import majority_codes
from fuselearn.views import ViewBlocks, check_presence, encode_known, encode_labels, read_table, resolve_views


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
    weights = _checked_weights(sample_weight, table)
    counted = np.ones(len(table), dtype=bool) if weights is None else weights > 0
    blocks = ViewBlocks.of(table, names, columns, counted)
    check_presence(blocks.present, names, counted)
    if view_labels is None:
        view_codes = np.repeat(codes[:, None], len(names), axis=1)
    else:
        view_codes = _checked_view_labels(view_labels, classes, names, blocks.present)
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


def _checked_weights(sample_weight, table):
    """Weights as an array of floats, or None."""
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"sample_weight must hold numbers; got {sample_weight!r:.60}.") from None
    if weights.ndim == 0:
        weights = np.full(len(table), float(weights))
    if weights.ndim != 1:
        raise ValueError(f"sample_weight must be 1-D, a weight per row; got shape {weights.shape}.")
    check_consistent_length(table, weights)
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight holds NaN or infinity; weights are finite numbers.")
    if (weights < 0).any():
        raise ValueError(f"sample_weight holds negative weights, the least {weights.min()}; none may be.")
    if not (weights > 0).any():
        raise ValueError("sample_weight is zero for every row; at least one row must count.")
    return weights


def _checked_view_labels(view_labels, classes, view_names, present):
    """Class codes by each view's own labels; a label is not looked at where its view is absent."""
    names = [str(name) for name in getattr(view_labels, "columns", [])]
    labels = np.asarray(view_labels)
    if labels.shape != present.shape:
        raise ValueError(
            f"view_labels must have shape (n_samples, n_views) = {present.shape}, one column for each of the views "
            f"{view_names}; got shape {labels.shape}."
        )
    if sorted(names) == sorted(view_names):
        # The columns of a data frame that are named as the views belong to them, in whatever order they stand.
        labels = labels[:, [names.index(name) for name in view_names]]
    codes = np.zeros(labels.shape, dtype=np.int32)
    for number, name in enumerate(view_names):
        here = present[:, number]
        codes[here, number] = encode_known(labels[here, number], classes, f"view_labels of the view {name!r}")
    return codes
