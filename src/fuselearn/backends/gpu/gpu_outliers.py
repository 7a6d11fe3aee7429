"""Gross outliers of a table on a GPU; see `fuselearn.numeric.gross_outliers`.

The extremes of the columns are found there. For the other questions, which few tables need, the columns that they are
about come to the host, some rows at a time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fuselearn.backends.gpu.arrays import GpuArray
from fuselearn.backends.gpu.gpu_table import GpuTable, row_blocks
from fuselearn.data.outlier_warnings import FirstOutlier, warn_of_outliers
from fuselearn.data.view_table import Features
from fuselearn.numeric.gross_outliers import (
    FACTOR,
    HIGHEST,
    LOWEST,
    SampledRows,
    gross_outliers,
    ordinary_values,
    range_planning,
)
from fuselearn.typing import BoolArray, FloatArray, IntArray


def without_gross_outliers(table: GpuTable, used: BoolArray, features: Features) -> tuple[FloatArray, GpuTable]:
    """Return the ordinary ranges of the columns in the rows that count, and the table with no value outside of them.

    There is a warning of gross outliers in the rows that count.
    """
    numbers = np.arange(len(table)) if used.all() else np.flatnonzero(used)
    counted = table if used.all() else table[numbers]
    ranges = _ordinary_ranges(counted)
    reaching = _reaching_outside(counted, ranges)
    if len(reaching):
        values = _on_host(counted, reaching)
        outliers = gross_outliers(values, ranges[:, reaching])
        columns, first = np.unique(outliers.columns, return_index=True)
        places = [
            FirstOutlier(int(reaching[column]), float(values[row, column]), int(numbers[row]))
            for column, row in zip(columns, outliers.rows[first])
        ]
        warn_of_outliers(len(outliers.rows), places, features, clipped=True, stacklevel=5)
    return ranges, ordinary_gpu_values(table, ranges)


def ordinary_gpu_values(table: GpuTable, ranges: FloatArray) -> GpuTable:
    """Return a table with the nearest ordinary value for gross outliers; the same where nothing has to change."""
    arrays, columns = table.arrays, _reaching_outside(table, ranges)
    with arrays.current():
        values = table.values
        if len(columns):
            values = arrays.copy(values)
            ordinary = ordinary_values(_on_host(table, columns), _with_factor_one(ranges[:, columns]))
            for place, column in enumerate(columns.tolist()):
                values[:, column] = arrays.from_host(np.ascontiguousarray(ordinary[:, place]))
        if not (ranges[FACTOR] == 1).all():
            values = arrays.to_double(values) * arrays.from_host(ranges[FACTOR])[None, :]
    return table if values is table.values else GpuTable(values)


def _with_factor_one(ranges: FloatArray) -> FloatArray:
    """Return ranges of columns that keep their size."""
    ranges = ranges.copy()
    ranges[FACTOR] = 1.0
    return ranges


def _ordinary_ranges(table: GpuTable) -> FloatArray:
    """Return the ranges of the columns; see `fuselearn.numeric.gross_outliers.ordinary_ranges`."""
    planning = range_planning(len(table))
    question = next(planning)
    while True:
        try:
            question = planning.send(_answer(question, table))
        except StopIteration as end:
            ranges: FloatArray = end.value
            return ranges


def _answer(question: Any, table: GpuTable) -> Any:
    """Return the answer of all rows to a question about the columns."""
    if isinstance(question, SampledRows):
        everything = np.arange(table.shape[1])
        rows = table if question.drawn is None else table[question.drawn]
        return *_extremes(table), _on_host(rows, everything)
    here = replace(question, columns=np.arange(len(question.columns)))
    answers = []
    for start, stop in row_blocks(len(table), len(question.columns)):
        answers.append(here(_on_host(table, question.columns, start, stop), start))
    return question.merged(answers)


def _reaching_outside(table: GpuTable, ranges: FloatArray) -> IntArray:
    """Return the columns that have gross outliers."""
    least, largest = _extremes(table)
    return np.flatnonzero((least < ranges[LOWEST]) | (largest > ranges[HIGHEST]))


def _extremes(table: GpuTable) -> tuple[FloatArray, FloatArray]:
    """Return the least and the largest value of each column; NaN for one without values."""
    arrays, found = table.arrays, []
    with arrays.current():
        for start, stop in row_blocks(len(table), table.shape[1]):
            values = table.values[start:stop, :]
            missing = arrays.isnan(values)
            lowest = arrays.xp.full_like(values, -np.inf)
            found.append([_largest(table, arrays.where(missing, lowest, signed)) for signed in (-values, values)])
    least, largest = np.max(found, axis=0)
    none = np.isneginf(largest)
    return np.where(none, np.nan, -least), np.where(none, np.nan, largest)


def _largest(table: GpuTable, values: GpuArray) -> FloatArray:
    """Return the largest value of each column, on the host."""
    return np.asarray(table.arrays.to_host(table.arrays.largest(values, axis=0)), dtype=np.float64)


def _on_host(table: GpuTable, columns: IntArray, start: int = 0, stop: int | None = None) -> FloatArray:
    """Return some columns of some rows, on the host."""
    with table.arrays.current():
        window = GpuTable(table.values[start : len(table) if stop is None else stop, :])
        return np.asarray(table.arrays.to_host(window.columns(columns)))
