"""Parts on the workers of a Dask cluster.

A part lives in the memory of one worker, under the number of its run. Tasks come to it: one per worker and question,
each bound to the worker that holds the parts. The state is not Dask's, so Dask cannot bring it back when a worker is
lost. But a part follows from the partition and the steps of the run: whoever asks finds out which parts are missing,
lets other workers load them again from the collection, sends them all steps so far, and asks again. Every step gives
the same weights, to the last bit, wherever it is taken.
"""

import io
import pickle
import time
import uuid
import weakref
from functools import partial

from fuselearn.backends.crew import Crew, folded, totals
from fuselearn.numeric.threads import Threads

PATIENCE = 1.0
"""Seconds between two looks at whether the workers are still there."""
LOOK_FOR_WORKERS = 5.0
"""Seconds after which it is looked for workers that came to the cluster."""
WAIT_FOR_WORKERS = 60.0
"""Seconds to wait for a worker when none is left."""
PARTS_AT_ONCE = 2
"""Partitions for each thread of a worker that are loaded at a time."""
STEPS_AT_A_TIME = 200
"""Steps that are sent at once to a part that was loaded again."""
MOST_ATTEMPTS = 25
"""How often a question is asked again because parts were lost, before the run gives up."""

_RUNS = {}
"""On a worker: (run, address of the worker) to `_Run`."""


class _Run:
    """What a worker knows of a run."""

    def __init__(self, blueprint):
        self.blueprint = blueprint
        self.parts = {}


class Lease:
    """Held by Dask as the result of a task, as long as the client wants the part; with it the part goes."""

    def __init__(self, run, address, number):
        weakref.finalize(self, _forget, run, address, number)

    def __reduce__(self):
        return object, ()  # a copy elsewhere holds nothing


def _forget(run, address, number):
    held = _RUNS.get((run, address))
    if held is not None:
        held.parts.pop(number, None)
        if not held.parts:
            _RUNS.pop((run, address), None)


def load_part(raw, run, blueprint, number):
    """Build a part and keep it. Runs on the worker that will hold it."""
    address = _address()
    held = _RUNS.setdefault((run, address), _Run(blueprint))
    held.parts[number] = held.blueprint.build(raw)
    return Lease(run, address, number)


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
    held = _RUNS.get((run, _address()))
    parts = {} if held is None else {number: held.parts[number] for number in numbers if number in held.parts}
    parts = {number: part for number, part in parts.items() if part.n_steps >= first}
    missing = [number for number in numbers if number not in parts]
    if not parts:
        return missing, None
    steps, questions = _unpacked(message, held.blueprint.plans)

    def work(number, threads):
        parts[number].take(steps, first)
        return number, parts[number].answer(questions, threads)

    with Threads(_n_threads()) as threads:
        if len(parts) == 1:
            answers = [work(number, threads) for number in parts]
        else:
            answers = threads.map(lambda number: work(number, Threads(1)), parts)
    return missing, folded(dict(answers))


def _same(blueprint):
    return blueprint


def _address():
    from distributed import get_worker

    return get_worker().address


def _n_threads():
    from distributed import get_worker

    return get_worker().state.nthreads


def _packed(message, plans):
    """A message as bytes, without the plans in it: workers have them."""
    import cloudpickle

    numbers = {id(plan): number for number, plan in enumerate(plans)}

    class Packer(cloudpickle.Pickler):
        def persistent_id(self, thing):
            return numbers.get(id(thing))

    file = io.BytesIO()
    Packer(file).dump(message)
    return file.getvalue()


def _unpacked(message, plans):
    class Unpacker(pickle.Unpickler):
        def persistent_load(self, number):
            return plans[number]

    return Unpacker(io.BytesIO(message)).load()


class DaskCrew(Crew):
    """See `Crew`.

    Parameters
    ----------
    client : distributed.Client
    raw_parts : callable
        Returns a delayed `RawPart` for each partition.
    n_parts : int
    blueprint : Blueprint
    """

    def __init__(self, client, raw_parts, n_parts, blueprint):
        self._client = client
        self._run = f"fuselearn-{uuid.uuid4().hex}"
        self._raw_parts = raw_parts
        self._n_parts = n_parts
        self._blueprint = blueprint
        # The result of a task, so that it travels once to each worker, and is made again where it is lost.
        self._plan_book = client.submit(_same, blueprint, pure=False)
        self._homes, self._leases = {}, {}
        self._n_taken = 0
        self._looked = time.monotonic()
        self._workers = {}

    def ask(self, steps, questions):
        waiting = set(range(self._n_parts))
        answers = []
        message = _packed((steps[self._n_taken :], questions), self._blueprint.plans)
        self._look_for_workers()
        for _ in range(MOST_ATTEMPTS):
            self._settle(waiting, steps)
            sent = self._send(waiting, self._n_taken, message)
            for numbers, (missing, answer) in self._returned(sent):
                self._evict(missing)
                if answer is not None:
                    answers.append(answer)
                    waiting -= set(numbers) - set(missing)
            if not waiting:
                self._n_taken = len(steps)
                return totals(answers)
        raise RuntimeError(
            f"Workers were lost {MOST_ATTEMPTS} times in one round, so the fit was given up. Look at the workers' logs "
            "for the reason, often too little memory. With checkpoint=..., the same call goes on from here."
        )

    def close(self):
        self._evict(list(self._homes))
        self._plan_book.release()

    def _settle(self, numbers, steps):
        """See to it that all of some parts are on a worker, with all the steps that were taken."""
        for _ in range(MOST_ATTEMPTS):
            homeless = sorted(number for number in numbers if number not in self._homes)
            if not homeless:
                return
            self._load(homeless)
            for first in range(0, self._n_taken, STEPS_AT_A_TIME):
                some = steps[first : min(first + STEPS_AT_A_TIME, self._n_taken)]
                message = _packed((some, []), self._blueprint.plans)
                for _, (missing, _) in self._returned(self._send(homeless, first, message)):
                    self._evict(missing)
        raise RuntimeError("The partitions of X could not be loaded: workers were lost again and again while loading.")

    def _load(self, numbers):
        """Load parts, each on the worker that is to hold it."""
        shares = self._shares(numbers)
        # New tasks each time: Dask would take those of a part that was lost for done.
        tasks = self._raw_parts()
        while any(shares.values()):
            # A few at a time: rows as they were given take more room than those that are prepared.
            sent = {}
            for address in shares:
                at_once = PARTS_AT_ONCE * self._workers[address]
                share, shares[address] = shares[address][:at_once], shares[address][at_once:]
                # Only what keeps state is bound to the worker. Its input may come from any: tasks of a collection that
                # are bound to a worker would wait for it for ever once it is lost.
                raw = self._client.compute(
                    [tasks[number] for number in share], workers=[address], allow_other_workers=True
                )
                for number, part in zip(share, raw):
                    sent[number] = (
                        address,
                        self._client.submit(
                            load_part, part, self._run, self._plan_book, number, workers=[address], pure=False
                        ),
                    )
            lost = self._wait(list(sent.values()))
            for number, (address, future) in sent.items():
                if address not in lost:
                    self._homes[number], self._leases[number] = address, future
            shares = {address: share for address, share in shares.items() if address not in lost}

    def _shares(self, numbers):
        """Workers, and which of some parts each is to hold: as many per thread, and neighbours together."""
        loads = self._loads() or self._wait_for_a_worker()
        per_thread = (len(numbers) + sum(loads.values())) / sum(self._workers[address] for address in loads)
        numbers = list(numbers)
        shares = {}
        for address, n_parts in sorted(loads.items(), key=lambda item: (-item[1], item[0])):
            room = max(0, round(per_thread * self._workers[address]) - n_parts)
            if room and numbers:
                shares[address], numbers = numbers[:room], numbers[room:]
        if numbers:  # what is left over by rounding
            shares.setdefault(min(loads, key=loads.get), []).extend(numbers)
        return shares

    def _send(self, numbers, first, message):
        """One task to each worker that holds some of the parts; returns a list of (numbers, address, future)."""
        shares = {}
        for number in sorted(numbers):
            if number in self._homes:
                shares.setdefault(self._homes[number], []).append(number)
        return [
            (
                share,
                address,
                self._client.submit(
                    work_on_parts, self._run, share, first, message, workers=[address], pure=False, retries=0
                ),
            )
            for address, share in shares.items()
        ]

    def _returned(self, sent):
        """(numbers, result) of the tasks whose worker is still there; the parts of the others are evicted."""
        while True:
            lost = self._wait([(address, future) for _, address, future in sent])
            for numbers, address, _ in sent:
                if address in lost:
                    self._evict(numbers)
            sent = [one for one in sent if one[1] not in lost]
            results = self._gathered([future for _, _, future in sent])
            if results is not None:
                return [(numbers, result) for (numbers, _, _), result in zip(sent, results)]

    def _wait(self, sent):
        """Wait for tasks to end; returns the addresses of workers that were lost meanwhile."""
        from distributed import KilledWorker, wait

        lost = set()
        while True:
            futures = [future for address, future in sent if address not in lost]
            if not futures:
                return lost
            try:
                wait(futures, timeout=PATIENCE)
            except TimeoutError:
                lost |= {address for address, _ in sent} - self._alive()
                continue
            for address, future in sent:
                if address not in lost and future.status in ("error", "cancelled", "lost"):
                    error = future.exception() if future.status == "error" else None
                    if error is not None and not isinstance(error, KilledWorker):
                        raise error
                    lost.add(address)
            return lost

    def _gathered(self, futures):
        """Results of tasks that have ended; None where the worker was lost before it sent them."""
        gather = partial(self._client.gather, futures, asynchronous=True)
        try:
            return self._client.sync(gather, callback_timeout=30 * PATIENCE) if futures else []
        except TimeoutError:
            return None

    def _evict(self, numbers):
        for number in numbers:
            self._homes.pop(number, None)
            if number in self._leases:
                self._leases.pop(number).release()

    def _alive(self):
        self._workers = dict(self._client.nthreads())
        return set(self._workers)

    def _loads(self):
        """Number of parts that each worker holds."""
        loads = dict.fromkeys(sorted(self._alive()), 0)
        for address in self._homes.values():
            if address in loads:
                loads[address] += 1
        return loads

    def _wait_for_a_worker(self):
        try:
            self._client.wait_for_workers(1, timeout=WAIT_FOR_WORKERS)
        except TimeoutError:
            raise RuntimeError(
                f"The Dask cluster has no worker left, and none came within {WAIT_FOR_WORKERS:.0f} seconds. With "
                "checkpoint=..., the same call goes on from here."
            ) from None
        return self._loads()

    def _look_for_workers(self):
        """Now and then, let workers that came to the cluster take over their share of the parts."""
        if not self._homes or time.monotonic() - self._looked < LOOK_FOR_WORKERS:
            return
        self._looked = time.monotonic()
        loads = self._loads()
        if loads and 0 in loads.values():
            fair = -(-self._n_parts // len(loads))
            for address in loads:
                self._evict(sorted(number for number, home in self._homes.items() if home == address)[fair:])
