"""Views that rows lack, that overlap, that are transformed, and that have labels of their own."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fuselearn import (
    IndependentBoostClassifier,
    ShareBoostClassifier,
    add_label_noise,
    stack_unpaired,
)
from tests.boosting.iris_views import KINDS, VIEWS, X, assert_same_model, y


def test_absent_views_abstain_and_the_prior_speaks_where_nobody_does():
    table = X.copy()
    table[::3, :2] = np.nan
    table[1::3, 2:] = np.nan
    model = ShareBoostClassifier(views=VIEWS, n_estimators=20).fit(table, y)
    nobody = np.full((2, 4), np.nan)
    assert_allclose(model.predict_proba(nobody), np.tile(model.class_prior_, (2, 1)))
    weighted = ShareBoostClassifier(views=VIEWS, n_estimators=5).fit(table, y, sample_weight=1.0 + 2 * (y == 2))
    assert_allclose(weighted.predict_proba(nobody[:1])[0], [0.2, 0.2, 0.6])
    assert weighted.predict(nobody)[0] == 2
    assert_array_equal(model.margins(nobody, [0, 1]), [0.0, 0.0])
    one_view = X.copy()
    one_view[:, :2] = np.nan
    petals = ShareBoostClassifier(views=VIEWS, n_estimators=20).fit(X, y)
    votes = np.zeros((len(X), 3))
    for hypothesis, alpha, view in zip(petals.estimators_, petals.estimator_weights_, petals.winning_views_):
        if view == 1:
            votes[np.arange(len(X)), hypothesis.predict(X[:, 2:])] += alpha
    assert_allclose(petals.decision_function(one_view), votes)


def test_an_all_absent_chunk_is_fine_in_every_learner():
    for estimator in (None, "stump", "tree", "linear", DecisionTreeClassifier(max_depth=1)):
        model = ShareBoostClassifier(estimator, views=VIEWS, n_estimators=3, preprocess=StandardScaler()).fit(X, y)
        half = X.copy()
        half[:, :2] = np.nan
        assert model.predict(half).shape == (150,)
        assert model.predict(np.full((3, 4), np.nan)).shape == (3,)


def test_views_of_different_objects_are_fused():
    sepal_rows, petal_rows = np.arange(0, 150, 2), np.arange(1, 150, 2)
    table, views, target = stack_unpaired(
        {"sepal": (X[sepal_rows, :2], y[sepal_rows]), "petal": (X[petal_rows, 2:], y[petal_rows])}
    )
    model = ShareBoostClassifier(views=views, n_estimators=50).fit(table, target)
    assert model.score(X, y) > 0.9
    assert set(model.winning_views_) == {0, 1}


def test_overlapping_views():
    model = ShareBoostClassifier("stump", views=[[0, 1, 2], [1, 2, 3]], n_estimators=10).fit(X, y)
    assert model.score(X, y) > 0.9


def test_preprocess_is_fitted_once_per_view_on_the_rows_that_have_it():
    table, target = load_breast_cancer(return_X_y=True)
    table = table.copy()
    table[:50, :10] = np.nan
    views = {"mean": slice(0, 10), "worst": slice(20, 30)}
    model = ShareBoostClassifier(
        views=views, n_estimators=20, preprocess={"mean": make_pipeline(StandardScaler(), PCA(3))}
    )
    model.fit(table, target)
    assert model.preprocessors_[1] is None
    assert model.preprocessors_[0][0].n_samples_seen_ == len(table) - 50
    by_hand = np.full((len(table), 3), np.nan)
    by_hand[50:] = model.preprocessors_[0].transform(table[50:, :10])
    plain = ShareBoostClassifier(views=[slice(0, 3), slice(3, None)], n_estimators=20)
    plain.fit(np.hstack([by_hand, table[:, 20:30]]), target)
    assert_array_equal(plain.estimator_weights_, model.estimator_weights_)
    assert_array_equal(model.predict(table), plain.predict(np.hstack([by_hand, table[:, 20:30]])))
    supervised = ShareBoostClassifier(views=views, n_estimators=5, preprocess=LinearDiscriminantAnalysis())
    assert supervised.fit(table, target).score(table, target) > 0.9


def test_preprocess_may_be_an_ensemble_of_transformers():
    # Which has no length, and so no truth, before it is fitted.
    leaves = RandomTreesEmbedding(5, random_state=0)
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=5, preprocess={"petal": leaves}).fit(X, y)
    assert model.preprocessors_[0] is None
    assert len(model.preprocessors_[1]) == 5
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda rows: rows[:-5], "preprocess made 145 rows of the 150 rows of the view 'sepal'"),
        (lambda rows: rows[:, 0], "What preprocess made of the view 'sepal' is not a table of numbers"),
        (lambda rows: rows[:, :0], "What preprocess made of the view 'sepal' is not a table of numbers"),
        (lambda rows: rows * np.inf, "What preprocess made of the view 'sepal' is not a table of numbers"),
    ],
)
def test_what_preprocess_makes_is_checked(made, message):
    with pytest.raises(ValueError, match=message):
        ShareBoostClassifier("stump", views=VIEWS, preprocess={"sepal": FunctionTransformer(made)}).fit(X, y)


def test_view_labels_are_all_that_is_learned_from():
    rng = np.random.default_rng(0)
    labels = np.c_[y, y]
    shuffled = rng.permutation(y)
    model = ShareBoostClassifier(views=VIEWS, n_estimators=10)
    assert_same_model(clone(model).fit(X, shuffled, view_labels=labels), clone(model).fit(X, y))
    anything = labels.copy().astype(float)
    holes = X.copy()
    holes[:30, :2] = np.nan
    anything[:30, 0] = np.nan  # no label is needed where there is no view
    assert clone(model).fit(holes, y, view_labels=anything).score(X, y) > 0.8


def test_view_labels_of_a_data_frame_go_by_the_names_of_the_views():
    rng = np.random.default_rng(0)
    labels = pd.DataFrame({"sepal": rng.permutation(y), "petal": y})
    model = ShareBoostClassifier(views=VIEWS, n_estimators=5)
    expected = clone(model).fit(X, y, view_labels=labels.to_numpy())
    assert_same_model(expected, clone(model).fit(X, y, view_labels=labels[["petal", "sepal"]]))
    by_position = labels.set_axis(["first annotator", "second annotator"], axis=1)
    assert_same_model(expected, clone(model).fit(X, y, view_labels=by_position))


def test_view_labels_of_a_data_frame_with_numbers_for_names():
    labels = pd.DataFrame({1: y, 0: y})
    model = ShareBoostClassifier(views={"0": [0, 1], "1": [2, 3]}, n_estimators=3)
    assert model.fit(X, y, view_labels=labels).n_iter_ == 3


@pytest.mark.long
def test_sharing_restricts_noise_to_its_view():
    """S0's point, on real data: with noise of its own in each view, shared weights do better than separate ones."""
    digits, target = load_digits(return_X_y=True)
    target = (target >= 5).astype(int)
    views = [slice(0, 24), slice(24, 40), slice(40, 64)]
    scores = {kind: [] for kind in KINDS}
    for seed in range(5):
        train, test = train_test_split(np.arange(len(digits)), train_size=0.6, random_state=seed, stratify=target)
        labels, _ = add_label_noise(target[train], 3, 0.3, random_state=seed)
        for kind in KINDS:
            model = kind("stump", views=views, n_estimators=60).fit(digits[train], target[train], view_labels=labels)
            scores[kind].append(model.score(digits[test], target[test]))
    assert np.mean(scores[ShareBoostClassifier]) > np.mean(scores[IndependentBoostClassifier])
