"""Tasks on a Dask cluster, and the one place where a fit waits for the cluster.

A worker can die at any time. Dask then runs a task elsewhere, unless it is bound to the worker: such a task waits for
ever, and nobody is told. So each wait looks, about once a second, at what the cluster does. Tasks that are bound to a
worker that is gone are given back to the caller as lost, who submits them anew. A wait may be as long as the work
takes, but no longer than the time limit while the cluster does nothing.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from fuselearn.backends.partitioned.cluster_workers import CLUSTER_TIMEOUT_SETTING, Workers

if TYPE_CHECKING:
    from dask.delayed import Delayed
    from distributed import Client, WorkerPlugin
    from distributed import Future as DistributedFuture

    Future: TypeAlias = DistributedFuture[Any]

CLUSTER_TIMEOUT_SECONDS = 60.0
"""Seconds that a fit waits for a cluster that has no worker, does not reply, or leaves the tasks of the fit alone."""
POLL_SECONDS = 1.0
"""Seconds between two checks of what the cluster does."""
RESUBMIT_SECONDS = 5.0
"""Seconds after which tasks are submitted anew that a cluster with idle workers leaves alone."""
MAX_LOSSES = 10
"""Workers that may die over one partition in one step of the fit, before the fit is given up."""
KEPT_ROUNDS = (
    "Where the fit has checkpoint=..., it keeps all rounds that are finished, and the same call continues with them."
)

Reply = TypeVar("Reply")


@dataclass(frozen=True, eq=False)
class Task:
    """A task of a fit: the numbers of its partitions, its future, and the worker that it is bound to, if any."""

    numbers: tuple[int, ...]
    future: Future
    address: str | None = None


class Cluster:
    """The cluster of a client, as a fit sees it; `workers` are those of the last `refresh`."""

    def __init__(self, client: Client) -> None:
        if client.asynchronous:
            raise RuntimeError(
                "fit was called where the event loop of the Dask client runs, so it would wait for itself. Use a "
                "client that is not asynchronous, or call fit in a thread, e.g. with asyncio.to_thread."
            )
        self._client = client
        self._address = getattr(client.scheduler, "address", "?")
        self._time_limit = _time_limit()
        self.workers = Workers(self._time_limit)
        self._losses: Counter[int] = Counter()
        self._quiet_since: float | None = None
        self._available_since: float | None = None
        self._resubmitted_at = 0.0

    def submit(self, function: Callable[..., object], *arguments: object, **options: Any) -> Future:
        """Submit a task, as `Client.submit` does."""
        options = options or self.workers.preference()
        return self._send(partial(self._client.submit, function, *arguments, pure=False, **options))

    def compute(self, objects: Sequence[Delayed], **options: Any) -> list[Future]:
        """Submit the tasks of delayed objects, as `Client.compute` does."""
        options = options or self.workers.preference()
        return self._send(partial(self._client.compute, list(objects), **options))

    def register_plugin(self, plugin: WorkerPlugin) -> None:
        """Let all workers, now and later, have a plugin."""
        # Where a worker dies that is to have it, the scheduler knows it by then, and gives it to new workers.
        with suppress(OSError):
            self._request(lambda: self._client.register_plugin(plugin), retry=False)

    def values(self, delayed_objects: Callable[[], Sequence[Delayed]]) -> list[Any]:
        """Return the values of delayed objects, one for each partition.

        `delayed_objects` returns all of them, with new keys each time: those that are lost are computed anew.
        """
        objects = delayed_objects()
        values: dict[int, Any] = {}
        while len(values) < len(objects):
            missing = [number for number in range(len(objects)) if number not in values]
            futures = self.compute([objects[number] for number in missing])
            done, lost = self.results([Task((number,), future) for number, future in zip(missing, futures)])
            values.update({task.numbers[0]: value for task, value in done})
            if lost:
                objects = delayed_objects()
        self.finish_step()
        return [values[number] for number in range(len(objects))]

    def results(self, tasks: Sequence[Task]) -> tuple[list[tuple[Task, Any]], list[Task]]:
        """Wait for tasks; returns those that are done with their results, and those that were lost.

        An error of a task is raised, as are those of the cluster: without workers, without a scheduler, or with a
        partition over which workers die.
        """
        waiting, lost = list(tasks), list[Task]()
        try:
            while waiting:
                values, gone = self._gather(waiting)
                if values is not None:
                    self._quiet_since = None
                    return list(zip(waiting, values)), lost
                lost += gone
                waiting = [task for task in waiting if task not in gone]
                _release(gone)
        except BaseException:
            _release(waiting)
            raise
        return [], lost

    def refresh(self) -> set[str]:
        """Ask the scheduler for the workers; returns the addresses of those that can work."""
        self.workers.update(self._request(self._identity)["workers"])
        return set(self.workers.threads)

    def wait_for_workers(self) -> dict[str, int]:
        """Return the threads of the workers that can be given partitions, once there is one."""
        while True:
            self.refresh()
            available = self.workers.available()
            if available:
                return available
            self._note_quiet()
            time.sleep(POLL_SECONDS)

    def count_losses(self, numbers: Iterable[int], n_lost: int = 1, *, cancelled: bool = False) -> None:
        """Count that partitions were lost; an error where one of them was lost too often in this step."""
        for number in numbers:
            self._losses[number] += n_lost
            if self._losses[number] < MAX_LOSSES:
                continue
            if cancelled:
                raise RuntimeError(
                    f"Dask cancelled the tasks of partition {number} of X again and again, so the fit was given up: "
                    "the cluster was restarted, or X was persisted or scattered on workers that are gone. Load X again "
                    f"and call fit again. {KEPT_ROUNDS}"
                )
            raise RuntimeError(
                f"Workers of the Dask cluster died {self._losses[number]} times over partition {number} of X, so the "
                "fit was given up. The logs of the workers show why; often it is too little memory "
                f"({self.workers.describe_memory()}). Use more or larger workers, or smaller partitions. {KEPT_ROUNDS}"
            )

    def finish_step(self) -> None:
        """Forget the losses: the step of the fit, a pass over all partitions, came to its end."""
        self._losses.clear()

    async def _identity(self) -> dict[str, Any]:
        """Return what the scheduler says of itself and its workers."""
        scheduler: Any = self._client.scheduler
        return await scheduler.identity()

    def _gather(self, waiting: Sequence[Task]) -> tuple[list[Any] | None, list[Task]]:
        """Wait for tasks; returns their results, or None and those that were lost, as soon as some were."""
        # The request is never cancelled, since Dask shares one among several callers. It ends when a future of it is
        # released.
        gathering = self._start(partial(self._client.gather, [task.future for task in waiting]))
        while not concurrent.futures.wait([gathering], POLL_SECONDS).done:
            gone = self._gone(waiting)
            if gone:
                return None, gone
        try:
            return gathering.result(), []
        except Exception as error:
            return None, self._failed(waiting, error)

    def _gone(self, waiting: Sequence[Task]) -> list[Task]:
        """Return the tasks that will not end, as far as one can see from what the cluster does."""
        alive = self.refresh()
        gone = [task for task in waiting if task.address is not None and task.address not in alive]
        for task in gone:
            self.count_losses(task.numbers)
        if gone:
            return gone
        self._look_for_work()
        now = time.monotonic()
        if self._quiet_since is None or not self.workers.available():
            return []
        if now - max(self._quiet_since, self._resubmitted_at) < RESUBMIT_SECONDS:
            return []
        # Idle workers, and tasks that none of them begins: whatever the reason, new tasks do not have it.
        self._resubmitted_at = now
        return [task for task in waiting if task.future.status != "finished"]

    def _look_for_work(self) -> None:
        """Note whether workers do something; it need not be for this fit, since others may come first."""
        available = self.workers.available()
        if self.workers.silent:
            # A worker may wait for what a silent one holds: only what is computed counts.
            working = self.workers.executing()
        else:
            processing = self._request(self._client.processing) if available else {}
            working = any(processing.get(address) for address in available)
        if working:
            self._quiet_since = None
        else:
            self._note_quiet()

    def _failed(self, waiting: Sequence[Task], error: Exception) -> list[Task]:
        """Return the tasks that were lost, by the error that ended the wait; any other error is raised."""
        from distributed import KilledWorker

        self._ensure_connected()
        failed = [task for task in waiting if task.future.status in ("error", "cancelled")]
        cancelled = isinstance(error, concurrent.futures.CancelledError)
        if not failed and (cancelled or isinstance(error, OSError)):
            # The request failed, not a task: the results are asked for again.
            self._note_quiet()
            time.sleep(POLL_SECONDS)
            return []
        if isinstance(error, MemoryError):
            raise MemoryError(
                f"A task of the fit ran out of memory on a worker of the Dask cluster ({error}). Use larger workers or "
                f"smaller partitions. {KEPT_ROUNDS}"
            ) from error
        if isinstance(error, KilledWorker):
            self.refresh()  # for the memory limits in a message
            n_lost = error.allowed_failures + 1
        elif cancelled or type(error).__name__ == "NoValidWorkerError":
            n_lost = 1
        else:
            raise error
        for task in failed:
            self.count_losses(task.numbers, n_lost, cancelled=cancelled)
        return failed

    def _note_quiet(self) -> None:
        """Note that the cluster does nothing; an error where this has lasted as long as the time limit."""
        now = time.monotonic()
        if self._quiet_since is None:
            self._quiet_since, self._available_since = now - self.workers.silence(), None
        available = self.workers.available()
        if available and self._available_since is None:
            self._available_since = now
        if now - self._quiet_since < self._time_limit:
            return
        if available:
            # Workers that came at the last moment get a little time to begin, once.
            if self._available_since is not None and now - self._available_since < RESUBMIT_SECONDS:
                return
            raise RuntimeError(
                f"The workers of the Dask cluster ({len(available)}) have done nothing for "
                f"{self._time_limit:.0f} seconds, though the fit waits for them. Perhaps X is bound to workers or "
                "resources that are gone (workers=..., resources=...), or a worker holds what the fit needs and does "
                f"not send it. {KEPT_ROUNDS}"
            )
        raise RuntimeError(f"{self.workers.describe_lack(self._time_limit)} {KEPT_ROUNDS}")

    def _send(self, submit: Callable[[], Reply]) -> Reply:
        """Submit tasks, once the client is connected."""
        self._ensure_connected()
        try:
            return submit()
        except Exception as error:
            if self._client.status in ("closing", "closed"):
                raise self._scheduler_lost() from error
            raise

    def _request(self, ask: Callable[[], Awaitable[Reply]], *, retry: bool = True) -> Reply:
        """Return what the scheduler replies; asked again when the connection breaks, within the time limit."""
        end = time.monotonic() + self._time_limit
        while True:
            self._ensure_connected()
            reply = self._start(ask)
            while not concurrent.futures.wait([reply], POLL_SECONDS).done:
                self._ensure_connected()
                if time.monotonic() >= end:
                    raise self._scheduler_lost()
            try:
                return reply.result()
            except Exception as error:
                broken = isinstance(error, (OSError, concurrent.futures.CancelledError))
                # A client that closes meanwhile fails in ways of its own.
                if not (broken and retry) and self._client.status == "running":
                    raise
                if time.monotonic() >= end:
                    raise self._scheduler_lost() from error
            time.sleep(POLL_SECONDS)

    def _start(self, ask: Callable[[], Awaitable[Reply]]) -> concurrent.futures.Future[Reply]:
        """Begin a request of the client, in its event loop."""

        async def reply() -> Reply:
            return await ask()

        loop: Any = self._client.loop
        coroutine = reply()
        try:
            return asyncio.run_coroutine_threadsafe(coroutine, loop.asyncio_loop)
        except RuntimeError as error:  # the loop is closed
            coroutine.close()
            raise self._scheduler_lost() from error

    def _ensure_connected(self) -> None:
        """Wait while the client tries to reconnect to the scheduler; an error where it does not succeed."""
        end = time.monotonic() + self._time_limit
        while self._client.status != "running":
            if self._client.status in ("closing", "closed") or time.monotonic() >= end:
                raise self._scheduler_lost()
            time.sleep(min(POLL_SECONDS, 0.1))

    def _scheduler_lost(self) -> RuntimeError:
        """Return the error for a scheduler that is gone, or does not reply."""
        if self._client.status == "running":
            what = f"did not reply within {self._time_limit:.0f} seconds"
        else:
            what = "is gone, or the client was closed"
        return RuntimeError(
            f"The scheduler of the Dask cluster at {self._address} {what}, so the fit was given up. Start a cluster "
            f"and a client, load X there, and call fit again. {KEPT_ROUNDS}"
        )


def _release(tasks: Iterable[Task]) -> None:
    """Let Dask forget tasks, which also ends requests that wait for them."""
    for task in tasks:
        task.future.release()


def _time_limit() -> float:
    """Return the time limit of all waits, in seconds."""
    import dask
    from dask.utils import parse_timedelta

    setting = dask.config.get(CLUSTER_TIMEOUT_SETTING, CLUSTER_TIMEOUT_SECONDS)
    try:
        seconds = float(parse_timedelta(setting))
    except (TypeError, ValueError, KeyError):
        seconds = 0.0
    if not seconds > 0:
        raise ValueError(
            f"{CLUSTER_TIMEOUT_SETTING} in Dask's configuration must be a time above 0, such as '10 minutes' or 600 "
            f"(seconds); got {setting!r}."
        )
    return seconds
