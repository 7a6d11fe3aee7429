"""New rows in a data frame that has no columns of some view: to a model they are rows that lack the view."""

from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from fuselearn.typing import TableLike


def with_absent_views(model: Any, X: TableLike) -> TableLike:
    """Return a data frame with NaN in the columns of whole views that it does not have; anything else as it is.

    Where columns are missing that are no whole views, or others are there or in another order, the frame is returned as
    it is as well, for scikit-learn to name them.

    Parameters
    ----------
    model : fitted estimator
        With views, and names of columns.
    X : array or data frame
        New rows.
    """
    names, views = getattr(model, "feature_names_in_", None), getattr(model, "view_columns_", None)
    if names is None or views is None or isinstance(X, np.ndarray | list | tuple):
        return X
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except DuplicateError:
        return X
    if not isinstance(frame, nw.DataFrame) or len(frame.columns) >= len(names):
        return X
    missing = ~np.isin(names, frame.columns)
    if frame.columns != names[~missing].tolist() or not len(frame.columns):
        return X
    absent = [columns for columns in views if missing[columns].all()]
    if np.unique(np.concatenate([*absent, []])).size < np.count_nonzero(missing):
        return X
    if hasattr(X, "reindex"):
        return X.reindex(columns=names)  # pandas, with the index
    # In one block: an expression for each of thousands of columns takes seconds.
    nothing = np.full((len(frame), np.count_nonzero(missing)), np.nan)
    block = nw.from_numpy(nothing, names[missing].tolist(), backend=frame.implementation)
    return nw.concat([frame, block], how="horizontal").select(*names.tolist()).to_native()
