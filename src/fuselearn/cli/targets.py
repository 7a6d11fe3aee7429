"""The column of classes, and labels that views have of their own.

How values are spelled in names of columns, in tables and in JSON.
"""

import math

import numpy as np
import pyarrow
from pyarrow import compute, types

from fuselearn.cli.errors import refuse

MANY_CLASSES = 20
TRUTH = {spelled for word in ("true", "false") for spelled in (word, word.title(), word.upper())}
"""How CSV spells true and false."""
LARGEST = 2**63
"""Beyond all whole numbers that a column can hold."""


def rows_with_target(column):
    """Mask of the rows that have a class, as an Arrow array."""
    known = compute.is_valid(column)
    if types.is_floating(column.type):
        known = compute.and_(known, compute.fill_null(compute.invert(compute.is_nan(column)), False))
    return known


def as_spelled(table, names):
    """A table of CSV whose columns of classes, read as text, are numbers where these would be spelled alike.

    So 1 and 2 are numbers, and 01 and 02 stay what they are.

    Parameters
    ----------
    table : Arrow table
    names : list of str
        Columns of the same classes. They have one type.
    """
    columns = {name: table.column(name) for name in names}
    texts = {text for column in columns.values() for text in compute.unique(column.drop_null()).to_pylist()}
    kind = _kind_as_spelled({text.strip() for text in texts})
    for name, column in columns.items() if kind is not None else ():
        typed = compute.utf8_trim_whitespace(column).cast(kind)
        table = table.set_column(table.column_names.index(name), name, typed)
    return table


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


def model_labels(column, classes, name, path, *, spelled):
    """Labels as the model has them: a file may have 1 where another had 1.0. None may become another one.

    Parameters
    ----------
    column : Arrow array without nulls
    classes : ndarray
        Of the model.
    name, path : str
        For messages.
    spelled : bool
        Whether the column is CSV, read as text, so that its type is open.
    """
    if spelled and classes.dtype.kind not in "UO":
        column = as_spelled(pyarrow.table({name: column}), [name]).column(name)
    y = classes_of(column, name, path)
    if classes.dtype.kind == "U":
        y = y.astype(str)
    elif classes.dtype.kind not in ("O", y.dtype.kind):
        values = y if y.dtype.kind != "U" or classes.dtype.kind == "b" else _numbers(y)
        turned = values.astype(classes.dtype) if values is not None and values.dtype.kind != "U" else None
        other = np.ones(len(y), dtype=bool) if turned is None else turned != values
        if other.any():
            _refuse_label(y[other][0], classes, name, path)
        y = turned
    unknown = sorted(set(y.tolist()) - set(classes.tolist()), key=str)
    if unknown:
        _refuse_label(unknown[0], classes, name, path)
    return y


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


def _kind_as_spelled(texts):
    """Arrow type of classes that are spelled so; None is text."""
    if not texts or texts <= TRUTH:
        return pyarrow.bool_() if texts else None
    numbers = {text: _number(text) for text in texts}
    if None in numbers.values():
        return None
    if not all(number.is_integer() for number in numbers.values()):
        return pyarrow.float64()  # measured: the target is refused, in words that say so
    if all(abs(number) < LARGEST and str(int(number)) == text for text, number in numbers.items()):
        return pyarrow.int64()
    return pyarrow.float64() if all(str(number) == text for text, number in numbers.items()) else None


def _number(text):
    """A finite number, or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def _numbers(y):
    """Texts as numbers; None where one is not."""
    numbers = [_number(text) for text in y.tolist()]
    return None if None in numbers else np.array(numbers)


def _refuse_label(label, classes, name, path):
    label = label.item() if hasattr(label, "item") else label
    refuse(
        f"{path} has the class {label!r} in the target {name!r}; the model's classes are {classes.tolist()[:10]}. "
        "Spell it as one of these, or leave these rows out."
    )


def text_of(label):
    """A class as it stands in names of columns and in JSON."""
    label = label.item() if hasattr(label, "item") else label
    return str(label).lower() if isinstance(label, bool) else str(label)
