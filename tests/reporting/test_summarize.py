"""The numbers of a report."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    confusion_matrix,
    precision_recall_fscore_support,
    roc_auc_score,
)

from fuselearn import FitReport, FusionClassifier, ShareBoostClassifier, TableClassifier
from fuselearn.datasets import load_digit_views
from fuselearn.reporting import summarize
from tests.reporting.report_pages import VIEWS


def test_numbers_are_those_of_scikit_learn(iris, fitted, report):
    X, y = iris[0][75:], iris[1][75:]
    predicted, found = fitted.predict(X), report.summary
    assert found["quality"]["score"] == accuracy_score(y, predicted)
    assert found["quality"]["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, predicted))
    assert found["quality"]["baseline"] == max(np.mean(y == label) for label in fitted.classes_)
    assert found["confusion"]["counts"] == confusion_matrix(y, predicted).tolist()
    precision, recall, f1, rows = precision_recall_fscore_support(y, predicted)
    for number, one in enumerate(found["per_class"]):
        assert one["precision"] == pytest.approx(precision[number])
        assert one["recall"] == pytest.approx(recall[number])
        assert one["f1"] == pytest.approx(f1[number])
        assert one["rows"] == rows[number]
    assert found["margins"]["negative"] == pytest.approx(np.mean(fitted.margins(X, y) < 0))
    assert sum(found["margins"]["counts"]) == 75
    assert found["rounds"]["staged"]["last"] == found["quality"]["score"]
    wins = [view["wins"] for view in found["rounds"]["views"]]
    assert wins == np.bincount(fitted.winning_views_, minlength=2).tolist()


def test_columns_of_a_model_of_a_table_are_those_of_the_table(iris):
    X, y = iris
    kinds = np.random.default_rng(0).choice(["red", "blue", "violet"], len(y))
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(kind=kinds)
    # A column of two views is one column.
    views = {"sepal": ["a", "b", "kind"], "petal": ["c", "d", "kind"]}
    model = TableClassifier(FusionClassifier(max_fits=2, random_state=0), views=views).fit(frame[:75], y[:75])
    found = FitReport(model, frame[75:], y[75:]).summary
    assert model.columns_.transform(frame).shape[1] == 10  # what this test is about
    assert found["data"]["columns"] == 5
    assert [record["columns"] for record in found["views"]["records"]] == [3, 3]
    assert found["features"]["total"] == 5


def test_a_flipped_label_is_the_first_suspect(iris, fitted):
    X, y = iris[0][75:], iris[1][75:].copy()
    row = int(np.flatnonzero(y == "setosa")[3])
    y[row] = "virginica"
    found = FitReport(fitted, X, y, ids=[f"plant {n}" for n in range(75)]).summary["suspects"]["records"][0]
    assert found["row"] == row
    assert found["id"] == f"plant {row}"
    assert (found["given"], found["proposed"]) == ("virginica", "setosa")


def test_rows_keep_their_numbers_beside_classes_that_are_unknown(iris, fitted):
    X, y = iris[0][75:], iris[1][75:].astype(object)
    y[:5] = "daisy"
    row = int(np.flatnonzero(y == "setosa")[2])
    y[row] = "virginica"
    found = FitReport(fitted, X, y).summary
    assert found["suspects"]["records"][0]["row"] == row
    assert found["data"]["unknown_classes"] == [{"class": "daisy", "rows": 5}]
    assert found["per_class"][-1]["class"] == "daisy"
    assert found["quality"]["score"] < 0.95
    assert any("never seen, “daisy”" in caution["text"] for caution in found["words"]["careful"])


def test_probabilities_are_those_of_what_is_predicted(unequal, fusion, of_fusion):
    X, y = unequal[0][300:], unequal[1][300:]
    predicted, chances = fusion.predict(X), fusion.predict_proba(X)
    assert np.mean(predicted != fusion.classes_[chances.argmax(axis=1)]) > 0.05  # what this test is about
    stated = np.mean([row[fusion.classes_ == label][0] for row, label in zip(chances, predicted)])
    assert of_fusion["calibration"]["stated"] == pytest.approx(stated)
    assert of_fusion["calibration"]["observed"] == pytest.approx(np.mean(predicted == y))
    assert of_fusion["margins"]["negative"] == pytest.approx(np.mean(predicted != y))
    records = of_fusion["suspects"]["records"]
    assert len(records) > 5
    assert all(predicted[record["row"]] != record["given"] for record in records)
    assert all(record["margin"] < 0 for record in records)


def test_the_headline_is_the_score_that_the_model_is_made_for(unequal, fusion, of_fusion):
    X, y = unequal[0][300:], unequal[1][300:]
    found = of_fusion["quality"]
    assert found["name"] == "balanced accuracy"
    assert found["score"] == pytest.approx(balanced_accuracy_score(y, fusion.predict(X)))
    assert found["baseline"] == 0.5
    assert found["p_value"] < 1e-6
    assert found["accuracy"] == pytest.approx(np.mean(fusion.predict(X) == y))
    assert found["area_under_curve"] == pytest.approx(roc_auc_score(y == "well", fusion.decision_function(X)))
    plain = clone(fusion).set_params(class_weight=None).fit(unequal[0][:300], unequal[1][:300])
    report = FitReport(plain, X, y)
    found, words = report.summary["quality"], " ".join(report.summary["words"]["good"])
    assert found["name"] == "accuracy"
    assert found["score"] == pytest.approx(np.mean(plain.predict(X) == y))
    assert found["score"] >= found["baseline"]
    assert "worse than" not in words
    assert "Classes are of unequal size: the balanced accuracy is" in words
    assert "accuracy on 600 rows" in report.html
    assert "Area under ROC curve" in report.html


def test_rows_weighted_on_the_command_line_make_balanced_accuracy_the_headline(unequal):
    X, y = unequal
    model = ShareBoostClassifier(views=VIEWS, n_estimators=5)
    model.fit(X[:300], y[:300], sample_weight=np.where(y[:300] == "ill", 8.0, 1.0))
    found = FitReport(model, X[300:], y[300:], note={"class_weight": "balanced"}).summary
    assert found["quality"]["name"] == "balanced accuracy"
    assert FitReport(model, X[300:], y[300:]).summary["quality"]["name"] == "accuracy"


def test_the_area_under_the_curve_is_the_mean_over_the_classes(iris, fitted, report):
    X, y = iris[0][75:], iris[1][75:]
    expected = roc_auc_score(y, fitted.predict_proba(X), multi_class="ovr")
    assert report.summary["quality"]["area_under_curve"] == pytest.approx(expected)


def test_the_out_of_fold_score_is_compared_with_the_same_score(unequal, fusion, of_fusion):
    assert of_fusion["training"]["out_of_sample_score"] == pytest.approx(
        balanced_accuracy_score(unequal[1][:300], fusion.classes_[(fusion.out_of_sample_decision_ > 0).astype(int)]),
        abs=0.1,
    )
    assert not any("out-of-fold" in caution["text"] for caution in of_fusion["words"]["careful"])
    board = of_fusion["leaderboard"]
    assert board["score"] == "balanced accuracy"
    assert "balanced accuracy" in board["columns"]
    assert "Balanced accuracy of each arm" in board["note"]


def test_missing_views_are_counted(iris, fitted):
    X, y = iris[0][75:].copy(), iris[1][75:]
    X[:15, :2] = np.nan
    X[:3, 2:] = np.nan
    found = FitReport(fitted, X, y).summary["missingness"]
    assert found["complete"] == pytest.approx(60 / 75)
    assert found["empty_rows"] == 3
    assert [one["rows"] for one in found["patterns"]] == [60, 12, 3]


def test_a_report_of_the_same_rows_says_the_same(iris, fitted, report):
    X, y = iris
    again = FitReport(fitted, X[75:], y[75:], ids=[f"plant {n}" for n in range(75)], title="Iris").summary
    assert {**again, "created": ""} == {**report.summary, "created": ""}


def test_data_frames_give_the_same_numbers(iris):
    X, y = iris
    names = [f"column {n}" for n in range(4)]
    views = {"sepal": names[:2], "petal": names[2:]}
    frames = pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)
    found = []
    for frame in frames:
        model = ShareBoostClassifier(views=views, n_estimators=10).fit(frame[:75], y[:75])
        found.append(FitReport(model, frame[75:], y[75:]).summary)
    assert found[0]["words"] == found[1]["words"]
    assert found[0]["views"] == found[1]["views"]
    assert found[0]["views"]["records"][0]["first_columns"] == names[:2]


def test_a_summary_is_plain_json(report):
    assert json.loads(json.dumps(report.summary, allow_nan=False)) == report.summary


def test_without_labels_nothing_is_said_about_quality(iris, fitted):
    found = FitReport(fitted, iris[0][75:])
    for section in ("quality", "per_class", "confusion", "calibration", "margins", "suspects"):
        assert found.summary[section] is None
    assert found.summary["rounds"]["staged"] is None
    assert "quality cannot be measured" in found.html
    assert "accuracy on" not in found.html
    assert "so score, classes, confusions" in found.html


def test_one_row(iris, fitted):
    made = FitReport(fitted, iris[0][:1], iris[1][:1])
    assert "only 1 row" in made.html


def test_many_rows_are_sampled_and_it_says_so():
    rng = np.random.default_rng(0)
    n = 200_000
    y = (rng.random(n) < 0.4).astype(int)
    X = rng.normal(size=(n, 4)).astype(np.float32) + y[:, None]
    model = ShareBoostClassifier(views=VIEWS, n_estimators=5).fit(X[:1000], y[:1000])
    made = FitReport(model, X, y)
    assert made.summary["quality"]["rows"] == n
    assert made.summary["quality"]["score"] == pytest.approx(model.score(X, y))
    assert made.summary["views"]["rows"] == 2_000
    assert made.summary["rounds"]["staged"]["rows"] == 5_000
    assert "5,000 rows drawn from 200,000" in made.html
    assert len(made.html.encode()) < 500_000


def test_summarize_draws_by_its_seed():
    X, views, y = load_digit_views(return_tuple=True)
    model = ShareBoostClassifier(views=views, n_estimators=3).fit(X[:300], y[:300])
    first, second, other = (summarize(model, X[300:], y[300:], random_state=seed)["views"] for seed in (0, None, 1))
    assert first == second
    assert first != other


def test_suspects_of_the_training_data_stand_apart_from_contradicted_labels(unequal, fusion, of_fusion):
    training, here = of_fusion["training_suspects"], of_fusion["suspects"]
    own = fusion.suspects()
    assert training["total"] == len(own)
    assert [record["row"] for record in training["records"]] == own["row"].tolist()
    assert not training["with_index"]
    frame = pd.DataFrame(unequal[0][:300], index=[f"p{row}" for row in range(300)])
    named = FusionClassifier(views=VIEWS, learners="linear", random_state=0).fit(frame, unequal[1][:300])
    summary = summarize(named, unequal[0][300:])
    assert summary["training_suspects"]["with_index"]
    assert summary["suspects"] is None
    assert all(record["index"] == f"p{record['row']}" for record in summary["training_suspects"]["records"])
    # The most probably wrong stand first; among equals those with the lowest margin.
    order = [(-record["probability"], record["margin"]) for record in here["records"]]
    assert order == sorted(order)


def test_no_empty_cell_is_none(fitted, iris):
    X, y = iris[0][75:].copy(), iris[1][75:]
    X[:23, :2] = np.nan
    gaps = {"sepal": 23 / 75 + 1e-17, "petal": 0.0}
    found = summarize(fitted, X, y, note={"file": {"gaps_per_view": gaps}})["missingness"]["records"]
    assert [record["gaps"] for record in found] == [0.0, 0.0]


def test_captions_of_shares_fit_the_model(of_fusion, report):
    assert "out-of-fold values" in of_fusion["views"]["share_of"]
    assert report.summary["views"]["share_of"] == "the votes of all rounds"
    assert of_fusion["model"]["calibrated"]
    assert not report.summary["model"]["calibrated"]


def test_precision_and_recall_of_the_rarer_class(of_fusion, report):
    quality, rare = of_fusion["quality"], of_fusion["per_class"][0]
    assert quality["of_class"] == rare["class"] == "ill"
    assert (quality["precision"], quality["recall"]) == (rare["precision"], rare["recall"])
    of_three = report.summary
    assert of_three["quality"]["of_class"] is None
    mean = np.mean([record["precision"] for record in of_three["per_class"]])
    assert of_three["quality"]["precision"] == pytest.approx(mean)
    assert of_three["quality"]["recall"] == pytest.approx(of_three["quality"]["balanced_accuracy"])
