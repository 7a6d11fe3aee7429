"""Dask collections as a source of parts.

Predictions for Dask collections, which stay collections until they are computed.
"""

from numbers import Real

import numpy as np
from sklearn.utils.validation import validate_data

from fuselearn.backends.partitioned.raw_partition import RawPart
from fuselearn.backends.partitioned.sources import Source

NO_CLIENT = (
    "X is a Dask collection, but there is no Dask client to run on. Start one, e.g. client = distributed.Client() for "
    "the cores of this machine or distributed.Client('scheduler-address:8786') for a cluster, or pass X.compute()."
)


def current_client():
    """The client of the cluster to run on."""
    import distributed

    try:
        return distributed.get_client()
    except ValueError:
        raise RuntimeError(NO_CLIENT) from None


def check_collection(X):
    """Refuse what is Dask's but has no columns: bags, delayed objects, series."""
    n_dimensions = getattr(X, "ndim", None)
    if not isinstance(n_dimensions, int):  # a delayed object has every attribute, delayed
        raise TypeError(f"X must be a Dask Array or DataFrame; got a {type(X).__name__} of Dask.")
    if n_dimensions != 2:
        raise ValueError(f"X must be 2-D, of shape (n_samples, n_features); got {n_dimensions} dimension(s).")


class DaskSource(Source):
    """Partitions of a Dask DataFrame, or chunks of rows of a Dask Array.

    Parameters
    ----------
    X : Dask DataFrame or Array
    y, sample_weight, view_labels : Dask DataFrame, Series or Array, or array in memory
        Cut at the same rows as X; what is in memory, or is an array with other chunks, is cut accordingly.
    """

    kind = "Dask collections"

    def __init__(self, X, y, sample_weight=None, view_labels=None):
        check_collection(X)
        sample_weight = _weights_of_rows(sample_weight)
        if view_labels is not None and not hasattr(view_labels, "ndim"):
            view_labels = np.asarray(view_labels)
        self._client = current_client()
        self.has_view_labels = view_labels is not None
        X = _in_row_chunks(X)
        self.n_features = X.shape[1]
        self.column_names, self.header, self._dtypes = _header(X)
        blocks = _blocks(X)
        if not blocks:
            raise ValueError("X has no partitions.")
        self._view_labels_columns = getattr(view_labels, "columns", None)
        self._n_label_columns = None if view_labels is None else view_labels.shape[1] if view_labels.ndim == 2 else 1
        lengths = _lengths(X, blocks, (y, sample_weight, view_labels), self._client)
        beside = [
            _aligned(name, values, len(blocks), lengths)
            for name, values in (("y", y), ("sample_weight", sample_weight), ("view_labels", view_labels))
        ]
        self._blocks = list(zip(blocks, *beside))
        self._order = None

    def check_view_labels(self, names):
        if not self.has_view_labels:
            return
        if self._n_label_columns != len(names):
            raise ValueError(
                f"view_labels must have a column for each of the views {names}; it has {self._n_label_columns}."
            )
        columns = None if self._view_labels_columns is None else [str(name) for name in self._view_labels_columns]
        if columns is not None and sorted(columns) == sorted(names):
            # Columns that are named as the views belong to them, in whatever order they stand.
            self._order = [columns.index(name) for name in names]

    def map(self, function, *arguments, each=None):
        return self._client.gather(self._client.compute(self.tasks(function, *arguments, each=each)))

    def tasks(self, function, *arguments, each=None):
        """A delayed ``function(raw, *arguments, one)`` for each partition, one task each."""
        from dask import delayed

        # An argument is a task of its own: it travels once, not with every part.
        dtypes, *shared = [delayed(value, traverse=False, pure=False) for value in (self._dtypes, *arguments)]
        call = delayed(on_partition, pure=False)
        own = [()] * len(self._blocks) if each is None else [(_Sealed(one),) for one in each]
        return [
            call(number, block, dtypes, self._order, function, *shared, *one)
            for number, (block, one) in enumerate(zip(self._blocks, own))
        ]

    def place(self, blueprint, threads):
        from fuselearn.backends.partitioned.dask_cluster import DaskCrew

        return DaskCrew(self._client, lambda: self.tasks(_same), len(self._blocks), blueprint)


class _Sealed:
    """Keeps Dask from looking for tasks inside a value."""

    def __init__(self, value):
        self.value = value


def on_partition(number, block, dtypes, order, function, *arguments):
    """Call a function on the part that a partition of each collection makes. Runs on a worker."""
    arguments = [one.value if isinstance(one, _Sealed) else one for one in arguments]
    return function(raw_part(number, *block, dtypes, order), *arguments)


def _same(raw):
    return raw


def raw_part(number, X, y, weights, view_labels, dtypes, order):
    """The part that a partition of each collection makes."""
    where = f"partition {number}"
    if dtypes is not None and hasattr(X, "dtypes"):
        names = [str(name) for name in X.columns]
        if names != list(dtypes):
            raise ValueError(f"{where}: X has the columns {names[:10]} there, and {list(dtypes)[:10]} elsewhere.")
        for name, dtype in zip(names, X.dtypes):
            if len(X) and str(dtype) != dtypes[name]:
                raise ValueError(
                    f"{where}: the column {name!r} of X is {dtype} there, and {dtypes[name]} by the collection's own "
                    f"account; convert it, e.g. X[{name!r}] = X[{name!r}].astype('float64')."
                )
    index = getattr(X, "index", None)
    for name, values in (("y", y), ("sample_weight", weights), ("view_labels", view_labels)):
        other = getattr(values, "index", None)
        if index is not None and hasattr(other, "equals") and len(other) == len(index) and not other.equals(index):
            raise ValueError(
                f"{where}: {name} has another index than X; both must hold the same rows in the same order."
            )
    if hasattr(view_labels, "to_numpy"):
        view_labels = view_labels.to_numpy()
    if view_labels is not None and order is not None:
        view_labels = np.asarray(view_labels)[:, order]
    if hasattr(y, "to_frame") or hasattr(y, "columns"):
        y = y.to_numpy()
    return RawPart.of(where, X, y, weights, view_labels)


def _weights_of_rows(sample_weight):
    """What was given; None where it is one weight for all rows, which weighs none against another."""
    if not isinstance(sample_weight, Real) and not (isinstance(sample_weight, np.ndarray) and not sample_weight.ndim):
        return sample_weight
    if not 0 < sample_weight < np.inf:
        raise ValueError(f"sample_weight must be above 0 where one is given for all rows; got {sample_weight!r}.")
    return None


def _is_frame(collection):
    return hasattr(collection, "npartitions") and hasattr(collection, "map_partitions")


def _is_array(collection):
    return hasattr(collection, "chunks") and hasattr(collection, "rechunk")


def _in_row_chunks(X):
    """X, an array in chunks of whole rows."""
    if _is_array(X) and len(X.chunks[1]) > 1:
        return X.rechunk({1: -1})
    return X


def _header(X):
    """Names of columns, a stand-in for X with no rows, and the kind of each column."""
    if not hasattr(X, "columns"):
        return None, X, None
    import pandas as pd

    empty = pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in X.dtypes.items()})
    names = [str(name) for name in X.columns]
    named = all(isinstance(name, str) for name in X.columns)
    return names if named else None, empty, {str(name): str(dtype) for name, dtype in X.dtypes.items()}


def _blocks(collection):
    """A delayed object for each part of a collection, in the order of its rows."""
    return list(np.ravel(np.array(collection.to_delayed(), dtype=object)))


def _lengths(X, blocks, others, client):
    """Number of rows of each part, where it has to be known beforehand; it is computed once where it is not."""
    if _is_array(X) and not np.isnan(X.chunks[0]).any():
        return list(X.chunks[0])
    for other in others:
        if other is None or (_is_frame(other) and not _is_array(other)):
            continue
        # Chunks of unknown length can only be taken as they are.
        if not _is_array(other) or not np.isnan(other.chunks[0]).any() or len(other.chunks[0]) != len(blocks):
            from dask import delayed

            return client.gather(client.compute([delayed(len)(block) for block in blocks]))
    return None


def _aligned(name, values, n_parts, lengths):
    """A delayed object for each part of X, of what is said of its rows."""
    if values is None:
        return [None] * n_parts
    if _is_frame(values) and not _is_array(values):
        blocks = _blocks(values)
        if len(blocks) != n_parts:
            raise ValueError(
                f"{name} has {len(blocks)} partitions and X has {n_parts}; cut both at the same rows, e.g. take {name} "
                f"as a column of X's data frame, or {name}.repartition(...)."
            )
        return blocks
    import dask.array as da

    if not _is_array(values):
        array = np.asarray(values)
        if len(array) != sum(lengths):
            raise ValueError(f"X has {sum(lengths)} rows and {name} has {len(array)}.")
        values = da.from_array(array, chunks=(tuple(lengths), *array.shape[1:]))
    elif lengths is not None and not np.isnan(values.chunks[0]).any():
        if sum(values.chunks[0]) != sum(lengths):
            raise ValueError(f"X has {sum(lengths)} rows and {name} has {sum(values.chunks[0])}.")
        values = values.rechunk((tuple(lengths), *(-1 for _ in values.shape[1:])))
    elif values.ndim == 2:
        values = values.rechunk({1: -1})
    blocks = _blocks(values)
    if len(blocks) != n_parts:
        raise ValueError(
            f"{name} has {len(blocks)} chunks of unknown length and X has {n_parts} parts; call "
            f"{name}.compute_chunk_sizes() first, or cut both at the same rows."
        )
    return blocks


def predict_lazily(model, method, X):
    """What a method of a fitted model says of each partition.

    Parameters
    ----------
    model : fitted classifier
    method : {"predict", "predict_proba", "decision_function"}
    X : Dask Array or DataFrame

    Returns
    -------
    Dask Array; of a DataFrame a Series, or a DataFrame with a column per class, with the index of X
    """
    check_collection(X)
    _check_columns(model, X)
    n_classes = len(model.classes_)
    several = method == "predict_proba" or (method == "decision_function" and n_classes > 2)
    kind = model.classes_.dtype if method == "predict" else np.dtype(np.float64)
    if hasattr(X, "columns"):
        return X.map_partitions(of_frame, model, method, meta=_meta(X, model, method, kind, several))
    if len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    if several:
        return X.map_blocks(of_array, model, method, dtype=kind, chunks=(X.chunks[0], (n_classes,)))
    return X.map_blocks(of_array, model, method, dtype=kind, drop_axis=1)


def of_array(rows, model, method):
    """Predictions for a chunk of rows. Runs on a worker."""
    if len(rows) == 0:
        n_classes = len(model.classes_)
        several = method == "predict_proba" or (method == "decision_function" and n_classes > 2)
        kind = model.classes_.dtype if method == "predict" else np.float64
        return np.empty((0, n_classes) if several else 0, dtype=kind)
    return getattr(model, method)(rows)


def of_frame(rows, model, method):
    """Predictions for a partition, as a pandas object. Runs on a worker."""
    import pandas as pd

    values = of_array(rows, model, method)
    if values.ndim == 2:
        return pd.DataFrame(values, index=rows.index, columns=model.classes_)
    return pd.Series(values, index=rows.index, name=method)


def _check_columns(model, X):
    """Refuse other columns than the model was fitted on now, not when the collection is computed."""
    if hasattr(X, "columns"):
        import pandas as pd

        nothing = pd.DataFrame(columns=X.columns)
    else:
        nothing = np.empty((0, X.shape[1]))
    validate_data(model, nothing, reset=False, skip_check_array=True)


def _meta(X, model, method, kind, several):
    """A stand-in for the predictions, with no rows."""
    import pandas as pd

    index = pd.Index([], dtype=X.index.dtype, name=X.index.name)
    if several:
        return pd.DataFrame({label: pd.Series(dtype=kind, index=index) for label in model.classes_}, index=index)
    return pd.Series(np.empty(0, dtype=kind), index=index, name=method)
