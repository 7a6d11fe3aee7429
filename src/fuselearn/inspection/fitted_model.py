"""The fitted model and the rows it is asked about, checked once for all of this room.

Numbers about a model are of rows with columns changed on purpose. A model that was fitted on a data frame would warn of
an array without names, so it is asked through a stand-in that has forgotten them.
"""

from collections.abc import Mapping
from copy import copy

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from fuselearn.data import ViewBlocks, check_on_host, encode_known, resolve_views


def check_has(model, attribute, instead):
    """Refuse a model that lacks what is asked of it; `instead` is what would be right."""
    if not hasattr(model, attribute):
        raise ValueError(f"{type(model).__name__} has no {attribute}; {instead}")


def views_of(model):
    """Names and columns of the views that a model was fitted on."""
    instead = "model must be a fitted classifier of fuselearn itself, not a pipeline or search around it."
    check_has(model, "view_names_", instead)
    check_has(model, "view_columns_", instead)
    return list(model.view_names_), list(model.view_columns_)


def read_rows(model, X):
    """Rows as a table of numbers, of the columns that the model was fitted on."""
    check_on_host(X, "X", "fuselearn.inspection")
    return validate_data(copy(model), X, reset=False, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")


def read_views(model_or_views, X):
    """Views of a table, by the model that was fitted on such views or by the `views` argument of an estimator.

    Parameters
    ----------
    model_or_views : fitted classifier, dict, list or None
    X : array or data frame of shape (n_samples, n_features)

    Returns
    -------
    ViewBlocks
    """
    if model_or_views is None or isinstance(model_or_views, Mapping | list | tuple):
        check_on_host(X, "X", "fuselearn.inspection")
        table = check_array(X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
        return ViewBlocks.of(table, *resolve_views(model_or_views, X, table.shape[1]))
    names, columns = views_of(model_or_views)
    return ViewBlocks.of(read_rows(model_or_views, X), names, columns)


def read_labels(model, y, n_rows):
    """Labels of rows as an array; of shape (n_rows, n_labels) for a model of several labels.

    Parameters
    ----------
    model : fitted classifier
    y : array or data frame
    n_rows : int

    Returns
    -------
    ndarray of shape (n_rows,) or (n_rows, n_labels)
    """
    check_on_host(y, "y", "fuselearn.inspection")
    y = y.toarray() if issparse(y) else np.asarray(y)
    names = getattr(model, "label_names_", None)
    one_column = names is None or (len(names) == 1 and isinstance(model.classes_, np.ndarray))
    expected = (n_rows,) if one_column else (n_rows, len(names))
    if y.shape != expected:
        raise ValueError(
            f"y must have shape {expected}, for the {n_rows} rows of X and the labels that {type(model).__name__} was "
            f"fitted on; got shape {y.shape}."
        )
    if y.ndim == 1:
        encode_known(y, model.classes_, "y")
    elif not np.isin(y, (0, 1)).all():
        raise ValueError("y must be an indicator matrix that holds 0 and 1 only, as the model was fitted on.")
    return y


def forgetful(model):
    """The model, without the names of its columns, so that it takes arrays. The given one is not changed."""
    bare = copy(model)
    vars(bare).pop("feature_names_in_", None)
    return bare
