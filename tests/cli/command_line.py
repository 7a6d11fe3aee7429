"""Commands run in this process."""

import functools
import inspect

import typer.testing
from click.testing import Result
from typer.testing import CliRunner

from fuselearn.cli.app import make_app

APP = make_app()
# typer would read the signatures of all commands again each time, which takes a third of a test's time.
typer.testing._get_command = functools.cache(typer.main.get_command)

# TODO(click 8.2 at least): standard output and standard error are always captured separately.
APART = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}


def run(*arguments: object, env: dict[str, str] | None = None, **settings: object) -> Result:
    """Run the command line with arguments, in a terminal of 80 columns."""
    words = [str(argument) for argument in arguments]
    return CliRunner(**APART).invoke(APP, words, env={"COLUMNS": "80", **(env or {})}, **settings)
