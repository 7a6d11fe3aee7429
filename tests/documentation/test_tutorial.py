"""The tutorial's commands run as printed, on files that its example makes, and tell what it shows."""

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.command_line import run

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(
    r"^```console\n(.*?)^```", (ROOT / "docs" / "tutorial.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
)


def write_files(folder):
    """Make the files, by the part of the example that does."""
    source = (ROOT / "examples" / "three_files.py").read_text(encoding="utf-8")
    defined = {}
    exec(compile(source.partition("folder = Path(")[0], "three_files.py", "exec"), defined)
    return defined["write_files"](folder)


@pytest.mark.long
def test_every_command_of_the_tutorial(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = write_files(tmp_path)
    commands = 0
    for block in BLOCKS:
        command, _, shown = block.removeprefix("$ fuselearn ").replace("\\\n", " ").partition("\n")
        result = run(*shlex.split(command))
        assert result.exit_code == 0, result.output
        told = " ".join((result.stderr + result.stdout).split())
        assert " ".join(shown.split()) in told
        commands += 1
    assert commands == 5
    assert (
        sum(
            patient in wrong
            for patient in re.findall(r"^P\d+", Path("suspects.csv").read_text(encoding="utf-8"), re.MULTILINE)
        )
        == 11
    )
    predictions = Path("predictions.csv").read_text(encoding="utf-8").splitlines()
    assert predictions[0] == "patient,prediction,probability_basal,probability_luminal"
    assert len(predictions) == 81
    assert "P160" in Path("report.html").read_text(encoding="utf-8") or Path("report.html").stat().st_size > 20_000
