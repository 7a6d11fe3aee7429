"""LabelConsensus finds wrong labels on data that come with scikit-learn."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fuselearn import LabelConsensus, add_label_noise
from fuselearn.datasets import load_digit_views


def test_no_row_is_judged_by_a_model_that_saw_it():
    """A nearest neighbour knows the label of every row it was fitted on; out of fold it must not."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), np.arange(200) % 2
    model = LabelConsensus(KNeighborsClassifier(1), n_passes=1, random_state=0).fit(X, y)
    assert np.abs(model.view_weights_).max() < 0.5  # seen rows would give a weight of several


@pytest.fixture(scope="module")
def digits():
    """300 digits in three views; the class is whether the digit is at least 5."""
    X, views, y = load_digit_views(return_tuple=True)
    rows = np.random.default_rng(0).permutation(len(y))[:300]
    return X[rows], {name: views[name] for name in ("pixels", "profiles", "edges")}, (y[rows] >= 5).astype(int)


def test_wrong_labels_of_every_view(digits):
    X, views, truth = digits
    view_labels, flipped = add_label_noise(truth, 3, 0.3, random_state=0)
    model = LabelConsensus(views=views, random_state=0).fit(X, truth, view_labels)
    assert model.converged_
    assert_allclose(model.noise_rates_, 0.3, atol=0.06)
    majority = (view_labels.sum(axis=1) >= 2).astype(int)
    assert (majority == truth).mean() < 0.8
    assert (model.labels_ == truth).mean() > 0.93
    suspects = model.suspects()
    number = {name: n for n, name in enumerate(views)}
    right = [flipped[record["row"], number[record["column"]]] for record in suspects]
    assert 200 < len(suspects) < 340
    assert np.mean(right) > 0.88
    assert np.mean(right[:100]) > 0.97


def test_wrong_labels_of_one_column(digits):
    X, views, truth = digits
    labels, flipped = add_label_noise(truth, 1, 0.1, random_state=1)
    model = LabelConsensus(views=views, random_state=0).fit(X, labels[:, 0])
    assert_allclose(model.noise_rates_, [0.1], atol=0.04)
    assert model.label_columns_ == ["y"]
    assert model.common_rate_ == 0
    assert (model.labels_ == truth).mean() > 0.95
    assert np.mean([flipped[record["row"], 0] for record in model.suspects(20)]) > 0.9


@pytest.mark.long
def test_a_class_that_is_often_missed(digits):
    """40 % of one class have the label of the other, and none the other way round."""
    X, views, truth = digits
    missed = (truth == 1) & (np.random.default_rng(0).random(300) < 0.4)
    labels = np.where(missed, 0, truth)
    for view_labels in (None, np.repeat(labels[:, None], 3, axis=1)):  # in one column, and in copies of it
        model = LabelConsensus(views=views, n_passes=2, random_state=0).fit(X, labels, view_labels)
        assert_allclose(model.noise_rates_, missed.mean(), atol=0.06)
        for of_classes in model.class_noise_rates_:
            assert_allclose(of_classes, [0, missed[truth == 1].mean()], atol=0.12)
        assert (model.labels_ == truth).mean() > 1 - missed.mean() + 0.08


@pytest.mark.long
def test_wrong_labels_of_ten_digits():
    X, views, truth = load_digit_views(return_tuple=True)
    X, truth = X[:400], truth[:400]
    labels, flipped = add_label_noise(truth, 1, 0.2, random_state=0)
    names = np.array([f"digit {k}" for k in range(10)])
    model = LabelConsensus(views=views, n_passes=2, random_state=0).fit(X, names[labels[:, 0]])
    assert_array_equal(model.classes_, names)
    assert model.posterior_.shape == (400, 10)
    assert (model.labels_ == names[truth]).mean() > 0.95
    assert_allclose(model.noise_rates_, [0.2], atol=0.04)
    first = model.suspects(1)[0]
    assert flipped[first["row"], 0]
    assert first["proposed"] == names[truth[first["row"]]]


def test_clean_labels_are_kept(digits):
    X, views, truth = digits
    for view_labels in (None, np.repeat(truth[:, None], 3, axis=1)):
        model = LabelConsensus(views=views, n_passes=1, random_state=0).fit(X, truth, view_labels)
        assert (model.labels_ == truth).mean() > 0.99
        assert model.noise_rates_.max() < 0.02


@pytest.mark.long
def test_tumours():
    X, truth = load_breast_cancer(return_X_y=True)
    views = {"mean": slice(0, 10), "error": slice(10, 20), "worst": slice(20, 30)}
    labels, flipped = add_label_noise(truth, 1, 0.2, random_state=0)
    model = LabelConsensus(views=views, random_state=0).fit(X, labels[:, 0])
    assert_allclose(model.noise_rates_, [0.2], atol=0.04)
    assert (model.labels_ == truth).mean() > 0.93
    assert np.mean([flipped[record["row"], 0] for record in model.suspects(50)]) > 0.9


def test_a_column_of_random_labels_is_ignored(digits):
    X, views, truth = digits
    view_labels = np.repeat(truth[:, None], 3, axis=1)
    view_labels[:, 1] = np.random.default_rng(0).integers(2, size=300)
    model = LabelConsensus(views=views, n_passes=1, random_state=0).fit(X, truth, view_labels)
    assert_allclose(model.noise_rates_, [0, 0.5, 0], atol=0.07)
    assert (model.labels_ == truth).mean() > 0.97


def test_the_true_labels_do_not_leak(digits):
    X, views, truth = digits
    view_labels, _ = add_label_noise(truth, 3, 0.3, random_state=0)
    model = LabelConsensus(GaussianNB(), views=views, n_passes=1, random_state=0)
    shuffled = np.random.default_rng(0).permutation(truth)
    assert_array_equal(model.fit(X, truth, view_labels).posterior_, model.fit(X, shuffled, view_labels).posterior_)


def test_columns_named_as_the_views_belong_to_them(digits):
    X, views, truth = digits
    view_labels, _ = add_label_noise(truth, 3, 0.3, random_state=0)
    model = LabelConsensus(GaussianNB(), views=views, n_passes=1, random_state=0)
    rates = model.fit(X, truth, view_labels).noise_rates_
    named = pd.DataFrame(view_labels, columns=list(views))[list(views)[::-1]]
    assert_array_equal(model.fit(X, truth, named).noise_rates_, rates)


def test_the_result_does_not_depend_on_threads_nor_on_the_run(digits):
    X, views, truth = digits
    labels = add_label_noise(truth, 1, 0.2, random_state=0)[0][:, 0]
    estimator = RandomForestClassifier(2)
    first = LabelConsensus(estimator, views=views, n_passes=1, random_state=3).fit(X, labels)
    second = LabelConsensus(estimator, views=views, n_passes=1, random_state=3, n_jobs=3).fit(X, labels)
    other = LabelConsensus(estimator, views=views, n_passes=1, random_state=4).fit(X, labels)
    assert_array_equal(first.posterior_, second.posterior_)
    assert (first.posterior_ != other.posterior_).any()
    assert first.suspects() == second.suspects()


def test_absent_views_abstain(digits):
    X, views, truth = digits
    X = X.copy()
    gone = np.random.default_rng(0).integers(3, size=300)  # every object lacks one view
    for number, columns in enumerate(views.values()):
        X[gone == number, columns] = np.nan
    view_labels, _ = add_label_noise(truth, 3, 0.2, random_state=0)
    view_labels[np.arange(300), gone] = 99  # not looked at
    model = LabelConsensus(views=views, n_passes=2, random_state=0).fit(X, truth, view_labels)
    assert (model.labels_ == truth).mean() > 0.9
    assert_allclose(model.noise_rates_, 0.2, atol=0.08)
    number = {name: n for n, name in enumerate(views)}
    assert all(gone[record["row"]] != number[record["column"]] for record in model.suspects(600))
    assert len(model.suspects(10**6)) == 600


@pytest.mark.long
def test_labels_that_were_not_given(digits):
    """Three annotators of one table, each of whom labelled half of the objects."""
    X, _, truth = digits
    annotators = {"ann": slice(None), "ben": slice(None), "cai": slice(None)}
    labels, _ = add_label_noise(truth, 3, 0.2, random_state=0)
    not_given = np.random.default_rng(1).random(labels.shape) < 0.5
    assert not_given.all(axis=1).any()
    as_floats = np.where(not_given, np.nan, labels)
    as_words = np.where(not_given, None, np.array(["low", "high"], dtype=object)[labels])
    model = LabelConsensus(views=annotators, random_state=0)
    model.fit(X, truth, as_floats)
    assert (model.labels_ == truth).mean() > 0.93
    assert_allclose(model.noise_rates_, 0.2, atol=0.07)
    assert all(not not_given[r["row"], list(annotators).index(r["column"])] for r in model.suspects(999))
    rates, truth_in_words = model.noise_rates_, np.array(["low", "high"])[truth]
    model.fit(X, truth_in_words, as_words)
    assert (model.labels_ == truth_in_words).mean() > 0.93
    assert_allclose(model.noise_rates_, rates, atol=0.05)


def test_a_class_that_a_column_never_uses(digits):
    X, views, _ = digits
    _, _, digit = load_digit_views(return_tuple=True)
    digit = digit[np.random.default_rng(0).permutation(len(digit))[:300]]
    truth = np.digitize(digit, [3, 7])
    view_labels = np.repeat(truth[:, None], 3, axis=1)
    view_labels[truth == 2, 1] = 1  # the second view knows only two classes
    model = LabelConsensus(views=views, n_passes=2, random_state=0).fit(X, truth, view_labels)
    assert (model.labels_ == truth).mean() > 0.95
    assert model.noise_rates_.argmax() == 1


@pytest.mark.long
def test_weak_views_do_not_end_with_one_class():
    """Without a prior on the biases, one class for all objects explains such labels as well as any."""
    rng = np.random.default_rng(0)
    for seed in range(3):
        y = np.arange(120) % 2
        X = rng.normal(size=(120, 4)) + 0.3 * y[:, None]
        labels = add_label_noise(y, 1, 0.3, random_state=seed)[0][:, 0]
        model = LabelConsensus(random_state=seed).fit(X, labels)
        assert 0.1 < model.labels_.mean() < 0.9


@pytest.mark.parametrize("cv", [StratifiedKFold(4), KFold(3, shuffle=True, random_state=0), "pairs", "generator"])
def test_folds_of_the_user(digits, cv):
    X, views, truth = digits
    labels = add_label_noise(truth, 1, 0.1, random_state=1)[0][:, 0]
    if isinstance(cv, str):
        cv = list(KFold(3).split(X)) if cv == "pairs" else KFold(3).split(X)
    model = LabelConsensus(views=views, cv=cv, n_passes=1, random_state=0).fit(X, labels)
    assert (model.labels_ == truth).mean() > 0.93


def test_classifiers_per_view_and_with_probabilities_only(digits):
    X, views, truth = digits
    estimator = {"pixels": RandomForestClassifier(10), "profiles": GaussianNB(), "edges": None}
    labels = add_label_noise(truth, 1, 0.1, random_state=1)[0][:, 0]
    model = LabelConsensus(estimator, views=views, n_passes=2, random_state=0).fit(X, labels)
    assert (model.labels_ == truth).mean() > 0.93


@pytest.mark.long
def test_a_classifier_learns_more_from_the_agreed_labels():
    X, views, y = load_digit_views(return_tuple=True)
    y = (y >= 5).astype(int)
    train, test = slice(0, 400), slice(900, None)
    view_labels, _ = add_label_noise(y[train], len(views), 0.3, random_state=0)
    model = LabelConsensus(views=views, random_state=0).fit(X[train], y[train], view_labels)
    classifier = make_pipeline(StandardScaler(), SVC())
    majority = view_labels.mean(axis=1) > 0.5
    before = classifier.fit(X[train], majority).score(X[test], y[test])
    after = classifier.fit(X[train], model.labels_, svc__sample_weight=model.confidence_).score(X[test], y[test])
    assert after > before + 0.01


def test_suspects_are_records(digits):
    X, views, truth = digits
    labels, _ = add_label_noise(truth, 1, 0.2, random_state=0)
    words = np.array(["low", "high"])[labels[:, 0]]
    model = LabelConsensus(views=views, n_passes=1, random_state=0).fit(X, words)
    records = model.suspects()
    assert set(records[0]) == {"row", "column", "given", "proposed", "probability"}
    assert all(record["probability"] > 0.5 for record in records)
    assert all(record["given"] == words[record["row"]] != record["proposed"] for record in records)
    assert all(record["proposed"] == model.labels_[record["row"]] for record in records)
    everyone = model.suspects(10**6)
    probabilities = [record["probability"] for record in everyone]
    assert probabilities == sorted(probabilities, reverse=True)
    assert len(everyone) == len(X)
    assert everyone[: len(records)] == records
    assert model.suspects(3) == everyone[:3]
    assert model.suspects(0) == []
    assert pd.DataFrame(records).shape == pl.DataFrame(records).shape == (len(records), 5)
    assert all(type(record["row"]) is int and type(record["given"]) is str for record in records)
    with pytest.raises(ValueError, match="n must be an integer of at least 0; got -1"):
        model.suspects(-1)


def test_fitted_attributes(digits):
    X, views, truth = digits
    model = LabelConsensus(GaussianNB(), views=views, n_passes=1, random_state=0)
    assert model.fit(X, truth) is model
    assert model.view_names_ == list(views)
    assert_array_equal(model.view_columns_[1], np.arange(X.shape[1])[views["profiles"]])
    assert_array_equal(model.confidence_, model.posterior_.max(axis=1))
    assert_array_equal(model.labels_, model.classes_[model.posterior_.argmax(axis=1)])
    assert model.n_features_in_ == X.shape[1]
    assert model.view_weights_.shape == (3,)
    assert model.class_noise_rates_.shape == (1, 2)
    assert not any(value is X for value in vars(model).values())


def test_no_label_is_judged_by_others_of_its_group():
    """Rows of a group are near each other and have the label of the group, which was drawn by lot."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(40), 4)
    X = 5 * rng.normal(size=(40, 3))[group] + 0.1 * rng.normal(size=(160, 3))
    y = rng.permutation(np.arange(40) % 2)[group]
    model = LabelConsensus(KNeighborsClassifier(3), n_passes=1, random_state=0)
    assert model.fit(X, y).view_weights_[0] > 1  # the neighbours are of the same group
    assert abs(model.fit(X, y, groups=group).view_weights_[0]) < 0.5
    assert abs(model.set_params(cv=GroupKFold(4)).fit(X, y, groups=group).view_weights_[0]) < 0.5
    with pytest.raises(ValueError, match="cv has rows of the same group on both sides of a fold"):
        model.set_params(cv=KFold(3, shuffle=True, random_state=0)).fit(X, y, groups=group)
    with pytest.raises(ValueError, match="cv=41 needs at least 41 groups, but groups has 40"):
        model.set_params(cv=41).fit(X, y, groups=group)


def test_no_cv_is_five_folds(digits):
    X, views, truth = digits
    model = LabelConsensus(GaussianNB(), views=views, n_passes=1, random_state=0)
    expected = model.fit(X, truth).posterior_
    assert_array_equal(model.set_params(cv=None).fit(X, truth).posterior_, expected)
