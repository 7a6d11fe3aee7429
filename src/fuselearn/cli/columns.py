"""Whether the columns of a file can be those of a view, before anything is fitted."""

import re

import pyarrow
from pyarrow import compute, types

from fuselearn.cli.errors import refuse

MOST_CATEGORIES = 100
"""Of a column of text that is one-hot encoded."""
DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")
FEWEST_ROWS = 20
"""Rows from which on a column that never repeats itself is taken for a name of the objects."""


def check_view_columns(table, choices, categorical, path):
    """Refuse columns that hold what a view cannot.

    Parameters
    ----------
    table : Arrow table
    choices : dict of view name to ViewChoice
    categorical : str
        What happens to text in views that do not say it themselves.
    path : str
        For messages.
    """
    for view, choice in choices.items():
        for name in choice.columns:
            column = table.column(name)
            if is_text(column.type):
                _check_text(column, name, view, choice.categorical or categorical, path)
            else:
                check_type(column.type, name, path, view)
                check_finite(column, name, path)


def is_text(kind):
    """Whether an Arrow type is text, or categories of it."""
    if types.is_dictionary(kind):
        kind = kind.value_type
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def is_number(kind):
    """Whether values of an Arrow type are numbers, true or false, or never there."""
    return (
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_boolean(kind)
        or types.is_null(kind)
    )


def check_type(kind, name, path, view):
    """Refuse a column that is neither numbers nor text."""
    if is_number(kind) or (types.is_dictionary(kind) and is_number(kind.value_type)):
        return
    if types.is_temporal(kind):
        advice = "turn it into a number, such as days since the first, or leave it out of the views"
        refuse(f"{path} has dates or times ({kind}) in the column {name!r} of the view {view!r}; {advice}.")
    if types.is_nested(kind):
        advice = "give each of its values a column of its own, or leave it out of the views"
        refuse(f"{path} has nested values ({kind}) in the column {name!r} of the view {view!r}; {advice}.")
    if types.is_binary(kind) or types.is_large_binary(kind):
        refuse(
            f"{path} is not UTF-8 in the column {name!r}; save it as UTF-8, or say what it is: --encoding latin-1, "
            "cp1252 or utf-16."
        )
    refuse(f"{path} has {kind} in the column {name!r} of the view {view!r}; leave it out of the views.")


def check_finite(column, name, path):
    """Refuse infinite numbers."""
    if types.is_floating(column.type):
        infinite = compute.is_inf(column)
        if compute.any(infinite).as_py():
            row = compute.index(infinite, True).as_py()
            refuse(
                f"{path} has an infinite value in the column {name!r}, row {row + 1}; leave the cell empty where "
                "nothing was measured."
            )


def id_like(table, names):
    """Columns of whole numbers that never repeat: perhaps they name the objects."""
    if table.num_rows < FEWEST_ROWS:
        return []
    whole = [name for name in names if types.is_integer(table.column(name).type)]
    return [name for name in whole if compute.count_distinct(table.column(name)).as_py() == table.num_rows]


def _check_text(column, name, view, categorical, path):
    texts = compute.unique(column.drop_null())
    if types.is_dictionary(texts.type):
        texts = texts.dictionary_decode()
    texts = texts.to_pylist()
    numbers = [text for text in texts if _reads_as_number(text)]
    others = [text for text in texts if not _reads_as_number(text)]
    where = f"{path} has text in the column {name!r} of the view {view!r}"
    if others and sum(map(bool, map(DECIMAL_COMMA.fullmatch, others))) == len(others):
        refuse(f"{where}, such as {others[0]!r}: numbers with a decimal comma; write them with a point.")
    if numbers and others and len(numbers) >= len(others):
        refuse(
            f"{where}, such as {others[0][:40]!r} in row {_row(column, others[0])}, among numbers; mend these cells, "
            "or leave them empty."
        )
    if categorical == "none":
        refuse(
            f"{where}, which is to hold numbers only; encode it (--categorical onehot or target), or leave it out of "
            "the view."
        )
    rows = len(column) - column.null_count
    if len(texts) > MOST_CATEGORIES and categorical == "onehot":
        refuse(
            f"{where} with {len(texts)} different values, too many for a column each; leave it out of the views, name "
            "it with --id if it names the objects, or add --categorical target."
        )
    if len(texts) > rows / 2 and rows >= FEWEST_ROWS:
        refuse(
            f"{where} with {len(texts)} different values in {rows} rows, of which nothing can be learnt; leave it out "
            "of the views, or name it with --id if it names the objects."
        )


def _row(column, text):
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return compute.index(column, pyarrow.scalar(text, column.type)).as_py() + 1


def _reads_as_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True
