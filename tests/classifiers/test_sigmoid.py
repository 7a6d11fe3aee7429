"""Platt's sigmoid has the largest likelihood."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from fuselearn.classifiers.calibration import fit_sigmoid


@given(st.integers(0, 2**32 - 1), st.floats(1e-3, 1e3))
def test_the_sigmoid_has_the_largest_likelihood(seed, scale):
    rng = np.random.default_rng(seed)
    positive = rng.random(40) < rng.uniform(0.2, 0.8)
    values, weights = scale * (rng.normal(size=40) + positive), rng.exponential(size=40)
    n_positive, n_negative = weights[positive].sum(), weights[~positive].sum()
    targets = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))

    def loss(slope, offset):
        odds = slope * values + offset
        return weights @ (np.logaddexp(0, odds) - targets * odds)

    slope, offset = fit_sigmoid(values, positive, weights)
    least = loss(slope, offset)
    for other in (loss(slope * 1.01, offset), loss(slope * 0.99, offset), loss(slope, offset + 0.01), loss(0.0, 0.0)):
        assert least <= other + 1e-9


def test_a_sigmoid_of_separated_values_is_finite():
    slope, offset = fit_sigmoid(np.r_[np.full(50, -1.0), np.full(50, 1.0)], np.arange(100) >= 50)
    assert_allclose(1 / (1 + np.exp(-(slope + offset))), 51 / 52, rtol=1e-4)
    assert_allclose(fit_sigmoid(np.zeros(4), np.array([True, True, True, False]))[0], 0)
