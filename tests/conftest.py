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
    "fuselearn", deadline=None, derandomize=True, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", settings.get_profile("fuselearn"), derandomize=False, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fuselearn"))


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
