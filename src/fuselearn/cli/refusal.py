"""How a command refuses what it was given."""

import math
from contextlib import contextmanager

import typer


def refuse(message):
    """Say in one line on stderr what is wrong, and end with exit code 1.

    Exit code 2 is left to typer, for a command line that it cannot read.
    """
    typer.echo(f"fuselearn: {one_line(message)}", err=True)
    raise typer.Exit(1)


def one_line(message):
    """A message without line breaks, whatever was quoted in it."""
    return " ".join(str(message).split())


@contextmanager
def refusing(*kinds, what=None):
    """Turn errors of the library, which name what is wrong, into refusals.

    Parameters
    ----------
    *kinds : exception classes
    what : str, default=None
        What stands before the error's own words.
    """
    try:
        yield
    except kinds as error:
        refuse(f"{what}: {error}" if what else error)


def check_seed(seed, most=2**32 - 1):
    """Refuse a seed that no generator takes."""
    if not 0 <= seed <= most:
        refuse(f"--seed must be between 0 and {most}; got {seed}.")


def check_jobs(jobs, what="threads"):
    """Refuse what is not a number of threads or processes."""
    if jobs is not None and (jobs == 0 or jobs < -1):
        refuse(f"--jobs must be a number of {what}, or -1 for all cores; got {jobs}.")


def check_count(option, value, least=1):
    """Refuse a number below the least."""
    if value is not None and (math.isnan(value) or value < least):
        refuse(f"{option} must be at least {least}; got {value:g}.")


def check_choice(option, value, choices):
    """Refuse what is not one of the choices."""
    if value not in choices:
        refuse(f"{option} must be {' or '.join(choices)}; got {value!r}.")
