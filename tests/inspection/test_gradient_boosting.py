"""What inspection says about gradient boosting, and what it refuses."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score

from fuselearn import ShareGradientBoostingClassifier, ShareGradientBoostingRegressor
from fuselearn.inspection import (
    MarginDisplay,
    SampleWeightDisplay,
    StagedScoreDisplay,
    ViewImportanceDisplay,
    ViewSelectionDisplay,
    margin_distribution,
    missingness,
    redundancy,
    suspects,
    view_importance,
)
from tests.inspection.example_models import VIEWS, make_rows

SETTINGS = {"views": VIEWS, "n_estimators": 12, "min_samples_leaf": 5, "random_state": 0}
TREES = ("joint", "per_view")


@pytest.fixture(scope="module", params=TREES)
def boosted(request, rows):
    X, y = rows
    return ShareGradientBoostingClassifier(trees=request.param, **SETTINGS).fit(X[:120], y[:120])


@pytest.fixture(scope="module")
def per_view(rows):
    X, y = rows
    return ShareGradientBoostingClassifier(trees="per_view", **SETTINGS).fit(X[:120], y[:120])


@pytest.fixture(scope="module")
def numbers():
    """Rows of a number that the first view tells, and a model of the first half."""
    X, _ = make_rows(300)
    target = 3 * X[:, 0] + X[:, 1]
    model = ShareGradientBoostingRegressor(trees="per_view", **{**SETTINGS, "n_estimators": 40})
    return X, target, model.fit(X[:150], target[:150])


@pytest.fixture
def frame():
    """A frame with a categorical column that decides, and its classes."""
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], 200)
    table = pd.DataFrame(
        {"size": rng.normal(size=200), "colour": pd.Categorical(colour), "noise": rng.normal(size=200)}
    )
    return table, (colour == "red").astype(int)


def test_shares_of_views_are_those_of_the_gain(boosted):
    importance = view_importance(boosted)
    np.testing.assert_array_equal(importance.mean, boosted.view_importances_)
    assert importance.records()[0]["view"] == "signal"
    drawn = ViewImportanceDisplay.from_estimator(boosted)
    assert drawn.ax_.get_xlabel() == "share in the model"


def test_a_view_that_is_dropped_is_missed(boosted, rows):
    X, y = rows
    for method in ("drop", "permutation"):
        lost = view_importance(boosted, X[120:], y[120:], method=method, random_state=0)
        assert lost.records()[0]["view"] == "signal"
        assert lost.baseline == pytest.approx(boosted.score(X[120:], y[120:]))


def test_margins_are_differences_of_probabilities(boosted, rows):
    X, y = rows
    margins = margin_distribution(boosted, X[120:], y[120:])
    of_class = boosted.predict_proba(X[120:])[np.arange(120), y[120:]]
    np.testing.assert_allclose(margins, 2 * of_class - 1, atol=1e-12)
    drawn = MarginDisplay.from_estimator(boosted, X[120:], y[120:])
    assert list(drawn.margins)[-1] == "after round 12"
    np.testing.assert_allclose(drawn.margins["after round 12"], margins, atol=1e-12)
    with pytest.raises(ValueError, match="rounds must be at most 12"):
        MarginDisplay.from_estimator(boosted, X, y, rounds=[13])


def test_margins_of_three_classes_follow_the_staged_probabilities():
    X, y = make_rows(n_classes=3)
    model = ShareGradientBoostingClassifier(trees="per_view", **SETTINGS).fit(X[:120], y[:120])
    drawn = MarginDisplay.from_estimator(model, X[120:], y[120:], rounds=[3])
    staged = list(model.staged_predict_proba(X[120:]))[2]
    np.testing.assert_array_equal(drawn.margins["after round 3"] > 0, staged.argmax(axis=1) == y[120:])


def test_scores_after_each_round(boosted, rows):
    X, y = rows
    drawn = StagedScoreDisplay.from_estimator(boosted, X[120:], y[120:], X_train=X[:120], y_train=y[:120])
    [scores] = drawn.scores.values()
    assert scores.shape == (1, 12)
    assert scores[0, -1] == boosted.score(X[120:], y[120:])
    assert drawn.ax_.get_ylabel() == "accuracy"


def test_which_view_won_when(per_view):
    drawn = ViewSelectionDisplay.from_estimator(per_view)
    np.testing.assert_array_equal(drawn.winners, per_view.winning_views_)
    assert drawn.names == per_view.view_names_
    assert drawn.probabilities is None


def test_no_view_wins_a_round_of_joint_trees(rows):
    X, y = rows
    model = ShareGradientBoostingClassifier(**SETTINGS).fit(X[:120], y[:120])
    with pytest.raises(ValueError, match=r"joint trees, which read all views at once.*trees='per_view'"):
        ViewSelectionDisplay.from_estimator(model)


def test_there_are_no_weights_of_rows(boosted, rows):
    with pytest.raises(ValueError, match="ShareGradientBoostingClassifier has no staged_sample_weights; pass a fitted"):
        SampleWeightDisplay.from_estimator(boosted, *rows)


def test_a_wrong_label_is_suspect(boosted, rows):
    X, y = rows
    given = y[120:].copy()
    surest = int(np.argmax(margin_distribution(boosted, X[120:], given)))
    given[surest] = 1 - given[surest]
    assert suspects(boosted, X[120:], given, n=1)[0]["row"] == surest


def test_statistics_of_views(boosted, rows):
    assert missingness(boosted, rows[0]).n_rows == 240
    assert redundancy(boosted, rows[0]).matrix.shape == (3, 3)


def test_the_score_of_numbers_is_r2(numbers):
    X, target, model = numbers
    lost = view_importance(model, X[150:], target[150:], method="drop")
    assert lost.baseline == pytest.approx(r2_score(target[150:], model.predict(X[150:])))
    assert lost.records()[0]["view"] == "signal"
    drawn = StagedScoreDisplay.from_estimator(model, X[150:], target[150:])
    [scores] = drawn.scores.values()
    assert scores[0, -1] == pytest.approx(lost.baseline)
    assert drawn.ax_.get_ylabel() == "R²"
    assert len(ViewSelectionDisplay.from_estimator(model).winners) == 40


def test_what_is_of_classes_is_refused_for_numbers(numbers):
    X, target, model = numbers
    with pytest.raises(ValueError, match="ShareGradientBoostingRegressor has no predict_proba; suspects needs"):
        suspects(model, X, target)
    for function in (margin_distribution, MarginDisplay.from_estimator):
        with pytest.raises(ValueError, match="ShareGradientBoostingRegressor has no decision_function; margins need"):
            function(model, X, target)
    with pytest.raises(ValueError, match=r"y must have shape \(300,\)"):
        view_importance(model, X, target[:-1], method="drop")


def test_categories_of_a_frame(frame):
    table, y = frame
    views = {"form": ["size", "colour"], "other": ["noise"]}
    model = ShareGradientBoostingClassifier(views=views, n_estimators=10, random_state=0).fit(table[:100], y[:100])
    assert model.score(table[100:], y[100:]) == 1
    lost = view_importance(model, table[100:], y[100:], method="permutation", random_state=0)
    assert lost.baseline == 1
    assert lost.records()[0]["view"] == "form"
    assert (margin_distribution(model, table[100:], y[100:]) > 0).all()
    drawn = StagedScoreDisplay.from_estimator(model, table[100:], y[100:])
    assert drawn.scores["ShareGradientBoostingClassifier"][0, -1] == 1
