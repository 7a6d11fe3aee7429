"""The command line: its commands put together, and its entry point."""

import io
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

from fuselearn import __version__
from fuselearn.cli.console import INTERRUPTED, interrupts, lead_nowhere, one_line, say, say_json, visible

if TYPE_CHECKING:
    import typer

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "narwhals", "skops", "pyarrow", "matplotlib", "jinja2")
"""Packages whose versions a bug report should name."""
EXTRA_PACKAGES = {"pyarrow", "rich", "typer"}
"""Packages that the command line needs beside the library: the extra ``app``."""


def main() -> None:
    """Run the command line."""
    try:
        interrupts.install()
        _open_streams()
        make_app()(prog_name="fuselearn")
    except KeyboardInterrupt:
        _end("interrupted.", INTERRUPTED)
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if package not in EXTRA_PACKAGES:
            raise
        _end(f"the command line needs {package}, which is not installed: pip install 'fuselearn[app]'")
    except OSError as error:
        # What no command foresaw, such as help that is printed to a full disk.
        lead_nowhere(sys.stdout)
        place = "" if error.filename is None else f"{error.filename}: "
        _end(visible(f"{place}{one_line(error.strerror or error).rstrip('.')}."))
    except MemoryError:
        _end("there is not enough memory; give it fewer rows or columns.")
    finally:
        interrupts.end()


def make_app() -> "typer.Typer":
    """Return the application with all commands."""
    import typer
    from typer.core import TyperGroup

    from fuselearn.cli.compare import compare
    from fuselearn.cli.demo import demo
    from fuselearn.cli.explain import explain
    from fuselearn.cli.features import features
    from fuselearn.cli.fit import fit
    from fuselearn.cli.inspect import inspect
    from fuselearn.cli.next_view import next_view
    from fuselearn.cli.options import AsJson
    from fuselearn.cli.predict import predict
    from fuselearn.cli.report import report
    from fuselearn.cli.reproduce import reproduce
    from fuselearn.cli.serve import serve
    from fuselearn.cli.suspects import suspects
    from fuselearn.cli.warmup import warmup

    class Commands(TyperGroup):
        """The commands. What typer says about words that it cannot read goes through the console, too."""

        def make_context(self, *arguments: Any, **settings: Any) -> Any:
            try:
                return super().make_context(*arguments, **settings)
            except Exception as error:
                escape_words(error)
                raise

        def invoke(self, *arguments: Any, **settings: Any) -> Any:
            interrupts.begin()
            try:
                return super().invoke(*arguments, **settings)
            except Exception as error:
                escape_words(error)
                raise

    def escape_words(error: Exception) -> None:
        """Show the control characters in the message of an error of usage."""
        words = getattr(error, "format_message", None)
        if words is not None:
            error.format_message = lambda: visible(words())  # type: ignore[attr-defined]

    app = typer.Typer(cls=Commands, add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
    for command in (
        fit,
        predict,
        explain,
        features,
        report,
        suspects,
        compare,
        inspect,
        serve,
        demo,
        reproduce,
        warmup,
    ):
        app.command()(command)
    app.command("next")(next_view)

    @app.command("version")
    def show_version(as_json: AsJson = False) -> None:
        """Show the versions of fuselearn and of what it uses."""
        import platform

        versions: dict[str, str | None] = {"fuselearn": __version__, "python": platform.python_version()}
        versions |= {package: _installed(package) for package in PACKAGES}
        if as_json:
            say_json(versions)
            return
        for name, number in versions.items():
            say(f"{name} {number or 'is not installed'}")

    def print_version(wanted: bool) -> None:
        if wanted:
            say(f"fuselearn {__version__}")
            raise typer.Exit

    @app.callback()
    def fuselearn(
        version: Annotated[
            bool, typer.Option("--version", callback=print_version, is_eager=True, help="Show the version and exit.")
        ] = False,
    ) -> None:
        """Fuse several noisy, partly missing views of the same objects into one model."""

    return app


def _open_streams() -> None:
    """Make standard streams that were closed, and let any name be printed in any encoding.

    A file that is opened later would take the number of a closed stream, and get what is printed there.
    """
    # Input that was closed is empty; output that was closed cannot be written to.
    if sys.stdin is None:
        sys.stdin = _opened_as(0, "r")
    if sys.stdout is None:
        sys.stdout = _opened_as(1, "w")
    if sys.stderr is None:
        sys.stderr = _opened_as(2, "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _opened_as(number: int, mode: str) -> io.TextIOWrapper:
    """Return a stream of this descriptor, on which nothing can be read or written."""
    descriptor = os.open(os.devnull, os.O_RDONLY)
    if descriptor != number:
        os.dup2(descriptor, number)
        os.close(descriptor)
    raw = io.FileIO(number, mode, closefd=False)
    return io.TextIOWrapper(io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw), encoding="utf-8")


def _end(message: str, code: int = 1) -> None:
    """End the process with one line."""
    try:
        print(f"fuselearn: {message}", file=sys.stderr, flush=True)
    except OSError:
        os._exit(code)  # stderr cannot be written to either
    sys.exit(code)


def _installed(package: str) -> str | None:
    """Return the installed version of a package."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None
