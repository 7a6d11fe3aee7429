"""Lanes of which view won each round."""

import io
from itertools import pairwise

import numpy as np
import pytest

from fuselearn import ShareBoostClassifier
from fuselearn.inspection import ViewSelectionDisplay
from tests.inspection.displays.drawn_pictures import VIEWS, rendered, texts_outside


def test_selection_bars_are_the_rounds_won(boosted):
    display = rendered(ViewSelectionDisplay.from_estimator(boosted))
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["sepal", "petal"]
    for lane, bars in enumerate(display.bars_):
        won = set()
        for path in bars.get_paths():
            low, high = path.vertices[:, 0].min(), path.vertices[:, 0].max()
            won |= set(np.arange(low + 0.5, high).tolist())
            assert lane - 0.5 < path.vertices[:, 1].min() < path.vertices[:, 1].max() < lane + 0.5
        assert won == set(np.flatnonzero(boosted.winning_views_ == lane) + 1.0)
    assert display.areas_ == []
    shown = [text.get_text() for text in display.ax_.texts]
    assert f"{np.mean(boosted.winning_views_ == 0):.0%}" in shown


def test_selection_areas_are_probabilities(drawn):
    display = rendered(ViewSelectionDisplay.from_estimator(drawn))
    chances = drawn.arm_probabilities_
    np.testing.assert_array_equal(display.probabilities, chances)
    assert len(display.areas_) == 2
    for lane, area in enumerate(display.areas_):
        [path] = area.get_paths()
        heights = lane + 0.06 - path.vertices[:, 1]
        assert heights.max() == pytest.approx(0.5 * chances[:, lane].max() / chances.max())
    assert f"up to {chances.max():.2f}" in display.ax_.get_title("left")


def test_arms_are_lanes_where_views_have_several_learners(iris):
    model = ShareBoostClassifier(["stump", "gaussian_nb"], views=VIEWS, n_estimators=8).fit(*iris[:2])
    display = ViewSelectionDisplay.from_estimator(model)
    assert display.names == ["sepal, Stump", "sepal, GaussianNB", "petal, Stump", "petal, GaussianNB"]
    np.testing.assert_array_equal(display.shares, np.bincount(model.winning_arms_, minlength=4) / model.n_iter_)


@pytest.mark.long
@pytest.mark.parametrize(("n_views", "n_rounds"), [(1, 1), (2, 1), (4, 1000), (50, 300)])
def test_selection_of_any_size(n_views, n_rounds):
    rng = np.random.default_rng(0)
    display = ViewSelectionDisplay(
        winners=rng.integers(0, n_views, n_rounds),
        names=[f"a view with a rather long name, number {number}" for number in range(n_views)],
        probabilities=rng.dirichlet(np.ones(n_views), n_rounds),
    ).plot()
    assert texts_outside(rendered(display)) == []
    ticks = [label.get_window_extent() for label in display.ax_.get_yticklabels()]
    assert all(upper.y0 >= lower.y1 - 2 for upper, lower in pairwise(ticks))
    file = io.BytesIO()
    display.figure_.savefig(file, format="svg")
    assert len(file.getvalue()) < 2_000_000
