"""Which columns of a file a model needs, and how they are read."""

import warnings
from contextlib import contextmanager

import numpy as np
import pyarrow
import pyarrow.compute

from fuselearn.cli.errors import refuse
from fuselearn.tables.view_columns import BOOLEAN, NUMBER, TEXT, absent_views, lost_columns

ARROW_TYPES = {NUMBER: pyarrow.float64(), BOOLEAN: pyarrow.bool_(), TEXT: pyarrow.string()}


class ModelColumns:
    """The columns of a file that a model takes, checked against the names that the file has.

    Parameters
    ----------
    model : TableClassifier, or an estimator that a program saved
    names : list of str
        Columns of the file.
    path : str
        For messages.
    reserved : tuple of str
        Columns that are not the model's, such as the id.
    allow_missing : bool
        Whether single columns of a view may be missing.

    Attributes
    ----------
    columns : list of str
        Those that the file has and the model takes.
    absent_views : list of str
        Views of which the file has no column.
    lost : dict of view name to list of str
        Single columns that the file does not have.
    """

    def __init__(self, model, names, path, reserved=(), allow_missing=False):
        self.path = path
        self._columns = getattr(model, "columns_", None)
        self.model = model.model_ if self._columns is not None else model
        if self._columns is None:
            self._columns = PlainColumns.of(model, [name for name in names if name not in reserved], path)
        self.columns = [column for column in self._columns.kinds_ if column in set(names)]
        if not self.columns:
            shown = ", ".join(list(self._columns.kinds_)[:4])
            refuse(f"{path} has none of the columns that the model was fitted on, such as {shown}.")
        self.absent_views = absent_views(self._columns.views, names)
        self.lost = lost_columns(self._columns.views, names)
        if self.lost and not allow_missing:
            view, lost = next(iter(self.lost.items()))
            more = f" and {len(lost) - 1} more columns" if len(lost) > 1 else ""
            refuse(
                f"{path} lacks the column {lost[0]!r}{more} of the view {view!r}; add it, or add "
                "--allow-missing-columns to take it as missing in every row."
            )

    @property
    def views(self):
        """Columns of each view, whether the file has them or not; a dict of view name to list of str."""
        return self._columns.views

    @property
    def types(self):
        """Arrow types in which the columns are to be read."""
        return {column: ARROW_TYPES[self._columns.kinds_[column]] for column in self.columns}

    def to_read(self, identifier=None, others=()):
        """Names of the columns to read, and the Arrow types to read them in.

        Parameters
        ----------
        identifier : str, default=None
        others : sequence of str, default=()
            Further columns, which are read as text.
        """
        # As text, so that 007 stays 007; in Parquet and Feather an id has its own type, and keeps it.
        first = [name for name in (identifier, *others) if name is not None]
        names = list(dict.fromkeys([*first, *self.columns]))
        return names, {**dict.fromkeys(first, pyarrow.string()), **self.types}

    def verbatim(self, identifier):
        """The id, of which a word such as NA is no gap; None where the model takes it as a column too."""
        return None if identifier in self.columns else identifier

    def tell_missing(self, notes):
        """Tell of what the file does not have."""
        for view in self.absent_views:
            notes.tell(f"{self.path} has no column of the view {view!r}: it is taken as missing in every row.")
        for view, lost in self.lost.items():
            notes.tell(
                f"{self.path} lacks {len(lost)} columns of the view {view!r}: they are taken as missing in every row."
            )

    def tell_unknown(self, table, notes):
        """Tell of texts that the model was not fitted on."""
        for column, texts in self.unknown_categories(table).items():
            notes.tell(
                f"The column {column!r} has values that the model was not fitted on, such as {texts[0]!r}: they count "
                "as none of the known ones."
            )

    def file_facts(self, table):
        """Columns and gaps of each view as the file has them, before text became numbers.

        Returns
        -------
        dict
            ``columns_per_view``, a number for each view, and ``gaps_per_view``, the share of its cells that are empty.
        """
        own = {view: [name for name in names if name in table.column_names] for view, names in self.views.items()}
        empty = {view: sum(map(_n_empty, table.select(names).columns)) for view, names in own.items()}
        absent = {view: (len(self.views[view]) - len(names)) * table.num_rows for view, names in own.items()}
        return {
            "columns_per_view": {view: len(names) for view, names in self.views.items()},
            "gaps_per_view": {
                view: (empty[view] + absent[view]) / max(1, table.num_rows * len(names))
                for view, names in self.views.items()
            },
        }

    def matrix(self, table):
        """Numbers for the model, from an Arrow table that has `columns`."""
        # A view that is not there at all is the columns' own affair.
        for column in dict.fromkeys(column for lost in self.lost.values() for column in lost):
            table = table.append_column(
                column, pyarrow.nulls(table.num_rows, ARROW_TYPES[self._columns.kinds_[column]])
            )
        try:
            return self._columns.transform(self._cast(table))
        except ValueError as error:
            refuse(f"{self.path}: {error}")

    def unknown_categories(self, table):
        """Texts that the model was not fitted on; a dict of column name to list of str."""
        return self._columns.unknown_categories(table)

    def _cast(self, table):
        """The table with its columns in the types that they had at fit, where that loses nothing."""
        for column, kind in self.types.items():
            here = table.column(column)
            if here.type == kind or pyarrow.types.is_null(here.type):
                continue
            if pyarrow.types.is_dictionary(here.type):
                here = here.cast(here.type.value_type)
            try:
                if pyarrow.types.is_boolean(here.type) and kind == pyarrow.float64():
                    here = here.cast(pyarrow.int8())
                here = here.cast(kind, safe=False)
            except pyarrow.ArrowException as error:
                words = {pyarrow.float64(): "numbers", pyarrow.bool_(): "true or false", pyarrow.string(): "text"}
                told = " ".join(str(error).split())[:120]
                refuse(f"{self.path} has {here.type} in the column {column!r}, which must hold {words[kind]}: {told}")
            table = table.set_column(table.column_names.index(column), column, here)
        return table


def check_ids(column, name, path):
    """Refuse an id that is missing. One that is called NA is not."""
    text = pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type)
    if column.null_count or (text and pyarrow.compute.any(pyarrow.compute.equal(column, "")).as_py()):
        refuse(f"{path} has rows without a value in the id {name!r}; fill them, or name another with --id.")


def _n_empty(column):
    """Empty cells of a column; what is no number is one."""
    nans = pyarrow.types.is_floating(column.type) and pyarrow.compute.sum(pyarrow.compute.is_nan(column)).as_py()
    return column.null_count + (nans or 0)


@contextmanager
def names_in_order():
    """No warning that a matrix has no names: its columns are in the order of the names that the model knows."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


class PlainColumns:
    """Columns of an estimator that a program saved: numbers, in the order in which it was fitted on them.

    Parameters
    ----------
    names : list of str
    views : dict of view name to list of column names
    """

    def __init__(self, names, views):
        self.kinds_ = dict.fromkeys(names, NUMBER)
        self.views = views

    @classmethod
    def of(cls, model, names, path):
        """Those that the estimator knows by name, or, if it knows no names, all that the file has."""
        known = getattr(model, "feature_names_in_", None)
        expected = getattr(model, "n_features_in_", None)
        if known is None and len(names) != expected:
            refuse(
                f"{path} has {len(names)} columns beside the id, but the model takes {expected} and does not know "
                "their names; leave out the others, and name the id with --id."
            )
        chosen = names if known is None else [str(name) for name in known]
        views = zip(getattr(model, "view_names_", ["all"]), getattr(model, "view_columns_", [range(len(chosen))]))
        return cls(chosen, {name: [chosen[number] for number in own] for name, own in views})

    def transform(self, table):
        """The matrix, with NaN in columns that the table does not have."""
        missing = np.full(table.num_rows, np.nan)
        return np.column_stack(
            [
                np.array(table.column(name).to_numpy(), dtype=np.float64) if name in table.column_names else missing
                for name in self.kinds_
            ]
        )

    def unknown_categories(self, table):
        """None: there is no text."""
        return {}
