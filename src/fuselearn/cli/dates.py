"""Dates in text: read by the formats that are given or as ISO writes them, and the formats that are usual."""

import re
from datetime import UTC, datetime

from fuselearn.cli.console import refuse
from fuselearn.cli.csv_files import reads_as_number

ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}.*)?")
DAY_AND_MONTH = [
    (f"%d{sign}%m{sign}{year}", f"%m{sign}%d{sign}{year}") for year in ("%Y", "%y") for sign in (".", "/", "-")
]
"""Usual formats with the day first, and those with the month first, which are not in use with points."""
OTHERS = [
    *(f"%Y{sign}%m{sign}%d" for sign in "./-"),
    *(
        f"{one.replace('%b', month)}{year}"
        for month in ("%b", "%B")
        for year in ("%Y", "%y")
        for one in ("%d %b ", "%d-%b-", "%d. %b ", "%d%b", "%b %d, ", "%b %d ", "%d/%b/", "%d.%b.")
    ),
]
"""Usual formats that cannot be mixed up."""
TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")


def date_of(text: str | None, formats: tuple[str, ...]) -> datetime | None:
    """Return a date, or a date and time in UTC without a zone; None where the text is none."""
    if text is None:
        return None
    moment = None
    for date_format in formats:
        try:
            moment = datetime.strptime(text, date_format)
            break
        except ValueError:
            continue
    if moment is None and ISO_DATE.fullmatch(text):
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return None
    return moment if moment is None or moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def usual_formats(texts: list[str]) -> list[str]:
    """Return the usual formats by which all texts are dates: two, where days and months may be either way round.

    Examples
    --------
    >>> usual_formats(["31.12.2024", "01.02.2025"])
    ['%d.%m.%Y']
    >>> usual_formats(["01/02/2024", "11/12/2024"])
    ['%d/%m/%Y', '%m/%d/%Y']
    """
    cells = [text.strip() for text in texts]

    def reads(date_format: str) -> bool:
        return all(date_of(text, (date_format,)) for text in cells)

    for time in TIMES:
        for pair in DAY_AND_MONTH:
            usual = [one + time for one in pair if not one.startswith("%m.") and reads(one + time)]
            if usual:
                return usual
        for other in OTHERS:
            if reads(other + time):
                return [other + time]
    return []


def check_formats(options: list[str] | None) -> dict[str, tuple[str, ...]]:
    """Return the formats of dates, by column, from ``FORMAT`` or ``COLUMN=FORMAT``; "" is for all columns of text."""
    formats: dict[str, tuple[str, ...]] = {}
    for option in options or []:
        column, sign, date_format = option.partition("=")
        column, date_format = (column, date_format) if sign else ("", option)
        try:
            written = datetime(2001, 2, 3, 4, 5, 6).strftime(date_format)
            datetime.strptime(written, date_format)
        except ValueError:
            written = ""
        if not any(code in date_format for code in ("%d", "%j", "%x", "%D")) or not written:
            refuse(
                "--date-format takes a format of dates, such as '%d.%m.%Y', or COLUMN=FORMAT for one column; got "
                f"{option!r}."
            )
        if not column and reads_as_number(written):
            refuse(f"--date-format {option}: such dates are numbers, too; name their column: COLUMN={date_format}.")
        formats[column] = (*formats.get(column, ()), date_format)
    return formats
