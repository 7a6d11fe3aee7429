"""Scores against the number of models."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fuselearn import MSSBoostClassifier
from fuselearn.inspection import StagedScoreDisplay
from tests.inspection.displays.drawn_pictures import rendered, texts_outside


def test_staged_lines_are_the_scores(boosted, iris):
    X, y, X_test, y_test = iris
    display = StagedScoreDisplay.from_estimator(boosted, X_test, y_test, X_train=X, y_train=y, name="mine")
    expected = [np.mean(predicted == y_test) for predicted in boosted.staged_predict(X_test)]
    np.testing.assert_allclose(display.lines_["mine"].get_ydata(), expected)
    np.testing.assert_array_equal(display.lines_["mine"].get_xdata(), range(1, boosted.n_iter_ + 1))
    on_train = [np.mean(predicted == y) for predicted in boosted.staged_predict(X)]
    np.testing.assert_allclose(display.train_lines_["mine"].get_ydata(), on_train)
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["mine, test", "mine, train"]
    rendered(display)


def test_staged_scores_of_several_runs():
    runs = [[0.5, 0.6, 0.8], [0.7, 0.8]]
    display = StagedScoreDisplay.from_results({"a": runs, "b": [[0.9]]})
    np.testing.assert_allclose(display.lines_["a"].get_ydata(), [0.6, 0.7, 0.8])
    assert set(display.bands_) == {"a"}
    band = display.bands_["a"].get_paths()[0].vertices
    error = 2 * np.std([0.5, 0.7], ddof=1) / np.sqrt(2)
    at_first = band[band[:, 0] == 1, 1]
    assert at_first.min() == pytest.approx(0.6 - error)
    assert at_first.max() == pytest.approx(0.6 + error)
    np.testing.assert_array_equal(display.lines_["b"].get_xdata(), [1])
    assert display.lines_["b"].get_marker() not in ("", "None", None)  # one point is a mark, not a line


def test_staged_scores_of_several_labels_are_their_mean():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    Y = (X[:, :3] > 0).astype(int)
    model = MSSBoostClassifier(LogisticRegression(), n_estimators=6, feature_ratio=0.5, random_state=0).fit(X, Y)
    display = StagedScoreDisplay.from_estimator(model, X, Y)
    np.testing.assert_allclose(
        display.scores["MSSBoostClassifier"][0], [np.mean(predicted == Y) for predicted in model.staged_predict(X)]
    )
    wrong = StagedScoreDisplay.from_estimator(model, X, Y, metric=lambda y, predicted: np.mean(y != predicted))
    np.testing.assert_allclose(wrong.scores["MSSBoostClassifier"], 1 - display.scores["MSSBoostClassifier"])


def test_a_thousand_models_of_seven_methods():
    rng = np.random.default_rng(0)
    scores = {f"a method with a long name {number}": np.sort(rng.random((5, 1000))) for number in range(7)}
    display = StagedScoreDisplay(scores=scores).plot()
    assert texts_outside(rendered(display)) == []
    shapes = {(line.get_marker(), str(line.get_linestyle())) for line in display.lines_.values()}
    assert len({marker for marker, _ in shapes}) == 7
