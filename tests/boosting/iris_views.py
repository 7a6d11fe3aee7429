"""Iris as two views, and what it means that two models are the same."""

import numpy as np
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris

from fuselearn import IndependentBoostClassifier, ShareBoostClassifier

KINDS = [ShareBoostClassifier, IndependentBoostClassifier]
VIEWS = {"sepal": [0, 1], "petal": [2, 3]}
X, y = load_iris(return_X_y=True)


def assert_same_model(one, other):
    """Equal bit for bit, hypotheses included."""
    for name in ("estimator_weights_", "estimator_errors_", "winning_arms_", "arm_errors_", "view_importances_"):
        assert_array_equal(getattr(one, name), getattr(other, name))
    for ours, theirs in zip(one.estimators_, other.estimators_):
        for name, value in vars(ours).items():
            if isinstance(value, np.ndarray):
                assert_array_equal(value, getattr(theirs, name))
