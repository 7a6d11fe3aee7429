"""What can be known of Windows on other systems."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LACKING = {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}
"""Modules of the standard library that Windows lacks."""
SCRIPTS = {ROOT / "tests" / "persistence" / "watched_loads.py", ROOT / "tools" / "mutate.py"}
"""Run only by tests that are skipped there."""


def imported_at_once(path):
    """Return the modules that a file imports when it is imported, but for those whose lack it expects."""
    names = set()
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks", "tools", "examples"])
def test_files_import_nothing_that_windows_lacks(folder):
    files = set((ROOT / folder).rglob("*.py")) - SCRIPTS
    assert files
    assert {path.name: lacking for path in files if (lacking := imported_at_once(path) & LACKING)} == {}
