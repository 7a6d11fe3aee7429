"""Scores of methods, with intervals."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fuselearn import FusionClassifier, compare
from fuselearn.inspection import LeaderboardDisplay
from fuselearn.inspection.displays import style
from tests.inspection.displays.drawn_pictures import VIEWS, rendered


@pytest.fixture(scope="module")
def comparison(iris):
    methods = ["shareboost", "svm_sum", "view:petal", "view:sepal"]
    return compare(*iris[:2], views=VIEWS, methods=methods, runs=3, random_state=0)


def test_leaderboard_of_a_comparison(comparison):
    display = rendered(LeaderboardDisplay.from_comparison(comparison))
    table = comparison.summary
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names == [style.short_name(name) for name in comparison.methods]
    points = [point.get_data() for point in display.points_]
    np.testing.assert_allclose([x[0] for x, _ in points], table.column("accuracy"))
    np.testing.assert_array_equal([y[0] for _, y in points], range(4))
    segments = np.array(display.intervals_.get_segments())
    np.testing.assert_allclose(segments[:, 0, 0], table.column("low"))
    np.testing.assert_allclose(segments[:, 1, 0], table.column("high"))
    assert display.ax_.get_xlabel() == "accuracy"
    markers = {name: point.get_marker() for name, point in zip(comparison.methods, display.points_)}
    assert markers["view:petal"] != markers["shareboost"]


@pytest.mark.parametrize("frame", [list, pd.DataFrame, pl.DataFrame])
def test_leaderboard_of_records(frame):
    records = [{"method": "a", "score": 0.2}, {"method": "b", "score": 0.9}]
    display = LeaderboardDisplay.from_results(frame(records))
    assert [display.methods[place] for place in display.order_] == ["b", "a"]
    assert display.intervals_ is None


def test_leaderboard_of_arms(iris):
    X, y = iris[:2]
    model = FusionClassifier(views=VIEWS, learners=["linear", "trees"], max_fits=4, random_state=0).fit(X, y)
    display = LeaderboardDisplay.from_estimator(model)
    board = model.leaderboard_
    board = board[board["accuracy"].notna()]
    assert 2 <= len(board) < 6  # arms that were not fitted have no score
    shown = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert shown[0] == f"{board['view'].iloc[0]} · {board['learner'].iloc[0]}"
    assert len(shown) == len(board)
    np.testing.assert_array_equal(display.scores, board["accuracy"])
    assert display.ax_.get_xlabel() == "accuracy"
