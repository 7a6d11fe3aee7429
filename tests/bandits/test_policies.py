"""Policies, and S1's Theorem 1."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from fuselearn.bandits import Best, Exp3P, RoundRobin, UniformRandom
from fuselearn.bandits.exp3p import regret_bound, theory_alpha, theory_gamma
from fuselearn.boosting.share import as_policy
from tests.naive import exp3p as naive

settings_of_exp3p = st.sampled_from([(0.3, 0.15), (1.0, 2.0), (0.05, 0.5), ("theory", "theory"), ("theory", 0.15)])


@given(st.integers(1, 6), st.integers(1, 60), settings_of_exp3p, st.integers(0, 2**32 - 1))
def test_exp3p_is_the_naive_one(n_arms, horizon, parameters, seed):
    gamma, alpha = parameters
    state = Exp3P(gamma, alpha, delta=0.1).start(n_arms, horizon, np.random.SeedSequence(seed))
    oracle = naive.Exp3P(n_arms, horizon, gamma, alpha, delta=0.1)
    uniforms = np.random.default_rng(np.random.SeedSequence(seed))
    rewards = np.random.default_rng(seed)
    for _ in range(horizon):
        assert_allclose(state.probabilities, oracle.probabilities(), rtol=1e-9)
        assert state.probabilities.sum() == pytest.approx(1)
        [arm] = state.pull()
        assert arm == oracle.draw(uniforms.random())
        reward = rewards.random()
        state.update(arm, reward)
        oracle.update(arm, reward)


def test_exp3p_does_not_overflow():
    state = Exp3P(gamma=1.0, alpha=50.0).start(2, 10, np.random.SeedSequence(0))
    for _ in range(2_000):  # a d that is not a logarithm overflows after some 200
        state.update(0, 1.0)
    assert np.isfinite(state.probabilities).all()


def test_theory_parameters():
    assert theory_gamma(3, 150) == pytest.approx(2 * np.sqrt(3 * 3 * np.log(3) / (5 * 150)))
    assert theory_gamma(3, 2) == 3 / 5
    assert theory_alpha(3, 150, 0.05) == pytest.approx(2 * np.sqrt(np.log(450 / 0.05)))
    assert regret_bound(3, 150, 0.05) == pytest.approx(naive.regret_bound(3, 150, 0.05))
    assert Exp3P("theory", "theory").follows_theory
    assert not Exp3P("theory", 0.15).follows_theory
    assert not Exp3P().follows_theory


@pytest.mark.parametrize("adversary", [pytest.param("constant", marks=pytest.mark.long), "switching", "noisy"])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_regret_stays_within_theorem_1(adversary, seed):
    """A long run with the theory's parameters loses no more than equation (2) to the best single arm."""
    n_arms, rounds, delta = 4, 20_000, 0.05
    rng = np.random.default_rng(seed)
    best = rng.integers(n_arms)
    rewards = np.full((rounds, n_arms), 0.4)
    rewards[:, best] = 0.6
    if adversary == "switching":  # another arm is better for the first third
        rewards[: rounds // 3] = 0.0
        rewards[: rounds // 3, (best + 1) % n_arms] = 1.0
    elif adversary == "noisy":
        rewards = (rng.random(rewards.shape) < rewards).astype(float)
    state = Exp3P("theory", "theory", delta).start(n_arms, rounds, np.random.SeedSequence(seed))
    collected = 0.0
    for reward in rewards:
        [arm] = state.pull()
        state.update(arm, reward[arm])
        collected += reward[arm]
    regret = rewards.sum(axis=0).max() - collected
    assert regret <= regret_bound(n_arms, rounds, delta)
    # the bound is loose, but not empty: an arm at random would lose more than the bandit does
    assert regret < rewards.sum(axis=0).max() - rewards.mean(axis=1).sum()


def test_policies_that_do_not_learn():
    assert Best().start(3, 10, None).pull() == [0, 1, 2]
    robin = RoundRobin().start(3, 10, None)
    assert [robin.pull()[0] for _ in range(7)] == [0, 1, 2, 0, 1, 2, 0]
    uniform = UniformRandom().start(4, 10, np.random.SeedSequence(0))
    counts = np.bincount([uniform.pull()[0] for _ in range(8000)], minlength=4)
    assert_allclose(counts / 8000, 0.25, atol=0.02)


def test_settings_are_frozen_and_two_runs_are_apart():
    policy = Exp3P()
    with pytest.raises(FrozenInstanceError):
        policy.gamma = 0.5
    one, other = (policy.start(2, 10, np.random.SeedSequence(0)) for _ in range(2))
    one.update(0, 1.0)
    assert one.probabilities[0] > other.probabilities[0]


def test_names_of_policies():
    assert [as_policy(name) for name in ("best", "exp3p", "uniform", "round_robin")] == [
        Best(),
        Exp3P(),
        UniformRandom(),
        RoundRobin(),
    ]
    assert as_policy(Exp3P(gamma=0.1)) == Exp3P(gamma=0.1)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (Exp3P(gamma=0.0), "gamma must be in"),
        (Exp3P(gamma="theorem"), "gamma must be in"),
        (Exp3P(alpha=-1), "alpha must be a finite number above 0"),
        (Exp3P(alpha=float("inf")), "alpha must be a finite number above 0"),
        (Exp3P(delta=1.0), "delta must be between 0 and 1"),
        (Exp3P(horizon=0), "horizon must be None or at least 1"),
    ],
)
def test_bad_settings(policy, message):
    with pytest.raises(ValueError, match=message):
        policy.check()
