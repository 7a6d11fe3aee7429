"""How a command refuses what it was given.

Ctrl-C.

What a command tells beside its result.
"""

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


class Notes:
    """Lines for the user: on stderr as they come or, for a script, in the JSON object at the end.

    Parameters
    ----------
    quiet : bool
        Whether to keep them for the JSON object.
    """

    def __init__(self, quiet):
        self.quiet = quiet
        self.lines = []

    def tell(self, line):
        """Tell a line once, however often it comes."""
        line = one_line(line)
        if line in self.lines:
            return
        self.lines.append(line)
        if not self.quiet:
            typer.echo(line, err=True)
