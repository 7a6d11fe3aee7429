"""The parts of a report about the model: views, rounds and leaderboard, for every kind of model."""

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import fuselearn
from fuselearn import (
    AugmentedKernelClassifier,
    ConcatenatedClassifier,
    FitReport,
    IndependentBoostClassifier,
    MKLClassifier,
    MSSBoostClassifier,
    ShareBoostClassifier,
    TomographicClassifier,
    ViewStackingClassifier,
    ViewVotingClassifier,
)
from fuselearn.reporting import model_summary
from tests.reporting.report_pages import VIEWS


def test_slow_predictions_are_made_of_fewer_rows(unequal, fusion, monkeypatch):
    X, y = unequal
    monkeypatch.setattr(model_summary, "TIME_LIMIT", 0.0)
    made = FitReport(fusion, X, y)
    views = made.summary["views"]
    assert (views["rows"], views["of"], views["hurried"], views["shuffles"]) == (100, 900, True, 0)
    assert all(record["lost"] is not None and record["shuffled"] is None for record in views["records"])
    assert "on 100 rows drawn from 900, because predictions are slow" in made.html
    assert "Views were not shuffled" in made.html


def test_a_view_that_no_row_has_is_not_judged(iris, fitted):
    X, y = iris[0][75:].copy(), iris[1][75:]
    X[:, :2] = np.nan
    found = FitReport(fitted, X, y).summary
    assert found["views"]["records"][0]["lost"] is None
    assert found["views"]["records"][1]["lost"] > 0.2
    assert not any("hardly changes" in text for text in found["words"]["views"])
    assert "The view “sepal” is missing in every row." in [caution["text"] for caution in found["words"]["careful"]]


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    "model",
    [
        IndependentBoostClassifier(views=VIEWS, n_estimators=5),
        ShareBoostClassifier(views=VIEWS, n_estimators=5, view_policy="exp3p", random_state=0),
        ShareBoostClassifier(n_estimators=5),
        ViewVotingClassifier(SVC(), views=VIEWS),
        ViewStackingClassifier(SVC(), views=VIEWS, random_state=0),
        ConcatenatedClassifier(SVC(), views=VIEWS),
        MKLClassifier(views=VIEWS),
        TomographicClassifier(views=VIEWS, random_state=0),
        AugmentedKernelClassifier(views=VIEWS),
        make_pipeline(StandardScaler(), ShareBoostClassifier(views=VIEWS, n_estimators=5)),
        GridSearchCV(ShareBoostClassifier(views=VIEWS, n_estimators=5), {"learning_rate": [0.5, 1.0]}, cv=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_kind_of_model_has_a_report(model, iris):
    X, y = iris
    model = clone(model).fit(X[:75], y[:75])
    for labels in (y[75:], None):
        made = FitReport(model, X[75:], labels)
        assert made.html.endswith("</html>")
        json.dumps(made.summary, allow_nan=False)
        if labels is not None:
            assert made.summary["quality"]["score"] == pytest.approx(np.mean(model.predict(X[75:]) == labels))


def test_many_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 12))
    Y = (X[:, :3] > 0.3).astype(int)
    model = MSSBoostClassifier(views={"a": slice(0, 6), "b": slice(6, 12)}, n_estimators=10, feature_ratio=0.5)
    model.set_params(random_state=0).fit(X[:100], Y[:100])
    made = FitReport(model, X[100:], Y[100:])
    assert made.summary["quality"]["score"] > made.summary["quality"]["baseline"]
    assert [one["rows"] for one in made.summary["labels"]] == Y[100:].sum(axis=0).tolist()
    assert made.summary["confusion"] is None
    assert "Average precision" in made.html
    assert any("several labels" in reason for reason in made.summary["left_out"])
    with pytest.raises(ValueError, match=r"of shape \(100, 3\); got shape \(100,\)"):
        FitReport(model, X[100:], Y[100:, 0])


def test_a_leaderboard_from_a_comparison(iris, fitted):
    X, y = iris
    comparison = fuselearn.compare(X, y, views=VIEWS, methods=["shareboost", "view:sepal"], runs=2, random_state=0)
    made = FitReport(fitted, X[75:], y[75:], comparison=comparison)
    board = made.summary["leaderboard"]
    assert [row[0] for row in board["rows"]] == comparison.methods
    assert board["score"] == "accuracy"
    for other in (comparison.summary, comparison.table, comparison.summary.records()):
        assert FitReport(fitted, X[75:], y[75:], comparison=other).summary["leaderboard"]["rows"] == board["rows"]
    assert "Of 2 methods compared" in made.html


def test_the_arms_of_a_model_are_a_leaderboard(iris):
    X, y = iris
    fitted = ShareBoostClassifier(views=VIEWS, n_estimators=5).fit(X[:75], y[:75])
    fitted.leaderboard_ = [
        {"arm": 0, "view": "sepal", "learner": "stump", "score": 0.7, "weight": 0.2, "fits": 5},
        {"arm": 1, "view": "petal", "learner": "tree", "score": 0.9, "weight": 0.8, "fits": 5},
    ]
    made = FitReport(fitted, X[75:], y[75:])
    assert made.summary["leaderboard"]["of"] == "arms"
    assert made.summary["leaderboard"]["rows"][0][1] == "petal"
    assert "petal · tree" in made.html
