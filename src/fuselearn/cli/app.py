"""The commands, put together."""

from typing import Annotated

import typer

from fuselearn import __version__
from fuselearn.cli.compare import compare
from fuselearn.cli.demo import demo
from fuselearn.cli.fit import fit
from fuselearn.cli.inspect import inspect
from fuselearn.cli.predict import predict
from fuselearn.cli.report import report
from fuselearn.cli.reproduce import reproduce
from fuselearn.cli.version import show_version

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
for command in (fit, predict, report, compare, inspect, demo, reproduce):
    app.command()(command)
app.command("version")(show_version)


def _show_version(wanted: bool):
    if wanted:
        typer.echo(f"fuselearn {__version__}")
        raise typer.Exit


@app.callback()
def fuselearn(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
):
    """Fuse several noisy, partly missing views of the same objects into one classifier."""
