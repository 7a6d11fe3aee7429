"""The rows that a fusion learns from, with all that is said of their classes."""

from dataclasses import dataclass

import numpy as np

from fuselearn.consensus.training_data import read_labelled_rows
from fuselearn.data import ViewBlocks, check_sample_weight

LIGHTEST = 1e-9
"""A row that counts no more than this part of the heaviest one counts nothing: rounding would be as large."""


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
    groups : intp ndarray of shape (n_rows,) or None
        Rows of the same number, from 0, belong together.
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
    groups: np.ndarray | None
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


def read_rows(model, X, y, sample_weight, view_labels, groups):
    """Check `fit`'s arguments and resolve the views of `model`, which is not changed."""

    def weights_of(n_rows):
        checked = check_sample_weight(sample_weight, np.empty((n_rows, 0)))
        if checked is None:
            return np.ones(n_rows)
        shares = checked / checked.max()
        return np.where(shares > LIGHTEST, shares, 0.0)

    data = read_labelled_rows(model, X, y, view_labels, lambda n_rows: weights_of(n_rows) > 0)
    n_given = len(data.codes)
    weights = weights_of(n_given)
    kept = np.flatnonzero((weights > 0) & (data.codes >= 0).any(axis=1))
    table = data.blocks.views[0].table
    blocks = data.blocks if len(kept) == n_given else ViewBlocks.of(table[kept], data.names, data.columns)
    weights = weights[kept] / weights[kept].mean()
    if groups is not None:
        groups = _numbered_groups(groups, n_given, kept)
    rows = LabelledRows(
        blocks,
        data.columns,
        data.classes,
        data.column_names,
        data.codes[kept],
        weights,
        groups,
        kept,
        n_given,
        data.features,
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


def _is_gap(name):
    return name is None or (not isinstance(name, str) and str(name) in ("nan", "NaT", "<NA>"))


def _numbered_groups(groups, n_rows, kept):
    """Groups of the rows that count, numbered from 0."""
    # As objects: in an array of text, NaN would be the name "nan".
    names = np.asarray(groups, dtype=object)
    if names.shape != (n_rows,):
        raise ValueError(f"groups must have one entry for each of the {n_rows} rows of X; got shape {names.shape}.")
    unknown = next((row for row, name in enumerate(names) if _is_gap(name)), None)
    if unknown is not None:
        raise ValueError(f"groups has no value for row {unknown}; give a row that belongs to no other one of its own.")
    number_of = {}
    try:
        numbers = np.array([number_of.setdefault(names[row], len(number_of)) for row in kept], dtype=np.intp)
    except TypeError as error:
        raise ValueError(f"groups must hold numbers or names: {error}.") from None
    if numbers.max() == 0:
        raise ValueError(
            "groups puts all rows of X that count into one group, so none could be left out; at least two are needed. "
            "Leave groups out where rows are independent."
        )
    # Each row by itself is what None means, and faster.
    return None if numbers.max() + 1 == len(numbers) else numbers
