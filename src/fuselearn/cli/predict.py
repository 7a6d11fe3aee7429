"""``fuselearn predict``: classes and probabilities for the rows of a file of any size, written chunk by chunk."""

import csv
import io
import sys
import time
import warnings
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Self

import typer

from fuselearn.cli.console import (
    Notes,
    check_count,
    counted,
    interruptible,
    interrupts,
    progress_bar,
    refuse,
    refusing,
    say,
    say_json,
    visible,
)
from fuselearn.cli.file_kinds import FORMATS, KINDS
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
from fuselearn.cli.saved_models import fitted_source, load_model
from fuselearn.exceptions import UnattainableCoverageWarning

if TYPE_CHECKING:
    import pyarrow

    from fuselearn.cli.files import OpenedFile
    from fuselearn.cli.model_columns import ModelColumns


COVERAGE = 0.9
"""Of the intervals that stand beside predicted numbers."""


def predict(
    model: Model,
    data: Data,
    output: Annotated[str, typer.Option(help="CSV, TSV, Parquet or Feather file; - is standard output.")] = "-",
    identifier: FittedIdentifier = None,
    on: FittedOn = None,
    view: FittedViews = None,
    chunk_rows: Annotated[int, typer.Option(help="Rows in memory at a time.")] = 50_000,
    trust: Trust = None,
    allow_missing_columns: AllowMissingColumns = False,
    file_format: Format = None,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    na_values: FittedNaValues = None,
    decimal: FittedDecimal = None,
    date_format: FittedDateFormat = None,
    strict: Strict = False,
    output_format: Annotated[
        str | None,
        typer.Option(
            help="Format of the output: csv, tsv, parquet or feather.", show_default="by the suffix; - is csv"
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Predict the classes of a file's rows, with probabilities, or their numbers, with intervals.

    The output has the id, prediction, and probability_CLASS for each class; of numbers, lower and upper, between which
    90 % of them should be. A view that the file lacks is missing.
    The prediction is the most probable class; of a fusion fitted with --class-weight balanced, the one whose
    probability, divided by its share, is largest.
    """
    check_count("--chunk-rows", chunk_rows)
    kind = output_kind(output, output_format)
    if output == "-" and as_json:
        refuse("--json prints to standard output, as the predictions would; name a file with --output.")
    if output != "-":
        check_output(output, force, data, model)
    elif kind not in ("csv", "tsv") and sys.stdout.isatty():
        refuse(f"--output-format {kind} is not for a terminal; name a file with --output, or use csv or tsv.")
    notes = Notes(as_json)
    with interruptible("nothing was written"):
        loaded, note = load_model(model, notes, trust)
    from fuselearn.cli.targets import text_of

    started = time.perf_counter()
    counts: dict[str, Any] = {}
    numbers = not hasattr(loaded, "classes_")
    rows = 0
    consequence = "what was printed is not all" if output == "-" else "nothing was written"
    source = fitted_source(
        loaded, note, data, file_format, delimiter, encoding, na_values, on, view, decimal, date_format, strict
    )
    with interruptible(consequence), open_data(source, notes) as opened:
        identifier = identifier_of(id_of(identifier, source.on), note, opened, notes, numbers=numbers)
        chunks = predictions_of(loaded, opened, identifier, note, allow_missing_columns, chunk_rows, notes)
        with writing(output), prediction_file(output, kind, force) as write:
            for chunk in chunks:
                write(chunk)
                rows += chunk.num_rows
                if numbers:
                    counts = _numbers_so_far(counts, chunk.column("prediction"), rows)
                    continue
                for pair in chunk.column("prediction").value_counts().to_pylist():
                    label = text_of(pair["values"])
                    counts[label] = counts.get(label, 0) + pair["counts"]
            if rows == 0:
                refuse(f"{opened.source.name} has no rows; at least one must stand below the names of the columns.")
    interrupts.saved("the predictions are written")
    seconds = time.perf_counter() - started
    if as_json:
        summary = {
            "output": output,
            "rows": rows,
            "predictions": counts,
            "seconds": round(seconds, 3),
            "notes": notes.lines,
        }
        say_json(summary)
    elif output != "-":
        shares = ", ".join(f"{label} ({count})" for label, count in sorted(counts.items()))
        if numbers:
            shares = ", ".join(f"{name} {value:g}" for name, value in counts.items())
        say(f"{counted(rows, 'prediction')}: {shares}. Wrote {output} in {seconds:.1f} s.")


def output_kind(output: str, kind: str | None) -> str:
    """Return the format of an output: as given, or by its suffix; standard output is CSV."""
    if kind is not None and kind not in KINDS:
        refuse(f"--output-format must be {', '.join(KINDS[:-1])} or {KINDS[-1]}; got {kind!r}.")
    if kind is None and output == "-":
        return "csv"
    kind = kind or FORMATS.get(Path(output).suffix.lower())
    if kind is None:
        refuse(
            f"--output: {output} has the suffix {Path(output).suffix!r}; known are {', '.join(FORMATS)}, or name the "
            "kind with --output-format."
        )
    return kind


def check_no_own_column(identifier: str | None, columns: Container[str]) -> None:
    """Refuse an id that has the name of a column which the command writes itself."""
    if identifier is not None and identifier in columns:
        refuse(f"--id: {identifier!r} is the name of another column of the output; rename it.")


def identifier_of(
    given: str | None, note: dict[str, Any], opened: "OpenedFile", notes: Notes, *, numbers: bool = False
) -> str | None:
    """Return the column of ids: the one asked for, or the one that the model was fitted with, if it exists.

    `numbers` says that these are predicted, not classes.
    """
    from fuselearn.cli.columns import check_id_name

    if given is not None:
        check_column(given, opened.names, opened.source.name, "--id")
        check_id_name(given, numbers=numbers)
        return given
    noted = note.get("id")
    if noted is not None and noted not in opened.names:
        notes.add(f"There is no column {noted!r}: predictions have no id, and stand in the order of the rows.")
        return None
    if noted is not None:
        check_id_name(noted, numbers=numbers)
    return noted


def predictions_of(
    model: Any,
    opened: "OpenedFile",
    identifier: str | None,
    note: dict[str, Any],
    allow_missing: bool,
    chunk_rows: int,
    notes: Notes,
    answer: "Callable[[ModelColumns, pyarrow.Table, str | None, int], pyarrow.Table] | None" = None,
) -> Iterator["pyarrow.Table"]:
    """Yield tables of predictions, or of other answers for chunks of rows."""
    from fuselearn.cli.model_columns import ModelColumns, check_ids

    path = opened.source.name
    reserved = [name for name in (identifier, note.get("target")) if name]
    columns = ModelColumns(model, opened.names, path, reserved, allow_missing)
    columns.note_missing(notes)
    names, types = columns.to_read(identifier)
    batches = opened.batches(names, types, chunk_rows, columns.verbatim(identifier))
    done = 0
    with progress_bar("predicting") as update, reading(path, opened.kind):
        for table in _rechunked(batches, chunk_rows):
            if identifier is not None:
                check_ids(table.column(identifier), identifier, path)
            columns.note_unknown(table, notes)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", UnattainableCoverageWarning)
                answered = (answer or predicted_table)(columns, table, identifier, done + 1)
            notes.add_warnings(caught)
            yield answered
            done += table.num_rows
            update(description=f"{done} rows")


def predicted_table(
    columns: "ModelColumns", table: "pyarrow.Table", identifier: str | None, first_row: int = 1
) -> "pyarrow.Table":
    """Return the predictions of the rows of a table, the first of which has this number in the file."""
    import pyarrow

    from fuselearn.cli.model_columns import names_in_order
    from fuselearn.cli.targets import text_of

    X, model = columns.matrix(table, first_row), columns.model
    with names_in_order(), refusing(ValueError, TypeError, what=columns.path):
        predicted = {"prediction": pyarrow.array(model.predict(X).tolist())}
        if hasattr(model, "predict_proba"):
            probabilities = model.predict_proba(X)
            columns.check_numbers(probabilities, X, first_row)
            predicted |= {
                f"probability_{text_of(label)}": probabilities[:, number] for number, label in enumerate(model.classes_)
            }
        if not hasattr(model, "classes_"):
            from fuselearn.cli.regression import interval_columns

            predicted |= interval_columns(model, X, COVERAGE)
    if identifier is not None:
        predicted = {identifier: table.column(identifier), **predicted}
    return pyarrow.table(predicted)


def _numbers_so_far(before: dict[str, float], column: "pyarrow.ChunkedArray", rows: int) -> dict[str, float]:
    """Return the least, mean and largest prediction of so many rows, the last of which are new."""
    values = column.to_numpy()
    before = before or {"least": values.min(), "mean": 0.0, "largest": values.max()}
    mean = (before["mean"] * (rows - len(values)) + values.sum()) / rows
    return {
        "least": float(min(before["least"], values.min())),
        "mean": float(mean),
        "largest": float(max(before["largest"], values.max())),
    }


def _rechunked(batches: Iterable["pyarrow.Table"], rows: int) -> Iterator["pyarrow.Table"]:
    """Yield the rows of batches as tables of so many rows."""
    import pyarrow

    waiting, count = [], 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        while count >= rows:
            table = pyarrow.concat_tables(waiting)
            yield table.slice(0, rows)
            waiting, count = [table.slice(rows)], count - rows
    if count:
        yield pyarrow.concat_tables(waiting)


@contextmanager
def prediction_file(output: str, kind: str, force: bool) -> Iterator[Callable[["pyarrow.Table"], None]]:
    """Open a file for predictions, which exists in whole when the block ends without an error, and otherwise not.

    It yields what writes a chunk; all chunks have the same columns. Standard output is written as they come.
    """
    writer: type[_TextWriter | _ArrowWriter] = _TextWriter if kind in ("csv", "tsv") else _ArrowWriter
    if output == "-":
        sys.stdout.flush()
        if sys.stdout.isatty():
            writer = _TerminalWriter
        with writer(sys.stdout.buffer, kind) as opened:
            yield opened.write
        sys.stdout.buffer.flush()
        return
    from fuselearn.persistence import write_atomically

    with write_atomically(output, "wb", overwrite=force) as file, writer(file, kind) as opened:
        yield opened.write


class _TextWriter:
    """CSV or TSV: cells that hold a delimiter or a quote are quoted."""

    def __init__(self, file: IO[bytes], kind: str) -> None:
        self._text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=False)
        self._writer = csv.writer(self._text, delimiter="\t" if kind == "tsv" else ",", lineterminator="\n")
        self._begun = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._text.flush()
        self._text.detach()  # the file stays open: it is closed by whoever opened it

    def write(self, table: "pyarrow.Table") -> None:
        """Write a chunk, the first one below the names of the columns."""
        if not self._begun:
            self._writer.writerow(table.column_names)
            self._begun = True
        columns = [_as_text(column) for column in table.columns]
        self._writer.writerows(zip(*columns))


class _TerminalWriter(_TextWriter):
    """The same for a terminal, which obeys control characters: they are shown instead."""

    def write(self, table: "pyarrow.Table") -> None:
        """Write a chunk."""
        import pyarrow

        columns = {
            visible(name): [visible(cell) if isinstance(cell, str) else cell for cell in column.to_pylist()]
            for name, column in zip(table.column_names, table.columns)
        }
        super().write(pyarrow.table(columns))


class _ArrowWriter:
    """Parquet, with a row group for each chunk, or Feather, with a batch for each."""

    def __init__(self, file: IO[bytes], kind: str) -> None:
        self._file, self._kind = file, kind
        self._writer: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._writer is not None:
            self._writer.close()

    def write(self, table: "pyarrow.Table") -> None:
        """Write a chunk."""
        if self._writer is None:
            from pyarrow import ipc, parquet

            make = parquet.ParquetWriter if self._kind == "parquet" else ipc.new_file
            self._writer = make(self._file, table.schema)
        self._writer.write_table(table)


def _as_text(column: "pyarrow.ChunkedArray") -> list[Any]:
    """Return the cells of a column as CSV spells them."""
    values = column.to_pylist()
    return [str(value).lower() for value in values] if values and isinstance(values[0], bool) else values
