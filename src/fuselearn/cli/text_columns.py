"""Columns of text in a view: refused where they are numbers gone wrong, or have too many values to learn from."""

import re

import pyarrow
from pyarrow import compute

from fuselearn.cli.console import refuse
from fuselearn.cli.csv_files import na_hint, reads_as_number

MAX_CATEGORIES = 100
"""Categories of a column of text that is one-hot encoded."""
DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")
SEPARATED = re.compile(r"\s*[-+]?\d[\d.,' \N{NO-BREAK SPACE}\N{RIGHT SINGLE QUOTATION MARK}]*\d\s*")
"""Digits with separators between them, as of thousands."""
DATE = re.compile(r"\s*\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\b.*")
MEASURED = re.compile(r"\s*[<>~\N{LESS-THAN OR EQUAL TO}$\N{EURO SIGN}]?\s*[-+]?\d+([.,]\d+)?\s*[^\W\d_%]{0,6}\s*%?\s*")
"""A number with a unit, or with a sign before it."""
MIN_MEASURED = 5
"""Different numbers with a unit from which on they are measured; fewer of them are names, as those of doses."""
MAX_UNITS = 2
"""Units of measured numbers; 1A, 2B, 3C are names."""
MIN_ROWS = 20
"""Rows from which on a column that never repeats itself is taken for a name of the objects."""


def check_text_column(
    column: pyarrow.ChunkedArray, name: str, view: str, categorical: str, path: str, of_rows: str
) -> None:
    """Refuse text that is numbers gone wrong, or has too many different values to learn from."""
    texts: list[str] = compute.unique(column.drop_null()).to_pylist()
    numbers = [text for text in texts if reads_as_number(text)]
    words = [text for text in texts if not reads_as_number(text)]
    where = f"{path} has text in the column {name!r} of the view {view!r}"
    shown = f"such as {(words or numbers or [''])[0][:40]!r}"
    if numbers and not words:
        refuse(f"{where}, {shown}: numbers, but with another decimal sign than --decimal says; add the right one.")
    if words and all(map(DECIMAL_COMMA.fullmatch, words)):
        refuse(
            f"{where}, {shown}: numbers with a comma; add --decimal , if it is the decimal sign, or leave it out where "
            "it separates thousands."
        )
    if len(words) >= 3 and all(map(DATE.fullmatch, words)):
        refuse(f"{where}, {shown}: dates, but not as ISO writes them (2024-12-31); {_date_advice(words, name)}.")
    if len(words) >= 3 and all(map(SEPARATED.fullmatch, [*words, *numbers])) and any(map(_has_separator, words)):
        refuse(f"{where}, {shown}: numbers with separators; write them plainly, as 1234.5.")
    if numbers and words and len(numbers) >= len(words):
        refuse(
            f"{where}, {shown} in row {_row_of(column, words[0])}{of_rows}, among numbers; fix these "
            f"cells, or leave them empty{na_hint(words)}."
        )
    units = {re.sub(r"[\d.,+-]", "", text).strip() for text in texts if MEASURED.fullmatch(text)}
    if len(texts) >= MIN_MEASURED and len(units) <= MAX_UNITS and all(map(MEASURED.fullmatch, texts)):
        refuse(
            f"{where}, {shown}: numbers with a unit or sign; write the numbers alone, and the unit into the name of "
            f"the column, or leave it out: --drop {name!r}."
        )
    if categorical == "none":
        refuse(
            f"{where}, which is to hold numbers only; encode it (--categorical onehot or target), or leave it out of "
            "the view."
        )
    rows = len(column) - column.null_count
    if len(texts) > MAX_CATEGORIES and categorical == "onehot":
        refuse(
            f"{where} with {len(texts)} different values, too many for a column each; leave it out of the views, name "
            "it with --id if it names the objects, or add --categorical target."
        )
    if len(texts) > rows / 2 and rows >= MIN_ROWS:
        refuse(
            f"{where} with {len(texts)} different values in {rows} rows, of which nothing can be learnt; leave it out "
            "of the views, or name it with --id if it names the objects."
        )


def _date_advice(texts: list[str], name: str) -> str:
    """Return the option that reads dates as these, where one does."""
    from fuselearn.cli.odd_cells import usual_format

    date_format = usual_format(texts)
    return f"add --date-format '{name}={date_format}'" if date_format else f"write them so, or add --drop {name!r}"


def _has_separator(text: str) -> bool:
    """Check whether digits have something between them that is no decimal point."""
    return not reads_as_number(text)


def _row_of(column: pyarrow.ChunkedArray, text: str) -> int:
    """Return the first row that has a text, counted from 1."""
    return int(compute.index(column, pyarrow.scalar(text, column.type)).as_py()) + 1
