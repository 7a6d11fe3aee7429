"""``fuselearn report``: a model on rows that it has not seen, as one HTML page."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fuselearn.cli.console import Notes, counted, interruptible, interrupts, refuse, refusing, say, say_json
from fuselearn.cli.file_kinds import READ_FORMATS
from fuselearn.cli.files import Source, check_column, check_output, id_of, open_data, read_opened, size_of, writing
from fuselearn.cli.options import (
    AllowMissingColumns,
    AsJson,
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
    words_of,
)
from fuselearn.cli.saved_models import fitted_rows, fitted_source, load_model
from fuselearn.exceptions import UnattainableCoverageWarning

if TYPE_CHECKING:
    from fuselearn.cli.files import OpenedFile
    from fuselearn.cli.model_columns import ModelColumns
    from fuselearn.typing import AnyArray, FloatArray, IntArray


def report(
    model: Model,
    data: Annotated[str, typer.Option(help="File of rows that the model has not seen; - is standard input.")],
    output: Annotated[str, typer.Option(help="HTML file to write.")],
    target: Annotated[
        str | None, typer.Option(help="Column of the true classes or numbers.", show_default="the one named at fit")
    ] = None,
    identifier: FittedIdentifier = None,
    on: FittedOn = None,
    view: FittedViews = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
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
    """Write a report: how good the model is, which views matter, which labels look wrong.

    Without the column of the target, it has what can be said without it.
    """
    if output == "-" or Path(output).suffix.lower() not in (".html", ".htm"):
        refuse(f"--output must be a file that ends in .html; got {output!r}.")
    check_output(output, force, data, model)
    notes = Notes(as_json)
    with interruptible("nothing was written"):
        loaded, note = load_model(model, notes, trust)
        source = fitted_source(
            loaded, note, data, file_format, delimiter, encoding, na_values, on, view, decimal, date_format, strict
        )
        options = words_of(
            {
                "--target": target,
                "--id": identifier,
                "--on": on,
                "--view": [file.option for file in source.views],
                "--title": title,
                "--trust": trust,
                "--allow-missing-columns": allow_missing_columns,
                "--format": file_format,
                "--delimiter": delimiter,
                "--encoding": encoding if encoding != "utf-8" else None,
                "--na-values": na_values,
                "--decimal": decimal,
                "--date-format": date_format,
                "--strict": strict,
            }
        )
        with open_data(source, notes) as opened:
            target = column_of(target, note.get("target"), opened, "--target")
            identifier = column_of(id_of(identifier, source.on), note.get("id"), opened, "--id")
            if target is not None and identifier == target:
                refuse(f"--id and --target both name {target!r}.")
            if target is None:
                what = "classes" if hasattr(loaded, "classes_") else "true numbers"
                notes.add(f"There is no column of {what} in the data: the report says nothing about quality.")
            X, y, _, ids, columns, facts = labelled_rows(
                loaded, opened, target, identifier, allow_missing_columns, notes
            )
            has_more = opened.remarks or opened.states_delimiter
            as_pandas = not (facts.pop("padded_labels") or has_more or columns.lost)
            in_python = python_reading(source, columns.dates) if as_pandas else None
        from fuselearn.cli.model_columns import names_in_order

        # An import error names the extra that is missing.
        with refusing(ImportError), names_in_order():
            from fuselearn import FitReport
            from fuselearn.reporting import RegressionReport

            kind = FitReport if hasattr(loaded, "classes_") else RegressionReport
            facts |= {"name": Path(data).name, "training_rows": fitted_rows(note), "options": options, "title": title}
            facts |= {"target": target, "id": identifier, "reading": in_python}
            with (
                refusing(ValueError, TypeError, what=opened.source.name),
                warnings.catch_warnings(record=True) as caught,
            ):
                warnings.simplefilter("always", UnattainableCoverageWarning)
                page = kind(columns.model, X, y, ids=ids, title=title, note={**note, "file": facts})
            notes.add_warnings(caught)
            from fuselearn.persistence import write_atomically

            # Not by its own `save`, which makes no page where a file has appeared meanwhile.
            with writing(output), write_atomically(output, "wb", overwrite=force) as file:
                file.write(page.html.encode("utf-8", "backslashreplace"))
    interrupts.saved(f"{output} is written")
    if as_json:
        summary = {"output": output, "rows": len(X), "notes": notes.lines, "summary": page.summary}
        say_json(summary)
    else:
        say(f"Wrote {output}, {size_of(output)}: {counted(len(X), 'row')}.")


def python_reading(source: Source, dates: list[str]) -> dict[str, Any] | None:
    """Return the function of pandas that reads a file, and its arguments; None where it would read other values."""
    suffixes = [suffix for suffix in Path(source.path).suffixes if suffix != ".gz"]
    kind = source.format or (READ_FORMATS.get(suffixes[-1].lower()) if suffixes else None)
    if kind is None or source.path == "-" or source.on is not None or source.formats:
        return None
    if kind not in ("csv", "tsv"):
        return {"function": f"read_{kind}"}
    given = {
        "sep": source.delimiter or ("\t" if kind == "tsv" else ","),
        "decimal": source.decimal,
        "encoding": source.encoding,
        "na_values": list(source.na_values),
        "parse_dates": dates,
    }
    usual = {"sep": ",", "decimal": ".", "encoding": "utf-8", "na_values": [], "parse_dates": []}
    return {"function": "read_csv", **{name: value for name, value in given.items() if value != usual[name]}}


def column_of(given: str | None, noted: str | None, opened: "OpenedFile", option: str) -> str | None:
    """Return a column that was asked for, which must exist, or that of the fit, if it does."""
    if given is not None:
        check_column(given, opened.names, opened.source.name, option)
        return given
    return noted if noted in opened.names else None


def labelled_rows(
    model: Any,
    opened: "OpenedFile",
    target: str | None,
    identifier: str | None,
    allow_missing: bool,
    notes: Notes,
    group: str | None = None,
) -> "tuple[FloatArray, AnyArray | None, IntArray | None, list[Any], ModelColumns, dict[str, Any]]":
    """Return X, y, groups where `group` is their column, ids, the columns of the model, and facts about the file.

    Where there is no id, ids are the numbers of the rows in the file, from 1 on, counting those without a class.
    """
    import numpy as np
    import pyarrow
    from pyarrow import compute

    from fuselearn.cli.columns import groups_of
    from fuselearn.cli.model_columns import ModelColumns, check_ids
    from fuselearn.cli.regression import target_numbers
    from fuselearn.cli.targets import model_labels, rows_with_target

    path = opened.source.name
    reserved = [name for name in (identifier, target, group) if name]
    columns = ModelColumns(model, opened.names, path, reserved, allow_missing)
    columns.note_missing(notes)
    names, types = columns.to_read(identifier, [target, group])
    if target is not None and not hasattr(model, "classes_"):
        types[target] = pyarrow.float64()
    table = read_opened(opened, names, types, columns.verbatim(identifier))
    total, y, padded = table.num_rows, None, False
    used, ids = np.ones(total, dtype=bool), list(range(1, total + 1))
    if target is not None:
        if hasattr(model, "classes_") and model.classes_.dtype.kind in "iuf":
            some = opened.odd_cells.without_numbers_for_nothing(table.column(target))
            table = table.set_column(table.column_names.index(target), target, some)
        known = rows_with_target(table.column(target))
        table, used = table.filter(known), known.to_numpy()
        ids = [number for number, kept in zip(ids, used) if kept]
        notes.rows_left_out(total - table.num_rows, total, repr(target))
        if table.num_rows == 0:
            refuse(f"{path} has no value in the target {target!r}; leave the column out to report without it.")
        labels = table.column(target)
        if pyarrow.types.is_string(labels.type):
            padded = compute.any(compute.not_equal(labels, compute.utf8_trim_whitespace(labels))).as_py()
        spelled = target not in columns.columns
        if hasattr(model, "classes_"):
            decimal = opened.source.decimal
            y = model_labels(table.column(target), model.classes_, target, path, spelled=spelled, decimal=decimal)
        else:
            y = target_numbers(table.column(target), target, path)
    columns.note_unknown(table, notes)
    if identifier is not None:
        check_ids(table.column(identifier), identifier, path)
        ids = table.column(identifier).to_pylist()
    groups = None if group is None else groups_of(table.column(group), group, path, used)
    facts = {**columns.file_facts(table), "rows_left_out": total - table.num_rows, "padded_labels": padded}
    return columns.matrix(table), y, groups, ids, columns, facts
