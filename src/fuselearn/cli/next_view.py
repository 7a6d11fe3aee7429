"""``fuselearn next``: the view of each row of a file that is worth measuring next."""

import time
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
)
from fuselearn.cli.files import check_output, id_of, open_data, writing
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
from fuselearn.cli.predict import check_no_own_column, identifier_of, output_kind, prediction_file, predictions_of
from fuselearn.cli.saved_models import fitted_source, load_model

if TYPE_CHECKING:
    import pyarrow

    from fuselearn.cli.model_columns import ModelColumns

NOTHING = "nothing"
"""What is counted for rows that need no further view."""


def next_view(
    model: Model,
    data: Data,
    output: Annotated[str, typer.Option(help="CSV, TSV, Parquet or Feather file; - is standard output.")] = "-",
    costs: Annotated[
        str | None,
        typer.Option(help="TOML file with the cost of each view, such as rna = 120.", show_default="1 for each"),
    ] = None,
    min_gain: Annotated[
        float, typer.Option(help="Least expected gain in the probability of being right, for each view.")
    ] = 0.005,
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
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Say which view of each row to measure next.

    The output has the id, the prediction so far, and next_view: the view with the largest expected gain, for its cost,
    in the probability that the prediction is right. It is empty where no further view is worth measuring.
    """
    check_count("--chunk-rows", chunk_rows)
    kind = output_kind(output, None)
    prices = None if costs is None else _costs(costs)
    if output == "-" and as_json:
        refuse("--json prints to standard output, as the views would; name a file with --output.")
    if output != "-":
        check_output(output, force, data, model)
    notes = Notes(as_json)
    with interruptible("nothing was written"):
        loaded, note = load_model(model, notes, trust)
    inner = getattr(loaded, "model_", loaded)
    if not hasattr(inner, "next_view"):
        name = type(inner).__name__
        refuse(f"{model} is a {name}, which cannot say what to measure next; fit classes with --method fusion.")
    from fuselearn.fusion.view_acquisition import check_costs, check_min_gain

    with refusing(ValueError, what=f"--costs: {costs}"):
        check_costs(prices, inner.view_names_)
    with refusing(ValueError):
        check_min_gain("--min-gain", min_gain)
    started, rows = time.perf_counter(), 0
    counts: dict[str, int] = {}

    def answer(
        columns: "ModelColumns", table: "pyarrow.Table", identifier: str | None, first_row: int
    ) -> "pyarrow.Table":
        return _next_views(columns, table, identifier, prices, min_gain, first_row)

    source = fitted_source(
        loaded, note, data, file_format, delimiter, encoding, na_values, on, view, decimal, date_format, strict
    )
    with interruptible("nothing was written"), open_data(source, notes) as opened:
        identifier = identifier_of(id_of(identifier, source.on), note, opened, notes)
        check_no_own_column(identifier, ("next_view",))
        chunks = predictions_of(loaded, opened, identifier, note, allow_missing_columns, chunk_rows, notes, answer)
        with writing(output), prediction_file(output, kind, force) as write:
            for chunk in chunks:
                write(chunk)
                rows += chunk.num_rows
                for name in chunk.column("next_view").to_pylist():
                    counts[name or NOTHING] = counts.get(name or NOTHING, 0) + 1
            if rows == 0:
                refuse(f"{opened.source.name} has no rows; at least one must stand below the names of the columns.")
    interrupts.saved("the views are written")
    if as_json:
        seconds = round(time.perf_counter() - started, 3)
        say_json({"output": output, "rows": rows, "next_views": counts, "seconds": seconds, "notes": notes.lines})
    elif output != "-":
        shares = ", ".join(f"{name} ({count})" for name, count in sorted(counts.items()))
        say(f"To measure next in {counted(rows, 'row')}: {shares}. Wrote {output}.")


def _next_views(
    columns: "ModelColumns",
    table: "pyarrow.Table",
    identifier: str | None,
    costs: dict[str, float] | None,
    min_gain: float,
    first_row: int,
) -> "pyarrow.Table":
    """Return the id, the prediction and the next view of the rows of a table."""
    import pyarrow

    from fuselearn.cli.model_columns import names_in_order

    X, model = columns.matrix(table, first_row), columns.model
    with names_in_order(), refusing(ValueError, TypeError, AttributeError, what=columns.path):
        found = {
            "prediction": pyarrow.array(model.predict(X).tolist()),
            "next_view": pyarrow.array(model.next_view(X, costs=costs, min_gain=min_gain).tolist(), pyarrow.string()),
        }
    if identifier is not None:
        found = {identifier: table.column(identifier), **found}
    return pyarrow.table(found)


def _costs(path: str) -> dict[str, Any]:
    """Return the costs of views of a TOML file, at its top or in a table [costs]."""
    import tomllib

    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        refuse(f"--costs: {path} cannot be read: {error.strerror or error}.")
    except UnicodeDecodeError:
        refuse(f"--costs: {path} cannot be read: it is not UTF-8, which TOML must be.")
    except tomllib.TOMLDecodeError as error:
        refuse(f"--costs: {path} is not TOML: {error}.")
    inner = content.get("costs", content)
    if not isinstance(inner, dict) or not inner or any(isinstance(cost, dict | list) for cost in inner.values()):
        refuse(f"--costs: {path} needs a cost for each view, such as: rna = 120.")
    return dict(inner)
