"""One classifier on the columns of all views."""

import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier
from sklearn.impute import SimpleImputer
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fuselearn import (
    ConcatenatedClassifier,
    ViewStackingClassifier,
    ViewVotingClassifier,
)
from tests.ensembles.view_problems import VIEWS, Problem, as_codes


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", [SVC(break_ties=True), GaussianNB(), DecisionTreeClassifier(random_state=0)])
def test_concatenation_is_the_classifier_on_all_columns(n_classes, estimator):
    problem = Problem(n_classes=n_classes, absent=True)
    takes_nan = isinstance(estimator, DecisionTreeClassifier)
    reference = clone(estimator) if takes_nan else make_pipeline(SimpleImputer(), clone(estimator))
    reference.fit(problem.X, problem.y)
    model = problem.fit(ConcatenatedClassifier(estimator, views=VIEWS))
    assert (model.column_means_ is None) == takes_nan
    assert_array_equal(model.predict(problem.X), reference.predict(problem.X))
    if isinstance(estimator, SVC):
        assert_allclose(model.decision_function(problem.X), reference.decision_function(problem.X))
    else:
        assert_allclose(model.predict_proba(problem.X), reference.predict_proba(problem.X))
        assert_array_equal(model.classes_[as_codes(model.decision_function(problem.X))], model.predict(problem.X))


@pytest.mark.long
@pytest.mark.parametrize("n_classes", [2, 3])
def test_adaboost_per_view_and_on_the_concatenation(n_classes):
    """S0's and S1's AdaBoost-MV and AdaBoost-Ca."""
    problem = Problem(n_classes=n_classes, n=200)
    booster = AdaBoostClassifier(n_estimators=10)
    for model in (
        ViewVotingClassifier(booster, views=VIEWS, random_state=0),
        ViewVotingClassifier(booster, views=VIEWS, voting="sum", random_state=0),
        ConcatenatedClassifier(booster, views=VIEWS, random_state=0),
        ViewStackingClassifier(booster, views=VIEWS, cv=3, random_state=0),
    ):
        # Three standard errors above chance, on 100 rows.
        assert (
            model.fit(problem.X[:100], problem.y[:100]).score(problem.X[100:], problem.y[100:]) > 1 / n_classes + 0.15
        )
    reference = AdaBoostClassifier(n_estimators=10, random_state=0).fit(problem.X, problem.y)
    model = ConcatenatedClassifier(clone(booster).set_params(random_state=0), views=VIEWS).fit(problem.X, problem.y)
    assert_array_equal(model.predict(problem.X), reference.predict(problem.X))
