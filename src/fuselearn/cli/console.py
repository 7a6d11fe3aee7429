"""Everything that a command tells the user on stderr beside its result: refusals, notes, progress."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import typer

if TYPE_CHECKING:
    from fuselearn.progress import Step

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


def refuse(message: object) -> NoReturn:
    """Say in one line on stderr what is wrong, and end with exit code 1.

    Exit code 2 is left to typer, for a command line that it cannot read.
    """
    typer.echo(f"fuselearn: {one_line(message)}", err=True)
    raise typer.Exit(1)


def one_line(message: object) -> str:
    """Return a message without line breaks, whatever is quoted in it."""
    return " ".join(str(message).split())


@contextmanager
def refusing(*kinds: type[Exception], what: str | None = None) -> Iterator[None]:
    """Turn errors of the library, which name what is wrong, into refusals; `what` stands before their words."""
    try:
        yield
    except kinds as error:
        refuse(f"{what}: {error}" if what else error)


@contextmanager
def interruptible(consequence: str) -> Iterator[None]:
    """End the command in one line when it is interrupted, which says what that means for the output."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"fuselearn: interrupted; {consequence}.", err=True)
        raise typer.Exit(INTERRUPTED) from None


def check_seed(seed: int, largest: int = 2**32 - 1) -> None:
    """Refuse a seed that no generator takes."""
    if not 0 <= seed <= largest:
        refuse(f"--seed must be between 0 and {largest}; got {seed}.")


def check_jobs(jobs: int | None, what: str = "threads") -> None:
    """Refuse what is not a number of threads or processes."""
    if jobs is not None and (jobs == 0 or jobs < -1):
        refuse(f"--jobs must be a number of {what}, or -1 for all cores; got {jobs}.")


def check_count(option: str, value: float | None, least: int = 1) -> None:
    """Refuse a number below the least."""
    if value is not None and (math.isnan(value) or value < least):
        refuse(f"{option} must be at least {least}; got {value:g}.")


def check_choice(option: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuse what is not one of the choices."""
    if value not in choices:
        refuse(f"{option} must be {' or '.join(choices)}; got {value!r}.")


class Notes:
    """Lines for the user: on stderr at once or, if `quiet`, for a script, kept for the JSON object at the end."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.lines: list[str] = []

    def add(self, line: object) -> None:
        """Note a line once, however often it comes."""
        line = one_line(line)
        if line in self.lines:
            return
        self.lines.append(line)
        if not self.quiet:
            typer.echo(line, err=True)


@contextmanager
def progress_bar(description: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """Show a bar with the time left, or a wheel with the time gone by where `total` is None.

    What it yields takes `done`, `total` and `description`, any of which may be None, which leaves it as it is. Nothing
    is shown where stderr is not a terminal.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    known = [BarColumn(20), MofNCompleteColumn(), TimeRemainingColumn()]
    columns = [TextColumn("{task.description}"), *(known if total else [SpinnerColumn(), TimeElapsedColumn()])]
    with Progress(
        *columns,
        console=console,
        disable=not console.is_terminal,
        # What a command prints is its result, which must not go through the bar.
        redirect_stdout=False,
        redirect_stderr=False,
        transient=True,
    ) as progress:
        task = progress.add_task(description, total=total)

        def update(done: int | None = None, total: int | None = None, description: str | None = None) -> None:
            progress.update(task, completed=done, total=total, description=description)

        yield update


@contextmanager
def fit_shown(estimator: Any, name: str) -> Iterator[None]:
    """Show how far an estimator is while it is fitted: rounds where it boosts, else a wheel with the steps done."""
    from fuselearn.progress import listening

    rounds = getattr(estimator, "n_estimators", None)
    total = rounds if isinstance(rounds, int) else None
    with progress_bar(f"fitting {name}", total) as update:

        def show(step: "Step") -> None:
            # The fits inside of a fit do not tell how far the whole is.
            if step.estimator != type(estimator).__name__:
                return
            if total:
                update(done=step.done, total=step.total)
            else:
                of = "" if step.total is None else f" of {step.total}"
                update(description=f"fitting {name}, step {step.done}{of}")

        with listening(show):
            yield
