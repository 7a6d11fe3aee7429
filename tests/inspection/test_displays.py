"""Pictures show the numbers they are given, in any size, and leave nothing behind."""

import builtins
import importlib.util
import inspect
import io
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import fuselearn
from fuselearn import (
    ConcatenatedClassifier,
    FusionClassifier,
    IndependentBoostClassifier,
    MSSBoostClassifier,
    ShareBoostClassifier,
    TomographicClassifier,
    compare,
    stack_unpaired,
)
from fuselearn.inspection import (
    CorrespondenceDisplay,
    LabelSharingDisplay,
    LeaderboardDisplay,
    MarginDisplay,
    SampleWeightDisplay,
    StagedScoreDisplay,
    ViewImportanceDisplay,
    ViewSelectionDisplay,
    margin_distribution,
    view_importance,
)
from fuselearn.inspection.displays import style

VIEWS = {"sepal": [0, 1], "petal": [2, 3]}
DISPLAYS = {
    "selection": ViewSelectionDisplay(winners=[0, 1, 1], names=["a", "b"], probabilities=np.full((3, 2), 0.5)),
    "importance": ViewImportanceDisplay(view_names=["a", "b"], means={"share": [0.3, 0.7], "drop": [0.1, -0.1]}),
    "staged": StagedScoreDisplay(scores={"a": [0.5, 0.6], "b": [0.7, 0.8]}),
    "weights": SampleWeightDisplay(weights=np.full((3, 4), 0.25), wrong=[True, False, False, False]),
    "many weights": SampleWeightDisplay(weights=np.full((3, 100), 0.01)),
    "margins": MarginDisplay(margins={"a": [-0.5, 0.5]}),
    "sharing": LabelSharingDisplay(weights=[[1.0, -1.0]], label_names=["a", "b"], source_labels=[1]),
    "leaderboard": LeaderboardDisplay(methods=["a", "view:b"], scores=[0.5, 0.6], lows=[0.4, 0.5], highs=[0.6, 0.7]),
    "correspondence": CorrespondenceDisplay(
        view_names=["a", "b"], objects=[[0, 1], [2]], meta_objects=[[0, 2], [1, 2]], meta_labels=[0, 1]
    ),
}


@pytest.fixture(autouse=True)
def _no_figure_stays():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::2], y[::2], X[1::2], y[1::2]


@pytest.fixture(scope="module")
def boosted(iris):
    return ShareBoostClassifier("stump", views=VIEWS, n_estimators=20).fit(*iris[:2])


@pytest.fixture(scope="module")
def drawn(iris):
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=20, view_policy="exp3p", random_state=0)
    return model.fit(*iris[:2])


def rendered(display):
    """Draw it; warnings of missing room or glyphs are errors here."""
    display.figure_.canvas.draw()
    return display


def texts_outside(display):
    """Texts that the edge of the figure cuts."""
    figure = display.figure_
    renderer = figure.canvas.get_renderer()
    width, height = figure.canvas.get_width_height()
    found = []
    for axes in figure.axes:
        texts = [axes.xaxis.label, axes.yaxis.label, *axes.texts]
        for axis in (axes.xaxis, axes.yaxis):
            # Ticks are made beyond the limits too, but not drawn.
            low, high = sorted(axis.get_view_interval())
            texts += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
        texts += axes.get_legend().get_texts() if axes.get_legend() else []
        for text in texts:
            box = text.get_window_extent(renderer)
            if text.get_text() and text.get_visible() and box.width:
                inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1
                found += [] if inside else [text.get_text()]
    return found


# What all have in common


@pytest.mark.parametrize("name", DISPLAYS)
def test_given_axes_are_drawn_into(name):
    figure, (left, right) = plt.subplots(1, 2)
    display = DISPLAYS[name].plot(left)
    assert display.ax_ is left
    assert display.figure_ is figure
    assert left.has_data()
    assert not right.has_data()
    assert plt.get_fignums() == [figure.number]
    rendered(display)


@pytest.mark.parametrize("name", DISPLAYS)
def test_a_figure_is_made_where_none_is_given(name):
    display = DISPLAYS[name].plot()
    assert len(plt.get_fignums()) == 1
    assert display.figure_.get_size_inches()[0] == pytest.approx(style.COLUMN_WIDTH)
    assert texts_outside(rendered(display)) == []
    assert DISPLAYS[name].plot() is display
    assert len(plt.get_fignums()) == 2


@pytest.mark.parametrize("name", DISPLAYS)
def test_settings_of_the_user_stay(name):
    with plt.rc_context({"font.size": 11, "figure.dpi": 77, "axes.linewidth": 2}):
        before = dict(matplotlib.rcParams)
        DISPLAYS[name].plot()
        assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("name", DISPLAYS)
def test_pictures_are_small_files(name):
    file = io.BytesIO()
    DISPLAYS[name].plot().figure_.savefig(file, format="svg")
    assert len(file.getvalue()) < 200_000


def test_only_one_axes_is_taken():
    with pytest.raises(TypeError, match="ax must be one matplotlib Axes or None; got ndarray"):
        DISPLAYS["margins"].plot(plt.subplots(1, 2)[1])


@pytest.mark.parametrize("name", DISPLAYS)
def test_without_matplotlib_the_extra_is_named(name, monkeypatch):
    real = builtins.__import__

    def refusing(module, *arguments, **settings):
        if module.split(".")[0] == "matplotlib":
            raise ImportError("No module named 'matplotlib'")
        return real(module, *arguments, **settings)

    monkeypatch.setattr(builtins, "__import__", refusing)
    with pytest.raises(ImportError, match=r"pip install 'fuselearn\[app\]'"):
        DISPLAYS[name].plot()


def test_matplotlib_is_imported_when_it_is_needed():
    code = "import sys, fuselearn.inspection; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_display_follows_the_convention():
    names = [name for name in fuselearn.inspection.__all__ if name.endswith("Display")]
    assert len(names) == 8
    for name in names:
        kind = getattr(fuselearn.inspection, name)
        arguments = list(inspect.signature(kind.__init__).parameters.values())[1:]
        assert all(argument.kind is argument.KEYWORD_ONLY for argument in arguments)
        assert next(iter(inspect.signature(kind.plot).parameters)) == "self"
        assert inspect.signature(kind.plot).parameters["ax"].default is None
        assert callable(kind.from_estimator)


# Style


def luminance(colour):
    red, green, blue = matplotlib.colors.to_rgb(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_colours_are_dark_enough_for_paper():
    assert len(set(style.PALETTE)) == len(style.PALETTE)
    assert all(luminance(colour) < 0.75 for colour in style.PALETTE)


def test_series_differ_without_colour():
    looks = [style.line_style(number) for number in range(49)]
    assert len({(look["color"], str(look["linestyle"])) for look in looks}) == 49
    shapes = [(str(look["linestyle"]), look["marker"]) for look in looks[:7]]
    assert len(set(shapes)) == 7


def test_names_are_short_distinct_and_literal():
    assert style.shown("rna") == "rna"
    assert style.shown("a\nb") == "a b"
    assert len(style.shown("x" * 100)) <= 25
    assert style.shown("$x$") == r"\$x\$"
    assert style.shown("_hidden").strip() == "_hidden"
    names = [f"{'x' * 30}{number}{'y' * 30}" for number in range(3)]
    assert len(set(style.names_shown(names))) == 3


NASTY = ["$x_{", "_private", "<b>&amp;", "a\nb", "", "%s {0} \\frac", "x" * 300]


def test_any_name_can_be_drawn():
    n = len(NASTY)
    for display in (
        ViewSelectionDisplay(winners=range(n), names=NASTY),
        ViewImportanceDisplay(view_names=NASTY, means={"share": np.ones(n)}),
        StagedScoreDisplay(scores={name: [0.1, 0.2] for name in NASTY}),
        MarginDisplay(margins={name: [0.1] for name in NASTY}),
        LabelSharingDisplay(weights=np.eye(n), label_names=NASTY),
        LeaderboardDisplay(methods=NASTY, scores=range(n), score_name="$x_{"),
        CorrespondenceDisplay(
            view_names=NASTY[:2], objects=[[0], [0]], meta_objects=np.zeros((n, 2)), meta_labels=NASTY
        ),
        SampleWeightDisplay(weights=np.full((2, n), 1 / n), row_names=NASTY),
    ):
        rendered(display.plot())
    legend = StagedScoreDisplay(scores={name: [0.1] for name in NASTY}).plot().ax_.get_legend()
    assert len(legend.get_texts()) == n


# Which view won when


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


@pytest.mark.parametrize(("n_views", "n_rounds"), [(1, 1), (2, 1), (4, 1000), (50, 1000)])
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


# What a view is worth


def test_importance_bars_have_the_means(iris):
    model = ConcatenatedClassifier(LogisticRegression(), views=VIEWS).fit(*iris[:2])
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


# Score against the number of models


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


# Weights of rows


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
    assert "label wrong: 2 rows, at last" in display.ax_.get_legend().get_texts()[1].get_text()
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


def test_sixty_rows_and_a_thousand_rounds_make_a_small_file():
    rng = np.random.default_rng(0)
    display = SampleWeightDisplay(weights=rng.dirichlet(np.ones(60), 1001), wrong=rng.random(60) < 0.3).plot()
    assert texts_outside(rendered(display)) == []
    file = io.BytesIO()
    display.figure_.savefig(file, format="svg")
    assert len(file.getvalue()) < 1_000_000


# Margins


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


def test_margins_of_models_without_rounds(iris, boosted):
    model = ConcatenatedClassifier(LogisticRegression(), views=VIEWS).fit(*iris[:2])
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


# Labels and base models


def test_sharing_shows_weights_and_sources():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    Y = (X[:, :3] > 0).astype(int)
    names = ["road", "sky", "car"]
    model = MSSBoostClassifier(LogisticRegression(), n_estimators=9, feature_ratio=0.5, random_state=0)
    model.fit(X, pd.DataFrame(Y, columns=names))
    display = rendered(LabelSharingDisplay.from_estimator(model, max_models=7))
    np.testing.assert_array_equal(display.image_.get_array(), model.label_weights_[:7].T)
    assert display.image_.norm.vmin == -display.image_.norm.vmax
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == names
    centres = [path.vertices[:4].mean(axis=0) for path in display.frames_.get_paths()]
    np.testing.assert_allclose(centres, np.column_stack([np.arange(1, 8), model.source_labels_[:7]]))
    assert display.ax_.get_xlabel() == "first 7 base models"
    served = (model.label_weights_ != 0).sum(axis=1)
    assert display.shared == pytest.approx((served > 1).sum() / (served > 0).sum())


def test_fifty_labels_and_many_models():
    rng = np.random.default_rng(0)
    display = LabelSharingDisplay(
        weights=rng.normal(size=(300, 50)),
        label_names=[f"concept of television news {number}" for number in range(50)],
        source_labels=rng.integers(0, 50, 300),
    ).plot(max_models=300)
    assert texts_outside(rendered(display)) == []
    file = io.BytesIO()
    display.figure_.savefig(file, format="svg")
    assert len(file.getvalue()) < 1_000_000


# Leaderboard


@pytest.fixture(scope="module")
def comparison(iris):
    methods = ["shareboost", "svm_sum", "view:petal", "view:sepal"]
    return compare(*iris[:2], views=VIEWS, methods=methods, runs=3, random_state=0)


def test_leaderboard_of_a_comparison(comparison):
    display = rendered(LeaderboardDisplay.from_comparison(comparison))
    table = comparison.summary
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names == [style.shown(name) for name in comparison.methods]
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
    board = board[board["score"].notna()]
    assert 2 <= len(board) < 6  # arms that were not fitted have no score
    shown = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert shown[0] == f"{board['view'].iloc[0]} · {board['learner'].iloc[0]}"
    assert len(shown) == len(board)
    np.testing.assert_array_equal(display.scores, board["score"])
    assert display.ax_.get_xlabel() == "balanced accuracy"


# Meta-objects


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
        assert np.ptp(sizes) > 5
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


# The example


def test_example_finds_the_view_of_pure_noise(tmp_path, capsys):
    path = Path(__file__).parents[2] / "examples" / "inspect_views.py"
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


# Errors


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ViewSelectionDisplay(winners=[], names=["a"]), "winners must hold the winner of at least one round"),
        (lambda: ViewSelectionDisplay(winners=[2], names=["a"]), "winners must be numbers from 0 to 0"),
        (
            lambda: ViewSelectionDisplay(winners=[0], names=["a"], probabilities=[[1, 2]]),
            r"probabilities must have shape \(n_rounds, n_lanes\) = \(1, 1\)",
        ),
        (lambda: ViewImportanceDisplay(view_names=["a"], means={}), "means is empty"),
        (lambda: ViewImportanceDisplay(view_names=["a"], means={"share": [1, 2]}), r"means\['share'\] must have"),
        (lambda: ViewImportanceDisplay.from_results(), "importances is empty"),
        (lambda: StagedScoreDisplay(scores={}), "scores is empty"),
        (lambda: StagedScoreDisplay(scores={"a": []}), r"scores\['a'\] must have shape"),
        (lambda: StagedScoreDisplay(scores={"a": [1]}, train_scores={"b": [1]}), "train_scores names 'b'"),
        (lambda: SampleWeightDisplay(weights=[1.0]), r"weights must have shape"),
        (lambda: DISPLAYS["weights"].plot(kind="pie"), "kind must be one of"),
        (lambda: SampleWeightDisplay(weights=[[0.5, 0.5]], wrong=[1, 0]), "wrong must be True or False for each"),
        (lambda: SampleWeightDisplay(weights=[[0.5, 0.5]], rounds=[0, 1]), "rounds must be 1 ascending numbers"),
        (lambda: SampleWeightDisplay(weights=[[0.5, 0.5]], row_names=["a"]), "row_names must name each of the 2 rows"),
        (lambda: MarginDisplay(margins={"a": [2.0]}), r"margins\['a'\] must be in \[-1, 1\]; got up to 2"),
        (lambda: MarginDisplay(margins={"a": [np.nan]}), r"margins\['a'\] must be in \[-1, 1\]"),
        (lambda: LabelSharingDisplay(weights=[[1.0]], label_names=["a", "b"]), "weights must have shape"),
        (lambda: DISPLAYS["sharing"].plot(max_models=0), "max_models must be an integer of at least 1"),
        (lambda: LeaderboardDisplay(methods=[], scores=[]), "methods is empty"),
        (lambda: LeaderboardDisplay(methods=["a"], scores=[None]), "scores is NaN for 'a'"),
        (lambda: LeaderboardDisplay.from_results([{"name": "a"}]), "records must have 'method'; got"),
        (lambda: LeaderboardDisplay.from_comparison({}), "dict has no summary"),
        (lambda: DISPLAYS["correspondence"].plot(kind="distances"), "needs distances, which were not given"),
    ],
)
def test_what_cannot_be_drawn_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
    assert plt.get_fignums() == []


@pytest.mark.parametrize(
    ("display", "lack"),
    [
        (lambda model, X, y: ViewSelectionDisplay.from_estimator(model), "winning_arms_"),
        (lambda model, X, y: ViewImportanceDisplay.from_estimator(model), "view_importances_"),
        (StagedScoreDisplay.from_estimator, "staged_predict"),
        (SampleWeightDisplay.from_estimator, "staged_sample_weights"),
        (lambda model, X, y: LabelSharingDisplay.from_estimator(model), "label_weights_"),
        (lambda model, X, y: LeaderboardDisplay.from_estimator(model), "leaderboard_"),
        (lambda model, X, y: CorrespondenceDisplay.from_estimator(model, X), "meta_objects_"),
    ],
)
def test_what_a_model_lacks_is_named(display, lack, iris):
    model = ConcatenatedClassifier(LogisticRegression(), views=VIEWS).fit(*iris[:2])
    with pytest.raises(ValueError, match=f"ConcatenatedClassifier has no {lack}; "):
        display(model, *iris[2:])
    assert plt.get_fignums() == []
