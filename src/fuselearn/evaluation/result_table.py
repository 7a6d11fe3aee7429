"""Tables of results: made once, then printed, saved and read by programs."""

import csv
import io
import json
import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from fuselearn.persistence import write_atomically
from fuselearn.records import aligned

DEFAULT_DECIMALS = 3
NO_VALUE = "–"
LINE_LENGTH = 120
LIST_START = re.compile(r"([-+*#>]|\d+[.)])(\s|$)")
"""Start of a line that Markdown does not take for plain text."""
Cell: TypeAlias = str | int | float | None


@dataclass(frozen=True)
class Table:
    """A table of results, as experiments print and save them.

    Parameters
    ----------
    title : str
        Heading; it may be empty.
    columns : sequence of str
        Names of the columns, all different.
    rows : sequence of sequences of str, int, float or None
        One cell per column. None and NaN both mean that there is no value. NumPy's numbers become Python's.
    note : str, default=""
        Explanation for the reader; it stands below the table.
    decimals : dict of column name to int, default={}
        Number of decimals that the floats of a column are shown with; 3 for those not named. Whole numbers are shown
        whole.

    Notes
    -----
    A column that holds any number is aligned to the right. Only text and Markdown are rounded: JSON, CSV,
    :meth:`records` and :meth:`column` have the values as they are.

    Examples
    --------
    >>> from fuselearn.evaluation import Table
    >>> rows = [("ShareBoost", 0.9751, 12), ("iBoost", None, 3)]
    >>> table = Table("Digits", ("method", "accuracy", "rounds"), rows, note="One split.", decimals={"accuracy": 2})
    >>> print(table)
    Digits
    <BLANKLINE>
    method      accuracy  rounds
    ----------  --------  ------
    ShareBoost      0.98      12
    iBoost             –       3
    <BLANKLINE>
    One split.
    >>> table.column("rounds")
    (12, 3)
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    decimals: Mapping[str, int] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name in ("title", "note"):
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"{name} must be a string; got {getattr(self, name)!r}.")
        columns = _checked_columns(self.columns)
        # The only way to set an attribute of a frozen dataclass.
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "rows", _checked_rows(self.rows, columns))
        object.__setattr__(self, "decimals", _checked_decimals(self.decimals, columns))

    def __str__(self) -> str:
        return self.to_text()

    def records(self) -> list[dict[str, Cell]]:
        """Return one dict of column name to value per row.

        Returns
        -------
        list of dict
            In the order of the rows.
        """
        return [dict(zip(self.columns, row)) for row in self.rows]

    def column(self, name: str) -> tuple[Cell, ...]:
        """Return the values of a column.

        Parameters
        ----------
        name : str
            One of `columns`.

        Returns
        -------
        tuple
            One value per row.
        """
        if name not in self.columns:
            raise ValueError(f"name must be a column of the table ({', '.join(self.columns)}); got {name!r}.")
        place = self.columns.index(name)
        return tuple(row[place] for row in self.rows)

    def to_text(self) -> str:
        """Return the table for a terminal: title, cells in columns, note.

        Returns
        -------
        str
            Lines without a newline at the end.
        """
        grid = [self.columns, *self._formatted_rows()]
        return _paragraphs(self.title, aligned(grid, self._right_aligned()), self.note)

    def to_markdown(self) -> str:
        """Return the table in Markdown: title as a heading, table, note.

        Returns
        -------
        str
            Lines without a newline at the end.
        """
        grid = [
            [_on_one_line(cell).replace("|", r"\|") for cell in row] for row in (self.columns, *self._formatted_rows())
        ]
        grid.insert(1, ["---:" if right else "---" for right in self._right_aligned()])
        lines = ["| " + " | ".join(row) + " |" for row in grid]
        return _paragraphs(f"### {_on_one_line(self.title)}" if self.title else "", "\n".join(lines), self.note)

    def to_json(self) -> str:
        """Return strict JSON, from which ``Table(**json.loads(text))`` makes the table again.

        NaN becomes null, so it comes back as None. Infinite values, which JSON does not know either, become the strings
        "inf" and "-inf".

        Returns
        -------
        str
            An object with the table's title, columns, rows, note and decimals.
        """
        content = {
            "title": self.title,
            "columns": self.columns,
            "rows": [[_for_json(value) for value in row] for row in self.rows],
            "note": self.note,
            "decimals": self.decimals,
        }
        return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1)

    def to_csv(self) -> str:
        """Return columns and rows with commas between the cells, without title and note.

        Returns
        -------
        str
            A cell without a value is empty.
        """
        lines = io.StringIO()
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(["" if _is_missing(value) else value for value in row] for row in self.rows)
        return lines.getvalue()

    def save(self, path: str | Path, *, overwrite: bool = True) -> None:
        """Write the table, in the format that the suffix asks for.

        Whoever reads the file meanwhile sees the old or the new content, never a part of it.

        Parameters
        ----------
        path : str or Path
            Ends with .md, .json, .txt or .csv. Its folder must be there.
        overwrite : bool, default=True
            Whether a file of that name is replaced. Otherwise there is a `FileExistsError`, and the table is kept
            under another name, the error's `filename2`.
        """
        path = Path(path)
        formats = {".md": self.to_markdown, ".json": self.to_json, ".txt": self.to_text, ".csv": self.to_csv}
        if path.suffix not in formats:
            raise ValueError(f"path must end with {', '.join(formats)}; got {str(path)!r}.")
        if not path.parent.is_dir():
            raise FileNotFoundError(f"path must be in a folder that exists; there is no {str(path.parent)!r}.")
        with write_atomically(path, newline="", overwrite=overwrite) as file:
            file.write(formats[path.suffix]().rstrip("\n") + "\n")

    def _formatted_rows(self) -> list[list[str]]:
        """Return all cells as text."""
        decimals = [self.decimals.get(name, DEFAULT_DECIMALS) for name in self.columns]
        return [[_formatted(value, places) for value, places in zip(row, decimals)] for row in self.rows]

    def _right_aligned(self) -> list[bool]:
        """Return True for each column that holds a number."""
        return [any(isinstance(value, int | float) for value in self.column(name)) for name in self.columns]


def wrap_markdown(text: str) -> str:
    """Return Markdown with paragraphs and list items in lines of at most 120 characters.

    Tables, headings and images stay as they are.

    Examples
    --------
    >>> [len(line) for line in wrap_markdown("word " * 23 + "four - four").splitlines()]
    [114, 11]
    """
    return "\n\n".join(map(_wrapped_block, text.split("\n\n")))


def _checked_columns(columns: Iterable[str]) -> tuple[str, ...]:
    """Return the names of columns, which must be different strings."""
    if isinstance(columns, str):
        raise TypeError(f"columns must be a sequence of strings; got the string {columns!r}.")
    columns = tuple(columns)
    wrong = [name for name in columns if not isinstance(name, str)]
    if wrong:
        raise TypeError(f"columns must be strings; got {wrong[0]!r}.")
    if not columns or len(set(columns)) < len(columns):
        raise ValueError(f"columns must be at least one, and all different; got {columns!r}.")
    return columns


def _checked_rows(rows: Iterable[Iterable[Any]], columns: tuple[str, ...]) -> tuple[tuple[Cell, ...], ...]:
    """Return rows of as many cells as there are columns, with Python's numbers."""
    checked = []
    for number, row in enumerate(rows):
        if isinstance(row, str) or not hasattr(row, "__iter__"):
            raise TypeError(f"rows must be sequences of cells; row {number} is {row!r}.")
        cells = tuple(cell.item() if isinstance(cell, np.generic) else cell for cell in row)
        if len(cells) != len(columns):
            raise ValueError(f"rows must have {len(columns)} cells, one per column; row {number} has {len(cells)}.")
        for name, cell in zip(columns, cells):
            # True would be printed as a number by some formats and as a word by others.
            if isinstance(cell, bool) or not isinstance(cell, str | int | float | None):
                raise TypeError(
                    f"rows must hold strings, whole numbers, floats and None; "
                    f"row {number} has {cell!r} in column {name!r}."
                )
        checked.append(cells)
    return tuple(checked)


def _checked_decimals(decimals: Mapping[str, int], columns: tuple[str, ...]) -> dict[str, int]:
    """Return the number of decimals of columns that there are."""
    decimals = dict(decimals)
    for name, places in decimals.items():
        if name not in columns:
            raise ValueError(f"decimals must name columns of the table ({', '.join(columns)}); got {name!r}.")
        if isinstance(places, bool) or not isinstance(places, Integral) or places < 0:
            raise ValueError(f"decimals must be whole numbers of at least 0; got {places!r} for {name!r}.")
    return {name: int(places) for name, places in decimals.items()}


def _is_missing(value: Cell) -> bool:
    """Return True for None and NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _formatted(value: Cell, places: int) -> str:
    """Return a value as it is printed."""
    if _is_missing(value):
        return NO_VALUE
    # "z": what rounds to zero has no sign.
    return f"{value:z.{places}f}" if isinstance(value, float) else str(value)


def _on_one_line(cell: str) -> str:
    """Return text without line breaks."""
    return " ".join(cell.splitlines())


def _for_json(value: Cell) -> Cell:
    """Return a value that strict JSON can hold."""
    if _is_missing(value):
        return None
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def _paragraphs(*parts: str) -> str:
    """Return the parts that are not empty, with empty lines between them."""
    return "\n\n".join(part for part in parts if part)


def _wrapped_block(block: str) -> str:
    """Return a paragraph or a list in short lines, and any other block as it is."""
    if block.lstrip().startswith(("|", "#", "!", "<!--")):
        return block
    if block.startswith("- "):
        return "\n".join(_wrapped_lines(item, "  ") for item in block.splitlines())
    return _wrapped_lines(block, "")


def _wrapped_lines(text: str, indent: str) -> str:
    """Return text in short lines, none of which but the first looks like an item of a list."""
    width = LINE_LENGTH - len(indent)
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    for number in range(len(lines) - 1, 0, -1):
        while LIST_START.match(lines[number]) and " " in lines[number - 1]:
            lines[number - 1], word = lines[number - 1].rsplit(" ", 1)
            lines[number] = f"{word} {lines[number]}"
    return f"\n{indent}".join(lines)
