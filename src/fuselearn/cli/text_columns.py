"""Columns of text in a view: refused where they are numbers gone wrong, or have too many values to learn from."""

import re

import pyarrow
from pyarrow import compute

from fuselearn.cli.console import refuse
from fuselearn.cli.csv_files import na_hint, reads_as_number

MAX_CATEGORIES = 100
"""Categories of a column of text that is one-hot encoded."""
DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")
WHOLE = re.compile(r"\s*[-+]?\d+\s*")
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
WITH_COMMA = (
    "numbers with a comma; add --decimal , if it is the decimal sign, or leave it out where it separates thousands"
)
WITH_SEPARATORS = "numbers with separators; write them plainly, as 1234.5"
WITH_UNIT = "numbers with a unit or sign; write the numbers alone, and the unit into the name of the column"


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
        refuse(f"{where}, {shown}: {WITH_COMMA}.")
    if len(words) >= 3 and all(map(DATE.fullmatch, words)):
        refuse(f"{where}, {shown}: dates, but not as ISO writes them (2024-12-31); {_date_advice(words, name)}.")
    if len(words) >= 3 and all(map(SEPARATED.fullmatch, texts)):
        refuse(f"{where}, {shown}: {WITH_SEPARATORS}.")
    if numbers and words and len(numbers) >= len(words):
        refuse(
            f"{where}, {shown} in row {_row_of(column, words[0])}{of_rows}, among numbers; fix these "
            f"cells, or leave them empty{na_hint(words)}."
        )
    if _have_units(texts):
        refuse(f"{where}, {shown}: {WITH_UNIT}, or leave it out: --drop {name!r}.")
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


def number_hint(texts: list[str]) -> str | None:
    """Return what different texts are that are numbers gone wrong, and the remedy; None for other texts.

    Examples
    --------
    >>> number_hint(["1.234,5", "1.300,0", "2.000,5"])
    'numbers with separators; write them plainly, as 1234.5'
    """
    words = [text for text in texts if not reads_as_number(text)]
    if words and all(map(DECIMAL_COMMA.fullmatch, words)):
        return WITH_COMMA
    if len(words) >= 3 and all(map(SEPARATED.fullmatch, texts)) and not all(map(DATE.fullmatch, words)):
        return WITH_SEPARATORS
    return WITH_UNIT if words and _have_units(texts) else None


def comma_number(cells: list[str]) -> str | None:
    """Return the first number with a comma, where all but a few cells are such or whole numbers; else None.

    Examples
    --------
    >>> comma_number(["2", "2,5", "3", "absent"])
    '2,5'
    """
    from fuselearn.cli.odd_cells import are_few

    found = [text for text in cells if DECIMAL_COMMA.fullmatch(text)]
    if not found:
        return None
    n_whole = sum(WHOLE.fullmatch(text) is not None for text in cells)
    return found[0] if are_few(len(cells) - len(found) - n_whole, len(cells)) else None


def _have_units(texts: list[str]) -> bool:
    """Check whether texts are measured numbers with a unit, or a sign before them."""
    units = {re.sub(r"[\d.,+-]", "", text).strip() for text in texts if MEASURED.fullmatch(text)}
    return len(texts) >= MIN_MEASURED and len(units) <= MAX_UNITS and all(map(MEASURED.fullmatch, texts))


def _date_advice(texts: list[str], name: str) -> str:
    """Return the option that reads dates as these, where one does."""
    from fuselearn.cli.odd_cells import usual_format

    date_format = usual_format(texts)
    return f"add --date-format '{name}={date_format}'" if date_format else f"write them so, or add --drop {name!r}"


def _row_of(column: pyarrow.ChunkedArray, text: str) -> int:
    """Return the first row that has a text, counted from 1."""
    return int(compute.index(column, pyarrow.scalar(text, column.type)).as_py()) + 1
