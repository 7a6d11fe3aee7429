"""Settings of policies: which are accepted, at the ends of their ranges too, what they are by default, and rewards."""

from math import e, inf, log, nan

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fuselearn.bandits import UCB, Best, Exp3P
from fuselearn.bandits.exp3p import regret_bound, theory_alpha, theory_gamma
from tests.naive import exp3p as naive


@pytest.mark.parametrize(
    "policy",
    [
        Best(),
        Best(costs={"a": 0.5, "b": 3}),
        Best(costs=(0.001, 10**9)),
        Exp3P(),
        Exp3P(gamma=1, alpha=0.001, delta=0.999, horizon=1),
        Exp3P(gamma=1e-9, alpha=10**6, delta=1e-9, horizon=None),
        Exp3P(gamma="theory", alpha="theory", horizon=np.int64(7)),
        Exp3P(gamma=np.float64(0.5), reward="logarithmic", costs=(1.0,)),
        UCB(),
        UCB(exploration=0.01),
        UCB(exploration=100, reward="loss", costs={"a": 0.2}),
    ],
    ids=str,
)
def test_settings_that_are_in_range(policy):
    policy.check()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        *(
            ({"gamma": gamma}, r"gamma must be in \(0, 1\] or 'theory'")
            for gamma in (0, -0.1, 1.001, 2, nan, "best", None)
        ),
        *(
            ({"alpha": alpha}, "alpha must be a finite number above 0 or 'theory'")
            for alpha in (0, -1, inf, nan, "best", None)
        ),
        *(({"delta": delta}, "delta must be between 0 and 1") for delta in (0, 1, -0.5, 1.5, nan, "theory", None)),
        *(({"horizon": horizon}, "horizon must be None or at least 1") for horizon in (0, -3, 2.5, 10.0, "theory")),
    ],
)
def test_settings_of_exp3p_that_are_out_of_range(settings, message):
    with pytest.raises(ValueError, match=f"Exp3P's {message}; got"):
        Exp3P(**settings).check()


@pytest.mark.parametrize("exploration", [0, -2, inf, nan, True, "theory", None])
def test_explorations_that_are_out_of_range(exploration):
    with pytest.raises(ValueError, match="UCB's exploration must be a finite number above 0; got"):
        UCB(exploration=exploration).check()


@pytest.mark.parametrize("kind", [Best, Exp3P, UCB])
@pytest.mark.parametrize("cost", [0, -1.0, inf, nan, True, "dear", None])
def test_costs_that_are_out_of_range(kind, cost):
    for costs in ((1.0, cost), {"a": 1.0, "b": cost}):
        with pytest.raises(ValueError, match=f"{kind.__name__}'s costs must be finite numbers above 0; got"):
            kind(costs=costs).check()


@pytest.mark.parametrize("costs", [(), {}, 3, [1.0, 2.0], "ab"])
def test_what_is_no_table_of_costs(costs):
    with pytest.raises(ValueError, match="Best's costs must be None, a dict of view name to cost, or a tuple; got"):
        Best(costs=costs).check()


@pytest.mark.parametrize(
    ("reward", "value"), [(0.0, 0.0), (0.5, log(2)), (1 - 1 / e, 1.0), (0.9, 1.0), (1 - 1e-12, 1.0), (1.0, 1.0)]
)
def test_rewards_in_logarithms(reward, value):
    assert UCB(reward="logarithmic").value(0, reward) == pytest.approx(value)


def test_rewards_are_in_units_of_the_least_cost():
    policy = UCB(costs=(6.0, 2.0, 3.0))
    assert_allclose([policy.value(arm, 0.9) for arm in range(3)], [0.3, 0.9, 0.6])
    with pytest.raises(ValueError, match="call with_costs first"):
        UCB(costs={"a": 1.0}).value(0, 0.5)


def test_costs_of_arms_from_those_of_views():
    policy = Best(costs={"b": 2, "a": 5})
    assert policy.with_costs(["a", "b"], [1, 3]).costs == (5.0, 2.0, 2.0, 2.0)
    assert Best(costs=(1.0, 2.0)).with_costs(["a"], [2]).costs == (1.0, 2.0)
    assert Best().with_costs(["a"], [2]) == Best()
    with pytest.raises(ValueError, match="costs must have one number for each of 3 arms"):
        Best(costs=(1.0, 2.0)).with_costs(["a", "b"], [1, 2])


@pytest.mark.parametrize("settings", [{"gamma": "theory"}, {"alpha": "theory"}, {"gamma": "theory", "alpha": "theory"}])
def test_the_theory_is_followed_in_both_or_not_at_all(settings):
    assert Exp3P(**settings).follows_theory == (len(settings) == 2)


@pytest.mark.parametrize(("n_arms", "horizon", "delta"), [(2, 5, 0.3), (4, 1000, 0.05), (7, 40, 0.01)])
def test_parameters_of_the_theory(n_arms, horizon, delta):
    oracle = naive.Exp3P(n_arms, horizon, "theory", "theory", delta)
    assert theory_gamma(n_arms, horizon) == pytest.approx(oracle.gamma)
    assert theory_alpha(n_arms, horizon, delta) == pytest.approx(oracle.alpha)
    assert regret_bound(n_arms, horizon, delta) == pytest.approx(naive.regret_bound(n_arms, horizon, delta))


def test_a_horizon_of_its_own_goes_before_that_of_the_run():
    for policy, planned in ((Exp3P("theory", "theory", horizon=7), 99), (Exp3P("theory", "theory"), 7)):
        state, oracle = policy.start(3, planned, np.random.SeedSequence(0)), naive.Exp3P(3, 7, "theory", "theory")
        for arm in (0, 2, 2):
            state.update(arm, 0.8)
            oracle.update(arm, 0.8)
        assert_allclose(state.probabilities, oracle.probabilities())


def test_upper_bounds_that_are_equal_go_to_the_first_arm():
    state = UCB(exploration=0.5).start(3, 10, None)
    for arm, reward in enumerate((0.2, 0.5, 0.5 + 1e-14)):
        assert state.pull() == [arm]
        state.update(arm, reward)
    assert state.pull() == [1]
