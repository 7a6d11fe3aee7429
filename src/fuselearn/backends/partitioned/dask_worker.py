"""What a worker of a Dask cluster does for a run: it keeps parts, and lets them answer.

Parts are not among the data of Dask, which would write them to disk when memory is short and read them back for each
question. They are kept here as long as the client holds on to the tasks that loaded them: `KeptParts` hears when Dask
forgets one of these, also because the client died.
"""

import io
import pickle
from threading import Lock

from distributed import WorkerPlugin, get_worker

from fuselearn.backends.partitioned.rows import folded
from fuselearn.numeric.execution import Threads

RUNS = {}
"""(run, address of the worker) to `_Run`. Workers may share a process."""
_LOCK = Lock()
PREFIX = "fuselearn-part"
"""Of the keys of the tasks that stand for parts."""


class _Run:
    """What a worker knows of a run.

    Attributes
    ----------
    blueprint : Blueprint
    keys : dict of key to int
        Tasks that Dask has not forgotten, and the numbers of their parts.
    parts : dict of int to (key, Part)
    """

    def __init__(self, blueprint):
        self.blueprint = blueprint
        self.keys, self.parts = {}, {}


class KeptParts(WorkerPlugin):
    """Lets go of a part when Dask forgets its task, and of all of them when the worker closes."""

    name = "fuselearn-kept-parts"
    idempotent = True

    def setup(self, worker):
        self._worker = worker

    def teardown(self, worker):
        with _LOCK:
            for run in [run for run in RUNS if run[1] == worker.address]:
                del RUNS[run]

    def transition(self, key, start, finish, **kwargs):
        if finish in ("released", "forgotten") and isinstance(key, str) and key.startswith(PREFIX):
            forget(self._worker.address, key)


def forget(address, key):
    """Let go of the part that a task stands for."""
    with _LOCK:
        for name, run in list(RUNS.items()):
            if name[1] == address and key in run.keys:
                number = run.keys.pop(key)
                # It may have been loaded again since, by another task.
                if number in run.parts and run.parts[number][0] == key:
                    del run.parts[number]
                if not run.keys:
                    del RUNS[name]


def load_part(raw, run, blueprint, number):
    """Build a part and keep it, until Dask forgets this task. Runs on the worker that will hold it."""
    worker = get_worker()
    key = worker.get_current_task()
    with _LOCK:
        held = RUNS.setdefault((run, worker.address), _Run(blueprint))
        held.keys[key] = number
    part = held.blueprint.build(raw)
    with _LOCK:
        if key in held.keys:
            held.parts[number] = key, part


def work_on_parts(run, numbers, first, message):
    """Let parts take steps and answer questions. Runs on the worker that holds them.

    Parameters
    ----------
    run : str
    numbers : list of int
    first : int
        Number of the first of the steps.
    message : bytes
        Steps and questions.

    Returns
    -------
    missing : list of int
        Parts that are not here, or whose weights are not as far as `first`.
    answers : list
        As `folded`, of the others; None where there are none.
    """
    worker = get_worker()
    with _LOCK:
        held = RUNS.get((run, worker.address))
        kept = {} if held is None else {number: held.parts[number][1] for number in numbers if number in held.parts}
    parts = {number: part for number, part in kept.items() if part.n_steps >= first}
    missing = [number for number in numbers if number not in parts]
    if not parts:
        return missing, None
    steps, questions = unpacked(message, held.blueprint.plans)

    def work(number, threads):
        parts[number].take(steps, first)
        return number, parts[number].answer(questions, threads)

    with Threads(worker.state.nthreads) as threads:
        if len(parts) == 1:
            answers = [work(number, threads) for number in parts]
        else:
            answers = threads.map(lambda number: work(number, Threads(1)), parts)
    return missing, folded(dict(answers))


def packed(message, plans):
    """A message as bytes, without the plans in it: workers have them."""
    import cloudpickle

    numbers = {id(plan): number for number, plan in enumerate(plans)}

    class Packer(cloudpickle.Pickler):
        def persistent_id(self, thing):
            return numbers.get(id(thing))

    file = io.BytesIO()
    Packer(file).dump(message)
    return file.getvalue()


def unpacked(message, plans):
    """What `packed` made into bytes."""

    class Unpacker(pickle.Unpickler):
        def persistent_load(self, number):
            return plans[number]

    return Unpacker(io.BytesIO(message)).load()
