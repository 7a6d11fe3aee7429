"""Separate arrays, one per source, to one table with NaN where a source did not look."""

from collections.abc import Mapping

import narwhals as nw
import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array, column_or_1d


def stack_views(arrays):
    """Put arrays that describe the same objects side by side.

    Parameters
    ----------
    arrays : dict of name to array, or list of arrays
        Arrays or data frames of shape (n_objects, n_columns), one per view, with the same objects in the same
        order. A row of NaN says that the view of that object was not observed. A 1-D array is one column.

    Returns
    -------
    X : ndarray of shape (n_objects, n_columns of all views)
    views : dict of name to slice, or list of slices
        What to pass as `views` to an estimator.

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
    """
    names, arrays, named = _named(arrays, "arrays")
    blocks = [_table(name, array) for name, array in zip(names, arrays)]
    lengths = {name: len(block) for name, block in zip(names, blocks)}
    if len(set(lengths.values())) > 1:
        raise ValueError(
            f"The views must describe the same objects, but their numbers of rows differ: {lengths}. Use "
            "stack_unpaired for different objects."
        )
    slices = _column_slices(blocks)
    return np.hstack(blocks), dict(zip(names, slices)) if named else slices


def stack_unpaired(sources):
    """Put sources that describe different objects below each other, NaN where a source did not look.

    Parameters
    ----------
    sources : dict of name to (array, labels), or list of (array, labels)
        Each source's own objects, of shape (n_objects, n_columns), and their labels.

    Returns
    -------
    X : ndarray of shape (n_objects of all sources, n_columns of all sources)
    views : dict of name to slice, or list of slices
    y : ndarray of shape (n_objects of all sources,)

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
    names, sources, named = _named(sources, "sources")
    blocks, labels = [], []
    for name, source in zip(names, sources):
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
    return X, dict(zip(names, slices)) if named else slices, np.concatenate(labels)


def _named(collection, argument):
    named = isinstance(collection, Mapping)
    if not named and not isinstance(collection, list | tuple):
        raise TypeError(f"{argument} must be a dict or a list; got {type(collection).__name__}.")
    if not collection:
        raise ValueError(f"{argument} is empty; pass at least one view.")
    if named:
        return list(collection), list(collection.values()), True
    return [f"view{i}" for i in range(len(collection))], list(collection), False


def _table(name, array):
    try:
        frame = nw.from_native(array, eager_only=True, allow_series=True, pass_through=True)
        if isinstance(frame, nw.DataFrame | nw.Series):
            array = frame.to_numpy()
        elif not issparse(array):  # which check_array refuses in its own words
            array = np.asarray(array)
        if array.ndim == 1:
            array = array[:, None]
        return check_array(array, dtype=np.float64, ensure_all_finite="allow-nan")
    except (TypeError, ValueError) as error:
        raise type(error)(f"The view {name!r} is not a table of numbers: {error}") from None


def _column_slices(blocks):
    ends = np.cumsum([block.shape[1] for block in blocks]).tolist()
    return [slice(start, end) for start, end in zip([0, *ends[:-1]], ends)]
