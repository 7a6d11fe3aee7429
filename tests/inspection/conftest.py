"""Data and fitted models that the tests of inspection share. No test may change them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from fuselearn import FusionClassifier, MSSBoostClassifier
from tests.inspection.example_models import MODELS, VIEWS, make_rows


@pytest.fixture(scope="session")
def rows():
    return make_rows()


@pytest.fixture(scope="session")
def fitted(rows):
    X, y = rows
    return {name: clone(model).fit(X[:120], y[:120]) for name, model in MODELS.items()}


@pytest.fixture(scope="session")
def labelled():
    """Several labels that follow from two of the views."""
    X, _ = make_rows(300)
    Y = np.column_stack([X[:, 0] > 0, X[:, 1] + X[:, 2] > 0, X[:, 8] > 0.2]).astype(int)
    settings = {"n_estimators": 30, "feature_ratio": 1.0, "data_ratio": 0.5, "random_state": 0}
    return X, Y, MSSBoostClassifier(LogisticRegression(), views=VIEWS, **settings).fit(X[:150], Y[:150])


@pytest.fixture(scope="session")
def unequal():
    rng = np.random.default_rng(1)
    y = rng.choice(3, size=500, p=[0.8, 0.15, 0.05])
    X = rng.normal(size=(500, 10))
    X[:, 0] += y == 1
    X[:, 4] += 2 * (y == 2)
    return (
        X,
        y,
        FusionClassifier(views=VIEWS, class_weight="balanced", max_fits=6, random_state=0).fit(X[:250], y[:250]),
    )
