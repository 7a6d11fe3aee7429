"""RBF kernels against their definition."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn.numeric.rbf import rbf_decision_values, rbf_gram, rbf_kernel


@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 20), st.sampled_from([0.0, 0.1, 3.0]))
def test_kernels_are_exponentials_of_distances(seed, n_rows, n_centres, gamma):
    rng = np.random.default_rng(seed)
    rows, centres = rng.normal(size=(n_rows, 3)), rng.normal(size=(n_centres, 3))
    expected = np.exp(-gamma * ((rows[:, None] - centres[None]) ** 2).sum(axis=2))
    assert_allclose(rbf_kernel(rows, centres, gamma), expected, rtol=1e-12, atol=1e-15)
    assert_allclose(rbf_gram(rows, gamma), rbf_kernel(rows, rows, gamma), rtol=1e-12, atol=1e-15)
    coefficients, values = rng.normal(size=n_centres), np.empty(n_rows)
    rbf_decision_values(rows, centres, coefficients, 0.5, gamma, values)
    assert_allclose(values, expected @ coefficients + 0.5, rtol=1e-9, atol=1e-8)


def test_rows_far_away_have_a_kernel_of_zero():
    rows = np.array([[1e100, -1e100], [0.0, 0.0]])
    assert_array_equal(rbf_kernel(rows, np.zeros((1, 2)), 2.0), [[0.0], [1.0]])
