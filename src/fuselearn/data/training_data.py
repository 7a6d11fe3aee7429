"""Labels to class codes, and back.

Weights of rows.

One label column from several: what most of the views say.
"""

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length


def encode_labels(y):
    """Classes in sorted order, and the class code of each row."""
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must hold at least two classes; it has one class only, {classes.tolist()}.")
    return classes, codes.astype(np.int32)


def encode_known(labels, classes, what):
    """Class codes of labels that must be among the classes."""
    code_of = {label: code for code, label in enumerate(classes.tolist())}
    distinct, where = np.unique(labels, return_inverse=True) if labels.dtype.kind != "O" else (labels, None)
    codes = [code_of.get(label, -1) for label in distinct.tolist()]
    unknown = [label for label, code in zip(distinct.tolist(), codes) if code < 0]
    if unknown:
        shown = list(dict.fromkeys(map(repr, unknown)))[:5]
        raise ValueError(
            f"{what} holds labels that are not among the classes: {', '.join(shown)}; the classes are "
            f"{classes.tolist()[:20]}."
        )
    codes = np.array(codes, dtype=np.int32)
    return codes if where is None else codes[where]


def check_view_labels(view_labels, n_rows, view_names):
    """`view_labels` as an array with a column per view."""
    names = [str(name) for name in getattr(view_labels, "columns", [])]
    labels = np.asarray(view_labels)
    expected = (n_rows, len(view_names))
    if labels.shape != expected:
        raise ValueError(
            f"view_labels must have shape (n_samples, n_views) = {expected}, one column for each of the views "
            f"{view_names}; got shape {labels.shape}."
        )
    if sorted(names) == sorted(view_names):
        # The columns of a data frame that are named as the views belong to them, in whatever order they stand.
        labels = labels[:, [names.index(name) for name in view_names]]
    return labels


def encode_view_labels(labels, classes, view_names, present):
    """Class codes of each view's own labels. A label is not looked at where its view is absent."""
    codes = []
    for name, column, here in zip(view_names, labels.T, present.T):
        view_codes = np.zeros(len(column), dtype=np.int32)
        view_codes[here] = encode_known(column[here], classes, f"view_labels of the view {name!r}")
        codes.append(view_codes)
    return codes


def check_sample_weight(sample_weight, X):
    """Weights as an array of floats, or None where none are given."""
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
        raise ValueError("sample_weight holds NaN or infinity; weights are finite numbers.")
    if (weights < 0).any():
        raise ValueError(f"sample_weight holds negative weights, the least {weights.min()}; none may be.")
    if not (weights > 0).any():
        raise ValueError("sample_weight is zero for every row; at least one row must count.")
    return weights


def majority_codes(codes, present, n_classes):
    """The class that most of a row's present views name.

    A tie goes to the first view that names one of the tied classes: the lowest class would be favoured without reason.

    Parameters
    ----------
    codes : int ndarray of shape (n_rows, n_views)
        Class code of each row by each view.
    present : bool ndarray of shape (n_rows, n_views)
    n_classes : int

    Returns
    -------
    int32 ndarray of shape (n_rows,)
        -1 where no view is present.

    Examples
    --------
    >>> import numpy as np
    >>> majority_codes(np.array([[0, 1, 1], [1, 0, 0], [2, 0, 1]]), np.array([[1, 1, 1], [1, 1, 0], [1, 1, 1]]) > 0, 3)
    array([1, 1, 2], dtype=int32)
    """
    everyone = np.arange(len(codes))
    counts = np.zeros((len(codes), n_classes), dtype=np.intp)
    for column, here in zip(codes.T, present.T):
        counts[everyone[here], column[here]] += 1
    most = counts.max(axis=1)
    agreed = np.full(len(codes), -1, dtype=np.int32)
    for column, here in zip(codes.T, present.T):
        chosen = here & (agreed < 0) & (counts[everyone, column] == most)
        agreed[chosen] = column[chosen]
    return agreed
