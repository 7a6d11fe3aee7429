"""Columns that matter: planted ones are found, and few others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fuselearn import FusionClassifier, FusionRegressor, ShareGradientBoostingClassifier
from fuselearn.inspection import feature_stability
from fuselearn.inspection.feature_stability import chance_of_differences, shadow_columns

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
    found = feature_stability(model, X, scores > 0, n_subsamples=4, n_top=4, random_state=0)
    assert set(PLANTED) <= set(np.flatnonzero(found.selected))
    assert found.selected.sum() <= 5
    assert found.frequencies[PLANTED].min() >= 0.5
    assert_allclose(found.importances.sum(), 1.0)
    frame = found.to_frame()
    assert set(frame["column"][:4]) == {f"x{column}" for column in PLANTED}
    again = feature_stability(model, X, scores > 0, n_subsamples=4, n_top=4, n_jobs=2, random_state=0)
    assert np.array_equal(again.p_values, found.p_values)


@pytest.mark.long
def test_few_are_false():
    shares = []
    for seed in range(8):
        X, scores = planted(seed)
        model = FusionClassifier(views=VIEWS, learners="linear")
        found = feature_stability(model, X, scores > 0, n_subsamples=1, random_state=seed)
        false = np.setdiff1d(np.flatnonzero(found.selected), PLANTED)
        shares.append(len(false) / max(found.selected.sum(), 1))
    assert np.mean(shares) <= 0.1


@pytest.mark.long
@pytest.mark.parametrize("measure", ["explanation", "permutation"])
def test_groups_missing_views_and_regression(measure):
    X, scores = planted()
    X[:40, 20:] = np.nan
    model = FusionRegressor(views=VIEWS, learners="linear")
    groups = np.arange(200) // 2
    found = feature_stability(model, X, scores, groups=groups, measure=measure, n_subsamples=3, n_top=4, random_state=0)
    assert {1, 5} <= set(np.argsort(-found.importances)[:4])


def test_shadows_have_the_correlations_of_their_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 4))
    X[:, 1] += X[:, 0]
    X[:10, 2] = np.nan
    shadows = shadow_columns(X, [np.arange(4)], rng)
    both = np.corrcoef(np.hstack([X, shadows])[10:].T)
    assert_allclose(both[4:, 4:], both[:4, :4], atol=0.05)
    others = ~np.eye(4, dtype=bool)
    assert_allclose(both[:4, 4:][others], both[:4, :4][others], atol=0.06)
    assert np.isnan(shadows[:10, 2]).all()


def test_columns_without_influence_have_uniform_chances():
    rng = np.random.default_rng(0)
    sizes = np.abs(rng.normal(size=(2, 4000)))
    chances = chance_of_differences(sizes[0] - sizes[1])
    for level in (0.01, 0.05, 0.2):
        assert (chances <= level).mean() == pytest.approx(level, rel=0.25)
    assert chance_of_differences(np.ones(4)).tolist() == [0.5] * 4


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
