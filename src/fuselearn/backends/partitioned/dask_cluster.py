"""Parts on the workers of a Dask cluster.

A part lives in the memory of one worker, under the number of its run. Tasks come to it: one per worker and question,
each bound to the worker that holds the parts. The state is not Dask's, so Dask cannot bring it back when a worker is
lost. But a part follows from the partition and the steps of the run: whoever asks finds out which parts are missing,
lets other workers load them again from the collection, sends them all steps so far, and asks again. Every step gives
the same weights, to the last bit, wherever it is taken.

The workers of a Dask cluster that a run can count on.
"""

import time
import uuid
from functools import partial
from itertools import count

from fuselearn.backends.partitioned.dask_worker import PREFIX, KeptParts, load_part, packed, work_on_parts
from fuselearn.backends.partitioned.placement import shares, surplus
from fuselearn.backends.partitioned.rows import Crew, totals

PATIENCE = 1.0
"""Seconds between two looks at whether the workers are still there."""
LOOK_FOR_WORKERS = 5.0
"""Seconds after which it is looked for workers that came to the cluster."""
PARTS_AT_ONCE = 2
"""Partitions for each thread of a worker that are loaded at a time."""
STEPS_AT_A_TIME = 200
"""Steps that are sent at once to a part that was loaded again."""
MOST_ATTEMPTS = 25
"""How often a question is asked again because parts were lost, before the run gives up."""


def _same(blueprint):
    return blueprint


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
        client.register_plugin(KeptParts())
        self._homes, self._kept = {}, {}
        self._n_loaded = count()
        self._n_taken = 0
        self._looked = time.monotonic()
        self._workers = Workers(client)

    def ask(self, steps, questions):
        waiting = set(range(self._n_parts))
        answers = []
        message = packed((steps[self._n_taken :], questions), self._blueprint.plans)
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
            f"Parts of the rows were lost {MOST_ATTEMPTS} times in one round, so the fit was given up. Look at the "
            f"workers' logs for the reason, often too little memory ({self._workers.memory()}). With checkpoint=..., "
            "the same call goes on from here."
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
                message = packed((some, []), self._blueprint.plans)
                for _, (missing, _) in self._returned(self._send(homeless, first, message)):
                    self._evict(missing)
        raise RuntimeError(
            "The partitions of X could not be loaded: workers were lost again and again while loading, often for too "
            f"little memory ({self._workers.memory()}). Use more or larger workers, or smaller partitions."
        )

    def _load(self, numbers):
        """Load parts, each on the worker that is to hold it."""
        left = self._shares(numbers)
        # New tasks each time: Dask would take those of a part that was lost for done.
        tasks = self._raw_parts()
        while left:
            # A few at a time: rows as they were given take more room than those that are prepared.
            sent = {}
            for address in left:
                at_once = PARTS_AT_ONCE * self._workers.threads.get(address, 1)
                share, left[address] = left[address][:at_once], left[address][at_once:]
                sent.update(self._sent_to_load(address, share, tasks))
            lost = self._wait(list(sent.values()))
            for number, (address, future) in sent.items():
                if address not in lost:
                    self._homes[number], self._kept[number] = address, future
            left = {address: share for address, share in left.items() if share and address not in lost}

    def _sent_to_load(self, address, numbers, tasks):
        """Let a worker load parts; returns a dict of number to (address, future)."""
        # Only what keeps state is bound to the worker. Its input may come from any: tasks of a collection that are
        # bound to a worker would wait for it for ever once it is lost.
        raw = self._client.compute([tasks[number] for number in numbers], workers=[address], allow_other_workers=True)
        sent = {}
        for number, part in zip(numbers, raw):
            key = f"{PREFIX}-{self._run}-{number}-{next(self._n_loaded)}"
            future = self._client.submit(
                load_part, part, self._run, self._plan_book, number, workers=[address], key=key, pure=False
            )
            sent[number] = address, future
        return sent

    def _shares(self, numbers):
        """Workers, and which of some parts each is to hold."""
        self._workers.look()
        threads = self._workers.fit_for_more() or self._workers.wait_for_one(PATIENCE)
        return shares(numbers, threads, self._loads())

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
        from distributed import CancelledError, KilledWorker, wait

        lost = set()
        while True:
            futures = [future for address, future in sent if address not in lost]
            if not futures:
                return lost
            try:
                wait(futures, timeout=PATIENCE)
            except TimeoutError:
                lost |= {address for address, _ in sent} - self._workers.look()
                continue
            except CancelledError:  # which futures are, their status tells
                pass
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
            if number in self._kept:
                self._kept.pop(number).release()

    def _loads(self):
        """Number of parts that each worker holds."""
        loads = {}
        for address in self._homes.values():
            loads[address] = loads.get(address, 0) + 1
        return loads

    def _look_for_workers(self):
        """Now and then, let workers that came to the cluster take over their share of the parts."""
        if not self._homes or time.monotonic() - self._looked < LOOK_FOR_WORKERS:
            return
        self._looked = time.monotonic()
        self._workers.look()
        threads = self._workers.fit_for_more()
        if threads:
            homes = {number: home for number, home in self._homes.items() if home in threads}
            self._evict(surplus(homes, threads))


WAIT_FOR_WORKERS = 60.0
"""Seconds to wait for a worker when none is left."""
PAUSED_TOO_LONG = 30.0
"""Seconds after which a worker that Dask has paused, since its memory is nearly full, counts as lost."""


class Workers:
    """Who is there, as of the last look.

    Dask pauses a worker when its process takes most of its memory (80 % by default): it begins no task any more. That
    may pass. If it does not, the parts that it holds are what fills it, and it would be waited for in vain. From then
    on nothing is given to it in this run.

    Parameters
    ----------
    client : distributed.Client

    Attributes
    ----------
    threads : dict of address to int
        Number of threads of the workers that are there.
    """

    def __init__(self, client):
        self._client = client
        self.threads = {}
        self._limits = {}
        self._paused, self._too_small = {}, set()
        self._running = set()

    def look(self):
        """Look who is there; returns the addresses."""
        now = time.monotonic()
        told = self._client.scheduler_info(n_workers=-1)["workers"]
        paused = {address for address, one in told.items() if one["status"] == "paused"}
        self._paused = {address: self._paused.get(address, now) for address in paused}
        self._too_small |= {address for address, since in self._paused.items() if now - since >= PAUSED_TOO_LONG}
        self._limits = {address: one["memory_limit"] for address, one in told.items()}
        self.threads = {address: one["nthreads"] for address, one in told.items() if address not in self._too_small}
        self._running = {address for address in self.threads if told[address]["status"] == "running"}
        return set(self.threads)

    def fit_for_more(self):
        """Dict of address to threads of the workers that can be given parts, in the order of their addresses."""
        return {address: self.threads[address] for address in sorted(self._running)}

    def wait_for_one(self, patience):
        """As `fit_for_more`, once there is one; an error where none comes.

        Parameters
        ----------
        patience : float
            Seconds between two looks.
        """
        end = time.monotonic() + WAIT_FOR_WORKERS
        while time.monotonic() < end:
            self.look()
            if self._running:
                return self.fit_for_more()
            time.sleep(patience)
        if self._paused or self._too_small:
            raise RuntimeError(
                "The workers of the Dask cluster were paused for too long, since the rows fill their memory "
                f"({self.memory()}), and there are no others. Use more workers or workers with more memory, fewer rows "
                "or columns, or Parquet files. With checkpoint=..., the same call goes on from here."
            )
        raise RuntimeError(
            f"The Dask cluster has no worker left, and none came within {WAIT_FOR_WORKERS:.0f} seconds. With "
            "checkpoint=..., the same call goes on from here."
        )

    def memory(self):
        """Limits of the workers' memory, in words."""
        limits = sorted({limit for limit in self._limits.values() if limit})
        if not limits:
            return "no worker has a memory limit"
        sizes = [f"{limit / 2**30:.3g} GiB" for limit in limits]
        return f"their memory limit is {sizes[0] if len(sizes) == 1 else f'from {sizes[0]} to {sizes[-1]}'}"
