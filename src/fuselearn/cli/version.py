"""``fuselearn version``: the installed versions, for a bug report."""

import json
import platform
from importlib.metadata import PackageNotFoundError, version

import typer

from fuselearn import __version__
from fuselearn.cli.options import AsJson

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "narwhals", "skops", "pyarrow", "matplotlib", "jinja2")


def show_version(as_json: AsJson = False) -> None:
    """Show the versions of fuselearn and of what it uses."""
    versions: dict[str, str | None] = {"fuselearn": __version__, "python": platform.python_version()}
    versions |= {package: _installed(package) for package in PACKAGES}
    if as_json:
        typer.echo(json.dumps(versions, indent=2))
        return
    for name, number in versions.items():
        typer.echo(f"{name} {number or 'is not installed'}")


def _installed(package: str) -> str | None:
    """Return the installed version of a package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
