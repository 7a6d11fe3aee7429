"""Array libraries, random problems and comparisons of models for the tests of GPU code."""

import importlib
import warnings
from importlib.util import find_spec

import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_multilabel_classification

from fuselearn.backends.gpu.arrays import StandardArrays
from fuselearn.exceptions import NoEdgeWarning
from tests.backends.gpu import cupy_stand_in


def gpu_is_found():
    if find_spec("cupy") is None:
        return False
    cupy = importlib.import_module("cupy")
    try:
        return cupy.cuda.runtime.getDeviceCount() > 0
    except cupy.cuda.runtime.CUDARuntimeError:
        return False


ON_GPU = pytest.mark.skipif(not gpu_is_found(), reason="no GPU is found, or CuPy is not installed")
ON_TORCH = pytest.mark.skipif(
    not gpu_is_found() or find_spec("torch") is None, reason="no GPU is found, or torch is not installed"
)
LEARNERS = ("gaussian_nb", "stump", "tree", "linear")


class Library:
    """Makes arrays of a library, and says how many rows are several blocks of it."""

    def __init__(self, name, use_fused=True):
        self.name, self.use_fused = name, use_fused
        self.many_rows = 300 if name in ("numpy", "array_api_strict") else 9_000  # several blocks of either

    def array(self, values):
        if values is None:
            return None
        values = np.array(values)
        if self.name == "numpy":
            with cupy_stand_in.Device(1):  # which is not the current one
                return cupy_stand_in.StandIn().asarray(values)
        if self.name == "array_api_strict":
            return array_api_strict.asarray(values, device=array_api_strict.Device("device1"))  # NumPy cannot read it
        if self.name == "cupy":
            return importlib.import_module("cupy").asarray(values)
        return importlib.import_module("torch").asarray(values, device="cuda")


class Problem:
    """Random rows in three views, the second of which has its columns in another order."""

    def __init__(self, seed, n_classes=2, n_rows=90, absent=False, gaps=False, dtype=np.float64):
        rng = np.random.default_rng(seed)
        self.y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n_rows - n_classes)])
        X = rng.normal(size=(n_rows, 9)) + 0.6 * rng.normal(size=(n_classes, 9))[self.y]
        self.views = {"a": slice(0, 3), "b": [3, 5, 4], "c": slice(6, 9)}
        if gaps:
            X[rng.random(X.shape) < 0.1] = np.nan
        if absent:
            here = rng.random((n_rows, 3)) > 0.3
            here[np.arange(n_rows), np.arange(n_rows) % 3] = True
            X[~np.repeat(here, 3, axis=1)] = np.nan
        X[np.isnan(X).all(axis=1), 0] = 0.0
        self.X = X.astype(dtype)
        self.n_classes = n_classes
        self.rng = rng


def assert_same_model(there, here, atol=1e-9):
    assert there.n_iter_ == here.n_iter_
    assert_array_equal(there.winning_arms_, here.winning_arms_)
    assert_allclose(there.estimator_weights_, here.estimator_weights_, atol=atol)
    assert_allclose(there.arm_errors_, here.arm_errors_, atol=atol)
    assert_allclose(there.class_prior_, here.class_prior_)
    assert_array_equal(there.classes_, here.classes_)
    assert there.view_names_ == here.view_names_


def fitted(model, problem, array=lambda values: values, **arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoEdgeWarning)
        arguments = {name: array(values) for name, values in arguments.items()}
        return model.fit(array(problem.X), array(problem.y), **arguments)


def labels_problem(seed):
    X, Y = make_multilabel_classification(n_samples=150, n_classes=5, random_state=seed)
    return X.astype(float), Y


class Traffic:
    """Counts the bytes that go to the GPU that `array_api_strict` stands in for, and those that come from it."""

    def __init__(self, monkeypatch):
        self.up = self.down = 0
        from_host, to_host = StandardArrays.from_host, StandardArrays.to_host

        def count_up(arrays, values):
            self.up += np.asarray(values).nbytes
            return from_host(arrays, values)

        def count_down(arrays, values):
            host_values = to_host(arrays, values)
            self.down += host_values.nbytes
            return host_values

        monkeypatch.setattr(StandardArrays, "from_host", count_up)
        monkeypatch.setattr(StandardArrays, "to_host", count_down)
