"""Parquet files as a source of partitions, for data that are larger than memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from fuselearn.backends.partitioned.partitions import AnsweringRows, LocalPartitions, Recipe
from fuselearn.backends.partitioned.row_source import RawPartition, Result, RowSource
from fuselearn.backends.partitioned.storage import MEMORY_LIMIT_VARIABLE, ArrayStore, memory_limit
from fuselearn.numeric.threads import Threads
from fuselearn.typing import AnyArray, ArrayLike, TableLike

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema
    from pyarrow.parquet import FileMetaData

MAX_ROWS, MIN_ROWS = 2**20, 2**8
"""Rows of a partition."""
BUFFER_BYTES = 2**16
"""Bytes of a column that are read from a file at once, so that a large row group is not in memory as a whole."""
PARTITIONS_OF_LIMIT = 16
"""Partitions that, as they are read, fill the memory limit: a partition exists several times over while it is
prepared, and each thread works on one."""
SHARE_IN_MEMORY = 3 / 8
"""Share of the limit that prepared rows may take in memory; if they need more, all of them are kept in files."""


class FittedTable(Protocol):
    """A fitted estimator, with `feature_names_in_` where it was fitted on a data frame."""

    n_features_in_: int


class ParquetFiles:
    """Columns of Parquet files, read as many rows at a time as the memory limit allows.

    Parameters
    ----------
    paths : list of path
        The files, which have the same columns.
    schema : pyarrow.Schema
        Their columns.
    column_names : list of str
        Columns of the table, which must hold numbers.
    other_columns : list of str
        Columns beside the table.
    """

    def __init__(self, paths: list[Path], schema: Schema, column_names: list[str], other_columns: list[str]) -> None:
        self._paths = paths
        self._column_names, self._other_columns = column_names, other_columns
        self._dtype = _number_format(schema, column_names)
        self.limit = memory_limit()
        self._rows_at_a_time = self._most_rows()

    def batches(self) -> Iterator[tuple[str, RecordBatch]]:
        """Yield the rows, as many at a time as make a partition, and the place that they are from."""
        from pyarrow import default_memory_pool, parquet

        columns = [*self._column_names, *self._other_columns]
        for path in self._paths:
            first = 0
            with parquet.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER_BYTES) as file:
                for groups in self._row_groups(file.metadata):
                    for batch in file.iter_batches(self._rows_at_a_time, row_groups=groups, columns=columns):
                        yield f"{path}, rows from {first}", batch
                        first += batch.num_rows
                    # Arrow keeps memory that it no longer needs, which counts as well.
                    default_memory_pool().release_unused()

    def table(self, batch: RecordBatch) -> AnyArray:
        """Return the table of some rows."""
        table = np.empty((batch.num_rows, len(self._column_names)), dtype=self._dtype)
        for place, name in enumerate(self._column_names):
            table[:, place] = _values(batch, name)
        return table

    def _most_rows(self) -> int:
        """Return as many rows as fit into a partition's share of the memory limit."""
        n_columns = len(self._column_names)
        row_bytes = 8 * (n_columns + len(self._other_columns))
        max_rows = self.limit // (PARTITIONS_OF_LIMIT * row_bytes)
        if max_rows < MIN_ROWS:
            needed = PARTITIONS_OF_LIMIT * row_bytes * MIN_ROWS
            raise ValueError(
                f"Rows of {n_columns} columns need a memory limit of at least {needed / 2**20:.0f} MiB, to be "
                f"read {MIN_ROWS} at a time; it is {self.limit / 2**20:.0f} MiB ({MEMORY_LIMIT_VARIABLE}, or half of "
                "the memory)."
            )
        return int(min(MAX_ROWS, max_rows))

    def _row_groups(self, metadata: FileMetaData) -> Iterator[list[int]]:
        """Yield row groups of a file, as few together as make a partition: all of a read may be in memory at once."""
        groups, n_rows = [], 0
        for number in range(metadata.num_row_groups):
            groups.append(number)
            n_rows += metadata.row_group(number).num_rows
            if n_rows >= self._rows_at_a_time:
                yield groups
                groups, n_rows = [], 0
        if groups:
            yield groups


class ParquetSource(RowSource):
    """Rows of Parquet files, one file after the other.

    Parameters
    ----------
    X : path, or list of paths
        Parquet files with the same columns, or folders of such files, which are read in the order of their names.
    y : str
        Name of the column that holds the labels.
    sample_weight : str, default=None
        Name of a column.
    view_labels : list of str, default=None
        Names of columns, one for each view.
    groups : str, default=None
        Name of a column.
    """

    description = "Parquet files"

    def __init__(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike = None,
        view_labels: ArrayLike = None,
        groups: ArrayLike = None,
    ) -> None:
        paths = _paths(X)
        schema = _common_schema(paths)
        self._label_column = _column("y", y, schema)
        self._weight_column = None if sample_weight is None else _column("sample_weight", sample_weight, schema)
        self._group_column = None if groups is None else _column("groups", groups, schema)
        self.has_view_labels, self.has_groups = view_labels is not None, groups is not None
        self._view_label_columns: list[str] = []
        if view_labels is not None:
            if isinstance(view_labels, str) or not isinstance(view_labels, list | tuple):
                raise TypeError(
                    "view_labels must be a list of names of columns when X is files, one for each view; got "
                    f"{view_labels!r:.100}."
                )
            self._view_label_columns = [_column("view_labels", name, schema) for name in view_labels]
        beside = [self._label_column, self._weight_column, *self._view_label_columns, self._group_column]
        self._other_columns = list(dict.fromkeys(name for name in beside if name is not None))
        others = {*self._other_columns, *_index_columns(schema)}
        self.column_names: list[str] = [name for name in schema.names if name not in others]
        if not self.column_names:
            raise ValueError("The files have no columns besides y, sample_weight, view_labels and groups.")
        self.n_features = len(self.column_names)
        self._files = ParquetFiles(paths, schema, self.column_names, self._other_columns)
        self.empty_table = schema.empty_table().select(self.column_names)
        if find_spec("pandas") is not None:  # scikit-learn's make_column_selector takes nothing else
            self.empty_table = self.empty_table.to_pandas()

    def check_view_labels(self, names: list[str]) -> None:
        """Refuse view labels that do not have a column for each view."""
        if self.has_view_labels and len(self._view_label_columns) != len(names):
            raise ValueError(
                f"view_labels must name a column for each of the views {names}; it names "
                f"{len(self._view_label_columns)}."
            )

    def map(
        self, function: Callable[..., Result], *arguments: object, each: Sequence[object] | None = None
    ) -> list[Result]:
        """Call a function on each partition; see `RowSource.map`."""
        return [
            function(raw, *arguments, *([] if each is None else [each[number]]))
            for number, raw in enumerate(self._raw_partitions())
        ]

    def load_partitions(self, recipe: Recipe, threads: Threads) -> LocalPartitions:
        """Prepare all partitions, in memory if they fit, else in files of a temporary folder."""
        folder, n_bytes = None, 0
        partitions: list[AnsweringRows] = []
        stores: list[ArrayStore] = []
        try:
            for number, raw in enumerate(self._raw_partitions()):
                stores.append(ArrayStore(None if folder is None else Path(folder.name) / str(number)))
                partitions.append(recipe.build(raw, stores[-1], threads))
                if folder is None:
                    # Only as the partitions come does it show whether all of them fit into what the reading leaves of
                    # the limit.
                    n_bytes += stores[-1].n_bytes + recipe.later_bytes(len(raw))
                    if n_bytes > SHARE_IN_MEMORY * self._files.limit:
                        folder = tempfile.TemporaryDirectory(prefix="fuselearn-")
                        for stored, store in enumerate(stores):
                            store.move_to(Path(folder.name) / str(stored))
        except BaseException:
            if folder is not None:
                folder.cleanup()
            raise
        return LocalPartitions(partitions, threads, (lambda: None) if folder is None else folder.cleanup)

    def _raw_partitions(self) -> Iterator[RawPartition]:
        """Yield the rows, as many at a time as make a partition."""
        for number, (place, batch) in enumerate(self._files.batches()):
            yield self._raw_partition(number, place, batch)

    def _raw_partition(self, number: int, place: str, batch: RecordBatch) -> RawPartition:
        table = self._files.table(batch)
        if self.categories is not None:
            table = self.categories.encode(table)
        view_labels = None
        if self._view_label_columns:
            view_labels = np.column_stack([_values(batch, name) for name in self._view_label_columns])
        weights = None if self._weight_column is None else _values(batch, self._weight_column)
        groups = None if self._group_column is None else _values(batch, self._group_column)
        labels = _values(batch, self._label_column)
        return RawPartition.of(place, table, labels, weights, view_labels, groups, number=number)


def _paths(X: TableLike) -> list[Path]:
    """Return the files that `X` names, with those of folders."""
    paths: list[Path] = []
    for path in map(Path, [X] if isinstance(X, str | os.PathLike) else list(X)):
        if path.is_dir():
            files = sorted(path.glob("*.parquet"))
            if not files:
                raise FileNotFoundError(f"X: the folder {path} has no *.parquet files.")
            paths.extend(files)
        elif path.is_file():
            paths.append(path)
        else:
            raise FileNotFoundError(f"X: there is no file {path}.")
    return paths


def _common_schema(paths: list[Path]) -> Schema:
    """Return the columns of files, which must all be the same."""
    from pyarrow import parquet

    schemas = []
    for path in paths:
        try:
            schema = parquet.read_schema(path)
        except Exception as error:
            raise ValueError(f"X: {path} cannot be read as a Parquet file ({error}).") from None
        schemas.append(schema)
        if not schema.equals(schemas[0]):
            difference = next(
                (str(field) for field, first in zip(schema, schemas[0]) if not field.equals(first)),
                f"{len(schema)} columns",
            )
            raise ValueError(
                f"X: the columns of {path} are not those of {paths[0]}; the first difference is {difference}."
            )
    return schemas[0]


def _number_format(schema: Schema, column_names: list[str]) -> type[np.float32] | type[np.float64]:
    """Return the format of the table: single precision if all columns have it. Refuse what is not a number."""
    from pyarrow import types

    for name in column_names:
        kind = schema.field(name).type
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            raise ValueError(
                f"X: the column {name!r} is of type {kind}, but columns must hold numbers. Leave it out, or "
                "convert it to numbers."
            )
    single = all(types.is_float32(schema.field(name).type) for name in column_names)
    return np.float32 if single else np.float64


def _column(argument: str, name: object, schema: Schema) -> str:
    """Return the name of a column that an argument must be."""
    if not isinstance(name, str):
        raise TypeError(f"{argument} must be the name of a column when X is files; got {name!r:.100}.")
    if name not in schema.names:
        raise ValueError(
            f"{argument} names the column {name!r}, which X does not have; its columns are {schema.names[:20]}."
        )
    return name


def _index_columns(schema: Schema) -> list[str]:
    """Return the columns that pandas wrote for the index of a data frame; one that just counts is none."""
    metadata = schema.pandas_metadata or {}
    return [name for name in metadata.get("index_columns", []) if isinstance(name, str)]


def _values(batch: RecordBatch, name: str) -> AnyArray:
    return batch.column(name).to_numpy(zero_copy_only=False)


def map_files(X: TableLike, model: FittedTable, function: Callable[[AnyArray], AnyArray]) -> AnyArray:
    """Return what a function makes of the rows of Parquet files, some rows at a time, one after the other.

    The columns are those that a model was fitted on, by their names; other columns are not read. Where it was fitted on
    an array, the files must have as many columns, without that of a data frame's index.
    """
    if find_spec("pyarrow") is None:
        raise ImportError("To predict Parquet files, install pyarrow: pip install 'fuselearn[app]'.")
    paths = _paths(X)
    schema = _common_schema(paths)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        index = _index_columns(schema)
        columns = [name for name in schema.names if name not in index]
        if len(columns) != model.n_features_in_:
            raise ValueError(
                f"X: the files have the {len(columns)} columns {columns[:20]}, but {type(model).__name__} was fitted "
                f"on {model.n_features_in_} columns without names; write files with just these."
            )
    else:
        columns = [str(name) for name in names]
        missing = [name for name in columns if name not in schema.names]
        if missing:
            raise ValueError(
                f"X: the files lack {len(missing)} of the columns that {type(model).__name__} was fitted on, the first "
                f"being {missing[0]!r}; they have {schema.names[:20]}."
            )
    files = ParquetFiles(paths, schema, columns, [])
    results = []
    for place, batch in files.batches():
        table = files.table(batch)
        if np.isinf(table).any():
            raise ValueError(f"{place}: X holds infinity; numbers must be finite, or NaN where they are missing.")
        results.append(function(table))
    if not results:
        raise ValueError("X has no rows.")
    return np.concatenate(results)
