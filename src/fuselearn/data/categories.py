"""Categorical columns of `X`: which they are, what categories they have, and their codes in place of them.

Everything after this file sees numbers only: a categorical column holds the codes 0, 1, 2, … of its sorted categories,
and NaN where the category is missing or was not there at the fit. Where rows are in partitions, each of them is asked
for its `distinct_values`, `Categories.from_distinct` makes the categories of all, and each partition is encoded alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from numbers import Real
from typing import Any, Self, TypeAlias

import narwhals as nw
import numpy as np

from fuselearn.arguments import resolve_columns
from fuselearn.data.labels import is_missing_value
from fuselearn.data.table_columns import ColumnTable, frame_of, n_columns_of, table_of, unique_values
from fuselearn.persistence.validation import check_array
from fuselearn.typing import ArrayLike, BoolArray, FloatArray, IntArray, Selector, TableLike

FROM_DTYPE = "from_dtype"
MAX_CATEGORIES = 255
"""Categories that a byte can number, with one number left for missing values."""

CategoryValues: TypeAlias = FloatArray | tuple[str, ...]
"""Sorted categories of a column: numbers or text."""


@dataclass(frozen=True, eq=False)
class Categories:
    """Categories of the categorical columns of a table, by which their values are encoded.

    Parameters
    ----------
    columns : intp ndarray of shape (n_categorical,)
        Numbers of the categorical columns, increasing.
    values : tuple of float64 ndarray or tuple of str
        Categories of each of these columns, increasing; the place of a category is its code. What is neither a number
        nor text, such as an interval, is known by its text; numbers are compared in double precision.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"size": [3.0, 1.5], "colour": pd.Categorical(["red", "blue"])})
    >>> categories = Categories.of(table, "from_dtype", 255)
    >>> categories.columns, categories.values
    (array([1]), (('blue', 'red'),))
    >>> categories.encode(table)
       size  colour
    0   3.0     1.0
    1   1.5     0.0
    """

    columns: IntArray
    values: tuple[CategoryValues, ...]

    @classmethod
    def of(
        cls,
        X: TableLike,
        categorical_features: "Selector | None",
        max_categories: int,
        *,
        in_views: IntArray | None = None,
        weights: ArrayLike = None,
    ) -> Self:
        """Return the categories of a table in this process.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            As the user gave it to `fit`. What is no table of two dimensions has no categories: the reader of `X`
            refuses it.
        categorical_features : "from_dtype", None or selector
            As `categorical_columns` takes it.
        max_categories : int
            Categories that a column may have.
        in_views : integer ndarray, default=None
            Columns that are used; others have no categories. None for all.
        weights : array of shape (n_rows,), default=None
            Weights of the rows, by which only those that count are looked at.

        Returns
        -------
        Categories
            The categories that `X` has; unused ones of a data frame's column are left out.

        Raises
        ------
        ValueError
            If a column has too many categories, or both numbers and text.
        """
        n_columns = n_columns_of(X)
        columns = categorical_columns(None if n_columns is None else categorical_features, X, n_columns or 0)
        if not len(columns):
            return cls(columns, ())
        table = table_of(X)
        names = [table.name(column) for column in columns.tolist()]
        return cls.from_distinct(columns, distinct_values(X, columns, weights, in_views), max_categories, names)

    @classmethod
    def from_distinct(
        cls,
        columns: IntArray,
        distinct: Sequence[Iterable[Any]],
        max_categories: int,
        names: Sequence[str] | None = None,
    ) -> Self:
        """Return categories from values of the columns.

        Parameters
        ----------
        columns : intp ndarray of shape (n_categorical,)
            Numbers of the categorical columns, increasing.
        distinct : list of iterable
            For each of them the values that occur, in any order and as often as may be; missing ones are passed over.
        max_categories : int
            Categories that a column may have.
        names : list of str, default=None
            What a message calls the columns; by default their numbers.

        Returns
        -------
        Categories
            The categories.

        Examples
        --------
        >>> import numpy as np
        >>> Categories.from_distinct(np.array([4]), [[7.0, 3.0, np.nan, 7.0]], 255).values
        (array([3., 7.]),)
        """
        names = [str(column) for column in columns.tolist()] if names is None else names
        values = tuple(_sorted_categories(some, name) for some, name in zip(distinct, names))
        for name, categories in zip(names, values):
            if len(categories) > max_categories:
                raise ValueError(
                    f"The categorical column {name} of X has {len(categories)} categories; max_bins allows "
                    f"{max_categories}. Merge rare ones, or give the column as numbers and leave it out of "
                    "categorical_features."
                )
        return cls(columns.astype(np.intp), values)

    @property
    def n_categories(self) -> IntArray:
        """Number of categories of each categorical column."""
        return np.array([len(categories) for categories in self.values], dtype=np.intp)

    def mask(self, n_columns: int) -> BoolArray:
        """Return which of all columns of a table are categorical."""
        mask = np.zeros(n_columns, dtype=bool)
        mask[self.columns] = True
        return mask

    def encode(self, X: TableLike) -> TableLike:
        """Return a table with codes in place of categories.

        Parameters
        ----------
        X : array or data frame
            The table, which stays as it is.

        Returns
        -------
        array or data frame
            The same object where no column is categorical, else a new one of the same kind, of which a data frame keeps
            its names. Codes are floats: NaN for missing and unknown categories, and infinity stays what it is, for the
            reader of `X` to refuse, as does a lack of columns.

        Raises
        ------
        ValueError
            If a column that held numbers at the fit holds text now, or the other way round.
        """
        if not len(self.columns) or (n_columns := n_columns_of(X)) is None:
            return X
        table = table_of(X)
        return table.replaced(
            {
                column: _codes(table, column, categories)
                for column, categories in zip(self.columns.tolist(), self.values)
                if column < n_columns
            }
        )

    def validate(self) -> None:
        """Refuse categories, read from a file, that are not in order, or more than a byte can number."""
        columns = check_array(self, "columns", np.integer, (None,), at_least=0)
        if len(columns) != len(self.values) or np.any(columns[1:] <= columns[:-1]):
            raise ValueError("it has categories of columns that are not in order, or of another number of columns")
        for values in self.values:
            if len(values) > MAX_CATEGORIES:
                raise ValueError(f"it has a column of {len(values):,} categories; {MAX_CATEGORIES} are the most")
            if isinstance(values, np.ndarray):
                if values.dtype != np.float64 or values.ndim != 1 or not np.isfinite(values).all():
                    raise ValueError("it has a column whose categories are neither numbers nor text")
                in_order = bool(np.all(values[1:] > values[:-1]))
            else:
                in_order = all(first < second for first, second in pairwise(values))
            if not in_order:
                raise ValueError("it has a column whose categories are not in order")


def categorical_columns(categorical_features: "Selector | None", X: TableLike, n_columns: int) -> IntArray:
    """Return the numbers of the categorical columns of a table.

    Parameters
    ----------
    categorical_features : "from_dtype", None or selector
        "from_dtype": the columns of a data frame that are of a categorical or enumeration type; an array has none.
        None: no column. A selector: a list of column numbers or of names, or a boolean mask.
    X : array or data frame
        The table, or one without rows that has its columns.
    n_columns : int
        Number of columns of `X`.

    Returns
    -------
    intp ndarray
        Numbers of columns, increasing.

    Examples
    --------
    >>> import numpy as np
    >>> categorical_columns([2, 0], np.zeros((3, 4)), 4)
    array([0, 2])
    """
    if categorical_features is None:
        return np.zeros(0, dtype=np.intp)
    if isinstance(categorical_features, str):
        if categorical_features != FROM_DTYPE:
            raise ValueError(
                f"categorical_features must be {FROM_DTYPE!r}, None, a list of column numbers or names, or a boolean "
                f"mask; got {categorical_features!r}. For one column, write [{categorical_features!r}]."
            )
        frame = frame_of(X)
        types = [] if frame is None else frame.collect_schema().values()
        is_categorical = [isinstance(kind, nw.Categorical | nw.Enum) for kind in types]
        return np.flatnonzero(np.array(is_categorical, dtype=bool))
    return resolve_columns("categorical_features", categorical_features, X, n_columns)


def distinct_values(
    X: TableLike, columns: IntArray, weights: ArrayLike = None, in_views: IntArray | None = None
) -> list[list[Any]]:
    """Return the values that columns of a table or of a partition have, each once and in any order.

    Parameters
    ----------
    X : array or data frame of shape (n_rows, n_columns)
        The table.
    columns : integer ndarray
        Numbers of columns.
    weights : array of shape (n_rows,), default=None
        Weights of the rows; rows without weight are passed over.
    in_views : integer ndarray, default=None
        Columns that are used; of others no value is returned. None for all.

    Returns
    -------
    list of list
        Values of each of the columns; missing ones may be among them.

    Examples
    --------
    >>> import numpy as np
    >>> distinct_values(np.array([[1.0, 5.0], [2.0, 5.0]]), np.array([1]))
    [[5.0]]
    """
    table = table_of(X)
    used = set((columns if in_views is None else in_views).tolist())
    rows = None
    if weights is not None and (given := np.asarray(weights)).ndim == 1 and given.dtype.kind in "biuf":
        # Whoever reads the weights refuses those of another length.
        rows = None if len(given) != len(X) or (given > 0).all() else given > 0
    return [table.distinct(column, rows) if column in used else [] for column in columns.tolist()]


def _is_number(value: Any) -> bool:
    """Return whether a value is a number or a truth value."""
    return isinstance(value, Real | Decimal | np.bool_)


def _sorted_categories(values: Iterable[Any], name: str) -> CategoryValues:
    """Return the categories among the values of a column."""
    observed = [value for value in unique_values(values, name) if not is_missing_value(value)]
    numbers = [value for value in observed if _is_number(value)]
    if numbers and len(numbers) < len(observed):
        other = next(value for value in observed if not _is_number(value))
        raise ValueError(
            f"The categorical column {name} of X holds both numbers and text, such as {numbers[0]!r:.40} and "
            f"{other!r:.40}; make all of them text."
        )
    if numbers or not observed:
        categories = np.unique(np.array(numbers, dtype=np.float64))
        return categories[np.isfinite(categories)]
    return tuple(sorted({str(value) for value in observed}))


def _codes(table: ColumnTable, column: int, categories: CategoryValues) -> FloatArray:
    """Return the codes of a column."""
    name, numbers = table.name(column), table.numbers(column)
    if numbers is not None:
        if isinstance(categories, np.ndarray):
            return _codes_of_numbers(numbers.astype(np.float64, copy=False), categories)
        _check_same_kind(numbers[~np.isnan(numbers)][:1].tolist(), categories, name)
        return np.full(len(numbers), np.nan)
    observed = [value for value in unique_values(table.distinct(column), name) if not is_missing_value(value)]
    _check_same_kind(observed, categories, name)
    if isinstance(categories, np.ndarray) and len(categories):
        codes = _codes_of_numbers(np.array(observed, dtype=np.float64), categories).tolist()
    else:
        code_of_text = {category: float(code) for code, category in enumerate(categories)}
        codes = [code_of_text.get(str(value), np.nan) for value in observed]
    return table.mapped(column, dict(zip(observed, codes)))


def _codes_of_numbers(values: FloatArray, categories: FloatArray) -> FloatArray:
    """Return the codes of numbers; infinity stays what it is."""
    codes = np.where(np.isinf(values), values, np.nan)
    if len(categories):
        places = np.minimum(np.searchsorted(categories, values), len(categories) - 1)
        np.copyto(codes, places, where=categories[places] == values)
    return codes


def _check_same_kind(observed: list[Any], categories: CategoryValues, name: str) -> None:
    """Refuse text in a column that held numbers at the fit, and the other way round."""
    held_numbers = isinstance(categories, np.ndarray)
    other = next((value for value in observed if _is_number(value) != held_numbers), None)
    if other is not None and len(categories):
        before, now = ("numbers", "text") if held_numbers else ("text", "numbers")
        raise ValueError(
            f"The categorical column {name} of X held {before} when the model was fitted, and holds {now} now, such as "
            f"{other!r:.40}; give it as it was."
        )
