"""Any classifier on tables: views by name or glob, text and dates, missing views, and what the model itself offers."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

import fuselearn
from fuselearn import FusionClassifier, ShareBoostClassifier, TableClassifier
from fuselearn.persistence.object_tree import Reader, Writer
from fuselearn.tables import ViewColumns

VIEWS = {"rna": "rna_*", "clinic": ["age", "sex", "seen"]}
N_ROWS = 120


@pytest.fixture(scope="module")
def y():
    return np.where(np.arange(N_ROWS) % 2, "ill", "well")


@pytest.fixture(scope="module")
def table(y):
    rng = np.random.default_rng(0)
    shift = (y == "ill") * 2.0
    return pd.DataFrame(
        {
            "age": rng.integers(20, 80, N_ROWS),
            "rna_1": rng.normal(size=N_ROWS) + shift,
            "note": "not used",
            "sex": np.where(rng.uniform(size=N_ROWS) < 0.5, "f", "m"),
            "rna_2": rng.normal(size=N_ROWS) - shift,
            "seen": pd.date_range("2020-01-01", periods=N_ROWS, freq="D"),
        }
    )


@pytest.fixture(scope="module")
def model(table, y):
    return TableClassifier(FusionClassifier(random_state=0), views=VIEWS).fit(table, y)


def test_views_are_selected_and_given_to_the_model(model, table, y):
    assert model.view_names_ == ["rna", "clinic"]
    assert model.columns_.named_views_ == {"rna": ["rna_1", "rna_2"], "clinic": ["age", "sex", "seen"]}
    assert model.model_.view_names_ == ["rna", "clinic"]
    assert model.feature_names_in_.tolist() == ["rna_1", "rna_2", "age", "sex", "seen"]
    assert model.score(table, y) > 0.9


def test_frames_of_other_libraries_and_other_orders(model, table):
    expected = model.predict_proba(table)
    shuffled = table[sorted(table.columns, reverse=True)]
    for frame in (shuffled, pl.from_pandas(table), pl.from_pandas(table).to_arrow()):
        np.testing.assert_array_equal(model.predict_proba(frame), expected)


def test_a_view_that_a_table_lacks_is_missing(model, table):
    """As on the command line: a table without the clinic's columns is one in which they are empty."""
    emptied = table.assign(age=np.nan, sex=None, seen=pd.NaT)
    np.testing.assert_array_equal(model.predict_proba(table[["rna_2", "rna_1"]]), model.predict_proba(emptied))
    with pytest.raises(ValueError, match="The view 'clinic' lacks the column 'age'"):
        model.predict(table.drop(columns="age"))
    with pytest.raises(ValueError, match="none of the columns"):
        model.predict(table[["note"]])


def test_suspects_and_explanations_are_those_of_the_model(model, table):
    assert list(model.suspects(5)) == list(model.model_.suspects(5))
    explanation = model.explain(table[:4])
    np.testing.assert_allclose(
        explanation.base + explanation.view_values.sum(axis=1), model.decision_function(table[:4]), atol=1e-9
    )
    assert explanation.column_names == ["rna_1", "rna_2", "age", "sex", "seen"]
    np.testing.assert_allclose(explanation.column_base + explanation.column_values.sum(axis=1), explanation.decision)
    for name in ("suspects", "explain"):
        assert not hasattr(TableClassifier(LogisticRegression()), name)
    assert hasattr(TableClassifier(), "suspects")


def test_settings_of_views_in_a_transformer(table, y):
    columns = ViewColumns({"clinic": ["sex", "age"]}, categorical="target", preprocess=["standard"], random_state=0)
    model = TableClassifier(ShareBoostClassifier(n_estimators=3), views=columns).fit(table, y)
    np.testing.assert_allclose(np.nanmean(model.matrix(table), axis=0), 0, atol=0.1)
    with pytest.raises(TypeError, match="it goes after the estimator"):
        TableClassifier(columns).fit(table, y)


def test_it_works_with_tools_of_scikit_learn(table, y):
    model = TableClassifier(ShareBoostClassifier(n_estimators=5), views=VIEWS)
    assert clone(model).set_params(estimator__n_estimators=3).estimator.n_estimators == 3
    assert cross_val_score(model, table, y, cv=3).mean() > 0.8


def test_all_columns_are_one_view_by_default(table, y):
    model = TableClassifier(ShareBoostClassifier(n_estimators=2)).fit(table.drop(columns="note"), y)
    assert model.view_names_ == ["view0"]
    assert model.n_features_in_ == 5


def test_models_of_earlier_versions_are_read(model, table):
    """Settings had other names: a model as they wrote it gives the same predictions."""
    writer = Writer()
    tree = writer.write(model, ())
    state = tree["state"]
    state["columns"], state["model"] = state.pop("views"), state.pop("estimator")
    state["columns"] = writer.write(ViewColumns(model.columns_.named_views_), ())
    again = Reader(writer.arrays, []).read(json.loads(json.dumps(tree)), 0)
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    assert isinstance(again.views, ViewColumns)
    assert isinstance(again.estimator, FusionClassifier)


def test_save_and_load(model, table, tmp_path):
    fuselearn.save(model, tmp_path / "model.fuse")
    again = fuselearn.load(tmp_path / "model.fuse")
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    assert again.views == VIEWS
    array = TableClassifier(ShareBoostClassifier(n_estimators=2)).fit(model.matrix(table)[:, :3], table["sex"])
    fuselearn.save(array, tmp_path / "array.fuse")
    assert fuselearn.load(tmp_path / "array.fuse").n_features_in_ == 3


@pytest.mark.parametrize("estimator", [FusionClassifier(), ShareBoostClassifier()])
@pytest.mark.parametrize("column", ["sex", "seen", "category"])
def test_estimators_name_the_way_for_tables(estimator, column, table, y):
    frame = table.assign(category=pd.Categorical(table["sex"]))[["rna_1", column]]
    name = type(estimator).__name__
    with pytest.raises(ValueError, match=rf"in '{column}', .* use TableClassifier\({name}\(\), views=…\)\."):
        estimator.fit(frame, y)


def test_rows_without_their_label_are_counted(table, y):
    with pytest.raises(ValueError, match=f"X has {len(y)} rows and y 9 values; each row needs its own"):
        TableClassifier(FusionClassifier(), views=VIEWS).fit(table, y[:9])


def test_sets_and_next_views_are_those_of_the_model(model, table):
    rows = table.drop(columns=["rna_1", "rna_2"]).head(20)
    matrix = model.matrix(rows)
    np.testing.assert_array_equal(model.predict_set(rows, 0.8), model.model_.predict_set(matrix, 0.8))
    costs = {"rna": 2.0, "clinic": 1.0}
    expected = model.model_.next_view(matrix, costs=costs, min_gain=0.01)
    np.testing.assert_array_equal(model.next_view(rows, costs=costs, min_gain=0.01), expected)
    assert "rna" in expected
    assert repr(model.set_coverage(by="views")) == repr(model.model_.set_coverage(by="views"))
    assert not hasattr(
        TableClassifier(ShareBoostClassifier(), views=VIEWS).fit(table, np.arange(N_ROWS) % 2), "next_view"
    )
