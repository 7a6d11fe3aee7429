"""Fits that go on with an earlier run, and runs that are interrupted or replayed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC

from fuselearn import (
    IndependentBoostClassifier,
    ShareBoostClassifier,
)
from fuselearn.bandits import Exp3P
from fuselearn.boosting import base
from fuselearn.exceptions import InterruptedFitWarning, NoEdgeWarning
from tests.boosting.iris_views import KINDS, VIEWS, X, assert_same_model, y


@pytest.mark.parametrize("kind", KINDS)
def test_a_warm_start_on_other_rows_replays_all_rounds(kind):
    """The first new round runs under the weights that all rounds before it give these rows."""
    first, other = np.arange(0, 150, 2), np.arange(1, 150, 2)
    model = kind("stump", views=VIEWS, n_estimators=5, warm_start=True).fit(X[first], y[first])
    *_, weights = model.staged_sample_weights(X[other], y[other])
    model.set_params(n_estimators=6).fit(X[other], y[other])
    arm = model.winning_arms_[5]
    wrong = model.estimators_[5].predict(X[np.ix_(other, VIEWS[["sepal", "petal"][arm]])]) != y[other]
    assert_allclose(model.estimator_errors_[5], (weights if weights.ndim == 1 else weights[:, arm])[wrong].sum())
    assert not model.trace_.one_data_set


@pytest.mark.thinned(5)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"estimator": "tree"},
        {"resample": True},
        {"resample": True, "error": "out_of_bag", "estimator": RandomForestClassifier(3)},
        {"preprocess": PCA(2, svd_solver="randomized")},
        {"view_policy": "exp3p"},
    ],
)
def test_warm_start_is_one_long_run(kind, settings):
    if kind is IndependentBoostClassifier and "view_policy" in settings:
        pytest.skip("independent boosting has no policy")
    if "view_policy" in settings:
        settings = {"view_policy": Exp3P(horizon=12)}
    arguments = {"views": VIEWS, "random_state": 3, **settings}
    model = kind(n_estimators=5, warm_start=True, **arguments).fit(X, y)
    first = list(model.estimators_)
    model.set_params(n_estimators=12).fit(X, y)
    assert model.estimators_[:5] == first[:5]
    if "preprocess" not in settings:  # whose random solver draws from the global state
        assert_same_model(model, kind(n_estimators=12, **arguments).fit(X, y))
    with pytest.raises(ValueError, match=f"n_estimators=3 must be at least the {model.n_iter_} rounds"):
        model.set_params(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="y must have the classes that the model was fitted on"):
        model.set_params(n_estimators=15).fit(X[:100], y[:100])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"views": {"sepal": [0, 1, 2], "petal": [3]}}, "views must be those that the model was fitted on"),
        ({"views": {"sepal": [2, 3], "petal": [0, 1]}}, "views must be those that the model was fitted on"),
        ({"estimator": ["stump", "tree"]}, r"arms_of_views was \(1, 1\); it is now \(2, 2\)"),
        ({"view_policy": "exp3p"}, r"view_policy was Best\(\); it is now Exp3P"),
        ({"view_policy": "round_robin"}, r"view_policy was Best\(\); it is now RoundRobin"),
        ({"learning_rate": 0.5}, "learning_rate was 1.0; it is now 0.5"),
        ({"resample": True}, "resample was False; it is now True"),
        ({"preprocess": {"colour": PCA(1)}}, "preprocess names the view 'colour', but the views are"),
    ],
)
def test_warm_start_refuses_another_run(settings, message):
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=4, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.set_params(n_estimators=8, **settings).fit(X, y)
    assert model.n_iter_ == 4


def test_warm_start_may_go_on_with_another_learner():
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=4, warm_start=True).fit(X, y)
    first = list(model.staged_decision_function(X))[-1]
    model.set_params(n_estimators=8, estimator=SVC()).fit(X, y)
    assert model.n_iter_ > 4
    assert_array_equal(list(model.staged_decision_function(X))[3], first)


def test_warm_start_tries_again_where_no_view_had_an_edge():
    model = ShareBoostClassifier(views=VIEWS, n_estimators=4, warm_start=True)
    with pytest.warns(NoEdgeWarning):
        model.fit(np.zeros_like(X), y)
    assert model.fit(X, y).n_iter_ == 4


def test_staged_sample_weights_want_the_data_of_the_fit():
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=4).fit(X, y)
    with pytest.raises(ValueError, match="y must have the classes that the model was fitted on"):
        next(model.staged_sample_weights(X[:100], y[:100]))
    before = list(model.staged_sample_weights(X, y))
    model.set_params(learning_rate=0.1, resample=True, estimator="tree")  # settings of the next fit, not of this one
    assert_array_equal(list(model.staged_sample_weights(X, y)), before)
    model.set_params(views=[[0], [1]])
    with pytest.raises(ValueError, match="views must be those that the model was fitted on"):
        next(model.staged_sample_weights(X, y))


def test_bounds_know_of_a_warm_start_on_other_rows():
    two = y < 2
    model = ShareBoostClassifier(views=VIEWS, n_estimators=3, warm_start=True, view_policy="round_robin")
    model.fit(X[two][::3, ::-1], y[two][::3])
    model.set_params(n_estimators=6).fit(X[two], y[two])
    with pytest.raises(ValueError, match=r"this model lacks: .*one data set"):
        model.bounds()
    again = clone(model).set_params(n_estimators=3).fit(X[two], y[two])
    assert again.set_params(n_estimators=6).fit(X[two], y[two]).bounds()["training_error"] <= 1


def test_an_interrupt_keeps_what_there_is(monkeypatch):
    def interrupted(rows, rule, trace, n_rounds, after_round):
        original(rows, rule, trace, 4, after_round)
        raise KeyboardInterrupt

    original = base.boost
    monkeypatch.setattr(base, "boost", interrupted)
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=10, warm_start=True)
    with pytest.warns(InterruptedFitWarning, match="Interrupted: the model has the 4 of 10 rounds"):
        model.fit(X, y)
    assert model.n_iter_ == 4
    assert model.score(X, y) > 0.8
    monkeypatch.setattr(base, "boost", original)
    assert_same_model(model.fit(X, y), ShareBoostClassifier("stump", views=VIEWS, n_estimators=10).fit(X, y))
