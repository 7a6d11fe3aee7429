"""Fits on a Dask cluster stay the same, whatever is lost on the way."""

import os
import pickle
import signal
from functools import partial

import numpy as np
import pytest

from fuselearn import ShareBoostClassifier
from fuselearn.boosting import base

pytest.importorskip("distributed")
from distributed import Client
from distributed.core import Status

from fuselearn.backends.partitioned import cluster_workers, dask_cluster, dask_tasks, dask_worker
from fuselearn.backends.partitioned.dask_cluster import assign_partitions, fair_counts, partitions_to_move
from tests.backends.partitioned.partition_problems import (
    NUMBERED,
    X,
    after_round,
    assert_equal_models,
    assert_nothing_is_held,
    in_chunks,
    y,
)


class Killer:
    """Kills workers once the fit has come to given rounds."""

    def __init__(self, client, rounds):
        self.client, self.rounds, self.killed = client, list(rounds), []

    def __call__(self, n_rounds):
        if self.rounds and n_rounds >= self.rounds[0]:
            self.rounds.pop(0)
            # One that holds partitions, and has not replaced another.
            addresses = sorted(self.client.run(holds_partitions).items())
            victim = next(address for address, holds in addresses if holds and address not in self.killed)
            self.killed.append(victim)
            pid = self.client.run(os.getpid, workers=[victim])[victim]
            os.kill(pid, signal.SIGKILL)


def holds_partitions():
    return len(dask_worker.RUNS) > 0


def spill(dask_worker):
    """Write all of Dask's data to disk, as it does when memory is short."""
    times = 0
    while dask_worker.data.fast and times < 100:
        dask_worker.data.evict()
        times += 1
    return times


@pytest.mark.long
def test_what_dask_writes_to_disk_are_not_the_partitions(client, monkeypatch):
    model = ShareBoostClassifier("stump", views=NUMBERED, n_estimators=3, random_state=0)
    chunks = in_chunks(4, X, y)
    undisturbed = pickle.loads(pickle.dumps(model.fit(*chunks)))
    loaded, spilled = [], []
    original = dask_cluster.DaskPartitions._load
    monkeypatch.setattr(
        dask_cluster.DaskPartitions, "_load", lambda self, numbers: (loaded.extend(numbers), original(self, numbers))
    )
    after_round(1, lambda: spilled.extend(client.run(spill).values()), monkeypatch)
    assert_equal_models(model.fit(*chunks), undisturbed, exact=True)
    assert sum(spilled) > 0
    assert sorted(loaded) == [0, 1, 2, 3]
    assert_nothing_is_held()


@pytest.mark.long
def test_a_client_that_is_lost_leaves_nothing_behind(client, monkeypatch):
    monkeypatch.setattr(dask_cluster.DaskPartitions, "close", lambda self: kept.append(self))
    kept = []
    with Client(client.cluster, set_as_default=False) as other, other.as_current():
        ShareBoostClassifier("stump", views=NUMBERED, n_estimators=2).fit(*in_chunks(3, X, y))
        assert sum(len(run.partitions) for run in dask_worker.RUNS.values()) == 3
    assert_nothing_is_held()


def set_status(status, dask_worker):
    dask_worker.status = Status[status]


@pytest.mark.long
@pytest.mark.parametrize("others", [True, False])
def test_a_paused_worker_is_not_waited_for_in_vain(others, client, monkeypatch):
    """Dask pauses a worker whose memory is nearly full."""
    monkeypatch.setattr(dask_tasks, "POLL_SECONDS", 0.1)
    monkeypatch.setattr(cluster_workers, "PAUSE_LIMIT_SECONDS", 0.5)
    monkeypatch.setattr(dask_tasks, "CLUSTER_TIMEOUT_SECONDS", 1.0)
    model = ShareBoostClassifier("stump", views=NUMBERED, n_estimators=3, random_state=0)
    chunks = in_chunks(4, X, y)
    undisturbed = pickle.loads(pickle.dumps(model.fit(*chunks)))
    victims = sorted(client.nthreads())[: 1 if others else None]
    after_round(1, lambda: client.run(set_status, "paused", workers=victims), monkeypatch)
    try:
        # Its own look at the memory would wake it up.
        client.run(lambda dask_worker: dask_worker.periodic_callbacks["memory_monitor"].stop())
        if others:
            assert_equal_models(model.fit(*chunks), undisturbed, exact=True)
        else:
            with pytest.raises(RuntimeError, match=r"were paused for too long, since the rows fill their memory \(th"):
                model.fit(*chunks)
    finally:
        client.run(set_status, "running", workers=victims)
        client.run(lambda dask_worker: dask_worker.periodic_callbacks["memory_monitor"].start())
    assert_nothing_is_held()


@pytest.mark.parametrize(
    ("n_workers", "threads", "n_partitions"), [(10, 1, 14), (100, 1, 149), (20, 4, 88), (10, 1, 4)]
)
def test_partitions_are_assigned_evenly(n_workers, threads, n_partitions):
    workers = {f"w{number:03}": threads for number in range(n_workers)}
    dealt = assign_partitions(range(n_partitions), workers, {})
    assert sorted(number for share in dealt.values() for number in share) == list(range(n_partitions))
    sizes = [len(dealt.get(address, [])) for address in workers]
    assert max(sizes) == -(-n_partitions // n_workers)
    assert max(sizes) - min(sizes) <= 1
    assert all(share == list(range(share[0], share[-1] + 1)) for share in dealt.values())


def test_partitions_go_where_there_are_threads():
    assert fair_counts(4, {"large": 8, "small": 1}) == {"large": 4, "small": 0}
    assert fair_counts(18, {"large": 8, "small": 1}) == {"large": 16, "small": 2}
    # A worker that holds more than its share gets nothing, and the rest is dealt evenly.
    assert assign_partitions([7, 8, 9], {"a": 1, "b": 1, "c": 1}, {"a": 5}) == {"b": [7, 8], "c": [9]}


@pytest.mark.parametrize("seed", range(20))
def test_partitions_do_not_move_without_need(seed):
    """What was dealt out stays, until workers come; then as few move as must, and none moves back."""
    rng = np.random.default_rng(seed)
    workers = {f"w{number}": int(rng.integers(1, 9)) for number in range(rng.integers(1, 7))}
    homes = {}

    def settle(numbers):
        held = {address: list(homes.values()).count(address) for address in workers}
        homes.update(
            (one, address) for address, share in assign_partitions(numbers, workers, held).items() for one in share
        )

    settle(range(int(rng.integers(1, 60))))
    assert partitions_to_move(homes, workers) == []
    workers["new"] = int(rng.integers(1, 9))
    before = dict(homes)
    moved = partitions_to_move(homes, workers)
    for number in moved:
        del homes[number]
    settle(moved)
    assert all(homes[number] == "new" for number in moved)
    assert {number: home for number, home in before.items() if number not in moved}.items() <= homes.items()
    assert partitions_to_move(homes, workers) == []
    busiest = max(list(homes.values()).count(address) / n_threads for address, n_threads in workers.items())
    fair = fair_counts(len(homes), workers)
    assert busiest == max(fair[address] / n_threads for address, n_threads in workers.items())


class FakeCluster:
    """Has tasks done at once, and loses the worker A then."""

    def __init__(self):
        self.workers = cluster_workers.Workers(60.0)
        self.workers.threads = {"A": 1, "B": 1}

    def wait_for_workers(self):
        return {"A": 1, "B": 3}

    def register_plugin(self, plugin):
        pass

    def compute(self, objects, **options):
        return objects

    def submit(self, function, *arguments, **options):
        return None

    def results(self, tasks):
        self.workers.threads = {"B": 1}
        return [(task, None) for task in tasks], []


def test_a_worker_whose_share_is_loaded_may_be_lost():
    partitions = dask_cluster.DaskPartitions(FakeCluster(), lambda: list(range(8)), 8, None)
    partitions._load(range(8))
    assert partitions._addresses == {number: "A" if number < 2 else "B" for number in range(8)}


POSIX = pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX")
LOST_WORKERS = pytest.mark.filterwarnings("ignore:.*:UserWarning:distributed")


@pytest.fixture
def patient(monkeypatch):
    """Quick to see that a worker is lost, and slow to give up: a new worker may take long to start."""
    monkeypatch.setattr(dask_tasks, "POLL_SECONDS", 0.2)
    monkeypatch.setattr(dask_cluster, "REBALANCE_SECONDS", 0.5)
    monkeypatch.setattr(dask_tasks, "CLUSTER_TIMEOUT_SECONDS", 300.0)


@pytest.mark.long
@POSIX
@LOST_WORKERS
def test_killed_workers_change_nothing(processes, patient, monkeypatch):
    """All workers that a run began with are killed, one after the other."""
    model = ShareBoostClassifier(views=NUMBERED, n_estimators=7, random_state=0)
    with processes.as_current():
        chunks = in_chunks(5, X, y)
        undisturbed = pickle.loads(pickle.dumps(model.fit(*chunks)))
        killer = Killer(processes, [2, 4])
        original = base.BaseBoost._report

        def report(self, trace, arms):
            original(self, trace, arms)
            killer(len(trace))

        monkeypatch.setattr(base.BaseBoost, "_report", report)
        survived = model.fit(*chunks)
    assert len(killer.killed) == 2
    assert_equal_models(survived, undisturbed, exact=True)


def ask_or_die(marker, run_name, numbers, first, message):
    """Kill the worker, once, when it is asked for the fourth round."""
    if first == 3:
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    return dask_worker.ask_partitions(run_name, numbers, first, message)


@pytest.mark.long
@POSIX
@LOST_WORKERS
def test_a_worker_that_dies_at_work(processes, patient, monkeypatch, tmp_path):
    """It is killed while a task runs on it, not between two."""
    model = ShareBoostClassifier("stump", views=NUMBERED, n_estimators=6, random_state=0)
    with processes.as_current():
        chunks = in_chunks(4, X, y)
        undisturbed = pickle.loads(pickle.dumps(model.fit(*chunks)))
        monkeypatch.setattr(dask_cluster, "ask_partitions", partial(ask_or_die, str(tmp_path / "died")))
        survived = pickle.loads(pickle.dumps(model.fit(*chunks)))
    assert (tmp_path / "died").exists()
    assert_equal_models(survived, undisturbed, exact=True)
