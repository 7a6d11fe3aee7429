"""The command line: its commands put together, and its entry point."""

import sys
from typing import TYPE_CHECKING, Annotated

from fuselearn import __version__

if TYPE_CHECKING:
    import typer

EXTRA_PACKAGES = {"pyarrow", "rich", "typer"}
"""Packages that the command line needs beside the library: the extra ``app``."""


def main() -> None:
    """Run the command line."""
    try:
        make_app()(prog_name="fuselearn")
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if package not in EXTRA_PACKAGES:
            raise
        sys.exit(f"fuselearn: the command line needs {package}, which is not installed: pip install 'fuselearn[app]'")


def make_app() -> "typer.Typer":
    """Return the application with all commands."""
    import typer

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

    def print_version(wanted: bool) -> None:
        if wanted:
            typer.echo(f"fuselearn {__version__}")
            raise typer.Exit

    @app.callback()
    def fuselearn(
        version: Annotated[
            bool, typer.Option("--version", callback=print_version, is_eager=True, help="Show the version and exit.")
        ] = False,
    ) -> None:
        """Fuse several noisy, partly missing views of the same objects into one classifier."""

    return app
