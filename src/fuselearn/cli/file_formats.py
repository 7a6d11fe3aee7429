"""CSV and TSV, as a table or in batches that never hold more than a part of the file.

The first line is read here and not by pyarrow. So names can be checked before anything else is read, and standard
input, which cannot be read twice, can be read with the types that a model asks for.

Feather (the Arrow file format), as a table or batch by batch.

Parquet, as a table or row group by row group.
"""

import codecs
import csv
import io

import pyarrow
from pyarrow import compute, feather, ipc, parquet
from pyarrow import csv as arrow_csv

from fuselearn.cli.errors import refuse

BLOCK_BYTES = 4 << 20
NOTHING = arrow_csv.ConvertOptions().null_values
"""Words for nothing; the empty one is the first."""
MOST_NAME_LINES = 100
"""Lines that the names may take: more of them come from a quote that is not closed."""
BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


class CsvFile:
    """A file of text, with names of columns in its first line.

    Parameters
    ----------
    source : Source
    stream : binary file
    kind : {"csv", "tsv"}

    Attributes
    ----------
    names : list of str
    """

    def __init__(self, source, stream, kind):
        self.source, self.kind = source, kind
        self._delimiter = source.delimiter or ("\t" if kind == "tsv" else ",")
        if codecs.lookup(source.encoding).name not in ("utf-8", "ascii"):
            stream = io.BufferedReader(_Transcoded(stream, source.encoding))
        self._stream = stream
        self.names = self._read_names()
        if len(self.names) == 1:
            self._check_delimiter(self.names[0])

    def table(self, columns=None, types=None, identifier=None):
        """All rows, with the types that the values suggest where none are given; see :meth:`batches`."""
        try:
            table = arrow_csv.read_csv(self._stream, **self._options(columns, types)).combine_chunks()
            return _without_words_for_nothing(table, identifier)
        except pyarrow.ArrowInvalid as error:
            if "Empty CSV file" not in str(error):
                self._refuse_value(error)
                raise
            return pyarrow.table({name: [] for name in columns or self.names})

    def batches(self, columns, types, rows, identifier=None):
        """Yield tables of some columns, read as the given Arrow types.

        Parameters
        ----------
        columns : list of str
        types : dict of column name to Arrow type
        rows : int
            Not used: how much is read at a time depends on bytes.
        identifier : str or None
            Column that names the objects: one may be called NA.
        """
        try:
            with arrow_csv.open_csv(self._stream, **self._options(columns, types)) as reader:
                for batch in reader:
                    yield _without_words_for_nothing(pyarrow.Table.from_batches([batch]), identifier)
        except pyarrow.ArrowInvalid as error:
            if "Empty CSV file" not in str(error):  # that is, no rows
                self._refuse_value(error)
                raise

    def _options(self, columns, types):
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

    def _read_names(self):
        line = self._stream.readline()
        if not line:
            refuse(f"{self.source.name} is empty; it needs a line of column names, and rows below it.")
        mark = BYTE_ORDER_MARKS.get(line[:2])
        if mark:
            refuse(f"{self.source.name} is not UTF-8 but {mark}; add --encoding {mark}, or save it as UTF-8.")
        while line.count(b'"') % 2:  # a name may hold a line break
            more = self._stream.readline()
            if not more or line.count(b"\n") > MOST_NAME_LINES:
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

    def _refuse_quote(self):
        refuse(f'{self.source.name} has a quote (") among the names in its first line that is not closed; mend it.')

    def _check_delimiter(self, name):
        for delimiter, spoken in ((";", "';'"), ("\t", "a tab"), ("|", "'|'"), (",", "','")):
            if delimiter != self._delimiter and delimiter in name:
                shown = "$'\\t'" if delimiter == "\t" else f"'{delimiter}'"
                refuse(
                    f"{self.source.name} has one column, named {name[:60]!r}: its delimiter seems to be {spoken}; add "
                    f"--delimiter {shown}."
                )

    def _refuse_value(self, error):
        """Name the column in which a value is not of the type that the model was fitted on."""
        told = " ".join(str(error).split())
        if not told.startswith("In CSV column #") or "invalid UTF8" in told:
            return
        number, _, rest = told.removeprefix("In CSV column #").partition(":")
        row = rest.partition("Row #")[2].partition(":")[0]
        where = f" in line {int(row) + 1}" if row.isdigit() else ""
        value = rest.partition("invalid value ")[2].strip() or "a value"
        refuse(
            f"{self.source.name} has {value}{where} of the column {self.names[int(number)]!r}, which must hold "
            f"{_spoken(rest)}; mend the cell, or leave it empty."
        )


def _without_words_for_nothing(table, identifier):
    """A table with nulls for the words for nothing. Arrow would do it too, but for the id as well."""
    for number, (name, column) in enumerate(zip(table.column_names, table.columns)):
        if name != identifier and pyarrow.types.is_string(column.type):
            nothing = compute.is_in(column, value_set=pyarrow.array(NOTHING))
            if compute.any(nothing).as_py():
                column = compute.if_else(nothing, pyarrow.scalar(None, column.type), column)
                table = table.set_column(number, name, column)
    return table


class _Transcoded(io.RawIOBase):
    """Bytes of another encoding as UTF-8."""

    def __init__(self, stream, encoding):
        self._stream = stream
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._left = b""

    def readable(self):
        return True

    def readinto(self, buffer):
        while not self._left:
            read = self._stream.read(1 << 16)
            try:
                self._left = self._decoder.decode(read, final=not read).lstrip("\ufeff").encode()
            except UnicodeError as error:
                told = getattr(error, "reason", error)
                raise OSError(f"it is not {self._encoding} ({told}); say what it is with --encoding") from None
            if not read and not self._left:
                return 0
        count = min(len(buffer), len(self._left))
        buffer[:count], self._left = self._left[:count], self._left[count:]
        return count


def _spoken(conversion):
    for arrow, words in (("double", "numbers"), ("bool", "true or false"), ("string", "text")):
        if f"to {arrow}" in conversion:
            return words
    return "something else"


class FeatherFile:
    """A Feather file, of version 2 or of version 1, which has one batch only.

    Parameters
    ----------
    source : Source
    stream : binary file
    kind : str

    Attributes
    ----------
    names : list of str
    """

    def __init__(self, source, stream, kind):
        self.source, self.kind = source, kind
        self._first_version = stream.read(4) == b"FEA1"
        stream.seek(0)
        if self._first_version:
            self._table = feather.read_table(stream)
            self.names = list(self._table.column_names)
        else:
            self._reader = ipc.open_file(stream)
            self.names = list(self._reader.schema.names)

    def table(self, columns=None, types=None, identifier=None):
        """All rows; `types` are left to who reads them."""
        table = self._table if self._first_version else self._reader.read_all()
        return (table if columns is None else table.select(columns)).combine_chunks()

    def batches(self, columns, types, rows, identifier=None):
        """Yield tables of some columns and at most so many rows; `types` are left to who reads them."""
        if self._first_version:
            tables = [self._table]
        else:
            tables = (
                pyarrow.Table.from_batches([self._reader.get_batch(number)])
                for number in range(self._reader.num_record_batches)
            )
        for table in tables:
            for start in range(0, table.num_rows, rows):
                yield table.slice(start, rows).select(columns)


class ParquetFile:
    """A Parquet file.

    Parameters
    ----------
    source : Source
    stream : binary file
    kind : str

    Attributes
    ----------
    names : list of str
    """

    def __init__(self, source, stream, kind):
        self.source, self.kind = source, kind
        # Without buffering ahead, what is in memory is a batch and the pages it comes from.
        self._file = parquet.ParquetFile(stream, pre_buffer=False)
        self.names = list(self._file.schema_arrow.names)

    def table(self, columns=None, types=None, identifier=None):
        """All rows; `types` are left to who reads them."""
        return self._file.read(columns=columns).combine_chunks()

    def batches(self, columns, types, rows, identifier=None):
        """Yield tables of some columns and at most so many rows; `types` are left to who reads them."""
        for batch in self._file.iter_batches(batch_size=rows, columns=columns):
            yield pyarrow.Table.from_batches([batch]).select(columns)
