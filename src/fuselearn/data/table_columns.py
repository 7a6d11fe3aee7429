"""Columns of an array or a data frame by their numbers, whatever they hold: read, mapped to codes, and replaced."""

from collections.abc import Iterable
from typing import Any, Protocol

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from scipy.sparse import issparse

from fuselearn.data.view_table import check_on_host
from fuselearn.typing import AnyArray, BoolArray, FloatArray, TableLike

NUMERIC = "biuf"
"""Kinds of arrays whose values are numbers."""


class ColumnTable(Protocol):
    """Columns of an array or a data frame, by their numbers."""

    def name(self, column: int) -> str:
        """Return what a message calls a column."""

    def numbers(self, column: int) -> AnyArray | None:
        """Return a column of numbers; None for one of anything else."""

    def distinct(self, column: int, rows: BoolArray | None = None) -> list[Any]:
        """Return the values that a column has, in some rows or in all, each once; missing ones may be left out."""

    def mapped(self, column: int, code_of: dict[Any, float]) -> FloatArray:
        """Return the codes of the values of a column, by those of its distinct values; NaN for what has none."""

    def replaced(self, codes: dict[int, FloatArray]) -> TableLike:
        """Return the table with other columns."""


class ArrayTable:
    """Columns of an array."""

    def __init__(self, X: TableLike) -> None:
        array = np.asarray(X)
        # In an array of text, numbers of a list of lists would be text as well.
        self._array = np.asarray(X, dtype=object) if array.dtype.kind in "UST" else array

    def name(self, column: int) -> str:
        return str(column)

    def numbers(self, column: int) -> AnyArray | None:
        return self._array[:, column] if self._array.dtype.kind in NUMERIC else None

    def distinct(self, column: int, rows: BoolArray | None = None) -> list[Any]:
        values = self._array[:, column] if rows is None else self._array[rows, column]
        if self._array.dtype.kind not in NUMERIC:
            return unique_values(values.tolist(), self.name(column))
        return np.unique(values).tolist()

    def mapped(self, column: int, code_of: dict[Any, float]) -> FloatArray:
        return _mapped(self._array[:, column].tolist(), code_of)

    def replaced(self, codes: dict[int, FloatArray]) -> AnyArray:
        array = self._array.astype(np.float64 if self._array.dtype.kind in "biu" else self._array.dtype)
        for column, column_codes in codes.items():
            array[:, column] = column_codes
        return array


class FrameTable:
    """Columns of a data frame."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def name(self, column: int) -> str:
        return repr(self._frame.columns[column])

    def numbers(self, column: int) -> AnyArray | None:
        series = self._frame[:, column]
        if not series.dtype.is_numeric():
            return None
        numbers = series.to_numpy()
        return numbers if numbers.dtype.kind in NUMERIC else None

    def distinct(self, column: int, rows: BoolArray | None = None) -> list[Any]:
        series = self._frame[:, column] if rows is None else self._frame[:, column].filter(rows.tolist())
        series = series.drop_nulls()
        if series.dtype == nw.Decimal:  # of which early versions of polars know no distinct values
            return list(set(series.to_list()))
        values: list[Any] = series.unique().to_list()
        return values

    def mapped(self, column: int, code_of: dict[Any, float]) -> FloatArray:
        series = self._frame[:, column]
        if code_of and all(isinstance(value, str) for value in code_of):
            # The library of the frame makes no Python object of each value. It takes NaN for a value without a code.
            known = [-1.0 if np.isnan(code) else code for code in code_of.values()]
            codes = np.array(series.replace_strict(list(code_of), known, return_dtype=nw.Float64).to_numpy())
            codes[codes < 0] = np.nan
            return codes
        return _mapped(series.to_list(), code_of)

    def replaced(self, codes: dict[int, FloatArray]) -> TableLike:
        frame = self._frame
        series = [
            nw.new_series(frame.columns[column], column_codes, nw.Float64, backend=frame.implementation)
            for column, column_codes in codes.items()
        ]
        return frame.with_columns(*series).to_native()


def _mapped(values: list[Any], code_of: dict[Any, float]) -> FloatArray:
    """Return the codes of values; NaN for those without one."""
    return np.fromiter((code_of.get(value, np.nan) for value in values), dtype=np.float64, count=len(values))


def frame_of(X: TableLike, *, eager_only: bool = False) -> Any:
    """Return a data frame as narwhals sees it; None for anything else."""
    try:
        frame = nw.from_native(X, pass_through=True, eager_only=eager_only)
    except DuplicateError as error:
        repeated = " ".join(str(error).split())
        raise ValueError(
            f"categorical_features needs columns with names of their own. {repeated}. Rename them, or pass an array."
        ) from None
    return frame if isinstance(frame, nw.DataFrame | nw.LazyFrame) else None


def table_of(X: TableLike) -> ColumnTable:
    """Return the columns of an array or data frame in this process."""
    check_on_host(X, "X", "categorical_features")
    frame = frame_of(X, eager_only=True)
    return ArrayTable(X) if frame is None else FrameTable(frame)


def n_columns_of(X: TableLike) -> int | None:
    """Return the number of columns; None for what is no dense table."""
    if issparse(X):
        return None
    try:
        # What is an array only when asked for one has no shape before.
        shape = X.shape if hasattr(X, "shape") else np.shape(np.asarray(X) if hasattr(X, "__array__") else X)
    except ValueError:  # of a list of rows that differ in length
        return None
    return shape[1] if len(shape) == 2 else None


def unique_values(values: Iterable[Any], name: str) -> list[Any]:
    """Return the values of a column, each once."""
    try:
        return list(dict.fromkeys(values))
    except TypeError as error:
        raise ValueError(f"The categorical column {name} of X must hold numbers or text: {error}.") from None


def padded_text(texts: Iterable[Any]) -> str | None:
    """Return the first text that is another one but for white space around it; None where there is none.

    Examples
    --------
    >>> padded_text(["b", "a ", "a"])
    'a '
    """
    known = {text for text in texts if isinstance(text, str)}
    return min((text for text in known if text != text.strip() and text.strip() in known), default=None)
