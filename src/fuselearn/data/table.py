"""The user's table as an array of numbers, and what scikit-learn notes about its columns.

Arrays that are not in this machine's memory: known by their type, refused where nothing reads them.

Columns of results as a data frame of whichever library is there.
"""

from copy import copy
from importlib import import_module
from importlib.util import find_spec

import numpy as np
from sklearn.utils.validation import validate_data

FEATURE_ATTRIBUTES = ("n_features_in_", "feature_names_in_")


def read_table(model, X, y, *, reset, **checks):
    """Check `X` and `y` for a model without changing it, so that a fit that fails leaves it as it was.

    Parameters
    ----------
    model : estimator
    X, y
        As the user gave them.
    reset : bool
        Whether the columns of `X` may differ from those that the model was fitted on.
    **checks
        For :func:`sklearn.utils.validation.validate_data`, beside numbers that may be NaN.

    Returns
    -------
    table : float array of shape (n_samples, n_features)
    y : ndarray
    features : dict
        ``n_features_in_`` and, for a data frame, ``feature_names_in_``; see :func:`note_features`.
    """
    for name, values in (("X", X), ("y", y)):
        check_on_host(values, name, type(model).__name__)
    # scikit-learn notes the columns on whom it checks for: a stand-in.
    bearer = copy(model)
    checks = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan", **checks}
    table, y = validate_data(bearer, X, y, reset=reset, **checks)
    return table, y, {name: getattr(bearer, name) for name in FEATURE_ATTRIBUTES if hasattr(bearer, name)}


def note_features(model, features):
    """Set the attributes of the columns on a fitted model, and drop those of an earlier fit."""
    for name in FEATURE_ATTRIBUTES:
        if name in features:
            setattr(model, name, features[name])
        elif hasattr(model, name):
            delattr(model, name)


def is_device_array(X):
    """Whether an array is from a library whose arrays live on a device: CuPy, or torch with the array on a GPU.

    It goes by the module of the type, so that no library is imported that the user does not use. Arrays of
    ``array_api_strict`` count too: it has no other use than to test code such as this.

    Examples
    --------
    >>> import numpy as np
    >>> is_device_array(np.zeros(3))
    False
    """
    library = library_of(X)
    return library in ("cupy", "array_api_strict") or (library == "torch" and bool(getattr(X, "is_cuda", False)))


def library_of(X):
    """Name of the library that an array is from."""
    return type(X).__module__.partition(".")[0]


def check_on_host(values, name, who):
    """Refuse an array on a device where only arrays of this machine are read.

    Parameters
    ----------
    values : object
    name : str
        Of the argument.
    who : str
        Who reads it.
    """
    if is_device_array(values):
        raise TypeError(
            f"{who} reads {name} on the host; got one of {library_of(values)} on a device. {name}.get() of CuPy, or "
            f"{name}.cpu().numpy() of torch, brings it here. On a device run ShareBoostClassifier, "
            "IndependentBoostClassifier, MSSBoostClassifier and NSBoostClassifier, composite_kernel, "
            "composite_test_kernel, augmented_kernel and tomographic_correspondence."
        )


MAKERS = (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table"))


def data_frame(columns):
    """A pandas data frame; without pandas one of polars, else an Arrow table.

    Parameters
    ----------
    columns : dict of name to list
    """
    for library, maker in MAKERS:
        if find_spec(library):
            return getattr(import_module(library), maker)(columns)
    raise ImportError("A data frame needs pandas, polars or pyarrow: pip install 'fuselearn[app]' brings pyarrow.")
