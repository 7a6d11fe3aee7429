"""The pages of the repository: lines of a readable length, and files that exist."""

import doctest
import itertools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder, pattern in ((ROOT, "*.md"), (ROOT / "docs", "**/*.md"), (ROOT / "benchmarks", "*.md"))
    for path in folder.glob(pattern)
    if not {"_build", "api", "gallery"} & set(path.relative_to(ROOT).parts)
)
WIDTH = 120


@pytest.mark.parametrize("page", PAGES)
def test_lines_of_a_page_are_short(page):
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    # A row of a table cannot be broken.
    long_lines = [number for number, line in enumerate(lines, 1) if len(line) > WIDTH and not line.startswith("|")]
    assert long_lines == []


@pytest.mark.parametrize("page", PAGES)
def test_no_broken_sentence_begins_a_numbered_list(page):
    """A number with a full stop at the beginning of a line begins a list, also in the middle of a sentence."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    pairs = itertools.pairwise(lines)
    in_prose = [line for before, line in pairs if re.match(r"\d+[.)] ", line) and re.match(r"[A-Za-z`*(\[]", before)]
    assert in_prose == []


def test_files_that_contributing_names_exist():
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_]*(?:\.py)?)`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert len(named) > 20
    missing = [path for path in named if not any((root / path).exists() for root in (ROOT, ROOT / "src" / "fuselearn"))]
    assert missing == []


def test_examples_of_contributing():
    path = str(ROOT / "CONTRIBUTING.md")
    outcome = doctest.testfile(path, module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert outcome.attempted > 20
    assert outcome.failed == 0


def test_contributing_shows_every_package():
    shown = re.findall(r"`([a-z]+)/`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    packages = {path.parent.name for path in (ROOT / "src" / "fuselearn").glob("*/__init__.py")}
    assert packages <= set(shown)


def test_names_of_source_files_are_unique():
    allowed_twice = {"__init__", "base", "protocol"}
    names = [path.stem for path in (ROOT / "src").rglob("*.py") if path.stem not in allowed_twice]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []
