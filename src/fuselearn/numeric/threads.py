"""Threads that share out items, or help with the steps of one task.

Compiled loops release the GIL, so plain Python threads run them side by side. Unlike numba's own parallel loops, they
can be used from any thread of the caller's and after a fork, and they cost no compile time.

An interrupt may come at any moment, and its caller may go on with what was computed before it. So when a call ends,
however it does, nothing that it began goes on.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from queue import Empty, SimpleQueue
from typing import Any, Generic, Self, TypeVar

import numpy as np

from fuselearn.numeric.team import ENDED, TEAM_SIZE
from fuselearn.typing import IntArray

Result = TypeVar("Result")
Item = TypeVar("Item")

LONGEST_WAIT = 0.05
"""Seconds after which the caller looks again whether others still help, should it have missed that they left."""


class Threads:
    """A fixed number of threads: the calling one, and others that wait for work from the first call on.

    Parameters
    ----------
    count : int
        Number of threads; with 1 everything runs in the calling thread.

    Examples
    --------
    >>> with Threads(2) as threads:
    ...     threads.map(abs, [-1, 2, -3])
    [1, 2, 3]
    """

    def __init__(self, count: int = 1) -> None:
        self.count = count
        self._others = _OtherThreads(count - 1) if count > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._others is not None:
            self._others.dismiss()

    def share(self, n_items: int, work: Callable[[int, int], None]) -> None:
        """Call ``work(start, stop)`` on consecutive parts of ``range(n_items)``, one part a thread."""
        if self.count == 1 or n_items < 2:
            work(0, n_items)
            return
        n_parts = min(self.count, n_items)
        cuts = [n_items * part // n_parts for part in range(n_parts + 1)]
        self._do(_Job([partial(work, *part) for part in pairwise(cuts)]))

    def map(
        self, function: Callable[[Item], Result], items: Iterable[Item], *, give_up: Callable[[], None] = lambda: None
    ) -> list[Result]:
        """Return ``[function(item) for item in items]``, in the order of the items.

        `give_up` is called when an interrupt or an error ends this early, before what goes on by then is waited for;
        perhaps several times.
        """
        if self.count == 1:
            return [function(item) for item in items]
        return self._do(_Job([partial(function, item) for item in items], give_up))

    def share_out(
        self,
        function: Callable[[Item, Threads], Result],
        items: Sequence[Item],
        *,
        give_up: Callable[[], None] = lambda: None,
    ) -> list[Result]:
        """Return ``[function(item, threads) for item in items]``: as many side by side as there are threads.

        Where fewer items than threads are left, each has several threads. `give_up` is that of `map`.
        """
        results: list[Result] = []
        for start in range(0, len(items), self.count):
            some = items[start : start + self.count]
            n_each = self.count // len(some)

            def work(item: Item, n_each: int = n_each) -> Result:
                with Threads(n_each) as threads:
                    return function(item, threads)

            results += self.map(work, some, give_up=give_up)
        return results

    def lead(self, work: Callable[[IntArray], None], help_with: Callable[[IntArray], None]) -> None:
        """Call ``work(team)`` in this thread and ``help_with(team)`` in the others, until the work is done.

        They share its steps as `fuselearn.numeric.team` says. Where a thread fails to help, its error is raised.
        """
        team = np.zeros(TEAM_SIZE, dtype=np.int64)
        if self._others is None:
            work(team)
            return

        def end() -> None:
            team[ENDED] = 1

        def lead_and_end() -> None:
            try:
                work(team)
            finally:
                job.end()

        job = _Job([partial(help_with, team)] * (self.count - 1), end)
        self._run(job, lead_and_end, self.count - 1)
        job.raise_errors()

    def _do(self, job: _Job[Result]) -> list[Result]:
        """Return the results of all calls of a job, of which the calling thread makes some."""
        self._run(job, job.make_calls, len(job) - 1)
        job.raise_errors()
        return job.results()

    def _run(self, job: _Job[Any], own_part: Callable[[], None], n_helpers: int) -> None:
        """Let others help with a job while this thread does its own part, and wait until nothing goes on.

        An interrupt of the calling thread may come between any two lines. So it shares no lock with the others.
        """
        assert self._others is not None
        interrupt: BaseException | None = None
        try:
            self._others.tell(job, n_helpers)
            own_part()
        except BaseException as error:
            interrupt = error
        while True:
            try:
                if interrupt is not None:
                    job.end()
                job.wait()
                break
            except BaseException as error:
                interrupt = error
        try:
            if interrupt is not None:
                raise interrupt
        finally:
            interrupt = None  # it knows this frame: a cycle that would keep all arrays


SERIAL = Threads(1)


class _OtherThreads:
    """Threads that wait for jobs, from the first one on; they are started anew in a process that was forked."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._prepare()

    def _prepare(self) -> None:
        """Begin without threads."""
        self._process, self._starting = os.getpid(), threading.Lock()
        self._jobs: SimpleQueue[_Job[Any] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._dismissal = weakref.finalize(self, _dismiss, self._jobs, self._threads)

    def tell(self, job: _Job[Any], n_threads: int) -> None:
        """Let so many threads work a job off, or all of them if they are fewer."""
        if not self._dismissal.alive:
            raise RuntimeError("These threads were dismissed at the end of their with statement.")
        if self._process != os.getpid():
            self._dismissal.detach()
            self._prepare()
        with self._starting:
            while len(self._threads) < self._count:
                thread = threading.Thread(target=_work_off_jobs, args=(self._jobs,), daemon=True)
                thread.start()
                self._threads.append(thread)
        for _ in range(min(n_threads, self._count)):
            self._jobs.put(job)

    def dismiss(self) -> None:
        """Let the threads end, and wait for it."""
        self._dismissal()


def _work_off_jobs(jobs: SimpleQueue[_Job[Any] | None]) -> None:
    """Work off jobs until there is None, which the next thread finds, too."""
    while (job := jobs.get()) is not None:
        job.help()
        del job
    jobs.put(None)


def _dismiss(jobs: SimpleQueue[_Job[Any] | None], threads: Sequence[threading.Thread]) -> None:
    """Let threads end, and wait for it."""
    jobs.put(None)
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join()


class _Job(Generic[Result]):
    """Calls that several threads make; each takes the next one that nobody has taken."""

    def __init__(self, calls: Sequence[Callable[[], Result]], give_up: Callable[[], None] = lambda: None) -> None:
        self._calls, self._n_calls, self._give_up = calls, len(calls), give_up
        self._numbers = iter(range(len(calls)))
        self._results: dict[int, Result] = {}
        self._errors: dict[int, BaseException] = {}
        self._ended = False
        self._n_helping, self._of_helpers = 0, threading.Lock()
        self._left: SimpleQueue[None] = SimpleQueue()

    def __len__(self) -> int:
        return self._n_calls

    def make_calls(self) -> None:
        """Make calls as long as there are any that nobody has taken."""
        while not self._ended and (number := next(self._numbers, None)) is not None:
            try:
                self._results[number] = self._calls[number]()
            except Exception as error:
                self._errors[number] = error
                self.end()

    def help(self) -> None:
        """Do the same in another thread, which notes when it begins and leaves."""
        with self._of_helpers:
            self._n_helping += 1  # before it looks whether the job has ended
        try:
            self.make_calls()
        except BaseException as error:
            self._errors[-1] = error
            self.end()
        finally:
            with self._of_helpers:
                self._n_helping -= 1
            self._left.put(None)

    def end(self) -> None:
        """Let no further call be made, and let those that go on know."""
        self._ended = True
        self._give_up()

    def wait(self) -> None:
        """Wait until no other thread helps, and forget what the calls refer to: one that comes late finds nothing."""
        while self._n_helping > 0:
            with suppress(Empty):
                self._left.get(timeout=LONGEST_WAIT)
        self._ended = True
        self._calls = ()

    def raise_errors(self) -> None:
        """Raise the error of the first call that has one; before all that of a thread itself, such as SystemExit."""
        if self._errors:
            raise self._errors[min(self._errors)]

    def results(self) -> list[Result]:
        """Return what the calls returned."""
        return [self._results[number] for number in range(self._n_calls)]
