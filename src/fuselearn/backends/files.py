"""Parquet files as a source of parts, for data that are larger than memory."""

import os
import tempfile
from pathlib import Path

import numpy as np

from fuselearn.backends.crew import CrewHere
from fuselearn.backends.memory_limit import memory_limit
from fuselearn.backends.raw_part import RawPart
from fuselearn.backends.shelf import FolderShelf, MemoryShelf
from fuselearn.backends.source import Source

MOST_ROWS, LEAST_ROWS = 2**20, 2**12
"""Rows of a part."""
READ_AT_A_TIME = 2**16
"""Bytes of a column that are read from a file at once, so that a large row group is not in memory as a whole."""
PARTS_OF_LIMIT = 16
"""A part as it is read takes at most one of so many parts of the memory limit: it exists several times over while it is
prepared, and each thread works on one."""


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
        beside = {self._target, self._weight, *self._labels}
        self.column_names = [name for name in schema.names if name not in beside]
        if not self.column_names:
            raise ValueError("The files have no columns beside y, sample_weight and view_labels.")
        self.n_features = len(self.column_names)
        self._single = self._check_kinds(schema)
        self.header = schema.empty_table().select(self.column_names)
        self._limit = memory_limit()
        most = self._limit // (PARTS_OF_LIMIT * 8 * self.n_features)
        self._part_rows = int(min(MOST_ROWS, max(LEAST_ROWS, most)))

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
        folder, parts = None, []
        n_rows = sum(_n_rows(path) for path in self._paths)
        for number, raw in enumerate(self._raw_parts()):
            if number == 0:
                shelf = MemoryShelf()
                first = blueprint.build(raw, shelf, threads)
                # What the first part takes tells whether all of them fit into what the reading leaves of the limit.
                if shelf.n_bytes / len(raw) * n_rows <= self._limit / 2:
                    parts.append(first)
                    continue
                del first, shelf
                folder = tempfile.TemporaryDirectory(prefix="fuselearn-")
            shelf = MemoryShelf() if folder is None else FolderShelf(Path(folder.name) / str(number))
            parts.append(blueprint.build(raw, shelf, threads))
        return CrewHere(parts, threads, (lambda: None) if folder is None else folder.cleanup)

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
        from pyarrow import parquet

        columns = list(dict.fromkeys([*self.column_names, self._target, *self._labels]))
        columns += [] if self._weight is None or self._weight in columns else [self._weight]
        for path in self._paths:
            first = 0
            with parquet.ParquetFile(path, pre_buffer=False, buffer_size=READ_AT_A_TIME) as file:
                for groups in self._groups(file.metadata):
                    for batch in file.iter_batches(self._part_rows, row_groups=groups, columns=columns):
                        yield self._raw_part(f"{path}, rows from {first}", batch)
                        first += batch.num_rows

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


def _n_rows(path):
    from pyarrow import parquet

    return parquet.read_metadata(path).num_rows


def _values(batch, name):
    return batch.column(name).to_numpy(zero_copy_only=False)
