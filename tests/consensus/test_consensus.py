"""LabelConsensus: the expectation maximisation equals the slow one, and wrong labels are found."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from fuselearn import LabelConsensus, add_label_noise
from fuselearn.classifiers.cross_fitting import CrossFitting, class_values, stratified_folds
from fuselearn.consensus import agree
from fuselearn.datasets import load_digit_views
from tests.naive import consensus as naive


class Evidence:
    """Random decision values and label columns about random true classes."""

    def __init__(self, seed, n_classes=2, n_columns=1, n_views=2, n_rows=30, gaps=False):
        rng = np.random.default_rng(seed)
        self.truth = rng.integers(n_classes, size=n_rows)
        self.values = rng.normal(size=(n_rows, n_views, n_classes))
        self.values += rng.uniform(0, 2, n_views)[:, None] * (np.arange(n_classes) == self.truth[:, None])[:, None]
        self.values -= self.values.mean(axis=2, keepdims=True)
        wrong = rng.random((n_rows, n_columns)) < rng.uniform(0, 0.4, n_columns)
        slips = rng.integers(1, n_classes, size=wrong.shape)
        self.codes = (self.truth[:, None] + wrong * slips) % n_classes
        if gaps:
            self.values[rng.random((n_rows, n_views)) < 0.3] = 0
            self.codes[rng.random(self.codes.shape) < 0.3] = -1


evidence = st.builds(
    Evidence,
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.sampled_from([2, 3, 4]),
    n_columns=st.sampled_from([1, 2, 3]),
    n_views=st.sampled_from([1, 2, 3]),
    gaps=st.booleans(),
)


# The expectation maximisation


@given(evidence, st.sampled_from([1, 2, 5]))
@settings(max_examples=25)
def test_agreement_equals_the_slow_one(problem, n_iter):
    expected = naive.agree(problem.values, problem.codes, n_iter)
    found = agree(problem.values, problem.codes, max_iter=n_iter, tol=-np.inf)
    assert found.n_iter == n_iter
    assert_allclose(found.objective, expected["objective"], rtol=1e-8)
    assert_allclose(found.posterior, expected["posterior"], atol=1e-6)
    assert_allclose(found.column_rates, expected["rates"], atol=1e-6)
    assert_allclose(found.common_rates, expected["common"], atol=1e-6)
    assert_allclose(found.view_weights, expected["weights"], atol=1e-5)


@given(evidence)
def test_the_objective_never_falls(problem):
    found = agree(problem.values, problem.codes, max_iter=60, tol=1e-9)
    assert (np.diff(found.objective) >= -1e-9).all()
    assert_allclose(found.posterior.sum(axis=1), 1)


@given(evidence)
def test_the_order_of_columns_views_and_rows_does_not_matter(problem):
    rng = np.random.default_rng(0)
    rows, columns, views = (rng.permutation(n) for n in (*problem.codes.shape, problem.values.shape[1]))
    first = agree(problem.values, problem.codes, max_iter=30, tol=-np.inf)
    second = agree(problem.values[rows][:, views], problem.codes[rows][:, columns], max_iter=30, tol=-np.inf)
    assert_allclose(second.noise_rates, first.noise_rates[columns], atol=1e-6)
    assert_allclose(second.column_rates, first.column_rates[columns], atol=1e-6)
    assert_allclose(second.view_weights, first.view_weights[views], atol=1e-5)
    assert_allclose(second.posterior, first.posterior[rows], atol=1e-6)


@given(evidence)
def test_the_names_of_the_classes_do_not_matter(problem):
    n_classes = problem.values.shape[2]
    turned = np.where(problem.codes >= 0, (problem.codes + 1) % n_classes, -1)
    first = agree(problem.values, problem.codes, max_iter=30, tol=-np.inf)
    second = agree(np.roll(problem.values, 1, axis=2), turned, max_iter=30, tol=-np.inf)
    assert_allclose(second.posterior, np.roll(first.posterior, 1, axis=1), atol=1e-6)


def test_rates_are_those_the_labels_were_made_with():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=3000)
    values = rng.normal(size=(3000, 2, 3)) + 2.0 * (np.arange(3) == truth[:, None])[:, None]
    rates = [0.1, 0.25, 0.4]
    codes = np.column_stack([(truth + (rng.random(3000) < rate) * rng.integers(1, 3, size=3000)) % 3 for rate in rates])
    found = agree(values - values.mean(axis=2, keepdims=True), codes)
    assert found.converged
    assert_allclose(found.noise_rates, rates, atol=0.03)
    assert found.common_rate < 0.03
    assert (found.posterior.argmax(axis=1) == truth).mean() > 0.95


def test_errors_that_all_columns_copy_are_told_from_their_own():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=3000)
    values = rng.normal(size=(3000, 1, 1)) + 2.0 * truth[:, None, None] - 1
    values = np.concatenate([-values, values], axis=2)
    copied = truth ^ (rng.random(3000) < 0.2)
    codes = copied[:, None] ^ (rng.random((3000, 3)) < 0.05)
    found = agree(values, codes)
    assert_allclose(found.common_rate, 0.2, atol=0.04)
    assert_allclose(found.common_rates, 0.2, atol=0.06)
    assert_allclose(found.column_rates, 0.05, atol=0.03)
    assert_allclose(found.noise_rates, 0.23, atol=0.04)
    # Three columns that agree would be believed against any values, if they were taken for independent.
    assert (found.posterior.argmax(axis=1) == truth).mean() > (copied == truth).mean() + 0.05


def test_copies_of_a_column_are_no_new_evidence():
    problem = Evidence(3, n_rows=300)
    once = agree(problem.values, problem.codes, tol=1e-9)
    thrice = agree(problem.values, np.repeat(problem.codes, 3, axis=1), tol=1e-9)
    assert_allclose(thrice.posterior, once.posterior, atol=0.1)


def test_a_column_without_labels_has_no_rate():
    problem = Evidence(0, n_columns=2)
    problem.codes[:, 1] = -1
    assert_array_equal(np.isnan(agree(problem.values, problem.codes).noise_rates), [False, True])


# Out-of-fold values


@given(st.lists(st.integers(0, 3), min_size=2, max_size=60), st.integers(2, 6))
def test_folds_deal_out_every_class_evenly(codes, n_folds):
    codes = np.array(codes)
    fold_of = stratified_folds(codes, n_folds, np.random.default_rng(0))
    for code in np.unique(codes):
        counts = np.bincount(fold_of[codes == code], minlength=n_folds)
        assert counts.max() - counts.min() <= 1
    counts = np.bincount(fold_of, minlength=n_folds)
    assert counts.max() - counts.min() <= 1


def test_no_row_is_judged_by_a_model_that_saw_it():
    """A nearest neighbour knows the label of every row it was fitted on; out of fold it must not."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), np.arange(200) % 2
    model = LabelConsensus(KNeighborsClassifier(1), n_passes=1, random_state=0).fit(X, y)
    assert np.abs(model.view_weights_).max() < 0.5  # seen rows would give a weight of several


def test_values_of_views_have_the_same_size_where_they_are_present():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(60)[:, None] % 2, 2, axis=1)
    present = np.column_stack([np.ones(60, dtype=bool), np.arange(60) < 40])
    tables = [rng.normal(size=(60, 3)) + codes[:, :1], rng.normal(size=(40, 3))]
    estimators = [SVC(), LogisticRegression(C=1e-4)]  # values of very different size
    cross_fitting = CrossFitting(estimators, tables, present, 2, 5, 0, None)
    values = cross_fitting.values(np.where(present, codes, -1), 0)
    assert_allclose((values[:, 0] ** 2).mean(), 1)
    assert_allclose((values[:40, 1] ** 2).mean(), 1)
    assert_array_equal(values[40:, 1], 0)


def test_values_of_classes_have_mean_zero_whatever_the_classifier():
    X, y = np.arange(20.0)[:, None], np.arange(20) // 10
    for model in (SVC(), LogisticRegression(), GaussianNB()):
        values = class_values(model.fit(X, y), X, 2)
        assert_allclose(values.sum(axis=1), 0, atol=1e-12)
        assert_array_equal(values.argmax(axis=1), model.predict(X))


# The estimator, on data that come with scikit-learn


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


def test_a_class_that_is_often_missed(digits):
    """40 % of one class have the label of the other, and none the other way round."""
    X, views, truth = digits
    missed = (truth == 1) & (np.random.default_rng(0).random(300) < 0.4)
    labels = np.where(missed, 0, truth)
    for view_labels in (None, np.repeat(labels[:, None], 3, axis=1)):  # in one column, and in copies of it
        model = LabelConsensus(views=views, random_state=0).fit(X, labels, view_labels)
        assert_allclose(model.noise_rates_, missed.mean(), atol=0.06)
        for of_classes in model.class_noise_rates_:
            assert_allclose(of_classes, [0, missed[truth == 1].mean()], atol=0.12)
        assert (model.labels_ == truth).mean() > 1 - missed.mean() + 0.08


def test_wrong_labels_of_ten_digits():
    X, views, truth = load_digit_views(return_tuple=True)
    X, truth = X[:500], truth[:500]
    labels, flipped = add_label_noise(truth, 1, 0.2, random_state=0)
    names = np.array([f"digit {k}" for k in range(10)])
    model = LabelConsensus(views=views, n_passes=2, random_state=0).fit(X, names[labels[:, 0]])
    assert_array_equal(model.classes_, names)
    assert model.posterior_.shape == (500, 10)
    assert (model.labels_ == names[truth]).mean() > 0.95
    assert_allclose(model.noise_rates_, [0.2], atol=0.04)
    first = model.suspects(1)[0]
    assert flipped[first["row"], 0]
    assert first["proposed"] == names[truth[first["row"]]]


def test_clean_labels_are_kept(digits):
    X, views, truth = digits
    for view_labels in (None, np.repeat(truth[:, None], 3, axis=1)):
        model = LabelConsensus(views=views, random_state=0).fit(X, truth, view_labels)
        assert (model.labels_ == truth).mean() > 0.99
        assert model.noise_rates_.max() < 0.02


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
    model = LabelConsensus(views=views, n_passes=1, random_state=0)
    shuffled = np.random.default_rng(0).permutation(truth)
    assert_array_equal(model.fit(X, truth, view_labels).posterior_, model.fit(X, shuffled, view_labels).posterior_)


def test_columns_named_as_the_views_belong_to_them(digits):
    X, views, truth = digits
    view_labels, _ = add_label_noise(truth, 3, 0.3, random_state=0)
    model = LabelConsensus(views=views, n_passes=1, random_state=0)
    rates = model.fit(X, truth, view_labels).noise_rates_
    named = pd.DataFrame(view_labels, columns=list(views))[list(views)[::-1]]
    assert_array_equal(model.fit(X, truth, named).noise_rates_, rates)


def test_the_result_does_not_depend_on_threads_nor_on_the_run(digits):
    X, views, truth = digits
    labels = add_label_noise(truth, 1, 0.2, random_state=0)[0][:, 0]
    estimator = RandomForestClassifier(10)
    first = LabelConsensus(estimator, views=views, n_passes=2, random_state=3).fit(X, labels)
    second = LabelConsensus(estimator, views=views, n_passes=2, random_state=3, n_jobs=3).fit(X, labels)
    other = LabelConsensus(estimator, views=views, n_passes=2, random_state=4).fit(X, labels)
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
    model = LabelConsensus(views=views, random_state=0).fit(X, truth, view_labels)
    assert (model.labels_ == truth).mean() > 0.9
    assert_allclose(model.noise_rates_, 0.2, atol=0.08)
    number = {name: n for n, name in enumerate(views)}
    assert all(gone[record["row"]] != number[record["column"]] for record in model.suspects(600))
    assert len(model.suspects(10**6)) == 600


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
    model = LabelConsensus(views=views, random_state=0).fit(X, truth, view_labels)
    assert (model.labels_ == truth).mean() > 0.95
    assert model.noise_rates_.argmax() == 1


def test_weak_views_do_not_end_with_one_class():
    """Without a prior on the biases, one class for all objects explains such labels as well as any."""
    rng = np.random.default_rng(0)
    for seed in range(5):
        y = np.arange(120) % 2
        X = rng.normal(size=(120, 4)) + 0.3 * y[:, None]
        labels = add_label_noise(y, 1, 0.3, random_state=seed)[0][:, 0]
        model = LabelConsensus(random_state=seed).fit(X, labels)
        assert 0.1 < model.labels_.mean() < 0.9


@pytest.mark.parametrize("cv", [StratifiedKFold(4), KFold(3, shuffle=True, random_state=0), "pairs"])
def test_folds_of_the_user(digits, cv):
    X, views, truth = digits
    labels = add_label_noise(truth, 1, 0.1, random_state=1)[0][:, 0]
    if cv == "pairs":
        cv = list(KFold(3).split(X))
    model = LabelConsensus(views=views, cv=cv, n_passes=2, random_state=0).fit(X, labels)
    assert (model.labels_ == truth).mean() > 0.93


def test_classifiers_per_view_and_with_probabilities_only(digits):
    X, views, truth = digits
    estimator = {"pixels": RandomForestClassifier(20), "profiles": GaussianNB(), "edges": None}
    labels = add_label_noise(truth, 1, 0.1, random_state=1)[0][:, 0]
    model = LabelConsensus(estimator, views=views, random_state=0).fit(X, labels)
    assert (model.labels_ == truth).mean() > 0.93


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


# The report


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
    model = LabelConsensus(views=views, n_passes=1, random_state=0)
    assert model.fit(X, truth) is model
    assert model.view_names_ == list(views)
    assert_array_equal(model.view_columns_[1], np.arange(X.shape[1])[views["profiles"]])
    assert_array_equal(model.confidence_, model.posterior_.max(axis=1))
    assert_array_equal(model.labels_, model.classes_[model.posterior_.argmax(axis=1)])
    assert model.n_features_in_ == X.shape[1]
    assert model.view_weights_.shape == (3,)
    assert model.class_noise_rates_.shape == (1, 2)
    assert not any(value is X for value in vars(model).values())


# Bad input

y = np.arange(40) % 2
TABLE = np.random.default_rng(0).normal(size=(40, 4)) + y[:, None]
VIEWS = {"a": [0, 1], "b": [2, 3]}


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"cv": 1}, ValueError, "cv must be an integer of at least 2, a splitter .*; got 1"),
        ({"cv": "five"}, ValueError, "cv must be an integer of at least 2.*; got 'five'"),
        ({"cv": None}, ValueError, "cv must be an integer of at least 2.*; got None"),
        ({"cv": True}, ValueError, "cv must be an integer of at least 2.*; got True"),
        ({"cv": [(np.arange(20), np.arange(20, 30))]}, ValueError, "cv must hold out every row once"),
        ({"cv": 21}, ValueError, "cv=21 needs at least 21 objects of each class .* the view 'a' has 20 of the class 0"),
        ({"n_passes": 0}, ValueError, "n_passes must be an integer of at least 1; got 0"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be None, a number of threads, .*; got 0"),
        ({"n_jobs": "2"}, ValueError, "n_jobs must be None, a number of threads, .*; got '2'"),
        ({"views": {"a": [0, 9]}}, ValueError, "View 'a' asks for column 9"),
        ({"estimator": SVC}, TypeError, r"estimator must be an instance, not a class; pass SVC\(\)"),
        ({"estimator": LinearRegression()}, TypeError, "must be a classifier; got LinearRegression"),
        ({"estimator": object()}, TypeError, "estimator must be a scikit-learn classifier"),
        ({"estimator": {"a": None}}, ValueError, "estimator has nothing for the view 'b'"),
        ({"estimator": {"a": None, "b": None, "c": None}}, ValueError, "estimator names the view 'c'"),
    ],
)
def test_settings(settings, error, message):
    with pytest.raises(error, match=message):
        LabelConsensus(**{"views": VIEWS, **settings}).fit(TABLE, y)


class LabelsOnly(Perceptron):
    decision_function = property(lambda self: self._nothing)


def test_a_classifier_that_gives_labels_only():
    with pytest.raises(
        TypeError, match=r"estimator must have decision_function or predict_proba.*for the view 'a', which has neither"
    ):
        LabelConsensus(LabelsOnly(), views=VIEWS).fit(TABLE, y)


def test_decision_values_of_pairs():
    with pytest.raises(ValueError, match=r"decision_function_shape='ovo' for the view 'a'.*set it to 'ovr'"):
        LabelConsensus(SVC(decision_function_shape="ovo"), views=VIEWS).fit(TABLE, np.arange(40) % 3)


@pytest.mark.parametrize(
    ("view_labels", "message"),
    [
        (y, r"view_labels must have shape \(n_samples, n_views\) = \(40, 2\), .*\['a', 'b'\]; got shape \(40,\)"),
        (np.column_stack([y] * 3), r"view_labels must have shape .*; got shape \(40, 3\)"),
        (np.column_stack([y[:30]] * 2), r"view_labels must have shape .*; got shape \(30, 2\)"),
        (np.column_stack([y, y + 1]), "view_labels of the view 'b' holds labels that are not among the classes: 2;"),
        (np.column_stack([y, np.zeros(40)]), "labels of the view 'b' must be of at least two classes"),
        (np.column_stack([y, np.full(40, np.nan)]), "view_labels has no label for any row of the view 'b'"),
        (
            np.column_stack([y, np.arange(40) == 3]),
            "cv=5 needs at least 5 objects .* the view 'b' has 1 of the class 1",
        ),
    ],
)
def test_view_labels(view_labels, message):
    with pytest.raises(ValueError, match=message):
        LabelConsensus(views=VIEWS).fit(TABLE, y, view_labels)


def test_a_rare_class():
    with pytest.raises(ValueError, match=r"cv=5 needs at least 5 objects of each class .* has 3 of the class 'rare'"):
        LabelConsensus().fit(TABLE, np.where(np.arange(40) < 3, "rare", "usual"))


def test_one_class():
    with pytest.raises(ValueError, match="y must hold at least two classes"):
        LabelConsensus().fit(TABLE, np.ones(40))


def test_gaps_inside_a_view():
    X = TABLE.copy()
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"The view 'b' has NaN inside rows in which it is present.*SimpleImputer"):
        LabelConsensus(SVC(), views=VIEWS).fit(X, y)


def test_a_row_or_a_view_that_is_not_there():
    X = TABLE.copy()
    X[3] = np.nan
    with pytest.raises(ValueError, match="the first being row 3"):
        LabelConsensus(views=VIEWS).fit(X, y)
    X = TABLE.copy()
    X[:, 2:] = np.nan
    with pytest.raises(ValueError, match="The view 'b' is absent"):
        LabelConsensus(views=VIEWS).fit(X, y)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = LabelConsensus(views=VIEWS, n_passes=1, random_state=0).fit(TABLE, y)
    before = model.posterior_.copy()
    with pytest.raises(ValueError, match="view_labels must have shape"):
        model.fit(TABLE[:20], y[:20], y)
    assert_array_equal(model.posterior_, before)


@parametrize_with_checks(
    [LabelConsensus(cv=2, n_passes=1), LabelConsensus(DecisionTreeClassifier(max_depth=2), cv=2, n_passes=2)]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
