"""Data, models and clean-up that the tests of displays share."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from fuselearn import ConcatenatedClassifier, ShareBoostClassifier
from tests.inspection.displays.drawn_pictures import VIEWS


@pytest.fixture(autouse=True)
def _no_figure_stays():
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::2], y[::2], X[1::2], y[1::2]


@pytest.fixture(scope="session")
def boosted(iris):
    return ShareBoostClassifier("stump", views=VIEWS, n_estimators=20).fit(*iris[:2])


@pytest.fixture(scope="session")
def drawn(iris):
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=20, view_policy="exp3p", random_state=0)
    return model.fit(*iris[:2])


@pytest.fixture(scope="session")
def concatenated(iris):
    return ConcatenatedClassifier(LogisticRegression(), views=VIEWS).fit(*iris[:2])
