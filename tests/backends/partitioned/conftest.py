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
    pytest.importorskip("distributed")
    from tests.backends.partitioned.cluster_faults import process_cluster

    with process_cluster() as (_, client):
        yield client
