"""Partitions on the workers of a Dask cluster.

A partition lives in the memory of one worker, under the name of its run. Tasks come to it: one per worker and question,
each bound to the worker that holds the partitions. The state is not Dask's, so Dask cannot bring it back when a worker
is lost. But a partition follows from the rows and the weight updates of the run: whoever asks learns which partitions
are missing, lets other workers load them again from the collection, sends them all updates so far, and asks again.
Every update gives the same weights, to the last bit, wherever it is made.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from heapq import heapify, heapreplace
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

from fuselearn.backends.partitioned.dask_worker import KEY_PREFIX, PartitionKeeper, ask_partitions, load_partition, pack
from fuselearn.backends.partitioned.partitioned_rows import (
    Answer,
    FoldedAnswers,
    PartitionRecipe,
    Partitions,
    Question,
    WeightUpdate,
    add_answers,
)

if TYPE_CHECKING:
    from dask.delayed import Delayed
    from distributed import Client
    from distributed import Future as DistributedFuture

    Future: TypeAlias = DistributedFuture[Any]

POLL_SECONDS = 1.0
"""Seconds between two checks of whether the workers are still there."""
REBALANCE_SECONDS = 5.0
"""Seconds after which partitions are moved to workers that have joined the cluster."""
WORKER_TIMEOUT_SECONDS = 60.0
"""Seconds to wait for a worker when none is left."""
PAUSE_LIMIT_SECONDS = 30.0
"""Seconds after which a worker that Dask has paused, since its memory is nearly full, counts as lost."""
PARTITIONS_AT_ONCE = 2
"""Partitions for each thread of a worker that are loaded at a time."""
UPDATES_AT_A_TIME = 200
"""Weight updates that are sent at once to a partition that was loaded again."""
MAX_ATTEMPTS = 25
"""Times that a question is asked again because partitions were lost, before the run gives up."""

WorkerCounts: TypeAlias = Mapping[str, int]
"""Numbers of threads or partitions, by the address of the worker."""


class DaskPartitions(Partitions):
    """Partitions on the workers of a Dask cluster.

    `raw_partitions` returns a delayed `RawPartition` for each of the `n_partitions` partitions.
    """

    def __init__(
        self,
        client: Client,
        raw_partitions: Callable[[], list[Delayed]],
        n_partitions: int,
        recipe: PartitionRecipe,
    ) -> None:
        self._client = client
        self._run_name = f"fuselearn-{uuid.uuid4().hex}"
        self._raw_partitions = raw_partitions
        self._n_partitions = n_partitions
        self._recipe = recipe
        # The result of a task, so that it travels once to each worker, and is made again where it is lost.
        self._recipe_future = client.submit(_identity, recipe, pure=False)
        client.register_plugin(PartitionKeeper())
        self._addresses: dict[int, str] = {}
        self._futures: dict[int, Future] = {}
        self._n_loaded = count()
        self._n_updated = 0
        self._rebalanced_at = time.monotonic()
        self._workers = Workers(client)

    def ask(self, updates: Sequence[WeightUpdate], questions: Sequence[Question]) -> list[Answer]:
        """Update the weights, and answer questions; see `Partitions.ask`."""
        waiting = set(range(self._n_partitions))
        answers = []
        message = pack(updates[self._n_updated :], questions, self._recipe.plans)
        self._rebalance()
        for _ in range(MAX_ATTEMPTS):
            self._ensure_loaded(waiting, updates)
            tasks = self._submit(waiting, self._n_updated, message)
            for numbers, (missing, answer) in self._results(tasks):
                self._forget(missing)
                if answer is not None:
                    answers.append(answer)
                    waiting -= set(numbers) - set(missing)
            if not waiting:
                self._n_updated = len(updates)
                return add_answers(answers)
        raise RuntimeError(
            f"Partitions of the rows were lost {MAX_ATTEMPTS} times in one round, so the fit was given up. The logs of "
            f"the workers show why; often it is too little memory ({self._workers.describe_memory()}). With "
            "checkpoint=..., the same call continues from here."
        )

    def close(self) -> None:
        """Let the workers free the partitions."""
        self._forget(list(self._addresses))
        self._recipe_future.release()

    def _ensure_loaded(self, numbers: Iterable[int], updates: Sequence[WeightUpdate]) -> None:
        """Load those of the partitions that no worker holds, and update their weights as far as those of the others."""
        for _ in range(MAX_ATTEMPTS):
            lost = sorted(number for number in numbers if number not in self._addresses)
            if not lost:
                return
            self._load(lost)
            for first in range(0, self._n_updated, UPDATES_AT_A_TIME):
                batch = updates[first : min(first + UPDATES_AT_A_TIME, self._n_updated)]
                message = pack(batch, [], self._recipe.plans)
                for _, (missing, _) in self._results(self._submit(lost, first, message)):
                    self._forget(missing)
        raise RuntimeError(
            "The partitions of X could not be loaded: workers were lost again and again while loading, often for too "
            f"little memory ({self._workers.describe_memory()}). Use more or larger workers, or smaller partitions."
        )

    def _load(self, numbers: Sequence[int]) -> None:
        """Load partitions, each on the worker that is to hold it."""
        remaining = self._assign(numbers)
        # New tasks each time: Dask would take those of a partition that was lost for done.
        tasks = self._raw_partitions()
        while remaining:
            # A few at a time: rows as they were given take more memory than those that are prepared.
            loading: dict[int, tuple[str, Future]] = {}
            for address in remaining:
                at_once = PARTITIONS_AT_ONCE * self._workers.threads.get(address, 1)
                batch, remaining[address] = remaining[address][:at_once], remaining[address][at_once:]
                loading.update(self._submit_loads(address, batch, tasks))
            lost = self._wait(list(loading.values()))
            for number, (address, future) in loading.items():
                if address not in lost:
                    self._addresses[number], self._futures[number] = address, future
            remaining = {address: batch for address, batch in remaining.items() if batch and address not in lost}

    def _submit_loads(
        self, address: str, numbers: Sequence[int], tasks: Sequence[Delayed]
    ) -> dict[int, tuple[str, Future]]:
        """Let a worker load partitions; returns its address and the future of each."""
        # Only what keeps state is bound to the worker. Its input may come from any: tasks of a collection that are
        # bound to a worker would wait for it for ever once it is lost.
        raw = self._client.compute([tasks[number] for number in numbers], workers=[address], allow_other_workers=True)
        loading = {}
        for number, raw_partition in zip(numbers, raw):
            key = f"{KEY_PREFIX}-{self._run_name}-{number}-{next(self._n_loaded)}"
            future = self._client.submit(
                load_partition,
                raw_partition,
                self._run_name,
                self._recipe_future,
                number,
                workers=[address],
                key=key,
                pure=False,
            )
            loading[number] = address, future
        return loading

    def _assign(self, numbers: Sequence[int]) -> dict[str, list[int]]:
        """Return the workers that are to hold some partitions, and which of them."""
        self._workers.refresh()
        threads = self._workers.available() or self._workers.wait_until_available(POLL_SECONDS)
        return assign_partitions(numbers, threads, self._held())

    def _submit(self, numbers: Iterable[int], first: int, message: bytes) -> list[tuple[list[int], str, Future]]:
        """Submit one task to each worker that holds some of the partitions."""
        by_address: dict[str, list[int]] = {}
        for number in sorted(numbers):
            if number in self._addresses:
                by_address.setdefault(self._addresses[number], []).append(number)
        return [
            (
                held,
                address,
                self._client.submit(
                    ask_partitions, self._run_name, held, first, message, workers=[address], pure=False, retries=0
                ),
            )
            for address, held in by_address.items()
        ]

    def _results(
        self, tasks: list[tuple[list[int], str, Future]]
    ) -> list[tuple[list[int], tuple[list[int], FoldedAnswers | None]]]:
        """Return the partitions and result of each task whose worker is still there; those of others are forgotten."""
        while True:
            lost = self._wait([(address, future) for _, address, future in tasks])
            for numbers, address, _ in tasks:
                if address in lost:
                    self._forget(numbers)
            tasks = [task for task in tasks if task[1] not in lost]
            results = self._gather([future for _, _, future in tasks])
            if results is not None:
                return [(numbers, result) for (numbers, _, _), result in zip(tasks, results)]

    def _wait(self, tasks: Sequence[tuple[str, Future]]) -> set[str]:
        """Wait for tasks to end; returns the addresses of workers that were lost meanwhile."""
        from distributed import CancelledError, KilledWorker, wait

        lost: set[str] = set()
        while True:
            futures = [future for address, future in tasks if address not in lost]
            if not futures:
                return lost
            try:
                wait(futures, timeout=POLL_SECONDS)
            except TimeoutError:
                lost |= {address for address, _ in tasks} - self._workers.refresh()
                continue
            except CancelledError:  # the status of the futures shows which
                pass
            for address, future in tasks:
                if address not in lost and future.status in ("error", "cancelled", "lost"):
                    error = future.exception() if future.status == "error" else None
                    if error is not None and not isinstance(error, KilledWorker):
                        raise error
                    lost.add(address)
            return lost

    def _gather(self, futures: list[Future]) -> list[Any] | None:
        """Return the results of tasks that have ended; None where a worker was lost before it sent them."""
        gather = partial(self._client.gather, futures, asynchronous=True)
        try:
            return self._client.sync(gather, callback_timeout=30 * POLL_SECONDS) if futures else []
        except TimeoutError:
            return None

    def _forget(self, numbers: Iterable[int]) -> None:
        """Let the workers that hold some partitions free them."""
        for number in numbers:
            self._addresses.pop(number, None)
            if number in self._futures:
                self._futures.pop(number).release()

    def _held(self) -> dict[str, int]:
        """Return the number of partitions that each worker holds."""
        held: dict[str, int] = {}
        for address in self._addresses.values():
            held[address] = held.get(address, 0) + 1
        return held

    def _rebalance(self) -> None:
        """Now and then, let workers that joined the cluster take over their share of the partitions."""
        if not self._addresses or time.monotonic() - self._rebalanced_at < REBALANCE_SECONDS:
            return
        self._rebalanced_at = time.monotonic()
        self._workers.refresh()
        threads = self._workers.available()
        if threads:
            addresses = {number: address for number, address in self._addresses.items() if address in threads}
            self._forget(partitions_to_move(addresses, threads))


def _identity(recipe: PartitionRecipe) -> PartitionRecipe:
    return recipe


class Workers:
    """Workers of the cluster, as of the last `refresh`; `threads` has the number of threads of each.

    Dask pauses a worker when its process takes most of its memory (80 % by default): it begins no more tasks. That may
    pass. If it does not, the partitions that it holds are what fills it, and waiting for it would be in vain. From then
    on nothing is given to it in this run.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self.threads: dict[str, int] = {}
        self._memory_limits: dict[str, int] = {}
        self._paused_since: dict[str, float] = {}
        self._too_small: set[str] = set()
        self._running: set[str] = set()

    def refresh(self) -> set[str]:
        """Ask the scheduler for the workers; returns their addresses."""
        now = time.monotonic()
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        paused = {address for address, worker in workers.items() if worker["status"] == "paused"}
        self._paused_since = {address: self._paused_since.get(address, now) for address in paused}
        self._too_small |= {
            address for address, since in self._paused_since.items() if now - since >= PAUSE_LIMIT_SECONDS
        }
        self._memory_limits = {address: worker["memory_limit"] for address, worker in workers.items()}
        self.threads = {
            address: worker["nthreads"] for address, worker in workers.items() if address not in self._too_small
        }
        self._running = {address for address in self.threads if workers[address]["status"] == "running"}
        return set(self.threads)

    def available(self) -> dict[str, int]:
        """Return the threads of the workers that can be given partitions, in the order of their addresses."""
        return {address: self.threads[address] for address in sorted(self._running)}

    def wait_until_available(self, poll_seconds: float) -> dict[str, int]:
        """Return as `available` does, once there is a worker; an error where none comes."""
        end = time.monotonic() + WORKER_TIMEOUT_SECONDS
        while time.monotonic() < end:
            self.refresh()
            if self._running:
                return self.available()
            time.sleep(poll_seconds)
        if self._paused_since or self._too_small:
            raise RuntimeError(
                "The workers of the Dask cluster were paused for too long, since the rows fill their memory "
                f"({self.describe_memory()}), and there are no others. Use more workers or workers with more memory, "
                "fewer rows or columns, or Parquet files. With checkpoint=..., the same call continues from here."
            )
        raise RuntimeError(
            f"The Dask cluster has no worker left, and none joined within {WORKER_TIMEOUT_SECONDS:.0f} seconds. With "
            "checkpoint=..., the same call continues from here."
        )

    def describe_memory(self) -> str:
        """Return the memory limits of the workers, in words."""
        limits = sorted({limit for limit in self._memory_limits.values() if limit})
        if not limits:
            return "no worker has a memory limit"
        sizes = [f"{limit / 2**30:.3g} GiB" for limit in limits]
        return f"their memory limit is {sizes[0] if len(sizes) == 1 else f'from {sizes[0]} to {sizes[-1]}'}"


def fair_counts(
    n_partitions: int, threads: WorkerCounts, held: WorkerCounts | None = None, least: WorkerCounts | None = None
) -> dict[str, int]:
    """Return the number of partitions that each worker is to hold, among them the `least` that it keeps in any case.

    Partitions are dealt one at a time to the worker that then has the fewest for each of its threads; of equal ones to
    one that holds the partition already. So what was dealt once is not dealt anew, unless workers came or went.

    Examples
    --------
    >>> fair_counts(5, {"a": 1, "b": 1, "c": 2})
    {'a': 1, 'b': 1, 'c': 3}
    """
    held = held or {}
    counts = {address: (least or {}).get(address, 0) for address in threads}

    def after_one_more(address: str) -> tuple[float, bool, str]:
        new_count = counts[address] + 1
        return new_count / threads[address], new_count > held.get(address, 0), address

    queue = [after_one_more(address) for address in counts]
    heapify(queue)
    for _ in range(n_partitions):
        address = queue[0][2]
        counts[address] += 1
        heapreplace(queue, after_one_more(address))
    return counts


def assign_partitions(numbers: Iterable[int], threads: WorkerCounts, held: WorkerCounts) -> dict[str, list[int]]:
    """Deal out partitions that no worker holds, neighbours together; without workers that get nothing."""
    held = {address: held.get(address, 0) for address in threads}
    remaining = sorted(numbers)
    counts = fair_counts(len(remaining), threads, held, least=held)
    assigned = {}
    for address in sorted(counts):
        n_new = counts[address] - held[address]
        if n_new:
            assigned[address], remaining = remaining[:n_new], remaining[n_new:]
    return assigned


def partitions_to_move(addresses: Mapping[int, str], threads: WorkerCounts) -> list[int]:
    """Return the partitions that should go to a worker that has fewer for each of its threads."""
    held: dict[str, list[int]] = {address: [] for address in threads}
    for number in sorted(addresses):
        held[addresses[number]].append(number)
    counts = fair_counts(len(addresses), threads, {address: len(numbers) for address, numbers in held.items()})
    return [number for address, numbers in held.items() for number in numbers[counts[address] :]]
