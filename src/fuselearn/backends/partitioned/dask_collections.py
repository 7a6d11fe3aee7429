"""Dask collections: a source of partitions to fit on, and lazy predictions for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
from sklearn.utils.validation import validate_data

from fuselearn.backends.partitioned.dask_tasks import Cluster
from fuselearn.backends.partitioned.row_source import RawPartition, Result, RowSource, joined_values
from fuselearn.data.categories import Categories, distinct_values
from fuselearn.numeric.threads import Threads
from fuselearn.typing import AnyArray, ArrayLike, IntArray, TableLike

if TYPE_CHECKING:
    from dask.delayed import Delayed
    from distributed import Client

    from fuselearn.backends.partitioned.dask_cluster import DaskPartitions
    from fuselearn.backends.partitioned.partitions import Recipe

NO_CLIENT = (
    "X is a Dask collection, but there is no Dask client to run on. Start one, e.g. client = distributed.Client() for "
    "the cores of this machine or distributed.Client('scheduler-address:8786') for a cluster, or pass X.compute()."
)

Collection: TypeAlias = Any
"""A Dask Array, DataFrame or Series, whose types Dask does not publish."""
Block: TypeAlias = tuple[TableLike, ArrayLike, ArrayLike, ArrayLike, ArrayLike]
"""A partition of X, y, sample_weight, view_labels and groups."""
PredictMethod: TypeAlias = Literal["predict", "predict_proba", "decision_function", "predict_set", "next_view"]
OTHER_TYPES: dict[str, type[Any]] = {"predict_set": np.bool_, "next_view": np.object_}
"""Types of what methods return that is neither a label nor a number."""


class FittedModel(Protocol):
    """A fitted classifier, with `classes_`, or regressor that can predict a partition."""

    def predict(self, X: TableLike) -> AnyArray: ...


def check_collection(X: Collection) -> None:
    """Refuse Dask's objects without columns: bags, delayed objects, series."""
    n_dimensions = getattr(X, "ndim", None)
    if not isinstance(n_dimensions, int):  # a delayed object has every attribute, delayed
        raise TypeError(f"X must be a Dask Array or DataFrame; got a {type(X).__name__} of Dask.")
    if n_dimensions != 2:
        raise ValueError(f"X must be 2-D, of shape (n_samples, n_features); got {n_dimensions} dimension(s).")


class DaskSource(RowSource):
    """Partitions of a Dask DataFrame, or chunks of rows of a Dask Array.

    Parameters
    ----------
    X : Dask DataFrame or Array
        The rows.
    y, sample_weight, view_labels, groups : Dask DataFrame, Series or Array, or array in memory
        Partitioned at the same rows as X; an array in memory, or one with other chunks, is cut accordingly.
    """

    description = "Dask collections"
    is_far = True

    def __init__(
        self,
        X: Collection,
        y: ArrayLike,
        sample_weight: ArrayLike = None,
        view_labels: ArrayLike = None,
        groups: ArrayLike = None,
    ) -> None:
        check_collection(X)
        sample_weight = _weights_by_row(sample_weight)
        if view_labels is not None and not hasattr(view_labels, "ndim"):
            view_labels = np.asarray(view_labels)
        self._cluster = Cluster(_current_client())
        self.has_view_labels, self.has_groups = view_labels is not None, groups is not None
        X = _with_whole_rows(X)
        self.n_features = X.shape[1]
        self.column_names, self.empty_table, self._dtypes = _columns(X)
        blocks = _blocks(X)
        if not blocks:
            raise ValueError("X has no partitions.")
        self._view_labels_columns = getattr(view_labels, "columns", None)
        self._n_label_columns = None if view_labels is None else view_labels.shape[1] if view_labels.ndim == 2 else 1
        lengths = _lengths(X, blocks, (y, sample_weight, view_labels, groups), self._cluster)
        beside = {"y": y, "sample_weight": sample_weight, "view_labels": view_labels, "groups": groups}
        others = [_aligned_blocks(name, values, len(blocks), lengths) for name, values in beside.items()]
        self._blocks = list(zip(blocks, *others))
        self._label_order: list[int] | None = None

    def check_view_labels(self, names: list[str]) -> None:
        """Refuse view labels that do not have a column for each view; those of a data frame go by their names."""
        if not self.has_view_labels:
            return
        if self._n_label_columns != len(names):
            raise ValueError(
                f"view_labels must have a column for each of the views {names}; it has {self._n_label_columns}."
            )
        columns = None if self._view_labels_columns is None else [str(name) for name in self._view_labels_columns]
        if columns is not None and sorted(columns) == sorted(names):
            # Columns that are named like the views belong to them, whatever their order.
            self._label_order = [columns.index(name) for name in names]

    def map(
        self, function: Callable[..., Result], *arguments: object, each: Sequence[object] | None = None
    ) -> Sequence[Result]:
        """Call a function on each partition; see `RowSource.map`."""
        return self._cluster.values(lambda: self.tasks(function, *arguments, each=each))

    def tasks(
        self, function: Callable[..., object], *arguments: object, each: Sequence[object] | None = None
    ) -> list[Delayed]:
        """Return a delayed ``function(partition, *arguments, last)`` for each partition, one task each."""
        from dask.delayed import delayed

        # An argument is a task of its own: it travels once, not with every partition.
        block_format = BlockFormat(self._dtypes, self._label_order, self.categories)
        formats, *shared = [delayed(value, traverse=False, pure=False) for value in (block_format, *arguments)]
        call = delayed(call_on_partition, pure=False)
        last_arguments: Sequence[tuple[_Opaque, ...]] = [()] * len(self._blocks)
        if each is not None:
            last_arguments = [(_Opaque(argument),) for argument in each]
        return [
            call(number, block, formats, function, *shared, *last)
            for number, (block, last) in enumerate(zip(self._blocks, last_arguments))
        ]

    def distinct_values(self, columns: IntArray, in_views: IntArray | None = None) -> list[list[Any]]:
        """Return the values that columns of X have, which may be text; see `RowSource.distinct_values`."""
        from dask.delayed import delayed

        distinct = delayed(distinct_values, pure=False)
        return joined_values(
            self._cluster.values(lambda: [distinct(block[0], columns, block[2], in_views) for block in self._blocks])
        )

    def load_partitions(self, recipe: Recipe, threads: Threads) -> DaskPartitions:
        """Build all partitions on the workers of the cluster."""
        from fuselearn.backends.partitioned.dask_cluster import DaskPartitions

        return DaskPartitions(self._cluster, lambda: self.tasks(_identity), len(self._blocks), recipe)


class _Opaque:
    """A value in which Dask does not look for tasks."""

    def __init__(self, value: object) -> None:
        self.value = value


@dataclass(frozen=True)
class BlockFormat:
    """How blocks of the collections are read: the type of each column of X, the order of label columns, categories."""

    dtypes: dict[str, str] | None
    label_order: list[int] | None
    categories: Categories | None


def call_on_partition(
    number: int, block: Block, block_format: BlockFormat, function: Callable[..., Result], *arguments: object
) -> Result:
    """Call a function on a partition of the collections. Runs on a worker."""
    values = [argument.value if isinstance(argument, _Opaque) else argument for argument in arguments]
    return function(_raw_partition(number, block, block_format), *values)


def _identity(raw: RawPartition) -> RawPartition:
    return raw


def _raw_partition(number: int, block: Block, block_format: BlockFormat) -> RawPartition:
    """Check that a partition of each collection has the same columns as the others and the same index as X."""
    X, y, weights, view_labels, groups = block
    dtypes, label_order, categories = block_format.dtypes, block_format.label_order, block_format.categories
    place = f"partition {number}"
    if dtypes is not None and hasattr(X, "dtypes"):
        names = [str(name) for name in X.columns]
        if names != list(dtypes):
            raise ValueError(f"{place}: X has the columns {names[:10]} there, and {list(dtypes)[:10]} elsewhere.")
        for name, dtype in zip(names, X.dtypes):
            if len(X) and str(dtype) != dtypes[name]:
                raise ValueError(
                    f"{place}: the column {name!r} of X is {dtype} there, but the collection declares {dtypes[name]}; "
                    f"convert it, e.g. X[{name!r}] = X[{name!r}].astype('float64')."
                )
    index = getattr(X, "index", None)
    beside = {"y": y, "sample_weight": weights, "view_labels": view_labels, "groups": groups}
    for name, values in beside.items():
        other: ArrayLike = getattr(values, "index", None)
        if index is not None and hasattr(other, "equals") and len(other) == len(index) and not other.equals(index):
            raise ValueError(
                f"{place}: {name} has another index than X; both must hold the same rows in the same order."
            )
    if hasattr(view_labels, "to_numpy"):
        view_labels = view_labels.to_numpy()
    if view_labels is not None and label_order is not None:
        view_labels = np.asarray(view_labels)[:, label_order]
    if hasattr(y, "to_frame") or hasattr(y, "columns"):
        y = y.to_numpy()
    if categories is not None:
        X = categories.encode(X)
    return RawPartition.of(place, X, y, weights, view_labels, groups, number=number)


def _current_client() -> Client:
    """Return the client of the cluster to run on."""
    import distributed

    try:
        return distributed.get_client()
    except ValueError:
        raise RuntimeError(NO_CLIENT) from None


def _weights_by_row(sample_weight: ArrayLike) -> ArrayLike:
    """Return the weights as given, but None for a single weight of all rows, which changes nothing."""
    if not isinstance(sample_weight, Real) and not (isinstance(sample_weight, np.ndarray) and not sample_weight.ndim):
        return sample_weight
    if not 0 < float(sample_weight) < np.inf:
        raise ValueError(f"sample_weight must be above 0 where one is given for all rows; got {sample_weight!r}.")
    return None


def _is_frame(collection: Collection) -> bool:
    return hasattr(collection, "npartitions") and hasattr(collection, "map_partitions")


def _is_array(collection: Collection) -> bool:
    return hasattr(collection, "chunks") and hasattr(collection, "rechunk")


def _with_whole_rows(X: Collection) -> Collection:
    """Return X, an array in chunks of whole rows."""
    return X.rechunk({1: -1}) if _is_array(X) and len(X.chunks[1]) > 1 else X


def _columns(X: Collection) -> tuple[list[str] | None, TableLike, dict[str, str] | None]:
    """Return the names of the columns, a table with these columns and no rows, and the type of each column."""
    if not hasattr(X, "columns"):
        return None, X, None
    import pandas as pd

    empty = pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in X.dtypes.items()})
    names = [str(name) for name in X.columns]
    named = all(isinstance(name, str) for name in X.columns)
    return names if named else None, empty, {str(name): str(dtype) for name, dtype in X.dtypes.items()}


def _blocks(collection: Collection) -> list[Delayed]:
    """Return a delayed object for each partition of a collection, in the order of its rows."""
    return list(np.ravel(np.array(collection.to_delayed(), dtype=object)))


def _lengths(
    X: Collection, blocks: list[Delayed], others: tuple[ArrayLike, ...], cluster: Cluster
) -> Sequence[int] | None:
    """Return the number of rows of each partition where it has to be known beforehand; else None."""
    if _is_array(X) and not np.isnan(X.chunks[0]).any():
        return list(X.chunks[0])
    for other in others:
        if other is None or (_is_frame(other) and not _is_array(other)):
            continue
        # Chunks of unknown length can only be taken as they are.
        if not _is_array(other) or not np.isnan(other.chunks[0]).any() or len(other.chunks[0]) != len(blocks):
            from dask.delayed import delayed

            return cluster.values(lambda: [delayed(len, pure=False)(block) for block in blocks])
    return None


def _aligned_blocks(
    name: str, values: ArrayLike, n_partitions: int, lengths: Sequence[int] | None
) -> Sequence[Delayed | None]:
    """Return labels or weights as a delayed object for each partition of X."""
    if values is None:
        return [None] * n_partitions
    if _is_frame(values) and not _is_array(values):
        blocks = _blocks(values)
        if len(blocks) != n_partitions:
            raise ValueError(
                f"{name} has {len(blocks)} partitions and X has {n_partitions}; partition both at the same rows, e.g. "
                f"take {name} as a column of X's data frame, or {name}.repartition(...)."
            )
        return blocks
    import dask.array as da

    n_rows = 0 if lengths is None else sum(lengths)
    if not _is_array(values):
        array = np.asarray(values)
        if len(array) != n_rows:
            raise ValueError(f"X has {n_rows} rows and {name} has {len(array)}.")
        values = da.from_array(array, chunks=(tuple(lengths or ()), *array.shape[1:]))
    elif lengths is not None and not np.isnan(values.chunks[0]).any():
        if sum(values.chunks[0]) != n_rows:
            raise ValueError(f"X has {n_rows} rows and {name} has {sum(values.chunks[0])}.")
        values = values.rechunk((tuple(lengths), *(-1 for _ in values.shape[1:])))
    elif values.ndim == 2:
        values = values.rechunk({1: -1})
    blocks = _blocks(values)
    if len(blocks) != n_partitions:
        raise ValueError(
            f"{name} has {len(blocks)} chunks of unknown length and X has {n_partitions} partitions; call "
            f"{name}.compute_chunk_sizes() first, or partition both at the same rows."
        )
    return blocks


def predict_lazily(model: FittedModel, method: PredictMethod, X: Collection, **options: Any) -> Collection:
    """Return what a method of a fitted model, with options, predicts for each partition of a Dask Array or DataFrame.

    This is a Dask Array; of a DataFrame a Series, or a DataFrame with a column per class, with the index of X.
    """
    check_collection(X)
    _check_columns(model, X)
    dtype, classes = _prediction_format(model, method)
    if hasattr(X, "columns"):
        meta = _empty_prediction(X, model, method)
        return X.map_partitions(predict_frame, model, method, meta=meta, **options)
    X = _with_whole_rows(X)
    if classes is not None:
        chunks = (X.chunks[0], (len(classes),))
        return X.map_blocks(predict_array, model, method, dtype=dtype, chunks=chunks, **options)
    return X.map_blocks(predict_array, model, method, dtype=dtype, drop_axis=1, **options)


def predict_array(rows: TableLike, model: FittedModel, method: PredictMethod, **options: Any) -> AnyArray:
    """Return the predictions for a chunk of rows. Runs on a worker."""
    if len(rows) == 0:
        dtype, classes = _prediction_format(model, method)
        return np.empty(0 if classes is None else (0, len(classes)), dtype=dtype)
    return getattr(model, method)(rows, **options)


def predict_frame(rows: TableLike, model: FittedModel, method: PredictMethod, **options: Any) -> TableLike:
    """Return the predictions for a partition, as a pandas object. Runs on a worker."""
    import pandas as pd

    values = predict_array(rows, model, method, **options)
    if values.ndim == 2:
        return pd.DataFrame(values, index=rows.index, columns=_prediction_format(model, method)[1])
    # Named views and None for none are objects: pandas would take them for texts, and None for NaN.
    return pd.Series(values, index=rows.index, name=method, dtype=values.dtype)


def _prediction_format(model: FittedModel, method: PredictMethod) -> tuple[np.dtype[Any], AnyArray | None]:
    """Return the type of predictions, and the classes where there is a column for each of them."""
    classes: AnyArray | None = getattr(model, "classes_", None)
    if method in OTHER_TYPES:
        return np.dtype(OTHER_TYPES[method]), classes if method == "predict_set" else None
    if classes is None:
        return np.dtype(np.float64), None
    by_class = method == "predict_proba" or (method == "decision_function" and len(classes) > 2)
    return (classes.dtype if method == "predict" else np.dtype(np.float64)), classes if by_class else None


def _check_columns(model: FittedModel, X: Collection) -> None:
    """Refuse other columns than the model was fitted on now, not when the collection is computed."""
    if hasattr(X, "columns"):
        import pandas as pd

        empty = pd.DataFrame(columns=X.columns)
    else:
        empty = np.empty((0, X.shape[1]))
    validate_data(model, empty, reset=False, skip_check_array=True)


def _empty_prediction(X: Collection, model: FittedModel, method: PredictMethod) -> TableLike:
    """Return predictions for no rows, by which Dask knows their form."""
    import pandas as pd

    dtype, classes = _prediction_format(model, method)
    index = pd.Index([], dtype=X.index.dtype, name=X.index.name)
    if classes is not None:
        return pd.DataFrame({label: pd.Series(dtype=dtype, index=index) for label in classes}, index=index)
    return pd.Series(np.empty(0, dtype=dtype), index=index, name=method)
