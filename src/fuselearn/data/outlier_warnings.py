"""The warning of gross outliers in a user's table, which names them."""

import warnings
from typing import NamedTuple

import numpy as np

from fuselearn.data.view_table import Features
from fuselearn.numeric.gross_outliers import Outliers
from fuselearn.typing import FloatArray

NAMED_COLUMNS = 5
"""Columns that a warning names."""


class FirstOutlier(NamedTuple):
    """The first gross outlier of a column.

    Attributes
    ----------
    column : int
        Number of the column.
    value : float
        The value.
    row : int
        Number of the row.
    """

    column: int
    value: float
    row: int


def warn_of_outliers_in(table: FloatArray, outliers: Outliers, features: Features | None, *, clipped: bool) -> None:
    """Warn of the gross outliers of a table in memory; without `features`, it is the one column `y`."""
    columns, first = np.unique(outliers.columns, return_index=True)
    places = [
        FirstOutlier(int(column), float(table[row, column]), int(row))
        for column, row in zip(columns, outliers.rows[first])
    ]
    warn_of_outliers(len(outliers.rows), places, features, clipped=clipped, stacklevel=5)


def warn_of_outliers(
    n_outliers: int, places: list[FirstOutlier], features: Features | None, *, clipped: bool, stacklevel: int
) -> None:
    """Warn of gross outliers, where there are some, naming the first of each column; see `warn_of_outliers_in`."""
    if not n_outliers:
        return
    described = []
    for column, value, row in places:
        in_column = "in" if features is None else f"in column {_column_name(features, column)},"
        described.append(f"{value:.3g} {in_column} row {row}")
    n_more = len(places) - NAMED_COLUMNS
    consequence = "Each counts as the nearest of the others." if clipped else "One can decide the whole model."
    correction = "make them NaN if they stand for missing ones" if features is not None else "leave their rows out"
    warnings.warn(
        f"{'y' if features is None else 'X'} has {n_outliers} gross outlier{'s' * (n_outliers > 1)}, more than a "
        "thousand times as far from the median of the column as half of its cells: "
        f"{'; '.join(described[:NAMED_COLUMNS])}{f'; and in {n_more} more columns' if n_more > 0 else ''}. "
        f"{consequence} Correct such cells, or {correction}.",
        stacklevel=stacklevel,
    )


def _column_name(features: Features, column: int) -> str:
    """Return the name of a column, or its number where it has none, for a message."""
    names = features.get("feature_names_in_")
    return f"{column}" if names is None else f"{str(names[column])!r}"
