"""The report of gradient boosting: its rounds, losses, views and columns, and no word about votes."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from fuselearn import FitReport, ShareGradientBoostingClassifier, ShareGradientBoostingRegressor
from fuselearn.reporting.cautions import ended_early, rows_without_views
from fuselearn.reporting.model_summary import summarize_columns
from tests.reporting.plain_summary import sentence

VIEWS = {"rna": [0, 1], "age": [2, 3]}
SETTINGS = {"views": VIEWS, "n_estimators": 15, "random_state": 0}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 500)
    X = rng.normal(size=(500, 4)) + np.array([1.5, 0, 0.7, 0]) * y[:, None]
    X[::7, :2] = np.nan
    return X, np.array(["bad", "fair", "good"])[y]


def fit(rows, **settings):
    X, y = rows
    return ShareGradientBoostingClassifier(**{**SETTINGS, **settings}).fit(X[:300], y[:300])


def page(model, rows, part=slice(300, None)):
    return FitReport(model, rows[0][part], rows[1][part])


def words_of(html):
    """Return what a reader sees of a page, without the numbers in JSON and the settings."""
    text = re.sub(r"<(script|style).*?</\1>", " ", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


@pytest.mark.parametrize("trees", ["joint", "per_view"])
def test_what_the_page_says_is_about_trees(rows, trees):
    made = page(fit(rows, trees=trees), rows)
    text = words_of(made.html)
    assert "15 rounds of gradient boosting added 45 trees." in text
    assert "Share of each view in the gain of all splits of the trees." in text
    assert "Mean log loss of the training rows; no rows were held out during the fit." in text
    for wrong in ("votes", "the vote", "Error of the winner", "weighted error", "kernel weights"):
        assert wrong not in text
    assert json.loads(json.dumps(made.summary, allow_nan=False))["rounds"]["n"] == 15


def test_joint_trees_have_no_winners(rows):
    made = page(fit(rows), rows)
    assert made.summary["rounds"]["joint"]
    assert "views" not in made.summary["rounds"]
    assert "Winning view" not in made.html
    assert "A tree may split on the columns of all views." in made.html


def test_winners_of_trees_per_view(rows):
    model = fit(rows, trees="per_view")
    rounds = page(model, rows).summary["rounds"]
    wins = {view["name"]: view["wins"] for view in rounds["views"]}
    assert wins == {name: int(np.sum(model.winning_views_ == number)) for number, name in enumerate(VIEWS)}
    assert sum(view["share"] for view in rounds["views"]) == pytest.approx(1)
    assert not rounds["drawn"]
    html = page(model, rows).html
    assert "the view whose trees lowered the loss most joined" in html
    assert "Winning view of each round" in html


def test_views_that_a_bandit_drew(rows):
    made = page(fit(rows, trees="per_view", view_policy="exp3p"), rows)
    assert made.summary["rounds"]["drawn"]
    assert "In each round a view was drawn, and its trees joined." in made.html


def test_losses_and_scores_after_each_round(rows):
    model = fit(rows, early_stopping=True, validation_fraction=0.2)
    made = page(model, rows)
    losses, staged = made.summary["rounds"]["losses"], made.summary["rounds"]["staged"]
    np.testing.assert_allclose(losses["training"], -model.train_score_)
    np.testing.assert_allclose(losses["held_out"], -model.validation_score_)
    assert losses["lowest_round"] == np.argmax(model.validation_score_)
    assert staged["last"] == pytest.approx(model.score(rows[0][300:], rows[1][300:]))
    assert "the rows that the fit held out, which is lowest after round" in made.html
    assert made.html.count('class="line second"') == 1


def test_a_fit_that_stopped_early_needs_no_caution(rows):
    model = fit(rows, early_stopping=True, validation_fraction=0.3, n_estimators=200, n_iter_no_change=3)
    assert model.n_iter_ < 200
    made = page(model, rows)
    assert made.summary["rounds"]["stopped"]
    assert not any("ended after" in caution["text"] for caution in made.summary["words"]["careful"])
    assert "The fit ended when the loss on held-out rows had not fallen for 3 rounds." in made.html


def test_a_fit_that_ended_for_another_reason_is_a_caution():
    rounds = {"n": 7, "planned": 20, "ended_early": True, "stopped": False, "losses": {}}
    expected = "Boosting ended after 7 of 20 rounds: no tree could be split any further, or the fit was interrupted."
    assert sentence(ended_early, rounds=rounds) == expected
    assert sentence(ended_early, rounds={**rounds, "stopped": True}) is None
    assert "no view was better than chance" in sentence(
        ended_early, rounds={"n": 7, "planned": 20, "ended_early": True}
    )


def test_rows_without_views_go_where_missing_values_go():
    assert "frequencies of the classes" in sentence(rows_without_views, missingness__empty_rows=2)
    joint = sentence(rows_without_views, missingness__empty_rows=2, rounds={"joint": True})
    expected = "their predictions rest on the sides of the splits that missing values go to."
    assert joint == f"2 rows have no view at all; {expected}"


def test_columns_by_their_share_of_the_gain(rows):
    model = fit(rows)
    columns = page(model, rows).summary["columns"]
    assert columns["records"][0] == {
        "name": "column 0",
        "views": ["rna"],
        "share": pytest.approx(model.feature_importances_[0]),
    }
    added = summarize_columns(model, ["a", "b", "b", "c"])
    shares = {record["name"]: record["share"] for record in added["records"]}
    assert shares["b"] == pytest.approx(model.feature_importances_[1:3].sum())
    assert next(record["views"] for record in added["records"] if record["name"] == "b") == ["rna", "age"]


def test_columns_of_a_frame_have_their_names_and_categories_work():
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green"], 300)
    table = pd.DataFrame(
        {"size": rng.normal(size=300), "colour": pd.Categorical(colour), "weight": rng.normal(size=300)}
    )
    y = np.where((colour == "red") ^ (rng.random(300) < 0.1), "yes", "no")
    views = {"form": ["size", "colour"], "other": ["weight"]}
    model = ShareGradientBoostingClassifier(views=views, n_estimators=10).fit(table[:150], y[:150])
    summary = FitReport(model, table[150:], y[150:]).summary
    assert summary["columns"]["records"][0]["name"] == "colour"
    assert summary["views"]["records"][0]["lost"] > 0.2


@pytest.mark.parametrize("settings", [{}, {"class_weight": "balanced"}, {"early_stopping": True}], ids=str)
def test_training_rows_are_recognised_by_their_loss(rows, settings):
    model = fit(rows, **settings)
    assert page(model, rows, slice(0, 300)).summary["training"]["likeness"] == "same"
    assert page(model, rows, slice(200, 500)).summary["training"]["likeness"] == "alike"
    assert page(model, rows).summary["training"]["likeness"] is None


def test_a_model_without_rounds_has_a_report(rows):
    with pytest.warns(UserWarning, match="no tree can be split"):
        model = fit(rows, min_samples_leaf=200)
    summary = page(model, rows).summary
    assert summary["rounds"] is None
    assert summary["columns"] is None
    assert any("learnt nothing in its first round" in reason for reason in summary["left_out"])


def test_a_regressor_has_no_report(rows):
    X, _ = rows
    model = ShareGradientBoostingRegressor(**SETTINGS).fit(X, np.arange(500.0))
    with pytest.raises(
        TypeError, match="a report is about classes, and ShareGradientBoostingRegressor predicts numbers"
    ):
        FitReport(model, X)
