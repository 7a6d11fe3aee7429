"""Tables from files: CSV, TSV, Parquet and Feather by suffix, or from standard input.

Options that several commands have, said once.
"""

import errno
import gzip
import os
import shutil
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from fuselearn.cli.errors import refuse

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
}
KINDS = ("csv", "tsv", "parquet", "feather")
MAGIC = {b"PAR1": "parquet", b"ARROW1": "feather", b"FEA1": "feather", b"PK\x03\x04": "zip", b"\x1f\x8b": "gzip"}
"""How files of other kinds begin."""
SHOWN = 8
"""Column names that a message lists."""


@dataclass(frozen=True)
class Source:
    """Where a table is, as the command line says it.

    Attributes
    ----------
    path : str
        ``-`` is standard input.
    format : {"csv", "tsv", "parquet", "feather"} or None
        None goes by the suffix; standard input is then CSV.
    delimiter : str or None
        Of CSV; None is a comma, and a tab for TSV.
    encoding : str
        Of CSV.
    """

    path: str
    format: str | None = None
    delimiter: str | None = None
    encoding: str = "utf-8"

    @property
    def name(self):
        """What a message calls it."""
        return "standard input" if self.path == "-" else self.path


@contextmanager
def open_data(source):
    """Open a file for reading: its column names are known, its rows come as a table or in batches.

    What cannot be read ends the command in one line.

    Parameters
    ----------
    source : Source

    Yields
    ------
    CsvFile, ParquetFile or FeatherFile
    """
    _check_options(source)
    kind = "csv" if source.path == "-" and source.format is None else _kind(source)
    if kind in ("csv", "tsv"):
        from fuselearn.cli.file_formats import CsvFile as File
    elif kind == "parquet":
        from fuselearn.cli.file_formats import ParquetFile as File
    else:
        from fuselearn.cli.file_formats import FeatherFile as File
    with ExitStack() as stack:
        with reading(source.name, kind):
            if source.path != "-" and (kind in ("csv", "tsv") or Path(source.path).is_file()):
                zipped = kind in ("csv", "tsv") and source.path.lower().endswith(".gz")
                stream = stack.enter_context((gzip.open if zipped else open)(source.path, "rb"))
            elif kind in ("csv", "tsv"):
                stream = sys.stdin.buffer
            else:
                # These are read from their end, which standard input and pipes cannot be.
                piped = sys.stdin.buffer if source.path == "-" else stack.enter_context(open(source.path, "rb"))
                stream = stack.enter_context(tempfile.TemporaryFile())
                shutil.copyfileobj(piped, stream)
                stream.seek(0)
            opened = File(source, stream, kind)
        names = opened.names
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            refuse(
                f"{source.name} has the column {repeated[0]!r} {names.count(repeated[0])} times; give each column its "
                "own name."
            )
        yield opened


def read_file(source, columns=None):
    """Read a file, or some columns of it, as an Arrow table.

    Parameters
    ----------
    source : Source or str
    columns : list of str, default=None
    """
    source = Source(str(source)) if not isinstance(source, Source) else source
    with open_data(source) as opened:
        return read_opened(opened, columns)


def read_opened(opened, columns=None, types=None, identifier=None):
    """Read a file that was opened.

    Parameters
    ----------
    opened : what `open_data` yields
    columns : list of str, default=None
    types : dict of column name to Arrow type, default=None
        How to read columns of CSV, which has no types of its own; others have those that their values suggest.
    identifier : str, default=None
        Column that names the objects: in CSV, one may be called NA.
    """
    with reading(opened.source.name, opened.kind):
        table = opened.table(columns, types, identifier)
    if table.num_rows == 0:
        refuse(f"{opened.source.name} has no rows; at least one must stand below the names of the columns.")
    return table


def take_column(table, name, path, option):
    """A column as an array, and the table without it."""
    check_column(name, table.column_names, path, option)
    return table.column(name), table.drop_columns([name])


def check_column(name, names, path, option):
    """Refuse a column that the data does not have."""
    if name not in names:
        shown = ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
        near = get_close_matches(name, names, n=1)
        hint = " Is the delimiter a comma?" if len(names) == 1 else f" Did you mean {near[0]!r}?" if near else ""
        hint = blank_hint(name, names) or hint
        if any("\n" in one for one in names):
            hint = " A name has a line break in it: is a quote in the first line not closed?"
        refuse(f"{option} names the column {name!r}, which {path} does not have; its columns are {shown}.{hint}")


def blank_hint(name, names):
    """What to say where a name is that of a column but for blanks around it; else nothing."""
    found = next((one for one in names if one != name and one.strip(' "\t') == name.strip()), None)
    return f" There is {found!r}: leave out the blanks beside the delimiters of the first line." if found else ""


@contextmanager
def reading(name, kind):
    """Tell in one line what is wrong with a file of some kind while it is read."""
    import pyarrow

    try:
        yield
    except UnicodeDecodeError as error:
        refuse_encoding(name, f"byte 0x{error.object[error.start]:02x}")
    except PermissionError:
        refuse(f"{name} cannot be read: no permission; ask its owner, or copy it to where you may read it.")
    except MemoryError:
        refuse(f"{name} does not fit into memory; predict reads it in parts, see --chunk-rows.")
    except (pyarrow.ArrowException, OSError, EOFError) as error:
        told = " ".join(str(error).split())
        if "invalid UTF8" in told:
            refuse_encoding(name, told.partition(":")[0])
        refuse(f"{name} cannot be read as {kind}: {told[:200].rstrip('. ')}.{_advice(kind, told)}")


def refuse_encoding(name, where):
    """Refuse a text file in another encoding."""
    refuse(f"{name} is not UTF-8 ({where}); save it as UTF-8, or say what it is: --encoding latin-1, cp1252 or utf-16.")


def _advice(kind, told):
    if "Expected" in told and "columns" in told:
        return (
            " Every row needs a cell for each name in the first line; quote cells that hold the delimiter, and close "
            "every quote."
        )
    if kind in ("parquet", "feather"):
        return f" It may be cut off, or not be {kind} at all: write or copy it again."
    return ""


def _check_options(source):
    if source.format is not None and source.format not in KINDS:
        refuse(f"--format must be {', '.join(KINDS[:-1])} or {KINDS[-1]}; got {source.format!r}.")
    if source.delimiter is not None and (len(source.delimiter) != 1 or not source.delimiter.isascii()):
        refuse(f"--delimiter must be one character, such as ';'; got {source.delimiter!r}.")
    import codecs

    try:
        codecs.lookup(source.encoding)
    except LookupError:
        refuse(f"--encoding {source.encoding!r} is not known; utf-8, latin-1, cp1252 and utf-16 are.")


def _kind(source):
    """Format of a file that is there and holds something of that format."""
    if source.path == "-":
        return source.format
    path = Path(source.path)
    if path.is_dir():
        refuse(f"{path} is a folder; name a file.")
    if not path.exists():
        refuse(f"{path} does not exist; check the name and the folder.")
    if not path.is_file():
        # A pipe cannot be looked into beforehand. Like standard input it is CSV where nothing says otherwise.
        return source.format or FORMATS.get(path.suffix.lower(), "csv")
    if path.stat().st_size == 0:
        refuse(f"{path} is empty.")
    head = _first_bytes(path)
    found = next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), None)
    if found == "zip":
        refuse(f"{path} is a saved model or another zip archive, not a table; name a {', '.join(KINDS)} file.")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    zipped = found == "gzip" and suffixes[-1:] == [".gz"]
    suffix = ("".join(suffixes[-2:-1]) if zipped else "".join(suffixes[-1:])) or ""
    kind = source.format or FORMATS.get(suffix)
    if kind is None:
        refuse(f"{path} has the suffix {suffix!r}; known are {', '.join(FORMATS)}, or name the kind with --format.")
    if found == "gzip" and (not zipped or kind in ("parquet", "feather")):
        refuse(f"{path} is compressed with gzip; unpack it first, or name it .csv.gz.")
    if found in ("parquet", "feather") and found != kind:
        refuse(f"{path} is {found}, not {kind}; rename it, or add --format {found}.")
    return kind


def _first_bytes(path):
    try:
        with open(path, "rb") as file:
            return file.read(8)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM):
            refuse(f"{path} cannot be read: no permission; ask its owner, or copy it to where you may read it.")
        refuse(f"{path} cannot be read: {os.strerror(error.errno or 0)}.")


Data = Annotated[str, typer.Argument(help="CSV, TSV, Parquet or Feather file; - is standard input.")]
Model = Annotated[str, typer.Argument(help="File that fuselearn fit made.")]
Target = Annotated[str, typer.Option(help="Column that holds the classes.")]
Identifier = Annotated[str | None, typer.Option("--id", help="Column that names the objects; no view has it.")]
ViewGlobs = Annotated[list[str] | None, typer.Option(help="NAME=GLOB, once for each view.")]
ViewsFile = Annotated[str | None, typer.Option(help="TOML file with the views.")]
Seed = Annotated[int, typer.Option(help="Seed of all draws.")]
Jobs = Annotated[int | None, typer.Option(help="Threads; -1 takes all cores.", show_default="1")]
Format = Annotated[
    str | None, typer.Option("--format", help="csv, tsv, parquet or feather.", show_default="by the suffix; - is csv")
]
Delimiter = Annotated[str | None, typer.Option(help="Of CSV.", show_default="a comma; a tab for TSV")]
Encoding = Annotated[str, typer.Option(help="Of CSV and TSV.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the output.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]
