"""Predictions for Dask collections, which stay collections until they are computed."""

import numpy as np
from sklearn.utils.validation import validate_data

from fuselearn.backends.dask_source import check_collection


def predict_lazily(model, method, X):
    """What a method of a fitted model says of each partition.

    Parameters
    ----------
    model : fitted classifier
    method : {"predict", "predict_proba", "decision_function"}
    X : Dask Array or DataFrame

    Returns
    -------
    Dask Array; of a DataFrame a Series, or a DataFrame with a column per class, with the index of X
    """
    check_collection(X)
    _check_columns(model, X)
    n_classes = len(model.classes_)
    several = method == "predict_proba" or (method == "decision_function" and n_classes > 2)
    kind = model.classes_.dtype if method == "predict" else np.dtype(np.float64)
    if hasattr(X, "columns"):
        return X.map_partitions(of_frame, model, method, meta=_meta(X, model, method, kind, several))
    if len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    if several:
        return X.map_blocks(of_array, model, method, dtype=kind, chunks=(X.chunks[0], (n_classes,)))
    return X.map_blocks(of_array, model, method, dtype=kind, drop_axis=1)


def of_array(rows, model, method):
    """Predictions for a chunk of rows. Runs on a worker."""
    if len(rows) == 0:
        n_classes = len(model.classes_)
        several = method == "predict_proba" or (method == "decision_function" and n_classes > 2)
        kind = model.classes_.dtype if method == "predict" else np.float64
        return np.empty((0, n_classes) if several else 0, dtype=kind)
    return getattr(model, method)(rows)


def of_frame(rows, model, method):
    """Predictions for a partition, as a pandas object. Runs on a worker."""
    import pandas as pd

    values = of_array(rows, model, method)
    if values.ndim == 2:
        return pd.DataFrame(values, index=rows.index, columns=model.classes_)
    return pd.Series(values, index=rows.index, name=method)


def _check_columns(model, X):
    """Refuse other columns than the model was fitted on now, not when the collection is computed."""
    if hasattr(X, "columns"):
        import pandas as pd

        nothing = pd.DataFrame(columns=X.columns)
    else:
        nothing = np.empty((0, X.shape[1]))
    validate_data(model, nothing, reset=False, skip_check_array=True)


def _meta(X, model, method, kind, several):
    """A stand-in for the predictions, with no rows."""
    import pandas as pd

    index = pd.Index([], dtype=X.index.dtype, name=X.index.name)
    if several:
        return pd.DataFrame({label: pd.Series(dtype=kind, index=index) for label in model.classes_}, index=index)
    return pd.Series(np.empty(0, dtype=kind), index=index, name=method)
