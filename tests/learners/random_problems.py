"""Random rows, classes and weights for learners."""

import numpy as np
from hypothesis import strategies as st


@st.composite
def problems(draw, max_rows=40, gaps=True, coarse=True):
    """Random rows, classes and weights; with ties, NaN and zero weights now and then."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(6, max_rows))
    p = draw(st.integers(1, 5))
    n_classes = draw(st.integers(2, 4))
    X = rng.normal(size=(n, p))
    if coarse and draw(st.booleans()):
        X = np.round(X * 2) / 2
    y = rng.integers(0, n_classes, n)
    X[:, 0] += y * draw(st.sampled_from([0.0, 0.5, 2.0]))
    if gaps and draw(st.booleans()):
        X[rng.random(X.shape) < 0.2] = np.nan
    w = rng.exponential(size=n) if draw(st.booleans()) else np.ones(n)
    if draw(st.booleans()):
        w[rng.random(n) < 0.2] = 0.0
        w[0] = 1.0
    return X, y, w / w.sum(), n_classes, rng


def tree_as_dict(hypothesis, node=0):
    if hypothesis.feature[node] < 0:
        return {"leaf": int(hypothesis.code[node])}
    return {
        "feature": int(hypothesis.feature[node]),
        "threshold": float(hypothesis.threshold[node]),
        "missing_left": bool(hypothesis.missing_left[node]),
        "left": tree_as_dict(hypothesis, hypothesis.left[node]),
        "right": tree_as_dict(hypothesis, hypothesis.right[node]),
    }
