"""Arguments and options that several commands have, each with its help."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

Data = Annotated[str, typer.Argument(help="CSV, TSV, Parquet or Feather file; - is standard input.")]
Model = Annotated[str, typer.Argument(help="File that fuselearn fit made.")]
Target = Annotated[str, typer.Option(help="Column that holds the classes.")]
Identifier = Annotated[str | None, typer.Option("--id", help="Column that names the objects; no view has it.")]
FittedIdentifier = Annotated[
    str | None, typer.Option("--id", help="Column that names the objects.", show_default="the one named at fit")
]
ViewGlobs = Annotated[
    list[str] | None,
    typer.Option(help="NAME=GLOB, once for each view; with --on NAME=FILE or NAME=FILE::GLOB, of files of their own."),
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
    typer.Option("--view", help="NAME=FILE, for a model of one file per view; a view without file is missing."),
]
Drop = Annotated[list[str] | None, typer.Option(help="Column that no view has, repeated or with commas.")]
ViewsFile = Annotated[str | None, typer.Option(help="TOML file with the views.")]
AllowMissingColumns = Annotated[
    bool, typer.Option("--allow-missing-columns", help="Take single columns that the file lacks as missing.")
]
Seed = Annotated[int, typer.Option(help="Seed of all draws.")]
Jobs = Annotated[int | None, typer.Option(help="Threads; -1 takes all cores.", show_default="1")]
Processes = Annotated[int | None, typer.Option("--jobs", help="Processes; -1 takes all cores.", show_default="1")]
Format = Annotated[
    str | None, typer.Option("--format", help="csv, tsv, parquet or feather.", show_default="by the suffix; - is csv")
]
Delimiter = Annotated[str | None, typer.Option(help="Of CSV.", show_default="a comma; a tab for TSV")]
Encoding = Annotated[str, typer.Option(help="Of CSV and TSV.")]
NaValues = Annotated[
    list[str] | None, typer.Option(help="Word that stands for nothing, such as ?, repeated; blanks and NA always do.")
]
FittedNaValues = Annotated[
    list[str] | None, typer.Option("--na-values", help="Further words that stand for nothing, beside those of the fit.")
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
    list[str] | None, typer.Option("--date-format", help="As of fit.", show_default="those of the fit")
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Refuse odd cells in columns of numbers or dates; else they are missing.")
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the output.")]
Trust = Annotated[
    list[str] | None,
    typer.Option(help="Type of another package that the model may hold, repeated; its code will run."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]


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
