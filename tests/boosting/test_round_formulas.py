"""The closed forms of a round: errors, edges, votes, normalisers and factors of the weights, from three sums."""

from dataclasses import replace
from math import exp, isnan, log

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from fuselearn import ShareBoostClassifier
from fuselearn.backends import Tally, Trial
from fuselearn.bandits import Best, UniformRandom
from fuselearn.boosting.rounds import (
    IndependentRound,
    RunSettings,
    SharedRound,
    Trace,
    error,
    first_least,
    has_edge,
    is_set_aside,
    normaliser,
    reweighting,
    vote_weight,
)

N = 1000
PLAIN = RunSettings((1, 1), Best(), 1.0, False, "training")
TALLIES = [
    Tally(0.7, 0.3, 0.0),
    Tally(0.5, 0.2, 0.3),
    Tally(0.3, 0.3, 0.4),
    Tally(0.2, 0.3, 0.5),
    Tally(0.4, 0.4, 0.2),
    Tally(0.5, 0.5, 0.0),
]


def loss(alpha, tally, n_classes):
    """SAMME's exponential loss of a vote: right rows gain, wrong ones lose, absent ones stay as they are."""
    right, wrong, absent = tally
    return right * exp(-2 * alpha * (n_classes - 1) / n_classes) + wrong * exp(2 * alpha / n_classes) + absent


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("tally", TALLIES)
def test_the_vote_is_where_the_loss_is_least(tally, n_classes):
    least = minimize_scalar(loss, args=(tally, n_classes), bounds=(-3, 3), method="bounded", options={"xatol": 1e-9})
    assert vote_weight(tally, n_classes, N) == pytest.approx(least.x, abs=1e-6)
    assert normaliser(tally, n_classes, N) == pytest.approx(least.fun, abs=1e-12)


def test_errors_are_those_of_the_rows_that_are_judged():
    assert error(Tally(0.3, 0.1, 0.6)) == pytest.approx(0.25)
    assert error(Tally(0.2, 0.2, 0.6)) == 0.5
    assert isnan(error(Tally(0.0, 0.0, 1.0)))
    assert normaliser(Tally(0.0, 0.0, 0.9), 2, N) == 0.9


@pytest.mark.parametrize(
    ("tally", "n_classes", "has_one"),
    [
        (Tally(0.51, 0.49, 0.0), 2, True),
        (Tally(0.5, 0.5, 0.0), 2, False),
        (Tally(0.02, 0.01, 0.97), 2, True),
        (Tally(0.34, 0.66, 0.0), 3, True),
        (Tally(0.33, 0.67, 0.0), 3, False),
        (Tally(0.11, 0.89, 0.0), 10, True),
        (Tally(0.09, 0.91, 0.0), 10, False),
        (Tally(0.0, 0.0, 1.0), 2, False),
    ],
)
def test_an_edge_is_more_than_chance(tally, n_classes, has_one):
    assert has_edge(tally, n_classes) == has_one
    if tally.absent < 1:
        assert (vote_weight(tally, n_classes, N) > 1e-9) == has_one


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("alpha", [0.7, -0.4, 1e3, -1e3])
@pytest.mark.parametrize("tally", [*TALLIES[:2], Tally(1.0, 0.0, 0.0), Tally(0.0, 1.0, 0.0), Tally(0.4, 0.0, 0.6)])
def test_factors_of_the_weights(tally, alpha, n_classes):
    """They are in the ratios of the loss; the largest of an outcome that occurs is 1, and none is larger."""
    factors = reweighting(alpha, tally, n_classes)
    occurring = [factor for factor, weight in zip(factors, tally) if weight > 0]
    assert max(occurring) == 1
    assert max(factors) <= 1
    exponents = [-2 * alpha * (n_classes - 1) / n_classes, 2 * alpha / n_classes, 0.0]
    largest = max(exponent for exponent, weight in zip(exponents, tally) if weight > 0)
    for factor, exponent, weight in zip(factors, exponents, tally):
        if weight > 0:
            assert factor == pytest.approx(exp(exponent - largest))


def test_the_first_of_the_least_values_wins():
    assert first_least({0: 0.3, 1: 0.1, 2: 0.2}) == 1
    assert first_least({3: 0.1, 1: 0.1 + 5e-13, 0: 0.1 + 5e-12, 2: 0.1}) == 1
    assert first_least({5: -0.5}) == 5


def test_who_would_win_every_later_round():
    assert is_set_aside(0.0, PLAIN)
    assert is_set_aside(5e-13, PLAIN)
    assert is_set_aside(0.0, replace(PLAIN, view_policy=None))
    assert not is_set_aside(1e-11, PLAIN)
    assert not is_set_aside(0.0, replace(PLAIN, resample=True))
    assert not is_set_aside(0.0, replace(PLAIN, view_policy=UniformRandom()))
    assert not is_set_aside(np.nan, PLAIN)


def winner_of(*tallies, settings=PLAIN):
    """The arm that wins by these sums."""
    rule = SharedRound(Trace(settings, seed=0, horizon=10), n_classes=2, n_rows=N)
    return rule._winner({arm: Trial(None, tally) for arm, tally in enumerate(tallies)})


def test_where_a_view_is_absent_the_loss_decides_and_not_the_error():
    often_seen, rarely_seen = Tally(0.7, 0.3, 0.0), Tally(0.16, 0.04, 0.8)
    assert error(rarely_seen) < error(often_seen)
    assert winner_of(often_seen, rarely_seen) == 0
    assert winner_of(rarely_seen, often_seen) == 1
    # Out of the bag, rows that were drawn count as absent, which says nothing of a view.
    assert winner_of(often_seen, rarely_seen, settings=replace(PLAIN, error="out_of_bag")) == 1
    # All are judged on the same rows, or on all but a rounding error: the error decides.
    near = [Tally(0.5 + 1e-7, 0.5 - 1e-7, 1e-14), Tally(0.5 + 2e-7, 0.5 - 2e-7, 0.0)]
    assert winner_of(*near) == 1
    assert winner_of(Tally(0.5, 0.5, 0.0), Tally(0.4, 0.6, 0.0)) is None


@pytest.mark.parametrize("kind", [SharedRound, IndependentRound])
def test_arms_that_are_set_aside_follow_from_the_run(kind):
    trace = Trace(PLAIN, seed=0, horizon=10)
    assert kind(trace, 2, N).set_aside == set()
    with pytest.raises(TypeError):
        kind(trace, 2, N, {0})


def test_draws_of_a_policy_have_a_stream_of_their_own():
    """A run that was kept goes on with the draws of any version, so they cannot change: those of the stream 2³¹."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 3)) + 0.3 * y[:, None]
    model = ShareBoostClassifier("stump", views=[[0], [1], [2]], n_estimators=12, view_policy="uniform", random_state=4)
    model.fit(X, y)
    generator = np.random.default_rng(np.random.SeedSequence(model.trace_.seed, spawn_key=(2_147_483_648,)))
    assert model.winning_arms_.tolist() == [int(3 * generator.random()) for _ in range(12)]


def test_a_run_of_two_arms_that_ends_late():
    """Of a perfect arm and another that becomes perfect, the run ends with the second of them and not before."""
    y = np.arange(20) % 2
    model = ShareBoostClassifier("stump", views=[[0], [1], [2]], n_estimators=9)
    model.fit(np.column_stack([y, 1 - y, 2.0 * y]), y)
    assert model.winning_arms_.tolist() == [0, 1, 2]
    assert [round_.last for round_ in model.trace_.rounds] == [False, False, True]
    assert model.trace_.ended
    assert model.estimator_weights_ == pytest.approx(0.5 * log(39))
