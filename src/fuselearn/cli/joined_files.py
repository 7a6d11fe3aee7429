"""One file for each view, joined by the id of the objects and read as if they were one file.

The rows are those of the first file, DATA. A column of a view's file is known by view and name, as "rna: g0", so that
two files may both have a ``g0``. An object that is not in the file of a view lacks that view.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pyarrow

from fuselearn.cli.choices import ViewChoice, matching_columns
from fuselearn.cli.console import refuse, refusing
from fuselearn.cli.file_kinds import FORMATS
from fuselearn.cli.files import Source, ViewFile, check_column, open_file, reading
from fuselearn.cli.typed_files import ParquetFile
from fuselearn.data.object_ids import ObjectIds, SeenIds, check_common, matching_rows
from fuselearn.typing import IntArray

if TYPE_CHECKING:
    from fuselearn.cli.files import PlainFile
    from fuselearn.cli.odd_cells import OddCells

HELD_GROUPS = 4
"""Row groups of a sorted Parquet file that may be read for one batch, beside those that its rows would fill."""


@contextmanager
def open_joined(source: Source) -> Iterator["JoinedFiles"]:
    """Open a file and those of its views, whose ids are read and checked."""
    with ExitStack() as stack:
        data = stack.enter_context(open_file(replace(source, on=None, views=())))
        check_column(str(source.on), data.names, source.name, "--on")
        files = {view.name: _open_view(stack, source, view) for view in source.views}
        yield JoinedFiles(source, data, files)


def _open_view(stack: ExitStack, source: Source, view: ViewFile) -> "PlainFile":
    """Open the file of a view."""
    if view.path == "-":
        refuse(f"--view {view.name}: only DATA can come from standard input; name a file.")
    path = Path(view.path)
    if not path.exists():
        hint = f" For columns of DATA write {view.name}=DATA::{view.path}." if set(view.path) & set("*?[") else ""
        refuse(f"--view {view.name}: with --on a view is a file, and {path} does not exist; check the name.{hint}")
    tabs = FORMATS.get(path.suffix.lower()) == "tsv"
    delimiter = None if tabs else source.delimiter
    plain = replace(source, path=view.path, format=None, delimiter=delimiter, on=None, views=())
    opened = stack.enter_context(open_file(plain))
    check_column(str(source.on), opened.names, view.path, "--on")
    return opened


def qualified(view: str, column: str) -> str:
    """Return the name of a column of a view's file, under which a model knows it."""
    return f"{view}: {column}"


class JoinedFiles:
    """A file and those of its views, which are read as one: `names` are those of DATA, then those of the views."""

    states_delimiter = False

    def __init__(self, source: Source, data: "PlainFile", files: "dict[str, PlainFile]") -> None:
        self.source, self.kind = source, data.kind
        self.on = str(source.on)
        self._data, self._files = data, files
        self._globs = {view.name: view.globs for view in source.views}
        own = {view: [name for name in opened.names if name != self.on] for view, opened in files.items()}
        self._origin = {qualified(view, name): (view, name) for view, names in own.items() for name in names}
        for file in source.views:
            self._check_globs(file)
        clash = next((name for name in data.names if name in self._origin), None)
        if clash is not None:
            view, name = self._origin[clash]
            refuse(f"{source.name} has the column {clash!r}, which is {name!r} of the view {view!r} here; rename it.")
        self.names = [*data.names, *self._origin]
        self._remarks: list[str] = []

    def names_of_files(self) -> list[str]:
        """Return the names that the columns have in the files, each once."""
        files = [self._data, *self._files.values()]
        return list(dict.fromkeys(name for opened in files for name in opened.names))

    @property
    def odd_cells(self) -> "OddCells":
        """Return the reader of cells of DATA that are text."""
        return self._data.odd_cells

    @property
    def remarks(self) -> list[str]:
        """Return what was noted about all files while they were read."""
        of_views = [line for opened in self._files.values() for line in opened.remarks]
        return [*self._data.remarks, *of_views, *self._remarks]

    def check_column_of_data(self, name: str, option: str) -> None:
        """Refuse a column that is not in DATA: what a file of a view has is to learn from, and may not be a target."""
        path = self.source.name
        view = next((view for known, (view, own) in self._origin.items() if name in (known, own)), None)
        if name not in self._data.names and view is not None:
            refuse(
                f"{option} names the column {name!r}, which the file of the view {view!r} has, but {path} does not; "
                f"write it into {path}, or give the file that has it as DATA."
            )
        check_column(name, self._data.names, path, option)

    def _check_globs(self, view: ViewFile) -> None:
        """Refuse globs that leave out what a model has of the view; what they match beside that is not used."""
        if not view.globs or not view.needed:
            return
        names = self._files[view.name].names
        free = [name for name in names if name.strip() and name != self.on]
        matched = matching_columns(view.name, view.globs, free, f"--view {view.option}", {self.on: "the id"})
        left_out = [name for name in view.needed if name in free and name not in matched]
        if left_out:
            more = f" and {len(left_out) - 1} more" if len(left_out) > 1 else ""
            refuse(
                f"--view {view.option} leaves out the column {left_out[0]!r}{more}, which the model was fitted on; "
                f"write it as at fit, or without globs: {view.name}={Path(view.path).name}."
            )

    def choices(self, reserved: dict[str, str], dropped: set[str]) -> dict[str, ViewChoice]:
        """Return the views that the files make; columns that are reserved or dropped are in none."""
        choices = {}
        for view, opened in self._files.items():
            reserved_here = {**reserved, self.on: "the id"}
            free = [
                name
                for name in opened.names
                if name.strip() and name not in reserved_here and dropped.isdisjoint([name, qualified(view, name)])
            ]
            if not free:
                refuse(f"--view {view}: {opened.source.name} has no columns beside {self.on!r}; a view needs some.")
            option = f"--view {view}={opened.source.name}"
            columns = matching_columns(view, self._globs[view] or ["*"], free, option, reserved_here)
            left_out = [name for name in reserved if name in opened.names and name != self.on]
            if left_out and opened.source.path != self.source.path:
                self._remarks.append(
                    f"{opened.source.name} has {left_out[0]!r}, which is {reserved[left_out[0]]}: the view {view!r} "
                    "does without it."
                )
            choices[view] = ViewChoice([qualified(view, name) for name in columns], path=opened.source.name)
        return choices

    def table(
        self,
        columns: list[str] | None = None,
        types: dict[str, pyarrow.DataType] | None = None,
        identifier: str | None = None,
    ) -> pyarrow.Table:
        """Return all rows of DATA, with the columns of the views beside them."""
        names = self.names if columns is None else columns
        own, kinds = self._of_data(names, types)
        rows = self._data.table(own, kinds, self.on)
        views = [
            _HeldView(self._files[view], view, self.on, wanted, of_types)
            for view, wanted, of_types in self._of_views(names, types)
        ]
        ids = self._ids(rows)
        joined = self._beside(rows, views, ids).select(names)
        self._note(views, ids.texts)
        return joined

    def batches(
        self, columns: list[str], types: dict[str, pyarrow.DataType], rows: int, identifier: str | None = None
    ) -> Iterator[pyarrow.Table]:
        """Yield tables of some columns; of a Parquet file that is sorted as DATA is, parts are in memory only."""
        own, kinds = self._of_data(columns, types)
        views: list[_HeldView] = []
        for view, wanted, of_types in self._of_views(columns, types):
            opened = self._files[view]
            if isinstance(opened, ParquetFile):
                views.append(_StreamedView(opened, view, self.on, wanted, of_types))
            else:
                views.append(_HeldView(opened, view, self.on, wanted, of_types))
        seen = SeenIds()
        for batch in self._data.batches(own, kinds, rows, self.on):
            ids = self._ids(batch)
            with refusing(ValueError):
                seen.add(ids.texts, self.source.name, self.on)
            yield self._beside(batch, views, ids).select(columns)
        self._note(views, list(seen.texts))

    def _of_data(
        self, columns: list[str], types: dict[str, pyarrow.DataType] | None
    ) -> tuple[list[str], dict[str, pyarrow.DataType]]:
        """Return the columns of DATA, with the id, and the types to read them in."""
        own = list(dict.fromkeys([self.on, *(name for name in columns if name not in self._origin)]))
        kinds = {name: kind for name, kind in (types or {}).items() if name in own}
        return own, {**kinds, self.on: pyarrow.string()}

    def _of_views(
        self, columns: list[str], types: dict[str, pyarrow.DataType] | None
    ) -> Iterator[tuple[str, list[str], dict[str, pyarrow.DataType]]]:
        """Yield each view with the columns of its file, and the types to read them in."""
        for view in self._files:
            wanted = [name for name in columns if name in self._origin and self._origin[name][0] == view]
            if wanted:
                names = [self._origin[name][1] for name in wanted]
                yield view, names, {own: types[name] for own, name in zip(names, wanted) if types and name in types}

    def _ids(self, rows: pyarrow.Table) -> ObjectIds:
        """Return the ids of rows of DATA."""
        with refusing(ValueError):
            return ObjectIds.of(
                rows.column(self.on).to_pylist(), self.source.name, self.on, typed=_is_typed(self._data)
            )

    def _beside(self, rows: pyarrow.Table, views: "list[_HeldView]", ids: ObjectIds) -> pyarrow.Table:
        """Return rows of DATA with the columns of the views."""
        columns, names = list(rows.columns), list(rows.column_names)
        for view in views:
            with refusing(ValueError):
                places = matching_rows(ids, view.ids, view.places)
            view.n_matched += int(np.sum(places >= 0))
            taken = view.taken(places)
            columns += taken.columns
            names += [qualified(view.name, name) for name in taken.column_names]
        return pyarrow.table(columns, names=names)

    def _note(self, views: "list[_HeldView]", ids: list[str]) -> None:
        """Note what the files do not have in common; refuse one that has no object of DATA."""
        for view in views:
            with refusing(ValueError):
                check_common(ids, self.source.name, view.ids, self.on)
            absent, others = len(ids) - view.n_matched, len(view.ids.texts) - view.n_matched
            if absent:
                self._remarks.append(
                    f"{view.path} has no row for {absent} of {len(ids)} ids: the view {view.name!r} is missing there."
                )
            if others:
                are = "1 id is" if others == 1 else f"{others} ids are"
                self._remarks.append(f"{are} only in {view.path}, and not in {self.source.name}: left out.")


class _HeldView:
    """The file of a view, which is in memory once it is asked for rows."""

    def __init__(
        self, opened: "PlainFile", name: str, on: str, columns: list[str], types: dict[str, pyarrow.DataType]
    ) -> None:
        self.name, self.path, self.n_matched = name, opened.source.name, 0
        self._opened, self._columns, self._types = opened, columns, {**types, on: pyarrow.string()}
        self._on = on
        self._table: pyarrow.Table | None = None
        with refusing(ValueError):
            self.ids = ObjectIds.of(self._read_ids().to_pylist(), self.path, on, typed=_is_typed(opened))
        self.places = self.ids.places()

    def taken(self, places: IntArray) -> pyarrow.Table:
        """Return rows by their numbers, empty ones for -1."""
        if self._table is None:
            self._table = self._read(self._columns)
        return self._table.take(pyarrow.array(places, mask=places < 0))

    def _read_ids(self) -> pyarrow.ChunkedArray:
        """Return the column of ids; a text is read once, with all its columns."""
        table = self._read([self._on, *self._columns])
        self._table = table.select(self._columns)
        return table.column(self._on)

    def _read(self, columns: list[str]) -> pyarrow.Table:
        """Return columns of all rows."""
        with reading(self.path, self._opened.kind), _in_memory(self.path, self._on):
            return self._opened.table(columns, self._types, self._on)


class _StreamedView(_HeldView):
    """A Parquet file whose row groups are read where they are needed; one that is not sorted is read in whole."""

    def __init__(self, opened: ParquetFile, *arguments: Any) -> None:
        self._ends = np.cumsum(opened.group_rows)
        self._parquet = opened
        self._groups: dict[int, pyarrow.Table] = {}
        super().__init__(opened, *arguments)

    def taken(self, places: IntArray) -> pyarrow.Table:
        """Return rows by their numbers, empty ones for -1."""
        known = places[places >= 0]
        groups = np.searchsorted(self._ends, known, side="right")
        needed = np.unique(groups).tolist()
        filled = len(known) / max(1, self._ends[-1] / len(self._ends)) if len(self._ends) else 0
        if self._table is not None or not needed or len(needed) > HELD_GROUPS + 2 * filled:
            self._groups = {}
            return super().taken(places)
        with reading(self.path, self._opened.kind), _in_memory(self.path, self._on):
            self._groups = {
                number: self._groups[number]
                if number in self._groups
                else self._parquet.group(number, self._columns, self._types)
                for number in needed
            }
        # Where the rows of the first group stand among those that were read.
        starts = np.cumsum([0, *(self._groups[number].num_rows for number in needed)])
        firsts = np.concatenate([[0], self._ends])
        moved = np.full(len(places), -1, dtype=np.int64)
        ranks = np.searchsorted(needed, groups)
        moved[places >= 0] = known - firsts[groups] + starts[ranks]
        joined = pyarrow.concat_tables([self._groups[number] for number in needed])
        return joined.take(pyarrow.array(moved, mask=moved < 0))

    def _read_ids(self) -> pyarrow.ChunkedArray:
        """Return the column of ids, which is the only one that is read."""
        return self._read([self._on]).column(self._on)


def _is_typed(opened: "PlainFile") -> bool:
    """Check whether the values of a file have types; text has none."""
    return opened.kind not in ("csv", "tsv")


@contextmanager
def _in_memory(path: str, on: str) -> Iterator[None]:
    """Say what to do about a file that does not fit into memory."""
    try:
        yield
    except MemoryError:
        _refuse_size(path, on)


def _refuse_size(path: str, on: str) -> NoReturn:
    """Refuse a file that does not fit into memory."""
    refuse(
        f"{path} does not fit into memory; write it and DATA as Parquet, both sorted by {on!r}: predict then reads "
        "them in parts."
    )
