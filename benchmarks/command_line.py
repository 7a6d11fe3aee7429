"""The options that all benchmark scripts take."""

import argparse
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """Options of the user.

    Attributes
    ----------
    quick : bool
        Small data and few repeats: shows that a script works, and nothing about targets.
    mumbo_python : str or None
        Python interpreter of an environment that has scikit-multimodallearn.
    """

    quick: bool = False
    mumbo_python: str | None = None

    def as_arguments(self):
        """Return the command-line arguments of these options."""
        arguments = ["--quick"] if self.quick else []
        if self.mumbo_python is not None:
            arguments += ["--mumbo-python", self.mumbo_python]
        return arguments


def parser(description):
    """Return a parser of the options that all scripts share."""
    result = argparse.ArgumentParser(description=description)
    result.add_argument("--quick", action="store_true", help="small data and few repeats, to see that it works")
    result.add_argument(
        "--mumbo-python", metavar="PATH", help="Python of an environment with scikit-multimodallearn (peers only)"
    )
    return result


def run_script(section, description):
    """Parse the command line and print the section.

    Parameters
    ----------
    section : callable
        Takes `Options` and returns Markdown.
    description : str
        The module's docstring; its first line is shown by ``--help``.
    """
    arguments = parser(description.splitlines()[0]).parse_args()
    print(section(Options(arguments.quick, arguments.mumbo_python)))


def progress(message):
    """Print what is being measured to stderr: stdout is for the Markdown."""
    print(message, file=sys.stderr, flush=True)
