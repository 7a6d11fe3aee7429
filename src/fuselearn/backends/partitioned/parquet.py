"""Parquet files as a source of parts, for data that are larger than memory."""

import os
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from fuselearn.backends.partitioned.raw_partition import RawPart
from fuselearn.backends.partitioned.rows import CrewHere
from fuselearn.backends.partitioned.sources import Source
from fuselearn.backends.partitioned.storage import VARIABLE, Shelf, memory_limit

MOST_ROWS, LEAST_ROWS = 2**20, 2**8
"""Rows of a part."""
READ_AT_A_TIME = 2**16
"""Bytes of a column that are read from a file at once, so that a large row group is not in memory as a whole."""
PARTS_OF_LIMIT = 16
"""A part as it is read takes at most one of so many parts of the memory limit: it exists several times over while it is
prepared, and each thread works on one."""
KEPT_IN_MEMORY = 3 / 8
"""Of the limit, at most, are prepared rows in memory; with more, all of them are kept in files."""


class FileSource(Source):
    """Rows of Parquet files, one file after the other.

    Parameters
    ----------
    X : path, or list of paths
        Of Parquet files with the same columns, or of folders of such files, which are read in the order of their names.
    y : str
        Name of the column that holds the labels.
    sample_weight : str, default=None
        Name of a column.
    view_labels : list of str, default=None
        Names of columns, one for each view.
    """

    kind = "Parquet files"

    def __init__(self, X, y, sample_weight=None, view_labels=None):
        self._paths = _paths(X)
        schema = self._common_schema()
        self._target = _column("y", y, schema)
        self._weight = None if sample_weight is None else _column("sample_weight", sample_weight, schema)
        self.has_view_labels = view_labels is not None
        self._labels = []
        if view_labels is not None:
            if isinstance(view_labels, str) or not isinstance(view_labels, list | tuple):
                raise TypeError(
                    "view_labels must be a list of names of columns when X is files, one for each view; got "
                    f"{view_labels!r:.100}."
                )
            self._labels = [_column("view_labels", name, schema) for name in view_labels]
        beside = {self._target, self._weight, *self._labels, *_index_columns(schema)}
        self.column_names = [name for name in schema.names if name not in beside]
        if not self.column_names:
            raise ValueError("The files have no columns beside y, sample_weight and view_labels.")
        self.n_features = len(self.column_names)
        self._single = self._check_kinds(schema)
        self.header = schema.empty_table().select(self.column_names)
        if find_spec("pandas") is not None:  # scikit-learn's make_column_selector takes nothing else
            self.header = self.header.to_pandas()
        self._limit = memory_limit()
        self._part_rows = self._rows_of_a_part()

    def check_view_labels(self, names):
        if self.has_view_labels and len(self._labels) != len(names):
            raise ValueError(
                f"view_labels must name a column for each of the views {names}; it names {len(self._labels)}."
            )

    def map(self, function, *arguments, each=None):
        return [
            function(raw, *arguments, *([] if each is None else [each[number]]))
            for number, raw in enumerate(self._raw_parts())
        ]

    def place(self, blueprint, threads):
        folder, parts, shelves, n_bytes = None, [], [], 0
        try:
            for number, raw in enumerate(self._raw_parts()):
                shelves.append(Shelf(None if folder is None else Path(folder.name) / str(number)))
                parts.append(blueprint.build(raw, shelves[-1], threads))
                if folder is None:
                    # The parts tell as they come whether all of them fit into what the reading leaves of the limit.
                    # During the rounds each arm has an outcome of a byte a row, besides.
                    n_bytes += shelves[-1].n_bytes + len(blueprint.arms) * len(raw)
                    if n_bytes > KEPT_IN_MEMORY * self._limit:
                        folder = tempfile.TemporaryDirectory(prefix="fuselearn-")
                        for place, shelf in enumerate(shelves):
                            shelf.move_to(Path(folder.name) / str(place))
        except BaseException:
            if folder is not None:
                folder.cleanup()
            raise
        return CrewHere(parts, threads, (lambda: None) if folder is None else folder.cleanup)

    def _rows_of_a_part(self):
        row_bytes = 8 * (self.n_features + 1 + (self._weight is not None) + len(self._labels))
        most = self._limit // (PARTS_OF_LIMIT * row_bytes)
        if most < LEAST_ROWS:
            least = PARTS_OF_LIMIT * row_bytes * LEAST_ROWS
            raise ValueError(
                f"Rows of {self.n_features} columns need a memory limit of at least {least / 2**20:.0f} MiB, to be "
                f"read {LEAST_ROWS} at a time; it is {self._limit / 2**20:.0f} MiB ({VARIABLE}, or half of the memory)."
            )
        return int(min(MOST_ROWS, most))

    def _common_schema(self):
        from pyarrow import parquet

        schema = None
        for path in self._paths:
            try:
                found = parquet.read_schema(path)
            except Exception as error:
                raise ValueError(f"X: {path} cannot be read as a Parquet file ({error}).") from None
            if schema is None:
                schema = found
            elif not found.equals(schema):
                difference = next(
                    (str(one) for one, other in zip(found, schema) if not one.equals(other)), f"{len(found)} columns"
                )
                raise ValueError(
                    f"X: the columns of {path} are not those of {self._paths[0]}; the first difference is {difference}."
                )
        return schema

    def _check_kinds(self, schema):
        """Refuse columns that are not numbers; returns whether all are single precision."""
        from pyarrow import types

        for name in self.column_names:
            kind = schema.field(name).type
            if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
                raise ValueError(
                    f"X: the column {name!r} is of type {kind}; columns hold numbers. Leave it out, or turn it into "
                    "numbers."
                )
        return all(types.is_float32(schema.field(name).type) for name in self.column_names)

    def _raw_parts(self):
        from pyarrow import default_memory_pool, parquet

        columns = list(dict.fromkeys([*self.column_names, self._target, *self._labels]))
        columns += [] if self._weight is None or self._weight in columns else [self._weight]
        for path in self._paths:
            first = 0
            with parquet.ParquetFile(path, pre_buffer=False, buffer_size=READ_AT_A_TIME) as file:
                for groups in self._groups(file.metadata):
                    for batch in file.iter_batches(self._part_rows, row_groups=groups, columns=columns):
                        yield self._raw_part(f"{path}, rows from {first}", batch)
                        first += batch.num_rows
                    # Arrow keeps what it no longer needs, which counts as well.
                    default_memory_pool().release_unused()

    def _groups(self, metadata):
        """Row groups of a file, as few together as make a part: all that are asked for at once may be in memory."""
        groups, n_rows = [], 0
        for number in range(metadata.num_row_groups):
            groups.append(number)
            n_rows += metadata.row_group(number).num_rows
            if n_rows >= self._part_rows:
                yield groups
                groups, n_rows = [], 0
        if groups:
            yield groups

    def _raw_part(self, where, batch):
        table = np.empty((batch.num_rows, self.n_features), dtype=np.float32 if self._single else np.float64)
        for number, name in enumerate(self.column_names):
            table[:, number] = _values(batch, name)
        labels = np.column_stack([_values(batch, name) for name in self._labels]) if self._labels else None
        weights = None if self._weight is None else _values(batch, self._weight)
        return RawPart.of(where, table, _values(batch, self._target), weights, labels)


def _paths(X):
    given = [X] if isinstance(X, str | os.PathLike) else list(X)
    paths = []
    for path in map(Path, given):
        if path.is_dir():
            inside = sorted(path.glob("*.parquet"))
            if not inside:
                raise FileNotFoundError(f"X: the folder {path} has no *.parquet files.")
            paths.extend(inside)
        elif path.is_file():
            paths.append(path)
        else:
            raise FileNotFoundError(f"X: there is no file {path}.")
    return paths


def _column(argument, name, schema):
    if not isinstance(name, str):
        raise TypeError(f"{argument} must be the name of a column when X is files; got {name!r:.100}.")
    if name not in schema.names:
        raise ValueError(
            f"{argument} names the column {name!r}, which X does not have; its columns are {schema.names[:20]}."
        )
    return name


def _index_columns(schema):
    """Columns that pandas wrote for the index of a data frame; one that just counts is not among the columns."""
    about = schema.pandas_metadata or {}
    return [name for name in about.get("index_columns", []) if isinstance(name, str)]


def _values(batch, name):
    return batch.column(name).to_numpy(zero_copy_only=False)
