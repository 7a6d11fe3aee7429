"""Labels as class codes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from fuselearn.data.labels import majority_codes
from tests.naive import fusion as naive


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 4]))
def test_majority_labels(seed, n_classes):
    rng = np.random.default_rng(seed)
    codes, present = rng.integers(0, n_classes, (20, 4)), rng.random((20, 4)) < 0.7
    present[:, 1] |= ~present.any(axis=1)
    rows = [[label if here else None for label, here in zip(*row)] for row in zip(codes, present)]
    assert_array_equal(majority_codes(codes, present, n_classes), [naive.majority(row, n_classes) for row in rows])
    assert_array_equal(majority_codes(codes[:1], present[:1] & False, n_classes), [-1])
