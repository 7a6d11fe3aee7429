"""Files of a command: tables that it reads, and outputs that it writes.

Tables are CSV, TSV, Parquet and Feather by suffix, or come from standard input. Outputs are written in whole or not at
all, and in the place of another file with ``--force`` only. Whatever is wrong with a file ends the command in one line.
"""

import errno
import gzip
import os
import shutil
import stat
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn, TypeAlias

from fuselearn.cli.console import interrupts, one_line, refuse, refuse_standard_output, refusing
from fuselearn.cli.file_kinds import READ_KINDS, is_zipped, kind_of, refuse_permission

if TYPE_CHECKING:
    import pyarrow

    from fuselearn.cli.console import Notes
    from fuselearn.cli.csv_files import CsvFile
    from fuselearn.cli.excel_files import ExcelFile
    from fuselearn.cli.joined_files import JoinedFiles
    from fuselearn.cli.typed_files import FeatherFile, ParquetFile

    PlainFile: TypeAlias = CsvFile | ParquetFile | FeatherFile | ExcelFile
    OpenedFile: TypeAlias = PlainFile | JoinedFiles


NOT_OF_FILES = ("idna", "punycode", "unicode-escape", "unicode_escape", "raw-unicode-escape", "undefined")
"""Encodings of Python that are not those of text files."""
SHOWN = 8
"""Column names that a message lists."""


@dataclass(frozen=True)
class ViewFile:
    """The file of a view, the globs of its columns (none: all of them), and those `needed` by a model."""

    name: str
    path: str
    globs: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()

    @property
    def option(self) -> str:
        """Return the option that names it, without the folder of the file."""
        return f"{self.name}={Path(self.path).name}" + (f"::{','.join(self.globs)}" if self.globs else "")


@dataclass(frozen=True)
class Source:
    """A table as the command line names it: "-" is standard input, and None goes by the suffix.

    With `on`, the column that names the objects, it is the table's rows with the columns of the files of `views`.
    `formats` are those of dates, by column, with "" for all; `of_fit` says that they are those of a fit, which may name
    columns that are absent here. `strict` refuses odd cells.
    """

    path: str
    format: str | None = None
    delimiter: str | None = None
    encoding: str = "utf-8"
    na_values: tuple[str, ...] = ()
    on: str | None = None
    views: tuple[ViewFile, ...] = ()
    decimal: str = "."
    formats: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    strict: bool = False
    of_fit: bool = False

    @property
    def name(self) -> str:
        """Return what a message calls it."""
        return "standard input" if self.path == "-" else self.path


def view_files(options: list[str] | None, on: str | None) -> tuple[ViewFile, ...]:
    """Return the files of the views from ``NAME=FILE`` or ``NAME=FILE::GLOB``; none where there is no `on`."""
    files: dict[str, ViewFile] = {}
    for option in options or [] if on is not None else []:
        name, sign, rest = option.partition("=")
        path, _, globs = rest.partition("::")
        if not (name and sign and path) or (rest != path and not globs):
            refuse(f"--view takes NAME=FILE or NAME=FILE::GLOB with --on, such as rna=rna.csv; got {option!r}.")
        if name in files:
            refuse(f"--view names {name!r} more than once; a view has one file.")
        files[name] = ViewFile(name, path, tuple(globs.split(",")) if globs else ())
    return tuple(files.values())


def id_of(identifier: str | None, on: str | None) -> str | None:
    """Return the column of ids: that by which files are joined is the id of the output."""
    if on is not None and identifier not in (None, on):
        refuse(f"--on names the ids, {on!r}, in the output too; leave out --id {identifier}.")
    return on or identifier


def date_formats(options: list[str] | None) -> Mapping[str, tuple[str, ...]]:
    """Return the formats of dates, by column, from ``FORMAT`` or ``COLUMN=FORMAT``."""
    if not options:
        return {}
    from fuselearn.cli.dates import check_formats

    return check_formats(options)


def words_for_nothing(options: Sequence[str] | None, decimal: str = ".") -> tuple[str, ...]:
    """Return the words for nothing, each of which may be a list of numbers: ``-999,-9`` are two of them.

    Examples
    --------
    >>> words_for_nothing(["?", "-999,-9"])
    ('?', '-999', '-9')
    """
    from fuselearn.cli.csv_files import reads_as_number

    words: list[str] = []
    for option in options or ():
        parts = [part.strip() for part in option.split(",")]
        is_number = decimal == "," and len(parts) == 2 and parts[1].isdecimal()
        words += parts if all(map(reads_as_number, parts)) and not is_number else [option]
    return tuple(dict.fromkeys(words))


def source_of(
    data: str,
    file_format: str | None,
    delimiter: str | None,
    encoding: str,
    na_values: list[str] | None,
    on: str | None,
    files: tuple[ViewFile, ...],
    decimal: str,
    date_format: list[str] | None,
    strict: bool,
) -> Source:
    """Return a table as the options of a command name it."""
    words, formats = words_for_nothing(na_values, decimal), date_formats(date_format)
    return Source(data, file_format, delimiter, encoding, words, on, files, decimal, formats, strict)


@contextmanager
def open_data(source: Source, notes: "Notes | None" = None) -> Iterator["OpenedFile"]:
    """Open a table for reading: its column names are known, its rows come as a table or in batches.

    What is remarked about its rows is noted at the end.
    """
    if source.on is None:
        opening: AbstractContextManager[OpenedFile] = open_file(source)
    else:
        from fuselearn.cli.joined_files import open_joined

        opening = open_joined(source)
    with opening as opened:
        if not source.of_fit:
            known = opened.names_of_files()
            for column in source.formats:
                if column and column not in known:
                    check_column(column, known, source.name, "--date-format")
        yield opened
        if notes is not None:
            for remark in opened.remarks:
                notes.add(remark)


@contextmanager
def open_file(source: Source, content: IO[bytes] | None = None) -> Iterator["PlainFile"]:
    """Open one file for reading, or CSV that is not in a file but in memory: `content`."""
    _check_options(source)
    kind = "csv" if content or (source.path == "-" and source.format is None) else kind_of(source)
    from fuselearn.cli.csv_files import CsvFile
    from fuselearn.cli.typed_files import FeatherFile, ParquetFile

    readers: dict[str, type[PlainFile]] = {"parquet": ParquetFile, "feather": FeatherFile}
    if kind == "excel":
        from fuselearn.cli.excel_files import ExcelFile

        readers["excel"] = ExcelFile
    reader = readers.get(kind, CsvFile)
    with ExitStack() as stack:
        with reading(source.name, kind):
            opened = reader(source, content or stack.enter_context(_stream(source, kind)), kind)
            stack.callback(opened.close)
        names = opened.names
        _check_names(names, source.name)
        yield opened


def _check_names(names: list[str], path: str) -> None:
    """Refuse a file without names, or with one for several columns; some may have none, as those of row numbers."""
    if not names:
        refuse(f"{path} has no columns.")
    filled = [name for name in names if name.strip()]
    name, count = Counter(filled).most_common(1)[0] if filled else ("", 0)
    if count > 1:
        refuse(f"{path} has the column {name!r} {count} times; give each column its own name.")
    n_blank = len(names) - len(filled)
    if len(filled) == 1 and n_blank > 1:
        refuse(
            f"{path} has {name!r} in its first line, and {n_blank} columns without a name: is the first line a title? "
            "It must hold the names of the columns; delete what is above them."
        )


def read_opened(
    opened: "OpenedFile",
    columns: list[str] | None = None,
    types: "dict[str, pyarrow.DataType] | None" = None,
    identifier: str | None = None,
) -> "pyarrow.Table":
    """Read columns of a file that was opened.

    `types` are for text, which has none of its own; other columns of text have those that the values suggest. The
    column `identifier` names the objects, one of which may be called NA.
    """
    with reading(opened.source.name, opened.kind):
        table = opened.table(columns, types, identifier)
    if table.num_rows == 0:
        refuse(f"{opened.source.name} has no rows; at least one must stand below the names of the columns.")
    return table


@contextmanager
def reading(name: str, kind: str) -> Iterator[None]:
    """Say in one line what is wrong with a file of a kind while it is read."""
    import pyarrow

    try:
        yield
    except UnicodeDecodeError as error:
        refuse_encoding(name, f"byte 0x{error.object[error.start]:02x}")
    except PermissionError:
        refuse_permission(name)
    except MemoryError:
        refuse(f"{name} does not fit into memory; predict reads it in parts, see --chunk-rows.")
    except (pyarrow.ArrowException, OSError, EOFError) as error:
        message = one_line(error)
        if "invalid UTF8" in message:
            refuse_encoding(name, message.partition(":")[0])
        refuse(f"{name} cannot be read as {kind}: {message[:200].rstrip('. ')}.{_advice(kind, message)}")


def refuse_encoding(name: str, where: str) -> NoReturn:
    """Refuse a text file in another encoding."""
    refuse(f"{name} is not UTF-8 ({where}); save it as UTF-8, or say what it is: --encoding latin-1, cp1252 or utf-16.")


def check_column(name: str, names: list[str], path: str, option: str) -> None:
    """Refuse a column that the data does not have."""
    if name not in names:
        shown = ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
        near = [known for known in names if known.casefold() == name.casefold()] or get_close_matches(name, names, n=1)
        hint = " Is the delimiter a comma?" if len(names) == 1 else f" Did you mean {near[0]!r}?" if near else ""
        hint = blank_hint(name, names) or hint
        if any("\n" in column for column in names):
            hint = " A name has a line break in it: is a quote in the first line not closed?"
        refuse(f"{option} names the column {name!r}, which {path} does not have; its columns are {shown}.{hint}")


def blank_hint(name: str, names: list[str]) -> str:
    """Return a hint where a name is that of a column but for blanks around it; else nothing."""
    padded = next((column for column in names if column != name and column.strip(' "\t') == name.strip()), None)
    return f" There is {padded!r}: leave out the blanks beside the delimiters of the first line." if padded else ""


def _check_options(source: Source) -> None:
    """Refuse formats, delimiters and encodings that are unknown."""
    if source.format is not None and source.format not in READ_KINDS:
        refuse(f"--format must be {', '.join(READ_KINDS[:-1])} or {READ_KINDS[-1]}; got {source.format!r}.")
    if source.delimiter is not None and (len(source.delimiter) != 1 or not source.delimiter.isascii()):
        refuse(f"--delimiter must be one character, such as ';'; got {source.delimiter!r}.")
    if source.decimal not in (".", ","):
        refuse(f"--decimal must be '.' or ','; got {source.decimal!r}.")
    if source.decimal == source.delimiter:
        refuse(f"--decimal and --delimiter are both {source.decimal!r}; they must differ.")
    import codecs

    try:
        codec = codecs.lookup(source.encoding)
    except (LookupError, ValueError):
        refuse(f"--encoding {source.encoding!r} is not known; utf-8, latin-1, cp1252 and utf-16 are.")
    # Python has codecs that turn bytes into bytes or text into text, and some that no file is written in.
    decodes = getattr(codec, "incrementaldecoder", None) is not None
    if not getattr(codec, "_is_text_encoding", True) or not decodes or codec.name in NOT_OF_FILES:
        refuse(f"--encoding {source.encoding!r} is not an encoding of text files, as utf-8, latin-1 and cp1252 are.")


@contextmanager
def _stream(source: Source, kind: str) -> Iterator[Any]:
    """Open the bytes of a source."""
    text = kind in ("csv", "tsv")
    if text and source.path == "-":
        yield sys.stdin.buffer
    elif text and source.path.lower().endswith(".gz") and is_zipped(Path(source.path)):
        with gzip.open(source.path, "rb") as file:
            yield file
    elif text or Path(source.path).is_file():
        with open(source.path, "rb") as file:
            yield file
    else:
        # These are read from their end, which standard input and pipes cannot be.
        piped = nullcontext(sys.stdin.buffer) if source.path == "-" else open(source.path, "rb")  # noqa: SIM115
        with piped as stream, tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(stream, copy)
            copy.seek(0)
            yield copy


def _advice(kind: str, message: str) -> str:
    """Return what to do about a file that cannot be read."""
    if "Expected" in message and "columns" in message:
        return (
            " Every row needs a cell for each name in the first line; quote cells that hold the delimiter, and close "
            "every quote."
        )
    advice = f" It may be cut off, or not be {kind} at all: write or copy it again."
    return advice if kind in ("parquet", "feather") else ""


def check_output(output: str, force: bool, *inputs: str) -> None:
    """Refuse, before any work, a path that cannot be written to, or is one of the inputs, or exists without `force`."""
    if not output:
        refuse("--output is empty; name a file.")
    path = Path(output)
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = None
    except NotADirectoryError:
        refuse(f"--output: {_file_in_the_way(path)} is a file, not a folder; name another folder.")
    except PermissionError:
        _refuse_permission(output)
    except (OSError, ValueError) as error:  # a name that is too long, a loop of links, a null byte
        refuse(f"--output: {output} cannot be written: {getattr(error, 'strerror', None) or error}; name another file.")
    if mode is not None and stat.S_ISDIR(mode):
        refuse(f"--output: {output} is a folder; name a file.")
    if output.endswith((os.sep, os.altsep or os.sep)):
        refuse(f"--output: {output} is the name of a folder; name a file.")
    folder = path.absolute().parent
    if not folder.is_dir():
        refuse(f"--output: the folder {folder} does not exist; make it, or name another.")
    if mode is not None:
        if any(name != "-" and os.path.exists(name) and os.path.samefile(path, name) for name in inputs):
            refuse(f"--output: {output} is also what is read; name another file.")
        # Nothing is lost in a terminal, a pipe or /dev/null.
        if not force and not (stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)):
            refuse(f"--output: {output} exists; add --force to overwrite it.")
    if not os.access(folder, os.W_OK | os.X_OK) or (mode is not None and not os.access(path, os.W_OK)):
        _refuse_permission(output)


@contextmanager
def writing(output: str) -> Iterator[None]:
    """Say in one line why a file could not be written. An interrupt unwinds the block, which leaves no half a file."""
    try:
        with interrupts.unwinding():
            yield
    except BrokenPipeError:
        raise  # the reader has enough, as head does: no matter for a message
    except FileExistsError as error:
        kept = Path(output).with_name(Path(error.filename2).name)
        refuse(
            f"--output: {output} appeared while the command ran, and stays as it is; what was to be written is whole "
            f"and kept as {kept}. Rename that one, or add --force next time to overwrite."
        )
    except OSError as error:
        if output == "-":
            refuse_standard_output(error)
        if error.errno == errno.ENOSPC:
            refuse(f"{output} was not written: the disk is full; make room, or name a file on another disk.")
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            refuse(f"{output} was not written: no permission; name a file in a folder of yours.")
        refuse(f"{output} was not written: {error.strerror or error}.")


def save_model(model: Any, path: str, note: dict[str, Any], *, force: bool) -> list[str]:
    """Save a model with the command line's note; return the types that one has to trust in order to load it."""
    from fuselearn.persistence import describe, save

    with writing(path), refusing(ValueError, TypeError, what=f"{path} was not written"):
        save(model, path, note=note, overwrite=force)
        return list(describe(path)["foreign"])


def size_of(path: str) -> str:
    """Return the size of a file in words."""
    size = os.path.getsize(path)
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1000))} kB"


def _file_in_the_way(path: Path) -> Path:
    """Return the part of a path that is a file where a folder would have to be."""
    return next((folder for folder in path.parents if folder.exists() and not folder.is_dir()), path.parent)


def _refuse_permission(output: str) -> NoReturn:
    """Refuse a place that may not be written to."""
    refuse(f"--output: no permission to write {output}; name a file in a folder of yours.")
