"""Columns of text in a view: refused where they are numbers gone wrong, or have too many values to learn from."""

import re

import pyarrow
from pyarrow import compute

from fuselearn.cli.console import Notes, refuse
from fuselearn.cli.csv_files import na_hint, reads_as_number
from fuselearn.cli.dates import usual_formats
from fuselearn.cli.spellings import spellings_in_words

MAX_CATEGORIES = 100
"""Categories of a column of text that is one-hot encoded."""
DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+([eE][-+]?\d+)?\s*")
THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?\s*")
WHOLE = re.compile(r"\s*[-+]?\d+\s*")
BLANKS = " \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"
QUOTE = "\N{RIGHT SINGLE QUOTATION MARK}"
LIMITS = "<>\N{LESS-THAN OR EQUAL TO}\N{GREATER-THAN OR EQUAL TO}"
"""Signs before a number that is none, but a limit of detection."""
SIGNS = f"{LIMITS}=~(\N{ALMOST EQUAL TO}\N{PLUS-MINUS SIGN}$\N{POUND SIGN}\N{YEN SIGN}\N{EURO SIGN}"
SEPARATED = re.compile(rf"\s*[-+]?\d[\d.,'{BLANKS}{QUOTE}]*\d\s*")
"""Digits with separators between them, as of thousands."""
DATE = re.compile(
    r"\s*(\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\b.*"
    r"|\d{1,2}(st|nd|rd|th)?[\s./-]*[^\W\d_]{3,12}[\s.,/-]*(19|20)\d\d\b.*"
    r"|\d{1,2}[\s.-]*(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[\s.-]*\d\d\b.*"
    r"|[^\W\d_]{3,12}\.?\s+\d{1,2}(st|nd|rd|th)?,?\s+(19|20)\d\d\b.*)"
)
"""Dates of digits, or with the name of the month."""
DAY_OF_YEAR = re.compile(r"\s*\d{1,2}\.\d{1,2}\.\s*")
PART_OF_YEAR = re.compile(r"\s*(\d{4})-(0[1-9]|1[0-2]|[WQ]\d{1,2})\s*")
TIME = re.compile(r"\s*\d{1,3}:\d{2}(:\d{2}([.,]\d+)?)?(\s*[AaPp]\.?[Mm]\.?)?\s*")
PAIR = re.compile(r"\s*\d+([.,]\d+)?\s*/\s*\d+([.,]\d+)?[^/]*")
FORTRAN = re.compile(r"\s*[-+]?\d+\.?\d*[dD][-+]?\d+\s*")
BEGINNING = re.compile(
    rf"\s*(?P<sign>[{SIGNS}]*)\s*[-+\N{{MINUS SIGN}}]?\s*"
    rf"(?P<number>\d+([.,'{QUOTE}]\d+|[{BLANKS}]\d{{3}}(?!\d))*([eEdD][-+]?\d+)?|[.,]\d+)"
)
"""The number that a text begins with, in the spelling of any country, and a sign before it."""
NAME = re.compile(
    r"(st|nd|rd|th|er|e|\N{MASCULINE ORDINAL INDICATOR}|\N{FEMININE ORDINAL INDICATOR})\b|\.\s"
    r"|[-\u2013\u2014]\s*\d|to\s+\d"
)
"""What follows the number in a name: 1st, 1. floor, 10-20, 10 to 20."""
MIN_MEASURED = 5
"""Different numbers with a unit from which on they may be measured; fewer of them are names, as those of doses."""
MAX_NAMES = 10
"""Different whole numbers with a unit that may be names, as 1 room to 6 rooms."""
ROWS_OF_NAME = 10
"""Rows for each different text from which on these are rather names than measured."""
MAX_UNITS = 2
"""Units of measured numbers; 1A, 2B, 3C are names."""
MIN_ROWS = 20
"""Rows from which on a column that never repeats itself is taken for a name of the objects."""
WITH_COMMA = (
    "numbers with a comma; add --decimal , if it is the decimal sign, or leave it out where it separates thousands"
)
WITH_SEPARATORS = "numbers with separators; write them plainly, as 1234.5"
WITH_UNIT = "numbers with a unit or sign; write the numbers alone, and the unit into the name of the column"
TIMES = "times of day or durations; write them as numbers, such as 8.5 hours"
POWERS = "numbers with D for a power of ten; write them with E, as 1.5E+01"
PAIRS = "two numbers in a cell; give each of them a column of its own"
WITHOUT_YEAR = "days without a year; write whole dates, as 2024-12-31"
WITHOUT_DAY = "parts of years; write a day of each, as 2024-12-01"


def check_text_column(
    column: pyarrow.ChunkedArray, name: str, view: str, categorical: str, path: str, of_rows: str, notes: Notes
) -> None:
    """Refuse text that is numbers gone wrong, or has too many different values to learn from; note what may be such."""
    texts: list[str] = compute.unique(column.drop_null()).to_pylist()
    numbers = [text for text in texts if reads_as_number(text)]
    words = [text for text in texts if not reads_as_number(text)]
    rows = len(column) - column.null_count
    where = f"{path} has text in the column {name!r} of the view {view!r}"
    shown = f"such as {(words or numbers or [''])[0][:40]!r}"
    if numbers and not words:
        refuse(f"{where}, {shown}: numbers, but with another decimal sign than --decimal says; add the right one.")
    if words and all(map(DECIMAL_COMMA.fullmatch, words)):
        refuse(f"{where}, {shown}: {WITH_COMMA}.")
    if _are_dates(words):
        refuse(f"{where}, {shown}: dates, but not as ISO writes them (2024-12-31); {_date_advice(words, name)}.")
    if len(words) >= 3 and all(map(SEPARATED.fullmatch, texts)):
        refuse(f"{where}, {shown}: {WITH_SEPARATORS}.")
    if numbers and words and len(numbers) >= len(words):
        refuse(
            f"{where}, {shown} in row {_row_of(column, words[0])}{of_rows}, among numbers; fix these "
            f"cells, or leave them empty{na_hint(words)}."
        )
    measured = _measured(texts)
    if measured is not None:
        first, advice = measured
        if _are_surely_measured(texts, rows, categorical):
            refuse(
                f"{where}, such as {first[:40]!r}: {advice}, or leave it out: --drop {name!r}. If they are names, "
                "begin them with a letter."
            )
    if categorical == "none":
        refuse(
            f"{where}, which is to hold numbers only; encode it (--categorical onehot or target), or leave it out of "
            "the view."
        )
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
    counts = compute.value_counts(column.drop_null().combine_chunks()).to_pylist()
    alike = spellings_in_words({pair["values"]: pair["counts"] for pair in counts})
    if alike is not None:
        notes.add(
            f"Warning: {path} has {alike} in the column {name!r} of the view {view!r}: categories of their own here, "
            "which differ in case or blanks only. If they are one, spell them alike in the file."
        )
    if measured is not None:
        what, _, remedy = advice.partition("; ")
        notes.add(
            f"{path} has {len(texts)} different texts in the column {name!r} of the view {view!r}, such as "
            f"{first[:40]!r}: they are taken as categories. If they are meant as {what}, {remedy}."
        )


def number_hint(texts: list[str]) -> str | None:
    """Return what different texts are that are numbers or dates, and the remedy; None for other texts.

    Examples
    --------
    >>> number_hint(["1.234,5", "1.300,0", "2.000,5"])
    'numbers with separators; write them plainly, as 1234.5'
    """
    words = [text for text in texts if not reads_as_number(text)]
    if words and all(map(DECIMAL_COMMA.fullmatch, words)):
        return WITH_COMMA
    if _are_dates(words):
        return "dates; is it the column of classes?"
    if len(words) >= 3 and all(map(SEPARATED.fullmatch, texts)):
        return WITH_SEPARATORS
    measured = _measured(texts) if words else None
    return None if measured is None else measured[1]


def spelled_otherwise(text: str, kind: str) -> bool:
    """Check whether a text is one of the "numbers" or "dates", but not as they are read; a limit (<5) is none."""
    if kind == "dates":
        return DATE.fullmatch(text) is not None
    beginning = BEGINNING.match(text) if kind == "numbers" else None
    return beginning is not None and set(beginning["sign"]).isdisjoint(LIMITS)


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


def with_thousands(cells: list[str]) -> str | None:
    """Return the first number that surely has commas between thousands, where nearly all cells are numbers; else None.

    A comma alone, as in 191,800, may be a decimal sign, too.

    Examples
    --------
    >>> with_thousands(["950", "191,800", "2,878,850"])
    '2,878,850'
    """
    from fuselearn.cli.odd_cells import are_few

    first = next((text for text in cells if THOUSANDS.fullmatch(text) and not DECIMAL_COMMA.fullmatch(text)), None)
    if first is None:
        return None
    n_others = sum(THOUSANDS.fullmatch(text) is None and not reads_as_number(text) for text in cells)
    return first if are_few(n_others, len(cells)) else None


def _are_dates(words: list[str]) -> bool:
    """Check whether texts are dates, which are at least three."""
    return len(words) >= 3 and all(map(DATE.fullmatch, words))


def _measured(texts: list[str]) -> tuple[str, str] | None:
    """Return the first of different texts that seem to be measured numbers, what they are and the remedy; else None.

    All but a few begin with a number, and what follows has few spellings, whatever numbers it may hold.
    """
    from fuselearn.cli.odd_cells import are_few

    for pattern, advice in ((DAY_OF_YEAR, WITHOUT_YEAR), (TIME, TIMES), (PAIR, PAIRS), (FORTRAN, POWERS)):
        if len(texts) >= MIN_MEASURED and all(map(pattern.fullmatch, texts)):
            return texts[0], advice
    parts = [PART_OF_YEAR.fullmatch(text) for text in texts]
    if len(texts) >= MIN_MEASURED and all(parts):
        # 2000-01, 2001-02 and so on are seasons.
        seasons = all(part is not None and part[2] == f"{(int(part[1]) + 1) % 100:02d}" for part in parts)
        return None if seasons else (texts[0], WITHOUT_DAY)
    begun = [(text, found) for text in texts if (found := BEGINNING.match(text))]
    if len(begun) < MIN_MEASURED or not are_few(len(texts) - len(begun), len(texts)):
        return None
    rests = [text[found.end() :].strip() for text, found in begun]
    spellings = {re.sub(r"\d+([.,]\d+)?", "0", rest) for rest in rests}
    if len(spellings) > MAX_UNITS or any(map(NAME.match, rests)):
        return None
    return next((text for text, _ in begun if not reads_as_number(text)), texts[0]), WITH_UNIT


def _are_surely_measured(texts: list[str], rows: int, categorical: str) -> bool:
    """Check whether texts that seem to be measured numbers cannot well be names of a few categories."""
    if len(texts) > MAX_CATEGORIES and categorical == "onehot":
        return True
    numbers = [found["number"] for text in texts if (found := BEGINNING.match(text))]
    have_fractions = any(set(number) & set(".,") for number in numbers)
    are_few_names = len(texts) * ROWS_OF_NAME <= rows
    if len(texts) > MAX_NAMES:
        return have_fractions or not are_few_names
    return have_fractions and not are_few_names


def _date_advice(texts: list[str], name: str) -> str:
    """Return the option that reads dates as these, where one does; both, where only the reader can know which."""
    formats = usual_formats(texts)
    if not formats:
        return f"write them so, or add --drop {name!r}"
    advice = f"add --date-format '{name}={formats[0]}'"
    if len(formats) == 1:
        return advice
    return f"{advice}, or --date-format '{name}={formats[1]}' if the month comes first: only you can know"


def _row_of(column: pyarrow.ChunkedArray, text: str) -> int:
    """Return the first row that has a text, counted from 1."""
    return int(compute.index(column, pyarrow.scalar(text, column.type)).as_py()) + 1
