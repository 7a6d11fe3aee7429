"""Ctrl-C: what it does depends on what it would cost.

While nothing is finished it ends the command: at once or, where something has to be tidied up, by `KeyboardInterrupt`.
From the first finished round of a fit on, it asks the fit to stop after the round that runs, and what is fitted is
saved. Pressed a second time, it ends the command without that.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from types import FrameType

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""
LATER = 0.02
"""Seconds until an interrupt whose exception was lost is repeated."""


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
    again = threading.Timer(LATER, os.kill, (os.getpid(), signal.SIGINT))
    again.daemon = True
    again.start()


def _write(line: str) -> None:
    """Write a line to stderr, past Python's buffer, which may be in the middle of another one."""
    with suppress(OSError):  # where nobody listens
        os.write(2, f"{line}\n".encode(errors="backslashreplace"))


interrupts = Interrupts()
"""Those of this process."""
