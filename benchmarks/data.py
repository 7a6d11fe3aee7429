"""Data to measure on."""

import os
from pathlib import Path

import numpy as np

DATA_FOLDER_VARIABLE = "FUSELEARN_DATA"
MFEAT_VIEWS = ("fou", "fac", "kar", "pix", "zer", "mor")
N_CLUSTERS = 8
ROWS_AT_A_TIME = 10_000


def clustered_views(n_rows, n_views, n_columns, *, flipped=0.1, seed=0):
    """Draw two classes, each a mixture of Gaussian clusters in every view.

    No weak learner fits such data, and some labels are wrong: so boosting always finds something left to learn. (On
    data that naive Bayes models well, it has no edge left after a dozen rounds.)

    Parameters
    ----------
    n_rows, n_views : int
    n_columns : int
        Columns of each view.
    flipped : float, default=0.1
        Share of the labels that are wrong.
    seed : int, default=0

    Returns
    -------
    X : float64 ndarray of shape (n_rows, n_views * n_columns)
        Filled a few rows at a time, so that building it takes no more memory than it has.
    y : int ndarray of shape (n_rows,)
    views : dict of name to slice
    """
    generator = np.random.default_rng(seed)
    centres = 0.25 * generator.normal(size=(2, N_CLUSTERS, n_views * n_columns))
    X = np.empty((n_rows, n_views * n_columns))
    y = np.empty(n_rows, dtype=np.int64)
    for start in range(0, n_rows, ROWS_AT_A_TIME):
        rows = slice(start, min(start + ROWS_AT_A_TIME, n_rows))
        labels = generator.integers(2, size=rows.stop - start)
        generator.standard_normal(out=X[rows])
        X[rows] += centres[labels, generator.integers(N_CLUSTERS, size=len(labels))]
        y[rows] = labels ^ (generator.random(len(labels)) < flipped)
    return X, y, equal_views(n_views, n_columns)


def equal_views(n_views, n_columns):
    """Return views of `n_columns` consecutive columns each."""
    return {f"view{number}": slice(number * n_columns, (number + 1) * n_columns) for number in range(n_views)}


def mfeat():
    """Load handwritten digits in six views; the task is digits of at least 5 against the others.

    Returns
    -------
    X, y, views
        Or None where the environment variable FUSELEARN_DATA does not name a folder with ``mfeat/mfeat.npz``.
    """
    folder = os.environ.get(DATA_FOLDER_VARIABLE)
    path = Path(folder or ".") / "mfeat" / "mfeat.npz"
    if not folder or not path.exists():
        return None
    with np.load(path) as arrays:
        tables = [np.asarray(arrays[f"view_{name}"], dtype=np.float64) for name in MFEAT_VIEWS]
        y = (arrays["y"] >= 5).astype(np.int64)
    ends = np.cumsum([table.shape[1] for table in tables])
    views = {name: slice(end - table.shape[1], end) for name, table, end in zip(MFEAT_VIEWS, tables, ends.tolist())}
    return np.hstack(tables), y, views
