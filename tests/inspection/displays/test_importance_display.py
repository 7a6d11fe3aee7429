"""Bars of the importance of views."""

import importlib.util
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from fuselearn.inspection import ViewImportanceDisplay, view_importance
from tests.inspection.displays.drawn_pictures import rendered, texts_outside


def test_importance_bars_have_the_means(iris, concatenated):
    model = concatenated
    found = view_importance(model, *iris[2:], method="permutation", random_state=0)
    display = rendered(ViewImportanceDisplay.from_estimator(model, *iris[2:], methods="permutation", random_state=0))
    order = np.argsort(-found.mean)
    np.testing.assert_allclose([bar.get_width() for bar in display.bars_["permutation"]], found.mean[order])
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names == [found.view_names[view] for view in order] == ["petal", "sepal"]
    [whiskers] = [lines for lines in display.ax_.collections if len(lines.get_segments()) == 2]
    lengths = [np.ptp(segment[:, 0]) for segment in whiskers.get_segments()]
    np.testing.assert_allclose(lengths, 2 * found.std[order])


def test_several_methods_stand_side_by_side(boosted, iris):
    display = rendered(ViewImportanceDisplay.from_estimator(boosted, *iris[2:], methods=["share", "drop"]))
    assert list(display.bars_) == ["share", "drop"]
    drop = view_importance(boosted, *iris[2:], method="drop").mean
    np.testing.assert_allclose([bar.get_width() for bar in display.bars_["drop"]], drop[display.order_])
    hatches = {method: bars[0].get_hatch() for method, bars in display.bars_.items()}
    assert hatches["share"] != hatches["drop"]
    assert len(display.ax_.get_legend().get_texts()) == 2
    boxes = [bar.get_bbox() for bars in display.bars_.values() for bar in bars]
    spans = sorted((box.y0, box.y1) for box in boxes)
    assert all(before[1] <= after[0] + 1e-9 for before, after in pairwise(spans))


def test_fifty_views_are_readable():
    rng = np.random.default_rng(0)
    names = [f"methylation_of_chromosome_arm_{number}" for number in range(50)]
    display = rendered(ViewImportanceDisplay(view_names=names, means={"share": rng.random(50)}).plot())
    boxes = [label.get_window_extent() for label in display.ax_.get_yticklabels()]
    assert all(upper.y0 >= lower.y1 - 2 for upper, lower in pairwise(boxes))
    assert display.figure_.get_size_inches()[1] <= 7.5
    assert texts_outside(display) == []


@pytest.mark.long
def test_example_finds_the_view_of_pure_noise(tmp_path, capsys):
    path = Path(__file__).parents[3] / "examples" / "inspect_views.py"
    spec = importlib.util.spec_from_file_location("inspect_views", path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    model, worth, alike = example.main(["--rounds", "40", "--folder", str(tmp_path / "figures")])
    assert "Accuracy on digits held out: 0.9" in capsys.readouterr().out
    assert model.view_names_[-1] == "noise"
    for method in ("drop", "permutation"):
        assert worth[method].mean.argmin() == 4
        assert abs(worth[method].mean[4]) < 0.02
    assert {alike["first"], alike["second"]} == {"pixels", "profiles"}
    files = sorted((tmp_path / "figures").iterdir())
    assert [file.name for file in files] == ["view_importance.png", "view_selection.png"]
    assert all(10_000 < file.stat().st_size < 200_000 for file in files)
