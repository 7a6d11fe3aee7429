"""``fuselearn report``: a model on rows that it has not seen, as one HTML page."""

import json
from pathlib import Path
from typing import Annotated

import typer

from fuselearn.cli.errors import Notes, refuse, refusing
from fuselearn.cli.files import (
    AsJson,
    Delimiter,
    Encoding,
    Force,
    Format,
    Model,
    Source,
    check_column,
    open_data,
    read_opened,
)
from fuselearn.cli.outputs import check_output, load_model, size_of, writing


def report(
    model: Model,
    data: Annotated[str, typer.Option(help="File of rows that the model has not seen; - is standard input.")],
    output: Annotated[str, typer.Option(help="HTML file to write.")],
    target: Annotated[
        str | None, typer.Option(help="Column that holds the classes.", show_default="the one named at fit")
    ] = None,
    identifier: Annotated[
        str | None, typer.Option("--id", help="Column that names the objects.", show_default="the one named at fit")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    allow_missing_columns: Annotated[
        bool, typer.Option("--allow-missing-columns", help="Take single columns that the file lacks as missing.")
    ] = False,
    file_format: Format = None,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    force: Force = False,
    as_json: AsJson = False,
):
    """Write a report: how good the model is, which views matter, which labels look wrong.

    Without the column of classes it tells what can be told without them.
    """
    if output == "-" or Path(output).suffix.lower() not in (".html", ".htm"):
        refuse(f"--output must be a file that ends in .html; got {output!r}.")
    check_output(output, force, data, model)
    notes = Notes(as_json)
    loaded, note = load_model(model, notes)
    with open_data(Source(data, file_format, delimiter, encoding)) as opened:
        target = _column(target, note.get("target"), opened, "--target")
        identifier = _column(identifier, note.get("id"), opened, "--id")
        if target is not None and identifier == target:
            refuse(f"--id and --target both name {target!r}.")
        if target is None:
            notes.tell("There is no column of classes in the data: the report says nothing about quality.")
        X, y, ids, columns, facts = _rows(loaded, opened, target, identifier, allow_missing_columns, notes)
    from fuselearn.cli.model_columns import names_in_order

    # An import error names the extra that is missing.
    with refusing(ImportError), names_in_order():
        from fuselearn import FitReport

        with refusing(ValueError, TypeError, what=opened.source.name):
            made = FitReport(columns.model, X, y, ids=ids, title=title, note={**note, "file": facts})
        with writing(output):
            made.save(output, force=force)
    if as_json:
        told = {"output": output, "rows": len(X), "notes": notes.lines, "summary": made.summary}
        typer.echo(json.dumps(told, indent=2, ensure_ascii=False))
    else:
        typer.echo(f"Wrote {output}, {size_of(output)}: {len(X)} rows.")


def _column(given, noted, opened, option):
    """A column that was asked for, which must be there, or that of the fit, if it is."""
    if given is not None:
        check_column(given, opened.names, opened.source.name, option)
        return given
    return noted if noted in opened.names else None


def _rows(model, opened, target, identifier, allow_missing, notes):
    """What of a file is reported on.

    Returns
    -------
    X : ndarray of shape (n_rows, n_numbers)
    y : ndarray of shape (n_rows,) or None
    ids : list
        Where there is no id, numbers of rows in the file, from 1 on, those without a class being counted too.
    columns : ModelColumns
    facts : dict
        What is to be said of the file itself.
    """
    from fuselearn.cli.model_columns import ModelColumns, check_ids
    from fuselearn.cli.targets import model_labels, rows_with_target

    path = opened.source.name
    reserved = [name for name in (identifier, target) if name]
    columns = ModelColumns(model, opened.names, path, reserved, allow_missing)
    columns.tell_missing(notes)
    names, types = columns.to_read(identifier, [target])
    table = read_opened(opened, names, types, columns.verbatim(identifier))
    total, y, ids = table.num_rows, None, range(1, table.num_rows + 1)
    if target is not None:
        known = rows_with_target(table.column(target))
        table, ids = table.filter(known), [number for number, kept in zip(ids, known.to_pylist()) if kept]
        if table.num_rows < total:
            notes.tell(f"{total - table.num_rows} of {total} rows have no {target!r} and are left out.")
        if table.num_rows == 0:
            refuse(f"{path} has no value in the target {target!r}; leave the column out to report without it.")
        spelled = opened.kind in ("csv", "tsv") and target not in columns.columns
        y = model_labels(table.column(target), model.classes_, target, path, spelled=spelled)
    columns.tell_unknown(table, notes)
    if identifier is not None:
        check_ids(table.column(identifier), identifier, path)
        ids = table.column(identifier).to_pylist()
    facts = {**columns.file_facts(table), "rows_left_out": total - table.num_rows}
    return columns.matrix(table), y, list(ids), columns, facts
