"""Explanations of FusionClassifier: they add up, and are the Shapley values of their games."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_regressor
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB

from fuselearn import FusionClassifier, FusionRegressor, load, save
from fuselearn.fusion.base_models.forests import as_columns
from fuselearn.fusion.base_models.kernel_machines import KernelMachine, LinearMachine
from fuselearn.fusion.base_models.model_terms import _forest_nodes, model_terms
from tests.fusion.fusion_data import ONE_PASS, VIEWS, X_NEW, table
from tests.naive.shapley import ensemble_value, kernel_value, shapley_by_subsets


def with_missing_views(X):
    """All patterns of the three views, one gap in a view that is there, and a row without any view."""
    X = X.copy()
    for row in range(8):
        for bit, columns in enumerate(VIEWS.values()):
            if row >> bit & 1:
                X[row, columns] = np.nan
    X[9, 1] = np.nan
    return X


def assert_adds_up(model, X):
    explanation, decision = model.explain(X), model.decision_function(X)
    assert_allclose(explanation.base + explanation.view_values.sum(axis=1), decision, rtol=0, atol=1e-9)
    assert_allclose(explanation.column_base + explanation.column_values.sum(axis=1), decision, rtol=0, atol=1e-9)
    assert explanation.column_values.shape == (*X.shape, *decision.shape[1:])
    assert explanation.view_values.shape == (len(X), len(model.view_names_), *decision.shape[1:])
    # Views that a row lacks, and their columns, have no part in the decision.
    for view, columns in enumerate(model.view_columns_):
        absent = np.isnan(X[:, columns]).all(axis=1)
        assert not explanation.view_values[absent, view].any()
        if not any(set(columns) & set(other) for number, other in enumerate(model.view_columns_) if number != view):
            assert not explanation.column_values[absent][:, columns].any()
    return explanation


def views_by_subsets(model, X):
    """Shapley values of the game whose value is decision_function of rows with NaN in place of other views."""

    def value_of(views):
        masked = X.copy()
        for view, columns in enumerate(model.view_columns_):
            if view not in views:
                masked[:, columns] = np.nan
        return model.predict(masked) if is_regressor(model) else model.decision_function(masked)

    return np.moveaxis(shapley_by_subsets(value_of, len(model.view_columns_)), 0, 1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_few_rows(n_classes):
    X, y = table(60, n_classes)
    model = clone(ONE_PASS).set_params(class_weight="balanced").fit(X, y)
    rows = with_missing_views(table(12, n_classes, seed=1)[0])
    explanation = assert_adds_up(model, rows)
    assert_allclose(explanation.view_values, views_by_subsets(model, rows), atol=1e-9)
    assert_allclose(explanation.base, model.decision_function(np.full((1, 6), np.nan))[0], atol=1e-12)
    assert_array_equal(explanation.decision.shape, model.decision_function(rows).shape)


@pytest.mark.parametrize("n_classes", [2, pytest.param(3, marks=pytest.mark.long)])
def test_many_rows(n_classes):
    X, y = table(3000, n_classes)
    X[:300, VIEWS["a"]] = np.nan
    model = FusionClassifier(views=VIEWS, max_fits=12, random_state=0).fit(X, y)
    assert model._by_sums
    rows = with_missing_views(table(12, n_classes, seed=1)[0])
    explanation = assert_adds_up(model, rows)
    assert_allclose(explanation.view_values, views_by_subsets(model, rows), atol=1e-9)
    if n_classes == 3:  # and with matrices between classes
        model.arm_matrices_ = model.arm_weights_[:, None, None] * np.random.default_rng(0).normal(size=(3, 3))
        assert_adds_up(model, rows)


@pytest.mark.long
@pytest.mark.parametrize("learners", ["rbf", "linear", "trees", "boosting", [GaussianNB()]])
@pytest.mark.parametrize("n_rows", [60, 3000])
def test_every_learner(learners, n_rows):
    for n_classes in (2, 3):
        X, y = table(n_rows, n_classes)
        model = FusionClassifier(views=VIEWS, learners=learners, max_fits=4, random_state=0).fit(X, y)
        rows = with_missing_views(table(12, n_classes, seed=1)[0])[: 12 if isinstance(learners, str) else 9]
        assert_adds_up(model, rows)


@pytest.mark.long
def test_overlapping_views_share_columns():
    X, y = table(60, 3)
    model = FusionClassifier(views={"a": [0, 1, 2], "b": [2, 3, 4, 5]}, max_fits=6, random_state=0).fit(X, y)
    rows = table(12, 3, seed=1)[0]
    rows[0, :2], rows[1, 3:], rows[2] = np.nan, np.nan, np.nan
    explanation = assert_adds_up(model, rows)
    assert_allclose(explanation.view_values, views_by_subsets(model, rows), atol=1e-9)


@pytest.mark.parametrize("n_rows", [60, pytest.param(3000, marks=pytest.mark.long)])
def test_regressor(n_rows):
    X, _ = table(n_rows)
    y = X[:, 0] * X[:, 1] + X[:, 3]
    X[: n_rows // 10, VIEWS["b"]] = np.nan
    learners = ["rbf", "trees", Ridge()]
    model = FusionRegressor(views=VIEWS, learners=learners, max_fits=12, random_state=0).fit(X, y)
    rows = with_missing_views(table(12, seed=1)[0])[:9]
    explanation, predicted = model.explain(rows), model.predict(rows)
    assert_allclose(explanation.base + explanation.view_values.sum(axis=1), predicted, rtol=0, atol=1e-9)
    assert_allclose(explanation.column_base + explanation.column_values.sum(axis=1), predicted, rtol=0, atol=1e-9)
    assert_allclose(explanation.view_values, views_by_subsets(model, rows), atol=1e-9)


def value_of_model(model, cells, known):
    """What a base model says where only some columns are known, by its definition."""
    if isinstance(model, KernelMachine):
        total = np.zeros(len(model.parts[0].offsets))
        for part in model.parts:
            scaled = part.scale(cells[None])[0]
            if isinstance(part, LinearMachine):
                total += sum(scaled[column] * part.coefficients[column] for column in known) + part.offsets
            else:
                total += kernel_value(scaled, part.centres, part.gamma, part.coefficients, known) + part.offsets
        return total
    row = as_columns(cells[None], model.fill)[:, 0].astype(float)
    return sum(
        share * ensemble_value(_forest_nodes(forest), row, known, forest.values.shape[1]) / len(forest.roots)
        for share, forest in zip(model.shares, model.forests)
    )


def test_terms_of_base_models_are_those_of_their_definition():
    X, y = table(60, 3)
    model = clone(ONE_PASS).fit(X, y)
    rows = with_missing_views(table(12, 3, seed=1)[0])[8:10]
    arms = [arm for arm, (view, _) in enumerate(model.arms_) if view in ("a", "b")]
    for arm in arms:
        _, columns = model._arm_columns[arm]
        for base_model in model.estimators_[arm][:1]:
            cells = np.ascontiguousarray(rows[:, columns])
            terms = model_terms(base_model, cells, np.arange(len(columns)), len(columns))
            assert_allclose(terms.total, base_model.predict(cells), atol=1e-12)
            for row, x in enumerate(cells):
                expected = shapley_by_subsets(
                    lambda known, x=x, base_model=base_model: value_of_model(base_model, x, known), len(columns)
                )
                assert_allclose(terms.values[row], expected, atol=1e-10)


def test_a_row_is_explained_alike_whatever_comes_with_it(one_pass):
    together, alone = one_pass.explain(X_NEW[:5]), one_pass.explain(X_NEW[3:4])
    assert_allclose(together.column_values[3], alone.column_values[0], rtol=0, atol=1e-12)
    assert_allclose(together.view_values[3], alone.view_values[0], rtol=0, atol=1e-12)
    threaded = clone(one_pass)
    threaded.__dict__.update(one_pass.__dict__, n_jobs=2)
    assert_array_equal(threaded.explain(X_NEW[:5]).column_values, together.column_values)


def test_a_saved_model_explains_the_same(one_pass, tmp_path):
    save(one_pass, tmp_path / "model.fuse")
    loaded = load(tmp_path / "model.fuse")
    assert_array_equal(loaded.explain(X_NEW[:4]).column_values, one_pass.explain(X_NEW[:4]).column_values)


def test_rows_that_are_not_in_memory_are_refused(one_pass):
    with pytest.raises(TypeError, match="explain takes rows in memory"):
        one_pass.explain("rows.parquet")


def test_boosted_trees_of_a_regression_on_few_rows_are_explained_exactly():
    X, y = table(80, 3)
    model = FusionRegressor(views=VIEWS, learners="boosting", random_state=0).fit(X, y + X[:, 0])
    rows = with_missing_views(X_NEW[:12])
    explanation = model.explain(rows)
    assert explanation.column_errors is None
    assert explanation.notes == []
    assert_allclose(explanation.column_base + explanation.column_values.sum(axis=1), model.predict(rows), atol=1e-9)
    assert np.abs(explanation.column_values).max() > 0
