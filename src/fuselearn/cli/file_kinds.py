"""Kinds of files: those that are read and written, by the suffix, by an option, and by what a file begins with."""

import errno
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from fuselearn.cli.console import refuse

if TYPE_CHECKING:
    from fuselearn.cli.files import Source

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
}
KINDS = ("csv", "tsv", "parquet", "feather")
"""Formats that can be written."""
READ_FORMATS = {**FORMATS, ".xlsx": "excel", ".xlsm": "excel"}
READ_KINDS = (*KINDS, "excel")
SPREADSHEETS = (".xls", ".xlsb", ".ods", ".numbers", ".sav", ".dta", ".sas7bdat", ".rds", ".rdata")
"""Suffixes of tables that other programs have to export."""
MAGIC = {b"PAR1": "parquet", b"ARROW1": "feather", b"FEA1": "feather", b"PK\x03\x04": "zip", b"\x1f\x8b": "gzip"}
"""First bytes of files of other kinds."""
SHOWN_NAME = 100
"""Characters of the name of a file that cannot exist."""


def kind_of(source: "Source") -> str:
    """Return the format of a file that exists and holds something of that format."""
    if source.path == "-" and source.format is not None:
        return source.format
    path = Path(source.path)
    facts = _facts_of(source.path)
    if stat.S_ISDIR(facts.st_mode):
        refuse(f"{path} is a folder; name a file.")
    if not stat.S_ISREG(facts.st_mode):
        # A pipe cannot be read beforehand. Like standard input it is CSV where nothing says otherwise.
        return source.format or READ_FORMATS.get(path.suffix.lower(), "csv")
    if facts.st_size == 0:
        refuse(f"{path} is empty.")
    content = content_of(_first_bytes(path))
    if path.suffix.lower() in SPREADSHEETS and source.format is None:
        refuse(f"{path} cannot be read; save or export it as .xlsx, CSV UTF-8 or Parquet in the program it comes from.")
    is_excel = (source.format or READ_FORMATS.get(path.suffix.lower())) == "excel"
    if is_excel and content != "zip":
        refuse(f"{path} is not an Excel workbook (.xlsx); save it as one, or name it by what it is, such as .csv.")
    if is_excel:
        return "excel"
    if content == "zip":
        refuse(f"{path} is a saved model or another zip archive, not a table; name a {', '.join(KINDS)} file.")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    zipped = content == "gzip" and suffixes[-1:] == [".gz"]
    if suffixes[-1:] == [".gz"] and not zipped and source.format is None:
        refuse(f"{path} is named .gz, but is not compressed with gzip; copy it again, or rename it to what it is.")
    suffix = ("".join(suffixes[-2:-1]) if zipped else "".join(suffixes[-1:])) or ""
    kind = source.format or READ_FORMATS.get(suffix)
    if kind is None:
        refuse(
            f"{path} has the suffix {suffix!r}; known are {', '.join(READ_FORMATS)}, or name the kind with --format."
        )
    if content == "gzip" and (not zipped or kind in ("parquet", "feather")):
        refuse(f"{path} is compressed with gzip; unpack it first, or name it .csv.gz.")
    if content in ("parquet", "feather") and content != kind:
        refuse(f"{path} is {content}, not {kind}; rename it, or add --format {content}.")
    return kind


def content_of(head: bytes) -> str | None:
    """Return the kind of a file that begins so; None for text and whatever is not known."""
    return next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), None)


def _facts_of(path: str) -> os.stat_result:
    """Return the facts about a file that exists."""
    if not path:
        refuse("The name of the data is empty; name a file, or - for standard input.")
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        refuse(f"{path} does not exist; check the name and the folder.")
    except PermissionError:
        refuse_permission(path)
    except (OSError, ValueError) as error:  # such as a name of more than 255 bytes
        reason = getattr(error, "strerror", None) or error
        refuse(f"{path[:SHOWN_NAME]} cannot be opened: {reason}; check the name.")


def _first_bytes(path: Path) -> bytes:
    """Return the first bytes of a file."""
    try:
        with open(path, "rb") as file:
            return file.read(8)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM):
            refuse_permission(str(path))
        refuse(f"{path} cannot be read: {os.strerror(error.errno or 0)}.")


def is_zipped(path: Path) -> bool:
    """Check whether a file is compressed; a pipe, which can be read once only, is taken at its name."""
    return not path.is_file() or content_of(_first_bytes(path)) == "gzip"


def refuse_permission(path: str) -> NoReturn:
    """Refuse a file that may not be read."""
    refuse(f"{path} cannot be read: no permission; ask its owner, or copy it to where you may read it.")
