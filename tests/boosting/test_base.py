"""What users do with the boosting classifiers."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fuselearn import (
    ShareBoostClassifier,
)
from fuselearn.backends import Tally, Trial
from fuselearn.bandits import Best, Exp3P
from fuselearn.boosting import rounds
from fuselearn.boosting.rounds import RunSettings, SharedRound, Trace
from fuselearn.learners import GaussianNB, Tree
from tests.boosting.iris_views import KINDS, VIEWS, X, y


@pytest.mark.parametrize("kind", KINDS)
def test_fitted_attributes(kind):
    model = kind(views=VIEWS, n_estimators=12).fit(X, y)
    assert model.view_names_ == ["sepal", "petal"]
    assert [columns.tolist() for columns in model.view_columns_] == [[0, 1], [2, 3]]
    assert model.n_iter_ == len(model.estimators_) == len(model.estimator_weights_) == 12
    assert [(name, type(learner)) for name, learner in model.arms_] == [("sepal", GaussianNB), ("petal", GaussianNB)]
    assert model.arm_errors_.shape == (12, 2)
    assert_array_equal(model.winning_arms_, model.winning_views_)
    assert_allclose(model.view_importances_.sum(), 1)
    assert_allclose(model.class_prior_, 1 / 3)
    assert_allclose(model.estimator_errors_, model.arm_errors_[np.arange(12), model.winning_arms_])
    for t in range(12):
        columns = model.view_columns_[model.winning_views_[t]]
        assert set(model.estimators_[t].predict(X[:, columns])) <= {0, 1, 2}
    assert len(pickle.dumps(model)) < X.nbytes * 5  # 12 rounds, and no training data
    assert X[0].tobytes() not in pickle.dumps(model)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_votes_probabilities_and_stages_agree(kind, n_classes):
    keep = y < n_classes if n_classes == 3 else y > 0
    model = kind("stump", views=VIEWS, n_estimators=9).fit(X[keep], y[keep])
    decision = model.decision_function(X)
    votes = np.zeros((len(X), n_classes))
    for hypothesis, alpha, view in zip(model.estimators_, model.estimator_weights_, model.winning_views_):
        votes[np.arange(len(X)), hypothesis.predict(X[:, model.view_columns_[view]])] += alpha
    if n_classes == 2:
        assert decision.shape == (150,)
        assert_allclose(decision, votes[:, 1] - votes[:, 0], atol=1e-12)
        assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-2 * decision)), rtol=1e-9)
        assert_array_equal(model.predict(X), model.classes_[(decision > 0).astype(int)])
    else:
        assert_allclose(decision, votes, atol=1e-12)
        assert_array_equal(model.predict(X), model.classes_[votes.argmax(axis=1)])
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    stages = list(zip(model.staged_decision_function(X), model.staged_predict(X), model.staged_predict_proba(X)))
    assert len(stages) == model.n_iter_
    assert_array_equal(stages[-1][0], decision)
    assert_array_equal(stages[-1][1], model.predict(X))
    assert_array_equal(stages[-1][2], model.predict_proba(X))
    assert not np.array_equal(stages[0][0], stages[-1][0])
    margins = model.margins(X[keep], y[keep])
    assert (np.abs(margins) <= 1).all()
    assert_array_equal(margins > 0, model.predict(X[keep]) == y[keep])


def test_first_stages_are_a_shorter_run():
    long = ShareBoostClassifier("stump", views=VIEWS, n_estimators=20).fit(X, y)
    short = ShareBoostClassifier("stump", views=VIEWS, n_estimators=7).fit(X, y)
    assert_array_equal(list(long.staged_predict(X))[6], short.predict(X))


def test_pipeline_cross_validation_and_grid_search_over_views():
    model = make_pipeline(StandardScaler(), ShareBoostClassifier(views=VIEWS, n_estimators=20))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.9
    search = GridSearchCV(
        ShareBoostClassifier("stump", n_estimators=5),
        {"views": [None, VIEWS, [[0], [1], [2, 3]]], "view_policy": ["best", Exp3P(gamma=0.5)]},
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.8
    assert len(search.cv_results_["params"]) == 6
    nested = GridSearchCV(ShareBoostClassifier(Tree(), n_estimators=5), {"estimator__max_depth": [1, 3]}, cv=3)
    assert nested.fit(X, y).best_params_["estimator__max_depth"] in (1, 3)
    labels = np.c_[y, y]
    search = GridSearchCV(ShareBoostClassifier(views=VIEWS, n_estimators=5), {"learning_rate": [0.5, 1.0]}, cv=3)
    assert search.fit(X, y, view_labels=labels).best_score_ > 0.8


def test_a_dict_gives_each_view_its_learner_and_a_list_makes_arms():
    mixed = ShareBoostClassifier({"sepal": "stump", "petal": SVC()}, views=VIEWS, n_estimators=5).fit(X, y)
    assert [name for name, _ in mixed.arms_] == ["sepal", "petal"]
    several = ShareBoostClassifier(["stump", "gaussian_nb", "linear"], views=VIEWS, n_estimators=15).fit(X, y)
    assert [name for name, _ in several.arms_] == ["sepal"] * 3 + ["petal"] * 3
    assert several.arm_errors_.shape == (15, 6)
    assert_array_equal(several.winning_views_, several.winning_arms_ // 3)
    per_view = ShareBoostClassifier({"sepal": ["stump", "tree"], "petal": None}, views=VIEWS, n_estimators=5).fit(X, y)
    assert [name for name, _ in per_view.arms_] == ["sepal", "sepal", "petal"]


def test_arms_near_chance_are_ordered_by_their_error():
    """Z is flat at ε = ½: errors of ½ - 1e-7 and ½ - 1.5e-7 have the same Z to twelve digits."""
    tallies = [Tally(0.5 + edge, 0.5 - edge, 0.0) for edge in (1.0e-7, 1.5e-7)]
    trace = Trace(RunSettings((1, 1), Best(), 1.0, False, "training"), seed=0, horizon=10)
    rule = SharedRound(trace, n_classes=2, n_rows=100)
    trials = {arm: Trial(None, tally) for arm, tally in enumerate(tallies)}
    assert rule._winner(trials) == 1
    assert abs(rounds.normaliser(tallies[0], 2, 100) - rounds.normaliser(tallies[1], 2, 100)) < rounds.TIE
    with_absence = {arm: Trial(None, tally._replace(absent=0.1)) for arm, tally in enumerate(tallies)}
    assert rule._winner(with_absence) == 0


def test_a_large_learning_rate_does_not_overflow():
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=5, learning_rate=1e3).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert all(np.isfinite(weights).all() for weights in model.staged_sample_weights(X, y))
    perfect = np.arange(20) % 2
    assert ShareBoostClassifier("stump", learning_rate=50.0).fit(perfect[:, None] + 0.0, perfect).n_iter_ == 1


def test_a_subclass_may_have_a_required_argument():
    class Named(ShareBoostClassifier):
        def __init__(self, title, views=None):
            super().__init__(views=views, n_estimators=3)
            self.title = title

    assert Named("mine", VIEWS).fit(X, y).n_iter_ == 3


def test_what_is_done_to_a_learner_later_does_not_change_the_model():
    learner = Tree(max_depth=2)
    model = ShareBoostClassifier(learner, n_estimators=2).fit(X, y)
    learner.set_params(max_depth=7)
    assert model.arms_[0][1].max_depth == 2


def test_a_view_that_is_perfect_where_it_is_seen_does_not_end_the_run():
    rng = np.random.default_rng(0)
    target = np.arange(100) % 2
    table = np.c_[target + 0.0, rng.normal(size=100) + target]
    table[:60, 0] = np.nan
    model = ShareBoostClassifier("stump", views=[[0], [1]], n_estimators=20).fit(table, target)
    assert set(model.winning_views_) == {0, 1}


@pytest.mark.long
def test_strong_learners_are_boosted_out_of_bag():
    table, target = load_breast_cancer(return_X_y=True)
    views = [slice(0, 10), slice(10, 20), slice(20, 30)]
    train, test = train_test_split(np.arange(len(table)), random_state=0, stratify=target)
    model = ShareBoostClassifier(
        RandomForestClassifier(12), views=views, n_estimators=8, resample=True, error="out_of_bag", random_state=0
    ).fit(table[train], target[train])
    assert (model.estimator_errors_ > 0).any()
    assert model.score(table[test], target[test]) > 0.93


@pytest.mark.parametrize(("verbose", "lines"), [(0, 0), (1, 10), (2, 20)])
def test_verbose(capsys, verbose, lines):
    ShareBoostClassifier("stump", views=VIEWS, n_estimators=20, verbose=verbose).fit(X, y)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == lines
    assert all("of 20: '" in line for line in printed)


def test_rows_without_weight_are_as_if_not_there():
    weights = np.ones(150)
    weights[::5] = 0
    kept = weights > 0
    weighted = ShareBoostClassifier("stump", views=VIEWS, n_estimators=10).fit(X, y, sample_weight=weights)
    dropped = ShareBoostClassifier("stump", views=VIEWS, n_estimators=10).fit(X[kept], y[kept])
    assert_array_equal(weighted.winning_arms_, dropped.winning_arms_)
    assert_allclose(weighted.estimator_weights_, dropped.estimator_weights_, rtol=1e-9)
    assert weighted.n_samples_fit_ == dropped.n_samples_fit_ == kept.sum()
    stages = list(weighted.staged_sample_weights(X, y, sample_weight=weights))
    assert (stages[-1][~kept] == 0).all()
    assert stages[-1].sum() == pytest.approx(1)


def test_no_warning_in_an_ordinary_fit():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ShareBoostClassifier(["stump", "tree", "linear", None], views=VIEWS, n_estimators=5).fit(X, y)
    assert model.n_iter_ == 5


def test_columns_may_be_huge_or_far_from_zero():
    table = X * 1e12 + 1e14
    ours = ShareBoostClassifier(views=VIEWS, n_estimators=10).fit(table, y)
    assert_allclose(
        ours.estimator_errors_,
        ShareBoostClassifier(views=VIEWS, n_estimators=10).fit(X, y).estimator_errors_,
        rtol=1e-2,
    )
