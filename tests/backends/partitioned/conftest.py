"""Dask clusters for the tests of partitions."""

import pytest


@pytest.fixture(scope="session")
def thread_cluster():
    """Client of three workers in this process, which is not the current one."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def client(thread_cluster):
    """Client of three workers in this process, which is the current one."""
    with thread_cluster.as_current():
        yield thread_cluster


@pytest.fixture(scope="module")
def processes():
    """Client of two workers in processes of their own, which can be killed; it is not the current one."""
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    settings = {
        "distributed.scheduler.allowed-failures": 10,
        "distributed.worker.multiprocessing-method": "forkserver",
    }
    with dask.config.set(settings):
        # Workers are forked from a process that has imported all that they need: a new one starts at once.
        preload = ["distributed", "pandas", "fuselearn.boosting", "fuselearn.backends.partitioned.dask_worker"]
        distributed.utils.get_mp_context().set_forkserver_preload(preload)
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
            ) as cluster,
            distributed.Client(cluster, set_as_default=False) as client,
        ):
            yield client
