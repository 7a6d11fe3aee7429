"""S2's and S4's methods by name in `compare`."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris, load_wine

from fuselearn import AugmentedKernelClassifier, RSBagClassifier, TomographicClassifier, compare, stack_unpaired
from fuselearn.compared_classifiers import ClassLabels, UnmatchedRows
from fuselearn.registry import PAPER_METHODS

X, y = load_iris(return_X_y=True)
VIEWS = {"sepal": [0, 1], "petal": [2, 3]}


@pytest.mark.parametrize("protocol", ["mssboost", "tomographic"])
def test_methods_by_name_under_the_protocol_of_their_paper(protocol, monkeypatch):
    from fuselearn.evaluation import cells, comparison

    short = cells.PROTOCOLS | {protocol: cells.PROTOCOLS[protocol].__class__(runs=2, folds=3, n_estimators=5)}
    monkeypatch.setattr(comparison, "PROTOCOLS", short)
    result = compare(X[::3], y[::3], views=VIEWS, methods=list(PAPER_METHODS), protocol=protocol, random_state=0)
    assert result.scores.shape == (6, 2)
    assert result.scores.mean(axis=1).min() > 0.5


def test_each_class_is_a_label():
    wine, classes = load_wine(return_X_y=True)
    names = np.array(["red", "white", "rose"])[classes]
    model = ClassLabels(RSBagClassifier(n_estimators=12, feature_ratio=0.5, random_state=0)).fit(wine, names)
    assert_array_equal(model.classes_, ["red", "rose", "white"])
    assert model.decision_function(wine).shape == (178, 3)
    assert_array_equal(model.predict(wine), model.classes_[model.decision_function(wine).argmax(axis=1)])
    gaps = wine.copy()
    gaps[::7, 3] = np.nan
    assert np.isfinite(model.decision_function(gaps)).all()
    two = ClassLabels(RSBagClassifier(n_estimators=4, random_state=0)).fit(wine, names == "red")
    assert two.decision_function(wine).shape == (178,)
    assert set(two.predict(wine)) <= {True, False}


@pytest.mark.parametrize("model", [TomographicClassifier(random_state=0), AugmentedKernelClassifier()])
def test_matches_are_forgotten(model):
    torn = UnmatchedRows(model, views=VIEWS).fit(X, y)
    apart, views, labels = stack_unpaired({"sepal": (X[:, :2], y), "petal": (X[:, 2:], y)})
    expected = model.set_params(views=views).fit(apart, labels)
    assert_array_equal(torn.predict(X), expected.predict(X))
    assert torn.score(X, y) > 0.8
