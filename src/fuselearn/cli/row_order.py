"""A digest of the rows of a file in their order, which ``fit`` saves with a model and ``suspects`` compares.

Labels alone do not tell the order: a file that was sorted within the classes has them all in the same places.
"""

import hashlib
from collections.abc import Iterable, Sequence

import pyarrow
from pyarrow import types

from fuselearn.cli.csv_files import without_words_for_nothing

DIGEST_BYTES = 16


def digest_of_ids(column: pyarrow.ChunkedArray, na_values: Sequence[str] = ()) -> str:
    """Return a digest of ids, which are the same as text and as whole numbers; words for nothing are no ids."""
    table = without_words_for_nothing(pyarrow.table({"id": column}), None, na_values)
    ids = (int(id_) if isinstance(id_, float) and id_.is_integer() else id_ for id_ in table.column("id").to_pylist())
    return _digest([_bytes_of_texts("" if id_ is None else str(id_).strip() for id_ in ids)])


def digest_of_rows(table: pyarrow.Table, columns: Iterable[str]) -> str:
    """Return a digest of what rows have in some columns, whatever the format that they were read from."""
    return _digest(_bytes_of(table.column(name)) for name in columns)


def _digest(parts: Iterable[bytes]) -> str:
    """Return the digest of columns."""
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _bytes_of(column: pyarrow.ChunkedArray) -> bytes:
    """Return a column as bytes: numbers of any type as floats, dates as microseconds, all else as text."""
    kind = column.type
    if types.is_temporal(kind) and not (types.is_time(kind) or types.is_duration(kind)):
        moments = column.cast(pyarrow.timestamp("us", getattr(kind, "tz", None)), safe=False)
        return moments.cast(pyarrow.int64()).fill_null(0).to_numpy().tobytes()
    if types.is_boolean(kind):
        column, kind = column.cast(pyarrow.uint8()), pyarrow.uint8()
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        numbers = column.cast(pyarrow.float64(), safe=False)
        return numbers.fill_null(float("nan")).to_numpy().tobytes()
    return _bytes_of_texts("" if value is None else str(value).strip() for value in column.to_pylist())


def _bytes_of_texts(texts: Iterable[str]) -> bytes:
    """Return texts as bytes from which each can be told."""
    return "".join(f"{len(text)}:{text}" for text in texts).encode("utf-8", "surrogatepass")
