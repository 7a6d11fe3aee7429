"""``fuselearn suspects``: the training labels of a model that look wrong."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fuselearn.cli.console import (
    Notes,
    check_count,
    counted,
    interruptible,
    interrupts,
    refuse,
    refusing,
    say,
    say_json,
    say_lines,
)
from fuselearn.cli.files import (
    Source,
    check_column,
    check_output,
    open_data,
    read_opened,
    writing,
)
from fuselearn.cli.options import (
    AsJson,
    Delimiter,
    Encoding,
    FittedIdentifier,
    FittedNaValues,
    Force,
    Format,
    Model,
    Trust,
)
from fuselearn.cli.predict import check_no_own_column, output_kind, prediction_file
from fuselearn.cli.saved_models import fitted_rows, fitted_source, load_model

if TYPE_CHECKING:
    import pyarrow

    from fuselearn.records import Records
    from fuselearn.typing import IntArray

COLUMNS = ("row", "column", "given", "proposed", "probability")
"""Columns of the output beside the id."""


def suspects(
    model: Model,
    data: Annotated[
        str | None, typer.Option(help="File that the model was fitted on, for the ids; without it, rows have numbers.")
    ] = None,
    output: Annotated[
        str | None, typer.Option(help="CSV, TSV, Parquet or Feather file for all of them; - is standard output.")
    ] = None,
    number: Annotated[
        int | None,
        typer.Option(help="Number of labels to list.", show_default="all that are more probably wrong than right"),
    ] = None,
    identifier: FittedIdentifier = None,
    trust: Trust = None,
    file_format: Format = None,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    na_values: FittedNaValues = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """List the training labels that look wrong, the most suspect first.

    Rows are counted from 1, below the names of the columns, in the file that the model was fitted on.
    """
    if number is not None:
        check_count("--number", number)
    kind = None if output is None else output_kind(output, None)
    if output == "-" and as_json:
        refuse("--json prints to standard output, as the labels would; name a file with --output.")
    if output is not None and output != "-":
        check_output(output, force, model, *([data] if data else []))
    if identifier is not None and data is None:
        refuse("--id names a column of the training data; name their file with --data.")
    notes = Notes(as_json)
    with interruptible("nothing was written"):
        loaded, note = load_model(model, notes, trust)
        judge = getattr(loaded, "model_", loaded)
        if not hasattr(judge, "suspects"):
            refuse(
                f"{model} is a {type(judge).__name__}, which does not judge the labels it is fitted on; fit classes "
                "with --method fusion. fuselearn report lists what a model contradicts most in other rows."
            )
        with refusing(ValueError):
            found = judge.suspects(number)
        used = fitted_rows(note)
        if used is None and note and len(found):
            notes.add("Rows are counted among those that the model was fitted on: fit left others out.")
        rows = _rows_of_file(used, found)
        columns: dict[str, list[Any]] = {}
        if data is not None:
            source = fitted_source(loaded, note, data, file_format, delimiter, encoding, na_values)
            columns = _ids(source, identifier, loaded, note, rows, used, notes)
        elif "index" in found.columns:
            columns = {"index": found["index"].tolist()}
        columns = {**_described(judge, note, found, rows), **columns}
        table = {name: columns[name] for name in [*(name for name in columns if name not in COLUMNS), *COLUMNS]}
        if output is not None and kind is not None:
            import pyarrow

            with writing(output), prediction_file(output, kind, force) as write:
                write(pyarrow.table(table))
    from fuselearn.cli.columns import label_words
    from fuselearn.records import Records

    of_file = _label_columns(judge, note)
    rates = {of_file.get(name, name): float(rate) for name, rate in zip(judge.label_columns_, judge.noise_rates_)}
    facts = {"noise_rates": rates, "suspect_labels": len(judge.suspects())}
    if output is not None and output != "-":
        interrupts.saved(f"{output} is written")
    if as_json:
        say_json({"model": model, "output": output, **facts, "suspects": list(Records(table)), "notes": notes.lines})
    elif output != "-":
        say(label_words(facts))
        if output is not None:
            say(f"Wrote {output}: {counted(len(found), 'label')}.")
        elif len(found):
            say_lines(repr(Records(table)))


def _rows_of_file(used: "IntArray | None", found: "Records") -> "IntArray":
    """Return the numbers of suspect rows in the file, from 0 on; where nothing tells them, among those learnt from."""
    import numpy as np

    rows = found["row"].astype(np.intp)
    if used is None:
        return rows
    if len(rows) and rows.max() >= len(used):
        refuse("The note of the model does not fit its rows; fit it again.")
    return used[rows] - 1


def _described(judge: Any, note: dict[str, Any], found: "Records", rows: "IntArray") -> dict[str, list[Any]]:
    """Return the columns that do not need the training data."""
    from fuselearn.cli.targets import text_of

    names = _label_columns(judge, note)
    return {
        "row": (rows + 1).tolist(),
        "column": [names.get(column, column) for column in found["column"].tolist()],
        "given": [text_of(label) for label in found["given"].tolist()],
        "proposed": [text_of(label) for label in found["proposed"].tolist()],
        "probability": found["probability"].tolist(),
    }


def _label_columns(judge: Any, note: dict[str, Any]) -> dict[str, str]:
    """Return the columns of the file that the model's label columns come from, where the note tells them."""
    own = note.get("label_columns") or [note.get("target")]
    return {name: column for name, column in zip(judge.label_columns_, own) if column}


def _ids(
    source: Source,
    identifier: str | None,
    model: Any,
    note: dict[str, Any],
    rows: "IntArray",
    used: "IntArray | None",
    notes: Notes,
) -> dict[str, list[Any]]:
    """Return the ids of suspect rows by the name of their column, after a look whether the rows are the same."""
    import pyarrow

    from fuselearn.cli.model_columns import check_ids
    from fuselearn.cli.targets import model_labels

    judge = getattr(model, "model_", model)
    with open_data(source) as opened:
        path = opened.source.name
        named = identifier or note.get("id")
        if named is not None:
            check_column(named, opened.names, path, "--id")
        check_no_own_column(named, COLUMNS)
        labels = {name: column for name, column in _label_columns(judge, note).items() if column in opened.names}
        as_texts = list(dict.fromkeys([*([named] if named else []), *labels.values()]))
        if not as_texts:
            refuse(f"{path} has neither ids nor the labels that the model was fitted on; name a column with --id.")
        ordered_by = _columns_of_order(model, note, opened.names)
        if note.get("id") in ordered_by:
            as_texts = list(dict.fromkeys([*as_texts, *ordered_by]))
        names = list(dict.fromkeys([*as_texts, *ordered_by]))
        table = read_opened(opened, names, dict.fromkeys(as_texts, pyarrow.string()), named)
    fitted_on = f"; name the file that it was fitted on, {Path(note['data']).name}" if note.get("data") else ""
    n_rows = len(used) + len(note["skipped_rows"]) if used is not None else note.get("rows") or len(judge.posterior_)
    if table.num_rows != n_rows:
        given = counted(table.num_rows, "row")
        refuse(f"--data: {path} has {given}, and the model was fitted on a file of {n_rows}{fitted_on}.")
    # Labels of all rows, not of the suspect ones alone, which another order of the rows may well leave as they are.
    judged = judge.suspects(n_rows * len(judge.label_columns_))
    places = _rows_of_file(used, judged)
    for name, column in labels.items():
        chosen = judged["column"] == name
        taken = table.column(column).take(pyarrow.array(places[chosen]))
        known = not taken.null_count and model_labels(
            taken, judge.classes_, column, path, spelled=True, decimal=source.decimal
        )
        if known is False or (len(taken) and (known != judged["given"][chosen]).any()):
            refuse(f"--data: labels in {column!r} of {path} are not those that the model was given{fitted_on}.")
    if not ordered_by:
        notes.add(
            "The order of the rows could not be compared with that at fit, only their labels: where rows with the same "
            "label were exchanged since, the list names others."
        )
    elif _order(table, ordered_by, note, source.na_values) != note["row_order"]:
        other = "" if note.get("id") else ", or have other values,"
        refuse(
            f"--data: {path} has the labels that the model was given, but the rows are in another order{other} "
            f"than at fit{fitted_on}."
        )
    if named is None:
        return {}
    check_ids(table.column(named), named, path)
    ids = table.column(named).to_pylist()
    return {named: [ids[row] for row in rows.tolist()]}


def _columns_of_order(model: Any, note: dict[str, Any], names: list[str]) -> list[str]:
    """Return the columns whose digest the note has: the id, or all that the model takes; none if the file lacks any."""
    if not note.get("row_order") or not hasattr(model, "columns_"):
        return []
    columns = [note["id"]] if note.get("id") else list(model.columns_.kinds_)
    return columns if set(columns) <= set(names) else []


def _order(table: "pyarrow.Table", columns: list[str], note: dict[str, Any], na_values: Sequence[str]) -> str:
    """Return the digest of the rows of a file, as fit has made it of its own."""
    from fuselearn.cli.row_order import digest_of_ids, digest_of_rows

    return digest_of_ids(table.column(columns[0]), na_values) if note.get("id") else digest_of_rows(table, columns)
