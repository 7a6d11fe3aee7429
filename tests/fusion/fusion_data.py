"""Small rows with three views, and the models that tests of FusionClassifier share."""

import numpy as np
from numpy.testing import assert_array_equal

from fuselearn import FusionClassifier

VIEWS = {"a": [0, 1, 2], "b": slice(3, 5), "noise": [5]}


def table(n=90, n_classes=2, seed=0, distance=1.2):
    """Rows of two views that know the class, and one that does not."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    directions = np.random.default_rng(99).normal(size=(n_classes, 5))
    X = rng.normal(size=(n, 6))
    X[:, :5] += distance * directions[y]
    return X, y


X, y = table()
X_NEW, Y_NEW = table(60, seed=1)
MODEL = FusionClassifier(views=VIEWS, random_state=0)
ONE_PASS = FusionClassifier(views=VIEWS, max_fits=12, random_state=0)
"""Each of the base models fitted once, for tests that need no second pass: it takes half the time."""


def split(digits, n, seed=0):
    order = np.random.default_rng(seed).permutation(len(digits.X))
    return order[:n], order[n:]


def same(one, other, rows=X_NEW):
    assert_array_equal(one.predict_proba(rows), other.predict_proba(rows))
    assert_array_equal(one.decision_function(rows), other.decision_function(rows))
    assert_array_equal(one.posterior_, other.posterior_)
    assert_array_equal(one.arm_weights_, other.arm_weights_)
    assert one.n_fits_ == other.n_fits_
