"""CSV and TSV files, as a table or in batches of rows, and the words that stand for nothing in any file.

The first line of CSV is read here and not by pyarrow. So names can be checked before anything else is read, and
standard input, which cannot be read twice, can be read with the types that a model asks for.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, NoReturn

import pyarrow
from pyarrow import compute
from pyarrow import csv as arrow_csv
from pyarrow import types as arrow_types

from fuselearn.cli.console import refuse
from fuselearn.cli.csv_lines import Rows, Transcoded, decompressed
from fuselearn.cli.file_kinds import content_of

if TYPE_CHECKING:
    from fuselearn.cli.files import Source
    from fuselearn.cli.odd_cells import OddCells

MAX_NAME_LINES = 100
"""Lines that the names may take: more of them come from a quote that is not closed."""
MAX_NAME_BYTES = 64 << 20
"""Bytes that the names may take: more of them are not the first line of a table."""
BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
DELIMITER_LINE = re.compile(rb'(?:\xef\xbb\xbf)?"?sep=([\x00-\x7f])"?\r?\n')
"""A line above the names that tells Excel the delimiter."""
NOTHING = arrow_csv.ConvertOptions().null_values
"""Words for nothing; the empty one is the first."""
USUAL_WORDS = (
    "-",
    "--",
    "?",
    ".",
    "..",
    "na",
    "NAN",
    "None",
    "none",
    "Null",
    "missing",
    "Missing",
    "MISSING",
    "unknown",
    "Unknown",
)
"""Words that often stand for nothing, and might be categories: they are offered as ``--na-values``."""
MAX_BLANKS = 8
"""Blanks that are still an empty cell of a column of numbers."""
BLOCK_BYTES = 4 << 20
TRUE, FALSE = ["true", "True", "TRUE"], ["false", "False", "FALSE"]


class TableFile:
    """What files of all formats have: where they are, the `names` of their columns, and cells that were odd."""

    states_delimiter = False
    """Whether a line above the names says what the delimiter is."""

    def __init__(self, source: "Source", kind: str) -> None:
        self.source, self.kind = source, kind
        self.names: list[str] = []
        self._odd_cells: OddCells | None = None

    def names_of_files(self) -> list[str]:
        """Return the names of the columns, as the file has them."""
        return self.names

    @property
    def odd_cells(self) -> "OddCells":
        """Return the reader of cells that are text, which keeps those that are odd."""
        if self._odd_cells is None:
            from fuselearn.cli.odd_cells import OddCells

            self._odd_cells = OddCells(self.source)
        return self._odd_cells

    @property
    def remarks(self) -> list[str]:
        """Return what is to be noted about the rows that were read."""
        return [] if self._odd_cells is None else self._odd_cells.remarks

    def close(self) -> None:
        """End what may still be reading."""


class CsvFile(TableFile):
    """A CSV or TSV file, with the `names` of its columns in the first line.

    Every line below it is a row. A blank one is a row without a value, but for blank lines at the end of a file of
    several columns, which are passed over: there a row has its delimiters.
    """

    def __init__(self, source: "Source", stream: IO[bytes], kind: str) -> None:
        super().__init__(source, kind)
        self._delimiter = source.delimiter or ("\t" if kind == "tsv" else ",")
        if codecs.lookup(source.encoding).name not in ("utf-8", "ascii"):
            stream = io.BufferedReader(Transcoded(stream, source.encoding))
        self._stream = stream
        self.names = self._read_names()
        if len(self.names) == 1:
            self._check_delimiter(self.names[0])
        blank = b"" if len(self.names) == 1 else b"\r\n" if self._delimiter == " " else b"\r\n "
        self._rows = Rows(stream, blank, self._delimiter.encode())
        self._reader: arrow_csv.CSVStreamingReader | None = None

    def table(
        self,
        columns: list[str] | None = None,
        types: dict[str, pyarrow.DataType] | None = None,
        identifier: str | None = None,
    ) -> pyarrow.Table:
        """Return all rows, with the types that the values suggest where none are given; see :meth:`batches`."""
        names, given = columns or self.names, types or {}
        if given.keys() >= set(names):
            batches = list(self.batches(names, given, 0, identifier))
            return pyarrow.concat_tables(batches) if batches else pyarrow.table({name: [] for name in names})
        # A format for all columns may be that of any.
        as_texts = names if "" in self.source.formats else [name for name in names if name in self.source.formats]
        kinds = dict.fromkeys(as_texts, pyarrow.string()) | given
        try:
            table = arrow_csv.read_csv(self._rows, **self._options(columns, kinds)).combine_chunks()
        except pyarrow.ArrowInvalid as error:
            self._check_error(error)
            return pyarrow.table({name: [] for name in names})
        self._check_rows(table.num_rows)
        if "" in self.source.formats:
            read = read_texts(table.select([name for name in names if name not in given]), self.source)
            columns_of = dict(zip(table.column_names, table.columns)) | dict(zip(read.column_names, read.columns))
            table = pyarrow.table(list(columns_of.values()), names=list(columns_of))
        table = without_words_for_nothing(table, identifier, self.source.na_values)
        texts = [
            name
            for name, kind in zip(table.column_names, table.schema.types)
            if arrow_types.is_string(kind) and name not in given
        ]
        table = in_microseconds(table)
        return self.odd_cells.settled(table, texts) if texts else table

    def batches(
        self, columns: list[str], types: dict[str, pyarrow.DataType], rows: int, identifier: str | None = None
    ) -> Iterator[pyarrow.Table]:
        """Yield tables of some columns, read as the given types, in which an object of `identifier` may be called NA.

        How many rows are read at a time depends on bytes, not on `rows`.
        """
        count = 0
        # An odd cell is no error: cells are read as texts, and then as what they are.
        texts = dict.fromkeys(columns, pyarrow.string())
        try:
            with arrow_csv.open_csv(self._rows, **self._options(columns, texts)) as self._reader:
                for batch in self._reader:
                    table = self.odd_cells.typed(pyarrow.Table.from_batches([batch]), types, count + 1)
                    count += batch.num_rows
                    yield without_words_for_nothing(table, identifier, self.source.na_values)
        except pyarrow.ArrowInvalid as error:
            self._check_error(error)
        self._check_rows(count)
        self.odd_cells.check_read()

    def close(self) -> None:
        """End the reading ahead: a thread of pyarrow that is in the stream keeps the process from ending."""
        if self._reader is not None:
            self._rows.give_up()
            with suppress(Exception):  # what is wrong with the rest of the rows is of no interest
                for _ in self._reader:
                    pass
            self._reader = None

    def _options(self, columns: list[str] | None, types: dict[str, pyarrow.DataType] | None) -> dict[str, Any]:
        """Return the options of pyarrow's reader."""
        return csv_options(
            self.names,
            columns,
            types,
            self.source.na_values,
            delimiter=self._delimiter,
            decimal=self.source.decimal,
            block_bytes=32 * self._name_bytes,
        )

    def _check_error(self, error: pyarrow.ArrowInvalid) -> None:
        """Raise what pyarrow could not read, in words where the reason is known; that there are no rows is no error."""
        if "Expected" in str(error):
            first = (self._rows.first or b"").decode("utf-8", "replace")
            cells = next(csv.reader([first], delimiter=self._delimiter), [])
            if len(cells) == len(self.names) + 1:
                refuse(
                    f"{self.source.name} has {len(self.names)} names in its first line, and {len(cells)} cells in the "
                    "next: one name fewer than the rows have cells. Name the first column, as R does not, or delete "
                    "the delimiter at the end of each row."
                )
        if "Empty CSV file" not in str(error):
            raise error

    def _check_rows(self, n_rows: int) -> None:
        """Refuse a quote that is not closed, and rows that are not as many as the lines outside of quotes."""
        n_lines = self._rows.n_lines
        if self._rows.in_quotes:
            refuse(
                f'{self.source.name} has a quote (") in row {n_lines} that is not closed; close it, or leave it out.'
            )
        if n_rows > n_lines:
            refuse(
                f"{self.source.name} has {n_lines} lines below the names, but {n_rows} rows: some lines end with CR "
                "only; save it with usual line ends (LF, or CR and LF)."
            )
        if n_rows < n_lines:
            refuse(
                f"{self.source.name} has {n_lines} rows below the names, but only {n_rows} of them could be read; "
                "check its quotes and line ends, and try again."
            )

    def _read_names(self) -> list[str]:
        """Read the names of the columns."""
        line = decompressed(self._stream.readline, MAX_NAME_BYTES)
        stated = DELIMITER_LINE.fullmatch(line)
        if stated is not None:
            self._delimiter = self.source.delimiter or stated[1].decode()
            self.states_delimiter = True
            line = decompressed(self._stream.readline, MAX_NAME_BYTES)
        if not line:
            refuse(f"{self.source.name} is empty; it needs a line of column names, and rows below it.")
        kind = content_of(line)
        if kind is not None:
            advice = f"add --format {kind}" if kind in ("parquet", "feather") else "unpack it first"
            refuse(f"{self.source.name} is {kind}, not {self.kind}; {advice}.")
        mark = BYTE_ORDER_MARKS.get(line[:2])
        if mark:
            refuse(f"{self.source.name} is not UTF-8 but {mark}; add --encoding {mark}, or save it as UTF-8.")
        while line.count(b'"') % 2:  # a name may hold a line break
            more = decompressed(self._stream.readline, MAX_NAME_BYTES)
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


def csv_options(
    names: list[str],
    columns: list[str] | None,
    column_types: Mapping[str, pyarrow.DataType] | None,
    na_values: Sequence[str],
    *,
    delimiter: str = ",",
    decimal: str = ".",
    block_bytes: int = BLOCK_BYTES,
) -> dict[str, Any]:
    """Return the options of pyarrow's reader of CSV, with which all text is read."""
    # Rows are in the order of the file, which takes one thread; texts are, too.
    kinds = (column_types or {}).values()
    any_order = all(map(arrow_types.is_string, kinds))
    words = [*NOTHING, *na_values]
    # Every column has its own copy of this list, which takes its time where there are 40,000: it is kept short.
    blanks = [" " * count for count in range(1, MAX_BLANKS + 1)]
    padded = [f" {word}" for word in words if word]
    return {
        "read_options": arrow_csv.ReadOptions(
            column_names=names, block_size=max(BLOCK_BYTES, block_bytes), use_threads=any_order
        ),
        # A blank line is a row without a value: were it passed over, all rows below it would move up.
        "parse_options": arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=False),
        "convert_options": arrow_csv.ConvertOptions(
            strings_can_be_null=False,
            include_columns=columns,
            column_types=column_types,
            null_values=[*words, *blanks, *padded],
            decimal_point=decimal,
        ),
    }


def read_texts(table: pyarrow.Table, source: "Source") -> pyarrow.Table:
    """Return columns of text as CSV reads them; those that may be dates of another format stay text."""
    if not table.num_rows:
        return table
    written = io.BytesIO()
    arrow_csv.write_csv(table, written, arrow_csv.WriteOptions(include_header=False, quoting_style="all_valid"))
    # A row must fit into a block.
    block_bytes = min(written.tell(), 1 << 30)
    written.seek(0)
    names = list(table.column_names)
    dates = {name: pyarrow.string() for name in names if name in source.formats}
    options = csv_options(names, None, dates, source.na_values, decimal=source.decimal, block_bytes=block_bytes)
    read = in_microseconds(arrow_csv.read_csv(written, **options))
    if "" not in source.formats:
        return read
    # What looks like ISO may be a date of the format that was given, with day and month the other way round.
    is_date = [arrow_types.is_date(kind) or arrow_types.is_timestamp(kind) for kind in read.schema.types]
    columns = [text if dated else column for column, text, dated in zip(read.columns, table.columns, is_date)]
    return pyarrow.table(columns, names=names)


def in_microseconds(table: pyarrow.Table) -> pyarrow.Table:
    """Return a table whose times are in microseconds, as a model takes them; what is below one is left out."""
    columns = [
        column.cast(pyarrow.timestamp("us", column.type.tz), safe=False)
        if arrow_types.is_timestamp(column.type) and column.type.unit == "ns"
        else column
        for column in table.columns
    ]
    return pyarrow.table(columns, names=table.column_names)


def without_words_for_nothing(table: pyarrow.Table, identifier: str | None, na_values: Sequence[str]) -> pyarrow.Table:
    """Return a table with nulls for the words and numbers for nothing, but for those that name an object."""
    words = pyarrow.array([*NOTHING, *na_values])
    numbers = pyarrow.array(sorted({float(word) for word in na_values if reads_as_number(word)}), pyarrow.float64())
    columns = [
        column if name == identifier else _without(column, words, numbers)
        for name, column in zip(table.column_names, table.columns)
    ]
    return pyarrow.table(columns, names=table.column_names)


def _without(column: pyarrow.ChunkedArray, words: pyarrow.Array, numbers: pyarrow.Array) -> pyarrow.ChunkedArray:
    """Return a column with nulls for words, or for numbers."""
    if arrow_types.is_string(column.type):
        nothing = compute.is_in(compute.utf8_trim_whitespace(column), value_set=words)
    elif len(numbers) and (arrow_types.is_floating(column.type) or arrow_types.is_integer(column.type)):
        nothing = compute.is_in(column.cast(pyarrow.float64(), safe=False), value_set=numbers)
    else:
        return column
    if not compute.any(nothing).as_py():
        return column
    return compute.if_else(nothing, pyarrow.scalar(None, column.type), column)


def na_hint(texts: Sequence[str]) -> str:
    """Return an offer to take words for nothing, where some of the texts usually are; else nothing."""
    words = [text.strip() for text in texts if text.strip() in USUAL_WORDS]
    return f", or add --na-values {words[0]!r} if that stands for nothing" if words else ""


def reads_as_number(text: str) -> bool:
    """Check whether Python reads a text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
