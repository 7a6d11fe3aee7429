"""The theorems, tested where they are defined."""

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from fuselearn import ShareBoostClassifier
from fuselearn.bandits import Best, Exp3P
from fuselearn.boosting import bounds as theory
from fuselearn.learners import GaussianNB, LeastSquares, Stump, Tree
from tests.naive import bounds as naive
from tests.naive import tree


def random_problem(seed, absent=False):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 80))
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 5)) + rng.uniform(0.2, 1.2) * y[:, None]
    if absent:
        X[rng.random(n) < 0.3, :2] = np.nan
    return X, y, {"left": [0, 1], "right": [2, 3, 4]}


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["gaussian_nb", "stump", "linear"]),
    st.sampled_from(["best", "exp3p", "uniform", "round_robin"]),
    st.booleans(),
    st.sampled_from([0.0, 0.05, 0.2, 0.7]),
)
def test_training_error_and_margins_stay_below_their_bounds(seed, learner, policy, absent, theta):
    X, y, views = random_problem(seed, absent)
    model = ShareBoostClassifier(learner, views=views, n_estimators=15, view_policy=policy, random_state=0)
    model.fit(X, y)
    bounds = model.bounds(X, y, theta=theta)
    wrong = np.mean(model.predict(X) != y)
    assert wrong <= bounds["training_error_tightened"] + 1e-9
    assert bounds["training_error_tightened"] <= bounds["training_error"]
    assert bounds["margin_share_observed"] <= bounds["margin_share"] + 1e-9
    assert bounds["margin_share_observed"] == np.mean(model.margins(X, y) <= theta)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["best", "uniform"]), st.sampled_from([0.0, 0.3]))
def test_bounds_are_the_naive_ones(seed, policy, theta):
    X, y, views = random_problem(seed)
    model = ShareBoostClassifier("stump", views=views, n_estimators=8, view_policy=policy, random_state=0).fit(X, y)
    bounds = model.bounds(X, y, theta=theta)
    alphas, normalisers = model.estimator_weights_, model.trace_.normalisers
    sign = 2 * y - 1
    votes = model.decision_function(X)
    product, tightening = naive.lemma2(alphas, normalisers, votes, sign, model.predict(X) == y)
    assert_allclose([bounds["training_error"], bounds["tightening"]], [product, tightening], rtol=1e-9)
    assert_allclose(bounds["margin_share"], naive.theorem4(alphas, normalisers, theta), rtol=1e-9)
    if (model.estimator_errors_ > 1e-9).all():
        printed = naive.theorem4_printed(model.estimator_errors_, theta)
        assert_allclose(bounds["margin_share"], printed, rtol=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_a_winning_view_calms_what_only_others_got_wrong(seed):
    """S0 Lemma 1: when view j wins, the weights of rows that it gets right, wrong to others or not, go down."""
    X, y, views = random_problem(seed)
    model = ShareBoostClassifier("stump", views=views, n_estimators=8).fit(X, y)
    weights = list(model.staged_sample_weights(X, y))
    columns = list(views.values())
    for t in range(model.n_iter_):
        winner = model.winning_views_[t]
        right = model.estimators_[t].predict(X[:, columns[winner]]) == y
        if right.all():
            continue  # and nothing is left to learn
        assert (weights[t + 1][right] < weights[t][right]).all()
        assert (weights[t + 1][~right] > weights[t][~right]).all()
        assert weights[t + 1].sum() == pytest.approx(1)


def test_the_exponential_loss_never_rises():
    X, y = load_breast_cancer(return_X_y=True)
    model = ShareBoostClassifier(views=[slice(0, 10), slice(10, 20), slice(20, 30)], n_estimators=40).fit(X, y)
    losses = [np.mean(np.exp(-(2 * y - 1) * votes)) for votes in model.staged_decision_function(X)]
    assert (np.diff(losses) <= 1e-12).all()
    assert_allclose(losses, np.cumprod(model.trace_.normalisers), rtol=1e-6)


@pytest.mark.parametrize("logarithmic", [False, True])
@pytest.mark.parametrize(("rho", "n_arms"), [(0.9, 3), (0.6, 2), (1.0, 5)])
def test_convergence_time_is_the_first_that_suffices(rho, n_arms, logarithmic):
    ours = theory.convergence_time(rho, 1000, n_arms, 0.05, logarithmic=logarithmic)
    assert ours == naive.convergence_time(rho, 1000, n_arms, 0.05, logarithmic)


@pytest.mark.parametrize("n", [20, 60, 1000])
@pytest.mark.parametrize("rho", [0.05, 0.3, 0.5, 0.9, 0.995, 1.0])
def test_rounds_of_greedy_boosting_are_the_first_that_suffice(rho, n):
    assert theory.rounds_of_greedy_boosting(rho, n) == naive.greedy_rounds(rho, n)


def test_convergence_time_is_that_of_the_loss_unless_it_is_asked_for_another():
    time = theory.convergence_time(0.8, 200, 3, 0.05)
    assert time == naive.convergence_time(0.8, 200, 3, 0.05, False)
    assert time > theory.convergence_time(0.8, 200, 3, 0.05, logarithmic=True)


def test_convergence_time_is_that_of_the_policy():
    X, y, views = random_problem(0)
    n = len(y)

    def time(policy, **arguments):
        model = ShareBoostClassifier(views=views, n_estimators=3, view_policy=policy, random_state=0).fit(X, y)
        return model.bounds(rho=0.4, **arguments)["convergence_time"]

    assert time("best") == np.ceil(np.log(n) / -np.log(np.sqrt(1 - 0.4**2)))
    assert time("exp3p") == naive.convergence_time(0.4, n, 2, 0.05)
    assert time("exp3p", delta=0.01) == naive.convergence_time(0.4, n, 2, 0.01)
    logarithmic = Exp3P("theory", "theory", delta=0.2, reward="logarithmic")
    assert time(logarithmic) == naive.convergence_time(0.4, n, 2, 0.2, True)
    for policy in ("uniform", "round_robin", "ucb", Best(costs={"left": 1, "right": 2})):
        assert time(policy) is None


def test_greedy_boosting_has_no_training_error_by_then():
    """Where a view has an edge in every round, as ε shows afterwards."""
    X, y = load_breast_cancer(return_X_y=True)
    views = [slice(0, 10), slice(10, 20), slice(20, 30)]
    model = ShareBoostClassifier("tree", views=views, n_estimators=80).fit(X, y)
    rho = 1 - 2 * model.estimator_errors_.max()
    time = model.bounds(rho=rho)["convergence_time"]
    losses = [np.mean(stage != y) for stage in model.staged_predict(X)]
    assert time < 80
    assert all(loss == 0 for loss in losses[time - 1 :])


def test_convergence_time_grows_as_the_edge_shrinks():
    X, y, views = random_problem(0)
    model = ShareBoostClassifier(views=views, n_estimators=3, view_policy="exp3p").fit(X, y)
    times = [model.bounds(rho=rho)["convergence_time"] for rho in (0.9, 0.3, 0.1, 1e-4)]
    assert times == sorted(times)
    assert theory.convergence_time(1e-12, 1000, 3, 0.05) == float("inf")


def test_regret_needs_the_theorys_parameters():
    X, y, views = random_problem(0)
    model = ShareBoostClassifier(views=views, n_estimators=150, view_policy=Exp3P("theory", "theory"), random_state=0)
    expected = theory.regret_bound(2, 150, 0.05)
    assert model.fit(X, y).bounds()["regret"] == expected
    horizon = ShareBoostClassifier(views=views, n_estimators=5, view_policy=Exp3P("theory", "theory", horizon=150))
    assert horizon.fit(X, y).bounds()["regret"] == expected
    for policy in ("exp3p", "best", "uniform"):
        assert (
            ShareBoostClassifier(views=views, n_estimators=3, view_policy=policy).fit(X, y).bounds()["regret"] is None
        )


def test_the_regret_bound_is_for_the_rounds_that_were_planned():
    """Theorem 1's γ and α are chosen for T rounds: a run that has passed T has no bound."""
    X, y, views = random_problem(0)
    settings = {"views": views, "warm_start": True, "random_state": 0}
    model = ShareBoostClassifier(n_estimators=10, view_policy=Exp3P("theory", "theory"), **settings).fit(X, y)
    assert model.bounds()["regret"] == theory.regret_bound(2, 10, 0.05)
    model.set_params(n_estimators=11).fit(X, y)
    assert model.n_iter_ == 11
    assert model.bounds()["regret"] is None
    planned = Exp3P("theory", "theory", horizon=5)
    assert ShareBoostClassifier(n_estimators=6, view_policy=planned, **settings).fit(X, y).bounds()["regret"] is None


def test_delta_is_that_of_the_policy():
    X, y, views = random_problem(0)
    theory_of = Exp3P("theory", "theory", delta=0.2)
    model = ShareBoostClassifier(views=views, n_estimators=20, view_policy=theory_of, random_state=0).fit(X, y)
    assert model.bounds()["regret"] == model.bounds(delta=0.2)["regret"] == theory.regret_bound(2, 20, 0.2)
    with pytest.raises(ValueError, match=r"delta must be None or the 0\.2 of the policy.*got 0\.1"):
        model.bounds(delta=0.1)
    terms = model.bounds(theta=0.3)["sharper"]["confidence"]
    assert terms == pytest.approx((np.sqrt(np.log(2 / 0.2) / 2) + 2) / np.sqrt(len(y)))


@pytest.mark.parametrize(
    "policy", ["exp3p", "ucb", "uniform", Exp3P("theory", "theory", reward="logarithmic")], ids=str
)
def test_observed_regret_is_what_the_best_arm_would_have_collected(policy):
    X, y, views = random_problem(3)
    model = ShareBoostClassifier("stump", views=views, n_estimators=12, view_policy=policy, random_state=0).fit(X, y)
    plans = list(model.trace_.plans)
    # Each arm is fitted again under the weights of each round of the run.
    rewards = []
    for weights in list(model.staged_sample_weights(X, y))[:-1]:
        row = []
        for columns in views.values():
            right = tree.fit_stump(X[:, columns], y, weights, 2)(X[:, columns]) == y
            beta = weights[right].sum() - weights[~right].sum()
            Z = np.sqrt(1 - beta**2)
            row.append(min(1, -np.log(Z)) if "logarithmic" in str(policy) else 1 - Z)
        rewards.append(row)
    bounds = model.bounds(X, y)
    assert bounds["regret_observed"] == pytest.approx(naive.regret(rewards, model.winning_arms_), abs=1e-6)
    assert bounds["regret"] is None or bounds["regret_observed"] <= bounds["regret"]
    assert model.bounds()["regret_observed"] is None
    assert list(model.trace_.plans) == plans


def test_a_greedy_run_has_no_regret_to_observe():
    X, y, views = random_problem(0)
    assert ShareBoostClassifier(views=views, n_estimators=3).fit(X, y).bounds(X, y)["regret_observed"] is None


@given(st.integers(0, 2**32 - 1))
def test_the_infima_are_those_of_a_fine_grid(seed):
    rng = np.random.default_rng(seed)
    margins = np.clip(rng.normal(0.4, 0.3, size=60), -1, 1).round(2)
    for name, bound in theory.GENERALISATION_BOUNDS.items():
        least = theory.infimum(margins, lambda theta, bound=bound: bound(3, 60, 0.05, theta))
        near = naive.infimum(name, margins.tolist(), 3, 0.05, steps=300)
        assert 0 < least["theta"] <= 1
        assert least["bound"] <= near + 1e-12
        just_below = np.nextafter(least["theta"], 0) if least["theta"] < 1 or margins.max() == 1 else 1.0
        share = np.mean(margins <= just_below)
        there = share + naive.generalisation_terms(name, 3, 60, 0.05, just_below)
        assert there == pytest.approx(least["bound"], rel=1e-6)


@pytest.mark.parametrize(
    ("margins", "scale", "theta", "bound"),
    [
        ([0.2, 0.2, 0.9, 0.9], 0.1, 0.2, 0.5),  # just below 0.2, where no row is, rather than at 0.9
        ([0.2, 0.2, 0.9, 0.9], 0.45, 0.9, 1.0),
        ([0.2, 0.2, 0.9, 0.9], 0.01, 0.2, 0.05),
        ([-1.0, 0.0, 0.5, 0.5], 0.1, 0.5, 0.5 + 0.2),
        ([0.3, 1.0, 1.0, 1.0], 0.3, 1.0, 0.25 + 0.3),  # just below 1
        ([0.3, 0.4, 0.5, 1.0], 0.6, 1.0, 0.75 + 0.6),
        ([1.0], 0.5, 1.0, 0.5),
        ([-0.5, -0.2], 0.5, 1.0, 1.5),
        ([0.5, 0.5 + 1e-14], 0.1, 0.5, 0.2),
    ],
)
def test_infima_of_a_few_margins(margins, scale, theta, bound):
    """The share of margins of at most θ and scale / θ, which is least just below a margin or at 1."""
    least = theory.infimum(np.array(margins), lambda theta: {"term": scale / theta})
    assert least == {"theta": pytest.approx(theta), "bound": pytest.approx(bound)}
    assert theory.infimum(np.array(margins), lambda theta: None) is None


def test_infima_of_a_model():
    X, y, views = random_problem(0)
    model = ShareBoostClassifier("stump", views=views, n_estimators=20).fit(X, y)
    bounds = model.bounds(X, y, theta=0.2)
    for name in theory.GENERALISATION_BOUNDS:
        assert bounds[f"{name}_infimum"]["bound"] <= bounds["margin_share_observed"] + sum(bounds[name].values())
        assert model.bounds()[f"{name}_infimum"] is None
    assert ShareBoostClassifier(Tree(), n_estimators=2).fit(X, y).bounds(X, y)["sharper_infimum"] is None


def test_sdp_has_a_complexity_that_does_not_fall():
    """S0 Lemma 5 by trying all labellings, and equation 2."""
    for n in (1, 2, 3):
        assert theory.complexity_of_sdp(n) == naive.sdp_complexity(n)
    few, many = (theory.terms_of_sdp(n, gamma=0.5, delta=0.05) for n in (100, 10_000))
    assert few["complexity"] == many["complexity"] == 4
    assert few["confidence"] == pytest.approx(10 * many["confidence"])
    assert few["confidence"] == pytest.approx((4 + np.sqrt(2 * np.log(20))) / 10)
    X, y, views = random_problem(0)
    model = ShareBoostClassifier(views=views, n_estimators=2).fit(X, y)
    assert model.bounds(theta=0.5)["sdp"] == theory.terms_of_sdp(len(y), 0.5, 0.05)
    assert model.bounds()["sdp"] is None


def test_generalisation_terms():
    X, y, views = random_problem(0)
    n, theta, delta = len(y), 0.2, 0.05
    bounds = ShareBoostClassifier("stump", views=views, n_estimators=3).fit(X, y).bounds(theta=theta, delta=delta)
    d = theory.vc_dimension_of_union([Stump().vc_dimension(2), Stump().vc_dimension(3)])
    complexity = np.sqrt(d * np.log(n / d) ** 2 / theta**2 + np.log(1 / delta)) / np.sqrt(n)
    assert bounds["theorem_3"]["complexity"] == pytest.approx(complexity)
    assert bounds["sharper"]["complexity"] == pytest.approx(np.sqrt(d / n) / theta)
    assert bounds["sharper"]["iterated_log"] == pytest.approx(np.sqrt(np.log(np.log2(2 / theta)) / n))
    assert bounds["sharper"]["confidence"] == pytest.approx((np.sqrt(np.log(2 / delta) / 2) + 2) / np.sqrt(n))
    for learner in (Tree(), LogisticRegression()):
        assert ShareBoostClassifier(learner, n_estimators=2).fit(X, y).bounds(theta=theta)["theorem_3"] is None


def test_theorem_3_never_says_that_a_richer_class_generalises_better():
    terms = [theory.terms_of_theorem_3(d, 1000, 0.05, 0.1) for d in range(1, 1100)]
    said = [term["complexity"] for term in terms if term is not None]
    assert len(said) == 135  # up to n/e²
    assert said == sorted(said)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4))
def test_vc_dimension_of_a_union(dimensions):
    """By counting: the union shatters no m rows once its ways to label them are fewer than 2^m."""

    def ways(m):
        return sum(comb(m, i) for d in dimensions for i in range(d + 1))

    largest = max(m for m in range(1, 80) if ways(m) >= 2**m)
    assert theory.vc_dimension_of_union(dimensions) == largest


@pytest.mark.parametrize(("dimensions", "dimension"), [([1, 1], 3), ([2, 2], 5), ([4], 4), ([1, 6], 8), ([3, 1, 2], 6)])
def test_vc_dimension_where_the_ways_to_label_are_just_enough(dimensions, dimension):
    """Two classes of dimension d label 2d + 1 rows in 2^(2d + 1) ways: they may shatter them."""
    assert theory.vc_dimension_of_union(dimensions) == dimension


def test_vc_dimensions():
    assert GaussianNB().vc_dimension(3) == 7
    assert LeastSquares().vc_dimension(3) == 4
    assert Stump().vc_dimension(1) == 2
    assert Tree().vc_dimension(3) is None


@pytest.mark.parametrize(
    ("settings", "fit", "arguments", "message"),
    [
        ({"learning_rate": 0.5}, {}, {}, "this model lacks: .*learning_rate=1"),
        ({"resample": True, "error": "out_of_bag"}, {}, {}, "this model lacks: .*error='training'"),
        ({}, {"view_labels": True}, {}, "this model lacks: .*one label column"),
        ({}, {"y": "three"}, {}, "this model lacks: .*two classes"),
        ({}, {}, {"y": [0]}, "bounds takes X and y together"),
        ({}, {}, {"theta": 2}, r"theta must be in \[0, 1\]; got 2"),
        ({}, {}, {"rho": 0}, r"rho must be in \(0, 1\]; got 0"),
        ({}, {}, {"delta": 1}, "delta must be between 0 and 1; got 1"),
        ({}, {"sample_weight": True}, {}, r"this model lacks: .*no sample_weight"),
        ({}, {}, {"X": "other", "y": "other"}, "rows that the model was fitted on, .* of them; got 5"),
    ],
)
def test_where_they_are_not_defined(settings, fit, arguments, message):
    X, y, views = random_problem(0)
    if "y" in fit:
        y = np.arange(len(y)) % 3
    extra = {}
    if "view_labels" in fit:
        extra["view_labels"] = np.c_[y, y]
    if "sample_weight" in fit:
        extra["sample_weight"] = 1.0 + y
    model = ShareBoostClassifier(views=views, n_estimators=3, random_state=0, **settings).fit(X, y, **extra)
    given = {"X": {True: X, "other": X[:5]}, "y": {True: y, "other": y[:5]}}
    arguments = {
        name: given[name][value] if name in given and not isinstance(value, list) else value
        for name, value in arguments.items()
    }
    with pytest.raises(ValueError, match=message):
        model.bounds(**arguments)
