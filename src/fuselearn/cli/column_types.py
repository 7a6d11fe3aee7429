"""One set of rules for what the cells of a column mean, whatever the format of the file.

CSV has no types: a column gets the one that all its cells can be read as. Parquet and Feather have types, but the same
table must make the same model. So text from any file is read as CSV would read it, categories count as their values,
single precision and decimals as the numbers that they would be written as, and the same words stand for nothing.
"""

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow
from pyarrow import compute, types
from pyarrow import csv as arrow_csv

from fuselearn.cli.console import one_line, refuse
from fuselearn.typing import FloatArray

if TYPE_CHECKING:
    from fuselearn.cli.files import Source

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
)
"""Words that often stand for nothing, and might be categories: they are offered as ``--na-values``."""
MAX_BLANKS = 8
"""Blanks that are still an empty cell of a column of numbers."""
BLOCK_BYTES = 4 << 20
TRUE, FALSE = ["true", "True", "TRUE"], ["false", "False", "FALSE"]
LARGEST_POWER = 22
"""Largest power of ten that a double holds exactly."""
POWERS_OF_TEN = np.array([float(10**power) for power in range(LARGEST_POWER + 1)])


def csv_options(
    names: list[str],
    columns: list[str] | None,
    column_types: Mapping[str, pyarrow.DataType] | None,
    na_values: Sequence[str],
    *,
    delimiter: str = ",",
    block_bytes: int = BLOCK_BYTES,
) -> dict[str, Any]:
    """Return the options of pyarrow's reader of CSV, with which all text is read."""
    # A message counts rows from the names in the order of the file, which takes one thread. Text is never refused.
    kinds = list((column_types or {}).values())
    any_order = all(map(types.is_string, kinds))
    words = [*NOTHING, *na_values]
    # Every column has its own copy of this list, which takes its time where there are 40,000: it is kept short.
    blanks = [" " * count for count in range(1, MAX_BLANKS + 1)]
    padded = [f" {word}" for word in words if word]
    # pandas writes whole numbers as 1.0 where some are missing. That a column is true or false must be known, though.
    numeric = {"true_values": ["1", "1.0", *TRUE], "false_values": ["0", "0.0", *FALSE]}
    truth = numeric if any(map(types.is_boolean, kinds)) else {}
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
            **truth,
        ),
    }


def without_words_for_nothing(table: pyarrow.Table, identifier: str | None, na_values: Sequence[str]) -> pyarrow.Table:
    """Return a table with nulls for the words and numbers for nothing, but for those that name an object."""
    words = pyarrow.array([*NOTHING, *na_values])
    numbers = pyarrow.array(sorted({float(word) for word in na_values if reads_as_number(word)}), pyarrow.float64())
    columns = [
        column if name == identifier else _without(column, words, numbers)
        for name, column in zip(table.column_names, table.columns)
    ]
    return pyarrow.table(columns, names=table.column_names)


def typed(
    table: pyarrow.Table, column_types: Mapping[str, pyarrow.DataType] | None, identifier: str | None, source: "Source"
) -> pyarrow.Table:
    """Return a table of a format that has types with those that the same table would have as CSV.

    Columns that are to be numbers, or true or false, become that, or are refused; those of text keep their own type.
    Text of which nothing is known gets the type that the texts suggest.
    """
    kinds = column_types or {}
    as_they_are = {identifier, *(name for name, kind in kinds.items() if types.is_string(kind))}
    columns = [_plain(column, name in as_they_are) for name, column in zip(table.column_names, table.columns)]
    table = pyarrow.table(columns, names=table.column_names)
    texts = [
        name
        for name, kind in zip(table.column_names, table.schema.types)
        if types.is_string(kind) and name not in as_they_are
    ]
    if texts:
        read = _read_texts(table.select(texts), {name: kinds[name] for name in texts if name in kinds}, source)
        values = dict(zip(texts, read.columns))
        columns = [values.get(name, column) for name, column in zip(table.column_names, table.columns)]
        table = pyarrow.table(columns, names=table.column_names)
    table = without_words_for_nothing(table, identifier, source.na_values)
    columns = [
        _converted(column, kinds[name], name, source) if name in kinds and name != identifier else column
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


def refuse_value(error: Exception, names: list[str], path: str, what: str = "line") -> None:
    """Refuse a value that is not of the type that the model was fitted on, by its column, and its line or row."""
    message = one_line(error)
    if not message.startswith("In CSV column #") or "invalid UTF8" in message:
        return
    number, _, rest = message.removeprefix("In CSV column #").partition(":")
    row = rest.partition("Row #")[2].partition(":")[0]
    where = f" in {what} {int(row) + (what == 'line')}" if row.isdigit() else ""
    value = str(error).partition("invalid value ")[2].strip() or "a value"
    text = value.strip("'")
    name = names[int(number)]
    if not text.strip():
        refuse(f"{path} has a cell of blanks only{where} of the column {name!r}; leave the cell empty.")
    refuse(
        f"{path} has {one_line(value)}{where} of the column {name!r}, which must hold {_expected(rest)}; fix the cell, "
        f"or leave it empty{na_hint([text])}."
    )


def na_hint(texts: Sequence[str]) -> str:
    """Return an offer to take words for nothing, where some of the texts usually are; else nothing."""
    words = [text.strip() for text in texts if text.strip() in USUAL_WORDS]
    return f", or add --na-values {words[0]!r} if that stands for nothing" if words else ""


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


def reads_as_number(text: str) -> bool:
    """Check whether Python reads a text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


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


def _read_texts(table: pyarrow.Table, column_types: Mapping[str, pyarrow.DataType], source: "Source") -> pyarrow.Table:
    """Return columns of text as CSV reads them."""
    written = io.BytesIO()
    arrow_csv.write_csv(table, written, arrow_csv.WriteOptions(include_header=False, quoting_style="all_valid"))
    # A row must fit into a block.
    block_bytes = min(written.tell(), 1 << 30)
    written.seek(0)
    names = list(table.column_names)
    options = csv_options(names, None, dict(column_types), source.na_values, block_bytes=block_bytes)
    if table.num_rows == 0:
        return table
    try:
        return arrow_csv.read_csv(written, **options)
    except pyarrow.ArrowInvalid as error:
        refuse_value(error, names, source.name, "row")
        raise


def _converted(
    column: pyarrow.ChunkedArray, kind: pyarrow.DataType, name: str, source: "Source"
) -> pyarrow.ChunkedArray:
    """Return a column as numbers, or as true or false; one that is neither in all its cells is refused."""
    if column.type == kind or not (types.is_floating(kind) or types.is_boolean(kind)):
        return column
    if column.null_count == len(column):
        return pyarrow.chunked_array([pyarrow.nulls(len(column), kind)])
    numeric = types.is_integer(column.type) or types.is_floating(column.type)
    if not numeric:
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
            f"{source.name} has {column[row].as_py():g} in row {row + 1} of the column {name!r}, which must hold true "
            "or false; fix the cell, or leave it empty."
        )
    return compute.equal(column, pyarrow.scalar(1, column.type))


def _without(column: pyarrow.ChunkedArray, words: pyarrow.Array, numbers: pyarrow.Array) -> pyarrow.ChunkedArray:
    """Return a column with nulls for words, or for numbers."""
    if types.is_string(column.type):
        nothing = compute.is_in(compute.utf8_trim_whitespace(column), value_set=words)
    elif len(numbers) and (types.is_floating(column.type) or types.is_integer(column.type)):
        nothing = compute.is_in(column.cast(pyarrow.float64(), safe=False), value_set=numbers)
    else:
        return column
    if not compute.any(nothing).as_py():
        return column
    return compute.if_else(nothing, pyarrow.scalar(None, column.type), column)


def _expected(conversion: str) -> str:
    """Return what a column must hold, from Arrow's words on a failed conversion."""
    for arrow, words in (("double", "numbers"), ("bool", "true or false"), ("string", "text")):
        if f"to {arrow}" in conversion:
            return words
    return "something else"
