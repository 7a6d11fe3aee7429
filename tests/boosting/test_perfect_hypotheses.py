"""A hypothesis without errors joins once, with a finite vote; its arm is set aside, and the others go on."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn import IndependentBoostClassifier, ShareBoostClassifier
from fuselearn.backends.protocol import Tally
from fuselearn.bandits import RoundRobin
from fuselearn.boosting.rounds import vote_weight

N = 60
VIEWS = {"perfect": [0], "weak": [1, 2], "strong": [3, 4]}
LARGEST_VOTE = 0.5 * np.log(2 * N - 1)
"""½·ln((1-ε)/ε) at ε = 1/(2n)."""


def make_rows(seed=0, n=N):
    """One view that a stump gets right everywhere, and two that it does not."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 5)) + y[:, None] * [0, 0.4, 0.4, 1.0, 1.0]
    X[:, 0] = y + 0.1 * rng.random(n)
    return X, y


X, y = make_rows()


def boosted(kind=ShareBoostClassifier, **settings):
    return kind("stump", **{"views": VIEWS, "n_estimators": 25, "random_state": 0, **settings})


def test_votes_at_either_end_are_those_of_half_a_row():
    assert vote_weight(Tally(1.0, 0.0, 0.0), 2, N) == pytest.approx(LARGEST_VOTE)
    assert vote_weight(Tally(0.0, 1.0, 0.0), 2, N) == pytest.approx(-LARGEST_VOTE)
    assert vote_weight(Tally(0.3, 0.0, 0.7), 3, N) == pytest.approx(LARGEST_VOTE + 0.5 * np.log(2))
    assert vote_weight(Tally(0.0, 0.0, 1.0), 3, N) == 0


@pytest.mark.parametrize("kind", [ShareBoostClassifier, IndependentBoostClassifier])
def test_it_joins_once_and_the_others_go_on(kind):
    model = boosted(kind).fit(X, y)
    assert model.n_iter_ == 25
    assert_array_equal(model.winning_views_[:1], [0])
    assert (model.winning_views_[1:] > 0).all()
    assert model.estimator_errors_[0] == 0
    assert model.estimator_weights_[0] == pytest.approx(LARGEST_VOTE)
    assert np.abs(model.estimator_weights_).max() <= LARGEST_VOTE * (1 + 1e-12)
    assert model.view_importances_[0] < 0.5
    # It is not tried any more.
    assert not np.isnan(model.arm_errors_[0]).any()
    assert np.isnan(model.arm_errors_[1:, 0]).all()
    assert not np.isnan(model.arm_errors_[1:, 1:]).any()


def test_its_round_leaves_the_weights_as_they_are():
    before, after, later, *_ = boosted().fit(X, y).staged_sample_weights(X, y)
    assert_allclose(after, before, rtol=1e-14)
    assert np.ptp(later) > 0


def test_the_others_learn_as_if_it_were_not_there():
    """It changes no weights, so that the votes of the others are those of a run without its view."""
    model = boosted().fit(X, y)
    without = boosted(views={name: VIEWS[name] for name in ("weak", "strong")}, n_estimators=24).fit(X, y)
    assert_array_equal(model.winning_views_[1:] - 1, without.winning_views_)
    assert_allclose(model.estimator_weights_[1:], without.estimator_weights_, rtol=1e-12)


def test_a_run_ends_when_every_arm_was_perfect():
    twice = np.c_[X[:, 0], 1 - X[:, 0]]
    for kind in (ShareBoostClassifier, IndependentBoostClassifier):
        model = boosted(kind, views=[[0], [1]]).fit(twice, y)
        assert_array_equal(model.winning_arms_, [0, 1])
        assert model.trace_.ended
        assert_allclose(model.estimator_weights_, LARGEST_VOTE)
        assert_allclose(model.view_importances_, 0.5)
        assert model.set_params(warm_start=True, n_estimators=30).fit(twice, y).n_iter_ == 2


def test_a_run_ends_when_no_other_arm_has_an_edge():
    rng = np.random.default_rng(0)
    constant = np.c_[X[:, 0], np.ones(N), rng.normal(size=N)]
    model = ShareBoostClassifier("stump", views=[[0], [1]], n_estimators=25).fit(constant, y)
    assert_array_equal(model.winning_arms_, [0])
    assert not model.trace_.ended


def test_with_resampling_the_run_goes_on_with_its_arm():
    for settings in ({}, {"error": "out_of_bag"}):
        for kind in (ShareBoostClassifier, IndependentBoostClassifier):
            model = boosted(kind, resample=True, **settings).fit(X, y)
            assert model.n_iter_ == 25
            assert np.sum(model.winning_views_ == 0) > 1
            assert not np.isnan(model.arm_errors_).any()
            assert np.abs(model.estimator_weights_).max() <= LARGEST_VOTE * (1 + 1e-12)


@pytest.mark.parametrize("policy", ["exp3p", "uniform", "round_robin"])
def test_a_policy_that_draws_goes_on_with_its_arm(policy):
    model = boosted(view_policy=policy).fit(X, y)
    assert model.n_iter_ == 25
    drawn = model.winning_views_ == 0
    assert drawn.sum() > 1
    assert_allclose(model.estimator_weights_[drawn], LARGEST_VOTE)


def test_a_drawn_arm_that_is_always_wrong_has_the_opposite_vote():
    """It predicts the labels of its own view, which are the opposite of those it is then judged by."""
    labels = np.c_[1 - y, y, y]
    model = boosted(view_policy=RoundRobin(), n_estimators=3).fit(X, y, view_labels=labels)
    assert model.estimator_weights_[0] == pytest.approx(LARGEST_VOTE)
    assert model.estimators_[0].predict(X[:, [0]]).tolist() == (1 - y).tolist()


def test_absent_rows_and_own_labels():
    """A view that is right wherever it is seen is set aside, too; the rows that it does not see gain weight."""
    table, labels = X.copy(), np.repeat(y[:, None], 3, axis=1)
    table[:10, 0] = np.nan
    labels[::7, 1] = 1 - labels[::7, 1]
    model = boosted().fit(table, y, view_labels=labels)
    before, after, *_ = model.staged_sample_weights(table, y, view_labels=labels)
    assert_array_equal(np.flatnonzero(model.winning_views_ == 0), [0])
    assert (after[:10] > before[:10]).all()
    assert (after[10:] < before[10:]).all()
    assert model.n_iter_ == 25


def test_rows_without_weight_do_not_count():
    weights = np.r_[np.ones(N), np.zeros(40)]
    model = boosted().fit(np.r_[X, X[:40]], np.r_[y, y[:40]], sample_weight=weights)
    assert model.estimator_weights_[0] == pytest.approx(LARGEST_VOTE)


@pytest.mark.parametrize("kind", [ShareBoostClassifier, IndependentBoostClassifier])
def test_a_run_that_is_continued_remembers_it(kind, tmp_path):
    whole = boosted(kind).fit(X, y)
    warm = boosted(kind, n_estimators=1, warm_start=True).fit(X, y).set_params(n_estimators=25).fit(X, y)
    log = tmp_path / "log"
    boosted(kind, n_estimators=4).fit(X, y, checkpoint=log)
    resumed = boosted(kind).fit(X, y, checkpoint=log)
    for other in (warm, resumed):
        assert_array_equal(other.winning_arms_, whole.winning_arms_)
        assert_array_equal(other.estimator_weights_, whole.estimator_weights_)
        assert_array_equal(other.arm_errors_, whole.arm_errors_)
        assert other.trace_.one_data_set


def test_predictions_are_of_all_views():
    model = boosted().fit(X, y)
    new, _ = make_rows(1)
    new[:, 0] = 1 - new[:, 0]
    stages = list(model.staged_decision_function(new))
    assert len(stages) == 25
    assert_allclose(np.abs(stages[0]), LARGEST_VOTE)
    assert_array_equal(model.predict(new), (stages[-1] > 0).astype(int))
    # The perfect hypothesis does not outvote all others: other views are read, and some rows are theirs.
    assert model.views_used(new)[:, 1:].any(axis=1).all()
    assert np.any(model.predict(new) != (stages[0] > 0))


@pytest.mark.parametrize("settings", [{}, {"resample": True}, {"view_policy": "exp3p"}], ids=str)
def test_the_bounds_hold(settings):
    model = boosted(**settings).fit(X, y)
    bounds = model.bounds(X, y, theta=0.1)
    losses = [np.mean(np.exp(-(2 * y - 1) * decision)) for decision in model.staged_decision_function(X)]
    assert_allclose(losses, np.cumprod(model.trace_.normalisers), rtol=1e-9)
    assert np.mean(model.predict(X) != y) <= bounds["training_error_tightened"] + 1e-12
    assert bounds["margin_share_observed"] <= bounds["margin_share"]


def test_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        boosted().fit(X, y)
