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

# TODO(click 8.2 at least): standard output and standard error are always captured separately, and together as well.
APART = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}


class Captured(Result):
    """What a command wrote, with an `output` that holds standard error, too."""

    output = property(lambda result: result.stdout + result.stderr)


def run(*arguments: object, env: dict[str, str] | None = None, **settings: object) -> Result:
    """Run the command line with arguments, in a terminal of 80 columns."""
    words = [str(argument) for argument in arguments]
    result = CliRunner(**APART).invoke(APP, words, env={"COLUMNS": "80", **(env or {})}, **settings)
    if APART:
        result.__class__ = Captured
    return result
