"""``fuselearn explain``: what views and columns contribute to the decisions on a file's rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fuselearn.cli.console import Notes, counted, interruptible, interrupts, refuse, refusing, say, say_json
from fuselearn.cli.files import check_column, check_output, id_of, open_data, reading, writing
from fuselearn.cli.options import (
    AllowMissingColumns,
    AsJson,
    Data,
    Delimiter,
    Encoding,
    FittedDateFormat,
    FittedDecimal,
    FittedIdentifier,
    FittedNaValues,
    FittedOn,
    FittedViews,
    Force,
    Format,
    Model,
    Strict,
    Trust,
)
from fuselearn.cli.predict import check_no_own_column, output_kind, prediction_file
from fuselearn.cli.saved_models import fitted_source, load_model

if TYPE_CHECKING:
    import pyarrow

    from fuselearn.cli.files import OpenedFile
    from fuselearn.explanation import Explanation

CHUNK_ROWS = 1000
"""Rows that are explained at a time."""
BY = ("columns", "views")
COLUMNS = ("view", "column", "class", "contribution")
"""Columns of the output beside the id."""


def explain(
    model: Model,
    data: Data,
    output: Annotated[str, typer.Option(help="CSV, TSV, Parquet or Feather file; - is standard output.")] = "-",
    by: Annotated[
        str, typer.Option(help="What to explain by: columns or views.", show_default="columns, if the model tells")
    ] = "",
    identifier: FittedIdentifier = None,
    on: FittedOn = None,
    view: FittedViews = None,
    trust: Trust = None,
    allow_missing_columns: AllowMissingColumns = False,
    file_format: Format = None,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    na_values: FittedNaValues = None,
    decimal: FittedDecimal = None,
    date_format: FittedDateFormat = None,
    strict: Strict = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Explain the decision on each row: what each column, or view, contributes to it.

    The output has a line for each row and column: the id (or the number of the row), view, column, class where there
    are more than two, and contribution. The lines of a row add up to its decision value; the one that names no view
    is what the others are added to.
    """
    check_by(by)
    kind = output_kind(output, None)
    if output == "-" and as_json:
        refuse("--json prints to standard output, as the contributions would; name a file with --output.")
    if output != "-":
        check_output(output, force, data, model)
    notes, rows = Notes(as_json), 0
    with interruptible("nothing was written"):
        loaded, note = load_model(model, notes, trust)
    source = fitted_source(
        loaded, note, data, file_format, delimiter, encoding, na_values, on, view, decimal, date_format, strict
    )
    consequence = "what was printed is not all" if output == "-" else "nothing was written"
    with interruptible(consequence), open_data(source, notes) as opened:
        identifier = id_of(identifier, source.on) or note.get("id")
        check_no_own_column(identifier, COLUMNS)
        with writing(output), prediction_file(output, kind, force) as write:
            for explanation, ids in explanations_of(loaded, opened, identifier, note, allow_missing_columns, notes):
                write(_table(explanation, by, ids, identifier, rows))
                if not rows:
                    for line in explanation.notes:
                        notes.add(line)
                rows += len(explanation)
            if rows == 0:
                refuse(f"{opened.source.name} has no rows; at least one must stand below the names of the columns.")
    interrupts.saved("the contributions are written")
    if as_json:
        say_json({"output": output, "rows": rows, "notes": notes.lines})
    elif output != "-":
        say(f"Explained {counted(rows, 'row')}. Wrote {output}.")


def check_by(by: str) -> None:
    """Refuse anything but columns and views."""
    if by and by not in BY:
        refuse(f"--by must be columns or views; got {by!r}.")


def kind_of(explanation: Explanation, by: str) -> Any:
    """Return what is explained; refuse columns of a model that does not tell them."""
    if by == "columns" and explanation.column_values is None:
        refuse(f"--by columns: this model is explained by views only. {' '.join(explanation.notes)}")
    return by or ("views" if explanation.column_values is None else "columns")


def explanations_of(
    model: Any,
    opened: OpenedFile,
    identifier: str | None,
    note: dict[str, Any],
    allow_missing: bool,
    notes: Notes,
) -> Iterator[tuple[Explanation, list[Any] | None]]:
    """Yield explanations of some rows at a time, by the columns of the file, and the ids of the rows."""
    from fuselearn.cli.model_columns import ModelColumns, names_in_order

    if not hasattr(getattr(model, "model_", model), "explain"):
        refuse(f"A {type(getattr(model, 'model_', model)).__name__} does not explain its decisions; fit with fusion.")
    path = opened.source.name
    if identifier is not None and identifier not in opened.names:
        if identifier != note.get("id"):
            check_column(identifier, opened.names, path, "--id")
        notes.add(f"There is no column {identifier!r}: rows are numbered from 1 on.")
        identifier = None
    reserved = [name for name in (identifier, note.get("target")) if name]
    columns = ModelColumns(model, opened.names, path, reserved, allow_missing)
    columns.note_missing(notes)
    names, types = columns.to_read(identifier)
    first_row = 1
    with reading(path, opened.kind):
        for table in opened.batches(names, types, CHUNK_ROWS, columns.verbatim(identifier)):
            for start in range(0, table.num_rows, CHUNK_ROWS):
                part = table.slice(start, CHUNK_ROWS)
                with names_in_order(), refusing(ValueError, TypeError, what=path):
                    explanation = columns.model.explain(columns.matrix(part, first_row))
                if hasattr(model, "columns_"):
                    explanation = explanation.by_names(model.columns_.source_columns())
                ids = None if identifier is None else part.column(identifier).to_pylist()
                yield explanation, ids
                first_row += part.num_rows


def _table(
    explanation: Explanation, by: str, ids: list[Any] | None, identifier: str | None, first: int
) -> pyarrow.Table:
    """Return the lines of some rows, of which the first has a number in the file."""
    import pyarrow

    records = explanation.to_records(kind_of(explanation, by))
    rows = records.pop("row")
    if ids is None or identifier is None:
        named = {"row": [first + row + 1 for row in rows]}
    else:
        named = {identifier: [ids[row] for row in rows]}
    return pyarrow.table(named | records)
