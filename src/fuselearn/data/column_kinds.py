"""Columns of a data frame that are not numbers, and errors that name them with what encodes them."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from fuselearn.typing import TableLike

_UNNAMED_INDEX = re.compile(r"__index_level_\d+__")


def unnamed_index(names: Iterable[object]) -> list[str]:
    """Return the names under which pandas writes an index without a name to Parquet, Feather and Arrow."""
    return [name for name in names if isinstance(name, str) and _UNNAMED_INDEX.fullmatch(name)]


def check_no_index(X: TableLike, what: str = "X") -> None:
    """Refuse a table of which a column is an index that pandas wrote: it tells the order of rows, often the classes."""
    names = getattr(X, "column_names", None)
    names = names if isinstance(names, list) else getattr(X, "columns", ())
    if index := unnamed_index(names if isinstance(names, Iterable) else ()):
        method = "drop_columns(" if hasattr(X, "drop_columns") else "drop(columns=" if hasattr(X, "iloc") else "drop("
        raise ValueError(
            f"{what} has the column {index[0]!r}, an index without a name that pandas wrote with the rows; it is no "
            f"feature. Leave it out, by .{method}{index!r}), or write with index=False (pyarrow: preserve_index=False)."
        )


@contextmanager
def naming_the_way(X: TableLike, way: str) -> Iterator[None]:
    """Name the columns of a data frame that are not numbers in an error, and the `way` to use them."""
    is_array = isinstance(X, np.ndarray | list | tuple)
    names = [] if is_array else columns_of_kinds(X, (nw.Date, nw.Datetime, nw.Duration, nw.Time)) + text_columns(X)
    error: Exception | None = None
    if not names:
        try:
            yield
            return
        except (ValueError, TypeError) as failed:
            error, names = failed, [] if is_array else columns_of_kinds(X, (nw.Categorical, nw.Enum, nw.Object))
            if not names or "feature names" in str(error):
                raise
    shown = ", ".join(map(repr, names[:3])) + (", …" if len(names) > 3 else "")
    raise ValueError(f"X has text, categories or dates in {shown}, and estimators take numbers; use {way}.") from error


def text_columns(X: TableLike) -> list[Any]:
    """Return the names of the columns of a data frame that hold text; none of anything else, but that of a series.

    Text such as "007", which scikit-learn would read as a number, is most often an id. A column without any value is
    none of text, whatever its type: pandas takes it for objects, and polars for text.
    """
    try:
        frame = nw.from_native(X, eager_only=True, allow_series=True, pass_through=True)
    except DuplicateError:
        return []
    columns = [frame] if isinstance(frame, nw.Series) else []
    if isinstance(frame, nw.DataFrame):
        kinds = (nw.String, nw.Categorical, nw.Enum, nw.Object)
        columns = [frame.get_column(name) for name, kind in frame.schema.items() if kind in kinds]
    return [column.name for column in columns if _holds_text(column)]


def _holds_text(column: Any) -> bool:
    """Return whether any value of a column is a text."""
    if column.dtype in (nw.Categorical, nw.Enum):
        column = column.unique()
    elif column.dtype not in (nw.String, nw.Object):
        return False
    return any(isinstance(value, str) for value in column.drop_nulls().to_list())


def columns_of_kinds(X: TableLike, kinds: tuple[Any, ...]) -> list[Any]:
    """Return the names of the columns of a data frame that are of some types of narwhals; none of anything else."""
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except DuplicateError:  # of two columns with one name, which is for others to judge
        return []
    return [name for name, kind in frame.schema.items() if kind in kinds] if isinstance(frame, nw.DataFrame) else []
