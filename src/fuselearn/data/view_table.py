"""The views of a table: windows on the user's `X`, and a mask of the rows that have each view.

Rows of a view are copied when a learner prepares them, a block at a time, so that the only full copy ever made is the
one a learner works on. A view may have a transformer, fitted once before the first round (S0, S1 and S3 apply PCA).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from inspect import isclass

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array

from fuselearn.typing import AnyArray, BoolArray, FloatArray, IntArray, Transformer

BLOCK_ROWS = 4096


@dataclass(frozen=True)
class View:
    """One view of a table.

    Parameters
    ----------
    name : str
        Name of the view.
    table : ndarray of shape (n_rows, n_features)
        All columns of all rows.
    columns : intp ndarray
        Columns of `table` that make the view.
    rows : intp ndarray or None
        Rows in which the view is present; None when it is present in all of them, in their order.
    """

    name: str
    table: FloatArray
    columns: IntArray
    rows: IntArray | None

    def __len__(self) -> int:
        """Return the number of rows in which the view is present."""
        return len(self.table) if self.rows is None else len(self.rows)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def block(self, start: int, stop: int) -> FloatArray:
        """Return present rows `start` to `stop`, as a C-contiguous float64 array that may share memory with `X`."""
        block = np.ascontiguousarray(self._take(slice(start, stop)), dtype=np.float64)
        # For a read-only array numba would compile every loop again.
        return block if block.flags.writeable else block.copy()

    def blocks(self) -> Iterator[tuple[int, int, FloatArray]]:
        """Yield (start, stop, block) over all present rows."""
        for start in range(0, len(self), BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, len(self))
            yield start, stop, self.block(start, stop)

    def some_columns(self, first: int, last: int, rows: IntArray | slice | None = None) -> FloatArray:
        """Return columns `first` to `last` of the view, in some of the present rows, by default in all."""
        return self._take(slice(None) if rows is None else rows, slice(first, last))

    def array(self) -> FloatArray:
        """Return all present rows, in the table's own number format."""
        return self._take(slice(None))

    def _take(self, rows: IntArray | slice, which: slice = slice(None)) -> FloatArray:
        """Return some of the columns in some of the present rows, without a copy where they are a window."""
        if self.rows is not None:
            rows = self.rows[rows]
        columns = self.columns[which]
        if len(columns) and columns[-1] - columns[0] == len(columns) - 1 and np.all(np.diff(columns) == 1):
            return self.table[rows, columns[0] : columns[-1] + 1]
        if isinstance(rows, slice):
            return self.table[rows][:, columns]
        return self.table[np.ix_(rows, columns)]


@dataclass(frozen=True)
class ViewBlocks:
    """All views of a table, and the mask of the rows that have them.

    Parameters
    ----------
    views : tuple of View
        The views, in order.
    present : bool ndarray of shape (n_rows, n_views)
        True where a row has a view.
    """

    views: tuple[View, ...]
    present: BoolArray

    @classmethod
    def of(
        cls, X: FloatArray, names: list[str], columns: list[IntArray], used: BoolArray | None = None
    ) -> "ViewBlocks":
        """Return the views of the table `X`; a view is absent in a row when all its columns are NaN there.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            The table.
        names : list of str
            Names of the views.
        columns : list of intp ndarray
            Columns of the views.
        used : bool ndarray of shape (n_rows,), default=None
            Rows that count. In the others every view is taken as absent.

        Returns
        -------
        ViewBlocks
            The views, with their presence.

        Examples
        --------
        >>> import numpy as np
        >>> X = np.array([[1.0, 2.0, 3.0], [np.nan, np.nan, 4.0]])
        >>> ViewBlocks.of(X, ["a", "b"], [np.array([0, 1]), np.array([2])]).present
        array([[ True,  True],
               [False,  True]])
        """
        present = np.column_stack([~_absent(X, view_columns) for view_columns in columns])
        if used is not None:
            present &= used[:, None]
        views = tuple(
            View(name, X, view_columns, None if mask.all() else np.flatnonzero(mask))
            for name, view_columns, mask in zip(names, columns, present.T)
        )
        return cls(views, present)

    @property
    def has_view(self) -> BoolArray:
        """Mask of the rows that have at least one view."""
        return np.logical_or.reduce(self.present, axis=1)

    def __len__(self) -> int:
        """Return the number of rows, whatever their views."""
        return len(self.present)

    def __iter__(self) -> Iterator[View]:
        """Iterate over the views."""
        return iter(self.views)


def fit_transformer(view: View, transformer: Transformer | None, labels: AnyArray) -> Transformer | None:
    """Fit a clone of a transformer on the rows in which a view is present; `labels` are those of these rows."""
    if transformer is None:
        return None
    for method in ("fit", "transform"):
        if isclass(transformer) or not hasattr(transformer, method):
            lack = "a class, not an instance" if isclass(transformer) else f"an object with no {method} method"
            raise TypeError(
                f"preprocess for the view {view.name!r} is {transformer!r}, {lack}; pass a transformer such as PCA(), "
                "a dict per view, or None."
            )
    fitted: Transformer = clone(transformer).fit(view.array(), labels)
    return fitted


def transformed(view: View, transformer: Transformer | None) -> View:
    """Return the view with its columns transformed; unchanged where the transformer is None."""
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


def _absent(X: FloatArray, columns: IntArray) -> BoolArray:
    """Return a mask of the rows in which every one of the columns is NaN."""
    absent = np.zeros(len(X), dtype=bool)
    # A row with a number in the first column has the view: only the others need a second look.
    candidates = np.flatnonzero(np.isnan(X[:, columns[0]]))
    for start in range(0, len(candidates), BLOCK_ROWS):
        rows = candidates[start : start + BLOCK_ROWS]
        absent[rows] = np.isnan(X[np.ix_(rows, columns)]).all(axis=1)
    return absent
