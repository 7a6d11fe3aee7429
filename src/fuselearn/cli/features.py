"""``fuselearn features``: the columns that matter for the rows of a file, and a selection of them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fuselearn.cli.console import (
    Notes,
    check_count,
    check_jobs,
    check_seed,
    counted,
    interruptible,
    interrupts,
    progress_bar,
    refuse,
    refusing,
    say,
    say_json,
)
from fuselearn.cli.explain import check_by, explanations_of, kind_of
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
    Jobs,
    Model,
    Seed,
    Strict,
    Trust,
)
from fuselearn.cli.predict import output_kind, prediction_file
from fuselearn.cli.report import column_of, labelled_rows
from fuselearn.cli.saved_models import fitted_source, load_model

if TYPE_CHECKING:
    from fuselearn.cli.files import OpenedFile

Record = dict[str, Any]


def features(
    model: Model,
    data: Data,
    output: Annotated[
        str | None, typer.Option(help="CSV, TSV, Parquet or Feather file for all of them; - is standard output.")
    ] = None,
    number: Annotated[int, typer.Option(help="Number of columns or views to print.")] = 20,
    by: Annotated[
        str, typer.Option(help="What to list: columns or views.", show_default="columns, if the model tells")
    ] = "",
    fdr: Annotated[
        float | None,
        typer.Option(
            help="Select columns with at most this expected share of false ones, such as 0.1. This fits the model many "
            "times, on DATA, which must have the target.",
            show_default="none are selected",
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Column of the target, for --fdr.", show_default="the one named at fit")
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            help="Column of groups, for --fdr: rows of a group count as one.", show_default="the one named at fit"
        ),
    ] = None,
    subsamples: Annotated[
        int, typer.Option(help="Number of random halves of the rows that --fdr fits the model on.")
    ] = 20,
    seed: Seed = 0,
    jobs: Jobs = None,
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
    """List the columns, or views, that matter most for the rows of a file: by their mean absolute contribution.

    With --fdr, it selects the columns that the target depends on beyond all other columns, by tests on rows that the
    model was not fitted on.
    """
    import pyarrow

    check_by(by)
    check_count("--number", number)
    check_count("--subsamples", subsamples)
    check_seed(seed)
    check_jobs(jobs)
    if fdr is not None and not 0 < fdr < 1:
        refuse(f"--fdr must be a share between 0 and 1, such as 0.1; got {fdr:g}.")
    if fdr is not None and by == "views":
        refuse("--fdr selects columns; leave out --by views.")
    for option, name in (("--target", target), ("--group", group)):
        if fdr is None and name is not None:
            refuse(f"{option} is for --fdr; add --fdr 0.1, or leave it out.")
    kind = None if output is None else output_kind(output, None)
    if output == "-" and as_json:
        refuse("--json prints to standard output, as the list would; name a file with --output.")
    if output is not None and output != "-":
        check_output(output, force, data, model)
    notes = Notes(as_json)
    with interruptible("nothing was written"):
        loaded, note = load_model(model, notes, trust)
    source = fitted_source(
        loaded, note, data, file_format, delimiter, encoding, na_values, on, view, decimal, date_format, strict
    )
    with interruptible("nothing was written"), open_data(source, notes) as opened:
        named = id_of(identifier, source.on)
        if fdr is None:
            rows, of, records = _contributions(loaded, opened, named, note, by, allow_missing_columns, notes)
        else:
            settings = {"fdr": fdr, "n_subsamples": subsamples, "random_state": seed, "n_jobs": jobs}
            target = column_of(target, note.get("target"), opened, "--target")
            named = column_of(named, note.get("id"), opened, "--id")
            group = _group_of(group, note.get("group"), opened, notes)
            of = "columns"
            rows, records = _selection(loaded, opened, target, named, group, allow_missing_columns, settings, notes)
    if output is not None and kind is not None:
        with writing(output), prediction_file(output, kind, force) as write:
            write(pyarrow.Table.from_pylist(records))
        interrupts.saved("the list is written")
    if as_json:
        selection = {} if fdr is None else {"fdr": fdr, "selected": sum(record["selected"] for record in records)}
        say_json({"rows": rows, **selection, of: records[:number], "notes": notes.lines})
    elif output == "-":
        return
    elif fdr is None:
        say(f"Mean absolute contribution to the decisions on {counted(rows, 'row')}:")
        for record in records[:number]:
            say(f"{record['share']:>6.1%}  {record[of[:-1]]}")
    else:
        _print_selection([record for record in records if record["selected"]], len(records), rows, fdr, number)


def _contributions(
    model: Any,
    opened: OpenedFile,
    identifier: str | None,
    note: Record,
    by: str,
    allow_missing: bool,
    notes: Notes,
) -> tuple[int, str, list[Record]]:
    """Return the number of rows, what contributes to the decisions on them, and its mean absolute contributions."""
    import numpy as np

    sums: Any = 0.0
    rows, names, of = 0, [], "columns"
    for explanation, _ in explanations_of(model, opened, identifier or note.get("id"), note, allow_missing, notes):
        of = kind_of(explanation, by)
        names = explanation.column_names if of == "columns" else explanation.view_names
        sums = sums + len(explanation) * explanation.importances(of)
        rows += len(explanation)
    if rows == 0:
        refuse(f"{opened.source.name} has no rows; at least one must stand below the names of the columns.")
    shares = sums / sums.sum() if sums.sum() > 0 else sums
    return (
        rows,
        of,
        [
            {of[:-1]: names[place], "importance": float(sums[place] / rows), "share": float(shares[place])}
            for place in np.argsort(-sums, kind="stable").tolist()
        ],
    )


def _group_of(given: str | None, noted: str | None, opened: OpenedFile, notes: Notes) -> str | None:
    """Return the column of groups, that of the fit if none is given; a note says where the file lacks it."""
    group = column_of(given, noted, opened, "--group")
    if group is None and noted is not None:
        notes.add(
            f"{opened.source.name} has no column {noted!r}, which held the groups of the fit: each row counts alone."
        )
    return group


def _selection(
    model: Any,
    opened: OpenedFile,
    target: str | None,
    identifier: str | None,
    group: str | None,
    allow_missing: bool,
    settings: Record,
    notes: Notes,
) -> tuple[int, list[Record]]:
    """Return the number of rows, and importance, frequency and q-value of each column, selected ones first."""
    import numpy as np

    from fuselearn.inspection import feature_stability

    path = opened.source.name
    inner = getattr(model, "model_", model)
    if not hasattr(inner, "explain"):
        refuse(f"A {type(inner).__name__} does not explain its decisions; fit with fusion.")
    if hasattr(model, "columns_"):
        encoded = [name for made in model.columns_.preparations_.values() for name in made.target_means]
        if encoded:
            refuse(
                f"--fdr: the model has mean targets of the texts in {encoded[0]!r}, which may have seen the labels "
                "that columns are tested on; fit with --categorical onehot."
            )
    if target is None:
        refuse(f"--fdr needs the target, of which {path} has no column; name it with --target.")
    X, y, groups, _, columns, _ = labelled_rows(model, opened, target, identifier, allow_missing, notes, group)
    sources = columns.source_columns()
    names, several = list(sources), {name for name in sources if sources.count(name) > 1}
    if hasattr(model, "columns_"):
        made = model.columns_.get_feature_names_out().tolist()
        names = [feature if source in several else source for source, feature in zip(sources, made)]
    if several:
        notes.add(
            f"Texts and dates, such as {min(several)!r}, are several columns of numbers here, which stand in for each "
            "other: each is tested beyond the others, so that fewer of them are selected."
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with progress_bar("fitting on subsamples"), refusing(ValueError, TypeError, what=path):
            found = feature_stability(columns.model, X, y, groups=groups, **settings)
    notes.add_warnings(caught)
    order = np.lexsort((-found.importances, found.q_values)).tolist()
    return len(X), [
        {
            "column": names[place],
            "importance": float(found.importances[place]),
            "frequency": float(found.frequencies[place]),
            "p_value": float(found.p_values[place]),
            "q_value": float(found.q_values[place]),
            "selected": bool(found.selected[place]),
        }
        for place in order
    ]


def _print_selection(selected: list[Record], n_columns: int, n_rows: int, fdr: float, number: int) -> None:
    """Print the selected columns, the surest first."""
    say(f"Selected {len(selected)} of {n_columns} columns on {n_rows} rows, asked for at most {fdr:.0%} false ones.")
    if selected:
        say("q-value  frequency  column")
    for record in selected[:number]:
        say(f"{record['q_value']:>7.3f}  {record['frequency']:>9.0%}  {record['column']}")
    if len(selected) > number:
        say(f"And {len(selected) - number} more: --number or --output shows them.")
