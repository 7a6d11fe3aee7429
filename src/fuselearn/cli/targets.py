"""The column of classes, and labels that views have of their own."""

import numpy as np
from pyarrow import compute, types

from fuselearn.cli.refusal import refuse
from fuselearn.cli.spelling import text_of

MANY_CLASSES = 20


def rows_with_target(column):
    """Mask of the rows that have a class, as an Arrow array."""
    known = compute.is_valid(column)
    if types.is_floating(column.type):
        known = compute.and_(known, compute.fill_null(compute.invert(compute.is_nan(column)), False))
    return known


def classes_of(column, name, path):
    """Labels as an array, none of which is missing.

    Parameters
    ----------
    column : Arrow array without nulls
    name, path : str
        For messages.
    """
    kind = column.type
    if types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if types.is_binary(kind) or types.is_large_binary(kind):
        refuse(f"{path} is not UTF-8 in the target {name!r}; save it as UTF-8, or say what it is with --encoding.")
    if types.is_nested(kind):
        refuse(f"{path} has nested values ({kind}) in the target {name!r}; it must hold one class a row.")
    values = np.array(column.to_pylist())
    return values.astype(str) if values.dtype.kind not in "biufU" else values


def check_target(y, name, path):
    """Refuse a target of which no class can be learnt."""
    if len(y) == 0:
        refuse(f"{path} has no value in the target {name!r}; every row needs its class to be learnt from.")
    classes = np.unique(y)
    if len(classes) < 2:
        refuse(
            f"{path} has one class only in the target {name!r}, {text_of(classes[0])!r}; there must be rows of at "
            "least two."
        )
    if y.dtype.kind == "f" and not np.equal(y, np.round(y)).all():
        refuse(
            f"{path} has measured numbers in the target {name!r}, such as {y[y != np.round(y)][0]:g}; fuselearn "
            "learns classes: cut them into some first."
        )
    if len(classes) > max(MANY_CLASSES, len(y) / 2):
        refuse(
            f"{path} has {len(classes)} classes in {len(y)} rows of the target {name!r}; is it an id or a measured "
            "number? Name the column of classes."
        )


def class_counts(y):
    """Rows of each class; a dict of the class as text to their number."""
    classes, counts = np.unique(y, return_counts=True)
    return {text_of(label): int(count) for label, count in zip(classes, counts)}


def label_columns_of(option, view_names):
    """Columns of each view's own labels.

    Parameters
    ----------
    option : str
        ``VIEW=COLUMN`` for every view, or columns in the order of the views, with commas.
    view_names : list of str

    Returns
    -------
    list of str
        A column for each view.
    """
    parts = [part.strip() for part in option.split(",") if part.strip()]
    pairs = dict(part.split("=", 1) for part in parts if "=" in part)
    if not pairs:
        if len(parts) != len(view_names):
            refuse(
                f"--label-columns names {len(parts)} columns, but there are {len(view_names)} views, "
                f"{', '.join(view_names)}; name one for each, or as VIEW=COLUMN."
            )
        return parts
    unknown = [name for name in pairs if name not in view_names]
    if unknown:
        refuse(f"--label-columns names the view {unknown[0]!r}; the views are {', '.join(view_names)}.")
    absent = [name for name in view_names if name not in pairs]
    if absent or len(pairs) < len(parts):
        refuse(
            f"--label-columns has no column for the view {absent[0]!r}; write VIEW=COLUMN for each."
            if absent
            else "--label-columns takes VIEW=COLUMN for every view, or columns only; it has both."
        )
    return [pairs[name] for name in view_names]
