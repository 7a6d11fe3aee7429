"""The user's table on a device: checked, and looked at for the views that its rows have."""

from copy import copy
from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import validate_data

from fuselearn.backends.gpu.arrays import Arrays, arrays_of, is_device_array, on_host, on_its_device
from fuselearn.data import View, ViewBlocks

VALUES_AT_A_TIME = 2**25
"""Values of a table that one step works on: what is made of them must fit beside the table."""
MOST_ROWS = 2**31 - 1
"""Rows of a table, which the kernels number in 32 bits."""


class DeviceTable:
    """A table on a device.

    Parameters
    ----------
    values : array of shape (n_rows, n_features)
        Of CuPy, torch, NumPy or ``array_api_strict``.

    Attributes
    ----------
    arrays : Arrays
        Operations on its values.
    values : array
    """

    def __init__(self, values):
        self.values = values
        self.arrays = arrays_of(values)
        self.shape = tuple(values.shape)

    def __len__(self):
        return self.shape[0]

    @property
    def kind(self):
        """Name of the number format of its values."""
        return self.arrays.kind(self.values)

    def columns(self, columns, rows=None):
        """Some columns, in some or all rows, both in the order that is asked for; on the device."""
        columns = np.asarray(columns)
        if len(columns) and np.array_equal(columns, np.arange(columns[0], columns[0] + len(columns))):
            values = self.values[:, int(columns[0]) : int(columns[0]) + len(columns)]
        else:
            values = self.arrays.take(self.values, self.arrays.from_host(columns), axis=1)
        return values if rows is None else self.arrays.take(values, rows)


@dataclass(frozen=True)
class DeviceView(View):
    """A view of a `DeviceTable`. What is read of it through the methods of a view comes to this machine.

    Parameters
    ----------
    name, table, columns, rows
        As for `View`. A NumPy table, such as `preprocess` makes, is taken to the device.
    arrays : Arrays
        Of the device.
    """

    arrays: Arrays

    def __post_init__(self):
        if isinstance(self.table, np.ndarray):
            object.__setattr__(self, "table", DeviceTable(self.arrays.from_host(self.table)))

    @on_its_device
    def _take(self, rows, which=slice(None)):
        arrays = self.table.arrays
        if self.rows is not None:
            rows = self.rows[rows]
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self.table))
            values = DeviceTable(self.table.values[start:stop, :]).columns(self.columns[which])
        else:
            values = self.table.columns(self.columns[which], arrays.from_host(np.asarray(rows)))
        return arrays.to_host(values)


def read_device_table(model, X, y, *, reset):
    """Check `X` on a device and its labels, as `fuselearn.data.read_table` does on this machine.

    Parameters
    ----------
    model : estimator
        Not changed.
    X : array of a device, of shape (n_samples, n_features)
    y : array of shape (n_samples,)
        On this machine or on the same device.
    reset : bool
        Whether the columns of `X` may differ from those that the model was fitted on.

    Returns
    -------
    table : DeviceTable
    y : ndarray
    features : dict
        ``n_features_in_``.
    """
    table = checked_table(X)
    if not reset and table.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {table.shape[1]} features, but {type(model).__name__} is expecting {model.n_features_in_} features "
            "as input."
        )
    y = validate_data(copy(model), y=labels_on_host(y, table, "y"), reset=True)
    check_consistent_length(table, y)
    return table, y, {"n_features_in_": table.shape[1]}


def checked_table(X):
    """A 2-D array of a device as a table; an error where it does not hold numbers that can be trained on."""
    X = arrays_of(X).detached(X)
    table = DeviceTable(X)
    if len(table.shape) != 2:
        raise ValueError(f"X must be 2-D, of shape (n_samples, n_features); got shape {table.shape}.")
    if table.kind not in ("float32", "float64"):
        raise ValueError(
            f"X on a device must be float32 or float64; got {table.kind}. Convert it first, with X.astype('float32') "
            "of CuPy or X.float() of torch: half precision is too coarse for sums of squares, and whole numbers have "
            "no NaN for what is missing."
        )
    if 0 in table.shape:
        raise ValueError(f"X has shape {table.shape}; it needs at least one row and one column.")
    if len(table) > MOST_ROWS:
        raise ValueError(f"X on a device may have up to {MOST_ROWS:,} rows; got {len(table):,}.")
    with table.arrays.current():
        for start, stop in _parts(table, table.shape[1]):
            if bool(table.arrays.any(table.arrays.isinf(X[start:stop, :]))):
                raise ValueError("X holds infinity. NaN marks what is missing; all else is a finite number.")
    return table


def labels_on_host(labels, table, name):
    """Labels or weights on the host: those of a device as a NumPy array, others as they are.

    A data frame stays one: its columns are known by their names.

    Parameters
    ----------
    labels : array, data frame or None
    table : DeviceTable
        What they belong to.
    name : str
        Of the argument.
    """
    if is_device_array(labels):
        if (here := arrays_of(labels)).device != table.arrays.device:
            raise ValueError(
                f"X and {name} must be on one device, or {name} on the host; X is {table.arrays} and {name} is {here}."
            )
        return on_host(labels)
    try:
        np.asarray(labels)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name} must be an array that NumPy can read, or one of X's device; got {type(labels).__name__}: {error}"
        ) from None
    return labels


def both_on_host(X, labels, name):
    """`X` and its labels as NumPy arrays where they are on a device, checked; else as they are.

    Parameters
    ----------
    X, labels
        As the user gave them.
    name : str
        Of the argument `labels`.
    """
    if is_device_array(X):
        table = checked_table(X)
        labels = labels_on_host(labels, table, name) if is_device_array(labels) else labels
    return on_host(X), on_host(labels)


def device_blocks(table, names, columns, counted=None):
    """The views of a table on a device; see `fuselearn.data.ViewBlocks.of`.

    Parameters
    ----------
    table : DeviceTable
    names : list of str
    columns : list of intp ndarray
    counted : bool ndarray of shape (n_rows,), default=None
    """
    present = np.column_stack([_present(table, view_columns) for view_columns in columns])
    if counted is not None:
        present &= counted[:, None]
    views = tuple(
        DeviceView(name, table, view_columns, None if mask.all() else np.flatnonzero(mask), table.arrays)
        for name, view_columns, mask in zip(names, columns, present.T)
    )
    return ViewBlocks(views, present)


def _present(table, columns):
    """Rows in which at least one of the columns is not NaN."""
    arrays, parts = table.arrays, []
    with arrays.current():
        for start, stop in _parts(table, len(columns)):
            values = DeviceTable(table.values[start:stop, :]).columns(columns)
            parts.append(arrays.to_host(~arrays.all(arrays.isnan(values), axis=1)))
    return np.concatenate(parts)


def _parts(table, n_columns):
    """(start, stop) of some rows at a time."""
    step = max(1, VALUES_AT_A_TIME // n_columns)
    for start in range(0, len(table), step):
        yield start, min(start + step, len(table))
