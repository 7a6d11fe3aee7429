"""The user's table: read as an array of numbers, and looked at by views, windows on it with a mask of their rows.

Rows of a view are copied when a learner prepares them, a block at a time, so that the only full copy ever made is the
one a learner works on. A view may have a transformer, fitted once before the first round (S0, S1 and S3 apply PCA).
"""

import os
import sys
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from inspect import isclass
from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from fuselearn.data.column_kinds import check_no_index, naming_the_way
from fuselearn.data.lacking_frames import with_absent_views
from fuselearn.records import Records
from fuselearn.typing import AnyArray, ArrayLike, BoolArray, Estimator, FloatArray, IntArray, TableLike, Transformer

BLOCK_ROWS = 4096
FEATURE_ATTRIBUTES = ("n_features_in_", "feature_names_in_")
DATA_FRAME_LIBRARIES = ("pandas", "polars")

Features: TypeAlias = dict[str, Any]
"""``n_features_in_`` and, for a data frame, ``feature_names_in_``."""
RowLocation: TypeAlias = Literal["local", "gpu", "dask", "files"]
PARTITIONED = ("dask", "files")
"""Where rows are in partitions, which this process may never see."""


def read_table(
    model: Estimator, X: TableLike, y: ArrayLike, *, reset: bool, **checks: Any
) -> tuple[FloatArray, AnyArray, Features]:
    """Check `X` and `y` for a model without changing it, so that a fit that fails leaves it as it was.

    Parameters
    ----------
    model : estimator
        The model that is fitted.
    X, y : array or data frame
        As the user gave them.
    reset : bool
        Whether the columns of `X` may differ from those that the model was fitted on.
    **checks
        Arguments of :func:`sklearn.utils.validation.validate_data`; by default numbers that may be NaN are read.

    Returns
    -------
    table : float array of shape (n_samples, n_features)
        The checked `X`.
    y : ndarray
        The checked `y`.
    features : dict
        What :func:`note_features` sets on the fitted model.
    """
    for name, values in (("X", X), ("y", y)):
        check_on_host(values, name, type(model).__name__)
    check_in_memory(X, type(model).__name__)
    check_one_table(X)
    checks = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan", **checks}
    with naming_the_way(X, _way_of(model)):
        # scikit-learn sets attributes of the columns on the estimator that it checks for: here on a copy.
        stand_in = copy(model)
        table, y = validate_data(stand_in, X, y, reset=reset, **checks)
    return table, y, {name: getattr(stand_in, name) for name in FEATURE_ATTRIBUTES if hasattr(stand_in, name)}


def check_one_table(X: TableLike) -> None:
    """Refuse a table for each view, as other packages take them, and one with an index among its columns."""
    tables = list(X.values() if isinstance(X, dict) else X) if isinstance(X, dict | list | tuple) else []
    if tables and all(getattr(table, "ndim", 0) == 2 or hasattr(table, "columns") for table in tables):
        kind = f"{type(X).__name__} of {len(tables)} table{'s' if len(tables) > 1 else ''}"
        raise TypeError(f"X must be one table; got a {kind}. stack_views puts tables side by side and returns views.")
    check_no_index(X)


def read_new_rows(model: Estimator, X: TableLike) -> FloatArray:
    """Return rows to predict as an array, checked against the columns that the model was fitted on.

    A data frame may lack all columns of a view.
    """
    check_on_host(X, "X", type(model).__name__)
    check_in_memory(X, type(model).__name__)
    check_one_table(X)
    X = with_absent_views(model, X)
    with naming_the_way(X, _way_of(model)):
        return validate_data(model, X, reset=False, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")


def _way_of(model: Estimator) -> str:
    """Return what a model of text, categories and dates takes."""
    return f"TableClassifier({type(model).__name__}(), views=…)" if is_classifier(model) else "numbers in their place"


def check_same_features(model: Any, features: Features) -> None:
    """Check that a table has the columns that a model was fitted on, where scikit-learn cannot check it."""
    if features["n_features_in_"] != model.n_features_in_:
        raise ValueError(
            f"X has {features['n_features_in_']} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input."
        )
    before, now = getattr(model, "feature_names_in_", None), features.get("feature_names_in_")
    if before is not None and now is not None and list(before) != list(now):
        raise ValueError(
            f"X has the columns {list(now)[:10]}, but the feature names should match those that the model was fitted "
            f"on, {list(before)[:10]}."
        )


def row_location(X: TableLike) -> RowLocation:
    """Return where the rows of `X` are.

    It goes by the module of the type, so that no library is imported that the user does not use; see `is_gpu_array`
    for what counts as an array on a GPU.

    Examples
    --------
    >>> import numpy as np
    >>> row_location(np.zeros((2, 2))), row_location("rows.parquet"), row_location(["a.parquet", "b.parquet"])
    ('local', 'files', 'files')
    """
    if type(X) is np.ndarray:
        return "local"
    if isinstance(X, str | os.PathLike):
        return "files"
    if isinstance(X, list | tuple) and len(X) and all(isinstance(path, str | os.PathLike) for path in X):
        return "files"
    library = type(X).__module__.partition(".")[0]
    if library in ("dask", "dask_expr"):
        return "dask"
    return "gpu" if is_gpu_array(X) else "local"


def check_in_memory(X: TableLike, reader: str, other: str = "FusionClassifier or boosting") -> None:
    """Refuse rows that are in Dask collections, in files or on a GPU, which some `other` estimator fits there."""
    location = row_location(X)
    if location == "local":
        return
    have, remedy = {
        "dask": ("a Dask collection", "X.compute()"),
        "files": ("files", "pandas.read_parquet"),
        "gpu": ("an array on a GPU", "cupy.asnumpy(X) or X.cpu()"),
    }[location]
    raise TypeError(
        f"{reader} takes rows in memory, but X is {have}. Read them, e.g. with {remedy}, or fit them where they are, "
        f"with {other}."
    )


def is_gpu_array(X: Any) -> bool:
    """Return whether an array is from CuPy, or from torch with the array on a GPU.

    It goes by the module of the type, so that no library is imported that the user does not use. Arrays of
    ``array_api_strict`` count too, since they have no other use than to test code such as this.

    Examples
    --------
    >>> import numpy as np
    >>> is_gpu_array(np.zeros(3))
    False
    """
    library = library_of(X)
    return library in ("cupy", "array_api_strict") or (library == "torch" and bool(getattr(X, "is_cuda", False)))


def library_of(X: Any) -> str:
    """Return the name of the library that an array is from."""
    return type(X).__module__.partition(".")[0]


def to_host(values: ArrayLike) -> ArrayLike:
    """Return an array on a GPU as a NumPy array, and anything else unchanged."""
    if values is None or type(values) is np.ndarray or not is_gpu_array(values):
        return values
    return as_numpy(values)


def as_numpy(values: Any) -> AnyArray:
    """Return an array of CuPy, torch, ``array_api_strict`` or NumPy as one of NumPy."""
    library = library_of(values)
    if library == "cupy":
        return sys.modules["cupy"].asnumpy(values)
    if library == "torch":
        return values.detach().cpu().numpy()
    return np.array(np.from_dlpack(values)) if library == "array_api_strict" else values


def check_on_host(values: Any, name: str, reader: str) -> None:
    """Refuse an array on a GPU, given as the argument `name`, where `reader` reads arrays in this machine's memory."""
    if is_gpu_array(values):
        raise TypeError(
            f"{reader} reads {name} on the host; got one of {library_of(values)} on a GPU. {name}.get() of CuPy, or "
            f"{name}.cpu().numpy() of torch, copies it to the host. ShareBoostClassifier, IndependentBoostClassifier, "
            "ShareGradientBoostingClassifier, ShareGradientBoostingRegressor, FusionClassifier, MSSBoostClassifier, "
            "NSBoostClassifier, composite_kernel, composite_test_kernel, augmented_kernel and "
            "tomographic_correspondence run on a GPU."
        )


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


def check_presence(blocks: ViewBlocks, used: BoolArray) -> None:
    """Check that every row that counts has a view, and every view such a row."""
    without_view = np.flatnonzero(used & ~blocks.present.any(axis=1))
    first = int(without_view[0]) if len(without_view) else None
    is_present = {view.name: len(view) > 0 for view in blocks.views}
    check_views_present(first, list(is_present.values()), list(is_present), n_without_view=len(without_view))


def check_views_present(
    first_without_view: int | None,
    is_present: ArrayLike,
    view_names: list[str],
    *,
    n_without_view: int | None = None,
) -> None:
    """Refuse rows that count but have no view, of which the first is given, and views that no such row has."""
    if first_without_view is not None:
        how_many = "some" if n_without_view is None else n_without_view
        raise ValueError(
            f"Every view is absent (all NaN) in {how_many} of the rows of X, the first being row {first_without_view}; "
            "leave such rows out of fit."
        )
    for name, view_is_present in zip(view_names, is_present):
        if not view_is_present:
            raise ValueError(
                f"The view {name!r} is absent (all NaN) in every row of X that counts; leave it out of views."
            )


def per_view(argument: str, value: Any, names: list[str], *, complete: bool = False) -> list[Any]:
    """Return the value of an argument for each view, given one for all or a dict of view name to value.

    Parameters
    ----------
    argument : str
        Name of the argument, for the error message.
    value : object
        The value that the user gave.
    names : list of str
        Names of the views.
    complete : bool, default=False
        Whether a dict must name every view; otherwise those it leaves out get None.

    Returns
    -------
    list
        A value per view.
    """
    if not isinstance(value, Mapping):
        return [value] * len(names)
    unknown = [key for key in value if key not in names]
    if unknown:
        raise ValueError(f"{argument} names the view {unknown[0]!r}, but the views are {names}.")
    missing = [name for name in names if name not in value]
    if complete and missing:
        raise ValueError(
            f"{argument} has nothing for the view {missing[0]!r}; a dict needs an entry for each of the views {names}."
        )
    return [value.get(name) for name in names]


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


def data_frame(columns: dict[str, list[Any]]) -> Any:
    """Return columns as a pandas data frame; without pandas as one of polars, or else `Records`."""
    for library in DATA_FRAME_LIBRARIES:
        if find_spec(library):
            return import_module(library).DataFrame(columns)
    return Records(columns)
