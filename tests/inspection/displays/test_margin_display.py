"""Cumulative distributions of margins."""

import numpy as np
import pytest

from fuselearn import ShareBoostClassifier
from fuselearn.inspection import MarginDisplay, margin_distribution
from tests.inspection.displays.drawn_pictures import VIEWS, rendered


def test_margin_curves_are_distributions(boosted, iris):
    display = rendered(MarginDisplay.from_estimator(boosted, *iris[2:], rounds=[1, boosted.n_iter_]))
    assert list(display.lines_) == ["after round 1", f"after round {boosted.n_iter_}"]
    margins = boosted.margins(*iris[2:])
    across, up = display.lines_[f"after round {boosted.n_iter_}"].get_data()
    np.testing.assert_allclose(across[1:-1], np.sort(margins), atol=1e-12)
    np.testing.assert_allclose(up[1:-1], np.arange(1, len(margins) + 1) / len(margins))
    assert (across[0], up[0], across[-1], up[-1]) == (-1, 0, 1, 1)
    assert display.share_wrong[f"after round {boosted.n_iter_}"] == np.mean(margins <= 0)


def test_rounds_are_chosen_from_the_first_to_the_last(boosted, iris):
    assert list(MarginDisplay.from_estimator(boosted, *iris[2:]).margins) == [
        "after round 1",
        "after round 3",
        "after round 7",
        "after round 20",
    ]
    one = ShareBoostClassifier("stump", views=VIEWS, n_estimators=1).fit(*iris[:2])
    assert list(MarginDisplay.from_estimator(one, *iris[2:]).margins) == ["after round 1"]


def test_margins_of_models_without_rounds(iris, boosted, concatenated):
    model = concatenated
    alone = MarginDisplay.from_estimator(model, *iris[2:])
    expected = margin_distribution(model, *iris[2:])
    np.testing.assert_array_equal(alone.margins["ConcatenatedClassifier"], expected)
    both = MarginDisplay.from_estimators({"boosted": boosted, "all": model}, *iris[2:])
    np.testing.assert_array_equal(both.margins["all"], expected)
    with pytest.raises(ValueError, match=r"ConcatenatedClassifier has no rounds"):
        MarginDisplay.from_estimator(model, *iris[2:], rounds=[1])


def test_many_margins_are_thinned_to_what_is_seen():
    values = np.sort(np.random.default_rng(0).uniform(-1, 1, 100_000))
    across, up = MarginDisplay(margins={"a": values}).plot().lines_["a"].get_data()
    assert len(across) == 1002
    for x, share in zip(across[1:-1:100], up[1:-1:100]):
        assert np.mean(values <= x) == pytest.approx(share)
