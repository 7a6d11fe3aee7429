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


def interacting_views(n_rows, *, seed=0):
    """Draw two classes that depend on the views together: products and thresholds of columns of different views.

    Every view also says something by itself, within it columns are correlated, and some are counts or codes. A view is
    absent in some rows (all its columns are NaN), whatever the class; no row lacks all of them.

    Parameters
    ----------
    n_rows : int
    seed : int, default=0

    Returns
    -------
    X : float32 ndarray of shape (n_rows, 40)
    y : int ndarray of shape (n_rows,)
    views : dict of name to slice
    chances : ndarray of shape (n_rows,)
        Probability of class 1, given all columns: no classifier is better than this one.
    """
    generator = np.random.default_rng(seed)
    blocks = []
    for n_columns, n_factors in ((12, 4), (20, 6), (8, 3)):
        factors = generator.normal(size=(n_rows, n_factors))
        loads = generator.normal(size=(n_factors, n_columns)) / np.sqrt(n_factors)
        blocks.append(0.7 * factors @ loads + 0.7 * generator.normal(size=(n_rows, n_columns)))
    first, second, third = blocks
    second[:, 10:] = np.exp(0.7 * second[:, 10:])  # long tails
    third[:, :3] = np.floor(np.clip(2.5 * third[:, :3] + 5, 0, 9))  # codes whose order means nothing
    odd = third[:, 0] % 2 == 1
    alone = 0.4 * first[:, 0] + 0.4 * np.abs(first[:, 1]) + 0.4 * second[:, 0] + 0.3 * np.log(second[:, 10])
    within = 0.4 * first[:, 2] * first[:, 3] + 0.4 * second[:, 1] * second[:, 2] + 0.4 * (third[:, 3] > third[:, 4])
    across = (
        0.6 * first[:, 4] * second[:, 3]
        + 0.8 * np.where(odd, first[:, 5], -first[:, 5])
        + 0.6 * (second[:, 4] > 0) * third[:, 5]
        + 0.5 * (first[:, 6] > 0.5) * (second[:, 5] < 0) * (third[:, 1] > 4)
    )
    score = alone + within + across
    chances = 1 / (1 + np.exp(-(score - score.mean())))
    y = (generator.random(n_rows) < chances).astype(np.int64)
    present = generator.random((n_rows, 3)) >= (0.05, 0.15, 0.3)
    present[~present.any(axis=1), 0] = True
    for block, has_view in zip(blocks, present.T):
        block[~has_view] = np.nan
    views = {"profile": slice(0, 12), "behaviour": slice(12, 32), "context": slice(32, 40)}
    return np.hstack(blocks).astype(np.float32), y, views, chances


def real_views(name):
    """Load a set of several views with all its classes, from the folder that FUSELEARN_DATA names.

    Unlike `fuselearn.datasets.fetch_views`, which knows the sets that users can get by name, this reads any file of
    that layout.

    Parameters
    ----------
    name : str

    Returns
    -------
    X : float32 ndarray of shape (n_rows, n_columns)
    y : int ndarray of shape (n_rows,)
        Classes from 0, in the order of their names.
    views : dict of name to slice
    extra : dict of name to ndarray
        Further arrays of the file.

    Raises
    ------
    FileNotFoundError
        Where there is no such file.
    """
    folder = os.environ.get(DATA_FOLDER_VARIABLE)
    path = Path(folder or ".") / name / f"{name}.npz"
    if not folder or not path.exists():
        raise FileNotFoundError(f"{DATA_FOLDER_VARIABLE} names no folder that holds {name}/{name}.npz.")
    with np.load(path) as arrays:
        found = dict(arrays)
    tables, extra = {}, {}
    for key, array in found.items():
        if key.startswith("view_"):
            tables[key.removeprefix("view_")] = np.asarray(array, dtype=np.float32).reshape(len(array), -1)
        elif key != "y":
            extra[key] = array
    ends = np.cumsum([table.shape[1] for table in tables.values()])
    views = {view: slice(end - table.shape[1], end) for (view, table), end in zip(tables.items(), ends.tolist())}
    return np.hstack(list(tables.values())), np.unique(found["y"], return_inverse=True)[1], views, extra
