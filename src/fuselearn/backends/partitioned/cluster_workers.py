"""What the scheduler of a Dask cluster says of its workers, and which of them a fit can count on."""

from __future__ import annotations

import time
from typing import Any

CLUSTER_TIMEOUT_SETTING = "fuselearn.cluster-timeout"
"""Setting of Dask's configuration that replaces `CLUSTER_TIMEOUT_SECONDS`."""
PAUSE_LIMIT_SECONDS = 30.0
"""Seconds after which a worker that Dask has paused, since its memory is nearly full, counts as lost."""
LEAST_SILENCE_SECONDS = 10.0
"""Seconds for which a worker is never taken for lost, though nothing is heard of it: it reports every few seconds."""


class Workers:
    """Workers of the cluster, as of the last `update`; `threads` has the number of threads of each.

    Dask pauses a worker when its process takes most of its memory (80 % by default): it begins no more tasks. That may
    pass. If it does not, the partitions that it holds are what fills it, and waiting for it would be in vain. From then
    on nothing is given to it in this run. A worker that was not heard of within the time limit counts as lost, until it
    is heard of again.
    """

    def __init__(self, time_limit: float) -> None:
        self._time_limit = time_limit
        self.threads: dict[str, int] = {}
        self._memory_limits: dict[str, int] = {}
        self._paused_since: dict[str, float] = {}
        self._heard_of: dict[str, tuple[float, float]] = {}
        self.silent: set[str] = set()
        self._too_small: set[str] = set()
        self._running: set[str] = set()
        self._n_executing: dict[str, int] = {}

    def update(self, workers: dict[str, dict[str, Any]]) -> None:
        """Take what the scheduler says of each worker."""
        now = time.monotonic()
        paused = {address for address, worker in workers.items() if worker["status"] == "paused"}
        self._paused_since = {address: self._paused_since.get(address, now) for address in paused}
        self._too_small |= {
            address for address, since in self._paused_since.items() if now - since >= PAUSE_LIMIT_SECONDS
        }
        # The clock of the scheduler may be another, so what counts is how long its time stays the same.
        heard_of = {address: (worker["last_seen"], now) for address, worker in workers.items()}
        for address, (last_seen, _) in heard_of.items():
            if self._heard_of.get(address, (None, now))[0] == last_seen:
                heard_of[address] = self._heard_of[address]
        self._heard_of = heard_of
        longest_silence = max(self._time_limit, LEAST_SILENCE_SECONDS)
        self.silent = {address for address, (_, since) in heard_of.items() if now - since >= longest_silence}
        if workers:
            self._memory_limits = {address: worker["memory_limit"] for address, worker in workers.items()}
        self.threads = {
            address: worker["nthreads"]
            for address, worker in workers.items()
            if address not in self._too_small and address not in self.silent
        }
        self._running = {address for address in self.threads if workers[address]["status"] == "running"}
        counts = {address: worker["metrics"].get("task_counts", {}) for address, worker in workers.items()}
        self._n_executing = {address: counts[address].get("executing", 0) for address in self._running}

    def available(self) -> dict[str, int]:
        """Return the threads of the workers that can be given partitions, in the order of their addresses."""
        return {address: self.threads[address] for address in sorted(self._running)}

    def executing(self) -> bool:
        """Return whether a worker that can be given partitions computes something, as of its last report."""
        return any(self._n_executing.values())

    def preference(self) -> dict[str, Any]:
        """Return options for tasks that any worker may run: others than silent ones, where there are such."""
        if not self.silent or not self._running:
            return {}
        return {"workers": sorted(self._running), "allow_other_workers": True}

    def silence(self) -> float:
        """Return the seconds for which no worker has been heard of; 0 where there is none."""
        return time.monotonic() - max((since for _, since in self._heard_of.values()), default=time.monotonic())

    def describe_lack(self, seconds: float) -> str:
        """Return why there has been no worker for so many seconds, in words."""
        if self._paused_since or self._too_small & self._heard_of.keys():
            return (
                "The workers of the Dask cluster were paused for too long, since the rows fill their memory "
                f"({self.describe_memory()}), and there are no others. Use more workers or workers with more memory, "
                "fewer rows or columns, or Parquet files."
            )
        if self.silent:
            return (
                f"The workers of the Dask cluster ({len(self.silent)}) have not been heard of for "
                f"{seconds:.0f} seconds: they are frozen or cut off, and there are no others."
            )
        return (
            f"The Dask cluster has no worker, and none joined within {seconds:.0f} seconds. Start workers and call fit "
            f"again; where these take longer, set a longer time: dask.config.set({{'{CLUSTER_TIMEOUT_SETTING}': "
            "'10 minutes'})."
        )

    def describe_memory(self) -> str:
        """Return the memory limits of the workers, in words."""
        limits = sorted({limit for limit in self._memory_limits.values() if limit})
        if not limits:
            return "no worker has a memory limit"
        sizes = [f"{limit / 2**30:.3g} GiB" for limit in limits]
        return f"their memory limit is {sizes[0] if len(sizes) == 1 else f'from {sizes[0]} to {sizes[-1]}'}"
