"""How a command refuses what it was given."""

import typer


def refuse(message):
    """Say in one line on stderr what is wrong, and end with exit code 1.

    Exit code 2 is left to typer, for a command line that it cannot read.
    """
    typer.echo(f"fuselearn: {message}", err=True)
    raise typer.Exit(1)
