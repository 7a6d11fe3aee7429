"""A fitted model and the rows it is applied to, checked once for the whole package.

Many numbers about a model come from rows whose columns were changed on purpose. These rows are plain arrays of numbers,
and a model fitted on a data frame would warn about missing column names, or take codes for categories: it is replaced
by a copy without those names and categories.
"""

from collections.abc import Mapping
from copy import copy
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_regressor
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from fuselearn.data import ViewBlocks, check_on_host, encode_known, resolve_views
from fuselearn.data.categories import Categories
from fuselearn.data.lacking_frames import with_absent_views
from fuselearn.typing import AnyArray, ArrayLike, FloatArray, IntArray, TableLike

FittedModel: TypeAlias = Any
"""A fitted classifier with views. The attributes it has depend on its kind, and are checked with `check_has`."""

FLOAT_TYPES = [np.float64, np.float32]


def check_has(model: FittedModel, attribute: str, remedy: str) -> None:
    """Raise an error if the model lacks an attribute; `remedy` ends the message."""
    if not hasattr(model, attribute):
        raise ValueError(f"{type(model).__name__} has no {attribute}; {remedy}")


def fitted_views(model: FittedModel) -> tuple[list[str], list[IntArray]]:
    """Return the names and the columns of the views that a model was fitted on."""
    remedy = "model must be a fitted classifier of fuselearn itself, not a pipeline or search around it."
    check_has(model, "view_names_", remedy)
    check_has(model, "view_columns_", remedy)
    return list(model.view_names_), list(model.view_columns_)


def read_rows(model: FittedModel, X: TableLike) -> FloatArray:
    """Return `X` as an array of numbers with the columns that the model was fitted on, and codes for categories."""
    check_on_host(X, "X", "fuselearn.inspection")
    X = with_absent_views(model, X)
    categories = getattr(model, "categories_", None)
    if isinstance(categories, Categories):
        X = categories.encode(X)
    return validate_data(copy(model), X, reset=False, dtype=FLOAT_TYPES, ensure_all_finite="allow-nan")


def read_views(model_or_views: FittedModel, X: TableLike) -> ViewBlocks:
    """Return the views of a table, given a model fitted on such views or the `views` argument of an estimator."""
    if model_or_views is None or isinstance(model_or_views, Mapping | list | tuple):
        check_on_host(X, "X", "fuselearn.inspection")
        table = check_array(X, dtype=FLOAT_TYPES, ensure_all_finite="allow-nan")
        return ViewBlocks.of(table, *resolve_views(model_or_views, X, table.shape[1]))
    names, columns = fitted_views(model_or_views)
    return ViewBlocks.of(read_rows(model_or_views, X), names, columns)


def read_labels(model: FittedModel, y: ArrayLike, n_rows: int) -> AnyArray:
    """Return labels of shape (n_rows,), or (n_rows, n_labels) for a multi-label model; numbers for a regressor."""
    check_on_host(y, "y", "fuselearn.inspection")
    y = y.toarray() if issparse(y) else np.asarray(y)
    expected = (n_rows, len(model.label_names_)) if is_multilabel(model) else (n_rows,)
    if y.shape != expected:
        raise ValueError(
            f"y must have shape {expected}, for the {n_rows} rows of X and the labels that {type(model).__name__} was "
            f"fitted on; got shape {y.shape}."
        )
    if is_regressor(model):
        return check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    if y.ndim == 1:
        encode_known(y, model.classes_, "y")
    elif not np.isin(y, (0, 1)).all():
        raise ValueError("y must be an indicator matrix that holds 0 and 1 only, as in fit.")
    return y


def is_multilabel(model: FittedModel) -> bool:
    """Return True if the model gives each row any number of labels instead of one class."""
    names = getattr(model, "label_names_", None)
    # A multi-label model that was fitted on one column of classes predicts these classes.
    return names is not None and not (len(names) == 1 and isinstance(model.classes_, np.ndarray))


def without_feature_names(model: FittedModel) -> FittedModel:
    """Return a copy of the model that takes what `read_rows` returns, without a warning about column names."""
    nameless = copy(model)
    vars(nameless).pop("feature_names_in_", None)
    if isinstance(getattr(model, "categories_", None), Categories):
        nameless.categories_ = None
    return nameless
