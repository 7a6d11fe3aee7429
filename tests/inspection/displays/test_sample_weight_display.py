"""Weights of the training rows over the rounds."""

import io

import numpy as np
import pytest

from fuselearn import IndependentBoostClassifier, ShareBoostClassifier
from fuselearn.inspection import SampleWeightDisplay
from fuselearn.inspection.displays import style
from tests.inspection.displays.drawn_pictures import VIEWS, rendered, texts_outside


def test_weights_are_those_of_the_run(boosted, iris):
    X, y = iris[:2]
    wrong = np.zeros(len(y), dtype=bool)
    wrong[[3, 30]] = True
    display = SampleWeightDisplay.from_estimator(boosted, X, y, wrong=wrong)
    expected = np.array(list(boosted.staged_sample_weights(X, y)))
    np.testing.assert_array_equal(display.weights, expected)
    assert display.image_ is None
    for group, rows in (("wrong", wrong), ("other", ~wrong)):
        np.testing.assert_allclose(
            display.lines_[group].get_ydata(), np.median(expected[:, rows], axis=1) * len(y), atol=1e-12
        )
    assert "label wrong: 2 rows, " in display.ax_.get_legend().get_texts()[1].get_text()
    assert texts_outside(rendered(display)) == []


def test_few_rows_are_a_raster_with_wrong_rows_on_top(iris):
    X, y = iris[0][25:45], iris[1][25:45]
    y = np.where(np.arange(20) % 7 == 3, 3 - y, y)
    model = ShareBoostClassifier("linear", views=VIEWS, n_estimators=5).fit(X, y)
    wrong = np.arange(20) % 7 == 3
    display = rendered(SampleWeightDisplay.from_estimator(model, X, y, wrong=wrong))
    order = [*np.flatnonzero(wrong), *np.flatnonzero(~wrong)]
    weights = np.array(list(model.staged_sample_weights(X, y)))
    np.testing.assert_allclose(display.image_.get_array(), 20 * weights.T[order])
    labels = display.ax_.get_yticklabels()
    assert [label.get_text() for label in labels] == [str(row) for row in order]
    assert {label.get_color() for label in labels[:3]} == {style.VERMILLION}
    assert style.VERMILLION not in {label.get_color() for label in labels[3:]}


def test_weights_of_a_view_of_its_own(iris):
    model = IndependentBoostClassifier("stump", views=VIEWS, n_estimators=6).fit(*iris[:2])
    with pytest.raises(ValueError, match=r"Each view has weights of its own; choose one with view="):
        SampleWeightDisplay.from_estimator(model, *iris[:2])
    with pytest.raises(ValueError, match=r"view must be one of \['sepal', 'petal'\]; got 'leaf'"):
        SampleWeightDisplay.from_estimator(model, *iris[:2], view="leaf")
    display = SampleWeightDisplay.from_estimator(model, *iris[:2], view="petal")
    expected = [weights[:, 1] for weights in model.staged_sample_weights(*iris[:2])]
    np.testing.assert_array_equal(display.weights, expected)


def test_many_rounds_of_many_rows_are_thinned():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = (X.sum(axis=1) + rng.normal(size=2000) > 0).astype(int)
    model = ShareBoostClassifier("stump", n_estimators=300).fit(X, y)
    display = SampleWeightDisplay.from_estimator(model, X, y)
    assert display.rounds[0] == 0
    assert display.rounds[-1] == model.n_iter_ == 300
    assert len(display.rounds) == len(display.weights) == 250
    every = list(model.staged_sample_weights(X, y))
    np.testing.assert_array_equal(display.weights[17], every[display.rounds[17]])


@pytest.mark.long
def test_sixty_rows_and_a_thousand_rounds_make_a_small_file():
    rng = np.random.default_rng(0)
    display = SampleWeightDisplay(weights=rng.dirichlet(np.ones(60), 1001), wrong=rng.random(60) < 0.3).plot()
    assert texts_outside(rendered(display)) == []
    file = io.BytesIO()
    display.figure_.savefig(file, format="svg")
    assert len(file.getvalue()) < 1_000_000
