"""Explanations of gradient boosting: they add up, and are the Shapley values of their games."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fuselearn import ShareGradientBoostingClassifier, ShareGradientBoostingRegressor
from tests.fusion.test_fusion_explanation import views_by_subsets, with_missing_views
from tests.naive.shapley import ensemble_value, shapley_by_subsets

VIEWS = {"a": [0, 1, 2], "b": [3, 4], "c": [5]}
SETTINGS = {"views": VIEWS, "n_estimators": 12, "max_leaf_nodes": 8, "min_samples_leaf": 5, "random_state": 0}


def problem(n_classes=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    X[rng.random(X.shape) < 0.1] = np.nan
    filled = np.nan_to_num(X)
    y = np.digitize(filled[:, 0] * filled[:, 3] + filled[:, 5], [0.0] if n_classes == 2 else [-0.5, 0.5])
    return X, y


@pytest.mark.parametrize("trees", ["joint", "per_view"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifier(trees, n_classes):
    X, y = problem(n_classes)
    model = ShareGradientBoostingClassifier(trees=trees, **SETTINGS).fit(X, y)
    rows = with_missing_views(X[:12])
    explanation, decision = model.explain(rows), model.decision_function(rows)
    assert_allclose(explanation.base + explanation.view_values.sum(axis=1), decision, rtol=0, atol=1e-9)
    assert_allclose(explanation.column_base + explanation.column_values.sum(axis=1), decision, rtol=0, atol=1e-9)
    assert_allclose(explanation.view_values, views_by_subsets(model, rows), atol=1e-9)
    assert explanation.column_errors is None


def test_columns_are_explained_given_the_views():
    X, y = problem(3)
    model = ShareGradientBoostingClassifier(**SETTINGS).fit(X, y)
    rows = with_missing_views(X[:12])
    explanation, nodes = model.explain(rows), model.trees_.nodes()
    for row in (0, 1, 2, 9):
        missing = {column for columns in VIEWS.values() for column in columns if np.isnan(rows[row, columns]).all()}
        players = sorted(set(range(6)) - missing)
        expected = shapley_by_subsets(
            lambda known, x=rows[row], players=players, missing=missing: ensemble_value(
                nodes, x, {players[player] for player in known} | missing, 3
            ),
            len(players),
        )
        assert_allclose(explanation.column_values[row][players], expected, atol=1e-10)


def test_regressor_and_categories():
    pd = pytest.importorskip("pandas")
    X, _ = problem()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["f"] = pd.Categorical(np.random.default_rng(0).choice(["x", "y", "z"], size=len(X)))
    target = np.nan_to_num(X[:, 0]) + (frame["f"] == "x")
    views = {"numbers": list("abcde"), "kind": ["f"]}
    model = ShareGradientBoostingRegressor(**(SETTINGS | {"views": views})).fit(frame, target)
    explanation = model.explain(frame.iloc[:10])
    predicted = model.predict(frame.iloc[:10])
    assert_allclose(explanation.base + explanation.view_values.sum(axis=1), predicted, rtol=0, atol=1e-9)
    assert_allclose(explanation.column_base + explanation.column_values.sum(axis=1), predicted, rtol=0, atol=1e-9)
    assert explanation.column_names == list("abcdef")
    assert explanation.classes is None


@pytest.mark.long
def test_equals_shap_on_the_same_trees():
    shap = pytest.importorskip("shap")
    X, y = problem()
    X = X[~np.isnan(X).any(axis=1)]
    y = np.digitize(X[:, 0] * X[:, 3] + X[:, 5], [0.0])
    model = ShareGradientBoostingClassifier(**SETTINGS).fit(X, y)
    trees = []
    for number in range(len(model.trees_)):
        tree = model.trees_.tree(number)
        trees.append(
            {
                "children_left": tree.left,
                "children_right": tree.right,
                "children_default": np.where(tree.missing_left, tree.left, tree.right),
                "features": np.maximum(tree.column, 0),
                "thresholds": tree.threshold,
                "values": tree.value[:, None],
                "node_sample_weight": tree.weight,
            }
        )
    explainer = shap.TreeExplainer({"trees": trees}, feature_perturbation="tree_path_dependent")
    assert_allclose(model.explain(X[:20]).column_values, explainer.shap_values(X[:20]), atol=1e-6)
