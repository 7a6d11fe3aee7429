"""Shapley values of trees against their definition, and against shap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from fuselearn.explanation.tree_values import TreeNodes, tree_shapley
from fuselearn.numeric.threads import Threads
from tests.explanation.random_trees import random_rows, random_trees
from tests.naive.shapley import ensemble_value, shapley_by_subsets


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.booleans(), st.sampled_from([1, 3]))
def test_equals_the_definition(seed, depth, categories, n_values):
    trees = random_trees(seed, depth=depth, categories=categories, n_values=n_values)
    X = random_rows(seed)
    n_outputs = 3 if n_values == 3 else 2
    base, values = tree_shapley(trees, X, np.arange(5), 5, n_outputs)
    for row in range(2):
        expected = shapley_by_subsets(lambda known, x=X[row]: ensemble_value(trees, x, known, n_outputs), 5)
        assert_allclose(values[row], expected, atol=1e-12)
        assert_allclose(base[row], ensemble_value(trees, X[row], set(), n_outputs), atol=1e-12)
    everything = [ensemble_value(trees, x, set(range(5)), n_outputs) for x in X]
    assert_allclose(base + values.sum(axis=1), everything, atol=1e-12)


def test_fixed_columns_lead_their_way_and_are_no_players():
    trees, X = random_trees(3, depth=5), random_rows(3)
    players = np.array([0, -1, 2, -1, 4])
    base, values = tree_shapley(trees, X, players, 5, 2)
    names = [0, 2, 4]
    for row, x in enumerate(X):
        expected = shapley_by_subsets(
            lambda known, x=x: ensemble_value(trees, x, {names[player] for player in known} | {1, 3}, 2), 3
        )
        assert_allclose(values[row, names], expected, atol=1e-12)
        assert_allclose(base[row], ensemble_value(trees, x, {1, 3}, 2), atol=1e-12)
    assert not values[:, [1, 3]].any()


def test_columns_of_one_player_are_known_together():
    trees, X = random_trees(5, depth=5), random_rows(5)
    _, values = tree_shapley(trees, X, np.array([0, 1, 1, 2, 0]), 3, 2)
    columns = [{0, 4}, {1, 2}, {3}]
    for row, x in enumerate(X):
        expected = shapley_by_subsets(
            lambda known, x=x: ensemble_value(trees, x, set().union(*(columns[player] for player in known)), 2), 3
        )
        assert_allclose(values[row], expected, atol=1e-12)


def test_deep_trees_add_up_and_threads_change_nothing():
    trees, X = random_trees(7, n_trees=2, n_columns=40, depth=11), random_rows(7, n_rows=9, n_columns=40)
    base, values = tree_shapley(trees, X, np.arange(40), 40, 2)
    everything = [ensemble_value(trees, x, set(range(40)), 2) for x in X]
    assert_allclose(base + values.sum(axis=1), everything, atol=1e-12)
    with Threads(3) as threads:
        others = tree_shapley(trees, X, np.arange(40), 40, 2, threads)
    assert np.array_equal(base, others[0])
    assert np.array_equal(values, others[1])


def test_a_tree_without_splits_says_nothing_about_columns():
    leaf = TreeNodes.of_numbers(
        *(np.zeros(1, dtype=int), np.full(1, -1), np.zeros(1), np.full(1, -1), np.full(1, -1)),
        *(np.ones(1), np.full((1, 1), 0.25)),
    )
    base, values = tree_shapley(leaf, np.zeros((2, 3)), np.arange(3), 3, 1)
    assert base.ravel().tolist() == [0.25, 0.25]
    assert not values.any()


@pytest.mark.long
def test_equals_shap_on_forests_of_scikit_learn():
    shap = pytest.importorskip("shap")
    from sklearn.ensemble import RandomForestRegressor

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8))
    y = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + rng.normal(size=300) / 10
    forest = RandomForestRegressor(20, max_depth=8, random_state=0).fit(X, y)
    roots, parts = [], []
    for member in forest.estimators_:
        tree = member.tree_
        roots.append(sum(len(part[0]) for part in parts))
        shift = np.where(tree.children_left >= 0, roots[-1], 0)
        parts.append(
            (
                *(np.where(tree.feature >= 0, tree.feature, -1), tree.threshold, tree.children_left + shift),
                *(tree.children_right + shift, tree.weighted_n_node_samples, tree.value[:, :, 0] / 20),
            )
        )
    nodes = TreeNodes.of_numbers(np.array(roots), *(np.concatenate(arrays) for arrays in zip(*parts)))
    # scikit-learn's trees read single precision.
    base, values = tree_shapley(nodes, X[:50].astype(np.float32).astype(float), np.arange(8), 8, 1)
    explainer = shap.TreeExplainer(forest, feature_perturbation="tree_path_dependent")
    assert_allclose(values[:, :, 0], explainer.shap_values(X[:50]), atol=1e-6)
    assert_allclose(base[0], explainer.expected_value, atol=1e-6)
