"""A part of the rows as the user gave it, and what has to be known of all parts before the first round."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_array, column_or_1d

from fuselearn.data import ViewBlocks, check_sample_weight, encode_known, encode_view_labels
from fuselearn.numeric.exact_sums import fingerprint, limb_sums


@dataclass(frozen=True)
class RawPart:
    """Rows that follow each other, and what is said of them.

    Attributes
    ----------
    where : str
        In words, for messages: "partition 3".
    table : float ndarray of shape (n_rows, n_features)
    labels : ndarray of shape (n_rows,)
    weights : ndarray of shape (n_rows,) or None
    view_labels : ndarray of shape (n_rows, n_views) or None
    """

    where: str
    table: np.ndarray
    labels: np.ndarray
    weights: np.ndarray | None
    view_labels: np.ndarray | None

    @classmethod
    def of(cls, where, X, y, weights=None, view_labels=None):
        """Check a part. Messages name it, since a cluster's own do not."""
        try:
            table = check_array(
                X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", ensure_min_samples=0, input_name="X"
            )
            y = np.asarray(y)
            _check_no_label_is_missing(y)
            y = column_or_1d(check_array(y, ensure_2d=False, dtype=None, ensure_min_samples=0, input_name="y"))
            for name, values in (("y", y), ("sample_weight", weights), ("view_labels", view_labels)):
                if values is not None and len(values) != len(table):
                    raise ValueError(f"X has {len(table)} rows and {name} has {len(values)}; cut both at the same rows")
            if weights is not None:
                weights = np.asarray(weights, dtype=np.float64)
                if len(weights) and weights.any():
                    check_sample_weight(weights, table)
            view_labels = None if view_labels is None else np.asarray(view_labels)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
        return cls(where, table, y, weights, view_labels)

    def __len__(self):
        return len(self.table)


def _check_no_label_is_missing(labels):
    """Refuse None, NaN and pandas' NA among labels that are not numbers, which cannot be sorted."""
    if labels.dtype.kind != "O":
        return
    for number, label in enumerate(labels.ravel()):
        if label is None or type(label).__name__ in ("NAType", "NaTType") or (label != label):
            raise ValueError(
                f"y has missing labels, the first, {label!r}, in row {number} there; leave such rows out of fit, or "
                "give them a label"
            )


@dataclass(frozen=True)
class Facts:
    """What has to be known of a part before it is known what the classes are.

    Attributes
    ----------
    n_rows, n_counted : int
        All rows, and those with weight.
    labels : ndarray
        Distinct labels of y.
    counted_labels : int
        Number of distinct labels among the rows with weight.
    present : int ndarray of shape (n_views,)
        Number of rows that have each view.
    row_of_nothing : int or None
        The first row with weight and without any view.
    weights : (float, float)
        Least and largest.
    kind : str
        Of the numbers of the table.
    """

    n_rows: int
    n_counted: int
    labels: np.ndarray
    counted_labels: np.ndarray
    present: np.ndarray
    row_of_nothing: int | None
    weights: tuple
    kind: str


def facts_of(raw, names, columns):
    """Look at a part for the first time."""
    counted = None if raw.weights is None else raw.weights > 0
    blocks = ViewBlocks.of(raw.table, names, columns, counted)
    nothing = ~blocks.present.any(axis=1)
    if counted is not None:
        nothing &= counted
    labels = np.unique(raw.labels)
    extremes = (1.0, 1.0) if raw.weights is None else (raw.weights.min(initial=np.inf), raw.weights.max(initial=0.0))
    return Facts(
        len(raw),
        len(raw) if counted is None else int(np.count_nonzero(counted)),
        labels,
        labels if counted is None else np.unique(raw.labels[counted]),
        blocks.present.sum(axis=0),
        int(np.flatnonzero(nothing)[0]) if nothing.any() else None,
        extremes,
        str(raw.table.dtype),
    )


@dataclass(frozen=True)
class Reading:
    """How parts are read once the classes are known.

    Attributes
    ----------
    names : list of str
    columns : list of intp ndarray
    classes : ndarray
    largest_weight : float
    """

    names: list
    columns: list
    classes: np.ndarray
    largest_weight: float

    def blocks_of(self, raw):
        counted = None if raw.weights is None else raw.weights > 0
        return ViewBlocks.of(raw.table, self.names, self.columns, None if counted is None or counted.all() else counted)

    def codes_of(self, raw, blocks):
        """Class codes by each view's labels; one array for all views that share them."""
        try:
            if raw.view_labels is None:
                return [encode_known(raw.labels, self.classes, "y")] * len(self.names)
            return encode_view_labels(raw.view_labels, self.classes, self.names, blocks.present)
        except ValueError as error:
            raise ValueError(f"{raw.where}: {error}") from None

    def weights_of(self, raw):
        """Weights between 0 and 1, as a whole fit scales them."""
        return np.ones(len(raw)) if raw.weights is None else raw.weights / self.largest_weight


def weigh(raw, reading):
    """Exact sums over a part: of all weights, and of those of each class (as limbs)."""
    blocks = reading.blocks_of(raw)
    weights = reading.weights_of(raw)
    # A row on which its views disagree counts in parts.
    shares = weights / np.maximum(blocks.present.sum(axis=1), 1)
    n_classes = len(reading.classes)
    prior = sum(
        limb_sums(shares[here], codes[here], n_classes)
        for codes, here in zip(reading.codes_of(raw, blocks), blocks.present.T)
    )
    return limb_sums(weights, np.zeros(len(raw), dtype=np.int8), 1), prior


def answers_of(raw, reading, questions):
    """Answer what learners ask about their views before the first round; comes with what `weigh` says.

    Parameters
    ----------
    questions : list of (view number, question, number of rows of the view before this part)
    """
    views = reading.blocks_of(raw).views
    return weigh(raw, reading), [question(views[number], first) for number, question, first in questions]


def fingerprints_of(raw, reading):
    """Numbers that stand for the values, the labels and the weights of a part."""
    blocks = reading.blocks_of(raw)
    codes = reading.codes_of(raw, blocks)[: 1 if raw.view_labels is None else None]
    return (
        fingerprint(raw.table),
        fingerprint(np.column_stack(codes)),
        fingerprint(reading.weights_of(raw)[:, None]),
    )


@dataclass(frozen=True)
class Header:
    """The columns of a view whose rows are elsewhere."""

    name: str
    n_columns: int
