"""S2's and S4's methods by name in `compare`."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris, load_wine

from fuselearn import AugmentedKernelClassifier, RSBagClassifier, TomographicClassifier, compare, stack_unpaired
from fuselearn.compared_classifiers import ClassLabels, UnmatchedRows
from fuselearn.evaluation import cells, comparison
from fuselearn.registry import PAPER_METHODS, resolve_methods

X, y = load_iris(return_X_y=True)
VIEWS = {"sepal": [0, 1], "petal": [2, 3]}


@pytest.mark.parametrize("protocol", ["mssboost", "tomographic"])
def test_methods_by_name_under_the_protocol_of_their_paper(protocol, monkeypatch):
    short = cells.PROTOCOLS | {protocol: cells.PROTOCOLS[protocol].__class__(runs=2, folds=3, n_estimators=5)}
    monkeypatch.setattr(comparison, "PROTOCOLS", short)
    result = compare(X[::3], y[::3], views=VIEWS, methods=list(PAPER_METHODS), protocol=protocol, random_state=0)
    assert result.scores.shape == (len(PAPER_METHODS), 2)
    assert result.scores.mean(axis=1).min() > 0.5


PAPERS_OWN = {
    "bssd": {"bssd", "bisd", "sdp", "adaboost_vote", "adaboost_concatenated", "tuned_svm_vote", "tuned_stacking"},
    "shareboost": {"shareboost", "rshareboost", "iboost", "sdp", "tuned_svm_vote", "tuned_stacking"},
    "mssboost": {"mssboost", "nsboost", "rsbag"},
    "shared_distribution": {"shared_trees", "tuned_svm_vote", "super_kernel"},
    "tomographic": {"unmatched_tomographic", "unmatched_augmented", "unmatched_cartesian", "matched_kernels"},
}


@pytest.mark.parametrize("protocol", cells.PROTOCOLS)
def test_a_protocol_brings_the_methods_of_its_paper(protocol, monkeypatch):
    """And every view alone; methods that are named are those alone."""

    def scored(task, method, *arguments):
        splits = task.protocol.folds or 1
        return {"scores": [0.5] * splits, "others": {}, "fit_seconds": 0.1, "predict_seconds": 0.1}

    monkeypatch.setattr(comparison, "run_cell", scored)
    monkeypatch.setattr(comparison, "PROTOCOLS", {protocol: replace(cells.PROTOCOLS[protocol], runs=2)})
    settings = {"views": VIEWS, "protocol": protocol, "random_state": 0}
    names = set(compare(X, y, **settings).methods)
    own = PAPERS_OWN[protocol] if find_spec("cvxpy") else {name.replace("sdp", "mkl") for name in PAPERS_OWN[protocol]}
    assert own | {"view:sepal", "view:petal"} <= names
    assert not names & {"fusion", "gradient"}
    assert compare(X, y, methods=["view:petal"], **settings).methods == ["view:petal"]


def test_every_protocol_has_methods_that_are_known():
    for protocol in cells.PROTOCOLS.values():
        assert [method.name for method in resolve_methods(list(protocol.methods), list(VIEWS))] == [*protocol.methods]


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
