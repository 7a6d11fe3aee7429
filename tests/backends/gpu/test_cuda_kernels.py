"""The fused CUDA kernels: when they are used, and how rows and coefficients are laid out for them."""

import re
from itertools import pairwise
from types import SimpleNamespace

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from fuselearn import (
    ShareBoostClassifier,
)
from fuselearn.backends.gpu import cuda_kernels, gpu_pool
from fuselearn.backends.gpu.arrays import TorchArrays, arrays_of
from fuselearn.backends.gpu.cuda_kernels import FusedKernels, cuda_source, cut_into_pieces, fused_kernels, pack_forms
from fuselearn.learners import Tree
from tests.backends.gpu.gpu_problems import (
    ON_GPU,
    Library,
    Problem,
    assert_same_model,
    fitted,
)


@pytest.mark.parametrize(
    ("name", "kernels", "constants"),
    [
        (
            "boosting.cu",
            "lay_out moments largest_1 largest_4 add_pieces judge multiply histograms walk",
            {"BLOCK": cuda_kernels.BLOCK_ROWS, "TALLY_ROWS": cuda_kernels.TALLY_ROWS},
        ),
        (
            "multilabel.cu",
            "losses_of_all losses_of_pairs add_blocks",
            {"ROWS": gpu_pool.ROWS_OF_BLOCK, "CANDIDATES": gpu_pool.CANDIDATES, "LABELS": gpu_pool.LABELS},
        ),
    ],
)
def test_cuda_sources_have_the_kernels_and_sizes_that_are_used(name, kernels, constants):
    source = cuda_source(name)
    assert set(re.findall(r"__global__ void (?:__launch_bounds__\(.*?\) )?(\w+)\(", source)) == set(kernels.split())
    defined = dict(re.findall(r"^#define (\w+) (\d+)$", source, re.MULTILINE))
    assert {key: int(defined[key]) for key in constants} == constants


@pytest.mark.long
def test_a_level_of_many_nodes(library, monkeypatch):
    monkeypatch.setattr(cuda_kernels, "MAX_GROUP_SUMS", 1)
    problem = Problem(15, 3, n_rows=150)
    deep = Tree(6, impurity_tolerance=0.0)
    here = fitted(ShareBoostClassifier(deep, views=problem.views, n_estimators=3), problem)
    there = fitted(ShareBoostClassifier(deep, views=problem.views, n_estimators=3), problem, library.array)
    assert_same_model(there, here)


def test_without_cupy_plain_operations_are_used(monkeypatch):
    assert fused_kernels(arrays_of(np.zeros(1))) is None
    assert fused_kernels(arrays_of(array_api_strict.zeros(1))) is None

    def no_such_module(name):
        raise ModuleNotFoundError(name, name=name)

    monkeypatch.setattr(cuda_kernels, "import_module", no_such_module)
    assert fused_kernels(TorchArrays(None, "cuda:0")) is None


@settings(max_examples=50, deadline=None)
@given(sizes=st.lists(st.integers(0, 40), min_size=1, max_size=6), size=st.integers(1, 16))
def test_pieces_cover_every_group_and_cross_no_border(sizes, size):
    starts = np.concatenate([[0], np.cumsum(sizes)])
    first, last, piece_starts = cut_into_pieces(starts, size)
    assert len(piece_starts) == len(starts)
    for group, (start, stop) in enumerate(pairwise(starts)):
        own = slice(piece_starts[group], piece_starts[group + 1])
        rows = [row for one, other in zip(first[own], last[own]) for row in range(one, other)]
        assert rows == list(range(start, stop))
    assert_array_equal(first // size, (last - 1) // size)


@pytest.mark.parametrize("n_forms", [1, 3, 4, 5, 8])
@pytest.mark.parametrize("gaps", [False, True])
def test_packed_forms_give_the_same_scores(n_forms, gaps):
    rng = np.random.default_rng(n_forms)
    n_columns, at_a_time = 7, 1 if n_forms == 1 else cuda_kernels.FORMS_AT_A_TIME
    plan = SimpleNamespace(means=rng.normal(size=n_columns), scales=rng.exponential(size=n_columns))
    squares, slopes, column_constants = rng.normal(size=(3, n_forms, n_columns))
    constants = rng.normal(size=n_forms)
    parts = {"squares": squares, "slopes": slopes, "column_constants": column_constants, "constants": constants}
    coefficients, packed_constants = pack_forms(SimpleNamespace(plan=plan, **parts), at_a_time, gaps)
    x = rng.normal(size=n_columns)
    z = (x - plan.means) / plan.scales
    for form in range(n_forms):
        # As the kernel reads them.
        group, place = divmod(form, at_a_time)
        score = packed_constants[form]
        for own in np.column_stack([x, coefficients[group]]):
            standardised = (own[0] - own[1]) * own[2]
            a, b, c = own[3 + 3 * place : 6 + 3 * place]
            score += standardised * (b + standardised * a) + (c if gaps else 0.0)
        expected = constants[form] + (squares[form] * z**2 + slopes[form] * z + column_constants[form]).sum()
        assert score == pytest.approx(expected)
    assert_array_equal(packed_constants[n_forms:], 0)


def test_a_cupy_that_does_not_work_is_warned_of(monkeypatch):
    def broken(name):
        raise ImportError("libcudart.so.12 cannot be opened")

    monkeypatch.setattr(cuda_kernels, "import_module", broken)
    with pytest.warns(RuntimeWarning, match=r"libcudart.so.12 cannot be opened.*fuselearn\[cuda\]"):
        assert fused_kernels(TorchArrays(None, "cuda:0")) is None

    class WithoutCompiler:
        class RawKernel:
            def __init__(self, *arguments):
                pass

            def compile(self):
                raise RuntimeError("no NVRTC")

    monkeypatch.setattr(cuda_kernels, "import_module", lambda name: WithoutCompiler)
    with pytest.warns(RuntimeWarning, match="no NVRTC"):
        assert fused_kernels(TorchArrays(None, "cuda:0")) is None


def test_bins_that_do_not_fit_are_counted_plainly(monkeypatch):
    def kind_of_bins(room):
        gpu = SimpleNamespace(attributes={"MaxSharedMemoryPerBlockOptin": room})
        cupy = SimpleNamespace(cuda=SimpleNamespace(Device=lambda: gpu))
        return FusedKernels(cupy).bins(None, None, SimpleNamespace(n_bins=257), None, None)

    monkeypatch.setattr(cuda_kernels, "FusedBins", lambda *arguments: "fused")
    monkeypatch.setattr(cuda_kernels, "GpuBins", lambda *arguments: "plain")
    assert kind_of_bins(99 * 2**10) == "fused"
    assert kind_of_bins(64 * 2**10) == "plain"


@ON_GPU
@pytest.mark.parametrize("learner", ["gaussian_nb", "stump", Tree(3, impurity_tolerance=0.0)], ids=str)
def test_more_groups_than_a_grid_is_high(learner, monkeypatch):
    problem = Problem(26, 6, n_rows=300)
    here = fitted(ShareBoostClassifier(learner, views=problem.views, n_estimators=3), problem)
    monkeypatch.setattr(cuda_kernels, "MAX_GROUPS", 2)
    there = fitted(ShareBoostClassifier(learner, views=problem.views, n_estimators=3), problem, Library("cupy").array)
    assert_same_model(there, here)


@ON_GPU
def test_a_gpu_of_little_shared_memory(monkeypatch):
    problem = Problem(27, 3, n_rows=300)
    here = fitted(ShareBoostClassifier("tree", views=problem.views, n_estimators=3), problem)
    monkeypatch.setattr(cuda_kernels, "_histogram_bytes", lambda n_bins: 2**40)
    there = fitted(ShareBoostClassifier("tree", views=problem.views, n_estimators=3), problem, Library("cupy").array)
    assert_same_model(there, here)
