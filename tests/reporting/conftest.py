"""Data, models and reports that the tests of reporting share. No test may change them."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from fuselearn import FitReport, FusionClassifier, ShareBoostClassifier
from tests.reporting.report_pages import VIEWS


@pytest.fixture(scope="session")
def iris():
    X, y = load_iris(return_X_y=True)
    y = np.array(["setosa", "versicolor", "virginica"])[y]
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


@pytest.fixture(scope="session")
def fitted(iris):
    X, y = iris
    return ShareBoostClassifier(views=VIEWS, n_estimators=15).fit(X[:75], y[:75])


@pytest.fixture(scope="session")
def report(iris, fitted):
    X, y = iris
    return FitReport(fitted, X[75:], y[75:], ids=[f"plant {n}" for n in range(75)], title="Iris")


@pytest.fixture(scope="session")
def unequal():
    """Two classes of unequal size."""
    rng = np.random.default_rng(1)
    y = (rng.random(900) < 0.12).astype(int)
    X = rng.normal(size=(900, 4)) + np.array([1.2, 0, 0.8, 0]) * y[:, None]
    return X, np.array(["well", "ill"])[y]


@pytest.fixture(scope="session")
def fusion(unequal):
    X, y = unequal
    return FusionClassifier(views=VIEWS, class_weight="balanced", max_fits=6, random_state=0).fit(X[:300], y[:300])


@pytest.fixture(scope="session")
def of_fusion(unequal, fusion):
    return FitReport(fusion, unequal[0][300:], unequal[1][300:]).summary
