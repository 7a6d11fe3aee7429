"""Progress on stderr, with the time left where the number of steps is known; nothing where nobody watches."""

import io
import re
from contextlib import contextmanager, redirect_stdout

ROUND = re.compile(r"round (\d+) of (\d+)")


@contextmanager
def progress_bar(description, total=None):
    """A bar, or a wheel with the time gone by where `total` is None.

    Yields
    ------
    callable of (done, total, description)
        Any of them may be None, which leaves it as it is.
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
    # What a command prints is its result, which must not go through the bar.
    settings = {"redirect_stdout": False, "redirect_stderr": False, "transient": True}
    with Progress(*columns, console=console, disable=not console.is_terminal, **settings) as progress:
        task = progress.add_task(description, total=total)

        def update(done=None, total=None, description=None):
            progress.update(task, completed=done, total=total, description=description)

        yield update


@contextmanager
def rounds_shown(estimator, name):
    """Show the rounds of a boosting estimator while it is fitted, through what it prints when it is verbose."""
    total = getattr(estimator, "n_estimators", None)
    tells_rounds = isinstance(total, int) and hasattr(estimator, "verbose")
    with progress_bar(f"fitting {name}", total if tells_rounds else None) as update:
        if not tells_rounds:
            yield
            return
        before = estimator.verbose
        estimator.set_params(verbose=2)
        try:
            with redirect_stdout(_Rounds(update)):
                yield
        finally:
            estimator.set_params(verbose=before)


class _Rounds(io.TextIOBase):
    """Reads the number of the round from what is printed."""

    def __init__(self, update):
        self._update = update

    def writable(self):
        return True

    def write(self, text):
        found = ROUND.search(text)
        if found:
            self._update(done=int(found[1]), total=int(found[2]))
        return len(text)
