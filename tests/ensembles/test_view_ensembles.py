"""Labels, weights, absent views, seeds, threads and tables of all view ensembles."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC

from fuselearn import (
    ConcatenatedClassifier,
    ViewStackingClassifier,
    ViewVotingClassifier,
)
from tests.ensembles.view_problems import VIEWS, NamesOnly, Problem, all_kinds, as_codes, by_kind


@pytest.mark.long
@settings(max_examples=3)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3]))
def test_true_labels_do_not_leak(seed, n_classes):
    problem = Problem(seed, n_classes, own_labels=True, absent=True)
    other = np.random.default_rng(seed).permutation(problem.y)
    for model in all_kinds(random_state=0):
        expected = problem.fit(model).decision_function(problem.X)
        again = clone(model).fit(problem.X, other, view_labels=problem.view_labels)
        assert_array_equal(again.decision_function(problem.X), expected)


@by_kind
def test_equal_label_columns_are_y(model):
    problem = Problem(n_classes=3, absent=True)
    expected = clone(model).fit(problem.X, problem.y).decision_function(problem.X)
    again = clone(model).fit(problem.X, problem.y, view_labels=problem.labels)
    assert_array_equal(again.decision_function(problem.X), expected)


def test_label_columns_go_by_their_names():
    problem = Problem(own_labels=True)
    model = ViewVotingClassifier(SVC(), views=VIEWS, voting="sum")
    expected = problem.fit(model).decision_function(problem.X)
    frame = pd.DataFrame(problem.view_labels, columns=list(VIEWS))[["c", "a", "b"]]
    assert_array_equal(model.fit(problem.X, problem.y, view_labels=frame).decision_function(problem.X), expected)


@by_kind
@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_without_any_view_get_the_prior(model, n_classes):
    problem = Problem(n_classes=n_classes)
    y = np.where(np.arange(90) < 12, n_classes - 1, problem.y)
    model = clone(model).fit(problem.X, y)
    nothing = np.full((2, 6), np.nan)
    prior = np.bincount(y) / len(y)
    assert_allclose(model.class_prior_, prior)
    assert_allclose(model.predict_proba(nothing), [prior, prior])
    assert_array_equal(model.predict(nothing), [n_classes - 1] * 2)
    both = np.vstack([problem.X[:3], nothing])
    assert_allclose(model.predict_proba(both)[:3], model.predict_proba(problem.X[:3]))


@pytest.mark.long
@by_kind
def test_string_classes(model):
    problem = Problem(n_classes=3, absent=True)
    names = np.array(["ant", "bee", "cow"])
    expected = clone(model).fit(problem.X, problem.y)
    named = clone(model).fit(problem.X, names[problem.y].astype(object))
    assert_array_equal(named.classes_, names)
    assert_array_equal(named.predict(problem.X), names[expected.predict(problem.X)])
    assert_array_equal(named.decision_function(problem.X), expected.decision_function(problem.X))


@by_kind
def test_a_class_that_a_view_never_saw(model):
    problem = Problem(n_classes=3, n=120)
    X = problem.X.copy()
    X[np.ix_(problem.y == 2, [0, 1])] = np.nan
    X[np.ix_(problem.y == 1, [5])] = np.nan
    model = clone(model).fit(X, problem.y)
    assert model.score(X, problem.y) > 0.6
    assert_allclose(model.predict_proba(problem.X).sum(axis=1), 1)
    assert np.isfinite(model.decision_function(problem.X)).all()


@by_kind
def test_rows_of_weight_zero_take_no_part(model):
    problem = Problem(n_classes=3, absent=True, n=120)
    weights = np.r_[np.zeros(30), np.random.default_rng(0).uniform(0.5, 2, 90)]
    expected = clone(model).fit(problem.X[30:], problem.y[30:], sample_weight=weights[30:])
    weighted = clone(model).fit(problem.X, problem.y, sample_weight=weights)
    assert_array_equal(weighted.decision_function(problem.X), expected.decision_function(problem.X))
    assert_allclose(weighted.class_prior_, expected.class_prior_)
    unweighted = clone(model).fit(problem.X[30:], problem.y[30:])
    assert not np.array_equal(unweighted.decision_function(problem.X), expected.decision_function(problem.X))


@by_kind
def test_the_number_of_threads_changes_nothing(model):
    if isinstance(model, ConcatenatedClassifier):
        assert "n_jobs" not in model.get_params(deep=False)  # one classifier, which has its own
        return
    problem = Problem(n_classes=3, absent=True)
    expected = problem.fit(clone(model)).predict_proba(problem.X)
    assert_array_equal(problem.fit(clone(model).set_params(n_jobs=2)).predict_proba(problem.X), expected)


@pytest.mark.long
@pytest.mark.parametrize(
    "kind", [ViewVotingClassifier, ViewStackingClassifier, ConcatenatedClassifier], ids=lambda kind: kind.__name__
)
def test_random_state_seeds_the_classifiers(kind):
    problem = Problem(n_classes=3)

    def fitted(seed, **options):
        forest = RandomForestClassifier(3, max_features=1, **options)
        return kind(forest, views=VIEWS, random_state=seed).fit(problem.X, problem.y).decision_function(problem.X)

    assert_array_equal(fitted(0), fitted(0))
    assert not np.array_equal(fitted(0), fitted(1))
    if kind is not ViewStackingClassifier:
        assert_array_equal(fitted(0, random_state=5), fitted(1, random_state=5))


@pytest.mark.long
@by_kind
def test_tables_of_all_kinds(model):
    problem = Problem(absent=True)
    expected = clone(model).fit(problem.X, problem.y).decision_function(problem.X)
    for library in (pd, pl):
        frame = library.DataFrame(dict(zip("uvwxyz", problem.X.T)))
        views = {"a": ["u", "v"], "b": ["w", "x", "y"], "c": "z"}
        fitted = clone(model).set_params(views=views).fit(frame, problem.y)
        assert_array_equal(fitted.decision_function(frame), expected)
        assert_array_equal(fitted.feature_names_in_, list("uvwxyz"))
        assert fitted.n_features_in_ == 6
        assert fitted.view_names_ == ["a", "b", "c"]
        assert_array_equal(fitted.view_columns_[1], [2, 3, 4])


@by_kind
def test_pickles_and_probabilities(model):
    problem = Problem(n_classes=3, absent=True)
    model = problem.fit(clone(model))
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(problem.X), model.predict(problem.X))
    assert_array_equal(model.classes_[model.predict_proba(problem.X).argmax(axis=1)], model.predict(problem.X))
    assert len(getattr(model, "estimators_", VIEWS)) == 3


def test_classifiers_that_give_labels_only():
    problem = Problem(n_classes=3)
    model = problem.fit(ViewVotingClassifier(NamesOnly(), views=VIEWS))
    said = [NamesOnly().fit(block, problem.y).predict(block) for block in problem.blocks]
    votes = np.array([[sum(labels == k) for k in range(3)] for labels in np.transpose(said)])
    assert_array_equal(model.decision_function(problem.X), votes)
    assert_array_equal(model.predict(problem.X), votes.argmax(axis=1))  # a tie goes to the lowest class
    for other in (
        ConcatenatedClassifier(NamesOnly()),
        ViewStackingClassifier(SVC(), views=VIEWS, final_estimator=NamesOnly(), random_state=0),
    ):
        problem.fit(other)
        assert_array_equal(as_codes(other.decision_function(problem.X)), other.predict(problem.X))
        assert_array_equal(other.predict_proba(problem.X).argmax(axis=1), other.predict(problem.X))
