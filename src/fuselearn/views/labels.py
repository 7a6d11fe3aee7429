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
