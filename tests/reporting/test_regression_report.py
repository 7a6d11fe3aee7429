"""The report of a model that predicts numbers."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fuselearn import (
    ConcatenatedRegressor,
    FusionRegressor,
    ShareBoostClassifier,
    ShareGradientBoostingRegressor,
    TableRegressor,
    save,
)
from fuselearn.reporting import RegressionReport
from fuselearn.reporting.charts import SIDE
from fuselearn.reporting.regression_report import _charts

VIEWS = {"<b>size</b>": [0, 1], "place": [2, 3]}
DRAWS = np.random.default_rng(0)
X = DRAWS.standard_normal((260, 4))
Y = 3 * X[:, 0] - 2 * X[:, 2] + 0.3 * DRAWS.standard_normal(260) + 20


@pytest.fixture(scope="module")
def model():
    """A small fusion."""
    return FusionRegressor(views=VIEWS, learners=["linear"], random_state=0).fit(X[:120], Y[:120])


def test_summary_has_scores_and_coverage(model):
    summary = RegressionReport(model, X[120:], Y[120:]).summary
    assert summary["scores"]["r2"] == pytest.approx(model.score(X[120:], Y[120:]))
    lower, upper = model.predict_interval(X[120:]).T
    covered = np.mean((lower <= Y[120:]) & (Y[120:] <= upper))
    assert summary["coverage"][0]["covered"] == pytest.approx(covered)
    assert len(summary["largest"]) == 10
    errors = [abs(record["error"]) for record in summary["largest"]]
    assert errors == sorted(errors, reverse=True)
    json.dumps(summary, allow_nan=False)


def test_coverage_is_listed_by_pattern_of_views(model):
    holed = X[120:].copy()
    holed[:60, :2] = np.nan
    coverage = RegressionReport(model, holed, Y[120:]).summary["coverage"]
    assert [record["views"] for record in coverage] == ["any", "<b>size</b>, place", "place"]
    assert [record["rows"] for record in coverage] == [140, 80, 60]


def test_page_is_whole_and_escapes_names(model, tmp_path):
    report = RegressionReport(model, X[120:], Y[120:], ids=[f"<i>{row}" for row in range(140)], note={"file": "<x>"})
    assert report.html.startswith("<!doctype html>")
    assert "<b>size" not in report.html
    assert "<i>" not in report.html
    assert report.html.count('class="dot few') == 280
    assert "Coverage of intervals" in report.html
    path = report.save(tmp_path / "report.html")
    assert path.read_text(encoding="utf-8") == report.html
    with pytest.raises(FileExistsError):
        report.save(path)


def test_without_numbers_nothing_is_said_about_quality(model):
    report = RegressionReport(model, X[120:])
    assert report.summary["scores"] is None
    assert "nothing is said about quality" in report.html


def test_other_regressors_and_pipelines():
    plain = make_pipeline(StandardScaler(), ConcatenatedRegressor(Ridge(), views=VIEWS)).fit(X[:120], Y[:120])
    report = RegressionReport(plain, X[120:], Y[120:])
    assert report.summary["coverage"] == []
    assert report.summary["leaderboard"] == []
    assert "R² is 0.9" in report.html


def test_what_is_no_regressor_is_refused(model):
    classifier = ShareBoostClassifier(views=VIEWS, n_estimators=2).fit(X[:120], Y[:120] > 20)
    with pytest.raises(TypeError, match="FitReport reports on classifiers"):
        RegressionReport(classifier, X[120:])
    with pytest.raises(ValueError, match="finite number for each of the 140 rows"):
        RegressionReport(model, X[120:], Y[:5])
    with pytest.raises(ValueError, match="no rows"):
        RegressionReport(model, X[:0])


def test_the_code_of_a_report_makes_it_again(model, tmp_path, monkeypatch):
    report = RegressionReport(model, X[120:], Y[120:])
    monkeypatch.chdir(tmp_path)
    names = {"X_train": X[:120], "y_train": Y[:120], "X": X[120:], "y": Y[120:]}
    exec(report.summary["reproduce"]["code"], names)
    assert np.array_equal(names["model"].predict(X), model.predict(X))
    assert "Predicted and true numbers" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_code_of_a_model_of_the_command_line_makes_its_report_again(tmp_path, monkeypatch):
    frame = pd.DataFrame(X, columns=[f"x{number}" for number in range(X.shape[1])]).assign(price=Y)
    model = TableRegressor(FusionRegressor(max_fits=4, random_state=0)).fit(frame.drop(columns="price")[:120], Y[:120])
    save(model, tmp_path / "model.fuse")
    frame[120:].to_csv(tmp_path / "new.csv", index=False, sep=";", decimal=",")
    reading = {"function": "read_csv", "sep": ";", "decimal": ","}
    note = {"command": ["fuselearn", "fit"], "target": "price", "file": {"name": "new.csv", "reading": reading}}
    report = RegressionReport(model, frame[120:].drop(columns="price"), Y[120:], note=note)
    monkeypatch.chdir(tmp_path)
    exec(report.summary["reproduce"]["code"], {})
    assert f"R² is {report.summary['scores']['r2']:.3f}" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_columns_are_those_of_the_table():
    kinds = np.random.default_rng(0).choice(["flat", "house", "villa"], len(X))
    frame = pd.DataFrame(X, columns=["area", "age", "north", "east"]).assign(kind=kinds)
    views = {"size": ["area", "age"], "place": ["north", "east", "kind"]}
    model = TableRegressor(FusionRegressor(max_fits=3, random_state=0), views=views).fit(frame[:120], Y[:120])
    summary = RegressionReport(model, frame[120:], Y[120:]).summary
    assert "2 views with 5 columns in total" in summary["words"][0]
    assert [view["columns"] for view in summary["views"]] == [2, 3]
    assert summary["features"]["total"] == 5
    # The command line hands over the matrix, and says which columns of the file it was made of.
    facts = {"columns_per_view": {"size": 2, "place": 3}, "sources": model.columns_.source_columns()}
    of_matrix = RegressionReport(model.model_, model.matrix(frame[120:]), Y[120:], note={"file": facts}).summary
    assert of_matrix["words"] == summary["words"]
    assert of_matrix["views"] == summary["views"]


def test_training_rows_are_recognised(model):
    def likeness(*rows):
        return RegressionReport(model, *rows).summary["training"]["likeness"]

    assert likeness(X[:120], Y[:120]) == "same"
    assert likeness(X[:120]) is None
    assert likeness(X[120:], Y[120:]) is None
    order = np.random.default_rng(0).permutation(120)
    assert likeness(X[:120][order], Y[:120][order]) == "alike"
    assert likeness(X[120:240], Y[120:240]) == "alike"
    # A file may have rows without any view, which the command line leaves out of a fit.
    empty = np.full((1, 4), np.nan)
    assert likeness(np.vstack([X[:70], empty, X[70:120]]), np.insert(Y[:120], 70, 3.0)) == "same"
    page = RegressionReport(model, X[:120], Y[:120]).html
    assert "These look like the rows that the model was trained on." in page
    assert "What to be careful about" not in RegressionReport(model, X[120:], Y[120:]).html


@pytest.mark.parametrize(
    "settings", [{}, {"loss": "absolute_error"}, {"loss": "quantile", "quantile": 0.8}, {"early_stopping": True}]
)
def test_training_rows_of_gradient_boosting_are_recognised(settings):
    boosted = ShareGradientBoostingRegressor(views=VIEWS, n_estimators=20, random_state=0, **settings)
    boosted.fit(X[:120], Y[:120] / 1000)
    likeness = RegressionReport(boosted, X[:120], Y[:120] / 1000).summary["training"]["likeness"]
    assert likeness == "same"
    assert RegressionReport(boosted, X[120:], Y[120:] / 1000).summary["training"]["likeness"] is None
    assert RegressionReport(boosted, X[140:], Y[140:] / 1000).summary["training"]["likeness"] == "alike"


def test_outliers_do_not_hide_training_rows():
    wild = Y[:120].copy()
    wild[::15] += 500
    fusion = FusionRegressor(views=VIEWS, learners=["linear"], random_state=0).fit(X[:120], wild)
    assert fusion.outlier_share_ > 0
    assert RegressionReport(fusion, X[:120], wild).summary["training"]["likeness"] == "same"


def test_outliers_are_said_to_count_among_the_rows_of_the_report(model):
    wild = Y.copy()
    wild[::15] += 500
    fusion = FusionRegressor(views=VIEWS, learners=["linear"], random_state=0).fit(X[:120], wild[:120])
    summary = RegressionReport(fusion, X[120:], wild[120:]).summary
    median = np.median(np.abs(wild[120:] - fusion.predict(X[120:])))
    assert summary["scores"]["median_absolute_error"] == pytest.approx(median)
    assert (
        "Outliers among the rows of this report are not left out of R² and the mean absolute error; the median "
        f"absolute error, {median:.4g}, is hardly touched by them."
    ) in summary["words"]
    assert not any("utliers" in sentence for sentence in RegressionReport(model, X[120:], Y[120:]).summary["words"])
    assert not any("median" in sentence for sentence in RegressionReport(fusion, X[120:]).summary["words"])


def test_residuals_are_drawn_over_what_is_predicted_with_lines_at_the_labels(model):
    wild = Y[120:].copy()
    wild[:2] += [2500, 1800]
    _, residuals = _charts(RegressionReport(model, X[120:], wild).summary)
    predicted = model.predict(X[120:])
    labels = [float(text.replace(",", "")) for _, text in residuals["x_ticks"]]
    assert min(labels) > predicted.min() - 10
    assert max(labels) < predicted.max() + 10
    assert max(x for x, _ in residuals["dots"]) - min(x for x, _ in residuals["dots"]) > 800
    heights = [SIDE - int(height) for height in re.findall(r"M0 (\d+)H", residuals["grid"])]
    assert heights == pytest.approx([at * SIDE / 100 for at, _ in residuals["y_ticks"]], abs=1)


def test_sentences_about_errors_are_whole(model):
    def about(rows, target):
        return RegressionReport(model, rows, target).summary["words"][1]

    predicted = model.predict(X[120:122])
    assert about(X[120:121], predicted[:1] + 0.5) == (
        "On these rows the mean absolute error is 0.5, and predictions are 0.5 too low on average."
    )
    assert "predictions are neither too low nor too high on average" in about(
        X[120:122], predicted + np.array([0.5, -0.5])
    )
