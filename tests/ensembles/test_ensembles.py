"""Voting, stacking, concatenation and super-kernel fusion against slow loops and scikit-learn's own ensembles."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fuselearn import (
    ConcatenatedClassifier,
    ShareBoostClassifier,
    SuperKernelClassifier,
    ViewStackingClassifier,
    ViewVotingClassifier,
    add_label_noise,
)
from fuselearn.data.training_data import majority_codes
from fuselearn.classifiers.calibration import fit_sigmoid
from fuselearn.registry import tuned_svm
from tests.naive import fusion as naive

FOLDS = StratifiedKFold(3, shuffle=True, random_state=1)
WIDTHS = (2, 3, 1)
VIEWS = {"a": slice(0, 2), "b": slice(2, 5), "c": [5]}


class Problem:
    """Three random views, their labels and absences."""

    def __init__(self, seed=0, n_classes=2, absent=False, own_labels=False, n=90):
        rng = np.random.default_rng(seed)
        self.K = n_classes
        self.y = np.arange(n) % n_classes
        self.blocks = [rng.normal(size=(n, p)) + 0.8 * self.y[:, None] * rng.choice([-1, 1], p) for p in WIDTHS]
        self.present = np.ones((n, 3), dtype=bool)
        if absent:
            self.present = rng.random((n, 3)) > 0.25
            self.present[np.arange(n), rng.integers(0, 3, n)] = True
            for block, here in zip(self.blocks, self.present.T):
                block[~here] = np.nan
        self.X = np.hstack(self.blocks)
        self.labels = np.repeat(self.y[:, None], 3, axis=1)
        self.view_labels = None
        if own_labels:
            self.labels = self.view_labels = add_label_noise(self.y, 3, 0.2, random_state=seed)[0]

    def fit(self, model, **options):
        return model.fit(self.X, self.y, view_labels=self.view_labels, **options)

    def agreed(self):
        rows = [[label if here else None for label, here in zip(*row)] for row in zip(self.labels, self.present)]
        return np.array([naive.majority(row, self.K) for row in rows])


problems = st.builds(
    Problem,
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.sampled_from([2, 3]),
    absent=st.booleans(),
    own_labels=st.booleans(),
)


def all_kinds(views=VIEWS, **options):
    return [
        ViewVotingClassifier(SVC(), views=views, **options),
        ViewVotingClassifier(LogisticRegression(), views=views, voting="sum", **options),
        ViewStackingClassifier(SVC(), views=views, cv=3, **options),
        ViewStackingClassifier(GaussianNB(), views=views, cv=3, stack_method="decision_function", **options),
        ConcatenatedClassifier(SVC(), views=views, **options),
        SuperKernelClassifier(views=views, cv=3, **options),
    ]


by_kind = pytest.mark.parametrize("model", all_kinds(random_state=0), ids=lambda model: type(model).__name__)


def fit_svc(X, y):
    return in_plain_form(SVC().fit(X, y))


def fit_naive_bayes(X, y):
    return in_plain_form(GaussianNB().fit(X, y))


def in_plain_form(model):
    def values(X):
        if not hasattr(model, "decision_function"):
            return 2 * model.predict_proba(X) - 1
        decision = model.decision_function(X)
        return np.column_stack([-decision, decision]) if decision.ndim == 1 else decision

    return model.predict, values


# What is computed


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


def on_columns(columns, estimator):
    return make_pipeline(ColumnTransformer([("view", "passthrough", columns)]), estimator)


def test_stacked_decision_values_are_scikit_learns_stacking():
    problem = Problem()
    members = [(name, on_columns(columns, SVC())) for name, columns in VIEWS.items()]
    last = make_pipeline(StandardScaler(), SVC())
    reference = StackingClassifier(members, last, cv=FOLDS, stack_method="decision_function").fit(problem.X, problem.y)
    model = ViewStackingClassifier(SVC(), views=VIEWS, cv=FOLDS, stack_method="decision_function")
    problem.fit(model)
    assert_allclose(model.decision_function(problem.X), reference.decision_function(problem.X))
    assert_array_equal(model.predict(problem.X), reference.predict(problem.X))


class KeepsTheTable(KNeighborsClassifier):
    def fit(self, X, y):
        self.table_, self.labels_ = X.copy(), y.copy()
        return super().fit(X, y)


@settings(max_examples=15)
@given(problems, st.sampled_from(["predict", "decision_function"]))
def test_the_last_classifier_sees_rows_that_models_were_not_fitted_on(problem, method):
    folds = list(FOLDS.split(problem.X, problem.agreed()))
    table = naive.stack(
        problem.blocks,
        problem.labels,
        fit_svc,
        folds,
        problem.K,
        "values" if method == "decision_function" else "labels",
    )
    if method == "decision_function" and problem.K == 2:
        table = table[:, 1::2]
    table = np.hstack([table, ~problem.present[:, ~problem.present.all(axis=0)]])
    model = ViewStackingClassifier(SVC(), views=VIEWS, cv=FOLDS, final_estimator=KeepsTheTable(), stack_method=method)
    problem.fit(model)
    assert_allclose(model.final_estimator_.table_, table, atol=1e-12)
    assert_array_equal(model.final_estimator_.labels_, problem.agreed())


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 4]))
def test_majority_labels(seed, n_classes):
    rng = np.random.default_rng(seed)
    codes, present = rng.integers(0, n_classes, (20, 4)), rng.random((20, 4)) < 0.7
    present[:, 1] |= ~present.any(axis=1)
    rows = [[label if here else None for label, here in zip(*row)] for row in zip(codes, present)]
    assert_array_equal(majority_codes(codes, present, n_classes), [naive.majority(row, n_classes) for row in rows])
    assert_array_equal(majority_codes(codes[:1], present[:1] & False, n_classes), [-1])


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


def as_codes(decision):
    return (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_super_kernel_is_a_machine_on_calibrated_machines(n_classes):
    """scikit-learn fits the same machines and sigmoids; only the held-out probabilities are not to be had from it."""
    problem = Problem(n_classes=n_classes)
    model = problem.fit(SuperKernelClassifier(views=VIEWS, cv=FOLDS))
    machine = make_pipeline(StandardScaler(), SVC())
    inner, outer = [], []
    for block, sigmoids in zip(problem.blocks, model.sigmoids_):
        calibrated = CalibratedClassifierCV(machine, ensemble=False, cv=FOLDS).fit(block, problem.y)
        inner.append(calibrated.predict_proba(block)[:, 1 if n_classes == 2 else 0 :])
        margins = cross_val_predict(machine, block, problem.y, cv=FOLDS, method="decision_function")
        values = 1 / (1 + np.exp(-(margins.reshape(len(block), -1) * sigmoids[:, 0] + sigmoids[:, 1])))
        outer.append(values if n_classes == 2 else values / values.sum(axis=1, keepdims=True))
    table, _ = model._table(model._blocks(problem.X))
    assert_allclose(table, np.hstack(inner), atol=2e-3)
    last = SVC(break_ties=True).fit(np.hstack(outer), problem.y)
    assert_allclose(model.decision_function(problem.X), last.decision_function(table), atol=1e-9)
    assert_array_equal(model.predict(problem.X), last.predict(table))


@given(st.integers(0, 2**32 - 1), st.floats(1e-3, 1e3))
def test_the_sigmoid_has_the_largest_likelihood(seed, scale):
    rng = np.random.default_rng(seed)
    positive = rng.random(40) < rng.uniform(0.2, 0.8)
    values, weights = scale * (rng.normal(size=40) + positive), rng.exponential(size=40)
    n_positive, n_negative = weights[positive].sum(), weights[~positive].sum()
    targets = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))

    def loss(slope, offset):
        odds = slope * values + offset
        return weights @ (np.logaddexp(0, odds) - targets * odds)

    slope, offset = fit_sigmoid(values, positive, weights)
    least = loss(slope, offset)
    for other in (loss(slope * 1.01, offset), loss(slope * 0.99, offset), loss(slope, offset + 0.01), loss(0.0, 0.0)):
        assert least <= other + 1e-9


def test_a_sigmoid_of_separated_values_is_finite():
    slope, offset = fit_sigmoid(np.r_[np.full(50, -1.0), np.full(50, 1.0)], np.arange(100) >= 50)
    assert_allclose(1 / (1 + np.exp(-(slope + offset))), 51 / 52, rtol=1e-4)
    assert_allclose(fit_sigmoid(np.zeros(4), np.array([True, True, True, False]))[0], 0)


# Labels, weights, absences


@settings(max_examples=6)
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


@pytest.mark.parametrize("model", all_kinds(random_state=0)[2:4] + all_kinds(random_state=0)[5:])
def test_a_view_that_is_silent_in_a_fold_or_in_all(model):
    """Few rows have the view, so that some folds leave it none or one class to learn from."""
    problem = Problem(n_classes=2)
    X = problem.X.copy()
    X[4:, 5] = np.nan
    model = clone(model).fit(X, problem.y)
    assert np.isfinite(model.decision_function(problem.X)).all()
    X[np.ix_(problem.y == 1, [5])] = np.nan
    assert clone(model).fit(X, problem.y).score(X, problem.y) > 0.7


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


def test_weights_reach_the_end_of_a_pipeline_and_of_a_search():
    problem = Problem()
    weights = np.random.default_rng(0).uniform(0.1, 3, 90)
    pipeline = make_pipeline(StandardScaler(), SVC(kernel="linear"))
    search = GridSearchCV(pipeline, {"svc__C": [0.01]}, cv=3)
    model = ViewVotingClassifier({"a": pipeline, "b": search}, views={"a": [0, 1], "b": [2, 3]}, voting="sum")
    model.fit(problem.X, problem.y, sample_weight=weights)
    for estimator, C, columns in zip(model.estimators_, (1, 0.01), ([0, 1], [2, 3])):
        expected = make_pipeline(StandardScaler(), SVC(kernel="linear", C=C))
        expected.fit(problem.X[:, columns], problem.y, svc__sample_weight=weights)
        assert_allclose(
            estimator.decision_function(problem.X[:, columns]), expected.decision_function(problem.X[:, columns])
        )


# Models that come fitted


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


# Like any classifier


@by_kind
def test_the_number_of_threads_changes_nothing(model):
    problem = Problem(n_classes=3, absent=True)
    expected = problem.fit(clone(model)).predict_proba(problem.X)
    assert_array_equal(problem.fit(clone(model).set_params(n_jobs=2)).predict_proba(problem.X), expected)


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


def test_views_get_seeds_of_their_own():
    problem = Problem()
    model = ViewVotingClassifier(RandomForestClassifier(3), views=[[0, 1], [0, 1]], random_state=0)
    problem.fit(model)
    seeds = [forest.random_state for forest in model.estimators_]
    assert len(set(seeds)) == 2
    assert model.estimator.random_state is None


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


def test_searches_over_views_and_settings():
    problem = Problem()
    search = GridSearchCV(
        ViewVotingClassifier(SVC(), views=VIEWS),
        {"voting": ["majority", "sum"], "views": [VIEWS, {"a": [0]}], "estimator__C": [0.1, 1.0]},
        cv=3,
    ).fit(problem.X, problem.y)
    assert search.best_params_["views"] == VIEWS


@pytest.mark.parametrize("n_classes", [2, 3])
def test_adaboost_per_view_and_on_the_concatenation(n_classes):
    """S0's and S1's AdaBoost-MV and AdaBoost-Ca."""
    problem = Problem(n_classes=n_classes, n=200)
    booster = AdaBoostClassifier(n_estimators=20)
    for model in (
        ViewVotingClassifier(booster, views=VIEWS, random_state=0),
        ViewVotingClassifier(booster, views=VIEWS, voting="sum", random_state=0),
        ConcatenatedClassifier(booster, views=VIEWS, random_state=0),
        ViewStackingClassifier(booster, views=VIEWS, random_state=0),
    ):
        # Three standard errors above chance, on 100 rows.
        assert (
            model.fit(problem.X[:100], problem.y[:100]).score(problem.X[100:], problem.y[100:]) > 1 / n_classes + 0.15
        )
    reference = AdaBoostClassifier(n_estimators=20, random_state=0).fit(problem.X, problem.y)
    model = ConcatenatedClassifier(clone(booster).set_params(random_state=0), views=VIEWS).fit(problem.X, problem.y)
    assert_array_equal(model.predict(problem.X), reference.predict(problem.X))


def test_a_different_classifier_for_each_view():
    problem = Problem(n_classes=3, absent=True)
    chosen = {"c": GaussianNB(), "a": SVC(), "b": ShareBoostClassifier("stump", n_estimators=5)}
    model = problem.fit(ViewVotingClassifier(chosen, views=VIEWS, voting="sum"))
    assert [type(one) for one in model.estimators_] == [SVC, ShareBoostClassifier, GaussianNB]
    in_order = ViewVotingClassifier([chosen[name] for name in VIEWS], views=VIEWS, voting="sum")
    assert_array_equal(problem.fit(in_order).decision_function(problem.X), model.decision_function(problem.X))


class NamesOnly(ClassifierMixin, BaseEstimator):
    """A classifier that gives labels and nothing else."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.means_ = np.array([X[y == label].mean(axis=0) for label in self.classes_])
        return self

    def predict(self, X):
        return self.classes_[((X[:, None] - self.means_) ** 2).sum(axis=2).argmin(axis=1)]


def test_classifiers_that_give_labels_only():
    problem = Problem(n_classes=3)
    model = problem.fit(ViewVotingClassifier(NamesOnly(), views=VIEWS))
    said = [NamesOnly().fit(block, problem.y).predict(block) for block in problem.blocks]
    votes = np.array([[sum(labels == k) for k in range(3)] for labels in np.transpose(said)])
    assert_array_equal(model.decision_function(problem.X), votes)
    assert_array_equal(model.predict(problem.X), votes.argmax(axis=1))  # a tie goes to the lowest class
    for other in (
        ConcatenatedClassifier(NamesOnly()),
        ViewStackingClassifier(SVC(), views=VIEWS, final_estimator=NamesOnly()),
    ):
        problem.fit(other)
        assert_array_equal(as_codes(other.decision_function(problem.X)), other.predict(problem.X))
        assert_array_equal(other.predict_proba(problem.X).argmax(axis=1), other.predict(problem.X))


# S0's support vector machine


def test_the_grid_is_that_of_s0():
    search = tuned_svm()
    assert search.cv == 10
    assert_allclose(search.param_grid["svc__C"], [0.01, 0.1, 1, 10, 100])
    assert_allclose(np.sort(np.power(search.param_grid["svc__gamma"], -0.5)), [0.01, 0.1, 1, 10, 100])
    assert tuned_svm(standardise=False).estimator.steps[0][1] == "passthrough"
    assert len(tuned_svm(points=3).param_grid["svc__C"]) == 3


def test_the_grid_is_chosen_within_the_training_rows():
    problem = Problem(own_labels=True)
    model = problem.fit(ViewVotingClassifier(tuned_svm(points=3, cv=3), views=VIEWS))
    for search, block, own in zip(model.estimators_, problem.blocks, problem.view_labels.T):
        assert search.best_params_ == tuned_svm(points=3, cv=3).fit(block, own).best_params_


# Bad input

X, y = Problem().X, Problem().y


def with_value(value, rows=slice(0, 1), columns=slice(0, 1)):
    changed = X.copy()
    changed[rows, columns] = value
    return changed


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (ViewVotingClassifier(SVC(), voting="soft"), ValueError, r"voting must be one of \['majority', 'sum'\]; got"),
        (ViewVotingClassifier(SVC), TypeError, r"view 'view0' must be an instance, not a class; pass SVC\(\)"),
        (
            ViewVotingClassifier(None),
            TypeError,
            "estimator for the view 'view0' must be a scikit-learn classifier; got",
        ),
        (ViewVotingClassifier(LinearRegression()), TypeError, "must be a classifier; got LinearRegression.* regressor"),
        (ViewVotingClassifier([SVC()], views=VIEWS), ValueError, "estimator is a list of 1, but there are 3 views"),
        (ViewVotingClassifier({"a": SVC()}, views=VIEWS), ValueError, "estimator has nothing for the view 'b'"),
        (ViewVotingClassifier({"d": SVC()}, views=VIEWS), ValueError, "estimator names the view 'd'"),
        (ViewVotingClassifier(SVC(), n_jobs=0), ValueError, "n_jobs must be None"),
        (ViewVotingClassifier(SVC(), views={"a": [9]}), ValueError, "View 'a' asks for column 9"),
        (
            ViewVotingClassifier({"a": SVC(), "b": NamesOnly(), "c": SVC()}, views=VIEWS, voting="sum"),
            TypeError,
            "voting='sum' needs a classifier with decision_function or predict_proba; the estimator for the view 'b'",
        ),
        (ViewVotingClassifier(FrozenEstimator(SVC())), ValueError, "for the view 'view0' is frozen but not fitted"),
        (
            ViewVotingClassifier(FrozenEstimator(SVC().fit(X, y)), views=VIEWS),
            ValueError,
            "frozen estimator for the view 'a' was fitted on 6 columns, but the view has 2",
        ),
        (
            ViewVotingClassifier(FrozenEstimator(SVC().fit(X, y + 1))),
            ValueError,
            "classes_ of the classifier for the view 'view0' holds labels that are not among the classes: 2",
        ),
        (ViewStackingClassifier(SVC(), stack_method="labels"), ValueError, "stack_method must be one of"),
        (ViewStackingClassifier(SVC(), cv=1), ValueError, "cv must be an integer of at least 2, or a splitter"),
        (ViewStackingClassifier(SVC(), cv=True), ValueError, "cv must be an integer of at least 2"),
        (ViewStackingClassifier(SVC(), cv=[([0], [1])]), ValueError, "cv must be an integer of at least 2"),
        (
            ViewStackingClassifier(SVC(), cv=46),
            ValueError,
            "cv=46 needs at least 46 rows of each class, but the class 0 has 45",
        ),
        (
            ViewStackingClassifier(SVC(), cv=ShuffleSplit(3)),
            ValueError,
            "cv must hold out every row once; ShuffleSplit",
        ),
        (
            ViewStackingClassifier(NamesOnly(), views=VIEWS, stack_method="decision_function"),
            TypeError,
            "stack_method='decision_function' needs .* the estimator for the view 'a'",
        ),
        (
            ViewStackingClassifier(SVC(), final_estimator=3),
            TypeError,
            "final_estimator must be a scikit-learn classifier",
        ),
        (
            ViewStackingClassifier(SVC(), final_estimator=FrozenEstimator(SVC().fit(X, y))),
            ValueError,
            "final_estimator is frozen",
        ),
        (ConcatenatedClassifier(LinearRegression()), TypeError, "The estimator must be a classifier; got"),
        (ConcatenatedClassifier(FrozenEstimator(SVC().fit(X, y))), ValueError, "estimator is frozen"),
        (SuperKernelClassifier(C=0), ValueError, "C must be a number above 0; got 0"),
        (SuperKernelClassifier(cv="five"), ValueError, "cv must be an integer of at least 2"),
    ],
)
def test_settings(model, error, message):
    with pytest.raises(error, match=message):
        model.fit(X, y)


@by_kind
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": np.zeros(90)}, "y must hold at least two classes"),
        ({"y": np.linspace(0, 1, 90)}, "Unknown label type"),
        ({"X": with_value(np.inf)}, "Input X contains infinity"),
        ({"X": with_value(np.nan, slice(4, 6), slice(None))}, "Every view is absent .* in 2 of the rows .* row 4"),
        ({"X": with_value(np.nan, slice(None), slice(5, 6))}, "The view 'c' is absent .* in every row"),
        ({"sample_weight": np.zeros(90)}, "sample_weight is zero for every row"),
        ({"sample_weight": -np.ones(90)}, "sample_weight holds negative weights"),
        ({"sample_weight": np.full(90, np.nan)}, "sample_weight holds NaN"),
        ({"sample_weight": np.ones((90, 2))}, "sample_weight must be 1-D"),
        ({"sample_weight": ["a"] * 90}, "sample_weight must hold numbers"),
        (
            {"sample_weight": (y == 0).astype(float)},
            "rows of X with a positive sample_weight are all of one class, 0",
        ),
        ({"view_labels": y}, r"view_labels must have shape \(n_samples, n_views\) = \(90, 3\)"),
        ({"view_labels": np.c_[y, y, y + 1]}, "view_labels of the view 'c' holds labels that are not among .*: 2"),
        ({"view_labels": np.c_[y, y * 0, y * 0]}, "majority labels of view_labels are all of one class, 0"),
    ],
)
def test_data(model, arguments, message):
    model = clone(model)
    with pytest.raises(ValueError, match=message):
        model.fit(**{"X": X, "y": y, **arguments})
    assert not hasattr(model, "classes_")


def test_weights_that_nobody_takes():
    for model, what in (
        (ViewVotingClassifier(KNeighborsClassifier(), views=VIEWS), "the estimator for the view 'a'"),
        (ViewStackingClassifier(SVC(), final_estimator=KNeighborsClassifier()), "the final_estimator"),
        (ConcatenatedClassifier(KNeighborsClassifier()), "the estimator"),
    ):
        with pytest.raises(
            TypeError, match=rf"sample_weight was given, but {what}, KNeighborsClassifier.*, takes none"
        ):
            model.fit(X, y, sample_weight=np.ones(90))


def test_decision_values_of_pairs_of_classes_are_refused():
    """With three classes there are three pairs: nothing else would notice."""
    three = Problem(n_classes=3)
    for model in (
        ViewVotingClassifier(make_pipeline(SVC(decision_function_shape="ovo")), views=VIEWS),
        ConcatenatedClassifier(SVC(decision_function_shape="ovo")),
        ViewStackingClassifier(SVC(), final_estimator=SVC(decision_function_shape="ovo")),
    ):
        with pytest.raises(ValueError, match=r"decision_function_shape='ovo'.* of pairs of classes; set it to 'ovr'"):
            model.fit(three.X, three.y)
        model.fit(X, y)


def test_gaps_that_a_classifier_does_not_take_name_the_view_and_the_row():
    gap = with_value(np.nan, slice(7, 8), slice(3, 4))
    for model in all_kinds():
        if isinstance(model, ConcatenatedClassifier):
            assert model.fit(gap, y).score(gap, y) > 0.7
            continue
        with pytest.raises(ValueError, match=r"The view 'b' has NaN among its columns in row 7 of X"):
            model.fit(gap, y)
        with pytest.raises(ValueError, match=r"The view 'b' has NaN among its columns in row 7 of X"):
            model.fit(X, y).predict(gap)
    assert ViewVotingClassifier(DecisionTreeClassifier(max_depth=3), views=VIEWS).fit(gap, y).score(gap, y) > 0.7


@by_kind
def test_a_fit_that_fails_leaves_the_model_as_it_was(model):
    model = clone(model).fit(X, y)
    state = dict(vars(model))
    with pytest.raises(ValueError, match="view_labels must have shape"):
        model.fit(pd.DataFrame(X), y, view_labels=np.zeros((3, 3)))
    assert vars(model) == state or all(vars(model)[name] is value for name, value in state.items())


def test_other_splitters():
    model = ViewStackingClassifier(SVC(), views=VIEWS, cv=KFold(4)).fit(X, y)
    assert model.score(X, y) > 0.8
