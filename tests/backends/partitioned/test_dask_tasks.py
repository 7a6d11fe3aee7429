"""A fit waits for a Dask cluster as long as the cluster does something; else it says, in time, what is wrong."""

import os
import signal
import threading
import time
from contextlib import suppress
from functools import partial

import numpy as np
import pytest

from fuselearn.exceptions import InterruptedFitWarning

pytest.importorskip("distributed")
import dask
import dask.array as da
from distributed import Client, LocalCluster

from fuselearn.backends.partitioned import dask_tasks
from tests.backends.partitioned.cluster_faults import Killer, boosted, copied, process_cluster, spree
from tests.backends.partitioned.partition_problems import X, after_round, assert_equal_models, in_chunks, y

POSIX = pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX")
LOST_WORKERS = pytest.mark.filterwarnings("ignore:.*:UserWarning:distributed")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Look often at the cluster."""
    monkeypatch.setattr(dask_tasks, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(dask_tasks, "RESUBMIT_SECONDS", 0.3)


@pytest.fixture
def threads():
    """Cluster of two workers in this process, for one test, and its client, which is the current one."""
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=50
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
        client.as_current(),
    ):
        yield cluster, client


def limit(seconds):
    """Set the time limit of all waits."""
    return dask.config.set({dask_tasks.CLUSTER_TIMEOUT_SETTING: seconds})


def test_no_worker_during_planning(threads):
    cluster, _ = threads
    undisturbed = copied(boosted(n_rounds=2).fit(*in_chunks(2, X, y)))
    cluster.scale(0)
    with limit("2 s"), pytest.raises(RuntimeError, match=r"no worker, and none joined within 2 seconds.*'10 minutes'"):
        boosted(n_rounds=2).fit(*in_chunks(2, X, y))
    # Workers that come later are waited for.
    timer = threading.Timer(0.5, cluster.scale, (1,))
    timer.start()
    with limit("60 s"):
        assert_equal_models(boosted(n_rounds=2).fit(*in_chunks(2, X, y)), undisturbed, exact=True)
    timer.join()


@pytest.mark.long
def test_a_cluster_that_shrinks_to_nothing_and_grows_again(threads, monkeypatch, tmp_path):
    cluster, _ = threads
    model = boosted(n_rounds=4)
    undisturbed = copied(model.fit(*in_chunks(3, X, y)))
    timers = []

    def shrink():
        cluster.scale(0)
        timers.append(threading.Timer(0.5, cluster.scale, (2,)))
        timers[-1].start()

    with monkeypatch.context() as patch, limit("60 s"):
        after_round(2, shrink, patch)
        assert_equal_models(model.fit(*in_chunks(3, X, y)), undisturbed, exact=True)
    timers[0].join()
    # Without a new worker there is an error, and what was done is kept.
    with monkeypatch.context() as patch, limit("2 s"):
        after_round(2, partial(cluster.scale, 0), patch)
        with pytest.raises(RuntimeError, match=r"no worker, and none joined .* keeps all rounds that are finished"):
            model.fit(*in_chunks(3, X, y), checkpoint=tmp_path / "log")
    cluster.scale(2)
    rounds = []
    after_round(3, partial(rounds.append, 3), monkeypatch)
    after_round(1, partial(rounds.append, 1), monkeypatch)
    assert_equal_models(model.fit(*in_chunks(3, X, y), checkpoint=tmp_path / "log"), undisturbed, exact=True)
    assert rounds == [3]


@pytest.mark.parametrize("value", ["soon", 0, -1, None])
def test_a_time_limit_that_is_none(value, client):
    with limit(value), pytest.raises(ValueError, match=r"fuselearn.cluster-timeout .* must be a time above 0, such as"):
        boosted().fit(*in_chunks(2, X, y))


def test_tasks_that_idle_workers_leave_alone(threads, monkeypatch):
    """They are submitted anew; where that does not help there is an error."""
    _, client = threads
    undisturbed = copied(boosted(n_rounds=2).fit(*in_chunks(2, X, y)))
    submitted = []
    compute = client.compute

    def bound_to_nobody(objects, **options):
        submitted.append(objects)
        return compute(objects, **{**options, "workers": ["tcp://127.0.0.1:1"], "allow_other_workers": False})

    with monkeypatch.context() as patch:
        patch.setattr(
            client,
            "compute",
            lambda objects, **options: (compute if submitted else bound_to_nobody)(objects, **options),
        )
        assert_equal_models(boosted(n_rounds=2).fit(*in_chunks(2, X, y)), undisturbed, exact=True)
        assert len(submitted) == 1
    monkeypatch.setattr(client, "compute", bound_to_nobody)
    with limit("2 s"), pytest.raises(RuntimeError, match=r"\(2\) have done nothing for 2 seconds"):
        boosted().fit(*in_chunks(2, X, y))
    assert len(submitted) > 2


def test_tasks_of_a_collection_are_bound_to_no_worker(threads, monkeypatch):
    """Dask would leave them alone for ever, in this fit and in later ones, once all workers were replaced at a time."""
    cluster, _ = threads
    seen, bound = set(), set()
    results = dask_tasks.Cluster.results

    def look_first(self, tasks):
        end = time.monotonic() + 10
        states = []
        while not states and time.monotonic() < end:  # the tasks are on their way
            keys = [key for key in list(cluster.scheduler.tasks) if isinstance(key, tuple)]
            states = [state for key in keys if (state := cluster.scheduler.tasks.get(key)) is not None]
            if len(seen) == 4:
                break
        seen.update(state.key for state in states)
        bound.update(state.key for state in states if state.worker_restrictions)
        return results(self, tasks)

    monkeypatch.setattr(dask_tasks.Cluster, "results", look_first)
    boosted(n_rounds=1).fit(*in_chunks(2, X, y))
    assert len(seen) == 4
    assert not bound


def slow():
    time.sleep(1.2)
    return "done"


def test_work_may_take_longer_than_the_time_limit(client):
    with limit("500 ms"):
        assert dask_tasks.Cluster(client).values(lambda: [dask.delayed(slow, pure=False)()]) == ["done"]


@pytest.mark.parametrize("closes", ["cluster", pytest.param("client", marks=pytest.mark.long)])
def test_a_scheduler_that_is_lost(closes, threads, monkeypatch, tmp_path):
    cluster, client = threads
    model = boosted(n_rounds=4)
    undisturbed = copied(model.fit(*in_chunks(2, X, y)))
    with monkeypatch.context() as patch:
        after_round(2, (cluster if closes == "cluster" else client).close, patch)
        with pytest.raises(
            RuntimeError, match=r"The scheduler .* is gone, or the client was closed.* keeps all rounds"
        ):
            model.fit(*in_chunks(2, X, y), checkpoint=tmp_path / "log")
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=50
        ) as other,
        Client(other, set_as_default=False) as new_client,
        new_client.as_current(),
    ):
        assert_equal_models(model.fit(*in_chunks(2, X, y), checkpoint=tmp_path / "log"), undisturbed, exact=True)


def out_of_memory(rows):
    raise MemoryError("Unable to allocate 8 GiB")


def test_a_task_without_memory(client):
    rows, labels = in_chunks(2, X, y)
    rows = rows.map_blocks(out_of_memory, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(MemoryError, match=r"on a worker .*\(Unable to allocate 8 GiB\)\. Use larger workers"):
        boosted().fit(rows, labels)


def test_rows_that_were_on_lost_workers_only(threads):
    """What was scattered cannot be computed again."""
    _, client = threads
    blocks = client.scatter([X[:2500], X[2500:]])
    rows = da.concatenate([da.from_delayed(dask.delayed(block), (2500, 8), dtype=float) for block in blocks])
    client.restart(wait_for_workers=False)
    with limit("5 s"), pytest.raises((RuntimeError, ValueError), match=r"cancelled the tasks of partition \d of X"):
        boosted().fit(rows, y)


def test_workers_that_come_at_the_last_moment(client, monkeypatch):
    """They get time to begin, but not a second time."""
    monkeypatch.setattr(dask_tasks, "RESUBMIT_SECONDS", 600.0)
    cluster = dask_tasks.Cluster(client)
    cluster._note_quiet()
    cluster._quiet_since -= 61
    cluster.refresh()
    cluster._note_quiet()
    cluster._available_since -= 601
    with pytest.raises(RuntimeError, match=r"\(3\) have done nothing for 60 seconds"):
        cluster._note_quiet()


@pytest.mark.long
def test_two_fits_at_once(threads):
    _, client = threads
    undisturbed = {learner: copied(boosted(learner).fit(*in_chunks(3, X, y))) for learner in ("stump", "gaussian_nb")}
    models = {}

    def fit(learner):
        with client.as_current():
            models[learner] = boosted(learner).fit(*in_chunks(3, X, y))

    fits = [threading.Thread(target=fit, args=(learner,)) for learner in undisturbed]
    for thread in fits:
        thread.start()
    for thread in fits:
        thread.join()
    for learner, model in undisturbed.items():
        assert_equal_models(models[learner], model, exact=True)


@POSIX
def test_an_interrupt_keeps_the_rounds(client, monkeypatch, tmp_path, request):
    """It comes while the fit waits for the cluster."""
    model = boosted(n_rounds=6)
    whole = copied(model.fit(*in_chunks(3, X, y)))
    # A shell lets what it starts in the background ignore interrupts.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, handler))
    with monkeypatch.context() as patch:
        results = dask_tasks.Cluster._gather
        after_round(3, lambda: patch.setattr(dask_tasks.Cluster, "_gather", interrupted(results)), patch)
        with pytest.warns(InterruptedFitWarning, match="has the 3 of 6 rounds"):
            model.fit(*in_chunks(3, X, y), checkpoint=tmp_path / "log")
    assert model.n_iter_ == 3
    assert_equal_models(model.fit(*in_chunks(3, X, y), checkpoint=tmp_path / "log"), whole, exact=True)


def interrupted(gather):
    """Return a wait in which SIGINT comes."""

    def gather_with_interrupt(self, waiting):
        os.kill(os.getpid(), signal.SIGINT)
        return gather(self, waiting)

    return gather_with_interrupt


def heavy(rows):
    """Take more memory than the worker may have, until it is killed."""
    ballast = []
    for _ in range(200):
        ballast.append(np.ones(2**22))
        time.sleep(0.02)
    return rows


@pytest.mark.long
@POSIX
@LOST_WORKERS
def test_workers_that_are_killed_for_their_memory(monkeypatch):
    monkeypatch.setattr(dask_tasks, "MAX_LOSSES", 2)
    settings = {
        "distributed.scheduler.allowed-failures": 0,
        "distributed.worker.memory.pause": False,
        "distributed.worker.memory.terminate": 0.95,
    }
    with dask.config.set(settings), process_cluster(memory_limit="700 MiB") as (_, client), client.as_current():
        rows, labels = in_chunks(1, X, y)
        rows = rows.map_blocks(heavy, dtype=float, meta=np.empty((0, 0)))
        with pytest.raises(
            RuntimeError, match=r"died \d+ times over partition \d of X.*\(their memory limit is 0.684 GiB\)"
        ):
            boosted().fit(rows, labels)


@pytest.mark.long
@POSIX
@LOST_WORKERS
@pytest.mark.parametrize("frozen", ["before", "recipe", "other", "all"])
def test_frozen_workers(frozen, monkeypatch):
    """Dask itself would wait for them for five minutes."""
    with process_cluster() as (_, client), client.as_current():
        undisturbed = copied(boosted().fit(*in_chunks(4, X, y)))
        victims = []

        def freeze():
            pids = client.run(os.getpid)
            holders = {address for key, at in client.who_has().items() if "_identity-" in str(key) for address in at}
            victims.extend(
                {
                    "before": lambda: sorted(pids.values())[:1],
                    "recipe": lambda: [pids[min(holders)]],
                    "other": lambda: [pids[max(pids.keys() - {min(holders)})]],
                    "all": lambda: list(pids.values()),
                }[frozen]()
            )
            for pid in victims:
                os.kill(pid, signal.SIGSTOP)

        try:
            if frozen == "before":
                freeze()
            else:
                after_round(2, freeze, monkeypatch)
            with limit("5 s" if frozen == "all" else "10 s"):
                if frozen == "all":
                    with pytest.raises(RuntimeError, match=r"\(2\) have not been heard of for 5 seconds"):
                        boosted().fit(*in_chunks(4, X, y))
                else:
                    assert_equal_models(boosted().fit(*in_chunks(4, X, y)), undisturbed, exact=True)
            # Dask has not removed the worker meanwhile.
            assert len(client.scheduler_info(n_workers=-1)["workers"]) == 2
        finally:
            for pid in victims:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)


@pytest.mark.long
@POSIX
@LOST_WORKERS
def test_some_kills(client, monkeypatch):
    model, chunks = boosted(n_rounds=3), in_chunks(4, X, y)
    undisturbed = copied(model.fit(*chunks))
    with process_cluster() as (cluster, other_client), other_client.as_current():
        killer = Killer(cluster, np.random.default_rng(0), monkeypatch)
        with killer.armed(6, most=2), limit("60 s"):
            assert_equal_models(model.fit(*chunks), undisturbed, exact=True)
    assert killer.n_kills >= 1


@pytest.mark.long
@POSIX
@LOST_WORKERS
def test_fifty_kills(monkeypatch):
    """Every fit gives the model that it would have given, to the last bit, or says what is wrong."""
    monkeypatch.setattr(dask_tasks, "CLUSTER_TIMEOUT_SECONDS", 20.0)
    n_kills, equal, errors = spree(50, 1, monkeypatch)
    assert n_kills >= 50
    assert equal > len(errors)
