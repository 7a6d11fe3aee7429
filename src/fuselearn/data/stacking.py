"""Separate arrays, one per source, stacked into one table with NaN where a source has no data."""

from collections.abc import Mapping, Sequence
from typing import Any, overload

import narwhals as nw
import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array, column_or_1d

from fuselearn.data.column_kinds import check_no_index, text_columns
from fuselearn.data.object_ids import ObjectIds, check_common, matching_rows
from fuselearn.typing import AnyArray, ArrayLike, FloatArray, TableLike

Slices = dict[str, slice] | list[slice]
"""Columns of the views: by name where the arrays had names, else in a list."""


@overload
def stack_views(arrays: Mapping[str, TableLike] | Sequence[TableLike]) -> tuple[FloatArray, Slices]: ...


@overload
def stack_views(
    arrays: Mapping[str, TableLike] | Sequence[TableLike], *, on: str
) -> tuple[FloatArray, Slices, AnyArray]: ...


def stack_views(
    arrays: Mapping[str, TableLike] | Sequence[TableLike], *, on: str | None = None
) -> tuple[FloatArray, Slices] | tuple[FloatArray, Slices, AnyArray]:
    """Put arrays that describe the same objects side by side.

    Parameters
    ----------
    arrays : dict of name to array, or list of arrays
        Arrays or data frames of shape (n_objects, n_columns), one per view, with the same objects in the same
        order. A row of NaN means that the view of that object was not observed. A 1-D array is one column.
    on : str, default=None
        Column of data frames that names the objects. The frames may then have different objects, in any order: each
        object gets a row, and NaN in the views that have no row of it.

    Returns
    -------
    X : ndarray of shape (n_objects, n_columns of all views)
        The columns of all views, side by side.
    views : dict of name to slice, or list of slices
        Columns of each view, to be passed as `views` to an estimator.
    ids : ndarray of shape (n_objects,)
        With `on` only: the objects in the order of the rows, which is that in which they are first met.

    Raises
    ------
    ValueError
        If a view is not a table of numbers; without `on` if data frames have the same index in another order; with it
        if an id is missing, a fraction, occurs twice in a frame, or differs between frames in type or spelling only,
        and if a frame has no object of the others (see :func:`stack_unpaired`).

    See Also
    --------
    stack_unpaired : For arrays that describe different objects.

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn import stack_views
    >>> X, views = stack_views({"rna": np.zeros((5, 3)), "image": np.ones((5, 2))})
    >>> X.shape, views
    ((5, 5), {'rna': slice(0, 3, None), 'image': slice(3, 5, None)})

    Data frames are joined by a column:

    >>> import pandas as pd
    >>> rna = pd.DataFrame({"patient": ["a", "b"], "g0": [1.0, 2.0]})
    >>> protein = pd.DataFrame({"patient": ["c", "b"], "g0": [5.0, 6.0]})
    >>> X, views, ids = stack_views({"rna": rna, "protein": protein}, on="patient")
    >>> X
    array([[ 1., nan],
           [ 2.,  6.],
           [nan,  5.]])
    >>> ids
    array(['a', 'b', 'c'], dtype=object)
    """
    names, tables, has_names = _named(arrays, "arrays")
    if on is not None:
        X, slices, ids = _joined(names, tables, on)
        return X, dict(zip(names, slices)) if has_names else slices, ids
    blocks = [_table(name, table) for name, table in zip(names, tables)]
    lengths = {name: len(block) for name, block in zip(names, blocks)}
    if len(set(lengths.values())) > 1:
        raise ValueError(
            f"The views must describe the same objects, but their numbers of rows differ: {lengths}. Use "
            "stack_unpaired for different objects."
        )
    _check_order(names, tables)
    slices = _column_slices(blocks)
    return np.hstack(blocks), dict(zip(names, slices)) if has_names else slices


def stack_unpaired(
    sources: Mapping[str, tuple[TableLike, ArrayLike]] | Sequence[tuple[TableLike, ArrayLike]],
) -> tuple[FloatArray, Slices, AnyArray]:
    """Put sources that describe different objects below each other, with NaN where a source has no data.

    Parameters
    ----------
    sources : dict of name to (array, labels), or list of (array, labels)
        Each source's own objects, of shape (n_objects, n_columns), and their labels.

    Returns
    -------
    X : ndarray of shape (n_objects of all sources, n_columns of all sources)
        The objects of all sources, each with the columns of its source.
    views : dict of name to slice, or list of slices
        Columns of each source, to be passed as `views` to an estimator.
    y : ndarray of shape (n_objects of all sources,)
        Labels of the objects.

    See Also
    --------
    stack_views : For arrays that describe the same objects.

    Examples
    --------
    >>> from fuselearn import stack_unpaired
    >>> X, views, y = stack_unpaired({"face": ([[1.0], [2.0]], [0, 1]), "iris": ([[3.0, 4.0]], [1])})
    >>> X
    array([[ 1., nan, nan],
           [ 2., nan, nan],
           [nan,  3.,  4.]])
    >>> y
    array([0, 1, 1])
    """
    names, pairs, has_names = _named(sources, "sources")
    blocks: list[FloatArray] = []
    labels: list[AnyArray] = []
    for name, source in zip(names, pairs):
        if not isinstance(source, tuple | list) or len(source) != 2:
            raise TypeError(f"Source {name!r} must be a pair (array, labels); got {type(source).__name__}.")
        block = _table(name, source[0])
        label = column_or_1d(source[1])
        if len(block) != len(label):
            raise ValueError(f"Source {name!r} has {len(block)} rows but {len(label)} labels.")
        blocks.append(block)
        labels.append(label)
    if len({label.dtype.kind in "biuf" for label in labels}) > 1:
        kinds = {name: str(label.dtype) for name, label in zip(names, labels)}
        raise ValueError(f"The sources' labels differ in kind: {kinds}. Give all of them the same labels.")
    slices = _column_slices(blocks)
    X = np.full((sum(len(block) for block in blocks), slices[-1].stop), np.nan)
    start = 0
    for block, columns in zip(blocks, slices):
        X[start : start + len(block), columns] = block
        start += len(block)
    return X, dict(zip(names, slices)) if has_names else slices, np.concatenate(labels)


def _joined(names: list[str], tables: list[TableLike], on: str) -> tuple[FloatArray, list[slice], AnyArray]:
    """Return the rows of all objects of data frames, the columns of each frame, and the objects."""
    blocks: list[FloatArray] = []
    ids: list[ObjectIds] = []
    objects: dict[str, Any] = {}
    for name, table in zip(names, tables):
        frame = nw.from_native(table, eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame):
            raise TypeError(
                f"The view {name!r} must be a data frame to be joined on {on!r}; got {type(table).__name__}."
            )
        if on not in frame.columns:
            shown = ", ".join(map(repr, frame.columns[:8]))
            index = nw.maybe_get_index(frame)
            in_index = index is not None and on in index.names
            raise ValueError(
                f"The view {name!r} has no column {on!r} to be joined on; "
                + (f"{on!r} is its index: pass frame.reset_index()." if in_index else f"its columns are {shown}.")
            )
        values = frame.get_column(on).to_list()
        ids.append(ObjectIds.of(values, f"the view {name!r}", on))
        blocks.append(_table(name, frame.drop(on).to_native()))
        objects |= {text: value for text, value in zip(ids[-1].texts, values) if text not in objects}
    everyone = ObjectIds("all views together", list(objects), None)
    for number, later in enumerate(ids):
        for earlier in ids[:number]:
            matching_rows(later, earlier, earlier.places())  # refuses other types and spellings
        others = [text for other in [*ids[:number], *ids[number + 1 :]] for text in other.texts]
        check_common(others, "the other views", later, on)
    slices = _column_slices(blocks)
    X = np.full((len(objects), slices[-1].stop), np.nan)
    for block, columns, of_view in zip(blocks, slices, ids):
        rows = matching_rows(everyone, of_view, of_view.places())
        X[rows >= 0, columns] = block[rows[rows >= 0]]
    dtype = None if ids[0].kind == "numbers" else object
    return X, slices, np.array(list(objects.values()), dtype=dtype)


def _check_order(names: list[str], tables: list[TableLike]) -> None:
    """Refuse data frames whose indexes are the same but for their order, of which one may be that of the objects."""
    first: tuple[str, Any] | None = None
    for name, table in zip(names, tables):
        frame = nw.from_native(table, eager_only=True, allow_series=True, pass_through=True)
        index = nw.maybe_get_index(frame) if isinstance(frame, nw.DataFrame | nw.Series) else None
        if index is None:
            continue
        first = first or (name, index)
        if not index.equals(first[1]) and set(index) == set(first[1]):
            raise ValueError(
                f"The views {first[0]!r} and {name!r} have the same index in another order (the first row of {name!r} "
                f"is {index[0]!r}), and rows are taken as they stand. Where the index names the objects, pass "
                "frame.reset_index() and its column as `on`; else pass frame.reset_index(drop=True)."
            )


def _named(collection: Any, argument: str) -> tuple[list[str], list[Any], bool]:
    """Return the names and values of a dict or list, and whether the user gave the names."""
    if not isinstance(collection, Mapping | list | tuple):
        raise TypeError(f"{argument} must be a dict or a list; got {type(collection).__name__}.")
    if not collection:
        raise ValueError(f"{argument} is empty; pass at least one view.")
    if isinstance(collection, Mapping):
        return list(collection), list(collection.values()), True
    return [f"view{number}" for number in range(len(collection))], list(collection), False


def _table(name: str, array: TableLike) -> FloatArray:
    """Return an array or data frame as a 2-D array of numbers."""
    check_no_index(array, f"The view {name!r}")
    if texts := text_columns(array):
        raise ValueError(
            f"The view {name!r} has text in the column {texts[0]!r}. If it names the objects, stack_views(..., "
            f"on={texts[0]!r}) joins the views by it; text that is a feature is for TableClassifier."
        )
    try:
        frame = nw.from_native(array, eager_only=True, allow_series=True, pass_through=True)
        if isinstance(frame, nw.DataFrame | nw.Series):
            array = frame.to_numpy()
        elif not issparse(array):  # which check_array refuses with its own message
            array = np.asarray(array)
        if array.ndim == 1:
            array = array[:, None]
        return check_array(array, dtype=np.float64, ensure_all_finite="allow-nan")
    except (TypeError, ValueError) as error:
        raise type(error)(f"The view {name!r} is not a table of numbers: {error}") from None


def _column_slices(blocks: list[FloatArray]) -> list[slice]:
    """Return the columns of blocks that stand side by side."""
    ends = np.cumsum([block.shape[1] for block in blocks]).tolist()
    return [slice(start, end) for start, end in zip([0, *ends[:-1]], ends)]
