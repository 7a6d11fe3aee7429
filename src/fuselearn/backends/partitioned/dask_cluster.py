"""Partitions on the workers of a Dask cluster.

A partition lives in the memory of one worker, under the name of its run. Tasks come to it: one per worker and question,
each bound to the worker that holds the partitions. The state is not Dask's, so Dask cannot bring it back when a worker
is lost. But a partition follows from the rows and the updates of the run: whoever asks learns which partitions
are missing, lets other workers load them again from the collection, sends them all updates so far, and asks again.
Every update gives the same state, to the last bit, wherever it is made.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapify, heapreplace
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

from fuselearn.backends.partitioned.dask_tasks import Cluster, Task
from fuselearn.backends.partitioned.dask_worker import (
    KEY_PREFIX,
    PartitionKeeper,
    ask_partitions,
    load_partition,
    pack,
    worker_address,
)
from fuselearn.backends.partitioned.partitions import Answer, FoldedAnswers, Partitions, Recipe, add_answers

if TYPE_CHECKING:
    from dask.delayed import Delayed

    from fuselearn.backends.partitioned.dask_tasks import Future

REBALANCE_SECONDS = 5.0
"""Seconds after which partitions are moved to workers that have joined the cluster."""
PARTITIONS_AT_ONCE = 2
"""Partitions for each thread of a worker that are loaded at a time."""
UPDATES_AT_A_TIME = 200
"""Updates that are sent at once to a partition that was loaded again."""
WorkerCounts: TypeAlias = Mapping[str, int]
"""Numbers of threads or partitions, by the address of the worker."""


class DaskPartitions(Partitions):
    """Partitions on the workers of a Dask cluster.

    `raw_partitions` returns a delayed `RawPartition` for each of the `n_partitions` partitions.
    """

    def __init__(
        self,
        cluster: Cluster,
        raw_partitions: Callable[[], list[Delayed]],
        n_partitions: int,
        recipe: Recipe,
    ) -> None:
        self._cluster = cluster
        self._run_name = f"fuselearn-{uuid.uuid4().hex}"
        self._raw_partitions = raw_partitions
        self._n_partitions = n_partitions
        self._recipe = recipe
        self._recipe_future: Future | None = None
        cluster.register_plugin(PartitionKeeper())
        self._addresses: dict[int, str] = {}
        self._futures: dict[int, Future] = {}
        self._n_loaded = count()
        self._n_updated = 0
        self._rebalanced_at = time.monotonic()

    def ask(self, updates: Sequence[Any], questions: Sequence[Any]) -> list[Answer]:
        """Update the partitions, and answer questions; see `Partitions.ask`."""
        waiting = set(range(self._n_partitions))
        answers: list[FoldedAnswers] = []
        message = pack(updates[self._n_updated :], questions, self._recipe.plans)
        self._rebalance()
        while waiting:
            self._ensure_loaded(waiting, updates)
            for numbers, answer in self._ask(waiting, self._n_updated, message):
                if answer is not None:
                    answers.append(answer)
                    waiting -= set(numbers)
        self._n_updated = len(updates)
        self._cluster.finish_step()
        return add_answers(answers)

    def close(self) -> None:
        """Let the workers free the partitions."""
        self._forget(list(self._addresses))
        if self._recipe_future is not None:
            self._recipe_future.release()

    def _ensure_loaded(self, numbers: Iterable[int], updates: Sequence[Any]) -> None:
        """Load those of the partitions that no worker holds, and update them as far as the others."""
        while True:
            missing = sorted(number for number in numbers if number not in self._addresses)
            if not missing:
                return
            self._load(missing)
            for first in range(0, self._n_updated, UPDATES_AT_A_TIME):
                batch = updates[first : min(first + UPDATES_AT_A_TIME, self._n_updated)]
                self._ask(missing, first, pack(batch, [], self._recipe.plans))

    def _load(self, numbers: Sequence[int]) -> None:
        """Load partitions, each on the worker that is to hold it; those of workers that are lost are left out."""
        remaining = assign_partitions(numbers, self._cluster.wait_for_workers(), self._held())
        # New tasks each time: Dask would take those of a partition that was lost for done.
        raw_partitions = self._raw_partitions()
        usable = self._recipe_future is not None and self._recipe_future.status not in ("error", "cancelled")
        # A worker that has fallen silent may be the one that has it.
        if not usable or self._cluster.workers.silent:
            # The result of a task, so that it travels once to each worker, and is made again where it is lost.
            self._recipe_future = self._cluster.submit(_identity, self._recipe)
        while remaining:
            # A few at a time: rows as they were given take more memory than those that are prepared.
            planned: dict[int, str] = {}
            for address in remaining:
                at_once = PARTITIONS_AT_ONCE * self._cluster.workers.threads.get(address, 1)
                batch, remaining[address] = remaining[address][:at_once], remaining[address][at_once:]
                planned.update(dict.fromkeys(batch, address))
            loaded, lost = self._cluster.results(self._submit_loads(planned, raw_partitions))
            for task, _ in loaded:
                assert task.address is not None
                [number] = task.numbers
                self._addresses[number], self._futures[number] = task.address, task.future
            self._forget_lost(lost)
            gone = {task.address for task in lost}
            remaining = {address: batch for address, batch in remaining.items() if batch and address not in gone}

    def _submit_loads(self, planned: Mapping[int, str], raw_partitions: Sequence[Delayed]) -> list[Task]:
        """Let workers load partitions, as many on each as are planned, if possible where their rows are."""
        # Dask computes the rows where it likes. They are not bound to the worker that will hold them, not even loosely:
        # when all workers are lost, Dask leaves such tasks of the collection alone for ever, also in later fits.
        raw = dict(zip(planned, self._cluster.compute([raw_partitions[number] for number in planned])))
        located, _ = self._cluster.results(
            [Task((number,), self._cluster.submit(worker_address, future)) for number, future in raw.items()]
        )
        loading = []
        for number, address in exchange_workers(planned, {task.numbers[0]: at for task, at in located}).items():
            key = f"{KEY_PREFIX}-{self._run_name}-{number}-{next(self._n_loaded)}"
            arguments = raw[number], self._run_name, self._recipe_future, number
            future = self._cluster.submit(load_partition, *arguments, workers=[address], key=key)
            loading.append(Task((number,), future, address))
        return loading

    def _ask(self, numbers: Iterable[int], first: int, message: bytes) -> list[tuple[list[int], FoldedAnswers | None]]:
        """Ask partitions, in one task for each worker that holds some; those that are lost are forgotten.

        Returns the numbers of the partitions that answered, with their folded answers, by worker.
        """
        by_address: dict[str, list[int]] = {}
        for number in sorted(numbers):
            if number in self._addresses:
                by_address.setdefault(self._addresses[number], []).append(number)
        tasks = []
        for address, held in by_address.items():
            arguments = self._run_name, held, first, message
            future = self._cluster.submit(ask_partitions, *arguments, workers=[address], retries=0)
            tasks.append(Task(tuple(held), future, address))
        done, lost = self._cluster.results(tasks)
        self._forget_lost(lost)
        answered = []
        for task, (missing, answer) in done:
            self._forget(missing)
            self._cluster.count_losses(missing)
            answered.append(([number for number in task.numbers if number not in missing], answer))
        return answered

    def _forget_lost(self, lost: Sequence[Task]) -> None:
        """Forget the partitions of tasks that were lost, and all others of the workers that were lost with them."""
        self._forget(number for task in lost for number in task.numbers)
        if lost:
            alive = self._cluster.workers.threads
            self._forget([number for number, address in self._addresses.items() if address not in alive])

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
        self._cluster.refresh()
        threads = self._cluster.workers.available()
        if threads:
            addresses = {number: address for number, address in self._addresses.items() if address in threads}
            self._forget(partitions_to_move(addresses, threads))


def _identity(recipe: Recipe) -> Recipe:
    return recipe


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


def exchange_workers(planned: Mapping[int, str], located: Mapping[int, str]) -> dict[int, str]:
    """Return a worker for each partition whose rows are located, for as many as can be the one that has the rows.

    No worker gets more partitions than are planned for it.

    Examples
    --------
    >>> exchange_workers({0: "a", 1: "a", 2: "b"}, {0: "b", 1: "b", 2: "c"})
    {0: 'b', 1: 'a', 2: 'a'}
    """
    room = Counter(planned.values())
    placed = {}
    for number, address in located.items():
        if room[address] > 0:
            placed[number] = address
            room[address] -= 1
    others = iter(sorted(room.elements()))
    return {number: placed[number] if number in placed else next(others) for number in located}


def partitions_to_move(addresses: Mapping[int, str], threads: WorkerCounts) -> list[int]:
    """Return the partitions that should go to a worker that has fewer for each of its threads."""
    held: dict[str, list[int]] = {address: [] for address in threads}
    for number in sorted(addresses):
        held[addresses[number]].append(number)
    counts = fair_counts(len(addresses), threads, {address: len(numbers) for address, numbers in held.items()})
    return [number for address, numbers in held.items() for number in numbers[counts[address] :]]
