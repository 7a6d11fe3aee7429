"""The features that matter: mean absolute contributions, by view, in the user's own columns."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from fuselearn import (
    FitReport,
    FusionRegressor,
    ShareBoostClassifier,
    ShareGradientBoostingClassifier,
    TableClassifier,
    TomographicClassifier,
)
from fuselearn.reporting import RegressionReport, feature_contributions, render
from fuselearn.reporting.feature_contributions import explain_features
from fuselearn.reporting.sentences import about_contributions
from tests.reporting.report_pages import VIEWS, Page


@pytest.fixture(scope="module")
def table():
    """A table with a text, of which two columns decide."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"rna_0": rng.normal(size=90), "rna_1": rng.normal(size=90)})
    frame["site"] = np.array(["north", "south", "east"])[rng.integers(0, 3, 90)]
    return frame, np.where(frame["rna_0"] + 1.5 * (frame["site"] == "north") > 0.5, "ill", "well")


@pytest.fixture(scope="module")
def of_table(table):
    X, y = table
    views = {"rna": ["rna_0", "rna_1"], "place": ["site"]}
    inner = ShareGradientBoostingClassifier(n_estimators=10, min_samples_leaf=5)
    model = TableClassifier(inner, views=views).fit(X[:50], y[:50])
    return model, FitReport(model, X[50:], y[50:])


def test_contributions_are_those_of_the_tables_own_columns(table, of_table):
    model, report = of_table
    features = report.summary["features"]
    explanation = model.explain(table[0][50:])
    expected = dict(zip(explanation.column_names, explanation.importances("columns").tolist()))
    shown = {record["name"]: record for group in features["groups"] for record in group["records"]}
    assert set(shown) <= {"rna_0", "rna_1", "site"}
    for name, record in shown.items():
        assert_allclose(record["mean"], expected[name])
        assert_allclose(record["share"], expected[name] / sum(expected.values()))
    assert_allclose(sum(group["share"] for group in features["groups"]), 1.0)
    assert [group["view"] for group in features["groups"]] == ["rna", "place"]
    assert (features["rows"], features["of"], features["total"]) == (40, 40, 3)
    # The gain of the trees is in the same columns.
    assert {record["name"] for record in report.summary["columns"]["records"]} <= {"rna_0", "rna_1", "site"}


def test_the_page_has_a_bar_for_each_column(of_table):
    summary = of_table[1].summary
    page = Page(of_table[1].html)
    assert "features" in page.ids()
    assert "#features" in [attributes.get("href") for tag, attributes in page.elements if tag == "a"]
    label = next(
        attributes["aria-label"]
        for _, attributes in page.elements
        if attributes.get("aria-label", "").startswith("Share of each column in the contributions")
    )
    assert "rna_0" in label
    assert summary["words"]["features"] == [
        f"Of 3 columns, “rna_0” contributes most to the decisions: "
        f"{100 * summary['features']['largest'][0]['share']:.0f}\N{NO-BREAK SPACE}% of all contributions."
    ]
    assert about_contributions(summary["features"]) in "".join(page.text)


def test_a_model_that_does_not_explain_columns_shows_its_views(iris):
    X, y = iris
    model = TomographicClassifier(views=VIEWS).fit(X[:60], y[:60])
    report = FitReport(model, X[60:], y[60:])
    features = report.summary["features"]
    assert features["kind"] == "views"
    assert [group["view"] for group in features["groups"]] == [None]
    assert {record["name"] for record in features["groups"][0]["records"]} <= set(VIEWS)
    assert features["notes"]
    assert features["notes"][0] in "".join(Page(report.html).text)


def test_a_column_of_two_views_is_in_a_group_of_both(iris):
    X, y = iris
    views = {"first": [0, 1], "second": [1, 2, 3]}
    model = ShareGradientBoostingClassifier(views=views, n_estimators=3).fit(X[:75], y[:75])
    features, reason = explain_features(model, X[75:], 75, None, seed=0)
    assert reason is None
    columns = {group["view"]: group["columns"] for group in features["groups"]}
    assert columns == {"first": 1, "first + second": 1, "second": 2}
    assert features["largest"][0]["name"].startswith("column ")


def test_few_rows_where_explanations_are_slow(iris, fitted, monkeypatch):
    monkeypatch.setattr(feature_contributions, "TIME_LIMIT", 0.0)
    features, _ = explain_features(fitted, iris[0], 150, None, seed=0)
    assert (features["rows"], features["of"], features["hurried"]) == (20, 150, True)
    assert "on 20 rows drawn from 150, because explanations are slow." in about_contributions(features)


def test_why_there_is_nothing_to_show(iris, report, fitted, monkeypatch):
    assert explain_features(object(), iris[0], 150, None, seed=0) == (None, None)

    def refuse(self, X):
        raise ValueError("this file has no node weights")

    monkeypatch.setattr(ShareBoostClassifier, "explain", refuse)
    made = FitReport(fitted, iris[0][75:])
    assert made.summary["features"] is None
    assert "The features that matter are not shown: this file has no node weights" in made.summary["left_out"]
    assert made.summary["words"]["features"] == []
    assert "features" not in Page(made.html).ids()


def test_many_views_are_drawn_in_part(report):
    group = {"columns": 9, "share": 0.05, "records": [{"name": "a", "mean": 1.0, "share": 0.01}] * 3}
    features = {**report.summary["features"], "groups": [{**group, "view": f"view {n}"} for n in range(20)]}
    page = Page(render({**report.summary, "features": {**features, "used": 180, "total": 180}}))
    assert any("150 more with smaller shares are not drawn." in text for text in page.text)
    assert "view 9" in page.text
    assert "view 10" not in page.text


def test_numbers_have_them_too():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(90, 4)), columns=list("abcd"))
    y = (2 * X["a"] + X["c"]).to_numpy()
    model = FusionRegressor(views={"one": ["a", "b"], "two": ["c", "d"]}, max_fits=4, random_state=0)
    note = {"command": ["fuselearn", "fit", "a b.csv"], "file": {"name": "new.csv"}, "seed": 7}
    report = RegressionReport(model.fit(X[:60], y[:60]), X[60:], y[60:], note=note)
    assert report.summary["note"] == [["seed", "7"]]
    assert report.summary["reproduce"]["command"].splitlines()[0] == "fuselearn fit 'a b.csv'"
    assert report.summary["features"]["largest"][0]["name"] == "a"
    assert report.summary["words"][-1].startswith("Of 4 columns, “a”")
    assert "to the predictions" in report.summary["words"][-1]
    page = Page(report.html)
    assert "features" in page.ids()
    links = {attributes["href"][1:] for tag, attributes in page.elements if tag == "a"}
    assert links <= set(page.ids())
