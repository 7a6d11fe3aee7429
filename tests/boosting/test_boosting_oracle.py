"""The estimators equal the slow loops of `tests.naive.boosting`: winners, ε, α, weights, votes."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from fuselearn import IndependentBoostClassifier, ShareBoostClassifier
from fuselearn.bandits import Exp3P
from fuselearn.exceptions import NoEdgeWarning
from fuselearn.learners import Stump
from fuselearn.numeric.row_draws import draw_counts
from tests.naive import boosting as naive
from tests.naive import exp3p as naive_exp3p
from tests.naive import gaussian_nb, least_squares, tree

ORACLES = {
    "gaussian_nb": lambda K: lambda X, y, w: gaussian_nb.fit(X, y, w, K),
    "stump": lambda K: lambda X, y, w: tree.fit_stump(X, y, w, K),
    "tree": lambda K: lambda X, y, w: tree.fit_tree(X, y, w, K),
    "linear": lambda K: lambda X, y, w: least_squares.fit(X, y, w, K),
}


class Problem:
    """Random views, labels, weights and absences, in the form of the estimators and in that of the oracle."""

    def __init__(
        self,
        seed,
        n_classes=2,
        n_views=3,
        absent=False,
        own_labels=False,
        weighted=False,
        coarse=False,
        separable=False,
    ):
        rng = np.random.default_rng(seed)
        self.n, self.K, self.M = int(rng.integers(20, 45)), n_classes, n_views
        self.y = np.arange(self.n) % n_classes
        widths = rng.integers(1, 4, n_views)
        strength = rng.uniform(0.2, 1.0, n_views)
        if separable:  # hypotheses without errors
            strength[rng.integers(n_views)] = 12.0
        blocks = [
            rng.normal(size=(self.n, p)) + s * self.y[:, None] * rng.choice([-1, 1], p)
            for p, s in zip(widths, strength)
        ]
        if coarse:
            blocks = [np.round(block) for block in blocks]
        self.present = np.ones((self.n, n_views), dtype=bool)
        if absent:
            self.present = rng.random((self.n, n_views)) > 0.3
            self.present[np.arange(self.n), rng.integers(0, n_views, self.n)] = True
            for block, mask in zip(blocks, self.present.T):
                block[~mask] = np.nan
        self.blocks = blocks
        self.X = np.hstack(blocks)
        ends = np.cumsum(widths)
        self.views = {f"v{j}": slice(end - p, end) for j, (p, end) in enumerate(zip(widths, ends))}
        self.labels = np.repeat(self.y[:, None], n_views, axis=1)
        if own_labels:
            noisy = rng.random(self.labels.shape) < 0.15
            self.labels[noisy] = (self.labels[noisy] + 1) % n_classes
        self.own_labels = own_labels
        self.sample_weight = rng.exponential(size=self.n) if weighted else None

    def fit_arguments(self):
        return {
            "sample_weight": self.sample_weight,
            "view_labels": self.labels if self.own_labels else None,
        }

    def oracle_arguments(self, learner, rounds):
        fits = [ORACLES[learner](self.K)] * self.M
        return (self.blocks, self.labels, fits, self.K, rounds), {
            "weights": self.sample_weight,
            "present": self.present,
        }


problems = st.builds(
    Problem,
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.sampled_from([2, 3]),
    n_views=st.sampled_from([1, 2, 3]),
    absent=st.booleans(),
    own_labels=st.booleans(),
    weighted=st.booleans(),
    coarse=st.booleans(),
    separable=st.booleans(),
)
learners = st.sampled_from(sorted(ORACLES))


def assert_equal_runs(model, expected, problem):
    assert_array_equal(model.winning_arms_, expected["winners"])
    assert_allclose(model.estimator_weights_, expected["alphas"], rtol=1e-6, atol=1e-9)
    if not expected["winners"]:
        return
    assert_allclose(model.arm_errors_, expected["errors"], rtol=1e-6, atol=1e-9)
    own = [errors[winner] for errors, winner in zip(expected["errors"], expected["winners"])]
    assert_allclose(model.estimator_errors_, own, rtol=1e-6, atol=1e-9)
    assert_allclose(model.trace_.normalisers, expected["Zs"], rtol=1e-6, atol=1e-9)
    weights = list(model.staged_sample_weights(problem.X, problem.y, **problem.fit_arguments()))
    assert_allclose(weights, expected["weights"], rtol=1e-6, atol=1e-9)
    votes = naive.votes(problem.blocks, problem.present, expected, problem.K)
    heard = problem.present[:, sorted(set(expected["winners"]))].any(axis=1)
    decision = model.decision_function(problem.X)
    assert_allclose(
        decision[heard], (votes[:, 1] - votes[:, 0] if problem.K == 2 else votes)[heard], rtol=1e-6, atol=1e-8
    )


def fitted(model, problem):
    with warnings.catch_warnings():
        # Some random problems leave no arm an edge; the model then predicts the prior, as the warning says.
        warnings.simplefilter("ignore", NoEdgeWarning)
        return model.fit(problem.X, problem.y, **problem.fit_arguments())


@given(problems, learners, st.sampled_from([1.0, 0.5]))
def test_share_boost(problem, learner, learning_rate):
    model = ShareBoostClassifier(learner, views=problem.views, n_estimators=6, learning_rate=learning_rate)
    arguments, options = problem.oracle_arguments(learner, 6)
    expected = naive.share_boost(*arguments, **options, learning_rate=learning_rate)
    assert_equal_runs(fitted(model, problem), expected, problem)


@given(problems, learners)
def test_independent_boost(problem, learner):
    model = IndependentBoostClassifier(learner, views=problem.views, n_estimators=6)
    arguments, options = problem.oracle_arguments(learner, 6)
    assert_equal_runs(fitted(model, problem), naive.independent_boost(*arguments, **options), problem)


@given(problems, st.sampled_from(["round_robin", "uniform", "exp3p", "theory"]))
def test_drawing_policies(problem, policy):
    view_policy = Exp3P("theory", "theory") if policy == "theory" else policy
    model = ShareBoostClassifier(views=problem.views, n_estimators=8, view_policy=view_policy, random_state=3)
    fitted(model, problem)
    arguments, options = problem.oracle_arguments("gaussian_nb", 8)
    # The arms are those that were drawn; that the bandit's chances are right is asked of its own oracle.
    bandit = naive_exp3p.Exp3P(problem.M, 8, *(("theory", "theory") if policy == "theory" else (0.3, 0.15)))
    chances = []

    def choose(number):
        chances.append(bandit.probabilities())
        return int(model.winning_arms_[number]) if number < model.n_iter_ else 0

    expected = naive.share_boost(*arguments, **options, choose=choose, reward_to=bandit.update)
    assert_equal_runs(model, expected, problem)
    if policy in ("exp3p", "theory"):
        assert_allclose(model.arm_probabilities_, chances[: model.n_iter_], rtol=1e-9)
    elif policy == "uniform":
        assert_allclose(model.arm_probabilities_, 1 / problem.M)
    else:
        assert model.arm_probabilities_ is None
        assert_array_equal(model.winning_arms_, np.arange(model.n_iter_) % problem.M)


@given(problems, learners, st.booleans(), st.booleans())
def test_resampling(problem, learner, out_of_bag, shared):
    kind = ShareBoostClassifier if shared else IndependentBoostClassifier
    model = kind(
        learner,
        views=problem.views,
        n_estimators=5,
        resample=True,
        error="out_of_bag" if out_of_bag else "training",
        random_state=7,
    )
    fitted(model, problem)

    def draws(number, arm, weights):
        seed = np.random.SeedSequence(model.trace_.seed, spawn_key=(number, arm))
        return np.repeat(np.arange(problem.n), draw_counts(weights, problem.n, seed))

    arguments, options = problem.oracle_arguments(learner, 5)
    loop = naive.share_boost if shared else naive.independent_boost
    expected = loop(*arguments, **options, draws=draws, out_of_bag=out_of_bag)
    assert_equal_runs(model, expected, problem)


def test_ties_go_to_the_first_arm():
    problem = Problem(0, n_views=2)
    twice = np.hstack([problem.blocks[0], problem.blocks[0]])
    width = problem.blocks[0].shape[1]
    model = ShareBoostClassifier("stump", views=[slice(0, width), slice(width, None)], n_estimators=10)
    assert set(model.fit(twice, problem.y).winning_views_) == {0}


@pytest.mark.thinned(3)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("learning_rate", [1.0, 0.3])
def test_one_view_of_scikit_learn_stumps_is_its_adaboost(n_classes, learning_rate):
    """An oracle that is nobody's here: AdaBoostClassifier, whose votes are twice the papers'."""
    rng = np.random.default_rng(n_classes)
    y = np.arange(150) % n_classes
    X = rng.normal(size=(150, 5)) + 0.5 * y[:, None]
    stump = DecisionTreeClassifier(max_depth=1, random_state=0)
    theirs = AdaBoostClassifier(stump, n_estimators=20, learning_rate=learning_rate, random_state=0).fit(X, y)
    ours = ShareBoostClassifier(stump, n_estimators=20, learning_rate=learning_rate, random_state=0).fit(X, y)
    assert_allclose(2 * ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-9)
    assert_allclose(ours.estimator_errors_, theirs.estimator_errors_, rtol=1e-9)
    assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_our_gini_stump_is_scikit_learns_in_adaboost(n_classes):
    rng = np.random.default_rng(n_classes)
    y = np.arange(150) % n_classes
    X = rng.normal(size=(150, 5)) + 0.5 * y[:, None]
    stump = DecisionTreeClassifier(max_depth=1, random_state=0)
    theirs = AdaBoostClassifier(stump, n_estimators=20, random_state=0).fit(X, y)
    ours = ShareBoostClassifier(Stump("gini"), n_estimators=20).fit(X, y)
    assert_allclose(2 * ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-6)
    assert_array_equal(ours.predict(X), theirs.predict(X))
