"""Faults of a Dask cluster: workers that are killed while a fit waits for them."""

import os
import pickle
import signal
import threading
import time
import weakref
from collections import Counter
from contextlib import contextmanager, suppress

import numpy as np
import pytest

pytest.importorskip("distributed")
import dask
from distributed import Client, LocalCluster, Status
from distributed.utils import get_mp_context

from fuselearn import ShareBoostClassifier
from fuselearn.backends.partitioned import dask_tasks
from tests.backends.partitioned.partition_problems import NUMBERED, X, assert_equal_models, in_chunks, y

CLEAR_ERRORS = ("has no worker, and none joined within", "died", "cancelled the tasks", "have done nothing for")
"""Words of the errors that a cluster without workers, or with kills without end, may give."""


def boosted(learner="stump", n_rounds=6):
    """Shared boosting that never ends early."""
    return ShareBoostClassifier(learner, views=NUMBERED, n_estimators=n_rounds, random_state=0)


def copied(model):
    """A copy of a fitted model, which the next fit does not change."""
    return pickle.loads(pickle.dumps(model))


@contextmanager
def process_cluster(n_workers=2, **options):
    """Yield the cluster and the client of workers in processes of their own, which nannies replace when they die."""
    options = {
        "n_workers": n_workers,
        "threads_per_worker": 1,
        "dashboard_address": ":0",
        "silence_logs": 50,
        **options,
    }
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context().set_forkserver_preload(["distributed", "pandas", "tests.backends.partitioned.warm_worker"])
        cluster = LocalCluster(**options)
        try:
            with Client(cluster, set_as_default=False) as client:
                yield cluster, client
        finally:
            close_cluster(cluster)


def close_cluster(cluster):
    """Close a cluster, even one that has lost workers: it may stumble over one of them, and would wait for itself."""
    try:
        cluster.close()
    except KeyError:
        cluster.status = Status.failed
        with suppress(KeyError):
            cluster.close()
        cluster.status = Status.closed  # else a later test is told of a cluster that was not closed


def worker_pids(cluster):
    """Return the process ids of the workers, as the nannies know them."""
    processes = [nanny.process for nanny in list(cluster.workers.values())]
    return sorted(process.pid for process in processes if process is not None and process.pid)


def kill(pid):
    """Kill a process, if it is still there; returns how many were killed."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return 0
    return 1


SHARED = weakref.WeakValueDictionary()


class SharedList(list):
    """A list that tasks on workers in this process share."""

    def __reduce__(self):
        SHARED[id(self)] = self
        return shared_list, (id(self),)


def shared_list(number):
    """Return the list itself where it was pickled in this process."""
    return SHARED[number]


class Killer:
    """Kills workers at random waits of a fit: just when it begins to wait, or a moment later, in the midst of the work.

    A kill takes one worker, all of them at once, or one and then the worker that replaces it.
    """

    def __init__(self, cluster, rng, monkeypatch):
        self.cluster, self.rng = cluster, rng
        self.n_kills, self.kinds = 0, Counter()
        self._waits_until_kill = self._threads = None
        results = dask_tasks.Cluster.results

        def results_with_kills(cluster, tasks):
            self._before_wait()
            return results(cluster, tasks)

        monkeypatch.setattr(dask_tasks.Cluster, "results", results_with_kills)

    @contextmanager
    def armed(self, n_waits, most=100):
        """Kill within the fits that are made meanwhile, at most so often, each time after at most `n_waits` waits."""
        self._threads, self._n_waits, self._most = [], n_waits, most
        self._waits_until_kill = int(self.rng.integers(1, n_waits + 1))
        yield
        self._waits_until_kill = None
        for thread in self._threads:
            thread.join()

    def _before_wait(self):
        if self._waits_until_kill is None or len(self._threads) == self._most:
            return
        self._waits_until_kill -= 1
        if self._waits_until_kill == 0:
            self._waits_until_kill = int(self.rng.integers(1, self._n_waits + 1))
            kind = self.rng.choice(["one", "all", "replaced"], p=[0.6, 0.2, 0.2])
            delay, choice = self.rng.choice([0, 0.01, 0.05, 0.3]), self.rng.random()
            thread = threading.Thread(target=self._kill, args=(kind, delay, choice))
            self._threads.append(thread)
            thread.start()

    def _kill(self, kind, delay, choice):
        time.sleep(delay)
        pids = worker_pids(self.cluster)
        if not pids:
            return
        victims = pids if kind == "all" else [pids[int(choice * len(pids))]]
        self.n_kills += sum(map(kill, victims))
        self.kinds[str(kind)] += 1
        end = time.monotonic() + 10
        while kind == "replaced" and time.monotonic() < end:
            replacements = set(worker_pids(self.cluster)) - set(pids)
            if replacements:
                self.n_kills += kill(min(replacements))
                return
            time.sleep(0.01)


def restore(cluster, client, n_workers=2):
    """Let the cluster have its workers again: a nanny whose worker is killed while it starts gives up."""
    end = time.monotonic() + 60
    while len(client.scheduler_info(n_workers=-1)["workers"]) < n_workers and time.monotonic() < end:
        cluster.scale(0)
        cluster.scale(n_workers)
        try:
            client.wait_for_workers(n_workers, timeout=10)
        except TimeoutError:
            continue


def spree(n_kills, seed, monkeypatch, learners=("stump", "gaussian_nb")):
    """Fit again and again while workers are killed; returns the number of kills, of equal models, and the errors."""
    rng = np.random.default_rng(seed)
    equal, errors, longest = 0, [], 0.0
    with process_cluster() as (cluster, client), client.as_current():
        chunks = in_chunks(4, X, y)
        undisturbed = {learner: copied(boosted(learner).fit(*chunks)) for learner in learners}
        killer = Killer(cluster, rng, monkeypatch)
        n_fits = 0
        while killer.n_kills < n_kills:
            learner = learners[n_fits % len(learners)]
            n_fits += 1
            start = time.monotonic()
            with killer.armed(12):
                try:
                    assert_equal_models(boosted(learner).fit(*chunks), undisturbed[learner], exact=True)
                    equal += 1
                except RuntimeError as error:
                    if not any(words in str(error) for words in CLEAR_ERRORS):
                        raise
                    errors.append(str(error))
            longest = max(longest, time.monotonic() - start)
            restore(cluster, client)
    print(f"{killer.n_kills} kills {dict(killer.kinds)}, {n_fits} fits, {equal} equal, longest {longest:.1f} s", errors)
    return killer.n_kills, equal, errors
