"""A small table of named columns and of records, which shows itself as text and HTML and becomes a data frame.

Lists of suspect labels are such tables. So is a leaderboard where no library of data frames is installed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib import import_module
from typing import Any, overload

import numpy as np

from fuselearn.typing import AnyArray

ROWS_AS_TEXT = 20
ROWS_AS_HTML = 60
"""Rows that are shown; the others are counted."""
STYLE = "text-align: {side}; padding: 0.2em 0.8em"


class Records(Sequence[dict[str, Any]]):
    """A table of named columns that is also a sequence of records.

    Iterating gives one dict of column name to value per row. A whole number as an index gives one record, a slice a
    table of some rows, and a name a column. It is equal to a list of the same records.

    Parameters
    ----------
    columns : dict of str to sequence
        Values of each column, all of the same length. NumPy's numbers become Python's.

    Attributes
    ----------
    columns : list of str
        Names of the columns.

    Examples
    --------
    >>> from fuselearn.records import Records
    >>> table = Records({"row": [7, 2], "given": ["ill", "well"], "probability": [0.98, 0.75]})
    >>> table
    row  given  probability
    ---  -----  -----------
      7  ill           0.98
      2  well          0.75
    >>> table[0]
    {'row': 7, 'given': 'ill', 'probability': 0.98}
    >>> table["row"]
    array([7, 2])
    >>> [record["given"] for record in table if record["probability"] > 0.9]
    ['ill']
    """

    def __init__(self, columns: Mapping[str, Sequence[Any] | AnyArray]) -> None:
        self._values = {
            str(name): values.tolist() if isinstance(values, np.ndarray) else list(values)
            for name, values in columns.items()
        }
        lengths = {name: len(values) for name, values in self._values.items()}
        if not lengths or len(set(lengths.values())) > 1:
            raise ValueError(f"columns must be at least one, and all of the same length; got the lengths {lengths}.")
        self._n_rows = next(iter(lengths.values()))

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._values)

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._n_rows

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows as records."""
        for values in zip(*self._values.values()):
            yield dict(zip(self._values, values))

    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, key: slice) -> Records: ...

    @overload
    def __getitem__(self, key: str) -> AnyArray: ...

    def __getitem__(self, key: int | slice | str) -> dict[str, Any] | Records | AnyArray:
        """Return the record of a row number, a table of some rows, or the values of a column."""
        if isinstance(key, str):
            if key not in self._values:
                raise KeyError(f"The table has the columns {', '.join(self._values)}; got {key!r}.")
            return _as_array(self._values[key])
        if isinstance(key, slice):
            return Records({name: values[key] for name, values in self._values.items()})
        if not -len(self) <= key < len(self):
            raise IndexError(f"The table has {len(self)} rows; got row {key}.")
        return {name: values[key] for name, values in self._values.items()}

    def __eq__(self, other: object) -> bool:
        """Check for the same records in the same order, in a table or a list."""
        if isinstance(other, Records):
            return self.columns == other.columns and list(self) == list(other)
        return list(self) == other if isinstance(other, list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def to_pandas(self) -> Any:
        """Return a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            With the same columns; an `ImportError` says so where pandas is not installed.
        """
        return _library("pandas").DataFrame(self._values)

    def to_polars(self) -> Any:
        """Return a polars data frame.

        Returns
        -------
        polars.DataFrame
            With the same columns; an `ImportError` says so where polars is not installed.
        """
        return _library("polars").DataFrame(self._values)

    def to_arrow(self) -> Any:
        """Return an Arrow table.

        Returns
        -------
        pyarrow.Table
            With the same columns; an `ImportError` says so where pyarrow is not installed.
        """
        return _library("pyarrow").table(self._values)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the table as an Arrow C stream, which most libraries of data frames read; it needs pyarrow."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        """Return the first rows as text."""
        shown = [[shown_cell(value) for value in values[:ROWS_AS_TEXT]] for values in self._values.values()]
        numeric = [_is_numeric(values) for values in self._values.values()]
        text = aligned([self.columns, *(list(row) for row in zip(*shown))], numeric)
        more = len(self) - ROWS_AS_TEXT
        return (
            text if len(self) and more <= 0 else f"{text}\n{f'… and {more:,} more rows' if len(self) else '(no rows)'}"
        )

    def _repr_html_(self) -> str:
        """Return the first rows as an HTML table, for notebooks."""
        styles = [STYLE.format(side="right" if _is_numeric(values) else "left") for values in self._values.values()]
        head = "".join(
            f'<th scope="col" style="{style}">{escape(name)}</th>' for name, style in zip(self.columns, styles)
        )
        lines = [
            "<tr>" + "".join(f'<td style="{s}">{escape(shown_cell(v))}</td>' for v, s in zip(row, styles)) + "</tr>"
            for row in zip(*(values[:ROWS_AS_HTML] for values in self._values.values()))
        ]
        more = f"<p>… and {len(self) - ROWS_AS_HTML:,} more rows</p>" if len(self) > ROWS_AS_HTML else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>{more}"


def aligned(grid: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Return rows of cells, the first of which are the heads, in lines with columns of equal width.

    `right` says which columns are aligned to the right.
    """
    grid = [[" ".join(cell.splitlines()) for cell in row] for row in grid]
    widths = [max(map(len, cells)) for cells in zip(*grid)]
    lines = [
        "  ".join(
            cell.rjust(width) if is_right else cell.ljust(width) for cell, width, is_right in zip(row, widths, right)
        ).rstrip()
        for row in grid
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def shown_cell(value: Any) -> str:
    """Return a value as it is shown: floats with four digits, nothing for a value that is missing."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _is_numeric(values: list[Any]) -> bool:
    """Return whether a column holds numbers."""
    return any(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _as_array(values: list[Any]) -> AnyArray:
    """Return a column as an array; values of different types stay what they are."""
    if len({type(value) for value in values}) == 1 and isinstance(values[0], bool | int | float | str):
        return np.array(values)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _library(name: str) -> Any:
    """Import a library of data frames, or say how to install it."""
    try:
        return import_module(name)
    except ImportError:
        remedy = "'fuselearn[app]'" if name == "pyarrow" else name
        raise ImportError(f"This conversion needs {name}: install it with pip install {remedy}.") from None
