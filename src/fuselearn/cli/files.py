"""Tables from files: CSV, TSV, Parquet and Feather, or CSV from standard input."""

import sys
from pathlib import Path

from fuselearn.cli.refusal import refuse

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
}
SHOWN = 8
"""Column names that a message lists."""


def read_file(path):
    """Read a file as an Arrow table; ``-`` is CSV from standard input.

    A file that cannot be read ends the command in one line.
    """
    import pyarrow
    from pyarrow import csv, feather, parquet

    source, kind = (sys.stdin.buffer, "csv") if path == "-" else (path, _format(path))
    try:
        if kind == "parquet":
            table = parquet.read_table(source)
        elif kind == "feather":
            table = feather.read_table(source)
        else:
            table = csv.read_csv(
                source,
                parse_options=csv.ParseOptions(delimiter="\t" if kind == "tsv" else ","),
                convert_options=csv.ConvertOptions(strings_can_be_null=True),
            )
        names = table.column_names
    except UnicodeDecodeError:
        refuse(f"{path} is not UTF-8; save it as UTF-8.")
    except (pyarrow.ArrowInvalid, OSError) as error:
        refuse(f"{path} cannot be read as {kind}: {' '.join(str(error).split())[:200]}")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        refuse(
            f"{path} has the column {repeated[0]!r} {names.count(repeated[0])} times; give each column its own name."
        )
    if table.num_rows == 0:
        refuse(f"{path} has no rows.")
    return table


def take_column(table, name, path, option):
    """A column as an array, and the table without it."""
    if name not in table.column_names:
        shown = ", ".join(table.column_names[:SHOWN]) + (", …" if table.num_columns > SHOWN else "")
        hint = " Is the delimiter a comma?" if table.num_columns == 1 else ""
        refuse(f"{option} names the column {name!r}, which {path} does not have; its columns are {shown}.{hint}")
    return table.column(name), table.drop_columns([name])


def numbers(table, path):
    """Columns of numbers as a float array, empty cells as NaN."""
    import numpy as np
    import pyarrow.types as types

    columns = []
    for name, column in zip(table.column_names, table.columns):
        kind = column.type
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_null(kind)):
            refuse(
                f"{path} has {kind} in the column {name!r}; views hold numbers. Leave it out of the views, name it "
                "with --id if it names the objects, or encode it as numbers."
            )
        columns.append(
            column.to_numpy().astype(np.float64) if not types.is_null(kind) else np.full(len(column), np.nan)
        )
    values = np.column_stack(columns)
    infinite = np.flatnonzero(np.isinf(values).any(axis=0))
    if len(infinite):
        refuse(f"{path} has infinite values in the column {table.column_names[infinite[0]]!r}.")
    return values


def _format(path):
    path = Path(path)
    if path.is_dir():
        refuse(f"{path} is a folder; name a file.")
    if not path.exists():
        refuse(f"{path} does not exist.")
    if path.stat().st_size == 0:
        refuse(f"{path} is empty.")
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        refuse(f"{path} has the suffix {path.suffix!r}; known are {', '.join(FORMATS)}.")
    return kind
