"""Explanations of boosted votes: they add up, and are the Shapley values of their games."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

from fuselearn import IndependentBoostClassifier, ShareBoostClassifier, load, save
from tests.fusion.fusion_data import VIEWS, table
from tests.fusion.test_fusion_explanation import views_by_subsets, with_missing_views
from tests.naive.shapley import shapley_by_subsets


@pytest.mark.thinned(3)
@pytest.mark.parametrize("estimator", [None, "stump", "tree", "linear", [None, "tree"]])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", [ShareBoostClassifier, IndependentBoostClassifier])
def test_votes_add_up(kind, n_classes, estimator):
    X, y = table(80, n_classes)
    model = kind(estimator, views=VIEWS, n_estimators=15, random_state=0).fit(X, y)
    rows = with_missing_views(table(12, n_classes, seed=1)[0])
    explanation, decision = model.explain(rows), model.decision_function(rows)
    assert_allclose(explanation.base + explanation.view_values.sum(axis=1), decision, rtol=0, atol=1e-9)
    assert_allclose(explanation.column_base + explanation.column_values.sum(axis=1), decision, rtol=0, atol=1e-9)
    assert_allclose(explanation.view_values, views_by_subsets(model, rows), atol=1e-9)
    assert explanation.column_errors is None  # few columns in each view


def test_stumps_and_naive_bayes_by_their_definition():
    X, y = table(80)
    rows = table(4, seed=1)[0]
    stumps = ShareBoostClassifier("stump", views=VIEWS, n_estimators=10).fit(X, y)
    expected = np.zeros(rows.shape)
    for tree, alpha, view in zip(stumps.estimators_, stumps.estimator_weights_, stumps.winning_views_):
        votes = alpha * (2.0 * tree.code[1:] - 1)
        mean = tree.weight[1:] @ votes / tree.weight[1:].sum()
        column = stumps.view_columns_[view][tree.feature[0]]
        expected[:, column] += np.where(rows[:, column] <= tree.threshold[0], *votes) - mean
    assert_allclose(stumps.explain(rows).column_values, expected, atol=1e-10)
    bayes = ShareBoostClassifier(views={"a": [0, 1, 2, 3]}, n_estimators=5).fit(X, y)

    def value_of(known):
        masked = rows.copy()
        masked[:, [column for column in range(4) if column not in known]] = np.nan
        return bayes.decision_function(masked)

    # Of a row without any value the model would say that it lacks the view, which is another thing.
    explanation = bayes.explain(rows)
    expected = shapley_by_subsets(lambda known: value_of(known) if known else explanation.column_base, 4)
    assert_allclose(explanation.column_values[:, :4], expected.T, atol=1e-10)


def test_what_is_not_known_is_said():
    X, y = table(80)
    for settings in ({"estimator": LogisticRegression()}, {"preprocess": PCA(1)}):
        explanation = ShareBoostClassifier(views=VIEWS, n_estimators=3, **settings).fit(X, y).explain(X[:5])
        assert explanation.column_values is None
        assert "Columns are not explained" in explanation.notes[0]


def test_a_saved_model_explains_the_same(tmp_path):
    X, y = table(80)
    model = ShareBoostClassifier("tree", views=VIEWS, n_estimators=5).fit(X, y)
    save(model, tmp_path / "model.fuse")
    loaded = load(tmp_path / "model.fuse")
    assert np.array_equal(loaded.explain(X[:5]).column_values, model.explain(X[:5]).column_values)
