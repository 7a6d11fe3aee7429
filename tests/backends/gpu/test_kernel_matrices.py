"""Kernel matrices on a GPU equal those on the host."""

import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn.backends.gpu.arrays import arrays_of
from fuselearn.backends.gpu.gpu_pool import GpuJointLoss
from fuselearn.backends.gpu.kernel_matrices import mean_squared_distance, squared_distances
from fuselearn.data import is_gpu_array
from fuselearn.data.view_table import to_host
from fuselearn.kernels import (
    augmented_kernel,
    composite_kernel,
    composite_test_kernel,
    tomographic_correspondence,
)
from fuselearn.numeric import pairs
from tests.backends.gpu.gpu_problems import (
    Traffic,
)


def test_kernels_on_a_gpu(library, grams):
    kernels, rng = grams
    there = [library.array(kernel) for kernel in kernels]
    meta_objects = np.column_stack([rng.integers(len(kernel), size=40) for kernel in kernels])
    composite = composite_kernel(there, meta_objects, weights=[1.0, 0.5])
    assert is_gpu_array(composite)
    assert_allclose(to_host(composite), composite_kernel(kernels, meta_objects, weights=[1.0, 0.5]))
    test_kernels = [kernel[:6, :] for kernel in kernels]
    of_test = composite_test_kernel([library.array(kernel) for kernel in test_kernels], meta_objects)
    assert_allclose(to_host(of_test), composite_test_kernel(test_kernels, meta_objects))
    assert_allclose(to_host(augmented_kernel(there)), augmented_kernel(kernels))
    for one, other in zip(there, kernels):
        assert_allclose(to_host(squared_distances(one)), pairs.squared_distances(other), atol=1e-12)
        assert mean_squared_distance(one) == pytest.approx(pairs.mean_squared_distance(other))
    labels = [rng.integers(2, size=len(kernel)) for kernel in kernels]
    found, expected = (tomographic_correspondence(some, labels, random_state=0) for some in (there, kernels))
    assert_array_equal(found[0], expected[0])


def test_bad_kernels_are_refused(grams):
    kernels, _ = grams
    there = [array_api_strict.asarray(kernel) for kernel in kernels]
    meta_objects = [[0, 0], [1, 1]]
    with pytest.raises(ValueError, match=r"kernels must be on the same GPU; they are on .*the host"):
        composite_kernel([there[0], kernels[1]], meta_objects)
    elsewhere = array_api_strict.asarray(kernels[1], device=array_api_strict.Device("device1"))
    with pytest.raises(ValueError, match="kernels must be on the same GPU"):
        composite_kernel([there[0], elsewhere], meta_objects)
    with pytest.raises(ValueError, match=r"kernels\[0\] must be a square matrix"):
        composite_kernel([there[0][:5, :], there[1]], meta_objects)
    lopsided = kernels[0].copy()
    lopsided[0, 1] += 1.0
    with pytest.raises(ValueError, match=r"kernels\[0\] must be symmetric"):
        composite_kernel([array_api_strict.asarray(lopsided), there[1]], meta_objects)
    with pytest.raises(ValueError, match=r"kernels\[0\] holds NaN"):
        composite_kernel([there[0] * np.nan, there[1]], meta_objects)
    with pytest.raises(ValueError, match=r"kernels\[0\] must be float32 or float64; got int32"):
        composite_kernel([array_api_strict.zeros((3, 3), dtype=array_api_strict.int32), there[1]], meta_objects)


def test_constants_are_made_on_the_gpu(monkeypatch, grams):
    traffic = Traffic(monkeypatch)
    kernels = [array_api_strict.asarray(np.eye(300)) for _ in range(2)]
    augmented_kernel(kernels)
    assert traffic.up < 8 * 600 * 600 / 10
    signs = np.ones((4, 5_000), dtype=np.int8)
    before = traffic.up
    GpuJointLoss(signs, arrays_of(kernels[0]))
    assert traffic.up - before < 2 * 8 * 5_000 + signs.nbytes + 1_000  # signs, and outputs that are 0


def test_kernels_of_no_meta_objects_and_labels_on_a_gpu(library, grams):
    kernels, rng = grams
    there = [library.array(kernel) for kernel in kernels]
    nothing = np.empty((0, 2), dtype=int)
    assert composite_kernel(there, nothing).shape == composite_kernel(kernels, nothing).shape == (0, 0)
    empty = [kernel[:0, :] for kernel in there]
    assert composite_test_kernel(empty, [[0, 0]]).shape == (0, 1)
    weights = np.array([1.0, 0.25])
    composite = composite_kernel(there, [[0, 1], [2, 3]], weights=library.array(weights))
    assert_allclose(to_host(composite), composite_kernel(kernels, [[0, 1], [2, 3]], weights=weights))
    labels = [rng.integers(2, size=len(kernel)) for kernel in kernels]
    known = np.array([[np.flatnonzero(own == 1)[0] for own in labels]])
    found = tomographic_correspondence(
        there, [library.array(own) for own in labels], known=library.array(known), random_state=0
    )
    expected = tomographic_correspondence(kernels, labels, known=known, random_state=0)
    assert_array_equal(found[0], expected[0])
    same, expected = (
        tomographic_correspondence([there[0]] * 2, own, random_state=0) for own in (library.array(labels[0]), labels[0])
    )
    assert_array_equal(same[0], expected[0])
