"""The commands, put together.

``fuselearn version``: what is installed, for a bug report.
"""

import json
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from fuselearn import __version__
from fuselearn.cli.compare import compare
from fuselearn.cli.demo import demo
from fuselearn.cli.files import AsJson
from fuselearn.cli.fit import fit
from fuselearn.cli.inspect import inspect
from fuselearn.cli.predict import predict
from fuselearn.cli.report import report
from fuselearn.cli.reproduce import reproduce

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
for command in (fit, predict, report, compare, inspect, demo, reproduce):
    app.command()(command)


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


PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "narwhals", "skops", "pyarrow", "matplotlib", "jinja2")


def show_version(as_json: AsJson = False):
    """Show the versions of fuselearn and of what it uses."""
    found = {"fuselearn": __version__, "python": platform.python_version()}
    found |= {package: _installed(package) for package in PACKAGES}
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    for name, number in found.items():
        typer.echo(f"{name} {number or 'is not installed'}")


def _installed(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return None


app.command("version")(show_version)
