"""Labels to class codes, and back."""

import numpy as np
from sklearn.utils.multiclass import check_classification_targets


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
