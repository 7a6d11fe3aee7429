"""Policies, and S1's Theorem 1."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from fuselearn import ShareBoostClassifier, ShareGradientBoostingClassifier, load, save
from fuselearn.bandits import UCB, Best, Exp3P, RoundRobin, UniformRandom
from fuselearn.bandits.exp3p import regret_bound, theory_alpha, theory_gamma
from fuselearn.bandits.protocol import draw
from fuselearn.boosting.share import as_policy
from tests.naive import exp3p as naive
from tests.naive import ucb as naive_ucb

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


@pytest.mark.parametrize(
    ("uniform", "probabilities", "arm"),
    [
        (0.0, [0.0, 0.5, 0.5], 1),  # an arm of probability 0 is never drawn
        (0.5, [0.5, 0.5], 1),
        (np.nextafter(0.5, 0), [0.5, 0.5], 0),
        (np.nextafter(1, 0), [0.1] * 10, 9),  # the sum is rounded to less than that
    ],
)
def test_draws_at_the_ends_of_their_ranges(uniform, probabilities, arm):
    class Generator:
        def random(self):
            return uniform

    assert np.cumsum([0.1] * 10)[-1] <= np.nextafter(1, 0)
    assert draw(probabilities, Generator()) == arm


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


@given(st.integers(1, 5), st.sampled_from([0.1, 2.0]), st.integers(0, 2**32 - 1))
def test_ucb_is_the_naive_one(n_arms, exploration, seed):
    state, oracle = UCB(exploration).start(n_arms, 40, None), naive_ucb.UCB1(n_arms, exploration)
    rewards = np.random.default_rng(seed)
    assert state.probabilities is None
    for _ in range(40):
        [arm] = state.pull()
        assert arm == oracle.pull()
        reward = rewards.random() ** (arm + 1)
        state.update(arm, reward)
        oracle.update(arm, reward)


@given(st.floats(0, 1), st.sampled_from(["loss", "logarithmic"]), st.sampled_from([None, (4.0, 1.0, 2.5)]))
def test_values_of_rewards(Z, kind, costs):
    policy = Exp3P(reward=kind, costs=costs)
    for arm in range(3):
        ours = policy.value(arm, 1 - Z)
        assert ours == pytest.approx(naive_ucb.value(Z, kind, costs, arm), abs=1e-9)
        assert 0 <= ours <= 1


@pytest.mark.parametrize("kind", [Exp3P, UCB])
def test_states_count_values(kind):
    """A policy with other rewards and costs is one with plain rewards that is given their values."""
    priced, plain = kind(reward="logarithmic", costs=(3.0, 1.0)), kind()
    states = [policy.start(2, 30, np.random.SeedSequence(0)) for policy in (priced, plain)]
    rewards = np.random.default_rng(0)
    for _ in range(30):
        arms = [state.pull() for state in states]
        assert arms[0] == arms[1]
        reward = rewards.random()
        states[0].update(arms[0][0], reward)
        states[1].update(arms[1][0], naive_ucb.value(1 - reward, "logarithmic", (3.0, 1.0), arms[0][0]))


def make_priced_rows():
    """Two views that say the same, and a weak one."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    return rng.normal(size=(120, 3)) + y[:, None] * [1.0, 1.0, 0.2], y, {"a": [0], "b": [1], "weak": [2]}


@pytest.mark.parametrize("policy", [Best(), UCB(exploration=0.002), Exp3P()], ids=str)
def test_expensive_views_are_used_less(policy, tmp_path):
    X, y, views = make_priced_rows()
    use = {}
    for dear in ("a", "b"):
        costs = {"a": 1, "b": 1, "weak": 1, dear: 20}
        model = ShareBoostClassifier("stump", views=views, view_policy=replace(policy, costs=costs), n_estimators=60)
        model.set_params(random_state=0).fit(X, y)
        use[dear] = np.bincount(model.winning_views_, minlength=3)
        if isinstance(policy, Exp3P):  # which explores for long, when rewards are small
            use[dear] = model.arm_probabilities_[-1]
    assert use["a"][1] > use["a"][0]
    assert use["b"][0] > use["b"][1]
    save(model, tmp_path / "model")
    kept = load(tmp_path / "model")
    assert kept.trace_.settings.view_policy == model.trace_.settings.view_policy
    # By the arm, once the views are known; and a warm start goes on with the same.
    assert model.trace_.settings.view_policy.costs == (1.0, 20.0, 1.0)
    assert model.set_params(warm_start=True, n_estimators=62).fit(X, y).n_iter_ == 62


def test_the_greedy_winner_has_the_largest_reward_per_cost():
    X, y, views = make_priced_rows()
    costs = (2.0, 1.0, 0.2)
    policy = Best(costs=dict(zip(views, costs)))
    model = ShareBoostClassifier("stump", views=views, view_policy=policy, n_estimators=20).fit(X, y)
    rewards = 1 - np.sqrt(1 - (1 - 2 * model.arm_errors_) ** 2)
    assert_allclose(model.winning_arms_, np.argmax(rewards / costs, axis=1))
    assert len(set(model.winning_arms_)) > 1
    assert not np.array_equal(model.winning_arms_, np.argmin(model.arm_errors_, axis=1))


def test_costs_of_views_hold_for_all_their_arms(tmp_path):
    X, y, views = make_priced_rows()
    settings = {"views": views, "view_policy": UCB(costs={"a": 3, "b": 1, "weak": 2}), "n_estimators": 4}
    model = ShareBoostClassifier(["stump", "gaussian_nb"], **settings).fit(X, y, checkpoint=tmp_path / "log")
    assert model.trace_.settings.view_policy.costs == (3, 3, 1, 1, 2, 2)
    other = {**settings, "view_policy": UCB(costs={"a": 4, "b": 1, "weak": 2})}
    with pytest.raises(ValueError, match="view_policy was"):
        ShareBoostClassifier(["stump", "gaussian_nb"], **other).fit(X, y, checkpoint=tmp_path / "log")


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ({"a": 1, "b": 1}, "costs has nothing for the view 'weak'"),
        ({"a": 1, "b": 1, "weak": 1, "c": 1}, "costs names the view 'c'"),
        ((1.0, 2.0), "costs must have one number for each of 3 arms"),
    ],
)
def test_costs_of_other_views(costs, message):
    X, y, views = make_priced_rows()
    with pytest.raises(ValueError, match=message):
        ShareBoostClassifier(views=views, view_policy=Best(costs=costs)).fit(X, y)
    with pytest.raises(ValueError, match=message):
        ShareGradientBoostingClassifier(views=views, trees="per_view", view_policy=Best(costs=costs)).fit(X, y)


@pytest.mark.parametrize("policy", [Best(), UCB(exploration=0.002)], ids=str)
def test_gradient_boosting_goes_by_reward_per_cost(policy):
    X, y, views = make_priced_rows()
    wins = [
        np.bincount(
            ShareGradientBoostingClassifier(
                views=views,
                trees="per_view",
                view_policy=replace(policy, costs={"a": 1, "b": 1, "weak": 1, dear: 50}),
                n_estimators=15,
            )
            .fit(X, y)
            .winning_views_,
            minlength=3,
        )
        for dear in ("a", "b")
    ]
    assert wins[0][0] < wins[0][1]
    assert wins[1][1] < wins[1][0]


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


def test_words_for_policies():
    assert repr(Best()) == "Best()"
    assert repr(Exp3P()) == "Exp3P(gamma=0.3, alpha=0.15, delta=0.05, horizon=None)"
    assert (
        repr(UCB(reward="logarithmic", costs={"a": 2})) == "UCB(exploration=2.0, reward='logarithmic', costs={'a': 2})"
    )


def test_names_of_policies():
    assert [as_policy(name) for name in ("best", "exp3p", "ucb", "uniform", "round_robin")] == [
        Best(),
        Exp3P(),
        UCB(),
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
        (Exp3P(reward="edge"), r"Exp3P's reward must be one of \['loss', 'logarithmic'\]; got 'edge'"),
        (Exp3P(costs={"a": 0}), "Exp3P's costs must be finite numbers above 0; got 0"),
        (UCB(exploration=0), "UCB's exploration must be a finite number above 0; got 0"),
        (UCB(reward=None), "UCB's reward must be one of"),
        (UCB(costs={}), "UCB's costs must be None, a dict of view name to cost, or a tuple"),
        (Best(costs=3), "Best's costs must be None, a dict of view name to cost, or a tuple; got 3"),
        (Best(costs=(1.0, float("nan"))), "Best's costs must be finite numbers above 0; got nan"),
    ],
)
def test_bad_settings(policy, message):
    with pytest.raises(ValueError, match=message):
        policy.check()
