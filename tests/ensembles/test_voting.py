"""Votes of views against slow loops and scikit-learn's own votes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fuselearn import (
    ShareBoostClassifier,
    ViewStackingClassifier,
    ViewVotingClassifier,
)
from fuselearn.registry import tuned_svm
from tests.ensembles.view_problems import FOLDS, VIEWS, Problem, fit_naive_bayes, fit_svc, on_columns, problems
from tests.naive import fusion as naive


@settings(max_examples=6)
@given(
    problems, st.sampled_from(["majority", "sum"]), st.sampled_from([(SVC(), fit_svc), (GaussianNB(), fit_naive_bayes)])
)
def test_voting_is_a_vote_among_the_views_present(problem, voting, pair):
    estimator, fit = pair
    model = problem.fit(ViewVotingClassifier(estimator, views=VIEWS, voting=voting))
    models = naive.fit_views(problem.blocks, problem.labels, fit)
    assert_array_equal(model.predict(problem.X), naive.vote(problem.blocks, models, problem.K, voting))


def test_two_views_that_disagree_are_decided_by_the_surer_one():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = np.c_[y + rng.normal(0, 0.3, 60), y + rng.normal(0, 0.3, 60)]
    model = ViewVotingClassifier(SVC(kernel="linear"), views=[[0], [1]]).fit(X, y)
    assert_array_equal(model.predict([[-1.0, 0.9], [-0.2, 2.0]]), [0, 1])
    decision = model.decision_function([[-1.0, 0.9], [-0.2, 2.0], [1.0, 1.0]])
    assert np.all(np.abs(decision[:2]) < 2 / 3)
    assert 2 <= decision[2] < 2 + 2 / 3


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_sum_is_of_decision_values(n_classes):
    problem = Problem(n_classes=n_classes, absent=True)
    model = problem.fit(ViewVotingClassifier(SVC(), views=VIEWS, voting="sum"))
    total = 0
    for block, here in zip(problem.blocks, problem.present.T):
        decision = SVC().fit(block[here], problem.y[here]).decision_function(block[here])
        spread = np.zeros((len(block), *decision.shape[1:]))
        spread[here] = decision
        total = total + spread
    assert_allclose(model.decision_function(problem.X), total)
    assert_allclose(model.predict_proba(problem.X).sum(axis=1), 1)


def test_a_sum_of_probabilities_is_scikit_learns_soft_vote():
    problem = Problem(n_classes=3)
    members = [(name, on_columns(columns, GaussianNB())) for name, columns in VIEWS.items()]
    reference = VotingClassifier(members, voting="soft").fit(problem.X, problem.y)
    model = problem.fit(ViewVotingClassifier(GaussianNB(), views=VIEWS, voting="sum"))
    assert_array_equal(model.predict(problem.X), reference.predict(problem.X))
    assert_allclose(model.decision_function(problem.X), 3 * (2 * reference.predict_proba(problem.X) - 1))


def test_an_unseen_class_gets_the_mean_of_the_others():
    problem = Problem(n_classes=3)
    X = problem.X.copy()
    X[np.ix_(problem.y == 2, [0, 1])] = np.nan
    model = ViewVotingClassifier(SVC(), views=[[0, 1], [2, 3, 4]], voting="sum").fit(X, problem.y)
    own, other = (model.estimators_[0].decision_function(problem.X[:, :2]), problem.X[:, 2:5])
    expected = model.estimators_[1].decision_function(other) + np.column_stack([-own, own, 0 * own])
    assert_allclose(model.decision_function(problem.X), expected)


@pytest.mark.parametrize("voting", ["majority", "sum"])
def test_a_view_that_saw_one_class_abstains(voting):
    problem = Problem()
    X = problem.X.copy()
    X[np.ix_(problem.y == 1, [0, 1])] = np.nan
    model = ViewVotingClassifier(SVC(), views=VIEWS, voting=voting).fit(X, problem.y)
    without = ViewVotingClassifier(SVC(), views=[VIEWS["b"], VIEWS["c"]], voting=voting).fit(X, problem.y)
    assert_array_equal(model.decision_function(problem.X), without.decision_function(problem.X))
    only = np.where(np.arange(6) < 2, problem.X[:1], np.nan)
    assert_allclose(model.predict_proba(only), [[0.5, 0.5]])


def test_a_different_classifier_for_each_view():
    problem = Problem(n_classes=3, absent=True)
    chosen = {"c": GaussianNB(), "a": SVC(), "b": ShareBoostClassifier("stump", n_estimators=5)}
    model = problem.fit(ViewVotingClassifier(chosen, views=VIEWS, voting="sum"))
    assert [type(one) for one in model.estimators_] == [SVC, ShareBoostClassifier, GaussianNB]
    in_order = ViewVotingClassifier([chosen[name] for name in VIEWS], views=VIEWS, voting="sum")
    assert_array_equal(problem.fit(in_order).decision_function(problem.X), model.decision_function(problem.X))


def test_searches_over_views_and_settings():
    problem = Problem()
    search = GridSearchCV(
        ViewVotingClassifier(SVC(), views=VIEWS),
        {"voting": ["majority", "sum"], "views": [VIEWS, {"a": [0]}], "estimator__C": [0.1, 1.0]},
        cv=3,
    ).fit(problem.X, problem.y)
    assert search.best_params_["views"] == VIEWS


def test_views_get_seeds_of_their_own():
    problem = Problem()
    model = ViewVotingClassifier(RandomForestClassifier(3), views=[[0, 1], [0, 1]], random_state=0)
    problem.fit(model)
    seeds = [forest.random_state for forest in model.estimators_]
    assert len(set(seeds)) == 2
    assert model.estimator.random_state is None


def test_weights_reach_the_end_of_a_pipeline_and_of_a_search():
    problem = Problem()
    weights = np.random.default_rng(0).uniform(0.1, 3, 90)
    pipeline = make_pipeline(StandardScaler(), SVC(kernel="linear"))
    search = GridSearchCV(pipeline, {"svc__C": [0.01]}, cv=3)
    model = ViewVotingClassifier({"a": pipeline, "b": search}, views={"a": [0, 1], "b": [2, 3]}, voting="sum")
    model.fit(problem.X, problem.y, sample_weight=weights)
    for estimator, C, columns in zip(model.estimators_, (1, 0.01), ([0, 1], [2, 3])):
        expected = make_pipeline(StandardScaler(), SVC(kernel="linear", C=C))
        expected.fit(problem.X[:, columns], problem.y, svc__sample_weight=weights / weights.mean())
        assert_allclose(
            estimator.decision_function(problem.X[:, columns]), expected.decision_function(problem.X[:, columns])
        )


def test_frozen_models_are_taken_as_they_are():
    problem = Problem(absent=True)
    ready = [
        FrozenEstimator(clone(SVC()).fit(block[here], problem.y[here]))
        for block, here in zip(problem.blocks, problem.present.T)
    ]
    for voting in ("majority", "sum"):
        expected = problem.fit(ViewVotingClassifier(SVC(), views=VIEWS, voting=voting)).decision_function(problem.X)
        for estimator in (ready, dict(zip(VIEWS, ready))):
            model = ViewVotingClassifier(estimator, views=VIEWS, voting=voting)
            model.fit(problem.X[:10], problem.y[:10], sample_weight=np.arange(10) + 1)
            assert_array_equal(model.decision_function(problem.X), expected)
            assert model.estimators_[0].estimator is ready[0].estimator
    stacked = ViewStackingClassifier(ready, views=VIEWS, cv=FOLDS).fit(problem.X, problem.y)
    assert stacked.score(problem.X, problem.y) > 0.8


@pytest.mark.parametrize("library", [pd, pl])
def test_frozen_models_of_data_frames_get_their_column_names(library):
    problem = Problem()
    frame = library.DataFrame(dict(zip("uvwxyz", problem.X.T)))
    views = {"a": ["u", "v"], "b": ["x", "w"]}
    ready = {name: FrozenEstimator(SVC().fit(frame[columns], problem.y)) for name, columns in views.items()}
    model = ViewVotingClassifier(ready, views=views, voting="sum").fit(frame, problem.y)
    expected = sum(ready[name].decision_function(frame[columns]) for name, columns in views.items())
    assert_allclose(model.decision_function(frame), expected)
    with pytest.raises(ValueError, match=r"frozen estimator for the view 'b' was fitted on the columns \['x', 'w'\]"):
        ViewVotingClassifier(ready, views={"a": ["u", "v"], "b": ["w", "x"]}).fit(frame, problem.y)


def test_the_grid_is_that_of_s0():
    search = tuned_svm()
    assert search.cv == 10
    assert_allclose(search.param_grid["svc__C"], [0.01, 0.1, 1, 10, 100])
    assert_allclose(np.sort(np.power(search.param_grid["svc__gamma"], -0.5)), [0.01, 0.1, 1, 10, 100])
    assert tuned_svm(standardise=False).estimator.steps[0][1] == "passthrough"
    assert len(tuned_svm(points=3).param_grid["svc__C"]) == 3


def test_the_grid_is_chosen_within_the_training_rows():
    problem = Problem(own_labels=True)
    model = problem.fit(ViewVotingClassifier(tuned_svm(points=2, cv=3), views=VIEWS))
    for search, block, own in zip(model.estimators_, problem.blocks, problem.view_labels.T):
        assert search.best_params_ == tuned_svm(points=2, cv=3).fit(block, own).best_params_
