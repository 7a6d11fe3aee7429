"""Meta-objects of two unmatched views, and the distances that matched them."""

import numpy as np
import pytest

from fuselearn import TomographicClassifier, stack_unpaired
from fuselearn.inspection import CorrespondenceDisplay
from tests.inspection.displays.drawn_pictures import rendered


@pytest.fixture(scope="module")
def unmatched():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 12)
    points = rng.normal(size=(24, 2)) + 2 * (y == "b")[:, None]
    X, views, y = stack_unpaired({"first": (points[:, :1], y), "second": (points[::-1, 1:], y[::-1])})
    return X, TomographicClassifier(views=views, random_state=0).fit(X, y)


def test_meta_objects_in_the_plane(unmatched):
    X, model = unmatched
    display = rendered(CorrespondenceDisplay.from_estimator(model, X))
    for label in ("a", "b"):
        here = model.meta_labels_ == label
        first, second = model.meta_objects_[here].T
        offsets = np.asarray(display.points_[label].get_offsets())
        np.testing.assert_allclose(offsets, np.column_stack([X[first, 0], X[second, 1]]))
        sizes = display.points_[label].get_sizes()
        assert (np.diff(sizes[np.argsort(model.meta_weights_[here])]) >= -1e-9).all()
        assert np.ptp(sizes) > 2
    np.testing.assert_array_equal(display.ticks_[0].get_xdata(), X[:24, 0])
    np.testing.assert_array_equal(display.ticks_[1].get_ydata(), X[24:, 1])
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("first", "second")
    # The line is where the decision is 0.
    [contour] = [one for one in display.ax_.collections if type(one).__name__ == "QuadContourSet"]
    line = contour.get_paths()[0].vertices
    assert np.abs(model.decision_function(line)).max() < 0.02


def test_distances_that_were_matched_by(unmatched):
    X, model = unmatched
    display = rendered(CorrespondenceDisplay.from_estimator(model, X, kind="distances", label="b"))
    for number, line in enumerate(display.lines_):
        share, distances = line.get_data()
        np.testing.assert_array_equal(distances, display.distances[number])
        np.testing.assert_allclose(share, np.arange(1, 67) / 66)
    assert len(display.levels_.get_segments()) >= 2
    for (first, level), (second, _) in display.levels_.get_segments():
        assert np.mean(display.distances[0] <= level) == pytest.approx(first)
        assert np.mean(display.distances[1] <= level) == pytest.approx(second, abs=1 / 66)
    random = TomographicClassifier(views=model.views, correspondence="cartesian", random_state=0)
    random.fit(X, np.repeat(["a", "b", "b", "a"], 12))
    assert CorrespondenceDisplay.from_estimator(random, X, kind="distances").levels_ is None
