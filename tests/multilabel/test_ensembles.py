"""The multi-label ensembles: what a fit yields, what predictions are, and what neither depends on."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics import average_precision_score, check_scoring, f1_score, make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fuselearn import MSSBoostClassifier, NSBoostClassifier, RSBagClassifier, progress
from fuselearn.datasets import make_overlapping_labels
from fuselearn.exceptions import InterruptedFitWarning
from fuselearn.multilabel import base as base_of_ensembles
from fuselearn.multilabel.rsbag import strength_and_correlation
from tests.multilabel.related_labels import ENSEMBLES, SMALL, X, Y, every_ensemble, related_labels


@every_ensemble
def test_what_a_fitted_model_has(kind):
    model = kind(**SMALL).fit(X, Y)
    assert len(model.estimators_) == len(model.estimators_features_) == 12
    assert model.label_weights_.shape == (12, 5)
    assert model.source_labels_.shape == (12,)
    assert model.loss_curve_.shape == (13,)
    assert_allclose(model.loss_curve_[0], 300 * 5 * np.log(2))
    assert_array_equal(model.classes_, np.arange(5))
    vectors = sum(len(machine.support_vectors_) for machine in model.estimators_)
    assert model.model_size_ == 6 * vectors  # 0.3 of 20 columns each
    assert all(len(set(columns)) == 6 for columns in model.estimators_features_)
    decision = model.decision_function(X)
    assert decision.shape == (300, 5)
    assert_array_equal(model.predict(X), decision > 0)
    assert_allclose(model.predict_proba(X), expit(decision))
    # The loss that the fit kept is that of the decision values: natural logarithms, summed over rows and labels.
    assert_allclose(np.logaddexp(0, -(2 * Y - 1) * decision).sum(), model.loss_curve_[-1], rtol=1e-5)
    assert not {id(X), id(Y)} & {id(value) for value in vars(model).values()}


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", [MSSBoostClassifier, NSBoostClassifier])
def test_the_loss_curve_begins_without_the_intercepts(kind, fit_intercept):
    model = kind(**SMALL, fit_intercept=fit_intercept).fit(X, Y)
    signs = 2 * Y - 1
    assert_allclose(model.loss_curve_[0], Y.size * np.log(2))  # of scores of 0, with intercepts too
    assert np.any(model.intercepts_) == fit_intercept
    for loss, decision in zip(model.loss_curve_[1:], model.staged_decision_function(X), strict=True):
        assert_allclose(loss, np.logaddexp(0, -signs * decision).sum(), rtol=1e-5)
    if fit_intercept:
        assert model.loss_curve_[1] < np.logaddexp(0, -signs * model.intercepts_).sum() < model.loss_curve_[0]


@every_ensemble
def test_decision_is_weighted_outputs_of_the_base_models(kind):
    model = kind(**SMALL).fit(X, Y)
    parts = [
        np.outer(np.clip(machine.decision_function(X[:, columns]), -1, 1), weights)
        for machine, columns, weights in zip(model.estimators_, model.estimators_features_, model.label_weights_)
    ]
    assert_allclose(model.decision_function(X), model.intercepts_ + sum(parts), atol=1e-10)
    sums = model.intercepts_ + np.cumsum(parts, axis=0)
    for stage, expected in zip(model.staged_decision_function(X), sums, strict=True):
        assert_allclose(stage, expected, atol=1e-10)
    assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))


def test_stages_are_copies():
    model = MSSBoostClassifier(**SMALL).fit(X, Y)
    first, second, *_ = model.staged_decision_function(X)
    assert not np.array_equal(first, second)


@every_ensemble
@pytest.mark.parametrize("n_models", [1, 5, 12])
def test_pruning(kind, n_models):
    model = kind(**SMALL).fit(X, Y)
    pruned = model.prune(n_models)
    stage = list(model.staged_decision_function(X))[n_models - 1]
    assert_allclose(pruned.decision_function(X), stage, atol=1e-10)
    assert pruned.n_estimators == len(pruned.estimators_) == n_models
    assert len(pruned.loss_curve_) == n_models + 1
    assert pruned.model_size_ <= model.model_size_
    assert len(model.estimators_) == model.n_estimators == 12
    # A smaller model is the same as one that was fitted so small.
    again = clone(pruned).fit(X, Y)
    assert_array_equal(again.label_weights_, pruned.label_weights_)


@pytest.mark.long
def test_sharing_helps_on_the_papers_synthetic_set():
    """S2 section 6.1: few stumps serve three labels, where without sharing they serve one each."""
    points, labels = make_overlapping_labels(random_state=0)
    stump = DecisionTreeClassifier(max_depth=1)
    settings = {"n_estimators": 8, "data_ratio": 0.1, "feature_ratio": 0.5}
    errors = [
        [np.mean(kind(stump, random_state=seed, **settings).fit(points, labels).predict(points) != labels)]
        for seed in range(5)
        for kind in ENSEMBLES
    ]
    shared, alone, bagged = np.reshape(errors, (5, 3)).mean(axis=0)
    assert shared < 0.75 * alone
    assert shared < 0.75 * bagged


@every_ensemble
@pytest.mark.long
@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_depth=3, splitter="random"), SVC()])
def test_same_bits_for_any_number_of_threads(kind, estimator, monkeypatch):
    monkeypatch.setattr("fuselearn.multilabel.subspace_models.CHUNK_ROWS", 300)  # more than one chunk of rows
    rows, labels = related_labels(n_rows=1000, seed=3)
    one, three = (kind(estimator, n_jobs=jobs, **SMALL).fit(rows, labels) for jobs in (None, 3))
    assert_array_equal(one.label_weights_, three.label_weights_)
    assert_array_equal(one.loss_curve_, three.loss_curve_)
    assert_array_equal(one.decision_function(rows), three.decision_function(rows))


def test_the_seed_decides():
    first, again, other = (
        MSSBoostClassifier(**(SMALL | {"random_state": seed})).fit(X, Y).decision_function(X) for seed in (0, 0, 1)
    )
    assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames(frame):
    columns = [f"x{i}" for i in range(X.shape[1])]
    names = ["sky", "sea", "sand", "road", "car"]
    table = frame(dict(zip(columns, X.T)))
    labels = frame(dict(zip(names, Y.T)))
    model = MSSBoostClassifier(views={"left": columns[:10], "right": columns[10:]}, **SMALL).fit(table, labels)
    plain = MSSBoostClassifier(views={"left": slice(0, 10), "right": slice(10, 20)}, **SMALL).fit(X, Y)
    assert model.label_names_ == names
    assert plain.label_names_ == [f"label{i}" for i in range(5)]
    assert_array_equal(model.feature_names_in_, columns)
    assert_array_equal(model.decision_function(table), plain.decision_function(X))


@pytest.mark.parametrize("kind_of_number", [bool, np.int8, np.float64])
def test_indicators_of_any_number(kind_of_number):
    model = MSSBoostClassifier(**SMALL).fit(X, Y.astype(kind_of_number))
    assert_array_equal(model.predict(X), MSSBoostClassifier(**SMALL).fit(X, Y).predict(X))


def test_one_label():
    """A 1-D target of two classes is one label, and its answers are those of a two-class classifier."""
    words = np.where(Y[:, 0], "yes", "no")
    model = MSSBoostClassifier(**SMALL).fit(X, words)
    column = MSSBoostClassifier(**SMALL).fit(X, Y[:, :1])
    assert model.classes_.tolist() == ["no", "yes"]
    assert_array_equal(model.decision_function(X), column.decision_function(X)[:, 0])
    assert_array_equal(model.predict(X) == "yes", column.predict(X)[:, 0] == 1)
    assert_allclose(model.predict_proba(X)[:, 1], column.predict_proba(X)[:, 0])


SCORERS = {
    "roc_auc": lambda truth, model: roc_auc_score(truth, model.decision_function(X)),
    "average_precision": lambda truth, model: average_precision_score(truth, model.decision_function(X)),
    "f1_macro": lambda truth, model: f1_score(truth, model.predict(X), average="macro"),
    "accuracy": lambda truth, model: np.mean((truth == model.predict(X)).all(axis=1)),
    make_scorer(roc_auc_score, response_method="predict_proba"): lambda truth, model: roc_auc_score(
        truth, model.predict_proba(X)
    ),
}


@pytest.mark.thinned(4)
@every_ensemble
@pytest.mark.parametrize("n_labels", [1, 2, 3])
def test_scikit_learns_scorers(kind, n_labels):
    """A matrix of any number of columns is a multi-label target to them, as it is here."""
    truth = Y[:, :n_labels]
    model = kind(**SMALL).fit(X, truth)
    for scoring, score in SCORERS.items():
        assert_allclose(check_scoring(model, scoring)(model, X, truth), score(truth, model), err_msg=str(scoring))
    assert roc_auc_score(truth, model.decision_function(X)) > 0.7


def test_slots_do_not_starve():
    """Without sharing, a candidate that its own label is not related to would hold its slot for good."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 20))
    scores = rows @ rng.normal(size=(20, 5)) + rng.normal(size=(300, 5))
    labels = (scores > np.quantile(scores, 0.7, axis=0)).astype(int)
    for kind in (MSSBoostClassifier, NSBoostClassifier):
        model = kind(random_state=0).fit(rows, labels)
        assert (np.bincount(model.source_labels_, minlength=5) > 0).all()
        assert model.label_weights_.any(axis=1).all()
        assert model.label_weights_.any(axis=0).all()


def test_it_works_in_cross_validation():
    scores = cross_val_score(MSSBoostClassifier(**SMALL), X, Y, scoring="average_precision", cv=3)
    assert scores.mean() > 1.3 * Y.mean()
    search = GridSearchCV(
        MSSBoostClassifier(**SMALL), {"feature_ratio": [0.05, 0.5]}, scoring="average_precision", cv=2
    )
    assert search.fit(X, Y).best_params_ == {"feature_ratio": 0.5}


@pytest.mark.parametrize("pool_size", [1, 3, 5, 11])
def test_pools_of_any_size(pool_size):
    model = MSSBoostClassifier(pool_size=pool_size, **SMALL).fit(X, Y)
    assert (np.diff(model.loss_curve_) <= 1e-9).all()
    assert len(model.estimators_) == 12


def test_a_small_pool_serves_every_label():
    model = NSBoostClassifier(pool_size=2, **(SMALL | {"n_estimators": 30})).fit(X, Y)
    assert set(model.source_labels_) == set(range(5))
    assert model.label_weights_.any(axis=0).all()


@pytest.mark.thinned(3)
@every_ensemble
def test_labels_that_nothing_tells_of(kind):
    """Random labels: base models may get no weight at all, and the model says nothing of the rows, without trouble."""
    noise = np.random.default_rng(0).integers(0, 2, (300, 3))
    model = kind(**(SMALL | {"n_estimators": 30})).fit(np.ones((300, 4)), noise)
    assert len(model.estimators_) == 30
    assert np.isfinite(model.decision_function(np.ones((3, 4)))).all()


def test_a_model_that_no_label_uses_is_not_asked():
    model = MSSBoostClassifier(**SMALL).fit(X, Y)
    model.label_weights_[3] = 0.0
    model.estimators_[3] = None
    assert model.decision_function(X).shape == (300, 5)


def test_strength_and_correlation_of_the_bag():
    model = RSBagClassifier(**(SMALL | {"n_estimators": 43})).fit(X, Y)
    fresh, truth = related_labels(seed=0, n_rows=1000)
    measures = model.strength_and_correlation(fresh, truth)
    assert {len(values) for values in measures.values()} == {5}
    stronger = measures["strength"] > 0
    assert stronger.any()
    assert (measures["error"] <= measures["bound"] + 1e-12)[stronger].all()
    assert np.isnan(measures["bound"][~stronger]).all()
    few = RSBagClassifier(**(SMALL | {"n_estimators": 3})).fit(X, Y).strength_and_correlation(X, Y)
    assert_array_equal(np.isnan(few["strength"]), [False, False, False, True, True])
    with pytest.raises(ValueError, match=r"y must have shape \(300, 5\); got \(300, 4\)"):
        model.strength_and_correlation(X, Y[:, :4])
    # Test rows need not have every label.
    row = model.strength_and_correlation(X[:1], sparse.csr_matrix(Y[:1]))
    assert set(row["error"]) <= {0.0, 1.0}
    words = np.where(Y[:, 0], "yes", "no")
    measures = RSBagClassifier(**SMALL).fit(X, words).strength_and_correlation(X, words)
    assert measures["error"].shape == (1,)
    assert measures["error"][0] < 0.5


def test_strength_and_correlation_of_three_models():
    signs = np.array([1, 1, -1, -1])
    outputs = np.array([[1, 1, -1, 1], [1, -1, -1, -1], [1, 1, 1, -1]])
    assert_allclose(strength_and_correlation(outputs, signs), [0.5, 1 / 9, 1 / 3, 0.0])


def test_steps_are_reported_to_a_listener():
    steps = []
    with progress.listening(steps.append):
        NSBoostClassifier(**(SMALL | {"n_estimators": 3})).fit(X, Y)
    assert [(step.estimator, step.done, step.total) for step in steps] == [
        ("NSBoostClassifier", number, 3) for number in (1, 2, 3)
    ]


def test_reports(capsys):
    MSSBoostClassifier(verbose=1, **(SMALL | {"n_estimators": 20})).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert lines[-1].startswith("[MSSBoostClassifier] model 20 of 20: joint loss ")
    MSSBoostClassifier(verbose=2, **SMALL).fit(X, Y)
    assert len(capsys.readouterr().out.splitlines()) == 12


@every_ensemble
def test_an_interrupt_keeps_the_models_there_are(kind, monkeypatch):
    calls = []

    def interrupt(self, losses):
        calls.append(losses)
        if len(calls) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(base_of_ensembles.BaseSubspaceEnsemble, "_report", interrupt)
    with pytest.warns(InterruptedFitWarning, match="the 4 of 12 base models"):
        model = kind(**SMALL).fit(X, Y)
    assert len(model.estimators_) == len(model.label_weights_) == 4
    assert len(model.loss_curve_) == 5
    assert model.decision_function(X).shape == (300, 5)


def test_no_warning_is_given_in_a_plain_fit():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MSSBoostClassifier(**SMALL).fit(X, Y).predict(X)
