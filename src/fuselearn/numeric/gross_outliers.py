"""Gross outliers: cells that are so far from all others of their column that they must be errors.

One cell of 1e20 takes a column's mean and standard deviation with it, and so every model that is built on them. A cell
is a gross outlier if it is more than `FAR` interquartile ranges from the median, and `GAP` times as far as any cell
that is not: a long tail, such as that of log-normal values, goes on without such a gap. Quartiles stay where they are
until a quarter of a column is wrong.

Where more than half of a column's cells are equal, as in counts, its interquartile range is nothing. The median
distance of the other cells takes its place, as long as it is not beyond all measure by that of the other columns.

Rows may be in partitions: `range_planning` asks questions of them, and adds up their answers.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

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
LEAST_EXPONENT, LARGEST_EXPONENT = -1074, 1025
"""Exponents of base 2 that numbers have; the largest is that of infinity."""
BUCKET_BITS = 48
"""Last bits of a number that are left out to sort it into a bucket."""


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
    planning = range_planning(len(table))
    question = next(planning)
    while True:
        try:
            question = planning.send(question.merged([question(table, 0)]))
        except StopIteration as end:
            ranges: FloatArray = end.value
            return ranges


def ranges_and_outliers(table: FloatArray, used: BoolArray) -> tuple[FloatArray, Outliers]:
    """Return the ordinary ranges of the columns in the rows that are used, and the gross outliers of these rows."""
    rows = np.arange(len(table)) if used.all() else np.flatnonzero(used)
    table = table if len(rows) == len(table) else table[rows]
    ranges = ordinary_ranges(table)
    outliers = gross_outliers(table, ranges)
    return ranges, Outliers(rows[outliers.rows], outliers.columns)


class RangeQuestion(Protocol):
    """A question about the columns of a table, which each partition of its rows answers."""

    def __call__(self, table: FloatArray, first: int) -> Any:
        """Return the answer of a partition; `first` is the number of rows before it."""

    def merged(self, answers: Sequence[Any]) -> Any:
        """Return the answer of all rows, from those of the partitions in their order."""


RangePlanning: TypeAlias = Generator[RangeQuestion, Any, FloatArray]


def range_planning(n_rows: int) -> RangePlanning:
    """Return a generator of the ranges of a table of `n_rows` rows: it yields questions and is sent the answers."""
    drawn = None
    if n_rows > SAMPLED_ROWS:
        drawn = np.sort(np.random.default_rng(n_rows).integers(0, n_rows, SAMPLED_ROWS))
    least, largest, sample = yield SampledRows(drawn)
    centre, spread = _quartiles(sample)
    with np.errstate(over="ignore"):
        distance = np.maximum(largest - centre, centre - least)
        distance[np.isnan(spread)] = 0.0  # too few cells to judge
        ordinary, limits = yield from _ordinary_distances(centre, spread, distance)
        lowest, highest = centre - limits, centre + limits
    # An extreme that is an outlier gives way to the most extreme other cell.
    columns = np.flatnonzero(ordinary < distance)
    if len(columns):
        least[columns], largest[columns] = yield OrdinaryExtremes(columns, lowest[columns], highest[columns])
    size = np.maximum(np.abs(least), np.abs(largest))
    unsafe = (size > LARGEST_SIZE) | ((size < LEAST_SIZE) & (size > 0))
    exponent = np.where(unsafe, np.clip(-np.frexp(size)[1], -1000, 1000), 0)
    return np.stack([lowest, highest, least, largest, np.ldexp(1.0, exponent)])


def _ordinary_distances(
    centre: FloatArray, spread: FloatArray, distance: FloatArray
) -> Generator[RangeQuestion, Any, tuple[FloatArray, FloatArray]]:
    """Return the largest distance from the centre that is no outlier's, and the distance beyond which all are."""
    flat = np.flatnonzero((spread == 0) & (distance > 0))
    typical = spread.copy()
    if len(flat):
        # Only a column that even by the least of its distances reaches far is looked at in full.
        typical[flat] = yield NearestOthers(flat, centre[flat])
    suspect = np.flatnonzero(distance > FAR * typical)
    flat_suspect = np.intersect1d(suspect, flat)
    if len(flat_suspect):
        typical[flat_suspect] = yield from _median_distances(flat_suspect, centre[flat_suspect])
    measures = np.sort(spread[spread > 0] if (spread > 0).any() else typical[typical > 0])
    limit_of_flat = BEYOND_MEASURE * measures[(len(measures) - 1) // 2] if len(measures) else np.inf
    limits = FAR * typical
    limits[flat] = np.minimum(limits[flat], limit_of_flat)
    ordinary = distance.copy()
    far = np.union1d(suspect, flat[distance[flat] > limit_of_flat])
    if len(far):
        ordinary[far] = yield LargestOrdinary(far, centre[far], limits[far])
    limits = np.maximum(limits, GAP * ordinary)
    limits[typical == 0] = limit_of_flat
    limits[np.isnan(spread)] = np.inf
    return ordinary, limits


def _median_distances(columns: IntArray, centre: FloatArray) -> Generator[RangeQuestion, Any, FloatArray]:
    """Return the median distance from the centre of the cells that are not there, of some columns."""
    counts = yield DistanceCounts(columns, centre)
    middle = []
    for buckets in counts:
        ends, n_cells = np.cumsum(list(buckets.values())), sum(buckets.values())
        keys = list(buckets)
        ranks = [(n_cells - 1) // 2, n_cells // 2]
        places = [int(np.searchsorted(ends, rank, side="right")) for rank in ranks]
        before = int(ends[places[0]]) - buckets[keys[places[0]]]
        middle.append((sorted({keys[place] for place in places}), [rank - before for rank in ranks]))
    values = yield DistancesInBuckets(columns, centre, [buckets for buckets, _ in middle])
    return np.array([np.mean(np.sort(of_column)[ranks]) for of_column, (_, ranks) in zip(values, middle)])


@dataclass(frozen=True)
class SampledRows:
    """Asks for the least and the largest value of each column, and for the rows whose quartiles are taken.

    `drawn` are the numbers of these rows, in ascending order; None for all rows.
    """

    drawn: IntArray | None

    def __call__(self, table: FloatArray, first: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the answer of a partition; see `RangeQuestion`."""
        if not len(table):
            nothing = np.full(table.shape[1], np.nan)
            return nothing, nothing, table
        rows = table
        if self.drawn is not None:
            start, stop = np.searchsorted(self.drawn, [first, first + len(table)])
            rows = table[self.drawn[start:stop] - first]
        return *_extremes(table), rows

    def merged(self, answers: Sequence[Any]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the answer of all rows; see `RangeQuestion`."""
        least, largest, rows = zip(*answers)
        joined = rows[0] if len(rows) == 1 else np.concatenate([part for part in rows if len(part)])
        return np.fmin.reduce(least), np.fmax.reduce(largest), joined


@dataclass(frozen=True)
class NearestOthers:
    """Asks for the least distance from the centre that is not 0, of some columns."""

    columns: IntArray
    centre: FloatArray

    def __call__(self, table: FloatArray, first: int) -> FloatArray:
        """Return the answer of a partition; see `RangeQuestion`."""
        nearest = np.full(len(self.columns), np.inf)
        step = max(1, CELLS_AT_A_TIME // len(self.columns))
        for start in range(0, len(table), step):
            distances = np.abs(table[start : start + step, self.columns] - self.centre)
            distances[distances == 0] = np.inf
            np.fmin(nearest, np.fmin.reduce(distances, axis=0), out=nearest)
        return nearest

    def merged(self, answers: Sequence[FloatArray]) -> FloatArray:
        """Return the answer of all rows; see `RangeQuestion`."""
        least: FloatArray = np.min(answers, axis=0)
        return least


@dataclass(frozen=True)
class DistanceCounts:
    """Asks for the numbers of distances from the centre that are not 0, of some columns, by ascending bucket."""

    columns: IntArray
    centre: FloatArray

    def __call__(self, table: FloatArray, first: int) -> list[dict[int, int]]:
        """Return the answer of a partition; see `RangeQuestion`."""
        counts = []
        for column, centre in zip(self.columns, self.centre):
            buckets, numbers = np.unique(_bucket(_distances(table[:, column], centre)), return_counts=True)
            counts.append(dict(zip(buckets.tolist(), numbers.tolist())))
        return counts

    def merged(self, answers: Sequence[list[dict[int, int]]]) -> list[dict[int, int]]:
        """Return the answer of all rows; see `RangeQuestion`."""
        totals = []
        for of_column in zip(*answers):
            buckets = sorted(set().union(*of_column))
            totals.append({bucket: sum(counts.get(bucket, 0) for counts in of_column) for bucket in buckets})
        return totals


@dataclass(frozen=True)
class DistancesInBuckets:
    """Asks for the distances from the centre in some buckets, of some columns."""

    columns: IntArray
    centre: FloatArray
    buckets: list[list[int]]

    def __call__(self, table: FloatArray, first: int) -> list[FloatArray]:
        """Return the answer of a partition; see `RangeQuestion`."""
        found = []
        for column, centre, buckets in zip(self.columns, self.centre, self.buckets):
            distances = _distances(table[:, column], centre)
            found.append(distances[np.isin(_bucket(distances), buckets)])
        return found

    def merged(self, answers: Sequence[list[FloatArray]]) -> list[FloatArray]:
        """Return the answer of all rows; see `RangeQuestion`."""
        return [np.concatenate(of_column) for of_column in zip(*answers)]


@dataclass(frozen=True)
class LargestOrdinary:
    """Asks for the largest distance before the first gap beyond a limit, of some columns.

    Distances beyond the limit are known by the least and the largest between two powers of 2: a gap is wider than that.
    """

    columns: IntArray
    centre: FloatArray
    limits: FloatArray

    def __call__(self, table: FloatArray, first: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the largest distance within the limit, and the least and largest ones by their exponents."""
        n_exponents = LARGEST_EXPONENT - LEAST_EXPONENT + 1
        within = np.zeros(len(self.columns))
        least = np.full((len(self.columns), n_exponents), np.inf)
        largest = np.full((len(self.columns), n_exponents), -np.inf)
        for number, (column, centre, limit) in enumerate(zip(self.columns, self.centre, self.limits)):
            distances = _distances(table[:, column], centre)
            beyond = distances > limit
            within[number] = distances[~beyond].max(initial=0.0)
            distances = distances[beyond]
            exponents = np.where(np.isinf(distances), LARGEST_EXPONENT, np.frexp(distances)[1]) - LEAST_EXPONENT
            np.minimum.at(least[number], exponents, distances)
            np.maximum.at(largest[number], exponents, distances)
        return within, least, largest

    def merged(self, answers: Sequence[tuple[FloatArray, FloatArray, FloatArray]]) -> FloatArray:
        """Return the answer of all rows; see `RangeQuestion`."""
        within, least, largest = zip(*answers)
        ordinary: FloatArray = np.max(within, axis=0)
        for number, (lows, highs) in enumerate(zip(np.min(least, axis=0), np.max(largest, axis=0))):
            for place in np.flatnonzero(highs > 0).tolist():
                if lows[place] >= GAP * ordinary[number]:
                    break
                ordinary[number] = highs[place]
        return ordinary


@dataclass(frozen=True)
class OrdinaryExtremes:
    """Asks for the least and the largest value of some columns within a range."""

    columns: IntArray
    lowest: FloatArray
    highest: FloatArray

    def __call__(self, table: FloatArray, first: int) -> tuple[FloatArray, FloatArray]:
        """Return the answer of a partition; see `RangeQuestion`."""
        least, largest = np.full(len(self.columns), np.inf), np.full(len(self.columns), -np.inf)
        for number, (column, lowest, highest) in enumerate(zip(self.columns, self.lowest, self.highest)):
            values = table[:, column]
            values = values[(values >= lowest) & (values <= highest)]
            least[number], largest[number] = values.min(initial=np.inf), values.max(initial=-np.inf)
        return least, largest

    def merged(self, answers: Sequence[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
        """Return the answer of all rows; see `RangeQuestion`."""
        least, largest = zip(*answers)
        return np.min(least, axis=0), np.max(largest, axis=0)


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
    """Return median and interquartile range of each column; a range of NaN for few values."""
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


def _distances(values: FloatArray, centre: float) -> FloatArray:
    """Return the distances of values from the centre that are not 0."""
    with np.errstate(over="ignore"):
        distances = np.abs(values.astype(np.float64) - centre)
    return distances[distances > 0]


def _bucket(distances: FloatArray) -> IntArray:
    """Return the bucket of distances: their first bits, which are in the order of the numbers."""
    return distances.view(np.uint64) >> np.uint64(BUCKET_BITS)
