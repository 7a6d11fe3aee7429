"""Rows in partitions, and comparisons of the models that they give."""

import gc
import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn.boosting import base

pytest.importorskip("distributed")
import dask.array as da

from fuselearn.backends.partitioned import dask_worker

VIEWS = {"a": ["c0", "c1", "c2"], "b": ["c3", "c4", "c5"], "c": ["c6", "c7"]}
NUMBERED = {"a": [0, 1, 2], "b": [3, 4, 5], "c": [6, 7]}
FLOATS = ("estimator_weights_", "estimator_errors_", "arm_errors_", "class_prior_", "view_importances_")


def make_rows(n=5000, n_classes=2, seed=0):
    """Three views, some of them missing, with a column of few values, one that is mostly zero, and gaps."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    X[:, 2] = rng.integers(0, 6, n)
    X[:, 5] = np.where(rng.random(n) < 0.97, 0, X[:, 5])
    cuts = np.linspace(-1.5, 1.5, n_classes + 1)[1:-1]
    y = np.array(["no", "perhaps", "yes"][:n_classes])[
        np.digitize(X[:, 0] + X[:, 4] + 0.5 * X[:, 6] + rng.normal(size=n), cuts)
    ]
    X[rng.random((n, 8)) < 0.02] = np.nan
    X[rng.random(n) < 0.2, 3:6] = np.nan
    X[rng.random(n) < 0.2, 6:] = np.nan
    X[np.isnan(X[:, :3]).all(axis=1), 0] = 0.0
    weights = rng.random(n)
    weights[rng.random(n) < 0.1] = 0
    return X, y, weights, rng


X, y, weights, _ = make_rows()
FRAME = pd.DataFrame(X, columns=[f"c{number}" for number in range(8)])


def in_chunks(n_partitions, *arrays):
    """Dask arrays of so many chunks, of different lengths."""
    cuts = np.unique(np.linspace(0, 1, n_partitions + 1) ** 1.5 * len(arrays[0])).astype(int)
    lengths = tuple(np.diff(cuts).tolist())
    return [da.from_array(array, chunks=(lengths, *array.shape[1:])) for array in arrays]


def assert_equal_models(one, other, *, exact):
    """All that a fit says is the same: bit for bit, or floats within 1e-9 and all else bit for bit."""
    assert one.n_iter_ == other.n_iter_
    assert_array_equal(one.classes_, other.classes_)
    assert_array_equal(one.winning_arms_, other.winning_arms_)
    assert_array_equal(one.winning_views_, other.winning_views_)
    for name in FLOATS:
        values = getattr(one, name), getattr(other, name)
        assert_allclose(*values, rtol=0, atol=0 if exact else 1e-9, err_msg=name)
    if one.arm_probabilities_ is None:
        assert other.arm_probabilities_ is None
    else:
        assert_allclose(one.arm_probabilities_, other.arm_probabilities_, rtol=0, atol=0 if exact else 1e-9)
    assert one.trace_.one_label_column == other.trace_.one_label_column
    assert one.trace_.equal_weights == other.trace_.equal_weights
    assert one.n_samples_fit_ == other.n_samples_fit_
    for ours, theirs in zip(one.estimators_, other.estimators_):
        assert (ours is None) == (theirs is None)
        for name, value in vars(ours).items() if ours is not None else ():
            if isinstance(value, np.ndarray):
                discrete = value.dtype.kind != "f" or name == "threshold"
                # Quadratic forms are as large as one over the least variance.
                assert_allclose(
                    value, getattr(theirs, name), rtol=0 if exact or discrete else 1e-9, atol=0, err_msg=name
                )


def assert_nothing_is_held():
    """The workers of this process let go of a run once its client does, though not at once."""
    end = time.monotonic() + 60
    while dask_worker.RUNS and time.monotonic() < end:
        gc.collect()
        time.sleep(0.01)
    assert not dask_worker.RUNS


def after_round(number, act, monkeypatch):
    """Let something be done once, after a round of the next fit."""
    original = base.BaseBoost._report

    def report(self, trace, arms):
        original(self, trace, arms)
        if len(trace) == number:
            act()

    monkeypatch.setattr(base.BaseBoost, "_report", report)
