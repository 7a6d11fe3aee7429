"""``fuselearn reproduce``: verdicts that follow the numbers, pages that keep them, and data that is not there."""

import json

import numpy as np
import pytest
from joblib import parallel_config
from matplotlib.figure import Figure
from typer.testing import CliRunner

from fuselearn.cli.app import app
from fuselearn.evaluation import Table
from fuselearn.evaluation.statistics import interval, paired_tests
from fuselearn.papers import paired_runs as stand_ins
from fuselearn.papers import unmatched_views
from fuselearn.papers.catalogue import EXPERIMENTS, PAPERS, Experiment, experiments_named
from fuselearn.papers.noise_study import S0_METHODS, S1_METHODS, methods_for
from fuselearn.papers.paired_runs import GroupsApart, ViewSet, score_methods
from fuselearn.papers.record import load_record, page_of, rerun, save_outcome
from fuselearn.papers.verdicts import FAILS, HOLDS, UNTESTED, Effort, Finding, Outcome, Pair, judge, mean_interval

NUMBERS = np.random.default_rng(0)


def run(*arguments, **settings):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)], env={"COLUMNS": "80"}, **settings)


def scores(mean, spread=0.005, runs=20):
    """Made-up scores of exactly that mean."""
    drawn = NUMBERS.normal(0, spread, runs)
    return mean + drawn - drawn.mean()


@pytest.mark.parametrize(
    ("first", "second", "margin", "verdict"),
    [
        (0.90, 0.80, 0.0, HOLDS),
        (0.80, 0.90, 0.0, FAILS),
        (0.85, 0.85, 0.0, FAILS),
        (0.85, 0.85, 0.02, HOLDS),
        (0.90, 0.80, 0.02, HOLDS),
        (0.80, 0.90, 0.02, FAILS),
    ],
)
def test_verdict_follows_the_scores(first, second, margin, verdict):
    finding = judge("claim", [Pair("set", scores(first), scores(second), 2 / 3)], margin=margin)
    assert finding.verdict == verdict
    assert f"set {first - second:+z.3f}" in finding.evidence


def test_few_and_noisy_runs_decide_nothing():
    noisy = [Pair("set", np.array([0.9, 0.6, 0.8]), np.array([0.7, 0.75, 0.7]), 2 / 3)]
    assert judge("claim", noisy).verdict == UNTESTED
    assert judge("claim", noisy, margin=0.02).verdict == UNTESTED
    assert judge("claim", [Pair("set", [0.9], [0.8])]).verdict == UNTESTED
    assert judge("claim", []).verdict == UNTESTED


def test_one_set_that_is_behind_spoils_a_claim():
    ahead = [Pair(name, scores(0.9), scores(0.8), 2 / 3) for name in "abc"]
    behind = Pair("d", scores(0.8), scores(0.85), 2 / 3)
    undecided = Pair("e", scores(0.8), scores(0.8), 2 / 3)
    assert judge("claim", ahead).verdict == HOLDS
    assert judge("claim", [*ahead, behind]).verdict == FAILS
    assert judge("claim", [*ahead, undecided]).verdict == HOLDS
    assert judge("claim", [*ahead, undecided], every=True).verdict == FAILS
    assert "a +0.100*" in judge("claim", ahead).evidence


def test_interval_of_one_set_is_that_of_the_corrected_test():
    first, second = NUMBERS.normal(0.85, 0.02, 12), NUMBERS.normal(0.82, 0.02, 12)
    _, low, high = mean_interval([Pair("set", first, second, 0.5)])
    assert (low, high) == pytest.approx(interval(first - second, 0.5))
    assert (low > 0) == (paired_tests(first, second, 0.5).corrected < 0.05)
    # Four independent sets that say the same halve the interval, and have more degrees of freedom besides.
    _, low_of_four, high_of_four = mean_interval([Pair("set", first, second, 0.5)] * 4)
    assert high_of_four - low_of_four < (high - low) / 2


def test_catalogue():
    assert {experiment.paper for experiment in EXPERIMENTS.values()} == set(PAPERS)
    assert len(EXPERIMENTS) == 13
    assert [one.name for one in experiments_named("all")] == list(EXPERIMENTS)
    with pytest.raises(ValueError, match="did you mean textures"):
        experiments_named("texture")
    with pytest.raises(ValueError, match="known are all, noisy-flowers"):
        experiments_named("xyz")


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"runs": 1}, "runs"), ({"quick": 1}, "quick"), ({"seed": -1}, "seed"), ({"n_jobs": 0}, "n_jobs")],
)
def test_effort_refuses(settings, named):
    with pytest.raises((ValueError, TypeError), match=named):
        Effort(**settings)


def test_finding_refuses_other_verdicts():
    with pytest.raises(ValueError, match="verdict must be"):
        Finding("claim", "perhaps", "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One cheap experiment, through the command line."""
    folder = tmp_path_factory.mktemp("runs") / "pages"
    result = run("axial-bias", "--quick", "--output", folder)
    assert result.exit_code == 0, result.output
    assert "[1 of 1] axial-bias: S4 figures 1 and 2" in result.stderr
    assert "holds: S4 figure 2" in result.stdout
    return folder


def test_run_leaves_page_figure_and_tables(folder):
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "axial-bias.json", "axial_bias.png"]
    page = (folder / "README.md").read_text()
    assert page.index("## Verdicts") < page.index("## axial-bias") < page.index("## How to rerun")
    for expected in ("quick run", "![axial-bias](axial_bias.png)", "| axial-bias | S4 figure 2", "mass outside %"):
        assert expected in page
    assert (folder / "axial_bias.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_there_is_not_run_again(folder):
    before = (folder / "axial-bias.json").stat().st_mtime_ns
    again = run("axial-bias", "--quick", "--output", folder, "--json")
    assert again.exit_code == 0
    assert "there already" in again.stderr
    (record,) = json.loads(again.stdout)
    assert record["findings"][0]["verdict"] == HOLDS
    assert (folder / "axial-bias.json").stat().st_mtime_ns == before
    # Another effort asks for other numbers.
    other = run("axial-bias", "--quick", "--runs", 3, "--output", folder)
    assert "there already" not in other.stderr
    assert "over 3 draws" in (folder / "README.md").read_text()
    forced = run("axial-bias", "--quick", "--runs", 3, "--output", folder, "--force")
    assert "there already" not in forced.stderr


def test_record_comes_back_as_it_was(tmp_path):
    table = Table("Title", ("method", "accuracy"), [("a", 0.5), ("b", None)], "Note.", {"accuracy": 1})
    outcome = Outcome(
        [table], [Finding("claim | with a bar", FAILS, "why")], {"drawn": lambda figure: figure.subplots(1, 2)}
    )
    saved = save_outcome(tmp_path, "textures", Effort(seed=3), outcome, 61.0)
    loaded = load_record(tmp_path, "textures")
    assert loaded == saved
    page = page_of([loaded])
    assert r"| textures | claim \| with a bar | does not hold | why |" in page
    assert "1 claims of five papers, judged by 1 of 13 experiments: 0 hold, 1 does not, 0 cannot be tested" in page
    assert "--seed 3" in page
    assert "quick run" not in page
    (tmp_path / "textures.json").write_text("{}")
    assert load_record(tmp_path, "textures") is None


def test_interruption_keeps_what_is_finished(tmp_path, monkeypatch):
    done = Outcome([], [Finding("claim", HOLDS, "why")])

    def run_of(self, effort):
        if self.name == "bssd-noise":
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(Experiment, "run", run_of)
    result = run("all", "--quick", "--output", tmp_path / "pages")
    assert result.exit_code == 1
    assert "interrupted; what was finished is in" in result.stderr
    assert (tmp_path / "pages" / "noisy-flowers.json").exists()
    assert "| noisy-flowers | claim | holds | why |" in (tmp_path / "pages" / "README.md").read_text()
    monkeypatch.setattr(Experiment, "run", lambda self, effort: done)
    lines = []
    records = rerun("all", Effort(quick=True), tmp_path / "pages", tell=lines.append)
    assert len(records) == len(EXPERIMENTS)
    assert lines[0] == "[1 of 13] noisy-flowers: there already"


def test_absent_data_is_told_instead_of_failing(tmp_path, monkeypatch):
    def absent(*arguments, **settings):
        raise FileNotFoundError("no such\n set. Set FUSELEARN_DATA.")

    monkeypatch.setattr(unmatched_views, "unmatched_music", absent)
    outcome = EXPERIMENTS["unmatched-music"].run(Effort(quick=True))
    assert [finding.claim for finding in outcome.findings] == list(unmatched_views.MUSIC_CLAIMS.values())
    assert {finding.verdict for finding in outcome.findings} == {UNTESTED}
    assert outcome.findings[0].evidence == "Needs data: no such set."
    record = save_outcome(tmp_path, "unmatched-music", Effort(), outcome, 0.1)
    assert "Left out: its data (no such set)." in page_of([record])
    # It is tried again: the data may be there by now.
    lines = []
    rerun("unmatched-music", Effort(), tmp_path, tell=lines.append)
    assert "there already" not in lines[0]

    monkeypatch.setattr(stand_ins, "LOADERS", {"mfeat": absent, "digits": stand_ins.LOADERS["digits"]})
    sets, missing = stand_ins.noise_sets(most_rows=100)
    assert [data.name for data in sets] == ["digits"]
    assert missing == {"mfeat": "no such set"}
    assert abs(len(sets[0].y) - 100) <= 1
    assert sets[0].X.shape[0] == len(sets[0].y)


def test_noise_study_names_what_was_left_out(monkeypatch):
    from fuselearn.papers import noise_study

    def absent():
        raise FileNotFoundError("not here")

    monkeypatch.setattr(stand_ins, "LOADERS", {"mfeat": absent, "digits": stand_ins.LOADERS["digits"]})
    monkeypatch.setattr(noise_study, "MOST_ROWS", 120)
    outcome = noise_study.run_shareboost(Effort(quick=True, runs=2))
    assert outcome.missing == {"mfeat": "not here"}
    assert set(outcome.tables[0].column("method")) == set(S1_METHODS)
    assert "AdaBoost-Ca, one view's labels" in outcome.tables[1].column("method")
    on_mfeat = [finding for finding in outcome.findings if "mfeat" in finding.claim]
    assert {finding.verdict for finding in on_mfeat} == {UNTESTED}
    for draw in outcome.figures.values():
        draw(Figure())


def test_groups_stay_on_one_side():
    groups = np.repeat(np.arange(10), 6)
    y = (groups % 3 == 0).astype(int)
    protocol = GroupsApart(3, 0.6, groups=groups)
    splits = [protocol.splits(y, number, 0)[0] for number in range(3)]
    for train, test in splits:
        assert not set(groups[train]) & set(groups[test])
        assert set(y[train]) == set(y[test]) == {0, 1}
    assert not np.array_equal(splits[0][0], splits[1][0])


def test_machines_are_standardised_but_for_components():
    X = NUMBERS.normal(size=(60, 4))
    views = {"a": np.array([0, 1]), "b": np.array([2, 3])}
    y = (X[:, 0] + X[:, 2] > 0).astype(int)
    plain, components = (ViewSet("made up", X, y, views, components=flag) for flag in (False, True))
    assert hasattr(plain.svm(), "steps")
    assert not hasattr(components.svm(), "steps")
    assert [method.name for method in methods_for(plain, S0_METHODS)] == list(S0_METHODS)
    chosen = methods_for(plain, ["BSSD", "MV", "AdaBoost-Ca"])
    clean = score_methods(plain, chosen, runs=2, effort=Effort(), rounds=5)
    noisy = score_methods(plain, chosen, runs=2, effort=Effort(), rounds=5, noise=0.3)
    assert list(clean.by_method) == ["BSSD", "MV", "AdaBoost-Ca"]
    assert list(noisy.by_method) == [*clean.by_method, "AdaBoost-Ca, one view's labels"]
    with parallel_config(backend="threading"):  # processes take seconds to start
        same = score_methods(plain, chosen, runs=2, effort=Effort(n_jobs=2), rounds=5)
    for name, values in clean.by_method.items():
        np.testing.assert_array_equal(values, same.by_method[name])


def test_synthetic_claims_of_s2_in_a_quick_run():
    outcome = EXPERIMENTS["synthetic-labels"].run(Effort(quick=True, runs=2))
    assert len(outcome.findings) == 3
    outcome.figures["synthetic_labels"](Figure())


def test_list():
    shown = run("list")
    assert shown.exit_code == 0
    for name in EXPERIMENTS:
        assert f"{name}\n" in shown.stdout
    assert "VisTex is not public" in shown.stdout
    assert [one["name"] for one in json.loads(run("list", "--json").stdout)] == list(EXPERIMENTS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["textures", "--runs", "1"], "--runs must be at least 2; got 1."),
        (["textures", "--jobs", "0"], "--jobs must be"),
        (["textures", "--seed", "-1"], "--seed must be between 0"),
        (["texture"], "There is no experiment 'texture'; did you mean textures?"),
        (["textures", "--output", "no/such/folder"], "does not exist"),
        (["textures", "--output", __file__], "is a file; name a folder"),
    ],
)
def test_refusals_take_one_line(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not result.stdout
