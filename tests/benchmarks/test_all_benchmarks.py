"""`python -m benchmarks`: sections are run, and each replaces its own place in the README."""

import subprocess
from types import SimpleNamespace

import pytest

from benchmarks import __main__ as all_benchmarks
from benchmarks.command_line import Options

TWO = "\n\n".join(
    f"{all_benchmarks.begin(name)}\n\nold {name}\n\n{all_benchmarks.END}\n\nnote" for name in ("a", "a --b")
)


@pytest.mark.parametrize("script", [*all_benchmarks.SCRIPTS, *all_benchmarks.GPU_SCRIPTS])
def test_the_readme_has_a_place_for_every_script(script):
    text = all_benchmarks.README.read_text(encoding="utf-8")
    assert "new figures" in all_benchmarks.replace_section(text, script, "new figures")


@pytest.mark.parametrize("script", [*all_benchmarks.SCRIPTS, *all_benchmarks.GPU_SCRIPTS])
def test_every_script_is_a_module(script):
    assert (all_benchmarks.README.parent / f"{script.split()[0]}.py").exists()


def test_a_section_is_replaced_and_nothing_else():
    text = all_benchmarks.replace_section(TWO, "a", r"new \1 figures")
    assert r"new \1 figures" in text
    assert "old a\n" not in text
    assert "old a --b" in text
    assert text.count("note") == 2


@pytest.mark.parametrize("text", ["", TWO + TWO])
def test_a_section_without_its_place_is_refused(text):
    with pytest.raises(ValueError, match="must hold"):
        all_benchmarks.replace_section(text, "a", "new")


def recorded_in(calls):
    """Return a stand-in of `subprocess.run` that notes the command."""

    def finished(command, **settings):
        calls.append(command)
        return SimpleNamespace(returncode=0, stdout="### Title\n\nfigures\n")

    return finished


def test_sections_name_their_command_commit_and_machine(monkeypatch):
    calls = []
    monkeypatch.setattr(all_benchmarks, "commit", lambda: "0123456789")
    monkeypatch.setattr(subprocess, "run", recorded_in(calls))
    markdown = all_benchmarks.run("fusion --large", Options(quick=True))
    assert calls[0][1:] == ["-m", "benchmarks.fusion", "--large", "--quick"]
    assert markdown.startswith("### Title\n\nfigures\n\n`python -m benchmarks.fusion --large`: commit 0123456789, ")
    assert "Python 3" in " ".join(markdown.split())  # wherever the lines were broken
    assert all_benchmarks.has_section(markdown, "fusion --large", "0123456789")
    assert not all_benchmarks.has_section(markdown, "fusion --large", "9876543210")
    assert not all_benchmarks.has_section(markdown, "fusion", "0123456789")


def test_a_script_that_fails_replaces_nothing(monkeypatch, tmp_path, capsys):
    readme = tmp_path / "README.md"
    readme.write_text(TWO, encoding="utf-8")
    monkeypatch.setattr(all_benchmarks, "README", readme)
    monkeypatch.setattr(all_benchmarks, "SCRIPTS", ("a", "a --b"))
    monkeypatch.setattr(all_benchmarks, "run", lambda script, options, keep: None if script == "a" else "### new")
    monkeypatch.setattr("sys.argv", ["benchmarks", "--write"])
    assert all_benchmarks.main() == 1
    text = readme.read_text(encoding="utf-8")
    assert "old a\n" in text
    assert "old a --b" not in text
    assert "**Failed**" in capsys.readouterr().out


def test_only_scripts_of_many_fits_keep_them(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(subprocess, "run", recorded_in(calls))
    for script in ("fusion --large", "memory"):
        all_benchmarks.run(script, Options(), tmp_path)
    kept, not_kept = [call for call in calls if call[0] != "git"]
    assert kept[-3:] == ["--large", "--keep", str(tmp_path / "fusion_large.jsonl")]
    assert "--keep" not in not_kept
