"""Functions that run on the workers of a Dask cluster: they keep partitions, and let them answer.

Partitions are not among the data of Dask, which would write them to disk when memory is short and read them back for
each question. They are kept here as long as the client holds on to the tasks that loaded them: `PartitionKeeper` is
called when Dask forgets one of these, also because the client died.
"""

import io
import pickle
from collections.abc import Sequence
from threading import Lock
from typing import Any

from distributed import Worker, WorkerPlugin, get_worker

from fuselearn.backends.partitioned.partitions import Answer, AnsweringRows, FoldedAnswers, Recipe, fold_answers
from fuselearn.backends.partitioned.row_source import RawPartition
from fuselearn.numeric.threads import Threads

RUNS: dict[tuple[str, str], "_Run"] = {}
"""Runs by their name and the address of the worker: workers may share a process."""
KEY_PREFIX = "fuselearn-partition"
"""Prefix of the keys of the tasks that stand for partitions."""
_LOCK = Lock()


class _Run:
    """The partitions of a run that a worker holds.

    `keys` holds the tasks that Dask has not forgotten, with the numbers of their partitions; `partitions` each number
    with the task that loaded it, and a lock: a question that the client has given up may still run when it asks again.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.keys: dict[str, int] = {}
        self.partitions: dict[int, tuple[str, AnsweringRows, Lock]] = {}


class PartitionKeeper(WorkerPlugin):
    """Frees a partition when Dask forgets its task, and all of them when the worker closes."""

    name = "fuselearn-partition-keeper"
    idempotent = True

    def setup(self, worker: Worker) -> None:
        """Note the worker; called by Dask."""
        self._worker = worker

    def teardown(self, worker: Worker) -> None:
        """Free all partitions; called by Dask when the worker closes."""
        with _LOCK:
            for run in [run for run in RUNS if run[1] == worker.address]:
                del RUNS[run]

    def transition(self, key: object, start: str, finish: str, **kwargs: object) -> None:
        """Free the partition of a task that is forgotten; called by Dask."""
        if finish in ("released", "forgotten") and isinstance(key, str) and key.startswith(KEY_PREFIX):
            free_partition(self._worker.address, key)


def free_partition(address: str, key: str) -> None:
    """Free the partition that a task stands for."""
    with _LOCK:
        for name, run in list(RUNS.items()):
            if name[1] == address and key in run.keys:
                number = run.keys.pop(key)
                # It may have been loaded again since, by another task.
                if number in run.partitions and run.partitions[number][0] == key:
                    del run.partitions[number]
                if not run.keys:
                    del RUNS[name]


def load_partition(raw: RawPartition, run_name: str, recipe: Recipe, number: int) -> None:
    """Build a partition and keep it, until Dask forgets this task. Runs on the worker that will hold it."""
    worker = get_worker()
    key = str(worker.get_current_task())
    with _LOCK:
        run = RUNS.setdefault((run_name, worker.address), _Run(recipe))
        run.keys[key] = number
    partition = run.recipe.build(raw)
    with _LOCK:
        if key in run.keys:
            run.partitions[number] = key, partition, Lock()


def worker_address(raw: RawPartition) -> str:
    """Return the address of the worker that this runs on: Dask lets it run where the rows are."""
    return str(get_worker().address)


def ask_partitions(
    run_name: str, numbers: Sequence[int], first: int, message: bytes
) -> tuple[list[int], FoldedAnswers | None]:
    """Let partitions make updates and answer questions. Runs on the worker that holds them.

    `message` holds the updates, the first of which is numbered `first`, and the questions. Returns the numbers of the
    partitions that are not here, or have not made the updates before `first`, and the answers of the others; None where
    there are no others.
    """
    worker = get_worker()
    with _LOCK:
        run = RUNS.get((run_name, worker.address))
        held = {} if run is None else {n: run.partitions[n][1:] for n in numbers if n in run.partitions}
    partitions = {number: entry for number, entry in held.items() if entry[0].n_updates >= first}
    missing = [number for number in numbers if number not in partitions]
    if run is None or not partitions:
        return missing, None
    updates, questions = unpack(message, run.recipe.plans)

    def work(number: int, threads: Threads) -> tuple[int, list[Answer]]:
        partition, lock = partitions[number]
        with lock:
            partition.update(updates, first, threads)
            return number, partition.answer(questions, threads)

    with Threads(worker.state.nthreads) as threads:
        if len(partitions) == 1:
            answers = [work(number, threads) for number in partitions]
        else:
            answers = threads.map(lambda number: work(number, Threads(1)), partitions)
    return missing, fold_answers(dict(answers))


def pack(updates: Sequence[Any], questions: Sequence[Any], plans: Sequence[Any]) -> bytes:
    """Return updates and questions as bytes, without the plans in them: workers have these."""
    import cloudpickle

    numbers = {id(plan): number for number, plan in enumerate(plans)}

    class Packer(cloudpickle.Pickler):
        def persistent_id(self, value: object) -> int | None:
            return numbers.get(id(value))

    file = io.BytesIO()
    Packer(file).dump((updates, questions))
    return file.getvalue()


def unpack(message: bytes, plans: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the updates and questions that `pack` made into bytes."""

    class Unpacker(pickle.Unpickler):
        def persistent_load(self, number: int) -> Any:
            return plans[number]

    return Unpacker(io.BytesIO(message)).load()
