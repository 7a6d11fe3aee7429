"""The pages of the repository: lines of a readable length, and files that exist."""

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


@pytest.mark.parametrize("page", ["docs/papers.md", "CONTRIBUTING.md"])
def test_files_that_a_page_names_exist(page):
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_]*(?:\.py)?)`", (ROOT / page).read_text(encoding="utf-8"))
    assert named
    missing = [path for path in named if not any((root / path).exists() for root in (ROOT, ROOT / "src" / "fuselearn"))]
    assert missing == []


def test_names_of_source_files_are_unique():
    allowed_twice = {"__init__", "base", "protocol"}
    names = [path.stem for path in (ROOT / "src").rglob("*.py") if path.stem not in allowed_twice]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []
