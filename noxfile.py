#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2024.4.15"]
# ///
"""The commands of a contributor: ``nox -s tests``, ``nox -s lint``, ``nox -s docs``; ``nox`` runs all three."""

import nox

nox.needs_version = ">=2024.4.15"
nox.options.default_venv_backend = "venv"


@nox.session
def tests(session: nox.Session) -> None:
    """Run the quick tests; arguments after ``--`` go to pytest, e.g. ``nox -s tests -- -m long``."""
    session.install("-e", ".[test]")
    session.run("pytest", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check types, style and the import contract."""
    session.install("-e", ".[lint]")
    session.run("mypy")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation; a warning is an error."""
    session.install("-e", ".[docs]")
    session.run("sphinx-build", "-W", "--quiet", "-b", "html", "docs", "docs/_build")


@nox.session(default=False)
def coverage(session: nox.Session) -> None:
    """Show which lines and branches of `src` the quick tests run, without compiled loops and what needs a GPU."""
    session.install("-e", ".[test]", "pytest-cov>=6")
    session.run("pytest", "--cov", "--cov-report=term", *session.posargs)


@nox.session(default=False)
def mutants(session: nox.Session) -> None:
    """Change operators and constants of the core, and list what the tests do not notice; see tools/mutate.py."""
    session.install("-e", ".[test]")
    session.run("python", "tools/mutate.py", *session.posargs)


@nox.session(default=False)
def build(session: nox.Session) -> None:
    """Build the wheel and the source distribution."""
    session.install("build")
    session.run("python", "-m", "build")


if __name__ == "__main__":
    nox.main()
