"""The rows that a fusion learns from, with all that is said of their classes."""

from dataclasses import dataclass

import numpy as np

from fuselearn.consensus.reading import read_labelled_rows
from fuselearn.views import ViewBlocks, check_sample_weight


@dataclass(frozen=True)
class LabelledRows:
    """Rows that count and have a label.

    Attributes
    ----------
    blocks : ViewBlocks
    columns : list of intp ndarray
    classes : ndarray of shape (n_classes,)
    label_columns : list of str
    codes : int32 ndarray of shape (n_rows, n_label_columns)
        -1 where a column has no label.
    weights : ndarray of shape (n_rows,)
        The user's, with mean 1.
    kept : intp ndarray of shape (n_rows,)
        Their numbers in `X`.
    n_given : int
        Number of rows of `X`.
    features : dict
    """

    blocks: ViewBlocks
    columns: list
    classes: np.ndarray
    label_columns: list
    codes: np.ndarray
    weights: np.ndarray
    kept: np.ndarray
    n_given: int
    features: dict

    def __len__(self):
        return len(self.kept)

    @property
    def names(self):
        return [view.name for view in self.blocks]

    def votes(self):
        """Share of the label columns that name each class; of shape (n_rows, n_classes)."""
        counts = np.zeros((len(self), len(self.classes)))
        everyone = np.arange(len(self))
        for column in self.codes.T:
            given = column >= 0
            counts[everyone[given], column[given]] += 1
        return counts / counts.sum(axis=1, keepdims=True)

    def everywhere(self, values):
        """Values of these rows at their places among all rows of `X`; NaN for the others."""
        if len(self) == self.n_given:
            return values
        placed = np.full((self.n_given, *values.shape[1:]), np.nan)
        placed[self.kept] = values
        return placed


def read_rows(model, X, y, sample_weight, view_labels):
    """Check `fit`'s arguments and resolve the views of `model`, which is not changed."""

    def weights_of(n_rows):
        checked = check_sample_weight(sample_weight, np.empty((n_rows, 0)))
        return np.ones(n_rows) if checked is None else checked

    data = read_labelled_rows(model, X, y, view_labels, lambda n_rows: weights_of(n_rows) > 0)
    n_given = len(data.codes)
    weights = weights_of(n_given)
    kept = np.flatnonzero((weights > 0) & (data.codes >= 0).any(axis=1))
    table = data.blocks.views[0].table
    blocks = data.blocks if len(kept) == n_given else ViewBlocks.of(table[kept], data.names, data.columns)
    weights = weights[kept] / weights[kept].mean()
    rows = LabelledRows(
        blocks, data.columns, data.classes, data.column_names, data.codes[kept], weights, kept, n_given, data.features
    )
    _check_views_seen(rows)
    if np.count_nonzero(rows.votes().sum(axis=0)) < 2:
        what = "rows of X with a positive sample_weight" if view_labels is None else "labels of view_labels"
        raise ValueError(f"The {what} are all of one class; at least two are needed.")
    return rows


def _check_views_seen(rows):
    unseen = np.flatnonzero(~rows.blocks.present.any(axis=0))
    if len(unseen):
        raise ValueError(
            f"The view {rows.names[unseen[0]]!r} is absent (all NaN) in every row of X that counts; leave it out of "
            "views."
        )
