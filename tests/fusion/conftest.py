"""Fixtures that tests of FusionClassifier share."""

import pytest
from sklearn.base import clone

from fuselearn.datasets import load_digit_views
from tests.fusion.fusion_data import MODEL, ONE_PASS, X, y


@pytest.fixture(scope="session")
def model():
    return clone(MODEL).fit(X, y)


@pytest.fixture(scope="session")
def one_pass():
    return clone(ONE_PASS).fit(X, y)


@pytest.fixture(scope="session")
def digits():
    return load_digit_views()
