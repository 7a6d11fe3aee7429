"""Weights of arms against their formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from fuselearn import FusionClassifier
from fuselearn.fusion.arm_weights import (
    FOLDS,
    STRENGTHS,
    combine,
    fill_gaps,
    labels_per_right_label,
    reliabilities,
    weighted_sum,
)
from tests.naive import fusion_arms as naive


class Arms:
    """Out-of-sample values of arms, some of which know the targets."""

    def __init__(self, seed, n_arms=4, n_rows=40, n_targets=2):
        rng = np.random.default_rng(seed)
        self.targets = rng.normal(size=(n_rows, n_targets))
        noise = rng.uniform(0.3, 3.0, n_arms)[:, None, None] * rng.normal(size=(n_arms, n_rows, n_targets))
        self.values = rng.uniform(0, 1, n_arms)[:, None, None] * self.targets + noise
        self.row_weights = rng.uniform(0.2, 3.0, n_rows)
        self.rng = rng

    def combined(self, *strengths):
        return combine(self.values, self.targets, self.row_weights, strengths=strengths)


arms = st.builds(
    Arms,
    seed=st.integers(0, 2**32 - 1),
    n_arms=st.integers(1, 5),
    n_rows=st.integers(8, 40),
    n_targets=st.integers(1, 3),
)


@given(arms, st.sampled_from(STRENGTHS))
def test_weights_are_non_negative_least_squares_with_a_row_per_arm(arms, strength):
    expected = naive.arm_weights(arms.values, arms.targets, arms.row_weights, strength)
    if expected.any():
        assert_allclose(arms.combined(strength).weights, expected, rtol=1e-6, atol=1e-8)


@given(arms)
@settings(max_examples=20)
def test_the_strength_is_the_largest_that_is_not_clearly_worse(arms):
    n_rows = len(arms.targets)
    part_of = np.random.default_rng(n_rows).permutation(n_rows) % FOLDS
    combination = arms.combined(*STRENGTHS)
    strength, loss = naive.chosen_strength(arms.values, arms.targets, arms.row_weights, STRENGTHS, part_of)
    assert_allclose(combination.loss, loss, rtol=1e-6)
    # Several strengths may give the same weights, up to rounding: one arm has nothing to be drawn to.
    expected = naive.arm_weights(arms.values, arms.targets, arms.row_weights, strength)
    if expected.any():
        assert_allclose(combination.weights, expected, rtol=1e-6, atol=1e-8)


def test_a_strong_pull_makes_weights_equal():
    weights = Arms(1).combined(1e9).weights
    assert_allclose(weights, weights[0], rtol=1e-6)
    assert weights[0] > 0


def test_arms_that_cannot_be_told_apart_share_the_weight_and_noise_gets_none():
    arms = Arms(2, n_arms=5, n_rows=400)
    arms.values = arms.targets + 0.5 * arms.rng.normal(size=arms.values.shape)
    arms.values[3:] = arms.rng.normal(size=arms.values[3:].shape)
    weights = arms.combined(*STRENGTHS).weights
    assert weights[:3].min() > 0.8 * weights[:3].max()
    assert weights[3:].max() < 0.2 * weights[:3].min()


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 3), st.booleans())
@settings(max_examples=30)
def test_reliabilities_are_those_of_the_formulas(seed, n_arms, n_targets, grouped):
    rng = np.random.default_rng(seed)
    targets = rng.normal(size=(40, n_targets))
    values = rng.uniform(-0.5, 1, size=(n_arms, 1, 1)) * targets + rng.normal(size=(n_arms, 40, n_targets))
    row_weights = rng.uniform(0.5, 1.5, 40)
    groups = np.sort(rng.integers(12, size=40)) if grouped else None
    groups = None if groups is None else np.unique(groups, return_inverse=True)[1]
    expected = naive.reliabilities(values, targets, row_weights, groups)
    assert_allclose(reliabilities(values, targets, row_weights, groups), expected, rtol=1e-8, atol=1e-10)


def test_arms_that_know_nothing_beside_one_that_does_count_next_to_nothing():
    rng = np.random.default_rng(0)
    targets = rng.choice([-1.0, 1.0], size=(300, 1))
    values = rng.normal(size=(6, 300, 1))
    values[0] += 0.5 * targets
    values[1] += 0.4 * targets
    values[5] = 0
    factors = reliabilities(values, targets, np.ones(300))
    assert factors[:2].min() > 20 * factors[2:].max()
    # Scale is nothing that an arm knows.
    sizes = np.array([1e-6, 1e3, 1.0, 10.0, 5.0, 1.0])[:, None, None]
    assert_allclose(factors, reliabilities(sizes * values, targets, np.ones(300)))


def test_where_no_arm_stands_out_all_of_them_count_alike():
    rng = np.random.default_rng(1)
    targets = rng.choice([-1.0, 1.0], size=(60, 1))
    # As far apart as chance would have them, or less.
    values = targets + 0.1 * rng.normal(size=(5, 60, 1))
    assert reliabilities(values, targets, np.ones(60)).min() > 0.9
    assert_array_equal(reliabilities(np.zeros((3, 60, 1)), targets, np.ones(60)), 1)
    assert_array_equal(reliabilities(-np.broadcast_to(targets, (3, 60, 1)), targets, np.ones(60)), 1)


@pytest.mark.parametrize(
    ("learners", "n_seeds"), [(["linear", "rbf"], 1), pytest.param("default", 4, marks=pytest.mark.long)]
)
def test_views_of_noise_do_not_spoil_what_the_others_know(learners, n_seeds):
    """One view knows the class, four are noise, and 30 % of the labels are wrong."""
    gains = []
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        y = np.arange(1200) % 2
        X = rng.normal(size=(1200, 25))
        X[:, :5] += 0.7 * (2 * y - 1)[:, None]
        given_labels = np.where(rng.random(1200) < 0.3, 1 - y, y)[:200]
        views = {f"view{number}": slice(5 * number, 5 * number + 5) for number in range(5)}
        model = FusionClassifier(views=views, learners=learners, random_state=0)
        alone = clone(model).set_params(views={"view0": slice(0, 5)}).fit(X[:200], given_labels)
        model.fit(X[:200], given_labels)
        gains.append(model.score(X[200:], y[200:]) - alone.score(X[200:], y[200:]))
    assert np.mean(gains) > -0.05


@pytest.mark.parametrize("values", ["zero", "opposite"])
def test_arms_that_know_nothing_are_averaged(values):
    arms = Arms(0)
    arms.values = np.zeros_like(arms.values) if values == "zero" else np.repeat(-arms.targets[None], 4, axis=0)
    assert_allclose(arms.combined(*STRENGTHS).weights, 0.25)


def test_gaps_are_filled_with_what_the_others_say():
    values = np.array([[[1.0], [2.0], [np.nan]], [[np.nan], [4.0], [np.nan]], [[3.0], [6.0], [np.nan]]])
    assert_array_equal(fill_gaps(values)[:, :, 0], [[1, 2, 0], [2, 4, 0], [3, 6, 0]])
    whole = np.ones((2, 3, 1))
    assert fill_gaps(whole) is whole


@given(arms)
def test_sums_are_renormalised_over_the_arms_that_speak(arms):
    arms.values[arms.rng.random(arms.values.shape[:2]) < 0.4] = np.nan
    weights = np.where(arms.rng.random(len(arms.values)) < 0.3, 0.0, arms.rng.random(len(arms.values)))
    sums, covered = weighted_sum(arms.values, weights)
    assert_allclose(sums, naive.weighted_sum(arms.values, weights), atol=1e-12)
    assert_array_equal(covered, ((weights[:, None] > 0) & ~np.isnan(arms.values[:, :, 0])).any(axis=0))


def test_groups_are_one_observation_where_weights_are_compared():
    """Rows that are copies of each other tell no more than one of them does."""
    rng = np.random.default_rng(0)
    targets = rng.choice([-1.0, 1.0], size=(30, 1))
    values = np.stack([0.3 * targets + rng.normal(size=targets.shape) * noise for noise in (1.0, 1.3)])
    once = combine(values, targets, np.ones(30))
    copies = combine(
        np.repeat(values, 20, axis=1), np.repeat(targets, 20, axis=0), np.ones(600), groups=np.repeat(np.arange(30), 20)
    )
    assert copies.strength == once.strength
    np.testing.assert_allclose(copies.weights, once.weights, rtol=1e-8)


@pytest.mark.parametrize(
    ("noise_rate", "n_classes", "n_columns", "expected"),
    [(0.0, 2, 1, 1), (0.3, 2, 1, 6.25), (0.6, 2, 1, 100), (0.3, 2, 2, 1 + 5.25 / 2), (1 / 3, 3, 1, 4)],
)
def test_wrong_labels_ask_for_more_evidence(noise_rate, n_classes, n_columns, expected):
    assert labels_per_right_label(noise_rate, n_classes, n_columns) == pytest.approx(expected)
