"""Arguments and options that several commands have, each with its help."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

Data = Annotated[str, typer.Argument(help="CSV, TSV, Parquet, Feather or Excel file; - is standard input.")]
Model = Annotated[str, typer.Argument(help="File that fuselearn fit made.")]
Target = Annotated[str, typer.Option(help="Column of the classes, or of the numbers, to predict.")]
Identifier = Annotated[str | None, typer.Option("--id", help="Column that names the objects; it belongs to no view.")]
FittedIdentifier = Annotated[
    str | None, typer.Option("--id", help="Column that names the objects.", show_default="the one named at fit")
]
ViewGlobs = Annotated[
    list[str] | None,
    typer.Option(
        help="NAME=GLOB, once for each view, such as rna='rna_*'; with --on also NAME=FILE or NAME=FILE::GLOB, for "
        "views in files of their own."
    ),
]
On = Annotated[
    str | None, typer.Option("--on", help="Column that names the objects in DATA and in the files of the views.")
]
FittedOn = Annotated[
    str | None,
    typer.Option(
        "--on",
        help="Column that names the objects in DATA and in the files of the views.",
        show_default="the one named at fit",
    ),
]
FittedViews = Annotated[
    list[str] | None,
    typer.Option(
        "--view",
        help="NAME=FILE, once for each view, if these have files of their own; a view without a file is missing.",
    ),
]
Drop = Annotated[
    list[str] | None, typer.Option(help="Column to leave out of every view; repeated, or several with commas.")
]
ViewsFile = Annotated[str | None, typer.Option(help="TOML file that defines the views.")]
AllowMissingColumns = Annotated[
    bool, typer.Option("--allow-missing-columns", help="Treat single columns that the file lacks as missing.")
]
TaskName = Annotated[
    str, typer.Option("--task", help="classification, regression, or auto: regression if the target has fractions.")
]
Seed = Annotated[int, typer.Option(help="Seed of all random draws.")]
Jobs = Annotated[int | None, typer.Option(help="Number of threads; -1 uses all cores.", show_default="1")]
Processes = Annotated[
    int | None, typer.Option("--jobs", help="Number of processes; -1 uses all cores.", show_default="1")
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Format of the data: csv, tsv, parquet, feather or excel.",
        show_default="by the suffix; - is csv",
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(help="Character between the cells of a CSV or TSV file.", show_default="a comma; a tab for TSV"),
]
Encoding = Annotated[str, typer.Option(help="Encoding of a CSV or TSV file.")]
NaValues = Annotated[
    list[str] | None,
    typer.Option(help="Word that marks a missing value, such as ?, repeated; empty cells and NA always do."),
]
FittedNaValues = Annotated[
    list[str] | None,
    typer.Option("--na-values", help="Further words that mark a missing value, beside those of the fit."),
]
Decimal = Annotated[str, typer.Option(help="Decimal sign of numbers in text: . or a comma.")]
FittedDecimal = Annotated[
    str | None, typer.Option("--decimal", help="Decimal sign: . or a comma.", show_default="that of the fit")
]
DateFormat = Annotated[
    list[str] | None,
    typer.Option(help="Format of dates that are not ISO, such as %d.%m.%Y; COLUMN=FORMAT for one column; repeated."),
]
FittedDateFormat = Annotated[
    list[str] | None,
    typer.Option(
        "--date-format", help="Format of dates that are not ISO, as for fit.", show_default="those of the fit"
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict", help="Refuse odd cells in columns of numbers or dates, instead of treating them as missing."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the output if it exists.")]
Trust = Annotated[
    list[str] | None,
    typer.Option(help="Type of another package that the model may contain, repeated; code of that package will run."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def words_of(options: Mapping[str, str | bool | Sequence[str] | None]) -> list[str]:
    """Return options as the words of a command line; those that are None, False or empty are left out.

    Examples
    --------
    >>> words_of({"--id": "patient", "--strict": True, "--drop": ["a", "b"], "--format": None})
    ['--id', 'patient', '--strict', '--drop', 'a', '--drop', 'b']
    """
    words: list[str] = []
    for option, given in options.items():
        if isinstance(given, bool):
            words += [option] if given else []
        else:
            values = [given] if isinstance(given, str) else given or []
            words += [word for value in values for word in (option, value)]
    return words
