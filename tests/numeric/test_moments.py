"""Weighted moments and quadratic scores against their definitions."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn.numeric.execution import BLOCK_ROWS
from fuselearn.numeric.moments import largest_quadratic, weighted_moments


def in_blocks(X):
    """Rows in blocks, and within a block column after column."""
    blocks = [X[start : start + BLOCK_ROWS].T.ravel() for start in range(0, len(X), BLOCK_ROWS)]
    return np.concatenate(blocks)


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_moments_and_scores(seed, ordered, gaps):
    rng = np.random.default_rng(seed)
    n, p, n_classes = int(rng.integers(1, 3000)), int(rng.integers(1, 5)), int(rng.integers(2, 70))
    X = rng.normal(size=(n, p))
    if gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
    codes = rng.integers(0, n_classes, n).astype(np.int32)
    codes = np.sort(codes) if ordered else codes
    weights = rng.exponential(size=n) * (rng.random(n) < 0.8)
    moments = weighted_moments(in_blocks(X), p, codes, weights, n_classes, gaps=gaps)
    class_weights = weights[:, None] * (codes[:, None] == np.arange(n_classes))
    observed, filled = ~np.isnan(X), np.nan_to_num(X)
    expected = np.hstack(
        [
            class_weights.sum(axis=0)[:, None],
            class_weights.T @ observed,
            class_weights.T @ filled,
            class_weights.T @ filled**2,
        ]
    )
    assert_allclose(moments, expected, atol=1e-9)

    n_forms = 1 if n_classes == 2 else n_classes
    squares, slopes, column_constants = rng.normal(size=(3, n_forms, p))
    constants = rng.normal(size=n_forms)
    predicted = largest_quadratic(in_blocks(X), n, squares, slopes, column_constants, constants, gaps=gaps)
    scores = constants + filled**2 @ squares.T + filled @ slopes.T + observed @ column_constants.T
    assert_array_equal(predicted, scores[:, 0] > 0 if n_forms == 1 else scores.argmax(axis=1))
