"""Leaderboard and importances of views."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from fuselearn import FusionClassifier
from fuselearn.fusion import calibration_and_scores
from fuselearn.fusion.base_models import Arm
from fuselearn.fusion.importances_of_views import importances_of_views
from tests.fusion.fusion_data import MODEL, ONE_PASS, VIEWS, table


def test_the_leaderboard(model):
    board = model.leaderboard_
    assert list(board.columns) == ["view", "learner", "accuracy", "weight", "fits", "rows"]
    assert len(board) == 12
    assert board["accuracy"].is_monotonic_decreasing
    assert sorted(zip(board["view"], board["learner"])) == sorted(model.arms_)
    learners = ("svm", "linear", "trees")
    assert model.arms_ == [(view, learner) for view in [*VIEWS, "all views"] for learner in learners]
    assert_allclose(np.sort(board["weight"]), np.sort(model.arm_weights_))
    assert board["fits"].sum() == sum(map(len, model.estimators_))
    assert set(board["view"][-3:]) == {"noise"}


@pytest.mark.long
@pytest.mark.parametrize(("n_seeds", "most"), [(4, 0.12), pytest.param(24, 0.05, marks=pytest.mark.long)])
@pytest.mark.parametrize("distance", [0.0, 0.22])
def test_the_score_on_few_rows_of_weak_views_is_that_of_new_rows(n_seeds, most, distance):
    model = FusionClassifier(views=[slice(0, 10), slice(10, 20), slice(20, 30)], consensus=False)
    scores = []
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        # As many of each class: by chance alone, the more frequent class of 60 rows is right in more than half of them.
        labels = np.concatenate([rng.permutation(np.arange(60) % 2), rng.integers(2, size=1000)])
        rows = rng.normal(size=(1060, 30)) + distance * (labels[:, None] - 0.5)
        model.set_params(random_state=seed).fit(rows[:60], labels[:60])
        scores.append((model.out_of_sample_score_, model.score(rows[60:], labels[60:])))
    ours, of_new_rows = np.mean(scores, axis=0)
    assert abs(ours - of_new_rows) < most


def test_an_arm_of_all_views_counts_for_those_it_listens_to():
    rng = np.random.default_rng(0)
    arms = [Arm(view, str(view), learner, None, None, None) for view in (0, 1, None) for learner in ("a", "b")]
    values = rng.normal(size=(6, 80, 2))
    values[4] = 3 * values[0] + values[2]  # learner a, of all views
    values[5] = np.nan  # learner b was not fitted on all views
    values[[2, 3], :20] = np.nan  # rows without the second view
    values[4, :20] = np.nan
    spread = np.sqrt(np.nanmean(values[:5] ** 2, axis=(1, 2)))
    spread_of_complete = np.sqrt((values[:, 20:] ** 2).mean(axis=(1, 2)))
    share = 3 * spread_of_complete[0] / (3 * spread_of_complete[0] + spread_of_complete[2])
    weights = np.array([0.0, 0.5, 0.0, 0.2, 1.0, 0.0])
    expected = np.array([0.5 * spread[1] + share * spread[4], 0.2 * spread[3] + (1 - share) * spread[4]])
    importances = importances_of_views(arms, weights, values, 2)
    assert_allclose(importances, expected / expected.sum(), rtol=1e-3)
    # Nothing that its learner says of single views is known: alike.
    values[[0, 2]] = np.nan
    importances = importances_of_views(arms, np.eye(6)[4], values, 2)
    assert_allclose(importances, 0.5)


def test_views_that_say_the_same_have_equal_shares():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    view = rng.normal(size=(120, 3)) + y[:, None]
    X = np.hstack([view, view, np.ones((120, 1))])
    model = FusionClassifier(views={"a": slice(0, 3), "b": slice(3, 6), "c": [6]}, learners=["rbf"], random_state=0)
    first, second, constant = model.fit(X, y).view_importances_
    assert_allclose(first, second, rtol=1e-6)
    assert constant == 0


def test_an_interrupt_at_the_very_end_leaves_the_last_model(monkeypatch):
    rows, labels = table(60)
    model = clone(ONE_PASS).fit(rows, labels)
    before = model.predict_proba(rows)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(calibration_and_scores, "importances_of_views", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(rows[:40], 1 - labels[:40])
    assert_array_equal(model.predict_proba(rows), before)


def test_importances(model):
    assert_allclose(model.view_importances_.sum(), 1)
    assert np.all(model.view_importances_ >= 0)
    rows, labels = table(400)
    model = clone(MODEL).fit(rows, labels)
    assert model.view_importances_.argmin() == 2
    assert model.view_importances_[2] < 0.1
    alone = clone(MODEL).set_params(views={"a": slice(0, 5)}, max_fits=3).fit(rows, labels)
    assert_array_equal(alone.view_importances_, [1.0])
    assert_allclose(model.out_of_sample_score_, np.mean((model.out_of_sample_decision_ > 0) == labels), atol=0.01)


def test_views_that_matter_together_share_what_neither_says_alone():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 4))
    labels = (rows[:, 0] * rows[:, 2] > 0).astype(int)
    model = FusionClassifier(views={"a": [0, 1], "b": [2, 3]}, random_state=0).fit(rows, labels)
    assert model.score(rows, labels) > 0.9
    assert_allclose(model.view_importances_, 0.5, atol=0.05)
