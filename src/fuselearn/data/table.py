"""The user's table as an array of numbers, and the attributes that describe its columns."""

from copy import copy
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils.validation import validate_data

from fuselearn.typing import AnyArray, ArrayLike, Estimator, FloatArray, TableLike

FEATURE_ATTRIBUTES = ("n_features_in_", "feature_names_in_")
DATA_FRAME_MAKERS = (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table"))

Features: TypeAlias = dict[str, Any]
"""``n_features_in_`` and, for a data frame, ``feature_names_in_``."""


def read_table(
    model: Estimator, X: TableLike, y: ArrayLike, *, reset: bool, **checks: Any
) -> tuple[FloatArray, AnyArray, Features]:
    """Check `X` and `y` for a model without changing it, so that a fit that fails leaves it as it was.

    Parameters
    ----------
    model : estimator
        The model that is fitted.
    X, y
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
    # scikit-learn sets attributes of the columns on the estimator that it checks for: here on a copy.
    stand_in = copy(model)
    checks = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan", **checks}
    table, y = validate_data(stand_in, X, y, reset=reset, **checks)
    return table, y, {name: getattr(stand_in, name) for name in FEATURE_ATTRIBUTES if hasattr(stand_in, name)}


def read_new_rows(model: Estimator, X: TableLike) -> FloatArray:
    """Return rows to predict as an array, checked against the columns that the model was fitted on."""
    check_on_host(X, "X", type(model).__name__)
    return validate_data(model, X, reset=False, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")


def note_features(model: Estimator, features: Features) -> None:
    """Set the attributes of the columns on a fitted model, and delete those of an earlier fit."""
    for name in FEATURE_ATTRIBUTES:
        if name in features:
            setattr(model, name, features[name])
        elif hasattr(model, name):
            delattr(model, name)


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


def check_on_host(values: Any, name: str, reader: str) -> None:
    """Refuse an array on a GPU, given as the argument `name`, where `reader` reads arrays in this machine's memory."""
    if is_gpu_array(values):
        raise TypeError(
            f"{reader} reads {name} on the host; got one of {library_of(values)} on a GPU. {name}.get() of CuPy, or "
            f"{name}.cpu().numpy() of torch, copies it to the host. ShareBoostClassifier, IndependentBoostClassifier, "
            "MSSBoostClassifier, NSBoostClassifier, composite_kernel, composite_test_kernel, augmented_kernel and "
            "tomographic_correspondence run on a GPU."
        )


def data_frame(columns: dict[str, list[Any]]) -> Any:
    """Return columns as a pandas data frame; without pandas as one of polars, else as an Arrow table."""
    for library, maker in DATA_FRAME_MAKERS:
        if find_spec(library):
            return getattr(import_module(library), maker)(columns)
    raise ImportError("A data frame needs pandas, polars or pyarrow: pip install 'fuselearn[app]' brings pyarrow.")
