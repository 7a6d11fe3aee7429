"""Rows for tests of a fusion by sums: few, so that tests are quick, but treated as many."""

from itertools import pairwise

import numpy as np

from fuselearn.backends.partitioned.partitions import LocalPartitions
from fuselearn.fusion.fusion_rows import FusionBlock, FusionFrame

VIEWS = {"a": [0, 1, 2], "b": [3, 4], "c": [5]}


def table(n=400, n_classes=2, seed=0, missing=0.0):
    """Rows of three views of which each knows something of the class; a share of the views is missing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    directions = np.random.default_rng(99).normal(size=(n_classes, 6))
    X = rng.normal(size=(n, 6)) + directions[y]
    gone = rng.random((n, len(VIEWS))) < missing
    gone[gone.all(axis=1), 0] = False
    for view, columns in enumerate(VIEWS.values()):
        X[np.ix_(gone[:, view], columns)] = np.nan
    return X, y


def blocks(X, y, n_blocks=1, n_folds=3, seed=0, weights=None):
    """The rows as blocks; return the frame, the blocks and the folds."""
    columns = [np.array(columns) for columns in VIEWS.values()]
    frame = FusionFrame(list(VIEWS), columns, int(y.max()) + 1, len(X), n_folds, X.shape[1])
    folds = np.random.default_rng(seed + 7).integers(n_folds, size=len(X)).astype(np.int8)
    weights = np.ones(len(X)) if weights is None else weights / weights.mean()
    present = np.column_stack([~np.isnan(X[:, own]).all(axis=1) for own in columns])
    cuts = np.linspace(0, len(X), n_blocks + 1).astype(int)
    made = [
        FusionBlock(
            frame,
            X[start:stop],
            present[start:stop],
            y[start:stop, None],
            weights[start:stop],
            folds[start:stop],
            start,
        )
        for start, stop in pairwise(cuts)
    ]
    return frame, made, folds


def partitions(*arguments, **settings):
    """The rows as partitions, for `ask`."""
    frame, made, folds = blocks(*arguments, **settings)
    return frame, LocalPartitions(made), folds
