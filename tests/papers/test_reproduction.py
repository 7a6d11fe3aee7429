"""``fuselearn reproduce``: experiments by name, records and pages that keep them, and data that is missing."""

import json
import re
import shutil
import subprocess

import pytest
from matplotlib.figure import Figure

from fuselearn.evaluation import Table
from fuselearn.papers import label_sharing, paired_runs, unmatched_music
from fuselearn.papers.code_revision import code_revision
from fuselearn.papers.experiments import EXPERIMENTS, PAPERS, Experiment, experiments_named
from fuselearn.papers.reproduction import load_record, page_of, rerun, save_outcome
from fuselearn.papers.verdicts import HOLDS, REFUTED, UNTESTED, Effort, Finding, Outcome
from tests.cli.command_line import run as run_command


def run(*arguments):
    """Run ``fuselearn reproduce``."""
    return run_command("reproduce", *arguments)


def test_experiments_by_name():
    assert {experiment.paper for experiment in EXPERIMENTS.values()} == set(PAPERS)
    assert len(EXPERIMENTS) == 16
    assert [experiment.name for experiment in experiments_named("all")] == list(EXPERIMENTS)
    with pytest.raises(ValueError, match="did you mean textures"):
        experiments_named("texture")
    with pytest.raises(ValueError, match="known are all, noisy-flowers"):
        experiments_named("xyz")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One cheap experiment, through the command line."""
    folder = tmp_path_factory.mktemp("runs") / "pages"
    result = run("axial-bias", "--quick", "--output", folder)
    assert result.exit_code == 0, result.output
    assert "[1 of 1] axial-bias: S4 figures 1 and 2" in result.stderr
    assert "lack the power to judge" in result.stderr
    assert "holds: S4 figure 2" in result.stdout
    return folder


def test_without_a_name_the_experiments_are_listed():
    result = run()
    assert result.exit_code == 0
    assert [line for line in result.stdout.splitlines() if not line.startswith(" ")] == list(EXPERIMENTS)
    assert "fuselearn reproduce NAME" in result.stderr
    assert run("list").stdout == result.stdout


def test_run_leaves_page_figure_and_tables(folder):
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "axial-bias.json", "axial_bias.png"]
    page = (folder / "README.md").read_text()
    assert page.index("## Verdicts") < page.index("## axial-bias") < page.index("## How to rerun")
    for expected in ("quick run", "![axial-bias](axial_bias.png)", "| axial-bias | S4 figure 2", "mass outside %"):
        assert expected in page
    assert (folder / "axial_bias.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
def test_what_is_there_is_not_run_again(folder, tmp_path):
    folder = shutil.copytree(folder, tmp_path / "pages")
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
        [table], [Finding("claim | with a bar", REFUTED, "why")], {"drawn": lambda figure: figure.subplots(1, 2)}
    )
    saved = save_outcome(tmp_path, "textures", Effort(seed=3), outcome, 61.0)
    loaded = load_record(tmp_path, "textures")
    assert loaded == saved
    page = page_of([loaded])
    assert r"| textures | claim \| with a bar | refuted | why |" in page
    assert "1 claims of five papers, judged by 1 of 16 experiments: 0 hold, 1 is refuted, 0 are not shown, 0" in page
    assert f"| textures | {code_revision()} | its own | 61 | 0 | 1 | 0 | 0 |" in page
    assert "--seed 3" in page
    assert "quick run" not in page
    (tmp_path / "textures.json").write_text("{}")
    assert load_record(tmp_path, "textures") is None


def test_revision_of_the_code(tmp_path):
    """A checksum of the files, a commit, and a commit with changes."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "a.py").write_text("a = 1")
    assert re.fullmatch("files [0-9a-f]{10}", code_revision.__wrapped__(package))
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *arguments], check=True)
    first = code_revision.__wrapped__(package)
    assert re.fullmatch("[0-9a-f]{10}", first)
    (package / "a.py").write_text("a = 2")
    assert code_revision.__wrapped__(package) == f"{first} with changes"


def test_interruption_keeps_what_is_finished(tmp_path, monkeypatch):
    done = Outcome([], [Finding("claim", HOLDS, "why")])

    def run_of(self, effort):
        if self.name == "bssd-noise":
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(Experiment, "run", run_of)
    result = run("all", "--quick", "--output", tmp_path / "pages")
    assert result.exit_code == 130
    assert "interrupted; what was finished is in" in result.stderr
    assert (tmp_path / "pages" / "noisy-flowers.json").exists()
    assert "| noisy-flowers | claim | holds | why |" in (tmp_path / "pages" / "README.md").read_text()
    monkeypatch.setattr(Experiment, "run", lambda self, effort: done)
    lines = []
    records = rerun("all", Effort(quick=True), tmp_path / "pages", tell=lines.append)
    assert len(records) == len(EXPERIMENTS)
    assert lines[0] == f"[1 of 16] noisy-flowers: there already, of revision {code_revision()}"


def test_absent_data_is_told_instead_of_failing(tmp_path, monkeypatch):
    def absent(*arguments, **settings):
        raise FileNotFoundError("no such\n set. Set FUSELEARN_DATA.")

    monkeypatch.setattr(unmatched_music, "unmatched_music", absent)
    outcome = EXPERIMENTS["unmatched-music"].run(Effort(quick=True))
    assert [finding.claim for finding in outcome.findings] == list(unmatched_music.CLAIMS.values())
    assert {finding.verdict for finding in outcome.findings} == {UNTESTED}
    assert outcome.findings[0].evidence == "Needs data: no such set."
    record = save_outcome(tmp_path, "unmatched-music", Effort(), outcome, 0.1)
    assert "Left out: its data (no such set)." in page_of([record])
    # It is tried again: the data may be there by now.
    lines = []
    rerun("unmatched-music", Effort(), tmp_path, tell=lines.append)
    assert "there already" not in lines[0]

    monkeypatch.setattr(paired_runs, "LOADERS", {"mfeat": absent, "digits": paired_runs.LOADERS["digits"]})
    sets, missing = paired_runs.noise_sets(most_rows=100)
    assert [data.name for data in sets] == ["digits"]
    assert missing == {"mfeat": "no such set"}
    assert abs(len(sets[0].y) - 100) <= 1
    assert sets[0].X.shape[0] == len(sets[0].y)


def test_synthetic_claims_of_s2_in_a_quick_run():
    outcome = EXPERIMENTS["synthetic-labels"].run(Effort(quick=True, runs=2))
    assert len(outcome.findings) == 4
    outcome.figures["synthetic_labels"](Figure())


@pytest.mark.long
def test_claims_of_s2_in_a_quick_run(monkeypatch):
    """On the set that needs no data: every claim but that about bagging is judged, and every figure drawn."""
    monkeypatch.setattr(label_sharing, "SETS", ("made up",))
    outcome = label_sharing.run_real(Effort(quick=True))
    assert [finding.claim for finding in outcome.findings] == list(label_sharing.REAL_CLAIMS.values())
    untested = [finding.claim for finding in outcome.findings if finding.verdict == UNTESTED]
    assert untested == [label_sharing.REAL_CLAIMS["Bagging"]]
    for draw in outcome.figures.values():
        draw(Figure())


def test_list():
    shown = run("list")
    assert shown.exit_code == 0
    for name in EXPERIMENTS:
        assert f"{name}\n" in shown.stdout
    assert "VisTex is public by name" in shown.stdout
    assert [experiment["name"] for experiment in json.loads(run("list", "--json").stdout)] == list(EXPERIMENTS)


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
