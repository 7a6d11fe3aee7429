"""The examples run, and show what they say they show."""

import ast
import importlib.util
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import RidgeClassifier

matplotlib.use("Agg")

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def iris():
    return load("iris_noisy_labels")


def test_flowers_have_the_wrong_labels_of_the_paper(iris):
    flowers = iris.draw_flowers(seed=0, number=3)
    assert flowers.X.shape == (20, 4)
    assert flowers.X_others.shape == (80, 4)
    np.testing.assert_array_equal(flowers.y, [0] * 10 + [1] * 10)
    wrong = flowers.view_labels != flowers.y[:, None]
    np.testing.assert_array_equal(np.flatnonzero(wrong[:, 0]) + 1, [3, 4, 9, 12, 14, 19])
    np.testing.assert_array_equal(np.flatnonzero(wrong[:, 1]) + 1, [5, 8, 9, 12, 16, 18])


def test_draws_are_repeatable_and_differ(iris):
    first, again, other = (iris.draw_flowers(0, number).X for number in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("number", range(8))
def test_ada_boost_of_the_example_is_that_of_scikit_learn(iris, number):
    flowers = iris.draw_flowers(0, number)
    ours, _ = iris.fit_ada_boost(flowers)
    labels = flowers.view_labels[:, 1]
    # A ridge of next to nothing: scikit-learn has no least-squares classifier of that name.
    theirs = AdaBoostClassifier(RidgeClassifier(alpha=1e-12), n_estimators=iris.N_ROUNDS).fit(flowers.X, labels)
    # Votes are the same up to the first error below 1/(2n), which ours take no smaller.
    n_rounds = np.argmax(np.append(ours.estimator_errors_ < 1 / (2 * len(labels)), True))
    assert n_rounds > 0
    # scikit-learn's votes are ln((1 - ε)/ε), those of the papers half of that.
    np.testing.assert_allclose(ours.estimator_weights_[:n_rounds], theirs.estimator_weights_[:n_rounds] / 2, rtol=1e-6)
    staged = zip(ours.staged_predict(flowers.X_others), theirs.staged_predict(flowers.X_others), strict=False)
    for mine, other in list(staged)[:n_rounds]:
        np.testing.assert_array_equal(mine, other)


def test_weights_are_distributions(iris):
    flowers = iris.draw_flowers(0, 0)
    for fit in (iris.fit_share_boost, iris.fit_ada_boost):
        model, weights = fit(flowers)
        assert weights.shape == (model.n_iter_ + 1, 20)
        np.testing.assert_allclose(weights.sum(axis=1), 1)
        np.testing.assert_allclose(weights[0], 1 / 20)


def test_study_holds_a_row_for_each_draw(iris):
    result = iris.study(n_draws=6)
    for values in (result.drawn, result.others, result.noisy_weight, result.noisy_weight_common):
        assert values.shape == (6, 2)
        assert ((values >= 0) & (values <= 1)).all()
    assert (result.rounds <= iris.N_ROUNDS).all()


def test_a_run_without_any_round_guesses(iris, monkeypatch):
    """No line beats chance on flowers that are all alike."""
    flowers = iris.draw_flowers(0, 0)
    alike = iris.Flowers(np.ones_like(flowers.X), flowers.y, flowers.view_labels, flowers.X_others, flowers.y_others)
    monkeypatch.setattr(iris, "draw_flowers", lambda seed, number: alike)
    result = iris.study(n_draws=2)
    np.testing.assert_array_equal(result.rounds, 0)
    np.testing.assert_allclose(result.noisy_weight, 6 / 20)
    np.testing.assert_allclose(result.drawn, 0.5)


def test_words_follow_from_the_numbers(iris):
    rng = np.random.default_rng(0)
    noise = rng.normal(scale=0.001, size=(50, 2))
    ahead = noise + np.array([0.8, 0.7])
    even = noise + 0.75
    description = iris.describe(iris.Study(ahead, even, even, ahead, np.full((50, 2), 50)))
    assert "ShareBoost is ahead by 0.1" in description
    assert "so neither method is ahead" in description
    assert "AdaBoost is lower by 0.1" in description
    assert "0 of the 100 runs end before" in description


@pytest.mark.long
def test_script_prints_the_study_and_saves_the_figure(iris, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(iris, "N_ROUNDS_SHOWN", 2)
    output = tmp_path / "images" / "iris.png"
    iris.main(["--draws", "3", "--output", str(output)])
    assert "3 draws of 20 Iris flowers" in capsys.readouterr().out
    assert output.stat().st_size < 300_000
    assert matplotlib.image.imread(output).ndim == 3


@pytest.mark.long
def test_figure_says_where_a_run_has_ended(iris):
    number = next(number for number in range(50) if iris.fit_ada_boost(iris.draw_flowers(0, number))[0].n_iter_ < 2)
    figure = iris.plot_rounds(iris.draw_flowers(0, number))
    assert "the run has ended" in [text.get_text() for axes in figure.axes for text in axes.texts]


def test_too_few_draws_are_a_usage_error(iris, capsys):
    with pytest.raises(SystemExit) as error:
        iris.main(["--draws", "1"])
    assert error.value.code == 2
    assert "at least 2" in capsys.readouterr().err


@pytest.mark.long
def test_accuracy_against_rounds(tmp_path, capsys):
    output = tmp_path / "rounds.png"
    results = load("digits_rounds").main(["--rounds", "12", "--splits", "2", "--output", str(output)])
    assert output.stat().st_size > 10_000
    assert "ShareBoost   after round 1" in capsys.readouterr().out
    assert list(results[0.3]) == ["ShareBoost", "rShareBoost", "iBoost", "SVM sum"]
    assert all(runs.shape == (2, 12) for runs in results[0.3].values())
    clean = results[0.0]["ShareBoost"].mean(axis=0)
    assert clean[-1] > clean[0] + 0.03
    assert results[0.3]["ShareBoost"].mean() > results[0.3]["iBoost"].mean()


@pytest.mark.long
def test_unmatched_views(tmp_path, capsys):
    outputs = [tmp_path / "views.png", tmp_path / "bias.png"]
    unmatched = load("unmatched_views")
    results, bias = unmatched.main(["--trials", "3", "--output", str(outputs[0]), "--bias-output", str(outputs[1])])
    assert all(10_000 < output.stat().st_size < 400_000 for output in outputs)
    assert "mean of 3 trials" in capsys.readouterr().out
    assert results.shape == (len(unmatched.STYLES), len(unmatched.SIZES), 3)
    means = dict(zip(unmatched.STYLES, results.mean(axis=(1, 2))))
    for way in ("tomographic", "cartesian"):
        assert means[way] > means["one laboratory"] + 0.03
    added, deconvolved, _ = bias.outside[0]
    assert added > 0.6 > 0.2 > deconvolved
    with pytest.raises(SystemExit):
        unmatched.main(["--trials", "1"])
    assert "--trials must be at least 2; got 1" in capsys.readouterr().err


@pytest.mark.long
def test_shared_and_separate_stumps(tmp_path, capsys):
    output = tmp_path / "images" / "labels.png"
    curves = load("overlapping_labels").main(["--stumps", "12", "--splits", "4", "--output", str(output)])
    assert output.stat().st_size > 10_000
    assert "stumps to NSBoost's error of 12" in capsys.readouterr().out
    assert all(errors.shape == (4, 12) for errors in curves.values())
    assert curves["MSSBoost"].mean(axis=0)[7] < curves["NSBoost"].mean(axis=0)[7]


def test_boundary_of_a_stump():
    example = load("overlapping_labels")
    models, X_test, _ = example.fit_both(seed=0)
    assert list(models) == ["MSSBoost", "NSBoost"]
    axis, threshold = example.boundary(models["MSSBoost"], 0)
    column = models["MSSBoost"].estimators_features_[0][0]
    assert axis == column
    # The stump's output is the same for all points on one side of it.
    outputs = next(models["MSSBoost"].staged_decision_function(X_test))
    left = X_test[:, axis] <= threshold
    assert len(np.unique(outputs[left].round(9), axis=0)) == len(np.unique(outputs[~left].round(9), axis=0)) == 1


STUDIES = {"digits_rounds", "iris_noisy_labels", "overlapping_labels", "unmatched_views", "inspect_views"}
"""Scripts with settings, which have tests of their own: above, and with the displays. The others run as they are."""
QUESTIONS = sorted({file.stem for file in EXAMPLES.glob("*.py")} - STUDIES)
SMALLER = {
    "explained_digits": {"N_TRAIN = 600": "N_TRAIN = 200"},
    "first_five_minutes": {"N_TRAIN = 600": "N_TRAIN = 150"},
    "grid_search": {"N_TRAIN = 600": "N_TRAIN = 120"},
    "hundreds_of_tags": {"N_TRAIN, N_TEST, N_TAGS = 600, 300, 200": "N_TRAIN, N_TEST, N_TAGS = 200, 100, 6"},
    "missing_omics": {"N_COHORTS = 10": "N_COHORTS = 2"},
    "noisy_sensors": {"N_TRAIN, N_TEST = 800, 500": "N_TRAIN, N_TEST = 120, 60"},
    "suspect_labels": {"TRAIN_SIZE = 0.6": "TRAIN_SIZE = 300"},
    "unmatched_biometrics": {"N_DRAWS = 20": "N_DRAWS = 2"},
}
"""Settings of the examples that take seconds, to run them in less."""


def run_example(name, capsys, monkeypatch, changes=None):
    """Run an example of the gallery, see that it draws and prints, and return what it defined and printed."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    # An interactive window is nothing for a test, and without one matplotlib warns.
    monkeypatch.setattr(pyplot, "show", lambda: None)
    pyplot.close("all")
    source = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    for setting, smaller in (changes or {}).items():
        source = source.replace(setting, smaller)
    defined = {"__name__": "__main__"}
    exec(compile(source, str(EXAMPLES / f"{name}.py"), "exec"), defined)
    n_figures = len(pyplot.get_fignums())
    pyplot.close("all")
    assert n_figures > 0
    printed = capsys.readouterr().out
    assert printed.strip()
    return defined, printed


def check_fusion_and_suspects(defined, printed):
    assert defined["fused"] > 0.95
    assert defined["hits"] > 40


def check_contributions_add_up(defined, printed):
    """docs/explanations.md says so."""
    assert defined["largest_error"] < 1e-9
    assert defined["missing"] == 0
    assert "contributions of the views" in printed


def check_one_machine_of_all_columns_falls_with_a_sensor(defined, printed):
    """docs/guide/baselines.md says so."""
    kept, scores = defined["kept"], defined["scores"]
    assert kept["one SVM, all columns"] < scores["one SVM, all columns"][0] / 4
    assert kept["FusionClassifier"] == max(kept.values())


def check_leaving_out_patients_is_the_worst_way(defined, printed):
    """The last words of the example say so."""
    for scores in (defined["scores"], defined["scores_never"]):
        assert min(scores, key=lambda name: scores[name].mean()) == "complete patients only"


def check_the_whole_job_of_an_analyst(defined, printed):
    """docs/tutorial.md shows the same on the command line."""
    assert defined["accuracy"] > 0.8
    assert defined["without_rna"] < defined["accuracy"]
    assert defined["hits"] >= 9
    assert defined["page"].stat().st_size > 20_000


def check_suspects_are_wrong(defined, printed):
    """docs/guide/wrong_labels.md says so."""
    assert defined["hits"].sum() > 90


def check_putting_objects_together_beats_one_archive_but_not_the_sum(defined, printed):
    """docs/guide/kernels.md says so."""
    scores = {name: values.mean() for name, values in defined["scores"].items()}
    assert scores["put together, tomographic"] > max(scores["edges alone"], scores["wavelets alone"])
    assert scores["put together, tomographic"] <= scores["decisions added"]


def check_sharing_helps_where_there_is_something_to_share(defined, printed):
    """docs/guide/many_labels.md says so."""
    scores, unrelated = defined["scores"], defined["unrelated"]
    mss = "MSSBoost, 100 models, shared"
    assert scores[mss] == max(scores.values())
    assert unrelated[mss] < 0.8 * scores[mss]


def check_scores_do_not_depend_on_where_they_were_computed(defined, printed):
    assert defined["same"]
    assert "bit for bit" in printed


def check_search_over_views(defined, printed):
    assert len(defined["results"]["params"]) == 30
    assert set(defined["held_out"]) == {1, 2, 3, 4}


def check_sets_cover_what_was_asked_for_with_any_number_of_views(defined, printed):
    assert (defined["right"][1] > 0.87).all()
    assert (np.diff(defined["sizes"], axis=1) < 0).all()
    assert "out of fold" in printed


def check_half_the_cost_is_enough(defined, printed):
    curve = defined["curve"]
    chosen = curve.min_gains.tolist().index(0.005)
    assert curve.costs[chosen] < curve.importance_costs[-1] / 2
    assert curve.accuracies[chosen] > curve.by_importance[-1] - 0.01
    assert "no further view" in printed


def check_outliers_hardly_harm_a_regression(defined, printed):
    model, robust, X_test, y_test = (defined[name] for name in ("model", "robust", "X_test", "y_test"))
    assert robust.score(X_test, y_test) > model.score(X_test, y_test) - 0.1
    assert abs(robust.outlier_share_ - defined["wrong"].mean()) < 0.05
    assert "intervals hold" in printed


CHECKS = {
    "cluster": check_scores_do_not_depend_on_where_they_were_computed,
    "explained_digits": check_contributions_add_up,
    "first_five_minutes": check_fusion_and_suspects,
    "grid_search": check_search_over_views,
    "hundreds_of_tags": check_sharing_helps_where_there_is_something_to_share,
    "missing_omics": check_leaving_out_patients_is_the_worst_way,
    "noisy_sensors": check_one_machine_of_all_columns_falls_with_a_sensor,
    "next_view": check_half_the_cost_is_enough,
    "prediction_sets": check_sets_cover_what_was_asked_for_with_any_number_of_views,
    "regression": check_outliers_hardly_harm_a_regression,
    "suspect_labels": check_suspects_are_wrong,
    "three_files": check_the_whole_job_of_an_analyst,
    "unmatched_biometrics": check_putting_objects_together_beats_one_archive_but_not_the_sum,
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_example_of_the_gallery_asks_a_question(name):
    source = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert "# What came out\n" in source
    asked = ast.get_docstring(ast.parse(source))
    title, underline = asked.splitlines()[:2]
    assert len(underline) == len(title)
    assert set(underline) == {"="}
    assert "?" in asked
    for setting in SMALLER.get(name, ()):
        assert source.count(setting) == 1


@pytest.mark.long
@pytest.mark.parametrize("name", QUESTIONS)
def test_example_of_the_gallery_answers_its_question(name, capsys, monkeypatch):
    CHECKS[name](*run_example(name, capsys, monkeypatch))


@pytest.mark.long
@pytest.mark.parametrize("name", SMALLER)
def test_example_of_the_gallery_runs_with_less_data(name, capsys, monkeypatch):
    defined, printed = run_example(name, capsys, monkeypatch, SMALLER[name])
    if name == "grid_search":
        check_search_over_views(defined, printed)
