"""Properties that all displays share: they draw into any axes, change no settings, and refuse what cannot be drawn."""

import builtins
import inspect
import io
import subprocess
import sys

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import fuselearn
from fuselearn.inspection import (
    CorrespondenceDisplay,
    ExplanationDisplay,
    LabelSharingDisplay,
    LeaderboardDisplay,
    MarginDisplay,
    SampleWeightDisplay,
    StagedScoreDisplay,
    ViewImportanceDisplay,
    ViewSelectionDisplay,
)
from fuselearn.inspection.displays import style
from tests.inspection.displays.drawn_pictures import rendered, texts_outside

DISPLAYS = {
    "selection": ViewSelectionDisplay(winners=[0, 1, 1], names=["a", "b"], probabilities=np.full((3, 2), 0.5)),
    "importance": ViewImportanceDisplay(view_names=["a", "b"], means={"share": [0.3, 0.7], "drop": [0.1, -0.1]}),
    "staged": StagedScoreDisplay(scores={"a": [0.5, 0.6], "b": [0.7, 0.8]}),
    "weights": SampleWeightDisplay(weights=np.full((3, 4), 0.25), wrong=[True, False, False, False]),
    "many weights": SampleWeightDisplay(weights=np.full((3, 100), 0.01)),
    "margins": MarginDisplay(margins={"a": [-0.5, 0.5]}),
    "sharing": LabelSharingDisplay(weights=[[1.0, -1.0]], label_names=["a", "b"], source_labels=[1]),
    "explanation": ExplanationDisplay(names=["a", "b", "c"], values=[0.3, -0.7, 0.1], base=0.2, n_largest=2),
    "leaderboard": LeaderboardDisplay(methods=["a", "view:b"], scores=[0.5, 0.6], lows=[0.4, 0.5], highs=[0.6, 0.7]),
    "correspondence": CorrespondenceDisplay(
        view_names=["a", "b"], objects=[[0, 1], [2]], meta_objects=[[0, 2], [1, 2]], meta_labels=[0, 1]
    ),
}
NASTY = ["$x_{", "_private", "<b>&amp;", "a\nb", "", "%s {0} \\frac", "x" * 300]


@pytest.mark.thinned(3)
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


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
def test_matplotlib_is_imported_when_it_is_needed():
    code = "import sys, fuselearn.inspection; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_display_follows_the_convention():
    names = [name for name in fuselearn.inspection.__all__ if name.endswith("Display")]
    assert len(names) == 10
    for name in names:
        kind = getattr(fuselearn.inspection, name)
        arguments = list(inspect.signature(kind.__init__).parameters.values())[1:]
        assert all(argument.kind is argument.KEYWORD_ONLY for argument in arguments)
        assert next(iter(inspect.signature(kind.plot).parameters)) == "self"
        assert inspect.signature(kind.plot).parameters["ax"].default is None
        assert callable(kind.from_estimator)


@pytest.mark.long
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
        (lambda model, X, y: ViewSelectionDisplay.from_estimator(model), "winning_views_"),
        (lambda model, X, y: ViewImportanceDisplay.from_estimator(model), "view_importances_"),
        (StagedScoreDisplay.from_estimator, "staged_predict"),
        (SampleWeightDisplay.from_estimator, "staged_sample_weights"),
        (lambda model, X, y: LabelSharingDisplay.from_estimator(model), "label_weights_"),
        (lambda model, X, y: LeaderboardDisplay.from_estimator(model), "leaderboard_"),
        (lambda model, X, y: CorrespondenceDisplay.from_estimator(model, X), "meta_objects_"),
    ],
)
def test_what_a_model_lacks_is_named(display, lack, iris, concatenated):
    with pytest.raises(ValueError, match=f"ConcatenatedClassifier has no {lack}; "):
        display(concatenated, *iris[2:])
    assert plt.get_fignums() == []
