"""Refuse a tag that is not the version of the code: ``python tools/check_version.py v0.1.0``."""

import re
import sys
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "fuselearn" / "_version.py"


def version() -> str:
    """Return the version that `_version.py` holds; it is read, not imported, so that nothing need be installed."""
    found = re.search(r'^__version__ = "([^"]+)"$', SOURCE.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise SystemExit(f'{SOURCE.name} has no line __version__ = "…".')
    return found[1]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python tools/check_version.py TAG")
    if sys.argv[1].removeprefix("v") != version():
        raise SystemExit(f"The tag is {sys.argv[1]}, but the version of the code is {version()}: make them agree.")
