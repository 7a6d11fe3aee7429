"""Fixtures that tests of FusionClassifier share."""

import pytest
from sklearn.base import clone

from fuselearn.datasets import load_digit_views
from tests.fusion.fusion_data import MODEL, X, y


@pytest.fixture(scope="session")
def model():
    return clone(MODEL).fit(X, y)


@pytest.fixture(scope="session")
def digits():
    return load_digit_views()
