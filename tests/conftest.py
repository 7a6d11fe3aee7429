"""What all tests share."""

import gc
import os
from pathlib import Path

if "PYTEST_XDIST_WORKER" in os.environ:
    # Each core has a worker already: threads of BLAS and OpenMP beside them would only wait for each other.
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

# Compiling a kernel takes a second once; the same examples every time keep a failure reproducible.
settings.register_profile(
    "fuselearn", deadline=None, derandomize=True, max_examples=8, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", settings.get_profile("fuselearn"), max_examples=25)
settings.register_profile("thorough", settings.get_profile("fuselearn"), derandomize=False, max_examples=1000)

# Hardly anything that importing and collecting makes can be freed: looking for it takes a fifth of the time.
gc.disable()


def pytest_configure(config):
    """Try more examples of each test by hypothesis in a run of the long tests."""
    profile = "long" if config.option.markexpr == "long" else "fuselearn"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", profile))


def pytest_itemcollected(item):
    """Mark what is long by rule: tests of real data, most parameters of a test that is `thinned`, many examples.

    Tests by hypothesis are among the quick tests, with few examples, and among the long ones, with more.
    """
    if "real_data" in item.fixturenames or (item.config.option.markexpr == "long" and is_hypothesis_test(item.obj)):
        item.add_marker(pytest.mark.long)
    marker = item.get_closest_marker("thinned")
    if marker is None:
        return
    seen = item.session.stash.setdefault(SEEN, {})
    test = item.parent.nodeid, item.originalname
    seen[test] = seen.get(test, -1) + 1
    if seen[test] % marker.args[0]:
        item.add_marker(pytest.mark.long)


def pytest_collection_finish():
    """Look for garbage from now on, among what the tests make themselves."""
    gc.freeze()
    gc.enable()


SEEN = pytest.StashKey[dict]()
"""How many of its parameters each thinned test has had so far."""
MANY_TESTS = 1000
"""Tests from which on it pays to compile all loops first."""


@pytest.fixture(scope="session", autouse=True)
def _loops_compiled_by_one_worker(request):
    """Let the first two workers compile different loops, which each then finds in the cache of the other.

    Compiling all of them takes half a minute. Both come to most of them at about the same time, and would do so twice.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker not in ("gw0", "gw1") or len(request.session.items) < MANY_TESTS:
        return
    from fuselearn import (
        ShareBoostClassifier,
        ShareGradientBoostingClassifier,
        ShareGradientBoostingRegressor,
        TomographicClassifier,
    )

    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 3)) + y[:, None]
    if worker == "gw0":
        models = [
            ShareGradientBoostingClassifier(n_estimators=1, min_samples_leaf=5, n_jobs=n_jobs) for n_jobs in (1, 2)
        ]
        models.append(ShareGradientBoostingRegressor(n_estimators=1, min_samples_leaf=5))
    else:
        models = [ShareBoostClassifier(learner, n_estimators=2) for learner in ("tree", "gaussian_nb", "linear")]
        models.append(TomographicClassifier(views=[slice(0, 1), slice(1, 3)]))
    for model in models:
        model.fit(X, y).predict(X)


@pytest.fixture(scope="session")
def real_data():
    """Load a set of the folder FUSELEARN_DATA as a dict of arrays; skip where there is none."""
    folder = os.environ.get("FUSELEARN_DATA")
    if not folder:
        pytest.skip("FUSELEARN_DATA is not set")

    def load(name):
        if not (Path(folder) / name).is_dir():
            pytest.skip(f"FUSELEARN_DATA has no {name}")
        with np.load(Path(folder) / name / f"{name}.npz", allow_pickle=False) as arrays:
            return dict(arrays)

    return load


@pytest.fixture(scope="session")
def thread_cluster():
    """Client of three Dask workers in this process, which is not the current one."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def client(thread_cluster):
    """Client of three Dask workers in this process, which is the current one."""
    with thread_cluster.as_current():
        yield thread_cluster


@pytest.fixture(scope="module")
def processes():
    """Client of two Dask workers in processes of their own, which can be killed; it is not the current one."""
    pytest.importorskip("distributed")
    from tests.backends.partitioned.cluster_faults import process_cluster

    with process_cluster() as (_, client):
        yield client
