"""Files of a format that is known: CSV and TSV, Parquet, Feather, each as a table or in batches of rows.

The first line of CSV is read here and not by pyarrow. So names can be checked before anything else is read, and
standard input, which cannot be read twice, can be read with the types that a model asks for.
"""

import codecs
import csv
import io
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any, NoReturn

import pyarrow
from pyarrow import compute, feather, ipc, parquet
from pyarrow import csv as arrow_csv

from fuselearn.cli.console import one_line, refuse

if TYPE_CHECKING:
    from fuselearn.cli.files import Source

BLOCK_BYTES = 4 << 20
NOTHING = arrow_csv.ConvertOptions().null_values
"""Words for nothing; the empty one is the first."""
MAX_NAME_LINES = 100
"""Lines that the names may take: more of them come from a quote that is not closed."""
BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


class CsvFile:
    """A CSV or TSV file, with the `names` of its columns in the first line."""

    def __init__(self, source: "Source", stream: IO[bytes], kind: str) -> None:
        self.source, self.kind = source, kind
        self._delimiter = source.delimiter or ("\t" if kind == "tsv" else ",")
        if codecs.lookup(source.encoding).name not in ("utf-8", "ascii"):
            stream = io.BufferedReader(_Transcoded(stream, source.encoding))
        self._stream = stream
        self.names = self._read_names()
        if len(self.names) == 1:
            self._check_delimiter(self.names[0])

    def table(
        self,
        columns: list[str] | None = None,
        types: dict[str, pyarrow.DataType] | None = None,
        identifier: str | None = None,
    ) -> pyarrow.Table:
        """Return all rows, with the types that the values suggest where none are given; see :meth:`batches`."""
        try:
            table = arrow_csv.read_csv(self._stream, **self._options(columns, types)).combine_chunks()
            return _without_words_for_nothing(table, identifier)
        except pyarrow.ArrowInvalid as error:
            if "Empty CSV file" not in str(error):
                self._refuse_value(error)
                raise
            return pyarrow.table({name: [] for name in columns or self.names})

    def batches(
        self, columns: list[str], types: dict[str, pyarrow.DataType], rows: int, identifier: str | None = None
    ) -> Iterator[pyarrow.Table]:
        """Yield tables of some columns, read as the given types, in which an object of `identifier` may be called NA.

        How many rows are read at a time depends on bytes, not on `rows`.
        """
        try:
            with arrow_csv.open_csv(self._stream, **self._options(columns, types)) as reader:
                for batch in reader:
                    yield _without_words_for_nothing(pyarrow.Table.from_batches([batch]), identifier)
        except pyarrow.ArrowInvalid as error:
            if "Empty CSV file" not in str(error):  # that is, no rows
                self._refuse_value(error)
                raise

    def _options(self, columns: list[str] | None, types: dict[str, pyarrow.DataType] | None) -> dict[str, Any]:
        """Return the options of pyarrow's reader."""
        # A message counts rows from the names in the order of the file, which takes one thread. Text is never refused.
        any_order = all(pyarrow.types.is_string(kind) for kind in (types or {}).values())
        return {
            "read_options": arrow_csv.ReadOptions(
                column_names=self.names, block_size=max(BLOCK_BYTES, 32 * self._name_bytes), use_threads=any_order
            ),
            "parse_options": arrow_csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            "convert_options": arrow_csv.ConvertOptions(
                strings_can_be_null=False, include_columns=columns, column_types=types
            ),
        }

    def _read_names(self) -> list[str]:
        """Read the names of the columns."""
        line = self._stream.readline()
        if not line:
            refuse(f"{self.source.name} is empty; it needs a line of column names, and rows below it.")
        mark = BYTE_ORDER_MARKS.get(line[:2])
        if mark:
            refuse(f"{self.source.name} is not UTF-8 but {mark}; add --encoding {mark}, or save it as UTF-8.")
        while line.count(b'"') % 2:  # a name may hold a line break
            more = self._stream.readline()
            if not more or line.count(b"\n") > MAX_NAME_LINES:
                self._refuse_quote()
            line += more
        self._name_bytes = len(line)
        text = line.decode("utf-8-sig")
        try:
            lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=self._delimiter))
        except csv.Error:
            self._refuse_quote()
        if len(lines) > 1:
            refuse(
                f"{self.source.name} ends its lines with CR only, as old programs do; save it with usual line ends "
                "(LF, or CR and LF)."
            )
        if not lines or not any(lines[0]):
            refuse(f"{self.source.name} has an empty first line; it must hold the names of the columns.")
        return lines[0]

    def _refuse_quote(self) -> NoReturn:
        """Refuse a name that never ends."""
        refuse(f'{self.source.name} has a quote (") among the names in its first line that is not closed; fix it.')

    def _check_delimiter(self, name: str) -> None:
        """Refuse a file of one column whose name looks like several."""
        for delimiter, words in ((";", "';'"), ("\t", "a tab"), ("|", "'|'"), (",", "','")):
            if delimiter != self._delimiter and delimiter in name:
                shown = "$'\\t'" if delimiter == "\t" else f"'{delimiter}'"
                refuse(
                    f"{self.source.name} has one column, named {name[:60]!r}: its delimiter seems to be {words}; add "
                    f"--delimiter {shown}."
                )

    def _refuse_value(self, error: Exception) -> None:
        """Refuse a value that is not of the type that the model was fitted on, by its column."""
        message = one_line(error)
        if not message.startswith("In CSV column #") or "invalid UTF8" in message:
            return
        number, _, rest = message.removeprefix("In CSV column #").partition(":")
        row = rest.partition("Row #")[2].partition(":")[0]
        where = f" in line {int(row) + 1}" if row.isdigit() else ""
        value = rest.partition("invalid value ")[2].strip() or "a value"
        refuse(
            f"{self.source.name} has {value}{where} of the column {self.names[int(number)]!r}, which must hold "
            f"{_expected(rest)}; fix the cell, or leave it empty."
        )


def _without_words_for_nothing(table: pyarrow.Table, identifier: str | None) -> pyarrow.Table:
    """Return a table with nulls for the words for nothing. Arrow would do it too, but for the id as well."""
    for number, (name, column) in enumerate(zip(table.column_names, table.columns)):
        if name != identifier and pyarrow.types.is_string(column.type):
            nothing = compute.is_in(column, value_set=pyarrow.array(NOTHING))
            if compute.any(nothing).as_py():
                column = compute.if_else(nothing, pyarrow.scalar(None, column.type), column)
                table = table.set_column(number, name, column)
    return table


class _Transcoded(io.RawIOBase):
    """Bytes of another encoding as UTF-8."""

    def __init__(self, stream: IO[bytes], encoding: str) -> None:
        self._stream = stream
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._left = b""

    def readable(self) -> bool:
        """Return True, as every stream that can be read does."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, and return the number of bytes."""
        while not self._left:
            read = self._stream.read(1 << 16)
            try:
                self._left = self._decoder.decode(read, final=not read).lstrip("\ufeff").encode()
            except UnicodeError as error:
                reason = getattr(error, "reason", error)
                raise OSError(f"it is not {self._encoding} ({reason}); say what it is with --encoding") from None
            if not read and not self._left:
                return 0
        count = min(len(buffer), len(self._left))
        buffer[:count], self._left = self._left[:count], self._left[count:]
        return count


def _expected(conversion: str) -> str:
    """Return what a column must hold, from Arrow's words on a failed conversion."""
    for arrow, words in (("double", "numbers"), ("bool", "true or false"), ("string", "text")):
        if f"to {arrow}" in conversion:
            return words
    return "something else"


class FeatherFile:
    """A Feather file, of version 2 or of version 1, which has one batch only."""

    def __init__(self, source: "Source", stream: IO[bytes], kind: str) -> None:
        self.source, self.kind = source, kind
        self._first_version = stream.read(4) == b"FEA1"
        stream.seek(0)
        if self._first_version:
            self._table = feather.read_table(stream)
            self.names = list(self._table.column_names)
        else:
            self._reader = ipc.open_file(stream)
            self.names = list(self._reader.schema.names)

    def table(
        self,
        columns: list[str] | None = None,
        types: dict[str, pyarrow.DataType] | None = None,
        identifier: str | None = None,
    ) -> pyarrow.Table:
        """Return all rows, in the types of the file."""
        table = self._table if self._first_version else self._reader.read_all()
        return (table if columns is None else table.select(columns)).combine_chunks()

    def batches(
        self, columns: list[str], types: dict[str, pyarrow.DataType], rows: int, identifier: str | None = None
    ) -> Iterator[pyarrow.Table]:
        """Yield tables of some columns and at most so many rows, in the types of the file."""
        if self._first_version:
            tables: Iterable[pyarrow.Table] = [self._table]
        else:
            tables = (
                pyarrow.Table.from_batches([self._reader.get_batch(number)])
                for number in range(self._reader.num_record_batches)
            )
        for table in tables:
            for start in range(0, table.num_rows, rows):
                yield table.slice(start, rows).select(columns)


class ParquetFile:
    """A Parquet file."""

    def __init__(self, source: "Source", stream: IO[bytes], kind: str) -> None:
        self.source, self.kind = source, kind
        # Without buffering ahead, what is in memory is a batch and the pages it comes from.
        self._file = parquet.ParquetFile(stream, pre_buffer=False)
        self.names = list(self._file.schema_arrow.names)

    def table(
        self,
        columns: list[str] | None = None,
        types: dict[str, pyarrow.DataType] | None = None,
        identifier: str | None = None,
    ) -> pyarrow.Table:
        """Return all rows, in the types of the file."""
        return self._file.read(columns=columns).combine_chunks()

    def batches(
        self, columns: list[str], types: dict[str, pyarrow.DataType], rows: int, identifier: str | None = None
    ) -> Iterator[pyarrow.Table]:
        """Yield tables of some columns and at most so many rows, in the types of the file."""
        for batch in self._file.iter_batches(batch_size=rows, columns=columns):
            yield pyarrow.Table.from_batches([batch]).select(columns)
