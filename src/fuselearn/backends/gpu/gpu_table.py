"""The user's table on a GPU: checked, and looked at for the views that its rows have."""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import cast

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import validate_data

from fuselearn.backends.gpu.arrays import Arrays, GpuArray, arrays_of, on_its_gpu
from fuselearn.data import View, ViewBlocks, is_gpu_array
from fuselearn.data.view_table import Features, check_same_features, to_host
from fuselearn.typing import AnyArray, ArrayLike, BoolArray, Estimator, FloatArray, IntArray, TableLike

VALUES_AT_A_TIME = 2**25
"""Values of a table that one step works on: what is made of them must fit beside the table."""
MAX_ROWS = 2**31 - 1
"""Rows of a table, which the kernels number in 32 bits."""


class GpuTable:
    """A table on a GPU, of shape (n_rows, n_features)."""

    def __init__(self, values: GpuArray) -> None:
        self.values = values
        self.arrays = arrays_of(values)
        self.shape = tuple(values.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: IntArray) -> "GpuTable":
        """Return some rows, on the GPU."""
        with self.arrays.current():
            return GpuTable(self.arrays.take(self.values, self.arrays.from_host(rows)))

    @property
    def dtype(self) -> str:
        """Name of the number format of its values."""
        return self.arrays.dtype_name(self.values)

    def columns(self, columns: IntArray, rows: GpuArray | None = None) -> GpuArray:
        """Return some columns, in some or all rows, both in the order that is asked for; on the GPU."""
        if len(columns) and np.array_equal(columns, np.arange(columns[0], columns[0] + len(columns))):
            values = self.values[:, int(columns[0]) : int(columns[0]) + len(columns)]
        else:
            values = self.arrays.take(self.values, self.arrays.from_host(columns), axis=1)
        return values if rows is None else self.arrays.take(values, rows)


@dataclass(frozen=True)
class GpuView(View):
    """A view of a `GpuTable`. What is read of it through the methods of a view comes to the host.

    A NumPy table, such as `preprocess` makes, is copied to the GPU of `arrays`.
    """

    arrays: Arrays

    def __post_init__(self) -> None:
        if isinstance(self.table, np.ndarray):
            object.__setattr__(self, "table", GpuTable(self.arrays.from_host(self.table)))

    @property
    def gpu_table(self) -> GpuTable:
        """The table, which a view in memory has as an array."""
        return cast(GpuTable, self.table)

    @on_its_gpu
    def _take(self, rows: IntArray | slice, which: slice = slice(None)) -> FloatArray:
        table = self.gpu_table
        if self.rows is not None:
            rows = self.rows[rows]
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(table))
            values = GpuTable(table.values[start:stop, :]).columns(self.columns[which])
        else:
            values = table.columns(self.columns[which], table.arrays.from_host(np.asarray(rows)))
        return table.arrays.to_host(values)


def read_gpu_table(model: Estimator, X: GpuArray, y: ArrayLike, *, reset: bool) -> tuple[GpuTable, AnyArray, Features]:
    """Check `X` on a GPU and its labels, as `fuselearn.data.read_table` does on the host."""
    table = check_gpu_table(X)
    features: Features = {"n_features_in_": table.shape[1]}
    if not reset:
        check_same_features(model, features)
    y = validate_data(copy(model), y=labels_to_host(y, table, "y"), reset=True)
    check_consistent_length(table, y)
    return table, y, features


def check_gpu_table(X: GpuArray) -> GpuTable:
    """Return a 2-D array on a GPU as a table; an error where it does not hold numbers that can be trained on."""
    X = arrays_of(X).detach(X)
    table = GpuTable(X)
    if len(table.shape) != 2:
        raise ValueError(f"X must be 2-D, of shape (n_samples, n_features); got shape {table.shape}.")
    if table.dtype not in ("float32", "float64"):
        raise ValueError(
            f"X on a GPU must be float32 or float64; got {table.dtype}. Convert it first, with X.astype('float32') of "
            "CuPy or X.float() of torch: half precision is too coarse for sums of squares, and whole numbers have no "
            "NaN for missing values."
        )
    if 0 in table.shape:
        raise ValueError(f"X has shape {table.shape}; it needs at least one row and one column.")
    if len(table) > MAX_ROWS:
        raise ValueError(f"X on a GPU may have up to {MAX_ROWS:,} rows; got {len(table):,}.")
    with table.arrays.current():
        for start, stop in row_blocks(len(table), table.shape[1]):
            if bool(table.arrays.any(table.arrays.isinf(X[start:stop, :]))):
                raise ValueError("X holds infinity; values must be finite, or NaN where they are missing.")
    return table


def labels_to_host(labels: ArrayLike, table: GpuTable, name: str) -> ArrayLike:
    """Return labels or weights of a table on the host, given as the argument `name`.

    A data frame stays one: its columns are known by their names.
    """
    if is_gpu_array(labels):
        if (label_arrays := arrays_of(labels)).device != table.arrays.device:
            raise ValueError(
                f"X and {name} must be on the same GPU, or {name} on the host; X is {table.arrays} and {name} is "
                f"{label_arrays}."
            )
        return to_host(labels)
    try:
        np.asarray(labels)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name} must be an array that NumPy can read, or one on X's GPU; got {type(labels).__name__}: {error}"
        ) from None
    return labels


def table_and_labels_to_host(X: TableLike, labels: ArrayLike, name: str) -> tuple[TableLike, ArrayLike]:
    """Return `X` and its labels, given as the argument `name`, as NumPy arrays where they are on a GPU."""
    if is_gpu_array(X):
        table = check_gpu_table(X)
        labels = labels_to_host(labels, table, name) if is_gpu_array(labels) else labels
    return to_host(X), to_host(labels)


def gpu_view_blocks(
    table: GpuTable, names: list[str], columns: list[IntArray], used: BoolArray | None = None
) -> ViewBlocks:
    """Return the views of a table on a GPU; see `fuselearn.data.ViewBlocks.of`."""
    present = np.column_stack([_present(table, view_columns) for view_columns in columns])
    if used is not None:
        present &= used[:, None]
    views = tuple(
        GpuView(name, cast(FloatArray, table), view_columns, None if mask.all() else np.flatnonzero(mask), table.arrays)
        for name, view_columns, mask in zip(names, columns, present.T)
    )
    return ViewBlocks(views, present)


def _present(table: GpuTable, columns: IntArray) -> BoolArray:
    """Return the rows in which at least one of the columns is not NaN."""
    arrays, masks = table.arrays, []
    with arrays.current():
        for start, stop in row_blocks(len(table), len(columns)):
            values = GpuTable(table.values[start:stop, :]).columns(columns)
            masks.append(arrays.to_host(~arrays.all(arrays.isnan(values), axis=1)))
    return np.concatenate(masks)


def row_blocks(n_rows: int, n_columns: int) -> Iterator[tuple[int, int]]:
    """Yield the first and last row of some rows at a time, with so many columns each."""
    step = max(1, VALUES_AT_A_TIME // n_columns)
    for start in range(0, n_rows, step):
        yield start, min(start + step, n_rows)
