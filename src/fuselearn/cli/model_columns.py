"""Columns of a file that a model needs, and how they are read."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute

from fuselearn.cli.console import Notes, refuse
from fuselearn.cli.typed_files import as_text
from fuselearn.tables import BOOLEAN, DATE, NUMBER, TEXT, ViewColumns, absent_views, lost_columns
from fuselearn.typing import FloatArray

ARROW_TYPES = {
    NUMBER: pyarrow.float64(),
    BOOLEAN: pyarrow.bool_(),
    TEXT: pyarrow.string(),
    DATE: pyarrow.timestamp("us"),
}


@dataclass(frozen=True)
class Remedies:
    """What to do about a table that cannot be used, in words for those who send it."""

    lost_column: str
    no_id: str
    infinite: str
    own_files: bool
    """Whether views may have files of their own."""


FOR_FILES = Remedies(
    "add it, or add --allow-missing-columns to take it as missing in every row",
    "fill them, or name another with --id",
    "leave the cell empty where nothing was measured",
    own_files=True,
)
FOR_REQUESTS = Remedies(
    "send it in each row, with null (in CSV nothing) where nothing was measured, or leave out the whole view",
    "give each row one, or leave the column out of all rows",
    "send null (in CSV nothing) where nothing was measured",
    own_files=False,
)


class ModelColumns:
    """The columns of a file that a model takes, checked against the names that the file has.

    `reserved` are columns that are not the model's, such as the id; with `allow_missing` single columns of a view may
    be missing; `remedies` are for those whose table it is. `columns` are those that the file has and the model takes,
    `absent_views` those of which the file has no column, and `lost` maps a view to the single columns that the file
    lacks.
    """

    def __init__(
        self,
        model: Any,
        names: list[str],
        path: str,
        reserved: Sequence[str] = (),
        allow_missing: bool = False,
        remedies: Remedies = FOR_FILES,
    ) -> None:
        self.path, self._remedies = path, remedies
        self._noted: set[str] = set()
        self._rows_looked_at = 0
        self._columns: ViewColumns | _PlainColumns
        if hasattr(model, "columns_"):
            self._columns, self.model = model.columns_, model.model_
        else:
            self._columns = _PlainColumns.of(model, [name for name in names if name not in reserved], path)
            self.model = model
        present = set(names)
        self.columns = [column for column in self._columns.kinds_ if column in present]
        self.absent_views = absent_views(self._columns.named_views_, names)
        self._refuse_files_of_other_views(names)
        if not self.columns:
            shown = ", ".join(list(self._columns.kinds_)[:4])
            view = next(iter(self._columns.named_views_))
            hint = f" Name the file of each view: --view {view}=FILE." if self._has_file(view) else ""
            refuse(f"{path} has none of the columns that the model was fitted on, such as {shown}.{hint}")
        self.lost = lost_columns(self._columns.named_views_, names)
        if self.lost and not allow_missing:
            view, lost = next(iter(self.lost.items()))
            more = f" and {len(lost) - 1} more columns" if len(lost) > 1 else ""
            refuse(f"{path} lacks the column {lost[0]!r}{more} of the view {view!r}; {remedies.lost_column}.")

    def _has_file(self, view: str) -> bool:
        """Check whether a view had a file of its own at fit, and may have one here."""
        first = next(iter(self._columns.named_views_[view]), "")
        return self._remedies.own_files and first.startswith(f"{view}: ")

    def _refuse_files_of_other_views(self, names: Sequence[str]) -> None:
        """Refuse a file that was given for a view and has none of its columns: it is not one that lacks the view."""
        for view in filter(self._has_file, self.absent_views):
            given = next((name for name in names if name.startswith(f"{view}: ")), None)
            if given is not None:
                shown, prefix = self._columns.named_views_[view][0], f"{view}: "
                refuse(
                    f"The file that --view names for {view!r} has none of the columns of this view, such as "
                    f"{shown.removeprefix(prefix)!r}, but others, such as {given.removeprefix(prefix)!r}; name the "
                    "right file, or leave the option out if the view is missing."
                )

    @property
    def views(self) -> Mapping[str, Sequence[str]]:
        """Return the columns of each view, whether the file has them or not."""
        return self._columns.named_views_

    @property
    def types(self) -> dict[str, pyarrow.DataType]:
        """Return the types in which the columns are to be read."""
        return {column: ARROW_TYPES[self._columns.kinds_[column]] for column in self.columns}

    @property
    def dates(self) -> list[str]:
        """Return the columns of the file that are dates."""
        return [column for column in self.columns if self._columns.kinds_[column] == DATE]

    def source_columns(self) -> list[str]:
        """Return the column of the file that each column of the model's matrix was made of."""
        return self._columns.source_columns()

    def to_read(
        self, identifier: str | None = None, others: Sequence[str | None] = ()
    ) -> tuple[list[str], dict[str, pyarrow.DataType]]:
        """Return the names of the columns to read, with `others` as text, and the types to read them in."""
        # As text, so that 007 stays 007; in Parquet and Feather an id has its own type, and keeps it.
        first = [name for name in (identifier, *others) if name is not None]
        names = list(dict.fromkeys([*first, *self.columns]))
        return names, {**dict.fromkeys(first, pyarrow.string()), **self.types}

    def verbatim(self, identifier: str | None) -> str | None:
        """Return the id, in which a word such as NA is no gap; None where the model takes it as a column too."""
        return None if identifier in self.columns else identifier

    def note_missing(self, notes: Notes) -> None:
        """Note what the file lacks."""
        for view in self.absent_views:
            lack = "There is no file" if self._has_file(view) else f"{self.path} has no column"
            notes.add(f"{lack} of the view {view!r}: it is taken as missing in every row.")
        for view, lost in self.lost.items():
            which, are = ("1 column", "it is") if len(lost) == 1 else (f"{len(lost)} columns", "they are")
            notes.add(f"{self.path} lacks {which} of the view {view!r}: {are} taken as missing in every row.")

    def note_unknown(self, table: pyarrow.Table, notes: Notes) -> None:
        """Note texts that the model was not fitted on, of a column once, at the rows that show the first of them.

        Rows may come in parts, of which none knows how many there are in all.
        """
        self._rows_looked_at += table.num_rows
        texts_of = self._with_texts(table)
        for column, texts in self._columns.unknown_categories(texts_of).items():
            if column in self._noted:
                continue
            self._noted.add(column)
            cells = texts_of.column(column)
            n_unknown = pyarrow.compute.sum(pyarrow.compute.is_in(cells, pyarrow.array(texts, cells.type))).as_py()
            is_first = self._rows_looked_at == table.num_rows
            only = is_first and 1 < n_unknown == len(cells) - cells.null_count
            rows = f", in {n_unknown} of the first {self._rows_looked_at} rows" if self._rows_looked_at > 1 else ""
            which = f"Warning: the column {column!r} has only" if only else f"The column {column!r} has"
            notes.add(
                f"{which} values that the model was not fitted on{rows}, such as {texts[0]!r}: they count as none of "
                f"the known ones.{' Spell them as at fit if they are the same.' if only else ''}"
            )

    def file_facts(self, table: pyarrow.Table) -> dict[str, Any]:
        """Return the number of columns and the share of empty cells of each view, before text became numbers."""
        known = set(table.column_names)
        present = {view: [name for name in names if name in known] for view, names in self.views.items()}
        empty = {view: sum(map(_n_empty, table.select(names).columns)) for view, names in present.items()}
        absent = {view: (len(self.views[view]) - len(names)) * table.num_rows for view, names in present.items()}
        return {
            "columns_per_view": {view: len(names) for view, names in self.views.items()},
            "gaps_per_view": {
                view: (empty[view] + absent[view]) / max(1, table.num_rows * len(names))
                for view, names in self.views.items()
            },
            "sources": self._columns.source_columns(),
        }

    def matrix(self, table: pyarrow.Table, first_row: int = 1) -> FloatArray:
        """Return the numbers for the model, from a table that has `columns` and begins with this row of the file."""
        # A view that is missing as a whole is left to the transformer.
        lost = dict.fromkeys(column for lost in self.lost.values() for column in lost)
        missing = [pyarrow.nulls(table.num_rows, ARROW_TYPES[self._columns.kinds_[column]]) for column in lost]
        table = pyarrow.table([*table.columns, *missing], names=[*table.column_names, *lost])
        try:
            return self._columns.transform(self._with_texts(table))
        except ValueError as error:
            self._refuse_infinite(table, first_row)
            refuse(f"{self.path}: {error}")

    @staticmethod
    def check_numbers(probabilities: FloatArray, X: FloatArray, first_row: int = 1) -> None:
        """Raise an error in words where a row has no probabilities, since its numbers are too large."""
        rows = np.flatnonzero(~np.isfinite(probabilities).all(axis=1))
        if len(rows):
            largest = np.nanmax(np.abs(X[rows[0]]))
            raise ValueError(
                f"row {rows[0] + first_row} has numbers too large to calculate with, such as {largest:.3g}."
            )

    def _refuse_infinite(self, table: pyarrow.Table, first_row: int) -> None:
        """Refuse infinite numbers by column and row."""
        for name, column in zip(table.column_names, table.columns):
            if self._columns.kinds_.get(name) == NUMBER and pyarrow.types.is_floating(column.type):
                row = pyarrow.compute.index(pyarrow.compute.is_inf(column), True).as_py()
                if row >= 0:
                    refuse(
                        f"{self.path} has an infinite value in the column {name!r}, row {row + first_row}; "
                        f"{self._remedies.infinite}."
                    )

    def _with_texts(self, table: pyarrow.Table) -> pyarrow.Table:
        """Return the table with the model's columns of text as texts; the others were read in the types that it takes.

        What follows, from notes to numbers, thus takes the very same values.
        """
        kinds = self._columns.kinds_
        columns = [
            as_text(column, name, self.path) if kinds.get(name) == TEXT else column
            for name, column in zip(table.column_names, table.columns)
        ]
        return pyarrow.table(columns, names=table.column_names)


def check_ids(column: pyarrow.ChunkedArray, name: str, path: str, remedies: Remedies = FOR_FILES) -> None:
    """Refuse a missing id. One that is called NA is not missing."""
    text = pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type)
    if column.null_count or (text and pyarrow.compute.any(pyarrow.compute.equal(column, "")).as_py()):
        refuse(f"{path} has rows without a value in the id {name!r}; {remedies.no_id}.")


@contextmanager
def names_in_order() -> Iterator[None]:
    """Silence the warning that a matrix has no names: its columns are in the order of those that the model knows.

    Those of overflows, too: what they lead to is checked, and refused in words.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


class _PlainColumns:
    """Columns of an estimator that a program saved: numbers, in the order in which it was fitted on them."""

    def __init__(self, names: list[str], views: dict[str, list[str]]) -> None:
        self.kinds_ = dict.fromkeys(names, NUMBER)
        self.named_views_ = views

    @classmethod
    def of(cls, model: Any, names: list[str], path: str) -> "_PlainColumns":
        """Return those that the estimator knows by name, or, if it knows no names, all that the file has."""
        known = getattr(model, "feature_names_in_", None)
        expected = getattr(model, "n_features_in_", None)
        if known is None and len(names) != expected:
            refuse(
                f"{path} has {len(names)} columns beside the id, but the model takes {expected} and does not know "
                "their names; leave out the others, and name the id with --id."
            )
        chosen = names if known is None else [str(name) for name in known]
        views = zip(getattr(model, "view_names_", ["all"]), getattr(model, "view_columns_", [range(len(chosen))]))
        return cls(chosen, {name: [chosen[number] for number in numbers] for name, numbers in views})

    def transform(self, table: pyarrow.Table) -> FloatArray:
        """Return the matrix, with NaN in columns that the table lacks."""
        missing, present = np.full(table.num_rows, np.nan), set(table.column_names)
        return np.column_stack(
            [
                np.array(table.column(name).to_numpy(), dtype=np.float64) if name in present else missing
                for name in self.kinds_
            ]
        )

    def source_columns(self) -> list[str]:
        """Return the names of the columns, of which none becomes several."""
        return list(self.kinds_)

    def unknown_categories(self, table: pyarrow.Table) -> dict[str, list[str]]:
        """Return nothing: there is no text."""
        return {}


def _n_empty(column: pyarrow.ChunkedArray) -> int:
    """Count the empty cells of a column; NaN is one."""
    nans = pyarrow.types.is_floating(column.type) and pyarrow.compute.sum(pyarrow.compute.is_nan(column)).as_py()
    return int(column.null_count + (nans or 0))
