"""Rows that belong together: how they are held out, and what FusionClassifier makes of them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier

from fuselearn import FusionClassifier
from fuselearn.classifiers.cross_fitting import stratified_folds
from fuselearn.fusion.base_models.catalogue import make_arms, resolve_learners
from fuselearn.numeric.execution import single_threaded_blas

VIEWS = {"first": slice(0, 4), "second": slice(4, 8)}


MODEL = FusionClassifier(views=VIEWS, random_state=0)
ONE_PASS = FusionClassifier(views=VIEWS, max_fits=9, random_state=0)


def persons(n_persons=30, pictures=6, knows=0.0, seed=0):
    """Pictures by which a person is recognised at once, with classes that only persons have, drawn by lot.

    What the columns tell of the class itself is `knows`; without it, nobody can tell that of a new person.
    """
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n_persons), pictures)
    y = rng.permutation(np.arange(n_persons) % 2)[person]
    X = 5 * rng.normal(size=(n_persons, 8))[person] + 0.1 * rng.normal(size=(len(y), 8))
    X[:, [0, 4]] += knows * (2 * y - 1)[:, None]
    return X, y, person


X, Y, PERSON = persons()


def mean_accuracies(learner):
    """Of an arm's values by fits without the row, and without its person, over several draws of persons."""
    within_groups, out_of_fold = [], []
    for seed in range(6):
        X, y, person = persons(seed=seed)
        rows = clone(MODEL)._read(X, y, groups=person)
        learners = resolve_learners([learner], 2, len(X))
        for arm in make_arms(rows.blocks, learners, np.ones(len(X)), rows.groups, rows.classes, 0):
            with single_threaded_blas():
                fit = arm.prepare().fit((2.0 * y - 1)[:, None], 0, np.random.SeedSequence(0))
            within_groups.append(balanced_accuracy_score(y, fit.within_groups[:, 0] > 0))
            out_of_fold.append(balanced_accuracy_score(y, fit.out_of_fold[:, 0] > 0))
    return np.mean(within_groups), np.mean(out_of_fold)


@pytest.mark.long
@pytest.mark.parametrize("learner", ["svm", "rbf", "trees", KNeighborsClassifier(3)])
def test_out_of_fold_values_have_seen_nobody_of_the_group(learner):
    within_groups, out_of_fold = mean_accuracies(learner)
    assert within_groups > 0.75
    assert out_of_fold < 0.6  # nothing can be known


@pytest.mark.parametrize("learner", ["svm", "rbf"])
def test_rows_outside_the_subsample_have_out_of_fold_values_too(learner, monkeypatch):
    monkeypatch.setattr("fuselearn.fusion.base_models.support_vector_machines.MOST_ROWS", 60)
    monkeypatch.setattr("fuselearn.fusion.base_models.kernel_machines.MOST_ROWS", 60)
    assert mean_accuracies(learner)[1] < 0.6


@pytest.mark.parametrize(
    ("model", "seeds"), [(ONE_PASS, range(2, 3)), pytest.param(MODEL, range(6), marks=pytest.mark.long)]
)
def test_scores_are_of_new_groups(model, seeds):
    scores, losses = [], []
    for seed in seeds:
        X, y, person = persons(seed=seed)
        X_new, y_new, _ = persons(seed=seed + 100)
        models = clone(model).fit(X, y, groups=person), clone(model).fit(X, y)
        scores.append([fitted.out_of_sample_score_ for fitted in models])
        right_class = np.arange(len(y_new)), y_new
        losses.append([-np.log(fitted.predict_proba(X_new)[right_class]).mean() for fitted in models])
    with_groups, without = np.mean(scores, axis=0)
    assert without > 0.9
    assert with_groups < 0.7
    # Nor is it sure of what it cannot know.
    with_groups, without = np.mean(losses, axis=0)
    assert with_groups < 0.8 < without


@pytest.mark.parametrize(("model", "n_seeds"), [(ONE_PASS, 1), pytest.param(MODEL, 5, marks=pytest.mark.long)])
def test_weight_goes_to_what_holds_for_new_groups(model, n_seeds):
    """One view tells persons apart, the other the classes: only with groups can it be known which is which."""
    gains = []
    for seed in range(n_seeds):
        X, y, person = persons(seed=seed)
        X_new, y_new, _ = persons(seed=seed + 100)
        rng = np.random.default_rng(seed)
        X[:, 4:] = 1.0 * (2 * y - 1)[:, None] + 1.5 * rng.normal(size=(len(y), 4))
        X_new[:, 4:] = 1.0 * (2 * y_new - 1)[:, None] + 1.5 * rng.normal(size=(len(y_new), 4))
        with_groups = clone(model).fit(X, y, groups=person)
        without = clone(model).fit(X, y)
        assert with_groups.view_importances_[1] > without.view_importances_[1]
        gains.append(with_groups.score(X_new, y_new) - without.score(X_new, y_new))
    assert np.mean(gains) > 0.02


@pytest.mark.long
def test_labels_are_judged_by_the_rest_of_the_group():
    wrong = np.arange(3, len(Y), 17)
    given_labels = Y.copy()
    given_labels[wrong] = 1 - given_labels[wrong]
    model = clone(MODEL).fit(X, given_labels, groups=PERSON)
    found = {record["row"] for record in model.suspects(len(wrong))}
    assert len(found & set(wrong)) >= 0.8 * len(wrong)


@pytest.mark.long
def test_names_of_groups_do_not_matter():
    model = clone(MODEL).set_params(learners=["linear", "trees"])
    expected = clone(model).fit(X, Y, groups=PERSON).predict_proba(X)
    names = np.array([f"person {number}" for number in PERSON])
    others = [names, names.tolist(), pd.Series(names, index=np.arange(len(Y))[::-1]), (100 - PERSON).astype(float)]
    for groups in others:
        assert_array_equal(clone(model).fit(X, Y, groups=groups).predict_proba(X), expected)


def test_groups_of_one_are_none():
    one, other = clone(ONE_PASS).fit(X, Y), clone(ONE_PASS).fit(X, Y, groups=np.arange(len(Y)))
    assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    assert_array_equal(one.out_of_sample_decision_, other.out_of_sample_decision_)


@pytest.mark.long
def test_threads_do_not_matter():
    one, two = (clone(MODEL).set_params(n_jobs=n).fit(X, Y, groups=PERSON) for n in (1, 2))
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert_array_equal(one.arm_weights_, two.arm_weights_)


@pytest.mark.parametrize("n_classes", [pytest.param(2, marks=pytest.mark.long), 3])
def test_groups_with_gaps_weights_and_several_classes(n_classes):
    X, _, person = persons(knows=0.0)
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(30) % n_classes)[person]
    X[:, 4:] += 8.0 * np.random.default_rng(5).normal(size=(n_classes, 4))[y]
    X[::7, :4] = np.nan
    X[person == 4, :4] = np.nan
    weights = np.where(person == 9, 0.0, 1.0 + person % 2)
    model = clone(MODEL).fit(X, y, sample_weight=weights, groups=person)
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isnan(model.posterior_[person == 9]).all()


def test_a_view_that_one_group_has_is_left_out():
    X_one = X.copy()
    X_one[PERSON != 3, :4] = np.nan
    X_one = np.vstack([X_one, X_one[PERSON == 3], X_one[PERSON == 3]])
    y = np.concatenate([Y, Y[PERSON == 3], 1 - Y[PERSON == 3]])
    person = np.concatenate([PERSON, PERSON[PERSON == 3], PERSON[PERSON == 3]])
    model = clone(ONE_PASS).fit(X_one, y, groups=person)
    assert {view for view, _ in model.arms_} == {"second"}


@pytest.mark.long
def test_cross_validation_hands_groups_on():
    with config_context(enable_metadata_routing=True):
        model = clone(MODEL).set_fit_request(groups=True)
        found = cross_validate(model, X, Y, cv=GroupKFold(3), params={"groups": PERSON}, return_estimator=True)
    assert all(model.out_of_sample_score_ < 0.95 for model in found["estimator"])


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (PERSON[:10], r"groups must have one entry for each of the 180 rows of X; got shape \(10,\)"),
        (np.zeros(180), "groups puts all rows of X that count into one group"),
        (np.where(np.arange(180) == 5, np.nan, PERSON), "groups has no value for row 5"),
        (np.where(np.arange(180) == 7, None, PERSON.astype(object)), "groups has no value for row 7"),
        (pd.array([pd.NA, *PERSON[1:]], dtype="Int64"), "groups has no value for row 0"),
        (["a", np.nan, *["b"] * 178], "groups has no value for row 1"),
        (np.zeros((180, 2)), r"groups must have one entry .* got shape \(180, 2\)"),
        (3, r"groups must have one entry .* got shape \(\)"),
        ([[1], *PERSON[1:]], "groups must hold numbers or names: unhashable type"),
    ],
)
def test_bad_groups_are_named(groups, words):
    with pytest.raises(ValueError, match=words):
        clone(MODEL).fit(X, Y, groups=groups)


def test_all_groups_that_count_may_not_be_one():
    with pytest.raises(ValueError, match="one group"):
        clone(MODEL).fit(X, np.arange(180) % 2, sample_weight=(PERSON == 2).astype(float), groups=PERSON)


@given(st.integers(0, 1000), st.integers(1, 12), st.integers(2, 6))
def test_folds_keep_groups_whole(seed, n_groups, n_folds):
    rng = np.random.default_rng(seed)
    groups = np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, 40)])
    codes = rng.integers(0, 3, len(groups))
    fold_of = stratified_folds(codes, n_folds, np.random.default_rng(seed), groups)
    for group in range(n_groups):
        assert len(np.unique(fold_of[groups == group])) == 1
    assert len(np.unique(fold_of)) == min(n_folds, n_groups)


def test_folds_of_groups_share_classes_out():
    groups = np.repeat(np.arange(40), 5)
    codes = (np.arange(40) % 4 == 0).astype(int)[groups]  # one in four
    fold_of = stratified_folds(codes, 5, np.random.default_rng(0), groups)
    assert_array_equal(np.bincount(fold_of), 40)
    assert_array_equal(np.bincount(fold_of, codes), 10)


def test_groups_of_one_size_and_several_do_not_leave_machines_without_rows(monkeypatch):
    """One group may be larger than all that a machine takes, and groups may be pure in class."""
    monkeypatch.setattr("fuselearn.fusion.base_models.support_vector_machines.MOST_ROWS", 60)
    monkeypatch.setattr("fuselearn.fusion.base_models.kernel_machines.MOST_ROWS", 60)
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(300) % 2)
    X = rng.normal(size=(300, 8)) + 1.5 * (2 * y - 1)[:, None]
    for groups in (np.maximum(np.arange(300) - 280, 0), 2 * (np.arange(300) % 3) + y):
        for learner in ("svm", "rbf", "linear"):
            model = clone(MODEL).set_params(learners=[learner], max_fits=3).fit(X, y, groups=groups)
            assert model.score(X, y) > 0.9


def test_views_of_one_group_each_cannot_be_judged():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 8))
    half = np.arange(40) < 20
    X[half, :4], X[~half, 4:] = np.nan, np.nan
    with pytest.raises(ValueError, match="groups: every view is present in the rows of one group only"):
        clone(MODEL).fit(X, np.arange(40) % 2, groups=half.astype(int))
