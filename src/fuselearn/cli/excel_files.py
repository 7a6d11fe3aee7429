"""Sheets of Excel workbooks (``.xlsx``), as the same table would be read from CSV.

The first sheet that holds something is the table, with the names of its columns in the first row. Numbers, dates, true
and false have their types in Excel; a column that mixes them with text is read as the text it would be in CSV.
"""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import IO, TYPE_CHECKING, Any

import pyarrow

from fuselearn.cli.console import refuse
from fuselearn.cli.csv_files import TableFile
from fuselearn.cli.typed_files import typed

if TYPE_CHECKING:
    from fuselearn.cli.files import Source


class ExcelFile(TableFile):
    """A workbook, whose table is in memory once it is opened."""

    def __init__(self, source: "Source", stream: IO[bytes], kind: str) -> None:
        super().__init__(source, kind)
        try:
            from openpyxl import load_workbook
        except ModuleNotFoundError:
            refuse(
                f"{source.name} is an Excel workbook, which needs openpyxl: pip install 'fuselearn[excel]', or save it "
                "as CSV UTF-8 in Excel."
            )
        try:
            book = load_workbook(stream, read_only=True, data_only=True)
            sheets = {name: _rows(book[name]) for name in book.sheetnames if hasattr(book[name], "iter_rows")}
            stream.seek(0)
            formulas = load_workbook(stream, read_only=True)
        except Exception as error:  # openpyxl has no type of its own for a damaged workbook
            raise OSError(f"it is not an Excel workbook that can be opened ({error})") from None
        filled = [name for name, rows in sheets.items() if rows]
        if not filled:
            refuse(f"{source.name} has no sheet that holds anything.")
        self._sheet = filled[0]
        self._others = filled[1:]
        header, *rows = sheets[self._sheet]
        _check_formulas(formulas[self._sheet], sheets[self._sheet], source.name)
        self.names = self._names(header, rows)
        columns = list(zip(*rows)) if rows else [()] * len(self.names)
        self._table = pyarrow.table([_column(cells) for cells in columns], names=self.names)

    @property
    def remarks(self) -> list[str]:
        """Return what is to be noted about the rows that were read, and about other sheets."""
        others = f"{self.source.name} has more than one sheet: {self._sheet!r} is read, not {', '.join(self._others)}."
        return [*([others] if self._others else []), *super().remarks]

    def table(
        self,
        columns: list[str] | None = None,
        types: dict[str, pyarrow.DataType] | None = None,
        identifier: str | None = None,
    ) -> pyarrow.Table:
        """Return all rows, in the types that they would have as CSV."""
        return typed(self._table.select(columns or self.names), types, identifier, self)

    def batches(
        self, columns: list[str], types: dict[str, pyarrow.DataType], rows: int, identifier: str | None = None
    ) -> Iterator[pyarrow.Table]:
        """Yield tables of some columns and at most so many rows, in the types that they would have as CSV."""
        for start in range(0, self._table.num_rows, rows):
            yield typed(self._table.slice(start, rows).select(columns), types, identifier, self, start + 1)

    def _names(self, header: list[Any], rows: list[list[Any]]) -> list[str]:
        """Return the names of the columns, which the first row must have for every column with a value."""
        nameless = [number for number, name in enumerate(header) if name is None or not str(name).strip()]
        for number in nameless:
            if any(row[number] is not None for row in rows):
                refuse(
                    f"{self.source.name} has no name for column {number + 1} in the first row of the sheet "
                    f"{self._sheet!r}; the first row must hold the names of all columns: delete titles above it, and "
                    "undo merged cells."
                )
        return ["" if number in nameless else _text(name) for number, name in enumerate(header)]


def _rows(sheet: Any) -> list[list[Any]]:
    """Return the cells of a sheet, without the empty rows and columns around its table."""
    rows = [list(row) for row in sheet.iter_rows(values_only=True)]
    while rows and all(cell is None for cell in rows[-1]):
        rows.pop()
    width = max((number + 1 for row in rows for number, cell in enumerate(row) if cell is not None), default=0)
    return [(row + [None] * width)[:width] for row in rows] if width else []


def _check_formulas(sheet: Any, values: list[list[Any]], path: str) -> None:
    """Refuse formulas of which the workbook has no value: no program has calculated them yet."""
    for row, cells in enumerate(sheet.iter_rows(values_only=True)):
        for column, cell in enumerate(cells):
            is_formula = isinstance(cell, str) and cell.startswith("=")
            if is_formula and row < len(values) and column < len(values[row]) and values[row][column] is None:
                refuse(f"{path} has formulas without a value, such as {cell[:40]!r}; open it in Excel, and save it.")


def _column(cells: tuple[Any, ...]) -> pyarrow.Array:
    """Return the cells of a column in one type; as text, as CSV would spell them, where they have several."""
    known = [cell for cell in cells if cell is not None]
    kinds = {_kind(cell) for cell in known}
    if kinds == {"date"}:
        moments = [
            cell if cell is None or isinstance(cell, datetime) else datetime.combine(cell, time()) for cell in cells
        ]
        return pyarrow.array(moments, pyarrow.timestamp("us"))
    if "duration" in kinds and kinds <= {"duration", "time"}:
        return pyarrow.array([_duration(cell) for cell in cells], pyarrow.duration("us"))
    if kinds == {"number"}:
        return pyarrow.array(cells, pyarrow.int64() if all(type(cell) is int for cell in known) else pyarrow.float64())
    if kinds == {"truth"}:
        return pyarrow.array(cells, pyarrow.bool_())
    return pyarrow.array([None if cell is None else _text(cell) for cell in cells], pyarrow.string())


def _kind(cell: Any) -> str:
    """Return what a cell holds."""
    if isinstance(cell, bool):
        return "truth"
    if isinstance(cell, date):
        return "date"
    if isinstance(cell, time | timedelta):
        return "time" if isinstance(cell, time) else "duration"
    return "number" if isinstance(cell, int | float) and abs(cell) < 2**63 else "text"


def _duration(cell: Any) -> timedelta | None:
    """Return a duration, which Excel takes for a time of day where it is less than a day."""
    if not isinstance(cell, time):
        return cell
    return datetime.combine(date.min, cell) - datetime.min


def _text(cell: Any) -> str:
    """Return a cell as CSV would spell it."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, datetime) and cell.time() == time():
        return cell.date().isoformat()
    if isinstance(cell, date | time):
        return cell.isoformat()
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15 else str(cell)
