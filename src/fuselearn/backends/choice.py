"""Where a fit runs follows from what is passed in."""

import os
from importlib.util import find_spec

from fuselearn.views.device import is_device_array


def kind_of(X):
    """Where the rows of `X` are: "local", "dask", "device" or "files".

    It goes by the module of the type, so that no library is imported that the user does not use; see
    `is_device_array` for what counts as one on a device.

    Examples
    --------
    >>> import numpy as np
    >>> kind_of(np.zeros((2, 2))), kind_of("rows.parquet"), kind_of(["a.parquet", "b.parquet"])
    ('local', 'files', 'files')
    """
    if isinstance(X, str | os.PathLike):
        return "files"
    if isinstance(X, list | tuple) and len(X) and all(isinstance(path, str | os.PathLike) for path in X):
        return "files"
    library = type(X).__module__.partition(".")[0]
    if library in ("dask", "dask_expr"):
        return "dask"
    return "device" if is_device_array(X) else "local"


def check_installed(kind):
    """Refuse a kind of rows whose extra is not installed."""
    for needed, module, extra, what in (
        ("dask", "distributed", "dask", "Dask collections"),
        ("files", "pyarrow", "app", "Parquet files"),
    ):
        if kind == needed and find_spec(module) is None:
            raise ImportError(f"To fit on {what}, install {module}: pip install 'fuselearn[{extra}]'.")


def rows_of(kind):
    """The class of rows that are in one place, "local" or "device"."""
    if kind == "device":
        from fuselearn.backends.device import DeviceRows

        return DeviceRows
    from fuselearn.backends.local import LocalRows

    return LocalRows


def source_of(kind, X, y, sample_weight, view_labels):
    """The source of rows that come in parts, "dask" or "files"."""
    if kind == "dask":
        from fuselearn.backends.dask_source import DaskSource

        return DaskSource(X, y, sample_weight, view_labels)
    from fuselearn.backends.files import FileSource

    return FileSource(X, y, sample_weight, view_labels)
