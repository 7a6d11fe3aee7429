"""The command line: one file per command, each of which uses the public API only.

Nothing that is slow to import may be imported before a command runs, so that ``fuselearn --help`` answers at once.
"""

from fuselearn.cli.app import main

__all__ = ["main"]
