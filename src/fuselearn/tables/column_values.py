"""Columns of a table by what their cells hold: numbers, true or false, text or dates, with gaps where nothing is.

A data frame keeps what its types have no name for as objects. These are what their values are: whole numbers with None
among them are numbers, as a file of them would be read.
"""

import warnings
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np

from fuselearn.data.labels import is_missing_value
from fuselearn.exceptions import level_of_caller
from fuselearn.typing import AnyArray

NUMBER, BOOLEAN, TEXT, DATE = "number", "boolean", "text", "date"
"""Kinds of columns."""
ENCODED = (TEXT, DATE)
"""Those of which a column of numbers is not simply a copy."""
NOT_ONE_VALUE = (list, tuple, dict, set, frozenset, np.ndarray, bytes, bytearray, time, timedelta)
"""What cells of objects may not hold: many values, bytes, and times without a day."""
NEARLY_ALL = 0.9
"""Share of the values of a column of text from which on they are numbers or dates, or names of the rows."""
MANY_VALUES = 10
"""Different numbers as text up to which they may well be codes of categories."""
MIN_ROWS = 20
"""Rows from which on a text that never repeats itself is taken for a name of the rows."""


def kind_of(series: Any) -> str:
    """Return the kind of a column of training rows, by its type and, for objects, by its values."""
    if series.null_count() == len(series):
        return NUMBER  # whatever its type: a file of text has none for it
    if series.dtype == nw.Unknown:
        try:
            _floats(series)
        except Exception:  # each data frame library has its own
            raise _unusable(series) from None
        return NUMBER
    if series.dtype.is_numeric():
        return NUMBER
    if series.dtype == nw.Boolean:
        return BOOLEAN
    if series.dtype in (nw.Date, nw.Datetime):
        return DATE
    if series.dtype == nw.Object:
        return _kind_of_objects(series)
    if series.dtype in (nw.String, nw.Categorical, nw.Enum):
        return TEXT
    raise _unusable(series)


def values_of(series: Any, kind: str) -> AnyArray:
    """Return a column as floats with NaN, as texts with None, or as days since 1970 with None."""
    if kind == DATE:
        return _days(series)
    if kind == TEXT:
        texts = [
            text if type(text) is str else None if is_missing_value(text) else str(text) for text in series.to_list()
        ]
        return np.array([*texts, None], dtype=object)[:-1]  # the last one keeps it an array of objects
    if series.null_count() == len(series):
        return missing_values(len(series), NUMBER)
    try:
        values = _floats(series)
    except Exception as error:  # each data frame library has its own
        raise ValueError(
            f"The column {series.name!r} holds {series.dtype}, not the numbers that the model was fitted on."
        ) from error
    values = np.array(values, dtype=np.float64)
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise ValueError(
            f"The column {series.name!r} has an infinite value in row {infinite[0]}; leave it empty where nothing was "
            "measured."
        )
    return values


def missing_values(n_rows: int, kind: str) -> AnyArray:
    """Return a column of gaps."""
    return np.full(n_rows, None, dtype=object) if kind in ENCODED else np.full(n_rows, np.nan)


def warn_of_text(columns: Mapping[Any, AnyArray], onehot: Collection[Any]) -> None:
    """Warn of text that is numbers or dates and, where it is to be one-hot encoded, of text that names the rows.

    `columns` are those of text, with None where one is missing; `onehot` those that become a column for each category.
    """
    known = {name: [text for text in texts if text is not None] for name, texts in columns.items()}
    for what, remedy, is_so in (
        ("numbers", "convert it before fit, as pandas.to_numeric(…, errors='coerce') does", _are_numbers),
        ("dates", "convert it before fit, as pandas.to_datetime does", _are_dates),
        ("another value in nearly every row", "leave it out if it names the rows", _name_rows),
    ):
        judged = known if is_so is not _name_rows else {name: known[name] for name in known if name in onehot}
        found = [name for name, texts in judged.items() if texts and is_so(texts)]
        if found:
            more = f" and {len(found) - 1} more" if len(found) > 1 else ""
            warnings.warn(
                f"The text column {found[0]!r}{more} holds {what}, such as {known[found[0]][0][:40]!r}. Each different "
                f"text is a category: {remedy}.",
                stacklevel=level_of_caller(),
            )


def _kind_of_objects(series: Any) -> str:
    """Return the kind of a column of objects."""
    rows = [(row, value) for row, value in enumerate(series.to_list()) if not is_missing_value(value)]
    odd = next(((row, value) for row, value in rows if isinstance(value, NOT_ONE_VALUE)), None)
    if odd is not None:
        raise ValueError(
            f"The column {series.name!r} holds {odd[1]!r:.40} in row {odd[0]}, of type {type(odd[1]).__name__}; each "
            "cell of a view holds one number, text or date."
        )
    if all(isinstance(value, date) for _, value in rows):
        return DATE
    if all(isinstance(value, bool | np.bool_) for _, value in rows):
        return BOOLEAN
    return NUMBER if all(isinstance(value, Real | Decimal | np.bool_) for _, value in rows) else TEXT


def _unusable(series: Any) -> ValueError:
    """Return the error of a column of a type that no view can hold."""
    shown = series.dtype if series.dtype != nw.Unknown else series.to_native().dtype
    return ValueError(f"The column {series.name!r} holds {shown}; a view holds numbers, text and dates.")


def _days(series: Any) -> AnyArray:
    """Return dates as days since 1970 in UTC, with None for gaps."""
    days: list[float | None] = []
    for value in series.to_list():
        if is_missing_value(value):
            days.append(None)
            continue
        if not isinstance(value, date):
            raise ValueError(
                f"The column {series.name!r} holds {series.dtype}, not the dates that the model was fitted on."
            )
        moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
        naive = moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo is not None else moment
        days.append((naive - datetime(1970, 1, 1)).total_seconds() / 86_400)
    return np.array([*days, None], dtype=object)[:-1]


def _floats(series: Any) -> AnyArray:
    """Return numbers as floats, each as near as can be, as it would be read from a text."""
    if series.dtype == nw.Float64:
        return series.to_numpy()  # to cast takes as long as all else, which counts for a row of hundreds of columns
    if series.dtype == nw.Unknown and series.to_numpy().dtype.kind == "c":
        raise TypeError("complex numbers are none that can be ordered")
    if not series.dtype.is_integer() and series.dtype != nw.Object:
        return series.cast(nw.Float64).to_numpy()
    # Some libraries refuse to cast whole numbers that no float equals, and NumPy has none of 128 bits.
    if series.dtype not in (nw.Object, nw.Int128, nw.UInt128) and series.null_count() == 0:
        return np.asarray(series.to_numpy()).astype(np.float64)
    return np.array([np.nan if is_missing_value(number) else float(number) for number in series.to_list()])


def _are_numbers(texts: list[str]) -> bool:
    """Check whether nearly all texts read as numbers, of which there are more than categories have codes."""
    return len(set(texts)) > MANY_VALUES and _nearly_all(texts, _reads_as_number)


def _are_dates(texts: list[str]) -> bool:
    """Check whether nearly all texts read as dates."""
    return _nearly_all(texts, _reads_as_date)


def _name_rows(texts: list[str]) -> bool:
    """Check whether nearly every text is another one, and none of the kinds that are told by themselves."""
    differ = len(texts) >= MIN_ROWS and len(set(texts)) >= NEARLY_ALL * len(texts)
    return differ and not (_are_numbers(texts) or _are_dates(texts))


def _nearly_all(texts: list[str], reads: Callable[[str], bool]) -> bool:
    """Check whether nearly all texts can be read; most columns are judged by the first few."""
    first = texts[:MIN_ROWS]
    if sum(map(reads, first)) < len(first) / 2:
        return False
    return sum(map(reads, texts)) >= NEARLY_ALL * len(texts)


def _reads_as_number(text: str) -> bool:
    """Check whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _reads_as_date(text: str) -> bool:
    """Check whether a text is a date, or a date with a time, as ISO 8601 writes them with hyphens."""
    try:
        datetime.fromisoformat(text.strip())
    except ValueError:
        return False
    return "-" in text
