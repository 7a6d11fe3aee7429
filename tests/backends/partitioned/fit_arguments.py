"""The same rows as the arguments of `fit`, in a Parquet file or as Dask arrays."""

import pandas as pd

COLUMNS = [f"c{number}" for number in range(8)]


def in_file(path, X, y, beside, row_group_size=200):
    """Write rows to a Parquet file; returns the arguments of `fit`."""
    frame = pd.DataFrame(X, columns=COLUMNS).assign(target=y)
    arguments = {"X": path, "y": "target"}
    for name, values in beside.items():
        if values.ndim == 1:
            arguments[name] = name
            frame[name] = values
        else:
            arguments[name] = [f"{name}{number}" for number in range(values.shape[1])]
            frame[arguments[name]] = values
    frame.to_parquet(path, row_group_size=row_group_size)
    return arguments


def chunked(n_partitions, X, y, beside):
    """Return the arguments of `fit` as Dask arrays."""
    from tests.backends.partitioned.partition_problems import in_chunks

    return dict(zip(("X", "y", *beside), in_chunks(n_partitions, X, y, *beside.values())))
