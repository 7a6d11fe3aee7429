"""The views of a table, and which rows have them.

A view is a window on the user's `X`: rows of it are taken when a learner prepares them, a block at a time, so
that the only full copy ever made is the one a learner works on.

One transformer per view, fitted once before the first round (S0, S1 and S3 apply PCA per view).
"""

from dataclasses import dataclass, replace
from inspect import isclass

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array

ROWS_AT_A_TIME = 4096


@dataclass(frozen=True)
class View:
    """One view of a table.

    Parameters
    ----------
    name : str
    table : ndarray of shape (n_rows, n_features)
    columns : intp ndarray
        Columns of `table` that make the view.
    rows : intp ndarray or None
        Rows in which the view is present; None when it is present in all of them, in their order.
    """

    name: str
    table: np.ndarray
    columns: np.ndarray
    rows: np.ndarray | None

    def __len__(self):
        """Number of rows in which the view is present."""
        return len(self.table) if self.rows is None else len(self.rows)

    @property
    def n_columns(self):
        return len(self.columns)

    def block(self, start, stop):
        """Present rows `start` to `stop`, as a C-contiguous float64 array that may share memory with X."""
        return np.ascontiguousarray(self._take(slice(start, stop)), dtype=np.float64)

    def blocks(self):
        """Yield (start, stop, block) over all present rows."""
        for start in range(0, len(self), ROWS_AT_A_TIME):
            stop = min(start + ROWS_AT_A_TIME, len(self))
            yield start, stop, self.block(start, stop)

    def some_columns(self, first, last, rows=None):
        """Columns `first` to `last` of the view, in the present rows `rows`: numbers or a slice, by default all."""
        return self._take(slice(None) if rows is None else rows, slice(first, last))

    def array(self):
        """All present rows, in the table's own number format."""
        return self._take(slice(None))

    def _take(self, rows, which=slice(None)):
        if self.rows is not None:
            rows = self.rows[rows]
        columns = self.columns[which]
        if len(columns) and columns[-1] - columns[0] == len(columns) - 1 and np.all(np.diff(columns) == 1):
            columns = slice(columns[0], columns[-1] + 1)  # a window, no copy
            return self.table[rows, columns]
        if isinstance(rows, slice):
            return self.table[rows][:, columns]
        return self.table[np.ix_(rows, columns)]


@dataclass(frozen=True)
class ViewBlocks:
    """All views of a table, and the mask that says who has what.

    Parameters
    ----------
    views : tuple of View
    present : bool ndarray of shape (n_rows, n_views)
    """

    views: tuple[View, ...]
    present: np.ndarray

    @classmethod
    def of(cls, X, names, columns, counted=None):
        """Look at the table `X`; a view is absent in a row when all its columns are NaN there.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
        names : list of str
        columns : list of intp ndarray
        counted : bool ndarray of shape (n_rows,), default=None
            Rows that count. In the others every view is taken as absent.

        Examples
        --------
        >>> import numpy as np
        >>> X = np.array([[1.0, 2.0, 3.0], [np.nan, np.nan, 4.0]])
        >>> ViewBlocks.of(X, ["a", "b"], [np.array([0, 1]), np.array([2])]).present
        array([[ True,  True],
               [False,  True]])
        """
        present = np.column_stack([~_absent(X, view_columns) for view_columns in columns])
        if counted is not None:
            present &= counted[:, None]
        views = tuple(
            View(name, X, view_columns, None if mask.all() else np.flatnonzero(mask))
            for name, view_columns, mask in zip(names, columns, present.T)
        )
        return cls(views, present)

    def __len__(self):
        """Number of rows, whatever their views."""
        return len(self.present)

    def __iter__(self):
        return iter(self.views)


def check_presence(present, view_names, counted):
    """Refuse rows that count but that no view describes, and views that no such row has."""
    nowhere = np.flatnonzero(counted & ~present.any(axis=1))
    if len(nowhere):
        raise ValueError(
            f"Every view is absent (all NaN) in {len(nowhere)} of the rows of X, the first being row {nowhere[0]}; "
            "leave such rows out of fit."
        )
    unseen = np.flatnonzero(~present.any(axis=0))
    if len(unseen):
        raise ValueError(
            f"The view {view_names[unseen[0]]!r} is absent (all NaN) in every row of X; leave it out of views."
        )


def _absent(X, columns):
    """Rows in which every one of the columns is NaN."""
    absent = np.zeros(len(X), dtype=bool)
    # A row with a number in the first column has the view: only the others need a second look.
    suspects = np.flatnonzero(np.isnan(X[:, columns[0]]))
    for start in range(0, len(suspects), ROWS_AT_A_TIME):
        rows = suspects[start : start + ROWS_AT_A_TIME]
        absent[rows] = np.isnan(X[np.ix_(rows, columns)]).all(axis=1)
    return absent


def fit_transformer(view, transformer, labels):
    """Fit a clone of a transformer on the rows in which a view is present.

    Parameters
    ----------
    view : View
    transformer : transformer or None
    labels : ndarray
        Labels of those rows, for transformers that use them.

    Returns
    -------
    fitted transformer, or None
    """
    if transformer is None:
        return None
    for method in ("fit", "transform"):
        if isclass(transformer) or not hasattr(transformer, method):
            lack = "a class, not an instance" if isclass(transformer) else f"an object with no {method} method"
            raise TypeError(
                f"preprocess for the view {view.name!r} is {transformer!r}, {lack}; pass a transformer such as PCA(), "
                "a dict per view, or None."
            )
    return clone(transformer).fit(view.array(), labels)


def transformed(view, transformer):
    """The view with its columns transformed; as it is where the transformer is None."""
    if transformer is None or len(view) == 0:
        return view
    values = transformer.transform(view.array())
    values = values.toarray() if hasattr(values, "toarray") else values
    try:
        values = check_array(values, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
    except (TypeError, ValueError) as error:
        raise ValueError(f"What preprocess made of the view {view.name!r} is not a table of numbers: {error}") from None
    if len(values) != len(view):
        raise ValueError(f"preprocess made {len(values)} rows of the {len(view)} rows of the view {view.name!r}.")
    table = values
    if view.rows is not None:
        table = np.full((len(view.table), values.shape[1]), np.nan)
        table[view.rows] = values
    return replace(view, table=table, columns=np.arange(values.shape[1]))
