"""One transformer per view, fitted once before the first round (S0, S1 and S3 apply PCA per view)."""

from dataclasses import replace
from inspect import isclass

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array


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
