"""Progress of a fit, for whoever listens, and bars that show it.

A fit reports its steps; a listener, such as the progress bar of the command line, receives them. Without a listener a
report costs one look-up. Reports are made in the thread that called `fit`, in the order of the steps.

A bar is shown by rich where it is installed, and only to somebody who looks: in a terminal or a notebook. A log gets
whole lines, and few of them.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import NamedTuple, TypeAlias


class Step(NamedTuple):
    """One step of a fit that is done.

    Attributes
    ----------
    estimator : str
        Name of the estimator's class.
    done : int
        Number of steps done so far.
    total : int or None
        Number of steps in all; None where it is not known.
    text : str
        Description of the step, as ``verbose`` prints it.
    """

    estimator: str
    done: int
    total: int | None
    text: str


Listener: TypeAlias = Callable[[Step], None]
_listener: ContextVar[Listener | None] = ContextVar("fuselearn_progress", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Pass the steps of all fits within the block to a listener.

    Parameters
    ----------
    listener : callable of Step
        Receives every step when it is done.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import ShareBoostClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> with listening(lambda step: print(step.done, "of", step.total)):
    ...     _ = ShareBoostClassifier("stump", n_estimators=2).fit(X, y)
    1 of 2
    2 of 2
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report(estimator: object, done: int, total: int | None, text: str, *, printed: bool) -> None:
    """Report a step of a fit; `printed` says whether it is also to be printed, as ``verbose`` asks for."""
    name = type(estimator).__name__
    if printed:
        print(f"[{name}] {text}")
    listener = _listener.get()
    if listener is not None:
        listener(Step(name, done, total, text))


@contextmanager
def counted_steps(unit: str, total: int, verbose: int | None) -> Iterator[Callable[[int], None]]:
    """Show on stderr how many steps of a long task are done, and the time left.

    In a terminal or a notebook it is a bar. Elsewhere, as in a log, it is a line for each tenth of the steps.

    Parameters
    ----------
    unit : str
        What a step is called, such as ``"fits"``.
    total : int
        Number of steps.
    verbose : int or None
        0 shows nothing, 1 shows progress wherever it goes, None in a terminal or a notebook only.

    Yields
    ------
    callable of int
        To be called with the number of steps done so far.
    """
    interactive = sys.stderr.isatty() or in_notebook()
    if not total or verbose == 0 or (verbose is None and not interactive):
        yield lambda done: None
    elif interactive and find_spec("rich") and (sys.stderr.isatty() or find_spec("ipywidgets")):
        with rich_bar(unit, total) as update:
            yield lambda done: update(done=done)
    else:
        started, tenth = time.monotonic(), -(-total // 10)
        # A terminal and a notebook overwrite the line; a log has whole lines only.
        start, end = ("\r", "") if interactive else ("", "\n")

        def show(done: int) -> None:
            if interactive or done % tenth == 0 or done == total:
                left = (time.monotonic() - started) / done * (total - done)
                print(
                    f"{start}{done} of {total} {unit}, {left:.0f} s left ".rstrip(),
                    end=end,
                    file=sys.stderr,
                    flush=True,
                )

        try:
            yield show
        finally:
            if interactive:
                print(file=sys.stderr)


def in_notebook() -> bool:
    """Return whether what is printed goes to a notebook."""
    return type(sys.stderr).__module__.partition(".")[0] == "ipykernel"


@contextmanager
def rich_bar(description: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """Show a bar with the time left, or a wheel with the time gone by where `total` is None.

    What it yields takes `done`, `total` and `description`, any of which may be None, which leaves it as it is. Nothing
    is shown where stderr is neither a terminal nor a notebook.

    Parameters
    ----------
    description : str
        What is done.
    total : int or None, default=None
        Number of steps.

    Yields
    ------
    callable
        Moves the bar.
    """
    from rich.console import Console

    # A name may look like rich's markup, and must not be read as it.
    console = Console(stderr=True, markup=False, highlight=False)
    if not (console.is_terminal or console.is_jupyter):
        # A bar that is disabled ends with an empty line before rich 15.
        with shown_by(lambda line: None):
            yield lambda done=None, total=None, description=None: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    known = [BarColumn(20), MofNCompleteColumn(), TimeRemainingColumn()]
    columns = [
        TextColumn("{task.description}", markup=False),
        *(known if total else [SpinnerColumn(), TimeElapsedColumn()]),
    ]
    with (
        Progress(
            *columns,
            console=console,
            # What is printed meanwhile is a result, which must not go through the bar.
            redirect_stdout=False,
            redirect_stderr=False,
            transient=True,
        ) as progress,
        shown_by(console.print),
    ):
        task = progress.add_task(description, total=total)

        def update(done: int | None = None, total: int | None = None, description: str | None = None) -> None:
            progress.update(task, completed=done, total=total, description=description)

        yield update


_told: set[str] = set()
_shown_by: list[Callable[[str], None]] = []


def tell_once(text: str) -> None:
    """Tell people, once in a process, why something takes time.

    The line goes to the log ``fuselearn``, at the level of information. Where that is not shown, it goes to a bar of
    progress, if there is one, or to stderr, if that is a terminal or a notebook: never into the output of a program.

    Parameters
    ----------
    text : str
        One or two sentences.
    """
    if text in _told:
        return
    _told.add(text)
    log = logging.getLogger("fuselearn")
    if log.isEnabledFor(logging.INFO):
        log.info(text)
    elif _shown_by:
        _shown_by[-1](text)
    elif sys.stderr is not None and (sys.stderr.isatty() or in_notebook()):
        print(text, file=sys.stderr, flush=True)


@contextmanager
def shown_by(show: Callable[[str], None]) -> Iterator[None]:
    """Pass what people are told within the block, in whatever thread, to a function.

    Parameters
    ----------
    show : callable of str
        Shows one line.
    """
    _shown_by.append(show)
    try:
        yield
    finally:
        _shown_by.remove(show)
