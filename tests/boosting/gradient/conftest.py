"""Dask clusters for the tests of gradient boosting on partitions."""

from tests.backends.partitioned.conftest import client, processes, thread_cluster

__all__ = ["client", "processes", "thread_cluster"]
