"""What passes between the user and a command: results, refusals, notes, progress, and Ctrl-C.

Whatever is printed goes through `say`, `say_json`, `refuse` or `Notes`. They show control characters, which a name in a
file or in a model can hold, as escapes, so that none of them reaches the terminal.

What Ctrl-C does depends on what it would cost. While nothing is finished it ends the command: at once or, where
something has to be tidied up, by `KeyboardInterrupt`. From the first finished round of a fit on, it asks the fit to
stop after the round that runs, and what is fitted is saved. Pressed a second time, it ends the command without that.

The entry point answers Ctrl-C before typer is imported, so this file imports it where it is used.
"""

import json
import math
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from enum import Enum
from types import FrameType
from typing import IO, TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from fuselearn.progress import Step

HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, those that turn the direction of text, and halves of pairs, which cannot be written."""
OF_PROGRAMS = re.compile(", and any scikit-learn (classifier|regressor) may be given")
"""Advice of errors that a command line cannot follow."""
INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""
LATER = 0.02
"""Seconds until an interrupt whose exception was lost is repeated."""


def say(text: str) -> None:
    """Print a line of the result on standard output."""
    _print(visible(text))


def say_lines(text: str) -> None:
    """Print a result of several lines on standard output."""
    _print("\n".join(map(visible, text.split("\n"))))


def say_json(value: Any) -> None:
    """Print a result as JSON on standard output."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    _print("\n".join(HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", line) for line in text.split("\n")))


def tell(text: str) -> None:
    """Print a line on stderr, if anybody listens there."""
    import typer

    try:
        typer.echo(visible(text), err=True)
    except OSError:
        lead_nowhere(sys.stderr)


def refuse(message: object) -> NoReturn:
    """Say in one line on stderr what is wrong, and end with exit code 1.

    Exit code 2 is left to typer, for a command line that it cannot read. Within `raising_refusals` it is an exception.
    """
    import typer

    if _raised.get():
        raise Refusal(one_line(message))
    tell(f"fuselearn: {one_line(message)}")
    raise typer.Exit(1)


class Refusal(Exception):
    """What a command would have refused, in one line, where it is not the command line that asked."""


_raised: ContextVar[bool] = ContextVar("fuselearn_raised_refusals", default=False)


@contextmanager
def raising_refusals() -> Iterator[None]:
    """Raise `Refusal` in this thread instead of ending the command, as for a request to a server."""
    token = _raised.set(True)
    try:
        yield
    finally:
        _raised.reset(token)


def refuse_standard_output(error: OSError) -> NoReturn:
    """Refuse a standard output that is closed or full."""
    # What is still in its buffer would fail again when the process ends.
    lead_nowhere(sys.stdout)
    kept = f"; {interrupts.consequence}" if interrupts.consequence else ""
    refuse(f"standard output cannot be written to: {error.strerror or error}{kept}.")


def one_line(message: object) -> str:
    """Return a message without line breaks, whatever is quoted in it."""
    return " ".join(str(message).split())


def counted(number: int, noun: str) -> str:
    """Return a number of things in words.

    Examples
    --------
    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def visible(text: str) -> str:
    r"""Return a line in which control characters are seen and do nothing.

    Examples
    --------
    >>> print(visible("red \x1b[31m and \u202e back"))
    red \x1b[31m and \u202e back
    """
    return HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _print(text: str) -> None:
    """Print on standard output; what is wrong with it is said in one line."""
    import typer

    try:
        typer.echo(text)
    except BrokenPipeError:
        raise  # the reader has enough, as head does: no matter for a message
    except OSError as error:
        refuse_standard_output(error)


def lead_nowhere(stream: IO[str]) -> None:
    """Let a stream that cannot be written to lead nowhere."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def refusing(*kinds: type[Exception], what: str | None = None) -> Iterator[None]:
    """Turn errors of the library, which name what is wrong, into refusals; `what` stands before their words."""
    try:
        yield
    except kinds as error:
        refuse(f"{what}: {error}" if what else error)


@contextmanager
def refusing_arguments(options: Mapping[str, str], *kinds: type[Exception]) -> Iterator[None]:
    """Turn errors of the library into refusals that name the option of an argument instead of the argument."""
    try:
        yield
    except kinds as error:
        refuse(by_options(str(error), options))


def by_options(message: str, options: Mapping[str, str]) -> str:
    """Return the message of an error, which begins with the argument it is about, as those know it who typed options.

    What only a program can give is left out.

    Examples
    --------
    >>> by_options("train_size must be between 0 and 1; got 2.0.", {"train_size": "--train-size"})
    '--train-size must be between 0 and 1; got 2.0.'
    """
    name, blank, rest = OF_PROGRAMS.sub("", message).partition(" ")
    return f"{options.get(name, name)}{blank}{rest}"


@contextmanager
def interruptible(consequence: str) -> Iterator[None]:
    """End the command in one line when it is interrupted, which says what that means for the output."""
    import typer

    interrupts.consequence = consequence
    try:
        yield
    except (KeyboardInterrupt, EndedByUser):
        tell(f"fuselearn: interrupted; {interrupts.consequence}.")
        raise typer.Exit(INTERRUPTED) from None
    interrupts.consequence = ""


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
            tell(line)

    def rows_left_out(self, number: int, total: int, lack: str) -> None:
        """Note rows that have no `lack`, if there are any."""
        if number:
            have, are = ("has", "is") if number == 1 else ("have", "are")
            self.add(f"{number} of {counted(total, 'row')} {have} no {lack} and {are} left out.")

    def add_warnings(self, caught: list[warnings.WarningMessage]) -> None:
        """Note the warnings that the library gave; those for programmers are left out."""
        for warning in caught:
            if issubclass(warning.category, RuntimeWarning):
                self.add(f"Warning: some numbers are too large or too small to calculate with ({warning.message}).")
            elif not issubclass(warning.category, DeprecationWarning | PendingDeprecationWarning | FutureWarning):
                self.add(f"Warning: {warning.message}")


class EndedByUser(BaseException):
    """Ctrl-C was pressed again while finished work was being saved. Fits do not catch it."""


class _Way(Enum):
    """Ways to answer Ctrl-C."""

    AT_ONCE = "end the process: nothing is open, and an exception could be lost in an import"
    UNWIND = "raise KeyboardInterrupt"
    KEEP = "note it, and end by EndedByUser when it is repeated"


class Interrupts:
    """The answer to Ctrl-C, for a process that runs one command.

    Attributes
    ----------
    consequence : str
        What an end before the end means for the output, in words.
    stop_asked : bool
        Whether there was one that is to end a fit after the round that runs.
    """

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Begin a command: nothing is finished."""
        self.consequence = ""
        self.stop_asked = False
        self._way = _Way.AT_ONCE
        self._stopped = False

    def install(self) -> None:
        """Answer the interrupts of this process; only its main thread can."""
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._answer)
            sys.unraisablehook = _repeat_lost_interrupts

    def end(self) -> None:
        """Leave interrupts to the system: all is done or lost, and nothing is left to say."""
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_DFL)

    @contextmanager
    def unwinding(self) -> Iterator[None]:
        """Raise KeyboardInterrupt within the block, unless finished work is to be kept."""
        before = self._way
        if before is not _Way.KEEP:
            self._way = _Way.UNWIND
        try:
            yield
        finally:
            if self._way is not _Way.KEEP:
                self._way = before

    def keep(self) -> None:
        """Let nothing be lost from here on: something is finished."""
        self._way = _Way.KEEP

    def saved(self, consequence: str) -> None:
        """End at once from here on: what is finished is saved."""
        self.consequence = consequence
        self._way = _Way.AT_ONCE

    def stop_if_asked(self) -> None:
        """Raise KeyboardInterrupt, once, where one was noted: called where a fit can stop and keeps what it has."""
        if self.stop_asked and not self._stopped:
            self._stopped = True
            raise KeyboardInterrupt

    def _answer(self, number: int, frame: FrameType | None) -> None:
        """Answer an interrupt."""
        if self._way is _Way.UNWIND:
            raise KeyboardInterrupt
        if self._way is _Way.AT_ONCE:
            _write(f"fuselearn: interrupted{self.consequence and '; '}{self.consequence}.")
            os._exit(INTERRUPTED)
        if self.stop_asked:
            raise EndedByUser
        self.stop_asked = True
        _write("fuselearn: interrupted; what is finished is kept and saved. Press Ctrl-C again to end without it.")


def _repeat_lost_interrupts(lost: "sys.UnraisableHookArgs") -> None:
    """Interrupt again where the exception of an interrupt met a callback of compiled code, which cannot pass it on."""
    if not isinstance(lost.exc_value, KeyboardInterrupt | EndedByUser):
        sys.__unraisablehook__(lost)
        return
    # Later, and from another thread: here, too, an exception would be lost.
    again = threading.Timer(LATER, _interrupt_again)
    again.daemon = True
    again.start()


def _interrupt_again() -> None:
    """Interrupt this process, from any of its threads."""
    if os.name == "nt":  # where os.kill ends a process, whatever the signal
        signal.raise_signal(signal.SIGINT)
    else:
        os.kill(os.getpid(), signal.SIGINT)


def _write(line: str) -> None:
    """Write a line to stderr, past Python's buffer, which may be in the middle of another one."""
    with suppress(OSError):  # where nobody listens
        os.write(2, f"{line}\n".encode(errors="backslashreplace"))


interrupts = Interrupts()
"""Those of this process."""


@contextmanager
def progress_bar(description: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """Show a bar with the time left, or a wheel with the time gone by where `total` is None.

    What it yields takes `done`, `total` and `description`, any of which may be None, which leaves it as it is. Nothing
    is shown where stderr is not a terminal.
    """
    from fuselearn.progress import rich_bar

    with interrupts.unwinding(), rich_bar(visible(description), total) as update:

        def show(done: int | None = None, total: int | None = None, description: str | None = None) -> None:
            update(done=done, total=total, description=description and visible(description))

        yield show


@contextmanager
def fit_shown(estimator: Any, name: str) -> Iterator[None]:
    """Show how far an estimator is while it is fitted: rounds where it boosts, else a wheel with the steps done.

    After the first step an interrupt stops the fit at the next one, which keeps those that are done.
    """
    from fuselearn.progress import listening

    rounds = getattr(estimator, "n_estimators", None)
    # Others cannot end before they are finished.
    keeps_steps = rounds is not None or hasattr(estimator, "time_limit")
    total = rounds if isinstance(rounds, int) else None
    with progress_bar(f"fitting {name}", total) as update:

        def show(step: "Step") -> None:
            # The fits inside of a fit do not tell how far the whole is.
            if step.estimator != type(estimator).__name__:
                return
            if keeps_steps:
                interrupts.keep()
            if total:
                update(done=step.done, total=step.total)
            else:
                of = "" if step.total is None else f" of {step.total}"
                update(description=f"fitting {name}, step {step.done}{of}")
            if keeps_steps:
                interrupts.stop_if_asked()

        with listening(show):
            yield
