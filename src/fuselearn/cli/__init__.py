"""The command line: one file per command, each of which uses the public API only.

Nothing that is slow to import may be imported before a command runs, so that ``fuselearn --help`` answers at once.
"""

import sys

EXTRA_PACKAGES = {"pyarrow", "rich", "typer"}
"""What the command line needs beside the library: the extra ``app``."""


def main():
    """Run the command line."""
    try:
        from fuselearn.cli.app import app

        app(prog_name="fuselearn")
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if package not in EXTRA_PACKAGES:
            raise
        sys.exit(f"fuselearn: the command line needs {package}, which is not installed: pip install 'fuselearn[app]'")
