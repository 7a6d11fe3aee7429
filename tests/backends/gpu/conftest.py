"""Arrays of every library, in small steps."""

import sys

import numpy as np
import pytest

from fuselearn.backends.gpu import gpu_pool, gpu_rows, gpu_table, kernel_matrices, prepared_rows
from tests.backends.gpu import cupy_stand_in
from tests.backends.gpu.gpu_problems import ON_GPU, ON_TORCH, Library

STEPS = [
    (gpu_table, "VALUES_AT_A_TIME", 500),
    (prepared_rows, "VALUES_AT_A_TIME", 500),
    (prepared_rows, "ONES_AT_A_TIME", 2**15),
    (gpu_pool, "VALUES_AT_A_TIME", 500),
    (kernel_matrices, "VALUES_AT_A_TIME", 500),
]
"""How much plain operations work on at a time, and how little it is here."""


@pytest.fixture(
    params=[
        Library("numpy", use_fused=False),
        Library("array_api_strict"),
        pytest.param(Library("cupy"), marks=ON_GPU),
        pytest.param(Library("cupy", use_fused=False), marks=ON_GPU),
        pytest.param(Library("torch"), marks=ON_TORCH),
        pytest.param(Library("torch", use_fused=False), marks=ON_TORCH),
    ],
    ids=["numpy", "array_api_strict", "cupy-fused", "cupy-plain", "torch-fused", "torch-plain"],
)
def library(request, monkeypatch):
    """Arrays of every library; two of them stand in for a GPU."""
    if request.param.name == "numpy":
        monkeypatch.setitem(sys.modules, "cupy", cupy_stand_in.StandIn())
    if request.param.name in ("numpy", "array_api_strict"):
        # Steps so small that even a few rows take several.
        for module, name, step in STEPS:
            monkeypatch.setattr(module, name, step)
    if not request.param.use_fused:
        monkeypatch.setattr(gpu_rows, "fused_kernels", lambda arrays: None)
        monkeypatch.setattr(gpu_pool, "fused_kernels", lambda arrays: None)
    return request.param


@pytest.fixture
def grams():
    rng = np.random.default_rng(2)
    points = rng.normal(size=(30, 3)), rng.normal(size=(25, 4))
    return [table @ table.T for table in points], rng
