"""Parquet and Feather files, as a table or in batches of rows, with the types that the same table would have as CSV.

CSV has no types: a column gets the one that all its cells can be read as. Parquet and Feather have types, but the same
table must make the same model. So text from any file is read as CSV would read it, categories count as their values,
single precision and decimals as the numbers that they would be written as, and the same words stand for nothing.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow
from pyarrow import compute, feather, ipc, parquet, types

from fuselearn.cli.console import refuse
from fuselearn.cli.csv_files import TableFile, in_microseconds, read_texts, without_words_for_nothing
from fuselearn.data.column_kinds import unnamed_index
from fuselearn.typing import FloatArray

if TYPE_CHECKING:
    from fuselearn.cli.files import Source

YEARS = ("0001-01-01", "10000-01-01")
"""The first day that a date of Python can be, and the day after the last one."""
LARGEST_POWER = 22
"""Largest power of ten that a double holds exactly."""
POWERS_OF_TEN = np.array([float(10**power) for power in range(LARGEST_POWER + 1)])


class FeatherFile(TableFile):
    """A Feather file, of version 2 or of version 1, which has one batch only."""

    def __init__(self, source: "Source", stream: IO[bytes], kind: str) -> None:
        super().__init__(source, kind)
        self._first_version = stream.read(4) == b"FEA1"
        stream.seek(0)
        if self._first_version:
            self._table = feather.read_table(stream)
            self.names = _columns_of(self._table.schema)
        else:
            self._reader = ipc.open_file(stream)
            self.names = _columns_of(self._reader.schema)

    def table(
        self,
        columns: list[str] | None = None,
        types: dict[str, pyarrow.DataType] | None = None,
        identifier: str | None = None,
    ) -> pyarrow.Table:
        """Return all rows, in the types that they would have as CSV."""
        table = self._table if self._first_version else self._reader.read_all()
        table = table.select(self.names if columns is None else columns).combine_chunks()
        return typed(table, types, identifier, self)

    def batches(
        self, columns: list[str], types: dict[str, pyarrow.DataType], rows: int, identifier: str | None = None
    ) -> Iterator[pyarrow.Table]:
        """Yield tables of some columns and at most so many rows, in the types that they would have as CSV."""
        if self._first_version:
            tables: Iterable[pyarrow.Table] = [self._table]
        else:
            tables = (
                pyarrow.Table.from_batches([self._reader.get_batch(number)])
                for number in range(self._reader.num_record_batches)
            )
        first_row = 1
        for table in tables:
            for start in range(0, table.num_rows, rows):
                yield typed(table.slice(start, rows).select(columns), types, identifier, self, first_row + start)
            first_row += table.num_rows


class ParquetFile(TableFile):
    """A Parquet file."""

    def __init__(self, source: "Source", stream: IO[bytes], kind: str) -> None:
        super().__init__(source, kind)
        # Without buffering ahead, what is in memory is a batch and the pages it comes from.
        self._file = parquet.ParquetFile(stream, pre_buffer=False)
        self.names = _columns_of(self._file.schema_arrow)

    def table(
        self,
        columns: list[str] | None = None,
        types: dict[str, pyarrow.DataType] | None = None,
        identifier: str | None = None,
    ) -> pyarrow.Table:
        """Return all rows, in the types that they would have as CSV."""
        table = self._file.read(columns=self.names if columns is None else columns)
        return typed(table.combine_chunks(), types, identifier, self)

    def batches(
        self, columns: list[str], types: dict[str, pyarrow.DataType], rows: int, identifier: str | None = None
    ) -> Iterator[pyarrow.Table]:
        """Yield tables of some columns and at most so many rows, in the types that they would have as CSV."""
        first_row = 1
        for batch in self._file.iter_batches(batch_size=rows, columns=columns):
            yield typed(pyarrow.Table.from_batches([batch]).select(columns), types, identifier, self, first_row)
            first_row += batch.num_rows

    @property
    def group_rows(self) -> list[int]:
        """Return the number of rows of each row group."""
        metadata = self._file.metadata
        return [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]

    def group(self, number: int, columns: list[str], types: dict[str, pyarrow.DataType]) -> pyarrow.Table:
        """Return the rows of one row group, in the types that they would have as CSV."""
        first_row = 1 + sum(self.group_rows[:number])
        return typed(self._file.read_row_group(number, columns=columns).select(columns), types, None, self, first_row)


def _columns_of(schema: pyarrow.Schema) -> list[str]:
    """Return the names of the columns that CSV would have, too: not of an index that has no name in pandas."""
    index = unnamed_index(schema.names)
    return [name for name in schema.names if name not in index]


def typed(
    table: pyarrow.Table,
    column_types: Mapping[str, pyarrow.DataType] | None,
    identifier: str | None,
    opened: TableFile,
    first_row: int = 1,
) -> pyarrow.Table:
    """Return a table of a format that has types with those that the same table would have as CSV.

    Columns that are to be numbers, dates, or true or false, become that, or are refused; those of text keep their own
    type. Text of which nothing is known gets the type that the texts suggest.
    """
    kinds, source = column_types or {}, opened.source
    as_they_are = {identifier, *(name for name, kind in kinds.items() if types.is_string(kind))}
    columns = [_plain(column, name in as_they_are) for name, column in zip(table.column_names, table.columns)]
    for name, column in zip(table.column_names, columns):
        _check_years(column, name, source, first_row)
    table = in_microseconds(pyarrow.table(columns, names=table.column_names))
    texts = [
        name
        for name, kind in zip(table.column_names, table.schema.types)
        if types.is_string(kind) and name not in as_they_are
    ]
    if texts:
        table = opened.odd_cells.typed(table, {name: kinds[name] for name in texts if name in kinds}, first_row)
        opened.odd_cells.check_read()
        open_texts = [name for name in texts if name not in kinds]
        read = read_texts(table.select(open_texts), source) if open_texts else table.select([])
        read = opened.odd_cells.settled(read, open_texts)
        values = dict(zip(open_texts, read.columns))
        columns = [values.get(name, column) for name, column in zip(table.column_names, table.columns)]
        table = pyarrow.table(columns, names=table.column_names)
    table = without_words_for_nothing(table, identifier, source.na_values)
    columns = [
        _converted(column, kinds[name], name, source, first_row) if name in kinds and name != identifier else column
        for name, column in zip(table.column_names, table.columns)
    ]
    return pyarrow.table(columns, names=table.column_names)


def as_text(column: pyarrow.ChunkedArray, name: str, path: str) -> pyarrow.ChunkedArray:
    """Return a column of texts or whole numbers as texts; how others are spelled is not known, and they are refused."""
    if types.is_string(column.type):
        return column
    if not types.is_integer(column.type) and column.null_count < len(column):
        refuse(
            f"{path} has {type_in_words(column.type)} in the column {name!r}, which must hold text; write the column "
            "as text, spelled as it was at fit."
        )
    return column.cast(pyarrow.string())


def type_in_words(kind: pyarrow.DataType) -> str:
    """Return what a column of a type holds."""
    if types.is_boolean(kind):
        return "true or false"
    if types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind):
        return "numbers"
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    if types.is_temporal(kind):
        return f"dates or times ({kind})"
    return f"nested values ({kind})" if types.is_nested(kind) else str(kind)


def shortest_decimals(values: Any) -> FloatArray:
    """Return numbers of single precision as the shortest decimals that name them: 0.1 and not 0.10000000149.

    That is how every program writes them to CSV. The few that this arithmetic cannot be sure of are written and read.

    Examples
    --------
    >>> import numpy as np
    >>> shortest_decimals(np.array([0.1, 1 / 3], dtype=np.float32))
    array([0.1       , 0.33333334])
    """
    single = np.asarray(values, dtype=np.float32)
    result = single.astype(np.float64)
    places = np.flatnonzero(np.isfinite(single) & (single != 0))
    written = []
    exact = result[places]
    exponents = np.floor(np.log10(np.abs(exact))).astype(np.int64)
    # Any decimal of six digits is found in six; nine are always enough.
    for digits in range(6, 10):
        shift = digits - 1 - exponents
        power = POWERS_OF_TEN[np.minimum(np.abs(shift), LARGEST_POWER)]
        scaled = np.where(shift >= 0, exact * power, exact / power)
        whole = np.rint(scaled)
        unsure = (np.abs(shift) > LARGEST_POWER) | (np.abs(np.abs(scaled - whole) - 0.5) < 1e-5)
        # Both whole number and power are exact, so that the quotient is the double nearest to the decimal.
        decimal = np.where(shift >= 0, whole / power, whole * power)
        with np.errstate(over="ignore"):
            is_same = (decimal.astype(np.float32) == single[places]) & ~unsure
        result[places[is_same]] = decimal[is_same]
        written.append(places[unsure])
        left = ~is_same & ~unsure
        places, exact, exponents = places[left], exact[left], exponents[left]
    rest = np.concatenate([*written, places])
    if len(rest):
        result[rest] = pyarrow.array(single[rest]).cast(pyarrow.string()).cast(pyarrow.float64()).to_numpy()
    return result


def _plain(column: pyarrow.ChunkedArray, exact: bool) -> pyarrow.ChunkedArray:
    """Return a column without categories, in one of the types that CSV has; decimals stay where they are `exact`."""
    kind = column.type
    if types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if types.is_large_string(kind) or types.is_string_view(kind):
        return column.cast(pyarrow.string())
    if types.is_float32(kind):
        numbers = shortest_decimals(column.fill_null(0).to_numpy())
        return pyarrow.chunked_array([pyarrow.array(numbers, mask=column.is_null().to_numpy())])
    if types.is_float16(kind):
        return column.cast(pyarrow.float64())
    if types.is_decimal(kind) and not exact:
        return column.cast(pyarrow.string()).cast(pyarrow.float64())
    return column


def _check_years(column: pyarrow.ChunkedArray, name: str, source: "Source", first_row: int) -> None:
    """Refuse dates of years that Python does not have."""
    kind = column.type
    # Nanoseconds in 64 bits cannot leave these years.
    if not types.is_date(kind) and (not types.is_timestamp(kind) or kind.unit == "ns"):
        return
    unit = kind.unit if types.is_timestamp(kind) else "D" if types.is_date32(kind) else "ms"
    numbers = (column.cast(pyarrow.int32()) if unit == "D" else column).cast(pyarrow.int64())
    first, last = (int(np.datetime64(end).astype(f"datetime64[{unit}]").astype(np.int64)) for end in YEARS)
    row = compute.index(compute.or_(compute.less(numbers, first), compute.greater_equal(numbers, last)), True).as_py()
    if row >= 0:
        refuse(
            f"{source.name} has the year {_year_of(numbers[row].as_py(), unit)} in row {row + first_row} of the column "
            f"{name!r}; years go from 1 to 9999: is the unit of {kind} right?"
        )


def _year_of(number: int, unit: str) -> int:
    """Return the year of a number of units since 1970, which may be any."""
    return 1970 + int(number / {"D": 365.2425, "s": 31556952, "ms": 31556952e3, "us": 31556952e6}[unit])


def _converted(
    column: pyarrow.ChunkedArray, kind: pyarrow.DataType, name: str, source: "Source", first_row: int
) -> pyarrow.ChunkedArray:
    """Return a column as numbers, dates, or true or false; one that is none of it in all its cells is refused."""
    if column.type == kind or not (types.is_floating(kind) or types.is_boolean(kind) or types.is_timestamp(kind)):
        return column
    if column.null_count == len(column):
        return pyarrow.chunked_array([pyarrow.nulls(len(column), kind)])
    is_date = types.is_date(column.type) or types.is_timestamp(column.type)
    if is_date and types.is_timestamp(kind):
        # A moment with a time zone is the same moment in UTC, as it would be read from a text.
        return column.cast(pyarrow.timestamp("us", getattr(column.type, "tz", None)), safe=False).cast(kind)
    numeric = types.is_integer(column.type) or types.is_floating(column.type)
    if not numeric or types.is_timestamp(kind):
        refuse(
            f"{source.name} has {type_in_words(column.type)} in the column {name!r}, which must hold "
            f"{type_in_words(kind)}."
        )
    if types.is_floating(kind):
        return column.cast(kind, safe=False)  # as near as can be, like a number that is read
    if types.is_floating(column.type):
        column = compute.if_else(compute.is_nan(column), pyarrow.scalar(None, column.type), column)
    truth = compute.is_in(column, value_set=pyarrow.array([0, 1], column.type), skip_nulls=True)
    neither = compute.and_(compute.invert(truth), column.is_valid())
    row = compute.index(neither, True).as_py()
    if row >= 0:
        refuse(
            f"{source.name} has {column[row].as_py():g} in row {row + first_row} of the column {name!r}, which must "
            "hold true or false; fix the cell, or leave it empty."
        )
    return compute.equal(column, pyarrow.scalar(1, column.type))
