"""Gross outliers: cells that are so far from all others of their column that they must be errors.

One cell of 1e20 takes a column's mean and standard deviation with it, and so every model that is built on them. A cell
is a gross outlier if it is more than `FAR` interquartile ranges from the median, and `GAP` times as far as any cell
that is not: a long tail, such as that of log-normal values, goes on without such a gap. Quartiles stay where they are
until a quarter of a column is wrong.

Where more than half of a column's cells are equal, as in counts, its interquartile range is nothing. The median
distance of the other cells takes its place, as long as it is not beyond all measure by that of the other columns.
"""

from typing import NamedTuple

import numpy as np

from fuselearn.typing import BoolArray, FloatArray, IntArray

FAR = 1e3
GAP = 1e2
BEYOND_MEASURE = 1e9
"""Typical distances, over all columns, beyond which a cell is an outlier in a column whose other cells are equal."""
FEWEST_CELLS = 8
"""Cells that a column needs to be judged."""
SAMPLED_ROWS = 4096
"""Rows that quartiles are taken of."""
CELLS_AT_A_TIME = 2_000_000
LEAST_SIZE, LARGEST_SIZE = 1e-35, 1e35
"""Largest value of a column whose square, and whose number in single precision, are safe."""
N_RANGES = 5
LOWEST, HIGHEST, LEAST, LARGEST, FACTOR = range(N_RANGES)
"""Rows of ranges."""


class Outliers(NamedTuple):
    """Gross outliers of a table.

    Attributes
    ----------
    rows, columns : intp ndarray of shape (n_outliers,)
        Where they are, column by column.
    """

    rows: IntArray
    columns: IntArray


def ordinary_ranges(table: FloatArray) -> FloatArray:
    """Return the ranges of the columns of a table of shape (n_rows, n_columns), which may have gaps (NaN).

    Returns
    -------
    ndarray of shape (5, n_columns)
        The lowest and highest value that is no gross outlier, the least and largest value of the table that is none,
        and a power of two by which values are multiplied: 1, but for columns of sizes such as 1e200 or 1e-200.

    Examples
    --------
    >>> ages = np.array([[31.0], [44.0], [1e20], [28.0], [35.0], [61.0], [19.0], [52.0]])
    >>> ordinary_ranges(ages)[LEAST : LARGEST + 1].T
    array([[19., 61.]])
    """
    least, largest = _extremes(table)
    centre, spread = _quartiles(table)
    with np.errstate(over="ignore"):
        distance = np.maximum(largest - centre, centre - least)
        distance[np.isnan(spread)] = 0.0  # too few cells to judge
        ordinary, limits = _ordinary_distances(table, centre, spread, distance)
        lowest, highest = centre - limits, centre + limits
    # An extreme that is an outlier gives way to the most extreme other cell.
    for column in np.flatnonzero(ordinary < distance).tolist():
        values = table[:, column]
        values = values[(values >= lowest[column]) & (values <= highest[column])]
        least[column], largest[column] = values.min(), values.max()
    size = np.maximum(np.abs(least), np.abs(largest))
    unsafe = (size > LARGEST_SIZE) | ((size < LEAST_SIZE) & (size > 0))
    exponent = np.where(unsafe, np.clip(-np.frexp(size)[1], -1000, 1000), 0)
    return np.stack([lowest, highest, least, largest, np.ldexp(1.0, exponent)])


def _ordinary_distances(
    table: FloatArray, centre: FloatArray, spread: FloatArray, distance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the largest distance from the centre that is no outlier's, and the distance beyond which all are."""
    flat = np.flatnonzero((spread == 0) & (distance > 0))
    typical = spread.copy()
    # Only a column that even by the least of its distances reaches far is looked at in full.
    typical[flat] = _nearest_others(table, centre, flat)
    suspect = np.flatnonzero(distance > FAR * typical)
    distances_of = {column: _distances(table[:, column], centre[column]) for column in suspect.tolist()}
    for column in np.intersect1d(suspect, flat).tolist():
        typical[column] = np.median(distances_of[column])
    measures = np.sort(spread[spread > 0] if (spread > 0).any() else typical[typical > 0])
    limit_of_flat = BEYOND_MEASURE * measures[(len(measures) - 1) // 2] if len(measures) else np.inf
    for column in flat[distance[flat] > limit_of_flat].tolist():
        distances_of.setdefault(column, _distances(table[:, column], centre[column]))
    limits = FAR * typical
    limits[flat] = np.minimum(limits[flat], limit_of_flat)
    ordinary = distance.copy()
    for column, distances in distances_of.items():
        ordinary[column] = _largest_ordinary(distances, limits[column])
    limits = np.maximum(limits, GAP * ordinary)
    limits[typical == 0] = limit_of_flat
    limits[np.isnan(spread)] = np.inf
    return ordinary, limits


def gross_outliers(table: FloatArray, ranges: FloatArray) -> Outliers:
    """Return where a table has gross outliers, by its ranges or those of another one."""
    columns = _reaching_outside(table, ranges)
    rows = [np.flatnonzero(_is_outside(table[:, column], ranges[:, column])) for column in columns.tolist()]
    sizes = [len(of_column) for of_column in rows]
    return Outliers(np.concatenate([np.zeros(0, dtype=np.intp), *rows]), np.repeat(columns, sizes))


def ordinary_values(rows: FloatArray, ranges: FloatArray) -> FloatArray:
    """Return rows with the nearest ordinary value for gross outliers; the same array where nothing has to change.

    Values of a column are multiplied by its factor.
    """
    columns = _reaching_outside(rows, ranges)
    if len(columns):
        rows = rows.copy()
        values, of_columns = rows[:, columns], ranges[:, columns]
        nearest = np.clip(values, of_columns[LEAST], of_columns[LARGEST])
        rows[:, columns] = np.where(_is_outside(values, of_columns), nearest, values)
    return rows if (ranges[FACTOR] == 1).all() else rows * ranges[FACTOR]


def _reaching_outside(table: FloatArray, ranges: FloatArray) -> IntArray:
    """Return the columns that have gross outliers."""
    least, largest = _extremes(table)
    return np.flatnonzero((least < ranges[LOWEST]) | (largest > ranges[HIGHEST]))


def _is_outside(values: FloatArray, ranges: FloatArray) -> BoolArray:
    return (values < ranges[LOWEST]) | (values > ranges[HIGHEST])


def _extremes(table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the least and the largest value of each column; NaN for one without values."""
    return tuple(reduce(table, axis=0).astype(np.float64) for reduce in (np.fmin.reduce, np.fmax.reduce))


def _quartiles(table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return median and interquartile range of each column, of a sample of the rows; a range of NaN for few values."""
    if len(table) > SAMPLED_ROWS:
        table = table[np.sort(np.random.default_rng(len(table)).integers(0, len(table), SAMPLED_ROWS))]
    n_columns = table.shape[1]
    median, spread = np.empty(n_columns), np.empty(n_columns)
    step = max(1, CELLS_AT_A_TIME // len(table))
    for start in range(0, n_columns, step):
        ordered = np.sort(np.ascontiguousarray(table[:, start : start + step].T, dtype=np.float64), axis=1)
        last = np.maximum(np.count_nonzero(ordered == ordered, axis=1) - 1, 0)  # NaN stands at the end
        low, middle, high = (ordered[np.arange(len(ordered)), last * quarter // 4] for quarter in (1, 2, 3))
        with np.errstate(over="ignore"):
            few = last < FEWEST_CELLS - 1
            median[start : start + step] = np.nan_to_num(middle)
            spread[start : start + step] = np.where(few, np.nan, high - low)
    return median, spread


def _nearest_others(table: FloatArray, centre: FloatArray, columns: IntArray) -> FloatArray:
    """Return the least distance from the centre that is not 0, of some columns."""
    nearest = np.full(len(columns), np.inf)
    step = max(1, CELLS_AT_A_TIME // max(1, len(columns)))
    for start in range(0, len(table) if len(columns) else 0, step):
        distances = np.abs(table[start : start + step, columns] - centre[columns])
        distances[distances == 0] = np.inf
        np.fmin(nearest, np.fmin.reduce(distances, axis=0), out=nearest)
    return nearest


def _distances(values: FloatArray, centre: float) -> FloatArray:
    """Return the distances of values from the centre that are not 0, in ascending order."""
    distances = np.abs(values.astype(np.float64) - centre)
    return np.sort(distances[distances > 0])


def _largest_ordinary(distances: FloatArray, limit: float) -> float:
    """Return the largest distance, in ascending order, before the first gap beyond the limit."""
    first = int(np.searchsorted(distances, limit, side="right"))
    before = distances[first - 1 : -1] if first else np.append(0.0, distances[:-1])
    gaps = np.flatnonzero(distances[first:] >= GAP * before)
    if not len(gaps):
        return float(distances[-1])
    return float(before[gaps[0]])
