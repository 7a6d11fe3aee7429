"""Columns that matter: planted ones are found, and few others."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.compose import make_column_selector

from fuselearn import FusionClassifier, FusionRegressor, ShareGradientBoostingClassifier
from fuselearn.inspection import feature_stability
from fuselearn.inspection.column_tests import LabelledRows

VIEWS = {"a": slice(0, 20), "b": slice(20, 40)}
PLANTED = [1, 5, 25, 33]


def planted(seed=0, n_rows=200):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 40))
    X[:, 2] = 0.7 * X[:, 1] + 0.7 * X[:, 2]  # no influence of its own
    scores = X[:, PLANTED] @ np.array([2.0, -2.0, 2.0, 2.0])
    return X, scores + rng.logistic(size=n_rows)


def test_planted_columns_are_found():
    X, scores = planted()
    model = FusionClassifier(views=VIEWS, learners="linear")
    found = feature_stability(model, X, scores > 0, n_subsamples=2, n_top=4, random_state=0)
    assert set(PLANTED) <= set(np.flatnonzero(found.selected))
    assert found.selected.sum() <= 5
    assert found.frequencies[PLANTED].min() >= 0.5
    assert_allclose(found.importances.sum(), 1.0)
    frame = found.to_frame()
    assert set(frame["column"][:4]) == {f"x{column}" for column in PLANTED}


@pytest.mark.long
@pytest.mark.parametrize(
    "model",
    [
        FusionClassifier(views=VIEWS, learners="linear"),
        ShareGradientBoostingClassifier(views=VIEWS, n_estimators=30, max_leaf_nodes=8),
    ],
)
def test_few_are_false(model):
    shares = []
    for seed in range(10):
        X, scores = planted(seed)
        found = feature_stability(model, X, scores > 0, n_subsamples=1, random_state=seed)
        false = np.setdiff1d(np.flatnonzero(found.selected), PLANTED)
        shares.append(len(false) / max(found.selected.sum(), 1))
    assert np.mean(shares) <= 0.1


def test_the_first_rows_outside_of_a_subsample_are_of_all_groups():
    groups, X = np.repeat(np.arange(20), 30), np.zeros((600, 2))
    data = LabelledRows(FusionClassifier(), X, np.arange(600) // 300, groups, 0, grouped=True)
    for rows, others in data.halves(3):
        assert not np.intersect1d(groups[rows], groups[others]).size
        assert len(np.unique(groups[others[:100]])) == len(np.unique(groups[others])) == 10


@pytest.mark.long
def test_labels_of_groups_select_nothing():
    """Rows of a group are alike, and so are their labels, but one says nothing of the other."""
    n_wrong = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        groups = np.repeat(np.arange(40), 5)
        X = rng.normal(size=(40, 20))[groups] + 0.3 * rng.normal(size=(200, 20))
        y = (rng.permutation(40) < 20)[groups]
        model = FusionClassifier(views={"a": slice(0, 10), "b": slice(10, 20)}, learners="linear")
        n_wrong += feature_stability(model, X, y, groups=groups, n_subsamples=1, random_state=seed).selected.any()
    assert n_wrong <= 2


def test_columns_that_count_together_only_are_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 8))
    y = X[:, 0] * X[:, 5] > 0
    model = ShareGradientBoostingClassifier(views={"a": slice(0, 4), "b": slice(4, 8)}, n_estimators=30)
    settings = {"n_subsamples": 3, "measure": "permutation", "random_state": 0}
    found = feature_stability(model, X, y, **settings)
    assert np.flatnonzero(found.selected).tolist() == [0, 5]
    again = feature_stability(model, X, y, n_jobs=2, **settings)
    assert np.array_equal(again.p_values, found.p_values)
    assert np.array_equal(again.importances, found.importances)


def test_few_columns_and_three_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 1] + 0.5 * rng.normal(size=150), [-0.5, 0.5])]
    model = FusionClassifier(views={"a": [0, 1], "b": [2]}, learners="linear")
    found = feature_stability(model, X, y, n_subsamples=2, random_state=0)
    assert np.flatnonzero(found.selected).tolist() == [1]
    assert (found.p_values[3], found.q_values[3], found.importances[3]) == (1, 1, 0)  # in no view


def test_the_order_of_columns_does_not_matter():
    X, scores = planted()
    X[:, [1, 2, 3]] = 7.0  # no column of view "a" but one tells anything, and these tell nothing at all
    model = FusionClassifier(views={"a": [1, 2, 3, 5], "b": [25, 33]}, learners="linear")
    found = feature_stability(model, X, scores > 0, n_subsamples=2, n_top=4, random_state=0)
    assert found.frequencies[[1, 2, 3]].tolist() == [0, 0, 0]
    assert found.p_values[[1, 2, 3]].tolist() == [1, 1, 1]
    assert found.frequencies[[5, 25, 33]].tolist() == [1, 1, 1]


@pytest.mark.long
@pytest.mark.parametrize("measure", ["explanation", "permutation"])
def test_groups_missing_views_and_regression(measure):
    X, scores = planted()
    X[:40, 20:] = np.nan
    model = FusionRegressor(views=VIEWS, learners="linear")
    groups = np.arange(200) // 2
    found = feature_stability(model, X, scores, groups=groups, measure=measure, n_subsamples=3, n_top=4, random_state=0)
    assert {1, 5} <= set(np.argsort(-found.importances)[:4])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"fdr": 0}, "fdr must be a number between 0 and 1"),
        ({"n_subsamples": 0}, "n_subsamples must be an integer of at least 1"),
        ({"measure": "gain"}, "measure must be one of"),
        ({"model": 3}, "model must be an estimator of fuselearn"),
        ({"y": np.zeros(3)}, "y must have an entry for each of the 200 rows"),
    ],
)
def test_bad_arguments(settings, message):
    X, scores = planted()
    arguments = {"model": ShareGradientBoostingClassifier(views=VIEWS), "X": X, "y": scores > 0} | settings
    with pytest.raises(ValueError, match=message):
        feature_stability(**arguments)


def test_views_by_names_and_by_a_callable():
    X, scores = planted(n_rows=120)
    frame = pd.DataFrame(X[:, :6], columns=list("abcdef"))
    views = {"first": ["a", "b", "c"], "last": make_column_selector("[def]")}
    settings = {"n_subsamples": 2, "random_state": 0}
    boosted = ShareGradientBoostingClassifier(views=views, n_estimators=5)
    found = feature_stability(boosted, frame, scores > 0, **settings)
    numbered = boosted.set_params(views={"first": [0, 1, 2], "last": [3, 4, 5]})
    assert np.array_equal(found.p_values, feature_stability(numbered, X[:, :6], scores > 0, **settings).p_values)


def test_three_groups():
    X, scores = planted(n_rows=120)
    boosted = ShareGradientBoostingClassifier(views=VIEWS, n_estimators=5, min_samples_leaf=5)
    found = feature_stability(boosted, X, scores > 0, groups=np.arange(120) % 3, n_subsamples=2, random_state=0)
    assert np.isfinite(found.p_values).all()


def test_settings_that_name_columns_of_a_frame_mean_the_same_in_subsamples():
    X, scores = planted(n_rows=150)
    X[:, 1] = np.round(X[:, 1])
    frame = pd.DataFrame(X[:, :10], columns=[f"c{column}" for column in range(10)])
    fit = {"n_estimators": 5, "min_samples_leaf": 5, "random_state": 0}
    settings = {"categorical_features": ["c1"], "monotonic_cst": {"c5": -1}}
    numbers = {"categorical_features": [1], "monotonic_cst": [0, 0, 0, 0, 0, -1, 0, 0, 0, 0]}
    typed = frame.assign(c1=frame["c1"].astype(int).astype("category"))
    expected = feature_stability(
        ShareGradientBoostingClassifier(**fit, **numbers), X[:, :10], scores > 0, n_subsamples=2, random_state=0
    )
    for table, given in ((frame, settings), (typed, {**settings, "categorical_features": "from_dtype"})):
        model = ShareGradientBoostingClassifier(**fit, **given)
        found = feature_stability(model, table, scores > 0, n_subsamples=2, random_state=0)
        np.testing.assert_array_equal(found.importances, expected.importances)
        np.testing.assert_array_equal(found.p_values, expected.p_values)


@pytest.mark.parametrize("dtype", ["category", "object"])
def test_columns_of_text_are_refused_by_name(dtype):
    X, scores = planted(n_rows=30)
    frame = pd.DataFrame(X).rename(columns=str).assign(colour=pd.Series(["red", "blue"] * 15, dtype=dtype))
    with pytest.raises(ValueError, match=r"columns of numbers, but 'colour' holds"):
        feature_stability(ShareGradientBoostingClassifier(), frame, scores > 0)
