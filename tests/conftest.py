"""What all tests share."""

import os
from pathlib import Path

if "PYTEST_XDIST_WORKER" in os.environ:
    # Each core has a worker already: threads of BLAS and OpenMP beside them would only wait for each other.
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# Compiling a kernel takes a second once; the same examples every time keep a failure reproducible.
settings.register_profile(
    "fuselearn", deadline=None, derandomize=True, max_examples=25, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", settings.get_profile("fuselearn"), derandomize=False, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fuselearn"))


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
    from fuselearn import ShareBoostClassifier, ShareGradientBoostingClassifier, ShareGradientBoostingRegressor

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
