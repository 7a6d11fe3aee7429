"""Ctrl-C."""

from contextlib import contextmanager

import typer

EXIT_CODE = 130
"""As shells have it."""


@contextmanager
def interruptible(consequence):
    """End the command in one line when it is interrupted.

    Parameters
    ----------
    consequence : str
        What that means for the output.
    """
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"fuselearn: interrupted; {consequence}.", err=True)
        raise typer.Exit(EXIT_CODE) from None
