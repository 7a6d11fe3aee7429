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
from fuselearn.bandits import Exp3P
from fuselearn.boosting import bounds as theory
from fuselearn.learners import GaussianNB, LeastSquares, Stump, Tree
from tests.naive import bounds as naive


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


@pytest.mark.parametrize(("rho", "n_arms"), [(0.9, 3), (0.6, 2), (1.0, 5)])
def test_convergence_time_is_the_first_that_suffices(rho, n_arms):
    assert theory.convergence_time(rho, 1000, n_arms, 0.05) == naive.convergence_time(rho, 1000, n_arms, 0.05)


def test_convergence_time_grows_as_the_edge_shrinks():
    X, y, views = random_problem(0)
    model = ShareBoostClassifier(views=views, n_estimators=3).fit(X, y)
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
    terms = [theory.terms_of_theorem_3(d, 1000, 0.1, 0.05) for d in range(1, 1100)]
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
