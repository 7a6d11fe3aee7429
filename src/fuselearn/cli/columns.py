"""Columns of a file to learn from: those of views, the classes, labels of single views, and groups of rows.

They are checked before anything is fitted, so that a refusal names the column, the row and the remedy.
"""

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow
from pyarrow import compute, types

from fuselearn.cli.choices import ViewChoice
from fuselearn.cli.console import Notes, refuse
from fuselearn.cli.targets import check_target, classes_of, numbers_to_predict, rows_with_target
from fuselearn.typing import AnyArray, BoolArray, IntArray

if TYPE_CHECKING:
    from fuselearn.cli.fit import Task

MIN_ROWS = 20
"""Rows from which on a column that never repeats itself is taken for a name of the objects."""
INTERVAL_ENDS = ("lower", "upper")
"""Columns of the predictions of numbers."""


@dataclass(frozen=True)
class TrainingTable:
    """The rows of a file that have a class, and which ones have."""

    table: pyarrow.Table
    y: AnyArray
    view_labels: AnyArray | None
    groups: IntArray | None
    labelled: BoolArray
    numbers: bool = False


def training_table(table: pyarrow.Table, task: "Task", path: str, notes: Notes) -> TrainingTable:
    """Return the rows to learn from, checked; those without a class are left out, and that is noted."""
    check_view_columns(table, task.choices, task.categorical, path, notes)
    known = rows_with_target(table.column(task.target))
    labelled: BoolArray = known.to_numpy()
    total, table = table.num_rows, table.filter(known)
    notes.rows_left_out(total - table.num_rows, total, repr(task.target))
    y = classes_of(table.column(task.target), task.target, path)
    numbers = numbers_to_predict(y, task.target, path, task.task, notes)
    if numbers is None:
        check_target(y, task.target, path, notes)
    if task.identifier is not None and task.identifier != task.group:
        note_repeated_ids(table.column(task.identifier), task.identifier, notes)
    for name in id_like(table, [column for choice in task.choices.values() for column in choice.columns])[:1]:
        notes.add(
            f"The column {name!r} has another whole number in each row: if it names the objects, add --id "
            f"{shlex.quote(name)}."
        )
    view_labels = None
    if task.label_columns:
        columns = {name: table.column(name) for name in task.label_columns}
        with_gaps = next((name for name, column in columns.items() if column.null_count), None)
        if with_gaps is not None:
            refuse(f"{path} has rows without a value in the label column {with_gaps!r}; fill or drop them.")
        view_labels = np.column_stack([classes_of(columns[name], name, path) for name in task.label_columns])
    groups = None if task.group is None else groups_of(table.column(task.group), task.group, path, labelled)
    return TrainingTable(table, y if numbers is None else numbers, view_labels, groups, labelled, numbers is not None)


def check_view_columns(
    table: pyarrow.Table, choices: dict[str, ViewChoice], categorical: str, path: str, notes: Notes
) -> None:
    """Refuse columns that hold what a view cannot; `categorical` is for views that do not say it themselves."""
    for view, choice in choices.items():
        # Rows are those of DATA, also where a column comes from another file.
        of_view, of_rows = choice.path or path, f" of {path}" if choice.path else ""
        for name in choice.columns:
            column = table.column(name)
            if types.is_string(column.type):
                from fuselearn.cli.text_columns import check_text_column

                check_text_column(column, name, view, choice.categorical or categorical, of_view, of_rows, notes)
            else:
                _check_type(column.type, name, of_view, view)
                _check_finite(column, name, of_view, of_rows)


def note_repeated_ids(column: pyarrow.ChunkedArray, name: str, notes: Notes) -> None:
    """Note ids that occur more than once."""
    counts = compute.value_counts(column.drop_null().combine_chunks())
    repeated = [pair["values"] for pair in counts.to_pylist() if pair["counts"] > 1]
    if repeated:
        more = f" and {len(repeated) - 1} other ids" if len(repeated) > 1 else ""
        notes.add(
            f"Warning: the id {name!r} has more than one row of {repeated[0]!r}{more}; if they are the same object, "
            f"add --group {shlex.quote(name)}, so that each row is evaluated by models that saw no row of its object."
        )


def id_like(table: pyarrow.Table, names: list[str]) -> list[str]:
    """Return columns of whole numbers that never repeat: perhaps they name the objects."""
    if table.num_rows < MIN_ROWS:
        return []
    whole = [name for name in names if types.is_integer(table.column(name).type)]
    return [name for name in whole if compute.count_distinct(table.column(name)).as_py() == table.num_rows]


def label_columns_of(option: str, view_names: list[str]) -> list[str]:
    """Return the column of each view's own labels, from ``VIEW=COLUMN`` for every view, or columns in their order."""
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


def groups_of(column: pyarrow.ChunkedArray, name: str, path: str, rows: BoolArray) -> IntArray:
    """Return the number of the group of each row; there must be at least two groups, and none may be missing.

    `rows` is the mask of the file's rows that the column is of.
    """
    if types.is_floating(column.type):
        column = compute.if_else(compute.is_nan(column), pyarrow.scalar(None, column.type), column)
    values = column.to_pylist()
    if None in values:
        refuse(
            f"{path} has rows without a value in the group column {name!r}, such as row "
            f"{np.flatnonzero(rows)[values.index(None)] + 1}; give a row that belongs to no other a group of its own."
        )
    groups: IntArray = np.unique([str(value).strip() for value in values], return_inverse=True)[1]
    if groups.max() == 0:
        refuse(f"{path} has one group only in the column {name!r}; rows are judged by those of other groups.")
    return groups


def check_id_name(name: str, *, numbers: bool) -> None:
    """Refuse an id that has the name of a column that predictions of `numbers`, or else of classes, have."""
    if name == "prediction" or (name in INTERVAL_ENDS if numbers else name.startswith("probability_")):
        refuse(f"--id names {name!r}, which predict writes itself; give the column another name.")


def label_facts(model: Any, labels: AnyArray, columns: list[str]) -> dict[str, Any]:
    """Return the share of wrong labels in each label column, and how many look wrong; nothing for other models.

    `labels` are those that it was fitted on, of the `columns` of the file: one for each label column or one for all.
    """
    if not hasattr(model, "suspects"):
        return {}
    given = np.searchsorted(model.classes_, labels.reshape(len(labels), -1))
    rates = {name: float(rate) for name, rate in zip(columns, model.noise_rates_, strict=True)}
    doubts = 1 - np.take_along_axis(model.posterior_, given, axis=1)
    return {"noise_rates": rates, "suspect_labels": int(np.count_nonzero(doubts > 0.5))}


def label_words(facts: dict[str, Any]) -> str:
    """Return these facts in words."""
    rates = facts["noise_rates"]
    shares = ", ".join(f"{rate:.1%}" if len(rates) == 1 else f"{name} {rate:.1%}" for name, rate in rates.items())
    n_labels = facts["suspect_labels"]
    which = "none is" if n_labels == 0 else "1 is" if n_labels == 1 else f"{n_labels} are"
    return f"Labels estimated to be wrong: {shares}; {which} more probably wrong than right"


def _is_number(kind: pyarrow.DataType) -> bool:
    """Check whether values of a type are numbers, true or false, or all missing."""
    return types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_null(kind)


def _check_type(kind: pyarrow.DataType, name: str, path: str, view: str) -> None:
    """Refuse a column that is neither numbers nor text."""
    if _is_number(kind) or types.is_date(kind) or types.is_timestamp(kind):
        return
    if types.is_temporal(kind):
        advice = f"turn it into a number, such as hours, or leave it out: --drop {name!r}"
        refuse(f"{path} has times without a date ({kind}) in the column {name!r} of the view {view!r}; {advice}.")
    if types.is_nested(kind):
        advice = "give each of its values a column of its own, or leave it out of the views"
        refuse(f"{path} has nested values ({kind}) in the column {name!r} of the view {view!r}; {advice}.")
    if types.is_binary(kind) or types.is_large_binary(kind):
        refuse(
            f"{path} is not UTF-8 in the column {name!r} of the view {view!r}; save it as text (for "
            "CSV say what it is: --encoding latin-1, cp1252 or utf-16), or leave it out of the views."
        )
    refuse(f"{path} has {kind} in the column {name!r} of the view {view!r}; leave it out of the views.")


def _check_finite(column: pyarrow.ChunkedArray, name: str, path: str, of_rows: str) -> None:
    """Refuse infinite numbers."""
    if types.is_floating(column.type):
        infinite = compute.is_inf(column)
        if compute.any(infinite).as_py():
            row = compute.index(infinite, True).as_py()
            refuse(
                f"{path} has an infinite value in the column {name!r}, row {row + 1}{of_rows}; leave the cell empty "
                "where nothing was measured."
            )
